//! What a rule sees: one workload, what is known of its program, and how findings and fixes are made.

use rollscope_records::budget;
use rollscope_scenarios::RuleId;
use serde_json::Value as Json;

use crate::at::At;
use crate::command;
use crate::container::Container;
use crate::dockerfile::Dockerfile;
use crate::finding::{Finding, Fix, ObjectRef, Patch, PatchKind, Place, Severity};
use crate::package_json::PackageJson;
use crate::patch::{self, Edit};
use crate::settings::{Settings, nanos};
use crate::words::span;
use crate::workload::{Joined, Workload};

/// One workload, and what is known of its program.
pub(crate) struct Context<'a> {
    pub(crate) workload: &'a Workload<'a>,
    pub(crate) settings: &'a Settings,
    /// The Dockerfile of its application's image.
    pub(crate) dockerfile: Option<&'a Dockerfile>,
    pub(crate) package: Option<&'a PackageJson>,
}

/// The command line of a container.
pub(crate) struct CommandLine<'a> {
    pub(crate) argv: Vec<String>,
    pub(crate) place: Place,
    /// The container's `command`, which a fix sets.
    pub(crate) command: At<'a>,
}

/// How long routing takes to follow a deletion.
pub(crate) struct Lag {
    pub(crate) nanos: i64,
    pub(crate) words: String,
}

/// The longest time in which a new connection reached a terminating pod behind kube-proxy, ns: of 57 terminations on
/// a cluster of Kubernetes 1.36.
const KUBE_PROXY_LAG: i64 = 1_110_000_000;

/// A target that is taken off an AWS load balancer: tens of seconds, ns.
const AWS_LAG: i64 = 20_000_000_000;

