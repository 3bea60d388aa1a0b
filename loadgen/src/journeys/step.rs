//! One step: sent by goose, recorded as every other request is.

use std::error::Error;
use std::sync::Arc;

use goose::goose::{GooseRequest, GooseUser, TransactionResult};
use http::{HeaderName, HeaderValue, Method};
use hyper_util::client::legacy::connect::HttpInfo;
use reqwest::{RequestBuilder, Response};
use rollscope_records::{Lane, Outcome, Phase, RequestRecord};
use rollscope_scenarios::BodyCheck;

use super::client::{Attempts, Target};
use super::failure::{broken_off, not_connected};
use super::link::Link;
use super::plan::StepPlan;
use crate::outcome::{Ending, deadline_passed};
use crate::protocol::{BodyReader, ResponseFacts};
use crate::recording::Texts;

/// A step, ready to be sent any number of times by any user.
pub(super) struct Step {
    plan: StepPlan,
    method: Method,
    url: String,
    check: Option<BodyCheck>,
    pod_header: Option<HeaderName>,
    target: Arc<Target>,
    link: Arc<Link>,
}

impl Step {
    /// The step of `plan`; the error says what cannot be sent.
    pub(super) fn new(
        plan: StepPlan,
        pod_header: Option<&HeaderName>,
        target: &Arc<Target>,
        link: &Arc<Link>,
    ) -> Result<Self, String> {
        let method = Method::from_bytes(plan.method.as_bytes()).map_err(|e| e.to_string())?;
        Ok(Self {
            method,
            url: format!("{}{}", target.base_url(), plan.path),
            check: plan.check.as_ref().map(super::plan::CheckPlan::check),
            pod_header: pod_header.cloned(),
            target: Arc::clone(target),
            link: Arc::clone(link),
            plan,
        })
    }

    /// Its name as `journey/step`.
    pub(super) fn name(&self) -> &str {
        &self.plan.name
    }

    /// Sends it for `user` and records it; tells goose where it takes another response for a success.
    pub(super) async fn walk(&self, user: &mut GooseUser) -> TransactionResult {
        let now = self.link.clock().now();
        let (number, mut record) = self.link.begin(|number| self.begun(number, now));
        let Some(attempts) = user.get_session_data::<Attempts>().cloned() else {
            self.unsent(record, "the user's client could not be made".to_owned());
            return Ok(());
        };
        attempts.begin();
        let request = GooseRequest::builder()
            .set_request_builder(self.request(user, number))
            .name(self.name())
            .build();
        let mut answered = match user.request(request).await {
            Ok(answered) => answered,
            Err(error) => {
                self.unsent(record, error.to_string());
                return Err(error);
            }
        };
        let ending = match answered.response {
            Ok(response) => self.read(&mut record, response, &attempts).await,
            Err(error) => self.unanswered(&mut record, &error, &attempts),
        };
        record.ended = Some(self.link.clock().now());
        (record.outcome, record.phase, record.errno) = (ending.outcome, ending.phase, ending.errno);
        let failed = record.outcome.is_failure();
        self.link.end(record);
        if failed {
            // Counts it as failed if it was not; its error is only for goose.
            let _ = user.set_failure("not as expected", &mut answered.request, None, None);
        } else {
            user.set_success(&mut answered.request)?;
        }
        Ok(())
    }

    /// goose could not send it, and has not counted it.
    fn unsent(&self, mut record: RequestRecord, why: String) {
        record.ended = Some(self.link.clock().now());
        record.outcome = Outcome::ConnectLocal;
        record.detail = Some(why);
        self.link.end(record);
    }

    fn begun(&self, number: u64, now: rollscope_records::RunOffset) -> RequestRecord {
        let seq = RequestRecord::FIRST_JOURNEY + number;
        let mut record = RequestRecord::scheduled(seq, Lane::Journey, self.name(), now);
        record.dispatched = Some(now);
        record.phase = Phase::Connect;
        record.close_requested = self.plan.close_requested;
        record
    }

