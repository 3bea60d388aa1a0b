//! Sentences for verdicts that name no single cause.

use super::Group;
use super::facts;
use super::judge::{INDETERMINATE, SEVERAL, UNKNOWN};
use crate::context::Context;

/// The sentence.
pub(super) fn summary(
    cause: &str,
    detail: Option<&str>,
    group: &Group<'_>,
    cx: &Context<'_>,
) -> String {
    let harm = facts::harm(group, cx);
    let on = if group.pods.is_empty() {
        String::new()
    } else {
        format!(" on {}", facts::who(group, cx))
    };
    match cause {
        SEVERAL => format!(
            "{harm}{on}: {} cannot be told apart by what was observed",
            detail.unwrap_or("several causes").replace(", ", " and ")
        ),
        INDETERMINATE => format!("{harm}{on}: what would decide the cause was not observed"),
        _ if cx.target == "none" || cx.timeline.pods.is_empty() => format!(
            "{harm}: no pods were observed, so the cause in them cannot be told ({cause})",
            cause = UNKNOWN
        ),
        _ => format!("{harm}{on}: no known signature fits"),
    }
}
