//! Rows as columns: the schema of `requests` and `connections`.
//!
//! Times are `i64` nanoseconds on the run's clock, lengths of time `i64` nanoseconds, names are strings. A column that
//! a recording does not have reads as nulls, so that an older recording stays readable; a column that this version
//! does not know is ignored.

use polars::prelude::*;

use super::decode::{self, From, Made};
use super::parquet::RowGroups;
use crate::table::{connections, requests};
use crate::{
    ClosedBy, Columns, Connection, ConnectionColumns, ConnectionRecord, Fate, Lane, Outcome, Phase,
    Request, RequestColumns, RequestRecord, RunOffset,
};

/// Records that are stored as the rows of a columnar file.
pub(crate) trait Stored: Columns {
    /// The file's name without its extension.
    const FILE: &'static str;

    /// Rows as a frame, a column a field.
    fn frame(rows: &[Self::Row<'_>]) -> PolarsResult<DataFrame>;

    /// Appends the rows of a frame, all of them or none.
    fn append(&mut self, frame: &DataFrame) -> PolarsResult<()>;

    /// Reads all rows of a Parquet file.
    fn read(groups: &RowGroups) -> PolarsResult<Self>;
}

fn u64s<R>(name: &str, rows: &[R], get: impl Fn(&R) -> Option<u64>) -> Column {
    Column::new(name.into(), rows.iter().map(get).collect::<Vec<_>>())
}

fn i64s<R>(name: &str, rows: &[R], get: impl Fn(&R) -> Option<i64>) -> Column {
    Column::new(name.into(), rows.iter().map(get).collect::<Vec<_>>())
}

fn u32s<R>(name: &str, rows: &[R], get: impl Fn(&R) -> Option<u32>) -> Column {
    Column::new(name.into(), rows.iter().map(get).collect::<Vec<_>>())
}

fn bools<R>(name: &str, rows: &[R], get: impl Fn(&R) -> bool) -> Column {
    Column::new(name.into(), rows.iter().map(get).collect::<Vec<_>>())
}

fn texts<'r, R>(name: &str, rows: &'r [R], get: impl Fn(&'r R) -> Option<&'r str>) -> Column {
    Column::new(name.into(), rows.iter().map(get).collect::<Vec<_>>())
}

fn nanos(t: Option<RunOffset>) -> Option<i64> {
    t.map(RunOffset::nanos)
}

/// A frame's columns by name, each cast to the type that is asked for.
struct Fields<'f>(&'f DataFrame);

impl Fields<'_> {
    fn cast(&self, name: &str, to: &DataType) -> PolarsResult<Series> {
        match self.0.column(name) {
            Ok(column) => column.as_materialized_series().cast(to),
            Err(_) => Ok(Series::full_null(name.into(), self.0.height(), to)),
        }
    }

    fn u64s(&self, name: &str) -> PolarsResult<Vec<Option<u64>>> {
        Ok(self.cast(name, &DataType::UInt64)?.u64()?.iter().collect())
    }

    fn i64s(&self, name: &str) -> PolarsResult<Vec<Option<i64>>> {
        Ok(self.cast(name, &DataType::Int64)?.i64()?.iter().collect())
    }

    fn times(&self, name: &str) -> PolarsResult<Vec<Option<RunOffset>>> {
        Ok(self
            .i64s(name)?
            .into_iter()
            .map(|t| t.map(RunOffset))
            .collect())
    }

    fn bools(&self, name: &str) -> PolarsResult<Vec<bool>> {
        let series = self.cast(name, &DataType::Boolean)?;
        Ok(series.bool()?.iter().map(|b| b.unwrap_or(false)).collect())
    }

    fn texts(&self, name: &str) -> PolarsResult<StringChunked> {
        Ok(self.cast(name, &DataType::String)?.str()?.clone())
    }
}

fn required<T>(value: Option<T>, column: &str, row: usize) -> PolarsResult<T> {
    value.ok_or_else(|| polars_err!(ComputeError: "column {column:?} has no value in row {row}"))
}

fn named<T>(
    name: Option<&str>,
    known: impl Fn(&str) -> Option<T>,
    column: &str,
) -> PolarsResult<Option<T>> {
    name.map(|n| known(n).ok_or_else(|| polars_err!(ComputeError: "unknown {column} {n:?}")))
        .transpose()
}

fn lane(name: &str) -> Option<Lane> {
    Lane::ALL.into_iter().find(|l| l.as_str() == name)
}

fn phase(name: &str) -> Option<Phase> {
    Phase::ALL.into_iter().find(|p| p.as_str() == name)
}

