//! Evidence for and against one hypothesis, as it is gathered.

use crate::analysis::Evidence;

/// The answer to a question of the evidence.
#[derive(Debug, Clone)]
pub(crate) enum Check {
    /// It is so; the fact.
    Yes(Evidence),
    /// It is not so; why.
    No(String),
    /// It could not be seen.
    Unseen,
}

/// A cause (and its face) under trial.
#[derive(Debug, Clone)]
pub(crate) struct Hypothesis {
    pub(crate) cause: &'static str,
    pub(crate) detail: Option<&'static str>,
    /// The log of its odds, in nats, up to a constant that all hypotheses share.
    pub(crate) score: f64,
    /// The part of it that speaks for the cause.
    pub(crate) plus: f64,
    pub(crate) evidence: Vec<Evidence>,
    pub(crate) against: Vec<Evidence>,
    /// Why it cannot be, when it cannot.
    pub(crate) ruled_out: Option<String>,
    /// The pod that it is about.
    pub(crate) pod: Option<crate::timeline::PodIx>,
}

impl Hypothesis {
    pub(crate) fn of(cause: &'static str, detail: Option<&'static str>) -> Self {
        Self {
            cause,
            detail,
            score: 0.0,
            plus: 0.0,
            evidence: Vec::new(),
            against: Vec::new(),
            ruled_out: None,
            pod: None,
        }
    }

    pub(crate) fn on(mut self, pod: crate::timeline::PodIx) -> Self {
        self.pod = Some(pod);
        self
    }

    /// Evidence without which it cannot be. What could not be seen counts nothing.
    pub(crate) fn require(mut self, weight: f64, check: Check) -> Self {
        match check {
            Check::Yes(fact) => {
                self.support(weight);
                self.evidence.push(fact);
            }
            Check::No(why) => self.rule_out(why),
            Check::Unseen => {}
        }
        self
    }

    /// Evidence that speaks for it with `yes`; its certain absence speaks against it with `no`.
    pub(crate) fn weigh(mut self, yes: f64, no: f64, check: Check) -> Self {
        match check {
            Check::Yes(fact) => {
                self.support(yes);
                self.evidence.push(fact);
            }
            Check::No(why) => {
                self.score -= no;
                if no > 0.0 && !why.is_empty() {
                    self.against
                        .push(crate::context::general("missing", None, why));
                }
            }
            Check::Unseen => {}
        }
        self
    }

    /// Evidence that speaks against it.
    pub(crate) fn oppose(mut self, weight: f64, check: Check) -> Self {
        if let Check::Yes(fact) = check {
            self.score -= weight;
            self.against.push(fact);
        }
        self
    }

    /// Evidence that speaks against it with a weight of its own.
    pub(crate) fn oppose_by(self, (weight, check): (f64, Check)) -> Self {
        self.oppose(weight, check)
    }

    /// Evidence with which it cannot be.
    pub(crate) fn forbid(mut self, check: Check) -> Self {
        if let Check::Yes(fact) = check {
            self.rule_out(fact.text);
        }
        self
    }

    /// What speaks for it counts `most` at most: more cannot be certain.
    pub(crate) fn saturated(mut self, most: f64) -> Self {
        self.score -= (self.plus - most).max(0.0);
        self.plus = self.plus.min(most);
        self
    }

    pub(crate) fn possible(&self) -> bool {
        self.ruled_out.is_none()
    }

    fn support(&mut self, weight: f64) {
        self.score += weight;
        self.plus += weight;
    }

    fn rule_out(&mut self, why: String) {
        self.ruled_out.get_or_insert(why);
    }
}

impl Check {
    /// `Yes` with the fact when `so`, else `No` with `otherwise`.
    pub(crate) fn when(so: bool, fact: impl FnOnce() -> Evidence, otherwise: &str) -> Self {
        if so {
            Self::Yes(fact())
        } else {
            Self::No(otherwise.to_owned())
        }
    }
}
