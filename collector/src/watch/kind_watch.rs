//! The life of one kind's watch: list, watch, resume, list again.

use std::sync::Arc;
use std::time::Duration;

use rollscope_records::{
    Gap, ObjectKind, RecordingWriter, RunClock, RunOffset, WatchRecord, WatchType, redact,
};
use serde_json::Value;
use tokio::sync::watch;
use tokio::time::Instant;

use super::WatchTiming;
use super::event::{WatchLine, read, version};
use super::known::{Known, is_newer};
use crate::backoff::Backoff;
use crate::lines::{Lines, Next};
use crate::resource::Resource;
use crate::{ApiFailure, ApiServer, ClusterState};

/// A resumed watch loses nothing, but what came late is marked as such from this long on.
const LATE: Duration = Duration::from_secs(1);

/// A watch that ended sooner than this was not worth the request; the next one waits longer.
const SHORT_LIVED: Duration = Duration::from_secs(1);

/// The longest line of a watch stream: far over etcd's own limit for an object.
const LONGEST_LINE: usize = 16 << 20;

/// Watches the objects of one kind.
pub(crate) struct KindWatch {
    api: ApiServer,
    resource: Resource,
    clock: RunClock,
    recorder: RecordingWriter,
    state: Arc<watch::Sender<ClusterState>>,
    timing: WatchTiming,
    known: Known,
    /// From where the watch goes on.
    version: String,
    /// Up to when nothing can have escaped us; the start of a gap.
    last_seen: RunOffset,
    backoff: Backoff,
}

/// How a watch's stream ended.
enum Ended {
    /// When its time was over.
    InOrder,
    /// Otherwise; a new watch makes it good.
    Cut(String),
    /// The server no longer has the versions since ours.
    Expired(ApiFailure),
    /// The server refused, for now.
    Refused(ApiFailure),
}

/// The server is out of sight.
struct Lost {
    since: RunOffset,
    why: String,
}

impl KindWatch {
    pub(crate) fn new(
        api: ApiServer,
        resource: Resource,
        clock: RunClock,
        recorder: RecordingWriter,
        state: Arc<watch::Sender<ClusterState>>,
        timing: WatchTiming,
    ) -> Self {
        Self {
            api,
            resource,
            clock,
            recorder,
            state,
            timing,
            known: Known::default(),
            version: String::new(),
            last_seen: clock.now(),
            backoff: Backoff::new(Duration::from_millis(100), Duration::from_secs(3)),
        }
    }

    /// The first list: everything in it is recorded as added.
    pub(crate) async fn first_list(&mut self) -> Result<(), ApiFailure> {
        let (objects, version) = self.list().await?;
        for object in objects {
            self.record(self.last_seen, WatchType::Added, object);
        }
        self.version = version;
        Ok(())
    }

    async fn list(&mut self) -> Result<(Vec<Value>, String), ApiFailure> {
        let mut list = self.api.json(self.resource.list()?).await?;
        self.last_seen = self.clock.now();
        let version = version(&list);
        let Value::Array(mut objects) = list["items"].take() else {
            return Err(ApiFailure::Malformed("a list without items".to_owned()));
        };
        if version.is_empty() {
            let why = "a list without a resourceVersion".to_owned();
            return Err(ApiFailure::Malformed(why));
        }
        for object in &mut objects {
            name_the_kind(object, self.resource.kind);
        }
        Ok((objects, version))
    }

    /// Watches until `stop` turns true. If the server is not in sight then, the gap stays open.
    pub(crate) async fn run(mut self, mut stop: watch::Receiver<bool>) {
        let mut lost: Option<Lost> = None;
        loop {
            let began = Instant::now();
            let ended = tokio::select! {
                () = stopped(&mut stop) => break,
                ended = self.watch_once(&mut lost) => ended,
            };
            let pause = self.after(ended, began.elapsed(), &mut lost);
            tokio::select! {
                () = stopped(&mut stop) => break,
                () = tokio::time::sleep(pause) => {}
            }
        }
        if let Some(lost) = lost {
            self.gap(lost.since, None, format!("{}; not seen again", lost.why));
        }
    }

    /// Decides how to go on, and from when nothing was seen. Gives the pause before the next attempt.
    fn after(&mut self, ended: Ended, lived: Duration, lost: &mut Option<Lost>) -> Duration {
        let (why, pause) = match ended {
            Ended::InOrder if lived >= SHORT_LIVED => return Duration::ZERO,
            Ended::InOrder => (
                "the server ended the watch at once".to_owned(),
                self.backoff.delay(None),
            ),
            Ended::Cut(why) => (why, self.backoff.delay(None)),
            Ended::Expired(failure) => {
                self.version.clear();
                (failure.to_string(), Duration::ZERO)
            }
            Ended::Refused(failure) => (
                failure.to_string(),
                self.backoff.delay(failure.retry_after()),
            ),
        };
        let since = lost.take().map_or(self.last_seen, |lost| lost.since);
        *lost = Some(Lost { since, why });
        pause
    }