fn closed_by(name: &str) -> Option<ClosedBy> {
    ClosedBy::ALL.into_iter().find(|c| c.as_str() == name)
}

impl Stored for RequestColumns {
    const FILE: &'static str = "requests";

    fn frame(rows: &[Request<'_>]) -> PolarsResult<DataFrame> {
        let columns = vec![
            u64s("seq", rows, |r| Some(r.seq)),
            texts("lane", rows, |r| Some(r.lane.as_str())),
            texts("name", rows, |r| Some(r.name)),
            i64s("scheduled", rows, |r| Some(r.scheduled.nanos())),
            i64s("dispatched", rows, |r| nanos(r.dispatched)),
            i64s("connected", rows, |r| nanos(r.connected)),
            i64s("written", rows, |r| nanos(r.written)),
            i64s("first_byte", rows, |r| nanos(r.first_byte)),
            i64s("ended", rows, |r| nanos(r.ended)),
            u64s("connection", rows, |r| r.connection),
            u32s("ordinal", rows, |r| r.ordinal),
            i64s("connection_age", rows, |r| r.connection_age),
            i64s("idle", rows, |r| r.idle),
            bools("reused", rows, |r| r.reused),
            u32s("local_port", rows, |r| r.local_port.map(u32::from)),
            texts("peer", rows, |r| r.peer),
            u32s("status", rows, |r| r.status.map(u32::from)),
            texts("outcome", rows, |r| Some(r.outcome.as_str())),
            texts("phase", rows, |r| Some(r.phase.as_str())),
            i64s("errno", rows, |r| r.errno.map(i64::from)),
            u64s("bytes_sent", rows, |r| Some(r.bytes_sent)),
            u64s("bytes_received", rows, |r| Some(r.bytes_received)),
            bools("close_requested", rows, |r| r.close_requested),
            bools("close_received", rows, |r| r.close_received),
            texts("pod", rows, |r| r.pod),
            texts("emitted_by", rows, |r| r.emitted_by),
            bools("maskable", rows, |r| r.maskable),
            texts("detail", rows, |r| r.detail),
        ];
        DataFrame::new(rows.len(), columns)
    }

    fn append(&mut self, frame: &DataFrame) -> PolarsResult<()> {
        let c = Fields(frame);
        let (seq, lanes, names) = (c.u64s("seq")?, c.texts("lane")?, c.texts("name")?);
        let (scheduled, dispatched) = (c.times("scheduled")?, c.times("dispatched")?);
        let (connected, written) = (c.times("connected")?, c.times("written")?);
        let (first_byte, ended) = (c.times("first_byte")?, c.times("ended")?);
        let (connection, ordinal) = (c.u64s("connection")?, c.u64s("ordinal")?);
        let (age, idle, reused) = (
            c.i64s("connection_age")?,
            c.i64s("idle")?,
            c.bools("reused")?,
        );
        let (local_port, peer, status) =
            (c.u64s("local_port")?, c.texts("peer")?, c.u64s("status")?);
        let (outcome, phases, errno) = (c.texts("outcome")?, c.texts("phase")?, c.i64s("errno")?);
        let (sent, received) = (c.u64s("bytes_sent")?, c.u64s("bytes_received")?);
        let (close_requested, close_received) =
            (c.bools("close_requested")?, c.bools("close_received")?);
        let (pod, emitted_by, maskable) = (
            c.texts("pod")?,
            c.texts("emitted_by")?,
            c.bools("maskable")?,
        );
        let detail = c.texts("detail")?;
        let rows: Vec<_> = (0..frame.height())
            .map(|i| {
                Ok(RequestRecord {
                    seq: required(seq[i], "seq", i)?,
                    lane: required(named(lanes.get(i), lane, "lane")?, "lane", i)?,
                    name: names.get(i).unwrap_or(""),
                    scheduled: required(scheduled[i], "scheduled", i)?,
                    dispatched: dispatched[i],
                    connected: connected[i],
                    written: written[i],
                    first_byte: first_byte[i],
                    ended: ended[i],
                    connection: connection[i],
                    ordinal: ordinal[i].and_then(|o| u32::try_from(o).ok()),
                    connection_age: age[i],
                    idle: idle[i],
                    reused: reused[i],
                    local_port: local_port[i].and_then(|p| u16::try_from(p).ok()),
                    peer: peer.get(i),
                    status: status[i].and_then(|s| u16::try_from(s).ok()),
                    outcome: required(
                        named(outcome.get(i), Outcome::from_name, "outcome")?,
                        "outcome",
                        i,
                    )?,
                    phase: required(named(phases.get(i), phase, "phase")?, "phase", i)?,
                    errno: errno[i].and_then(|e| i32::try_from(e).ok()),
                    bytes_sent: sent[i].unwrap_or(0),
                    bytes_received: received[i].unwrap_or(0),
                    close_requested: close_requested[i],
                    close_received: close_received[i],
                    pod: pod.get(i),
                    emitted_by: emitted_by.get(i),
                    maskable: maskable[i],
                    detail: detail.get(i),
                })
            })
            .collect::<PolarsResult<_>>()?;
        rows.into_iter().for_each(|row| self.push(row));
        Ok(())
    }

    fn read(groups: &RowGroups) -> PolarsResult<Self> {
        let (numbers, texts) = decode::columns(groups, &requests_made())?;
        Ok(Self::of(numbers, texts))
    }
}

/// How each packed column of requests is made.
fn requests_made() -> [Made; requests::NUMBERS] {
    std::array::from_fn(|column| match column {
        requests::SEQ => ("seq", From::Id),
        requests::SCHEDULED => ("scheduled", From::Base),
        requests::DISPATCHED => ("dispatched", From::Time),
        requests::CONNECTED => ("connected", From::Time),
        requests::WRITTEN => ("written", From::Time),
        requests::FIRST_BYTE => ("first_byte", From::Time),
        requests::ENDED => ("ended", From::Time),
        requests::CONNECTION => ("connection", From::Bits),
        requests::ORDINAL => ("ordinal", From::Unsigned(u32::MAX.into())),
        requests::CONNECTION_AGE => ("connection_age", From::Signed(i64::MIN..=i64::MAX)),
        requests::IDLE => ("idle", From::Signed(i64::MIN..=i64::MAX)),
        requests::LOCAL_PORT => ("local_port", From::Unsigned(u16::MAX.into())),
        requests::STATUS => ("status", From::Unsigned(u16::MAX.into())),
        requests::ERRNO => ("errno", From::Signed(i32::MIN.into()..=i32::MAX.into())),
        requests::BYTES_SENT => ("bytes_sent", From::Count(u64::MAX)),
        requests::BYTES_RECEIVED => ("bytes_received", From::Count(u64::MAX)),
        requests::NAME => ("name", From::Name),
        requests::PEER => ("peer", From::Text),
        requests::POD => ("pod", From::Text),
        requests::HINT => ("emitted_by", From::Text),
        requests::DETAIL => ("detail", From::Text),
        _ => ("", From::Mixed(request_fates)),
    })
}

fn request_fates(groups: &RowGroups, group: usize) -> PolarsResult<Vec<i64>> {
    let name = |column: &str, known: &dyn Fn(&str) -> Option<i64>| {
        decode::named(groups, group, column, None, known)
    };
    let mut fates = name("lane", &|n| lane(n).map(Fate::of_lane))?;
    let outcomes = name("outcome", &|n| Outcome::from_name(n).map(Fate::of_outcome))?;
    let phases = name("phase", &|n| phase(n).map(Fate::of_phase))?;
    let others = outcomes.into_iter().zip(phases);
    for (fate, (outcome, phase)) in fates.iter_mut().zip(others) {
        *fate |= outcome | phase;
    }
    let flags = ["reused", "close_requested", "close_received", "maskable"];
    for (i, column) in flags.into_iter().enumerate() {
        let bit = Fate::of_flags(std::array::from_fn(|flag| flag == i));
        decode::flag(groups, group, column, bit, &mut fates)?;
    }
    Ok(fates)
}

impl Stored for ConnectionColumns {
    const FILE: &'static str = "connections";

