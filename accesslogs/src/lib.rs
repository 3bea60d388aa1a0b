//! Access logs of load balancers, as evidence.
//!
//! A balancer hides (it retries), translates (502, 503, 504) and lags. Its access log tells what it did: which upstreams
//! it tried for a request, how each try ended, and whether the status that the client saw was the upstream's or the
//! balancer's own. A [`Parser`] of one [`Format`] turns a line into an [`Entry`]; lines that are not in the format are an
//! error with the reason, and [`Malformed`] counts them and keeps the first ones.
//!
//! | format | as |
//! |---|---|
//! | nginx | `combined`, the ingress controller's, and any `log_format` |
//! | HAProxy | `option httplog`, and any `log-format` |
//! | Envoy, Istio | the default text, any format string, JSON |
//! | AWS Application Load Balancer | its files |
//! | Traefik | JSON |
//! | others | a regular expression with named groups, or a mapping of JSON pointers |
//!
//! Formats that are templates (nginx, HAProxy, Envoy) are read by the template that wrote them.

mod alb;
mod captures;
mod custom;
mod entry;
mod envoy;
mod error;
mod format;
mod haproxy;
mod json;
mod malformed;
mod nginx;
mod template;
mod times;
mod traefik;
mod values;

pub use entry::{Emitter, Entry, Marks, Stamp, Try, TryEnd};
pub use error::{FormatError, LineError};
pub use format::{Format, Parser};
pub use malformed::{Example, Malformed};
