//! Manifests in the manner of well-known charts, as a smoke test: what is found is what each says in its head.

#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

use std::path::Path;

use rollscope_preflight::{Input, Source, check, text};

#[test]
fn charts_have_the_findings_that_they_say() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/charts");
    let mut count = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let content = std::fs::read_to_string(&path).unwrap();
        let expected = content
            .lines()
            .find_map(|l| l.strip_prefix("# expected: "))
            .unwrap()
            .to_owned();
        let input = Input {
            manifests: vec![Source {
                name: path.display().to_string(),
                text: content,
            }],
            ..Input::default()
        };
        let report = check(&input).unwrap();
        let mut found: Vec<&str> = report.findings.iter().map(|f| f.rule.code()).collect();
        found.sort_unstable();
        assert_eq!(
            found.join(" "),
            expected,
            "{}\n{}",
            path.display(),
            text(&report)
        );
        count += 1;
    }
    assert!(count >= 7);
}