impl<'a> Context<'a> {
    /// The container that the Dockerfile and the package.json belong to.
    pub(crate) fn application(&self) -> Option<&Container<'a>> {
        let serving = self.workload.serving().first().copied();
        serving.or_else(|| self.workload.apps().next())
    }

    pub(crate) fn is_application(&self, container: &Container<'a>) -> bool {
        self.application().is_some_and(|a| a.name == container.name)
    }

    /// The Dockerfile of this container's image.
    pub(crate) fn dockerfile_of(&self, container: &Container<'a>) -> Option<&'a Dockerfile> {
        self.dockerfile.filter(|_| self.is_application(container))
    }

    /// The command line of a container, as far as the input says it.
    pub(crate) fn command_line(&self, container: &Container<'a>) -> Option<CommandLine<'a>> {
        let command = container.at.key("command");
        let args_at = container.at.key("args");
        let args = args_at.texts();
        if let Some(mut argv) = command.texts() {
            argv.extend(args.unwrap_or_default());
            let place = command.place();
            return Some(CommandLine {
                argv,
                place,
                command,
            });
        }
        if let Some(file) = self.dockerfile_of(container)
            && let Some((argv, at, name)) = file.command(args.as_deref())
        {
            let place = file.place(at, name);
            return Some(CommandLine {
                argv,
                place,
                command,
            });
        }
        // The image's ENTRYPOINT is not known: usually it becomes what the arguments say.
        let argv = args?;
        let place = args_at.place();
        let known = !matches!(command::pid1(&argv), command::Pid1::Program(_));
        known.then_some(CommandLine {
            argv,
            place,
            command,
        })
    }

    /// The program of a container, as far as it is known.
    pub(crate) fn program(&self, container: &Container<'a>) -> Vec<String> {
        let package = self.package.filter(|_| self.is_application(container));
        let line = self.command_line(container);
        line.map(|l| command::program(&command::pid1(&l.argv), package))
            .unwrap_or_default()
    }

    /// Whether the program runs on Node.js.
    pub(crate) fn is_node(&self, container: &Container<'a>) -> bool {
        let by_file = self.is_application(container) && self.package.is_some();
        let base = self
            .dockerfile_of(container)
            .map(|d| crate::known::image_name(&d.base));
        let line = self.command_line(container);
        let managed = line.is_some_and(|l| {
            matches!(command::pid1(&l.argv), command::Pid1::PackageManager { .. })
        });
        by_file
            || managed
            || base == Some("node")
            || crate::known::image_name(&container.image) == "node"
            || command::is_node(&self.program(container))
    }

    /// How long routing takes to follow a deletion.
    pub(crate) fn lag(&self) -> Lag {
        if let Some(lag) = self.settings.lag {
            let nanos = nanos(lag);
            let words = format!("the endpoint lag of {} (as stated)", span(nanos));
            return Lag { nanos, words };
        }
        let aws = self.workload.ingresses.iter().any(is_alb)
            || self.workload.services.iter().any(is_aws_balancer);
        match aws {
            true => Lag {
                nanos: AWS_LAG,
                words: "the endpoint lag of an AWS load balancer, tens of seconds (20 s are taken)"
                    .to_owned(),
            },
            false => Lag {
                nanos: KUBE_PROXY_LAG,
                words: "the endpoint lag of up to 1.11 s (as measured behind kube-proxy)"
                    .to_owned(),
            },
        }
    }

    /// The least delay that outlasts the lag, seconds.
    pub(crate) fn least_delay(&self) -> i64 {
        budget::pre_stop_for(self.lag().nanos)
    }

    /// What a rule finds in each container that is not a proxy.
    pub(crate) fn of_each_app(
        &self,
        rule: impl Fn(&Container<'a>, &Self) -> Option<Finding>,
    ) -> Vec<Finding> {
        let apps = self.workload.apps();
        apps.filter_map(|c| rule(c, self)).collect()
    }

    /// A finding of this workload.
    pub(crate) fn finding(
        &self,
        rule: RuleId,
        severity: Severity,
        place: Place,
        why: String,
        fix: Fix,
    ) -> Finding {
        Finding {
            rule,
            name: rule.name(),
            severity,
            workload: self.workload.object.clone(),
            place,
            why,
            fix,
            allowed_by: None,
        }
    }

    /// A fix of the workload itself.
    pub(crate) fn fix(&self, text: impl Into<String>, edits: &[Edit]) -> Fix {
        let object = self.workload.root.document().root.to_json();
        let native = self.workload.kind.is_native();
        fix(text.into(), &self.workload.object, &object, native, edits)
    }

    /// A fix of an object that is joined to the workload.
    pub(crate) fn fix_of(
        &self,
        joined: &Joined<'_>,
        text: impl Into<String>,
        edits: &[Edit],
    ) -> Fix {
        let object = joined.root.document().root.to_json();
        fix(text.into(), &joined.object, &object, true, edits)
    }
}

fn fix(text: String, of: &ObjectRef, object: &Json, native: bool, edits: &[Edit]) -> Fix {
    let (kind, body) = match native {
        true => (PatchKind::Strategic, patch::strategic(object, edits)),
        false => (PatchKind::Json, patch::json_patch(object, edits)),
    };
    let mut command = format!("kubectl patch {} {}", resource(&of.kind), quoted(&of.name));
    if let Some(namespace) = &of.namespace {
        command.push_str(&format!(" --namespace {}", quoted(namespace)));
    }
    command.push_str(&format!(
        " --type {} --patch {}",
        kind.as_str(),
        quoted(&body.to_string())
    ));
    Fix {
        text,
        patch: Patch {
            kind,
            object: Some(of.clone()),
            file: None,
            body,
            command: Some(command),
        },
    }
}

/// The kind's name for kubectl.
fn resource(kind: &str) -> String {
    match kind {
        "Rollout" => "rollouts.argoproj.io".to_owned(),
        other => other.to_lowercase(),
    }
}

/// A word of a shell's command line.
fn quoted(text: &str) -> String {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"-_./:".contains(&b);
    match !text.is_empty() && text.bytes().all(plain) {
        true => text.to_owned(),
        false => format!("'{}'", text.replace('\'', r"'\''")),
    }
}

/// The class of an Ingress.
pub(crate) fn ingress_class(ingress: &Joined<'_>) -> Option<String> {
    let class = ingress.root.keys(&["spec", "ingressClassName"]).plain();
    class.or_else(|| annotation(ingress, "kubernetes.io/ingress.class"))
}

/// An annotation of an object.
pub(crate) fn annotation(of: &Joined<'_>, name: &str) -> Option<String> {
    of.root.keys(&["metadata", "annotations"]).key(name).plain()
}

/// Whether an annotation begins with `prefix`.
pub(crate) fn is_annotated(of: &Joined<'_>, prefix: &str) -> bool {
    let annotations = of.root.keys(&["metadata", "annotations"]).entries();
    annotations.iter().any(|(name, _)| name.starts_with(prefix))
}

/// Whether an Ingress makes an AWS application load balancer.
pub(crate) fn is_alb(ingress: &Joined<'_>) -> bool {
    ingress_class(ingress).as_deref() == Some("alb")
        || is_annotated(ingress, "alb.ingress.kubernetes.io/")
}

/// Whether a Service makes a load balancer of AWS.
pub(crate) fn is_aws_balancer(service: &Joined<'_>) -> bool {
    service.root.keys(&["spec", "type"]).text() == Some("LoadBalancer")
        && is_annotated(service, "service.beta.kubernetes.io/aws-load-balancer-")
}
