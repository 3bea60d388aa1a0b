//! The names of the pre-flight rules: words that a scenario may write under `preflight.allow`.

use std::fmt;
use std::str::FromStr;

use crate::words;

macro_rules! rules {
    ($($variant:ident = $code:literal $name:literal),+ $(,)?) => {
        /// A rule of the pre-flight check, by its stable id.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum RuleId {
            $(#[doc = concat!("`", $code, " ", $name, "`")] $variant),+
        }

        impl RuleId {
            /// Every rule, in the order of the ids.
            pub const ALL: &[Self] = &[$(Self::$variant),+];

            /// The ids of [`RuleId::ALL`].
            pub const CODES: &[&str] = &[$($code),+];

            /// The id: `RS101`.
            pub const fn code(self) -> &'static str {
                match self { $(Self::$variant => $code),+ }
            }

            /// The name that goes with the id: `shell-form-pid1`.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name),+ }
            }
        }
    };
}

rules! {
    ShellFormPid1 = "RS101" "shell-form-pid1",
    PackageManagerPid1 = "RS102" "package-manager-pid1",
    DevelopmentMode = "RS103" "development-mode",
    TwoSigtermOwners = "RS104" "two-sigterm-owners",
    StopSignal = "RS105" "stop-signal",
    NoDelay = "RS201" "no-delay",
    DelayTwice = "RS202" "delay-twice",
    DelayBelowLag = "RS203" "delay-below-lag",
    BudgetDoesNotFit = "RS204" "budget-does-not-fit",
    NoGrace = "RS205" "no-grace",
    PreStopBinary = "RS206" "pre-stop-binary",
    NoReadinessProbe = "RS301" "no-readiness-probe",
    SameProbePath = "RS302" "same-probe-path",
    ReadinessTooSlow = "RS303" "readiness-too-slow",
    LivenessKills = "RS304" "liveness-kills",
    AllUnavailable = "RS401" "all-unavailable",
    RolloutCannotMove = "RS402" "rollout-cannot-move",
    NoSurge = "RS403" "no-surge",
    PdbBlocks = "RS404" "pdb-blocks",
    HostPortSurge = "RS405" "host-port-surge",
    PublishNotReady = "RS501" "publish-not-ready",
    KeepAliveBelowBalancer = "RS502" "keep-alive-below-balancer",
    SidecarFirst = "RS601" "sidecar-first",
    ProxyDrainOverGrace = "RS602" "proxy-drain-over-grace",
    AppBeforeProxy = "RS603" "app-before-proxy",
}

impl fmt::Display for RuleId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code())
    }
}

/// An id that no rule has.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("found `{found}`, expected the id of a pre-flight rule, {first} to {last}{}", nearest(.found))]
pub struct UnknownRule {
    /// What was written.
    pub found: String,
    /// The first id there is.
    first: &'static str,
    /// The last one.
    last: &'static str,
}

fn nearest(found: &str) -> String {
    RuleId::meant(found).map_or_else(String::new, |near| format!("; did you mean `{near}`?"))
}

impl RuleId {
    /// The id that was probably meant by `text`, which may be a rule's name.
    pub(crate) fn meant(text: &str) -> Option<&'static str> {
        let by_name = Self::ALL.iter().find(|r| r.name() == text);
        let by_name = by_name.map(|r| r.code());
        by_name.or_else(|| words::nearest(text, Self::CODES.iter().copied()))
    }
}

impl FromStr for RuleId {
    type Err = UnknownRule;

    fn from_str(text: &str) -> Result<Self, UnknownRule> {
        let known = Self::ALL.iter().find(|r| r.code() == text);
        known.copied().ok_or_else(|| UnknownRule {
            found: text
                .chars()
                .take(40)
                .flat_map(char::escape_default)
                .collect(),
            first: Self::CODES[0],
            last: Self::CODES[Self::CODES.len() - 1],
        })
    }
}