    fn request(&self, user: &GooseUser, number: u64) -> RequestBuilder {
        let plan = &self.plan;
        let patience = plan
            .abort_after
            .map_or(plan.deadline, |a| a.min(plan.deadline));
        let mut request = user
            .client
            .request(self.method.clone(), &self.url)
            .timeout(patience);
        for (name, value) in &plan.headers {
            if let Ok(value) = HeaderValue::from_bytes(value) {
                request = request.header(name, value);
            }
        }
        let body = plan.body.of(number);
        if body.is_empty() {
            request
        } else {
            request.body(body)
        }
    }

    /// Takes the response to its end.
    async fn read(
        &self,
        record: &mut RequestRecord,
        mut response: Response,
        attempts: &Attempts,
    ) -> Ending {
        record.first_byte = Some(self.link.clock().now());
        record.connected = attempts.last().connected;
        self.note_connection(record, response.extensions().get());
        let facts = ResponseFacts::of(
            response.status(),
            response.headers(),
            self.pod_header.as_ref(),
            &Texts::default(),
        );
        record.status = Some(facts.status);
        record.close_received = facts.close;
        record.pod = facts.pod.as_deref().map(str::to_owned);
        record.emitted_by = facts.emitted_by.as_deref().map(str::to_owned);
        let expected = self.expects(facts.status);
        let mut body = BodyReader::new(self.check.as_ref().filter(|_| expected));
        loop {
            match response.chunk().await {
                Ok(Some(data)) => {
                    record.bytes_received += data.len() as u64;
                    body.came(&data);
                }
                Ok(None) => break,
                Err(error) if error.is_timeout() => return self.timed_out(Phase::Body),
                Err(error) => {
                    let (ending, detail) = broken_off(&error, Phase::Body);
                    record.detail = detail;
                    return ending;
                }
            }
        }
        record.detail = body.mismatch();
        Ending {
            outcome: match (expected, &record.detail) {
                (false, _) => Outcome::Status,
                (true, Some(_)) => Outcome::BodyMismatch,
                (true, None) => Outcome::Ok,
            },
            phase: Phase::Done,
            errno: None,
        }
    }

    /// What became of a step without a response.
    fn unanswered(
        &self,
        record: &mut RequestRecord,
        error: &reqwest::Error,
        attempts: &Attempts,
    ) -> Ending {
        let attempt = attempts.last();
        record.connected = attempt.connected;
        record.peer = self.target.only_address(&attempt).map(|a| a.to_string());
        if let Some(connection) = connection_of(error) {
            self.note_connection(record, Some(&connection));
        }
        if error.is_timeout() {
            return self.timed_out(attempt.phase());
        }
        let (ending, detail) = if error.is_connect() {
            not_connected(error, self.target.is_secured())
        } else {
            broken_off(error, Phase::Head)
        };
        record.detail = detail;
        ending
    }

    fn note_connection(&self, record: &mut RequestRecord, connection: Option<&HttpInfo>) {
        if let Some(connection) = connection {
            let peer = self.target.asked_for(connection.remote_addr());
            record.peer = Some(peer.to_string());
            record.local_port = Some(connection.local_addr().port());
        }
    }

    fn expects(&self, status: u16) -> bool {
        let mut ranges = self.plan.expect.iter();
        ranges.any(|(from, to)| (*from..=*to).contains(&status))
    }

    /// The client's patience is over, because of the deadline or as the scenario says.
    fn timed_out(&self, phase: Phase) -> Ending {
        if self
            .plan
            .abort_after
            .is_some_and(|a| a < self.plan.deadline)
        {
            return Ending {
                outcome: Outcome::GaveUp,
                phase,
                errno: None,
            };
        }
        deadline_passed(phase)
    }
}

/// The connection on which a request failed.
fn connection_of(error: &(dyn Error + 'static)) -> Option<HttpInfo> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(client) = error.downcast_ref::<hyper_util::client::legacy::Error>() {
            let mut known = http::Extensions::new();
            client.connect_info()?.get_extras(&mut known);
            return known.get().cloned();
        }
        next = error.source();
    }
    None
}
