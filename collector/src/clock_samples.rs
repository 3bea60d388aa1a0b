//! Samples of the API server's clock, from the `Date` header of its answers.
//!
//! A `Date` has a resolution of one second, but where its second changes says far more. So each request is timed to
//! arrive when, by the middle of what is still possible, the server's second changes: every answer then halves the
//! interval of the offset, down to the round-trip time.

use std::time::Duration;

use http::Request;
use jiff::fmt::rfc2822::DateTimeParser;
use rollscope_records::{ClockSample, RecordingWriter, RunClock};
use tokio::sync::watch;

use crate::{ApiFailure, ApiServer};

/// The clock's name in [`ClockSample::clock`].
pub(crate) const API_SERVER: &str = "api-server";

const SECOND: i64 = 1_000_000_000;

/// Samples that are taken quickly, to narrow the offset; later ones only notice drift.
const QUICK: u32 = 12;

/// Takes samples until `stop` turns true.
pub(crate) async fn keep_sampling(
    api: ApiServer,
    clock: RunClock,
    recorder: RecordingWriter,
    mut stop: watch::Receiver<bool>,
) {
    let mut offset = Offset::default();
    for taken in 0u32.. {
        let least = Duration::from_millis(if taken < QUICK { 200 } else { 5_000 });
        let pause = offset.pause(clock, least);
        tokio::select! {
            _ = stop.wait_for(|stop| *stop) => return,
            () = tokio::time::sleep(pause) => {}
        }
        if let Ok(sample) = sample(&api, clock).await {
            offset.narrow(clock, &sample);
            recorder.clock_sample(sample);
        }
    }
}

/// Asks for the API server's version and reads the answer's `Date`.
pub(crate) async fn sample(api: &ApiServer, clock: RunClock) -> Result<ClockSample, ApiFailure> {
    let request = Request::get("/version")
        .body(Vec::new())
        .map_err(|e| ApiFailure::Request(e.to_string()))?;
    let before = clock.now();
    let answer = api.stream(request).await?;
    let after = clock.now();
    let date = answer.headers().get(http::header::DATE);
    let date = date.and_then(|d| d.to_str().ok()).unwrap_or_default();
    let reading = DateTimeParser::new()
        .parse_timestamp(date)
        .map_err(|e| ApiFailure::Malformed(format!("header Date {date:?}: {e}")))?;
    // The body is read to its end, so that the connection can carry the next request.
    let _ = http_body_util::BodyExt::collect(answer.into_body()).await;
    Ok(ClockSample {
        clock: API_SERVER.to_owned(),
        before,
        after,
        reading_unix_nanos: reading.as_second() * SECOND,
        resolution_nanos: SECOND,
    })
}

/// What is known of the server's clock minus ours, ns.
#[derive(Debug, Default)]
struct Offset {
    bounds: Option<(i64, i64)>,
}

impl Offset {
    fn narrow(&mut self, clock: RunClock, sample: &ClockSample) {
        let ours = clock.wall_start_unix_nanos();
        let lo = sample.reading_unix_nanos - (ours + sample.after.nanos());
        let hi = sample.reading_unix_nanos + SECOND - (ours + sample.before.nanos());
        let (old_lo, old_hi) = self.bounds.unwrap_or((lo, hi));
        let both = (old_lo.max(lo), old_hi.min(hi));
        // A contradiction: one of the clocks was set. What was known before no longer holds.
        self.bounds = Some(if both.0 <= both.1 { both } else { (lo, hi) });
    }

    /// How long to wait, at least `least`, for the server's second to change by the middle of the bounds.
    fn pause(&self, clock: RunClock, least: Duration) -> Duration {
        let Some((lo, hi)) = self.bounds else {
            return Duration::ZERO;
        };
        let least_nanos = i64::try_from(least.as_nanos()).unwrap_or(i64::MAX);
        let earliest = clock.wall_start_unix_nanos() + clock.now().nanos() + least_nanos;
        let server = earliest + lo + (hi - lo) / 2;
        let to_change = SECOND - server.rem_euclid(SECOND);
        least + Duration::from_nanos(u64::try_from(to_change).unwrap_or(0))
    }
}

#[cfg(test)]
mod tests {
    use rollscope_records::RunOffset;

    use super::*;

    /// A server whose clock is `true_offset` ahead, with a round trip of 2 ms.
    fn answer(clock: RunClock, at: i64, true_offset: i64) -> ClockSample {
        let server = clock.wall_start_unix_nanos() + at + 1_000_000 + true_offset;
        ClockSample {
            clock: API_SERVER.to_owned(),
            before: RunOffset(at),
            after: RunOffset(at + 2_000_000),
            reading_unix_nanos: server - server.rem_euclid(SECOND),
            resolution_nanos: SECOND,
        }
    }

    #[test]
    fn twelve_timed_samples_narrow_the_offset_to_the_round_trip() {
        let clock = RunClock::start();
        for true_offset in [-1_234_567_890, 0, 333_333_333, 7_200_000_000_123] {
            let mut offset = Offset::default();
            let mut at = clock.now().nanos();
            for _ in 0..QUICK {
                offset.narrow(clock, &answer(clock, at, true_offset));
                let passed = at - clock.now().nanos();
                let pause = offset.pause(clock, Duration::ZERO);
                // `pause` counts from the real now; shift it to the simulated one, a whole number of seconds later.
                let pause = i64::try_from(pause.as_nanos()).unwrap_or(0);
                at += (pause - passed).rem_euclid(SECOND);
            }
            let (lo, hi) = offset.bounds.unwrap_or_default();
            assert!(lo <= true_offset && true_offset <= hi, "{lo}..{hi}");
            assert!(hi - lo < 6_000_000, "{} ns wide", hi - lo);
        }
    }

    #[test]
    fn a_clock_that_was_set_starts_anew() {
        let clock = RunClock::start();
        let mut offset = Offset::default();
        offset.narrow(clock, &answer(clock, 0, 0));
        offset.narrow(clock, &answer(clock, SECOND, 3600 * SECOND));
        let (lo, _) = offset.bounds.unwrap_or_default();
        assert!(lo > 3000 * SECOND);
    }
}
