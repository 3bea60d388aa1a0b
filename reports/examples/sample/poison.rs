//! The made-up run with hostile text in every field that can carry some.

use rollscope_analyzer::{Analysis, Evidence, Sign};
use rollscope_records::{LogSource, Loss, Recording, WatchRecord};
use serde_json::Value;

use super::{early_close, invalid};

/// Text that would do harm wherever it is not taken as text.
pub(crate) const HOSTILE: &str = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\" onclick='alert(3)' <!-- ]]> & \
    \u{1b}[31mred\u{1b}]0;title\u{7}\u{202e}desrever\u{202c}\u{2028}\u{2029}\u{0}\r\nnew line\ttab \u{feff}\u{200b}é漢";

fn poison(text: &mut String) {
    text.push_str(HOSTILE);
}

/// The sample with hostile text at the end of each string, but for pod names, which stay what joins things.
pub(crate) fn poisoned() -> (Analysis, Recording) {
    let (mut a, mut r) = early_close(4_400);
    for text in [
        &mut a.run.id,
        &mut a.run.name,
        &mut a.run.tool,
        &mut a.run.target,
        &mut a.run.started_at,
    ] {
        poison(text);
    }
    a.run.workload.iter_mut().for_each(poison);
    a.verdict
        .reasons
        .iter_mut()
        .chain(&mut a.notes)
        .for_each(poison);
    a.requests.by_outcome = a
        .requests
        .by_outcome
        .into_iter()
        .map(|(k, n)| (k + HOSTILE, n))
        .collect();
    poison_pods(&mut a);
    poison_bursts(&mut a);
    for f in &mut a.failures {
        poison(&mut f.how);
        f.pod.iter_mut().for_each(poison);
    }
    for f in &mut a.findings {
        poison(&mut f.summary);
        poison(&mut f.cause);
        f.pods.iter_mut().for_each(poison);
        f.evidence.iter_mut().for_each(poison_evidence);
    }
    for x in &mut a.assertions {
        [&mut x.id, &mut x.text, &mut x.why]
            .into_iter()
            .for_each(poison);
        x.pods.iter_mut().for_each(poison);
    }
    a.clocks.iter_mut().for_each(|c| poison(&mut c.clock));
    a.gaps = invalid().0.gaps;
    a.gaps
        .iter_mut()
        .for_each(|g| [&mut g.source, &mut g.reason].into_iter().for_each(poison));
    for s in &mut a.stages {
        poison(&mut s.kind);
        s.detail = Some(HOSTILE.to_owned());
        s.marks.iter_mut().for_each(|m| poison(&mut m.mark));
    }
    poison_recording(&mut r);
    (a, r)
}

fn poison_pods(a: &mut Analysis) {
    for p in &mut a.pods {
        [&mut p.name, &mut p.uid, &mut p.template_hash]
            .into_iter()
            .for_each(poison);
        p.pre_stop = Some(HOSTILE.to_owned());
        if let Some(Sign { what, .. }) = &mut p.first_drain_sign {
            poison(what);
        }
        p.exit.iter_mut().for_each(|e| poison(&mut e.reason));
        p.earlier_exits = p.exit.clone().into_iter().collect();
        for s in p.shutdown.iter_mut().flat_map(|s| &mut s.stages) {
            s.line.iter_mut().chain(&mut s.mark).for_each(poison);
            s.values.insert(HOSTILE.to_owned(), HOSTILE.to_owned());
        }
        if let Some(s) = &mut p.shutdown {
            s.in_order = Some(false);
            s.out_of_order.push(HOSTILE.to_owned());
        }
        p.log_marks
            .iter_mut()
            .for_each(|m| [&mut m.mark, &mut m.line].into_iter().for_each(poison));
    }
}

fn poison_evidence(e: &mut Evidence) {
    [&mut e.id, &mut e.text].into_iter().for_each(poison);
    e.pod.iter_mut().for_each(poison);
}

fn poison_bursts(a: &mut Analysis) {
    for b in &mut a.bursts {
        [&mut b.cause, &mut b.summary].into_iter().for_each(poison);
        b.detail.iter_mut().for_each(poison);
        b.pods.iter_mut().for_each(poison);
        b.by_outcome = std::mem::take(&mut b.by_outcome)
            .into_iter()
            .map(|(k, n)| (k + HOSTILE, n))
            .collect();
        b.against = b.evidence.clone();
        b.evidence
            .iter_mut()
            .chain(&mut b.against)
            .for_each(poison_evidence);
        b.ruled_out
            .iter_mut()
            .for_each(|r| [&mut r.cause, &mut r.why].into_iter().for_each(poison));
        b.advice
            .iter_mut()
            .for_each(|x| [&mut x.field, &mut x.text].into_iter().for_each(poison));
    }
}

fn poison_recording(r: &mut Recording) {
    r.requests.edit_each(|request| {
        poison(&mut request.name);
        request
            .pod
            .iter_mut()
            .chain(&mut request.peer)
            .for_each(poison);
        request.emitted_by = Some(HOSTILE.to_owned());
    });
    for log in &mut r.logs {
        log.line = HOSTILE.repeat(1 + 1_048_576 / HOSTILE.len());
        log.timestamp = Some(HOSTILE.to_owned());
        if let LogSource::Container { pod, container } = &mut log.source {
            [pod, container].into_iter().for_each(poison);
        }
    }
    for watch in &mut r.watch {
        if let WatchRecord::Event { object, .. } = watch {
            poison_value(object);
        }
    }
    r.losses.push(Loss {
        file: HOSTILE.to_owned(),
        what: HOSTILE.to_owned(),
    });
}

fn poison_value(value: &mut Value) {
    match value {
        Value::String(text) => poison(text),
        Value::Array(items) => items.iter_mut().for_each(poison_value),
        Value::Object(fields) => fields.values_mut().for_each(poison_value),
        _ => {}
    }
}
