//! Every text format of the hand-made run, as it was last looked at. After a change that is meant, look at the new text
//! and accept it with `INSTA_UPDATE=always cargo test -p rollscope-reports --test snapshots`.
#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

#[path = "../examples/sample/mod.rs"]
mod sample;

use insta::assert_snapshot;
use rollscope_reports::{
    Figure, github_annotations, junit_xml, report_json, summary_md, trace_json,
};

#[test]
fn report_json_of_a_failed_gate() {
    assert_snapshot!(report_json(&sample::early_close(4_400).0));
}

#[test]
fn junit_of_a_failed_gate() {
    assert_snapshot!(junit_xml(&sample::early_close(4_400).0));
}

#[test]
fn junit_of_a_pass() {
    assert_snapshot!(junit_xml(&sample::clean().0));
}

#[test]
fn junit_of_an_invalid_run() {
    assert_snapshot!(junit_xml(&sample::invalid().0));
}

#[test]
fn markdown_of_a_failed_gate() {
    let (a, r) = sample::early_close(4_400);
    assert_snapshot!(summary_md(&a, &r, Some("figures/timeline.png")));
}

#[test]
fn markdown_of_a_pass() {
    let (a, r) = sample::clean();
    assert_snapshot!(summary_md(&a, &r, None));
}

#[test]
fn markdown_of_an_invalid_run() {
    let (a, r) = sample::invalid();
    assert_snapshot!(summary_md(&a, &r, None));
}

#[test]
fn annotations_of_a_failed_gate() {
    assert_snapshot!(github_annotations(&sample::early_close(4_400).0));
}

#[test]
fn annotations_of_an_invalid_run() {
    assert_snapshot!(github_annotations(&sample::invalid().0));
}

#[test]
fn a_pass_annotates_nothing() {
    assert_eq!(github_annotations(&sample::clean().0), "");
}

#[test]
fn trace_of_a_failed_gate() {
    let (a, r) = sample::early_close(4_400);
    assert_snapshot!(trace_json(&a, &r));
}

#[test]
fn figures_of_a_failed_gate() {
    let (a, r) = sample::early_close(4_400);
    for figure in Figure::ALL {
        assert_snapshot!(figure.name(), figure.svg(&a, &r).unwrap());
    }
}
