//! What a Dockerfile says of the process: ENTRYPOINT, CMD, STOPSIGNAL, ENV and the base of its last stage.

use std::collections::BTreeMap;

use rollscope_scenarios::Position;

use crate::finding::Place;
use crate::problem::Problem;
use crate::shell;

/// The last stage of a Dockerfile, with what it has from the stages that it is made from.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Dockerfile {
    pub(crate) file: String,
    pub(crate) base: String,
    pub(crate) entrypoint: Option<Instruction>,
    pub(crate) cmd: Option<Instruction>,
    pub(crate) stop_signal: Option<(String, Position)>,
    pub(crate) env: BTreeMap<String, (String, Position)>,
}

/// ENTRYPOINT or CMD.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Instruction {
    pub(crate) words: Vec<String>,
    /// Written as text, so that a shell runs it.
    pub(crate) is_shell_form: bool,
    pub(crate) at: Position,
}

impl Dockerfile {
    /// Where an instruction is.
    pub(crate) fn place(&self, at: Position, instruction: &str) -> Place {
        Place {
            file: self.file.clone(),
            line: Some(at.line),
            column: Some(at.column),
            path: instruction.to_owned(),
        }
    }

    /// The command line of the image: ENTRYPOINT with CMD, or with `args` instead of it. A shell-form ENTRYPOINT takes
    /// none of them.
    pub(crate) fn command(
        &self,
        args: Option<&[String]>,
    ) -> Option<(Vec<String>, Position, &'static str)> {
        match (&self.entrypoint, &self.cmd) {
            (Some(entry), _) if entry.is_shell_form => {
                Some((entry.words.clone(), entry.at, "ENTRYPOINT"))
            }
            (Some(entry), cmd) => {
                let mut words = entry.words.clone();
                let after = args.map(<[String]>::to_vec);
                words.extend(
                    after
                        .or_else(|| cmd.as_ref().map(|c| c.words.clone()))
                        .unwrap_or_default(),
                );
                Some((words, entry.at, "ENTRYPOINT"))
            }
            (None, _) if args.is_some() => None,
            (None, Some(cmd)) => Some((cmd.words.clone(), cmd.at, "CMD")),
            (None, None) => None,
        }
    }

    /// Reads a Dockerfile.
    pub(crate) fn read(file: &str, text: &str) -> Result<Self, Problem> {
        let mut stages: BTreeMap<String, Self> = BTreeMap::new();
        let mut current: Option<(Self, Option<String>)> = None;
        let mut shell = vec!["/bin/sh".to_owned(), "-c".to_owned()];
        for (name, rest, at) in instructions(text) {
            if name == "FROM" {
                if let Some((stage, Some(alias))) = current.take() {
                    stages.insert(alias, stage);
                }
                current = Some(stage(file, &rest, &stages));
                continue;
            }
            let Some((stage, _)) = &mut current else {
                continue;
            };
            match name.as_str() {
                "ENTRYPOINT" => {
                    stage.entrypoint = Some(instruction(&rest, &shell, at));
                    // An image's own CMD does not outlive a new ENTRYPOINT.
                    stage.cmd = None;
                }
                "CMD" => stage.cmd = Some(instruction(&rest, &shell, at)),
                "SHELL" => shell = exec_form(&rest).unwrap_or(shell),
                "STOPSIGNAL" => stage.stop_signal = Some((rest.trim().to_owned(), at)),
                "ENV" => stage
                    .env
                    .extend(variables(&rest).map(|(k, v)| (k, (v, at)))),
                _ => {}
            }
        }
        current.map(|(stage, _)| stage).ok_or_else(|| Problem {
            file: file.to_owned(),
            at: None,
            path: String::new(),
            found: "no FROM instruction".to_owned(),
            expected: "a Dockerfile".to_owned(),
        })
    }
}

/// A new stage: from a stage before, with what that one says, or from an image.
fn stage(
    file: &str,
    from: &str,
    stages: &BTreeMap<String, Dockerfile>,
) -> (Dockerfile, Option<String>) {
    let mut words = from.split_whitespace().filter(|w| !w.starts_with("--"));
    let base = words.next().unwrap_or_default();
    let alias = match words.next() {
        Some(word) if word.eq_ignore_ascii_case("as") => words.next().map(str::to_lowercase),
        _ => None,
    };
    let mut stage = stages
        .get(&base.to_lowercase())
        .cloned()
        .unwrap_or_default();
    file.clone_into(&mut stage.file);
    if !stages.contains_key(&base.to_lowercase()) {
        base.clone_into(&mut stage.base);
    }
    (stage, alias)
}

