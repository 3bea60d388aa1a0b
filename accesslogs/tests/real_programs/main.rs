//! Lines that nginx and HAProxy themselves write, for upstreams that misbehave in each way.
#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

mod balancer;
mod haproxy;
mod nginx;
mod upstream;
