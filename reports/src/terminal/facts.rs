//! Counts, latency, pods, findings and assertions in a line each.

use rollscope_analyzer::{Analysis, BalancerReport, Journeys, PodReport, SignalReport};

use super::labelled;
use super::lines::{fit, tally, wrapped};
use crate::text::{cause_code, count, counted, field, length, millis, rate, seconds};

/// Counts, latency, journeys, balancers, the signal, pods, findings and assertions, a few lines each.
pub(super) fn facts(a: &Analysis, width: usize) -> Vec<String> {
    let r = &a.requests;
    let mut lines = vec![
        labelled("run", &headline(a)),
        labelled(
            "requests",
            &format!(
                "{} planned = {} sent + {} dropped; {} ok, {} failed, {} aborted",
                count(r.planned),
                count(r.sent),
                count(r.dropped),
                count(r.ok),
                count(r.failed),
                count(r.aborted)
            ),
        ),
    ];
    if r.failed > 0 {
        lines.extend(wrapped(&labelled("failures", ""), &failures(a), width, 2));
    }
    lines.push(labelled("latency", &latency(a)));
    if let Some(journeys) = &a.journeys {
        lines.push(labelled("journeys", &walked(journeys)));
    }
    for balancer in &a.balancers {
        lines.push(labelled("balancer", &logged(balancer)));
    }
    match &a.signal {
        Some(signal) => lines.extend(signalled(signal, width)),
        None => lines.push(labelled("pods", &pods(&a.pods))),
    }
    if !a.findings.is_empty() {
        let names: Vec<_> = a
            .findings
            .iter()
            .map(|f| cause_code(&f.cause, f.detail.as_deref()))
            .collect();
        lines.push(labelled(
            "findings",
            &format!("{}: {}", a.findings.len(), tally(&names)),
        ));
    }
    if !a.assertions.is_empty() {
        lines.push(labelled("assertions", &assertions(a)));
    }
    let gaps = a.gaps.iter().filter(|g| g.matters).count();
    if gaps > 0 {
        lines.push(labelled(
            "gaps",
            &format!("{} that matter, first: {}", gaps, first_gap(a)),
        ));
    }
    lines.iter().map(|line| fit(line, width)).collect()
}

fn headline(a: &Analysis) -> String {
    let workload = a
        .run
        .workload
        .as_deref()
        .map(|w| format!(", {}", field(w)))
        .unwrap_or_default();
    format!(
        "{} ({}{workload}), {} at {}",
        field(&a.run.name),
        field(&a.run.target),
        length(a.run.duration_ms),
        rate(a.run.rate_per_second)
    )
}

/// What the program did with its signal, and with its requests and connections.
fn signalled(s: &SignalReport, width: usize) -> Vec<String> {
    let mut lines = wrapped(&labelled("signal", ""), &field(&s.summary), width, 2);
    let (flight, idle, new) = (&s.in_flight, &s.idle, &s.new_connections);
    lines.push(labelled(
        "in flight",
        &format!(
            "{} at the signal ({} in mid-body): {} answered, {} failed",
            count(flight.at_signal),
            count(flight.in_body),
            count(flight.answered),
            count(flight.failed)
        ),
    ));
    let connections = format!(
        "{} idle at the signal: {} used again, {} failed, {} closed by it; {} new ones after it: {} answered, {} failed, {} unrouted",
        count(idle.at_signal),
        count(idle.answered),
        count(idle.failed),
        count(idle.closed),
        count(new.attempted),
        count(new.answered),
        count(new.failed),
        count(new.unrouted)
    );
    lines.extend(wrapped(
        &labelled("connections", ""),
        &connections,
        width,
        2,
    ));
    lines
}

