//! What a package.json says: its scripts and its dependencies, with their places.

use std::cell::RefCell;

use crate::at::{At, Document};
use crate::problem::Problem;
use crate::yaml;

/// A package.json.
#[derive(Debug)]
pub(crate) struct PackageJson {
    document: Document,
}

impl PackageJson {
    /// Reads a package.json. It must be JSON; the YAML reader, which takes all of JSON, gives the places.
    pub(crate) fn read(file: &str, text: &str) -> Result<Self, Problem> {
        let bad = |at, found: String| Problem {
            file: file.to_owned(),
            at,
            path: String::new(),
            found,
            expected: "a package.json: a JSON object".to_owned(),
        };
        if let Err(error) = serde_json::from_str::<serde_json::Value>(text) {
            let at = rollscope_scenarios::Position {
                line: error.line().max(1),
                column: error.column().max(1),
            };
            return Err(bad(
                Some(at),
                format!("something that is not JSON ({})", error_words(&error)),
            ));
        }
        // A tab is a blank to JSON, but YAML is not indented with it.
        let mut problems = Vec::new();
        let mut documents = yaml::read(file, &text.replace('\t', " "), &mut problems);
        match (problems.pop(), documents.pop()) {
            (Some(problem), _) => Err(problem),
            (None, Some(root)) if matches!(root.value, crate::node::Value::Map(_)) => Ok(Self {
                document: Document {
                    file: file.to_owned(),
                    root,
                    problems: RefCell::default(),
                },
            }),
            (None, _) => Err(bad(None, "something else".to_owned())),
        }
    }

    pub(crate) fn document(&self) -> &Document {
        &self.document
    }

    fn root(&self) -> At<'_> {
        At::root(&self.document)
    }

    /// A script, and where it is.
    pub(crate) fn script(&self, name: &str) -> Option<(&str, At<'_>)> {
        let at = self.root().key("scripts").key(name);
        Some((at.text()?, at))
    }

    /// The dependencies of production, by name.
    pub(crate) fn dependencies(&self) -> Vec<(&str, At<'_>)> {
        self.root().key("dependencies").entries()
    }
}

fn error_words(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let bare = text.split(" at line ").next().unwrap_or_default();
    bare.to_owned()
}
