//! Workflow commands of GitHub Actions: the causes where the job's page shows them.

use rollscope_analyzer::{Analysis, VerdictOutcome};

use crate::causes::groups;
use crate::text::{cause, cause_code, count, counted, verdict, visible};

/// Annotations of one level that GitHub shows for a step.
const MOST: usize = 10;
/// Characters of one annotation at most.
const MESSAGE_CHARS: usize = 1_000;

/// The verdict and the causes as workflow commands, a line each, errors where the gate failed and a warning where the
/// run proves nothing; nothing for a run that passed. Text is on one line and escaped as the command's syntax asks.
pub fn github_annotations(a: &Analysis) -> String {
    let mut lines = Vec::new();
    let level = match a.verdict.outcome {
        VerdictOutcome::Passed => return String::new(),
        VerdictOutcome::GateFailed | VerdictOutcome::EnvironmentFailed => "error",
        VerdictOutcome::Invalid | VerdictOutcome::Interrupted => "warning",
    };
    lines.push(command(level, verdict(a.verdict.outcome), &headline(a)));
    let groups = groups(&a.bursts);
    for group in groups.iter().take(MOST - 1) {
        let largest = group.iter().max_by_key(|b| b.failed).unwrap_or(&group[0]);
        let code = cause_code(&largest.cause, largest.detail.as_deref());
        let title = cause(&largest.cause).map_or(code.clone(), |words| format!("{words}: {code}"));
        let failed: u64 = group.iter().map(|b| b.failed).sum();
        let advice = largest.advice.first().map_or(String::new(), |advice| {
            format!(" — change {}: {}", advice.field, advice.text)
        });
        let message = format!("{} failed. {}{advice}", count(failed), largest.summary);
        lines.push(command(level, &title, &message));
    }
    lines.join("\n") + "\n"
}

fn headline(a: &Analysis) -> String {
    let counts = format!(
        "{} of {} failed, {} allowed (exit code {}).",
        count(a.requests.failed),
        counted(a.requests.sent, "request", "requests"),
        count(a.run.max_failed),
        a.verdict.exit_code
    );
    format!("{counts} {}", a.verdict.reasons.join("; "))
}

fn command(level: &str, title: &str, message: &str) -> String {
    let title = format!("Rollscope: {}", visible(title, 200));
    let message = visible(message, MESSAGE_CHARS);
    defused(&format!(
        "::{level} title={}::{}",
        property(&title),
        data(&message)
    ))
}

/// A command's message.
fn data(text: &str) -> String {
    text.replace('%', "%25")
        .replace('\r', "%0D")
        .replace('\n', "%0A")
}

/// A command's property.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

/// Takes the older command syntax, which is read in the middle of a line, apart.
fn defused(line: &str) -> String {
    line.replace("##[", "# #[")
}

/// Output that the runner cannot take for commands of its own: of a line that begins with `::`, or that holds `##[`,
/// the mark is taken apart. Whatever a pod's log or header says, it commands nothing.
pub fn without_github_commands(text: &str) -> String {
    let lines = text.split_inclusive('\n').map(|line| {
        let line = defused(line);
        let begin = line.len() - line.trim_start().len();
        match line[begin..].strip_prefix("::") {
            Some(rest) => format!("{}: :{rest}", &line[..begin]),
            None => line,
        }
    });
    lines.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ends_a_property_or_a_line_is_escaped() {
        assert_eq!(
            command("error", "a: b, c", "100 % of ::x::\nnext"),
            "::error title=Rollscope%3A a%3A b%2C c::100 %25 of ::x::\\nnext"
        );
    }

    #[test]
    fn foreign_commands_are_taken_apart() {
        let text = "fine\n  ::add-mask::x\n::error::y\nlog ##[set-output name=z] a::b\n";
        assert_eq!(
            without_github_commands(text),
            "fine\n  : :add-mask::x\n: :error::y\nlog # #[set-output name=z] a::b\n"
        );
    }
}
