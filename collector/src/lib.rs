//! Kubernetes watches and logs, and the driver that walks the stages of a rollout.
