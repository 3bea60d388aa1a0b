//! Bad scenarios and the messages that they get: `bad/<case>.yaml` with `bad/<case>.txt`. Add two files, get a test;
//! with `UPDATE_EXPECTED=1` in the environment the messages are written instead of compared.

#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

use std::path::{Path, PathBuf};

use rollscope_scenarios::{Place, Scenario, parse};

fn cases() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/bad");
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "yaml"))
        .collect();
    files.sort();
    files
}

fn message(file: &Path) -> String {
    let text = std::fs::read_to_string(file).unwrap();
    let name = file.file_name().unwrap().to_str().unwrap();
    let folder = file.parent().unwrap();
    let message = match parse(&text, name, folder) {
        Ok(_) => panic!("{name} is a valid scenario"),
        Err(errors) => errors.to_string(),
    };
    message.replace(&format!("{}/", folder.display()), "") + "\n"
}

#[test]
fn every_bad_file_gets_its_message() {
    let update = std::env::var_os("UPDATE_EXPECTED").is_some();
    let cases = cases();
    assert!(cases.len() > 50, "only {} cases were found", cases.len());
    let mut wrong = Vec::new();
    for file in cases {
        let (found, expected) = (message(&file), file.with_extension("txt"));
        if update {
            std::fs::write(&expected, &found).unwrap();
        } else if std::fs::read_to_string(&expected).unwrap_or_default() != found {
            wrong.push(format!("{}:\n{found}", file.display()));
        }
    }
    assert!(
        wrong.is_empty(),
        "other messages than expected:\n{}",
        wrong.join("\n")
    );
}

#[test]
fn every_problem_has_a_place_inside_its_file() {
    for file in cases() {
        let text = std::fs::read_to_string(&file).unwrap();
        let errors = parse(&text, "x", file.parent().unwrap()).unwrap_err();
        assert!(!errors.problems().is_empty());
        for problem in errors.problems() {
            let Place::At(at) = problem.place else {
                assert!(text.trim().is_empty() || text.starts_with('#'), "{problem}");
                continue;
            };
            let line = text.lines().nth(at.line - 1).unwrap_or_default();
            assert!(at.line <= text.lines().count() + 1, "{problem}");
            assert!(at.column <= line.chars().count() + 1, "{problem} at {at:?}");
        }
    }
}

#[test]
fn a_file_that_cannot_be_read_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("none.yaml");
    let message = Scenario::load(&path).unwrap_err().to_string();
    let expected = "a scenario with `name`, `target`, `load` and `stages`";
    assert_eq!(
        message,
        format!(
            "{0}: 1 problem\n  {0}: found a file that cannot be read (No such file or directory (os error 2)), expected {expected}",
            path.display()
        )
    );
    let message = Scenario::load(folder.path()).unwrap_err().to_string();
    assert!(
        message.ends_with(&format!("found a directory, expected {expected}")),
        "{message}"
    );
}

#[test]
fn bytes_that_are_not_utf_8_have_a_place() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("latin1.yaml");
    std::fs::write(&path, b"name: shop\n# \xc3\xa4rger \xe4\n").unwrap();
    let errors = Scenario::load(&path).unwrap_err();
    let problem = &errors.problems()[0];
    assert_eq!(
        problem.to_string(),
        "found a byte that is not UTF-8, expected a text file in UTF-8"
    );
    assert!(
        matches!(problem.place, Place::At(at) if (at.line, at.column) == (2, 9)),
        "{errors}"
    );
}

#[test]
fn a_file_that_is_far_too_long_is_not_read() {
    let errors = Scenario::load(Path::new("/dev/zero")).unwrap_err();
    assert!(
        errors.to_string().contains("a file of more than 1 MiB"),
        "{errors}"
    );
}
