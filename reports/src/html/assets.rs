//! The style and the script, as they are embedded, and the policy that lets exactly these two run.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use sha2::{Digest as _, Sha256};

/// The page's style.
pub(super) const STYLE: &str = include_str!("../../assets/timeline.css");

/// The script's modules, each after those that it imports.
const MODULES: [&str; 21] = [
    include_str!("../../assets/dom.js"),
    include_str!("../../assets/time.js"),
    include_str!("../../assets/data.js"),
    include_str!("../../assets/later.js"),
    include_str!("../../assets/view.js"),
    include_str!("../../assets/tooltip.js"),
    include_str!("../../assets/series.js"),
    include_str!("../../assets/records.js"),
    include_str!("../../assets/charts.js"),
    include_str!("../../assets/bands.js"),
    include_str!("../../assets/burst_marks.js"),
    include_str!("../../assets/lanes.js"),
    include_str!("../../assets/lists.js"),
    include_str!("../../assets/evidence.js"),
    include_str!("../../assets/panel.js"),
    include_str!("../../assets/filters.js"),
    include_str!("../../assets/minimap.js"),
    include_str!("../../assets/gestures.js"),
    include_str!("../../assets/legend.js"),
    include_str!("../../assets/timeline.js"),
    include_str!("../../assets/main.js"),
];

/// The page's script: its modules in one, since a page that may load nothing cannot import. Names are unique across
/// the modules, so that taking away `import` lines and `export` words is all that it needs.
pub(super) fn script() -> String {
    let mut script = String::from("\n");
    for line in MODULES.iter().flat_map(|module| module.lines()) {
        if line.starts_with("import ") {
            continue;
        }
        script.push_str(line.strip_prefix("export ").unwrap_or(line));
        script.push('\n');
    }
    script
}

/// The content security policy: nothing but this style and this script, both known by their hash; without one, none.
pub(super) fn policy(style: &str, script: Option<&str>) -> String {
    let script = script.map_or("none".to_owned(), hash);
    format!(
        "default-src 'none'; style-src '{}'; script-src '{script}'; base-uri 'none'; form-action 'none'",
        hash(style),
    )
}

/// A CSP hash source of an inline element's text.
fn hash(text: &str) -> String {
    format!(
        "sha256-{}",
        BASE64_STANDARD.encode(Sha256::digest(text.as_bytes()))
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_is_the_one_that_browsers_compute() {
        assert_eq!(
            hash("alert('Hello, world.');"),
            "sha256-qznLcsROx4GACP2dm0UCKCzCG+HiZ1guq6ZZDob/Tng="
        );
    }

    #[test]
    fn style_and_script_cannot_end_their_own_elements() {
        for text in [STYLE.to_owned(), script()] {
            let lower = text.to_lowercase();
            assert!(!lower.contains("</"), "an end tag in an asset");
            assert!(!lower.contains("<!--"), "a comment in an asset");
            assert!(!lower.contains("<script"), "a script tag in an asset");
        }
    }

    #[test]
    fn the_script_has_no_module_words_left() {
        for line in script().lines() {
            assert!(
                !line.starts_with("import ") && !line.starts_with("export "),
                "{line}"
            );
        }
    }

    #[test]
    fn no_two_modules_declare_the_same_name() {
        let mut seen = std::collections::BTreeSet::new();
        let script = script();
        for line in script.lines() {
            let Some(rest) = ["const ", "let ", "function ", "class ", "async function "]
                .iter()
                .find_map(|word| line.strip_prefix(word))
            else {
                continue;
            };
            let name: String = rest
                .chars()
                .take_while(|c| c.is_alphanumeric() || *c == '_' || *c == '$')
                .collect();
            assert!(seen.insert(name.clone()), "{name} is declared twice");
        }
    }

    #[test]
    fn markup_is_parsed_in_one_place_the_page_s_own() {
        let parsers: Vec<_> = MODULES
            .iter()
            .filter(|module| module.contains("DOMParser"))
            .collect();
        assert_eq!(parsers.len(), 1);
        assert!(parsers[0].contains("noscript.later"));
        assert_eq!(parsers[0].matches("DOMParser").count(), 1);
    }

    #[test]
    fn nothing_in_the_assets_loads_or_evaluates() {
        for text in [STYLE.to_owned(), script()] {
            for word in [
                "http://",
                "https://",
                "@import",
                "url(h",
                "url(/",
                "eval(",
                "Function(",
                "innerHTML",
                "outerHTML",
                "insertAdjacentHTML",
                "document.write",
                "fetch(",
                "XMLHttpRequest",
                "import(",
            ] {
                // The SVG namespace is a name, not an address.
                let text = text.replace("http://www.w3.org/2000/svg", "");
                assert!(!text.contains(word), "{word} in an asset");
            }
        }
    }
}
