//! `pods/log`.

use bytes::Bytes;
use futures::stream;
use http::Response;
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use super::body::{self, Body};
use super::error::ApiError;
use super::query::Query;
use super::route::Target;
use crate::logs::{LogLine, LogOptions, LogReader, LogStore};
use crate::{Kind, Store};

/// A piece of a log that is sent at once, in bytes, from which on no further line is added.
const PIECE: usize = 32 * 1024;
/// How a kubelet writes its own trouble into a log.
const TROUBLE: &str = "unable to retrieve container logs for rollscope";

/// A container's log, whole or followed.
pub(super) fn log(
    store: &Store,
    logs: &LogStore,
    target: &Target,
    query: &Query,
) -> Result<Response<Body>, ApiError> {
    let (namespace, name) = (&target.namespace, &target.name);
    let pod = store
        .get(Kind::Pod, namespace, name)
        .ok_or_else(|| ApiError::not_found(target.resource, name))?;
    let container = container(&pod, query.get("container"))?;
    let options = options(query)?;
    let limit = number(query, "limitBytes")?;
    let Some(reader) = logs.read(namespace, name, container, &options) else {
        if options.previous {
            return Err(ApiError::bad_request(format!(
                "previous terminated container {container:?} in pod {name:?} not found"
            )));
        }
        return Err(ApiError::bad_request(format!(
            "container {container:?} in pod {name:?} is waiting to start: ContainerCreating"
        )));
    };
    let pieces = Pieces {
        reader,
        timestamps: query.flag("timestamps"),
        left: limit.unwrap_or(usize::MAX),
        at_line_start: true,
    };
    let lines = stream::unfold(pieces, |mut pieces| async {
        pieces.next().await.map(|piece| (piece, pieces))
    });
    Ok(body::stream("text/plain", lines))
}

fn container<'a>(pod: &'a Value, asked: Option<&str>) -> Result<&'a str, ApiError> {
    let pod_name = pod["metadata"]["name"].as_str().unwrap_or_default();
    let names: Vec<&str> = ["containers", "initContainers"]
        .iter()
        .filter_map(|list| pod["spec"][*list].as_array())
        .flatten()
        .filter_map(|c| c["name"].as_str())
        .collect();
    match (asked, names.as_slice()) {
        (Some(asked), names) => names.iter().copied().find(|n| *n == asked).ok_or_else(|| {
            ApiError::bad_request(format!("container {asked} is not valid for pod {pod_name}"))
        }),
        (None, [one]) => Ok(one),
        (None, names) => Err(ApiError::bad_request(format!(
            "a container name must be specified for pod {pod_name}, choose one of: {names:?}"
        ))),
    }
}

fn options(query: &Query) -> Result<LogOptions, ApiError> {
    let since = match (
        query.get("sinceTime"),
        number::<i64>(query, "sinceSeconds")?,
    ) {
        (Some(_), Some(_)) => {
            return Err(ApiError::bad_request(
                "at most one of `sinceTime` or `sinceSeconds` may be specified",
            ));
        }
        (Some(time), None) => Some(time.parse().map_err(|e| {
            ApiError::bad_request(format!(
                "sinceTime {time:?}: expected an RFC 3339 time: {e}"
            ))
        })?),
        (None, Some(seconds)) => Timestamp::now()
            .checked_sub(SignedDuration::from_secs(seconds))
            .ok(),
        (None, None) => None,
    };
    Ok(LogOptions {
        previous: query.flag("previous"),
        tail_lines: number(query, "tailLines")?,
        since,
        follow: query.flag("follow"),
    })
}

fn number<T: std::str::FromStr>(query: &Query, name: &str) -> Result<Option<T>, ApiError> {
    let read = |text: &str| {
        text.parse()
            .map_err(|_| ApiError::bad_request(format!("{name} {text:?}: expected a number")))
    };
    query.get(name).map(read).transpose()
}

/// The log's lines as they are sent.
struct Pieces {
    reader: LogReader,
    timestamps: bool,
    /// Bytes that may still be sent.
    left: usize,
    at_line_start: bool,
}

impl Pieces {
    async fn next(&mut self) -> Option<Bytes> {
        if self.left == 0 {
            return None;
        }
        let mut line = self.reader.next().await;
        let mut text = String::new();
        let lost = self.reader.take_lost();
        if lost > 0 {
            text.push_str(&format!(
                "{TROUBLE}: {lost} lines were dropped before they were read\n"
            ));
        }
        // What is there goes together: a frame for each line would be slower than a program that writes in a loop.
        while let Some(next) = line {
            text.push_str(&self.written(&next));
            line = (text.len() < PIECE).then(|| self.reader.ready()).flatten();
        }
        if text.is_empty() {
            return None;
        }
        let mut piece = text.into_bytes();
        piece.truncate(self.left);
        self.left -= piece.len();
        Some(piece.into())
    }

    fn written(&mut self, line: &LogLine) -> String {
        let mut text = String::with_capacity(line.text.len() + 40);
        if self.timestamps && self.at_line_start {
            text.push_str(&line.timestamp());
            text.push(' ');
        }
        text.push_str(&line.text);
        self.at_line_start = !line.partial;
        if self.at_line_start {
            text.push('\n');
        }
        text
    }
}