fn walked(journeys: &Journeys) -> String {
    let sum = |of: fn(&rollscope_analyzer::StepCounts) -> u64| {
        journeys.steps.iter().map(|s| of(&s.ours)).sum()
    };
    let agrees = match (&journeys.failure, journeys.agree) {
        (Some(_), _) => "not walked to the end",
        (None, true) => "goose counted the same",
        (None, false) => "goose counted something else",
    };
    format!(
        "{}, {}, {} failed; {agrees}",
        counted(journeys.users, "user", "users"),
        counted(sum(|c| c.count), "step", "steps"),
        count(sum(|c| c.failed))
    )
}

fn logged(b: &BalancerReport) -> String {
    let mut causes: Vec<_> = b.near.iter().map(|n| cause_code(&n.cause, None)).collect();
    causes.sort();
    causes.dedup();
    let near = match b.near_misses {
        0 => "no near miss".to_owned(),
        n => format!(
            "{} ({})",
            counted(n, "near miss", "near misses"),
            causes.join(", ")
        ),
    };
    format!(
        "{} logged {}, {} of the load; {near}",
        field(&b.name),
        counted(b.requests, "request", "requests"),
        count(b.joined)
    )
}

fn failures(a: &Analysis) -> String {
    let failed = a.requests.by_outcome.iter().filter(|(name, _)| {
        !matches!(
            name.as_str(),
            "ok" | "dropped" | "aborted" | "gave_up" | "unrouted"
        )
    });
    let parts: Vec<_> = failed
        .map(|(name, n)| format!("{} {}", field(name), count(*n)))
        .collect();
    let hidden = match a.requests.maskable {
        0 => String::new(),
        n => format!("; silent retries would hide {}", count(n)),
    };
    format!("{}{hidden}", parts.join(", "))
}

fn pods(pods: &[PodReport]) -> String {
    let ended: Vec<_> = pods
        .iter()
        .filter(|p| p.deletion_requested_ms.is_some())
        .collect();
    if pods.is_empty() {
        return "none observed".to_owned();
    }
    let exits: Vec<_> = ended
        .iter()
        .filter_map(|p| p.exit.as_ref())
        .map(|e| format!("exit {}", e.code))
        .collect();
    let mut parts = vec![format!(
        "{} seen, {} terminated",
        count(pods.len() as u64),
        count(ended.len() as u64)
    )];
    if !exits.is_empty() {
        parts[0].push_str(&format!(" ({})", tally(&exits)));
    }
    if let Some(lag) = ended.iter().filter_map(|p| p.propagation_lag_ms).max() {
        parts.push(format!("longest lag {}", length(lag)));
    }
    if let Some(margin) = ended.iter().filter_map(|p| p.margin_to_deadline_ms).min() {
        parts.push(format!("tightest margin {}", length(margin)));
    }
    parts.join(", ")
}

fn assertions(a: &Analysis) -> String {
    let with = |held| a.assertions.iter().filter(move |item| item.held == held);
    let broken: Vec<_> = with(Some(false)).map(|item| field(&item.id)).collect();
    let names = if broken.is_empty() {
        String::new()
    } else {
        format!(" ({})", broken.join(", "))
    };
    format!(
        "{} held, {} broken{names}, {} not seen",
        with(Some(true)).count(),
        broken.len(),
        with(None).count()
    )
}

fn first_gap(a: &Analysis) -> String {
    let gap = a.gaps.iter().find(|g| g.matters);
    gap.map(|g| {
        format!(
            "{} from {} s, {}",
            field(&g.source),
            seconds(g.from_ms),
            field(&g.reason)
        )
    })
    .unwrap_or_default()
}

fn latency(a: &Analysis) -> String {
    let (due, sent) = (&a.latency_ms.scheduled, &a.latency_ms.dispatched);
    if due.max == 0.0 {
        return "none: no request was answered".to_owned();
    }
    format!(
        "p50 {}, p99 {}, max {} from due time (p99 {} from dispatch)",
        millis(due.p50),
        millis(due.p99),
        millis(due.max),
        millis(sent.p99)
    )
}