    fn frame(rows: &[Connection<'_>]) -> PolarsResult<DataFrame> {
        let columns = vec![
            u64s("id", rows, |r| Some(r.id)),
            texts("lane", rows, |r| Some(r.lane.as_str())),
            i64s("started", rows, |r| Some(r.started.nanos())),
            i64s("established", rows, |r| nanos(r.established)),
            i64s("secured", rows, |r| nanos(r.secured)),
            i64s("closed", rows, |r| nanos(r.closed)),
            texts("closed_by", rows, |r| r.closed_by.map(ClosedBy::as_str)),
            bools("closed_idle", rows, |r| r.closed_idle),
            u32s("requests", rows, |r| Some(r.requests)),
            u32s("local_port", rows, |r| r.local_port.map(u32::from)),
            texts("peer", rows, |r| r.peer),
            texts("local_ip", rows, |r| r.local_ip),
            i64s("resolve_nanos", rows, |r| r.resolve_nanos),
            texts("resolved", rows, |r| r.resolved),
            texts("detail", rows, |r| r.detail),
        ];
        DataFrame::new(rows.len(), columns)
    }

    fn append(&mut self, frame: &DataFrame) -> PolarsResult<()> {
        let c = Fields(frame);
        let (id, lanes, started) = (c.u64s("id")?, c.texts("lane")?, c.times("started")?);
        let (established, closed) = (c.times("established")?, c.times("closed")?);
        let (by, idle, requests) = (
            c.texts("closed_by")?,
            c.bools("closed_idle")?,
            c.u64s("requests")?,
        );
        let (local_port, peer) = (c.u64s("local_port")?, c.texts("peer")?);
        let (secured, local_ip) = (c.times("secured")?, c.texts("local_ip")?);
        let (resolve_nanos, resolved) = (c.i64s("resolve_nanos")?, c.texts("resolved")?);
        let detail = c.texts("detail")?;
        let rows: Vec<_> = (0..frame.height())
            .map(|i| {
                Ok(ConnectionRecord {
                    id: required(id[i], "id", i)?,
                    lane: required(named(lanes.get(i), lane, "lane")?, "lane", i)?,
                    started: required(started[i], "started", i)?,
                    established: established[i],
                    secured: secured[i],
                    closed: closed[i],
                    closed_by: named(by.get(i), closed_by, "closed_by")?,
                    closed_idle: idle[i],
                    requests: requests[i].and_then(|r| u32::try_from(r).ok()).unwrap_or(0),
                    local_port: local_port[i].and_then(|p| u16::try_from(p).ok()),
                    peer: peer.get(i),
                    local_ip: local_ip.get(i),
                    resolve_nanos: resolve_nanos[i],
                    resolved: resolved.get(i),
                    detail: detail.get(i),
                })
            })
            .collect::<PolarsResult<_>>()?;
        rows.into_iter().for_each(|row| self.push(row));
        Ok(())
    }

    fn read(groups: &RowGroups) -> PolarsResult<Self> {
        let (numbers, texts) = decode::columns(groups, &connections_made())?;
        Ok(Self::of(numbers, texts))
    }
}

/// How each packed column of connections is made.
fn connections_made() -> [Made; connections::NUMBERS] {
    std::array::from_fn(|column| match column {
        connections::ID => ("id", From::Id),
        connections::STARTED => ("started", From::Base),
        connections::ESTABLISHED => ("established", From::Time),
        connections::CLOSED => ("closed", From::Time),
        connections::REQUESTS => ("requests", From::Count(u32::MAX.into())),
        connections::LOCAL_PORT => ("local_port", From::Unsigned(u16::MAX.into())),
        connections::PEER => ("peer", From::Text),
        connections::SECURED => ("secured", From::Time),
        connections::LOCAL_IP => ("local_ip", From::Text),
        connections::RESOLVE_NANOS => ("resolve_nanos", From::Signed(i64::MIN..=i64::MAX)),
        connections::RESOLVED => ("resolved", From::Text),
        connections::DETAIL => ("detail", From::Text),
        _ => ("", From::Mixed(connection_fates)),
    })
}

fn connection_fates(groups: &RowGroups, group: usize) -> PolarsResult<Vec<i64>> {
    let lanes = |n: &str| lane(n).map(|lane| connections::fate(lane, None, false));
    let ends = |n: &str| closed_by(n).map(|by| connections::fate(Lane::ALL[0], Some(by), false));
    let mut fates = decode::named(groups, group, "lane", None, lanes)?;
    let ends = decode::named(groups, group, "closed_by", Some(0), ends)?;
    fates
        .iter_mut()
        .zip(ends)
        .for_each(|(fate, end)| *fate |= end);
    let idle = connections::fate(Lane::ALL[0], None, true);
    decode::flag(groups, group, "closed_idle", idle, &mut fates)?;
    Ok(fates)
}

// The first lane adds no bit to the others.
const _: () = assert!(Lane::ALL[0] as i64 == 0);

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests fail by panicking")]
mod tests {
    use proptest::prelude::*;
    use proptest::sample::select;

