//! Exit codes, and how a failure becomes one.

use std::process::ExitCode;

/// Why a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Nothing to complain of.
    Passed,
    /// More failed than the gate allows.
    GateFailed,
    /// The command line or the scenario is wrong.
    Usage,
    /// The run proves nothing.
    Invalid,
    /// The environment failed: cluster, permission, port, disk.
    Environment,
    /// The user stopped it.
    Interrupted,
}

impl Exit {
    /// The process's exit code.
    pub(crate) const fn code(self) -> u8 {
        match self {
            Self::Passed => 0,
            Self::GateFailed => 1,
            Self::Usage => 2,
            Self::Invalid => 3,
            Self::Environment => 4,
            Self::Interrupted => 130,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

/// A command that could not do its work: what to print and how to exit.
#[derive(Debug)]
pub(crate) struct Failure {
    /// The exit that it leads to.
    pub(crate) exit: Exit,
    /// What was wrong, where, and what to do.
    pub(crate) message: String,
}

impl Failure {
    /// A wrong command line or scenario.
    pub(crate) fn usage(error: impl ToString) -> Self {
        Self {
            exit: Exit::Usage,
            message: error.to_string(),
        }
    }

    /// A failed environment.
    pub(crate) fn environment(error: impl ToString) -> Self {
        Self {
            exit: Exit::Environment,
            message: error.to_string(),
        }
    }
}
