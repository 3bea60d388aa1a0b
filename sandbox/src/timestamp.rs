//! Times as Kubernetes writes them.

use jiff::Timestamp;

/// Now, as `metav1.Time`: whole seconds, UTC.
pub(crate) fn seconds_now() -> String {
    Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}
