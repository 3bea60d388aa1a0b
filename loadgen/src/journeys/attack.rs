//! The journeys as goose scenarios, and what goose says of them in the end.

use std::sync::Arc;
use std::time::Duration;

use goose::config::GooseConfiguration;
use goose::goose::{Scenario, Transaction, TransactionFunction};
use goose::metrics::{
    GooseCoordinatedOmissionMitigation, GooseMetrics, GooseRequestMetricAggregate,
};
use goose::{GooseAttack, GooseError};
use http::HeaderName;
use rollscope_records::JourneyStep;

use super::client::{Attempts, Target, client};
use super::link::Link;
use super::plan::JourneyPlan;
use super::step::Step;

/// Everything that the users do.
pub(super) struct Attack {
    pub(super) users: u32,
    pub(super) target: Arc<Target>,
    pub(super) pod_header: Option<HeaderName>,
    pub(super) link: Arc<Link>,
}

impl Attack {
    /// Walks through the journeys until goose is stopped by its kill switch. Returns goose's own aggregate.
    pub(super) async fn run(self, journeys: Vec<JourneyPlan>) -> Result<Vec<JourneyStep>, String> {
        let mut attack =
            GooseAttack::initialize_with_config(self.configuration()).map_err(|e| in_words(&e))?;
        for journey in journeys {
            attack = attack.register_scenario(self.scenario(journey)?);
        }
        let metrics = attack.execute().await.map_err(|e| in_words(&e))?;
        Ok(aggregate(&metrics))
    }

    /// goose with everything switched off that is not sending and counting. All users are there within a second.
    fn configuration(&self) -> GooseConfiguration {
        let mut goose = GooseConfiguration::default();
        goose.host = self.target.base_url();
        goose.users = Some(self.users as usize);
        goose.hatch_rate = Some(self.users.to_string());
        goose.quiet = 1;
        goose.no_reset_metrics = true;
        goose.no_transaction_metrics = true;
        goose.no_scenario_metrics = true;
        goose.no_print_metrics = true;
        goose.no_error_summary = true;
        goose.no_telnet = true;
        goose.no_websocket = true;
        goose.no_gzip = true;
        goose.co_mitigation = Some(GooseCoordinatedOmissionMitigation::Disabled);
        goose
    }

    /// A user of the journey gets its client first; then come the steps, in order, with a pause after each.
    fn scenario(&self, journey: JourneyPlan) -> Result<Scenario, String> {
        let (shortest, longest) = journey.think;
        let mut scenario = Scenario::new(&journey.name)
            .set_weight(journey.weight as usize)
            .map_err(|e| in_words(&e))?;
        if longest > Duration::ZERO {
            scenario = scenario
                .set_wait_time(shortest, longest)
                .map_err(|e| in_words(&e))?;
        }
        scenario = scenario.register_transaction(self.arrival().set_on_start());
        for (place, plan) in journey.steps.into_iter().enumerate() {
            let step = Step::new(plan, self.pod_header.as_ref(), &self.target, &self.link)?;
            let name = step.name().to_owned();
            let transaction = Transaction::new(walked(Arc::new(step)))
                .set_name(&name)
                .set_sequence(place + 1);
            scenario = scenario.register_transaction(transaction);
        }
        Ok(scenario)
    }

    fn arrival(&self) -> Transaction {
        let (target, clock) = (Arc::clone(&self.target), self.link.clock());
        let arrives: TransactionFunction = Arc::new(move |user| {
            let (target, attempts) = (Arc::clone(&target), Attempts::new(clock));
            Box::pin(async move {
                let client = client(&target, &attempts);
                user.set_client_builder(client).await?;
                // Without this, no step is sent: goose's own client re-sends and follows.
                user.set_session_data(attempts);
                Ok(())
            })
        });
        Transaction::new(arrives)
    }
}

fn walked(step: Arc<Step>) -> TransactionFunction {
    Arc::new(move |user| {
        let step = Arc::clone(&step);
        Box::pin(async move { step.walk(user).await })
    })
}

fn in_words(error: &GooseError) -> String {
    format!("goose: {error}")
}

fn aggregate(metrics: &GooseMetrics) -> Vec<JourneyStep> {
    let mut steps: Vec<_> = metrics.requests.values().map(step).collect();
    steps.sort_by(|a, b| a.name.cmp(&b.name));
    steps
}

fn step(of: &GooseRequestMetricAggregate) -> JourneyStep {
    let statuses = of.status_code_counts.iter();
    JourneyStep {
        name: of.path.clone(),
        method: of.method.to_string(),
        count: (of.success_count + of.fail_count) as u64,
        failed: of.fail_count as u64,
        min_ms: of.raw_data.minimum_time as u64,
        total_ms: of.raw_data.total_time as u64,
        max_ms: of.raw_data.maximum_time as u64,
        statuses: statuses.map(|(s, n)| (*s, *n as u64)).collect(),
    }
}
