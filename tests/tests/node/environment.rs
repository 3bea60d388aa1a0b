//! A machine without node.

use rollscope_tests::Workdir;

use super::PROGRAM;

#[test]
fn a_command_that_is_not_installed_is_an_error_of_the_environment_that_names_it() {
    let workdir = Workdir::new(PROGRAM);
    let mut command = workdir.command(&["run", "scenarios/node/graceful.yaml", "--out", "out"]);
    let nowhere = workdir.path().join("empty");
    let run = workdir.finished(command.env("PATH", nowhere).output().unwrap());
    run.expect_exit(4);
    let told = "\"node\": executable file not found in $PATH";
    assert!(run.stderr.contains(told), "{}", run.stderr);
}
