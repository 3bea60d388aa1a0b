//! Malformed and hostile recordings end in a clear error or a partial analysis, never in a panic: the fuzz targets of
//! `fuzz/` under a seeded driver, and every input that ever failed. `FUZZ_SECONDS=300` runs them for longer.
#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

#[path = "../../fuzz/src/lib.rs"]
#[expect(unreachable_pub, reason = "a library of its own elsewhere")]
mod fuzz;

use std::panic::catch_unwind;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use std::{env, fs};

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use rollscope_tests::GoldenCase;

/// Inputs that each target gets in an ordinary run.
const INPUTS: u64 = 150;

/// Where what failed is kept.
fn finds(target: &str) -> PathBuf {
    let fuzz = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/finds");
    fuzz.join(target)
}

/// Gives a target inputs until it has had enough of them; one that fails is written down first.
fn drive(target: &str, run: fn(&[u8]), input: impl Fn(&mut StdRng) -> Vec<u8>) {
    let seconds = env::var("FUZZ_SECONDS").ok().map(|s| s.parse().unwrap());
    let until = Instant::now() + Duration::from_secs(seconds.unwrap_or(0));
    let mut seed = 0;
    while seed < INPUTS || Instant::now() < until {
        let data = input(&mut StdRng::seed_from_u64(seed));
        if catch_unwind(|| run(&data)).is_err() {
            let kept = finds(target).join(format!("seed-{seed}"));
            fs::create_dir_all(finds(target)).unwrap();
            fs::write(&kept, &data).unwrap();
            panic!(
                "{target} failed with seed {seed}; kept as {}",
                kept.display()
            );
        }
        seed += 1;
    }
}

#[test]
fn no_damage_to_its_files_makes_the_reader_panic() {
    drive("reader", fuzz::reader, |rng| {
        let mut data = Vec::new();
        for _ in 0..rng.random_range(1..6) {
            let n: u8 = rng.random_range(0..24);
            data.extend(rng.random::<[u8; 4]>());
            data.push(n);
            data.extend((0..n).map(|_| rng.random::<u8>()));
        }
        data
    });
}

#[test]
fn no_change_to_its_records_makes_the_analyzer_panic() {
    let seeds: Vec<Vec<Vec<u8>>> = GoldenCase::all()
        .iter()
        .filter(|case| case.written().is_some())
        .map(seed_lines)
        .collect();
    drive("analyzer", fuzz::analyzer, |rng| {
        let mut lines = seeds[rng.random_range(0..seeds.len())].clone();
        for _ in 0..rng.random_range(1..20) {
            mutate(&mut lines, &seeds, rng);
        }
        lines.join(&b'\n')
    });
}

/// A golden case's records as lines, with every fifth of its answered requests.
fn seed_lines(case: &GoldenCase) -> Vec<Vec<u8>> {
    let mut recording = case.recording();
    recording
        .requests
        .retain(|r| r.outcome.is_failure() || r.seq % 5 == 0);
    let lines = fuzz::lines(&recording);
    lines.split(|b| *b == b'\n').map(<[u8]>::to_vec).collect()
}

/// Values that numbers are replaced by.
const EXTREMES: [&str; 9] = [
    "0",
    "-1",
    "1",
    "9223372036854775807",
    "-9223372036854775808",
    "18446744073709551615",
    "1e308",
    "null",
    "\"9999-12-31T23:59:59Z\"",
];

fn mutate(lines: &mut Vec<Vec<u8>>, seeds: &[Vec<Vec<u8>>], rng: &mut StdRng) {
    if lines.is_empty() {
        return;
    }
    let (i, j) = (
        rng.random_range(0..lines.len()),
        rng.random_range(0..lines.len()),
    );
    match rng.random_range(0..8) {
        0 => drop(lines.remove(i)),
        1 => lines.insert(j, lines[i].clone()),
        2 => lines.swap(i, j),
        3 => {
            let other = &seeds[rng.random_range(0..seeds.len())];
            lines.insert(i, other[rng.random_range(0..other.len())].clone());
        }
        4 => {
            let cut = rng.random_range(0..=lines[i].len());
            lines[i].truncate(cut);
        }
        5 => {
            let huge = "x".repeat(rng.random_range(1..200_000));
            replace(&mut lines[i], |b| b.is_ascii_alphabetic(), &huge, rng);
        }
        6 => {
            let at = rng.random_range(0..=lines[i].len().saturating_sub(1));
            if let Some(byte) = lines[i].get_mut(at) {
                *byte ^= 1 << rng.random_range(0..8);
            }
        }
        _ => {
            let value = EXTREMES[rng.random_range(0..EXTREMES.len())];
            replace(
                &mut lines[i],
                |b| b.is_ascii_digit() || *b == b'-',
                value,
                rng,
            );
        }
    }
}

/// Replaces one run of bytes that `belongs` holds for.
fn replace(line: &mut Vec<u8>, belongs: impl Fn(&u8) -> bool, with: &str, rng: &mut StdRng) {
    if line.is_empty() {
        return;
    }
    let from = rng.random_range(0..line.len());
    let Some(start) = line[from..].iter().position(&belongs).map(|n| from + n) else {
        return;
    };
    let length = line[start..].iter().take_while(|b| belongs(b)).count();
    line.splice(start..start + length, with.bytes());
}

#[test]
fn what_failed_once_does_not_fail_again() {
    let targets = [
        ("reader", fuzz::reader as fn(&[u8])),
        ("analyzer", fuzz::analyzer),
    ];
    for (target, run) in targets {
        let Ok(kept) = fs::read_dir(finds(target)) else {
            continue;
        };
        for entry in kept {
            run(&fs::read(entry.unwrap().path()).unwrap());
        }
    }
}
