//! The report's counts of jobs against the database's own.

use rollscope_tests::Finished;
use serde_json::Value;

use super::postgres::{PASSWORD, Postgres};
use super::shop::rollout;

const QUERY: &str =
    "SELECT job, event, pod, t FROM events WHERE starts_with(job, $1) -- all of this run";

fn job_counts(run: &Finished) -> (u64, u64, u64, u64) {
    let jobs = &run.report()["jobs"];
    assert_eq!(
        (&jobs["source"], &jobs["missing"]),
        (&Value::from("postgresql"), &Value::Null)
    );
    let of = |name: &str| jobs[name].as_u64().unwrap();
    (of("accepted"), of("done"), of("lost"), of("open"))
}

/// What was done is what the database has as done, but for what was still running when it was read for the last time.
fn check_done(postgres: &Postgres, done: u64, open: u64) {
    let own = "SELECT count(DISTINCT job) FROM events WHERE event = 'done'";
    let own = postgres.number(own);
    assert!(
        open <= 4 && (done..=done + open).contains(&own),
        "{own}, {done} done, {open} open"
    );
}

/// The jobs come at their own rate beside the others, and every slot has its record.
fn check_rates(run: &Finished) {
    let recording = run.recording();
    let named = |name: &str| recording.requests.iter().filter(|r| r.name == name).count();
    let (jobs, others) = (named("enqueue"), named("home"));
    assert!(
        others.abs_diff(5 * jobs) <= 5,
        "{jobs} jobs, {others} others"
    );
    let requests = &run.report()["requests"];
    assert_eq!(requests["planned"], jobs + others);
    let sum = requests["sent"].as_u64().unwrap() + requests["dropped"].as_u64().unwrap();
    assert_eq!(requests["planned"], sum);
    assert_eq!(run.report()["run"]["rate_per_second"], 24.0);
}

#[test]
fn jobs_that_a_database_has_as_done_are_done() {
    let postgres = Postgres::start();
    let (run, _dir) = rollout(&postgres, "", QUERY);
    run.expect_exit(0);
    let (accepted, done, lost, open) = job_counts(&run);
    assert!(accepted > 10, "{accepted}");
    assert_eq!((done + open, lost), (accepted, 0));
    check_done(&postgres, done, open);
    check_rates(&run);
    let whole = format!("{:?}", run.recording());
    assert!(!whole.contains(PASSWORD));
}

#[test]
fn jobs_that_a_database_never_has_as_done_are_lost() {
    let postgres = Postgres::start();
    let lose = "            - { name: LOSE, value: 'yes' }";
    let (run, _dir) = rollout(&postgres, lose, QUERY);
    run.expect_exit(1);
    let (accepted, done, lost, open) = job_counts(&run);
    assert_eq!(accepted, done + lost + open);
    check_done(&postgres, done, open);
    let undone = "SELECT count(*) FROM (SELECT job FROM events GROUP BY job HAVING bool_and(event <> 'done')) undone";
    let undone = postgres.number(undone);
    // What was accepted just before the end had time left.
    assert!((lost..=lost + open).contains(&undone), "{undone}");
    assert!(lost > 3 && open <= 4, "{lost} lost, {open} open");
    let findings = run.report()["findings"].to_string();
    assert!(findings.contains("job_lost"), "{findings}");
}

#[test]
fn a_query_that_would_change_something_is_refused_and_told() {
    let postgres = Postgres::start();
    let (run, _dir) = rollout(&postgres, "", "SELECT nextval('numbers')::text AS job");
    let missing = run.report()["jobs"]["missing"].to_string();
    assert!(
        missing.contains("read-only transaction"),
        "{missing}\n{}",
        run.stderr
    );
    assert_eq!(postgres.sql("SELECT is_called FROM numbers"), "f\n");
    assert_eq!(run.report()["jobs"]["lost"], 0);
}
