//! The requests of the large run.

use rollscope_records::{Lane, Outcome, Phase, RequestRecord, RunOffset};

use super::{RATE, Size, pods};

/// How long after its deletion requests that meet an old pod fail, ns.
pub(crate) const FAILING: i64 = 2_000_000_000;

/// The address that the client knows.
const SERVICE: &str = "10.96.202.108:80";

/// A small linear congruential generator: the same run every time.
struct Chance(u64);

impl Chance {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

/// All requests, in the order in which they are due.
pub(crate) fn requests(size: &Size) -> impl Iterator<Item = RequestRecord> {
    let mut chance = Chance(11);
    let mut left = Failures::new(size);
    (0..size.requests).map(move |seq| {
        let due = RunOffset((seq * 1_000_000_000 / RATE) as i64);
        let failing = left.take(size, due, &mut chance);
        request(size, seq, due, failing, &mut chance)
    })
}

/// Spreads the failures over the ends of the old pods.
struct Failures {
    pod: usize,
    left: u64,
    each: u64,
    extra: u64,
}

impl Failures {
    fn new(size: &Size) -> Self {
        let each = size.failed / size.old() as u64;
        let extra = size.failed % size.old() as u64;
        Self {
            pod: 0,
            left: each + extra,
            each,
            extra,
        }
    }

    /// The pod on which a request that is due then fails, if one does.
    fn take(&mut self, size: &Size, due: RunOffset, chance: &mut Chance) -> Option<usize> {
        if self.pod + 1 < size.old() && self.left == 0 && due >= size.ends(self.pod + 1) {
            self.pod += 1;
            self.left = self.each;
        }
        let since = due.nanos_since(size.ends(self.pod));
        let odds = (FAILING as u64 * RATE / 1_000_000_000 / (self.each + self.extra).max(1)).max(1);
        let late = since > FAILING;
        if since < 0 || self.left == 0 || (!late && chance.below(odds) > 0) {
            return None;
        }
        self.left -= 1;
        Some(self.pod)
    }
}

fn request(
    size: &Size,
    seq: u64,
    due: RunOffset,
    failing: Option<usize>,
    chance: &mut Chance,
) -> RequestRecord {
    let lane = if chance.below(5) == 0 {
        Lane::New
    } else {
        Lane::Reused
    };
    let mut r = RequestRecord::scheduled(seq, lane, "list", due);
    let dispatched = due.plus_nanos(20_000 + chance.below(200_000) as i64);
    r.dispatched = Some(dispatched);
    r.connection = Some(if lane == Lane::New {
        1_000 + seq
    } else {
        seq % 512
    });
    r.reused = lane == Lane::Reused;
    r.local_port = Some(20_000 + (seq % 40_000) as u16);
    r.bytes_sent = 112;
    if r.reused {
        r.ordinal = Some((seq / 512) as u32);
        r.connection_age = Some(due.nanos());
        r.idle = Some(chance.below(90_000_000) as i64);
    }
    let Some(pod) = failing else {
        if lane == Lane::New {
            r.connected = Some(dispatched.plus_nanos(90_000));
            r.ordinal = Some(0);
        }
        r.peer = Some(SERVICE.to_owned());
        r.written = Some(dispatched.plus_nanos(120_000));
        r.bytes_received = 400 + chance.below(200);
        let took = 800_000 + chance.below(9_000_000) as i64;
        r.first_byte = Some(dispatched.plus_nanos(took - 40_000));
        r.ended = Some(dispatched.plus_nanos(took));
        r.outcome = Outcome::Ok;
        r.phase = Phase::Done;
        r.status = Some(200);
        r.pod = Some(pods::answering(size, due, chance.below(1 << 30) as usize));
        return r;
    };
    let took = 150_000 + chance.below(400_000) as i64;
    r.ended = Some(dispatched.plus_nanos(took));
    r.peer = Some(pods::address(pod));
    if lane == Lane::New {
        (r.outcome, r.phase, r.errno) = (Outcome::ConnectRefused, Phase::Connect, Some(111));
    } else {
        (r.outcome, r.phase) = (Outcome::ResetBeforeHeaders, Phase::Head);
        r.written = Some(dispatched.plus_nanos(30_000));
        r.maskable = true;
    }
    r
}
