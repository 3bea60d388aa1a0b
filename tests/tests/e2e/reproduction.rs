//! The same reports again, from the recording alone.

use rollscope_tests::Workdir;

use super::PROGRAM;

#[test]
fn analyze_makes_the_same_reports_byte_for_byte() {
    let workdir = Workdir::new(PROGRAM);
    let short = [("warmup: 4s", "warmup: 1s"), ("settle: 3s", "settle: 1s")];
    workdir.variant("early-close", "short", &short);
    let run = workdir.run("scenarios/short.yaml");
    run.expect_exit(1);
    let recording = run.recording_dir();
    let again = workdir.rollscope(&["analyze", recording.to_str().unwrap(), "--out", "again"]);
    again.expect_exit(1);
    for report in ["timeline.html", "report.json"] {
        let (first, second) = (
            run.out.join(report),
            workdir.path().join("again").join(report),
        );
        let same = std::fs::read(first).unwrap() == std::fs::read(second).unwrap();
        assert!(same, "{report} differs");
    }
}

#[test]
fn nothing_that_gives_the_subject_away_is_in_the_recording() {
    let workdir = Workdir::new(PROGRAM);
    let short = [("warmup: 4s", "warmup: 1s"), ("settle: 3s", "settle: 1s")];
    let short = [&short[..], &[("name: early-close", "name: neutral")]].concat();
    let text = std::fs::read_to_string(workdir.path().join("scenarios/manifests/early-close.yaml"));
    workdir.write("scenarios/manifests/neutral.yaml", &text.unwrap());
    let manifest = [("manifests/early-close.yaml", "manifests/neutral.yaml")];
    workdir.variant("early-close", "neutral", &[&short[..], &manifest].concat());
    let run = workdir.run("scenarios/neutral.yaml");
    run.expect_exit(1);
    assert_eq!(
        run.causes().into_keys().collect::<Vec<_>>(),
        ["early_close"]
    );
    for file in ["run.json", "watch.jsonl", "logs.jsonl", "stages.jsonl"] {
        let text = std::fs::read_to_string(run.recording_dir().join(file)).unwrap();
        for word in ["early-close", "early_close", "earlyclose"] {
            assert!(
                !text.to_lowercase().contains(word),
                "{file} contains {word}"
            );
        }
    }
}