/// The instructions: name in upper case, the rest with its continued lines, and where it begins.
fn instructions(text: &str) -> Vec<(String, String, Position)> {
    let mut found = Vec::new();
    let mut lines = text.lines().enumerate();
    while let Some((number, line)) = lines.next() {
        let start = line.trim_start();
        if start.is_empty() || start.starts_with('#') {
            continue;
        }
        let column = line.chars().count() - start.chars().count() + 1;
        let at = Position {
            line: number + 1,
            column,
        };
        let mut whole = start.trim_end().to_owned();
        while let Some(head) = whole.strip_suffix('\\') {
            whole.truncate(head.len());
            // Comments between continued lines are not part of them.
            let next = lines
                .by_ref()
                .find(|(_, l)| !l.trim_start().starts_with('#'));
            match next {
                Some((_, next)) => whole.push_str(next.trim_end()),
                None => break,
            }
        }
        let (name, rest) = whole
            .split_once(char::is_whitespace)
            .unwrap_or((&whole, ""));
        let (name, rest) = (name.to_ascii_uppercase(), rest.trim().to_owned());
        if matches!(name.as_str(), "RUN" | "COPY" | "ADD") {
            skip_heredoc(&rest, &mut lines);
        }
        found.push((name, rest, at));
    }
    found
}

/// Skips the text of a here-document (`<<EOF`).
fn skip_heredoc<'a>(rest: &str, lines: &mut impl Iterator<Item = (usize, &'a str)>) {
    let word = rest.split_whitespace().find_map(|w| w.strip_prefix("<<"));
    let end = word.map(|w| w.trim_start_matches('-').trim_matches(['"', '\'']));
    if let Some(end) = end.filter(|e| !e.is_empty()) {
        let _ = lines.find(|(_, line)| line.trim() == end);
    }
}

fn instruction(rest: &str, shell: &[String], at: Position) -> Instruction {
    match exec_form(rest) {
        Some(words) => Instruction {
            words,
            is_shell_form: false,
            at,
        },
        None => {
            let mut words = shell.to_vec();
            words.push(rest.to_owned());
            Instruction {
                words,
                is_shell_form: true,
                at,
            }
        }
    }
}

/// `["node", "server.js"]`.
fn exec_form(rest: &str) -> Option<Vec<String>> {
    serde_json::from_str::<Vec<String>>(rest).ok()
}

/// `A=1 B="x y"`, or the old `A 1`.
fn variables(rest: &str) -> impl Iterator<Item = (String, String)> {
    let words = shell::split(rest);
    let pairs: Vec<(String, String)> = match words.first() {
        Some(first) if !first.contains('=') => {
            let value = rest.strip_prefix(first.as_str()).unwrap_or_default().trim();
            vec![(first.clone(), value.to_owned())]
        }
        _ => words
            .iter()
            .filter_map(|w| w.split_once('='))
            .map(|(k, v)| (k.to_owned(), v.to_owned()))
            .collect(),
    };
    pairs.into_iter()
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests fail by panicking")]
mod tests {
    use super::*;

    #[test]
    fn the_last_stage_counts_with_what_it_inherits() {
        let text = "FROM node:24 AS base\nENV NODE_ENV=production PORT=3000\nSTOPSIGNAL SIGINT\nCMD [\"a\"]\n\
                    FROM golang AS other\nCMD x\n\
                    # comment\nFROM base\nRUN <<EOF\nCMD wrong\nEOF\nENTRYPOINT [ \"node\", \\\n  # inside\n  \"server.js\" ]\n";
        let read = Dockerfile::read("Dockerfile", text).unwrap();
        assert_eq!(read.base, "node:24");
        assert_eq!(read.env["NODE_ENV"].0, "production");
        assert_eq!(read.stop_signal.as_ref().unwrap().0, "SIGINT");
        let (words, at, name) = read.command(None).unwrap();
        assert_eq!(words, ["node", "server.js"]);
        assert_eq!((at.line, name), (12, "ENTRYPOINT"));
    }

    #[test]
    fn shell_form_runs_a_shell_that_takes_no_arguments() {
        let read = Dockerfile::read("D", "FROM x\nENTRYPOINT node server.js\n").unwrap();
        let args = ["--port".to_owned()];
        let (words, ..) = read.command(Some(&args)).unwrap();
        assert_eq!(words, ["/bin/sh", "-c", "node server.js"]);
    }

    #[test]
    fn a_file_without_from_is_none() {
        let problem = Dockerfile::read("D", "CMD x").unwrap_err();
        assert_eq!(
            problem.to_string(),
            "D: found no FROM instruction, expected a Dockerfile"
        );
    }
}
