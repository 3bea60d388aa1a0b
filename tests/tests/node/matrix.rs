//! The README's table of what a client sees of each subject behind each front end, as `matrix` printed it.

use std::collections::BTreeSet;
use std::fs;

use rollscope_tests::matrix::FRONT_ENDS;

use super::table::{expected, repository, rows_under, words};

const HEADING: &str = "### What a client sees behind each front end";

/// Subject, then a cell for each front end.
fn matrix() -> Vec<Vec<String>> {
    let readme = fs::read_to_string(repository().join("README.md")).unwrap();
    let rows = rows_under(&readme, HEADING);
    assert!(rows.iter().all(|row| row.len() == 1 + FRONT_ENDS.len()));
    rows
}

#[test]
fn every_subject_was_measured_behind_every_front_end() {
    let measured: BTreeSet<_> = matrix()
        .iter()
        .map(|row| words(&row[0]).remove(0))
        .collect();
    let subjects: BTreeSet<_> = expected().into_iter().map(|e| e.subject).collect();
    assert_eq!(measured, subjects);
    for row in matrix() {
        assert!(!row.iter().any(|c| c.contains("not measured")), "{row:?}");
    }
}

/// What the table of the subjects says of a rollout behind `l4`, where the test `rollouts` checks it.
#[test]
fn behind_l4_each_subject_has_the_cause_of_its_own_table() {
    for row in matrix() {
        let subject = words(&row[0]).remove(0);
        let expected = expected().into_iter().find(|e| e.subject == subject);
        let expected = expected.unwrap();
        let causes: BTreeSet<_> = words(&row[1]).into_iter().collect();
        let rollout = expected.rollout;
        let mut allowed = rollout.beside.clone();
        allowed.extend(rollout.cause.clone());
        allowed.extend(rollout.findings.clone());
        assert!(causes.is_subset(&allowed), "{row:?}, expected {rollout:?}");
        let named = rollout.cause.is_none_or(|cause| causes.contains(&cause));
        assert!(named, "{row:?}");
    }
}