    use super::*;
    use crate::{Connections, Requests};

    fn framed(rows: &[RequestRecord]) -> DataFrame {
        let views: Vec<_> = rows.iter().map(RequestRecord::view).collect();
        RequestColumns::frame(&views).unwrap()
    }

    fn unframed(frame: &DataFrame) -> PolarsResult<Requests> {
        let mut requests = Requests::default();
        requests.columns.append(frame)?;
        Ok(requests)
    }

    prop_compose! {
        fn times()(
            scheduled in any::<i64>(),
            others in proptest::array::uniform7(any::<Option<i64>>()),
        ) -> RequestRecord {
            let [dispatched, connected, written, first_byte, ended, connection_age, idle] = others;
            RequestRecord {
                dispatched: dispatched.map(RunOffset),
                connected: connected.map(RunOffset),
                written: written.map(RunOffset),
                first_byte: first_byte.map(RunOffset),
                ended: ended.map(RunOffset),
                connection_age,
                idle,
                ..RequestRecord::scheduled(0, Lane::New, "", RunOffset(scheduled))
            }
        }
    }

    prop_compose! {
        fn request()(
            timed in times(),
            (seq, connection, bytes_sent, bytes_received) in any::<(u64, Option<u64>, u64, u64)>(),
            (name, peer, pod, emitted_by, detail) in
                any::<(String, Option<String>, Option<String>, Option<String>, Option<String>)>(),
            (ordinal, local_port, status, errno) in
                any::<(Option<u32>, Option<u16>, Option<u16>, Option<i32>)>(),
            (reused, close_requested, close_received, maskable) in
                any::<(bool, bool, bool, bool)>(),
            (lane, outcome, phase) in
                (select(&Lane::ALL[..]), select(&Outcome::ALL[..]), select(&Phase::ALL[..])),
        ) -> RequestRecord {
            RequestRecord {
                seq, lane, name, connection, ordinal, reused, local_port, peer, status, outcome,
                phase, errno, bytes_sent, bytes_received, close_requested, close_received, pod,
                emitted_by, maskable, detail, ..timed
            }
        }
    }