    /// One watch, from the request to its end. After a 410 a list comes first.
    async fn watch_once(&mut self, lost: &mut Option<Lost>) -> Ended {
        if self.version.is_empty()
            && let Err(failure) = self.list_again(lost).await
        {
            return Ended::Refused(failure);
        }
        let seconds = self.timing.draw();
        let request = match self.resource.watch(&self.version, seconds) {
            Ok(request) => request,
            Err(failure) => return Ended::Refused(failure),
        };
        match self.api.stream(request).await {
            Ok(answer) => {
                self.resumed(lost);
                let half_open = Duration::from_secs(seconds.into()) + self.timing.half_open_after;
                let lines = Lines::new(answer.into_body(), self.clock, LONGEST_LINE);
                self.follow(lines, Instant::now() + half_open).await
            }
            Err(failure) if failure.code() == Some(410) => Ended::Expired(failure),
            Err(failure) => Ended::Refused(failure),
        }
    }

    async fn follow(&mut self, mut lines: Lines, half_open_at: Instant) -> Ended {
        loop {
            let Ok(next) = tokio::time::timeout_at(half_open_at, lines.next()).await else {
                self.last_seen = lines.last_received();
                return cut("half-open connection: the server did not end the watch in time");
            };
            let (at, line) = match next {
                Next::Line { at, text, .. } => (at, text),
                Next::End { rest } => {
                    self.last_seen = self.clock.now();
                    return match rest.is_empty() {
                        true => Ended::InOrder,
                        false => cut("the stream ended in the middle of an event"),
                    };
                }
                Next::Broken(why) => {
                    self.last_seen = self.clock.now();
                    return cut(&format!("the stream broke: {why}"));
                }
            };
            if let Err(ended) = self.take_line(at, &line) {
                return ended;
            }
        }
    }

    fn take_line(&mut self, at: RunOffset, line: &[u8]) -> Result<(), Ended> {
        if line.is_empty() {
            return Ok(());
        }
        match read(line) {
            Ok(WatchLine::Change(event, object)) => {
                self.seen(at, version(&object));
                self.record(at, event, object);
                Ok(())
            }
            Ok(WatchLine::Bookmark(version)) => {
                self.seen(at, version);
                Ok(())
            }
            Ok(WatchLine::Refused(failure)) if failure.code() == Some(410) => {
                Err(Ended::Expired(failure))
            }
            Ok(WatchLine::Refused(failure)) => Err(Ended::Refused(failure)),
            Err(why) => Err(cut(&format!("an event could not be read: {why}"))),
        }
    }

    fn seen(&mut self, at: RunOffset, version: String) {
        self.last_seen = at;
        self.backoff.reset();
        if is_newer(&version, &self.version) {
            self.version = version;
        }
    }

    /// The server is back. Nothing was lost, but what happened in between carries the time of its delivery.
    fn resumed(&mut self, lost: &mut Option<Lost>) {
        self.last_seen = self.clock.now();
        if let Some(Lost { since, why }) = lost.take()
            && self.last_seen.nanos_since(since)
                > i64::try_from(LATE.as_nanos()).unwrap_or(i64::MAX)
        {
            let reason = format!(
                "{why}; resumed from resourceVersion {}: nothing lost, but what happened in between was received late",
                self.version
            );
            self.gap(since, Some(self.last_seen), reason);
        }
    }

    /// After a 410: the new list, what it changed, and the gap between.
    async fn list_again(&mut self, lost: &mut Option<Lost>) -> Result<(), ApiFailure> {
        let before = self.last_seen;
        let (objects, version) = self.list().await?;
        let now = self.last_seen;
        let difference = self
            .known
            .difference(objects.into_iter().map(redacted).collect());
        let lost = lost.take();
        let why = lost
            .as_ref()
            .map_or("the watch could not go on", |l| &l.why);
        let reason = format!("{why}; listed again: {}", difference.in_words());
        self.gap(lost.as_ref().map_or(before, |l| l.since), Some(now), reason);
        for (event, object) in difference.events {
            self.record(now, event, object);
        }
        self.version = version;
        Ok(())
    }

    fn record(&mut self, at: RunOffset, event: WatchType, object: Value) {
        if !self.known.is_news(event, &object) {
            return;
        }
        let kind = self.resource.kind;
        self.state
            .send_modify(|state| state.apply(kind, event, &object));
        let object = redacted(object);
        self.known.take(event, &object);
        self.recorder.watch(WatchRecord::Event {
            at,
            kind,
            event,
            object,
        });
    }

    fn gap(&self, from: RunOffset, to: Option<RunOffset>, reason: String) {
        self.recorder.watch(WatchRecord::Gap(Gap {
            source: format!("watch/{}", self.resource.kind.as_str()),
            from,
            to,
            reason,
        }));
    }
}

fn cut(why: &str) -> Ended {
    Ended::Cut(why.to_owned())
}

/// Returns when `stop` is true, or when nobody can set it any more.
async fn stopped(stop: &mut watch::Receiver<bool>) {
    let _ = stop.wait_for(|stop| *stop).await;
}

fn redacted(mut object: Value) -> Value {
    redact::object(&mut object);
    object
}

/// The items of a list come without `kind` and `apiVersion`; those of a watch have them.
fn name_the_kind(object: &mut Value, kind: ObjectKind) {
    let api_version = match kind {
        ObjectKind::Deployment | ObjectKind::ReplicaSet => "apps/v1",
        ObjectKind::EndpointSlice => "discovery.k8s.io/v1",
        ObjectKind::Pod | ObjectKind::Event | ObjectKind::Node => "v1",
    };
    if let Some(fields) = object.as_object_mut() {
        fields.entry("kind").or_insert_with(|| kind.as_str().into());
        fields
            .entry("apiVersion")
            .or_insert_with(|| api_version.into());
    }
}