    prop_compose! {
        fn connection()(
            (id, requests, local_port, peer) in any::<(u64, u32, Option<u16>, Option<String>)>(),
            (started, established, closed, secured) in
                any::<(i64, Option<i64>, Option<i64>, Option<i64>)>(),
            (local_ip, resolve_nanos, resolved, detail) in
                any::<(Option<String>, Option<i64>, Option<String>, Option<String>)>(),
            lane in select(&Lane::ALL[..]),
            by in proptest::option::of(select(&ClosedBy::ALL[..])),
            closed_idle in any::<bool>(),
        ) -> ConnectionRecord {
            ConnectionRecord {
                id, lane, started: RunOffset(started), established: established.map(RunOffset),
                secured: secured.map(RunOffset), closed: closed.map(RunOffset), closed_by: by,
                closed_idle, requests, local_port, peer, local_ip, resolve_nanos, resolved, detail,
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

        #[test]
        fn requests_come_back_from_columns_as_they_went_in(
            rows in proptest::collection::vec(request(), 0..20)
        ) {
            let (frame, rows) = (framed(&rows), Requests::from(rows));
            prop_assert_eq!(unframed(&frame).unwrap(), rows);
        }

        #[test]
        fn requests_come_back_from_json_as_they_went_in(row in request()) {
            let json = serde_json::to_string(&row).unwrap();
            prop_assert_eq!(serde_json::from_str::<RequestRecord>(&json).unwrap(), row);
        }

        #[test]
        fn connections_come_back_from_columns_as_they_went_in(
            rows in proptest::collection::vec(connection(), 0..20)
        ) {
            let views: Vec<_> = rows.iter().map(ConnectionRecord::view).collect();
            let frame = ConnectionColumns::frame(&views).unwrap();
            let mut back = Connections::default();
            back.columns.append(&frame).unwrap();
            prop_assert_eq!(back, Connections::from(rows));
        }
    }

    #[test]
    fn a_column_that_a_recording_does_not_have_reads_as_nulls() {
        let row = RequestRecord::scheduled(1, Lane::New, "a", RunOffset(5));
        let mut older = framed(std::slice::from_ref(&row));
        for column in ["pod", "maskable", "detail"] {
            older = older.drop(column).unwrap();
        }
        assert_eq!(unframed(&older).unwrap(), Requests::from(vec![row]));
    }

    #[test]
    fn an_outcome_of_a_later_version_is_an_error_and_not_a_guess() {
        let row = RequestRecord::scheduled(1, Lane::New, "a", RunOffset(5));
        let mut frame = framed(&[row]);
        let _ = frame
            .with_column(Column::new("outcome".into(), ["teleported"]))
            .unwrap();
        let error = unframed(&frame).unwrap_err().to_string();
        assert!(error.contains("teleported"), "{error}");
    }
}
