//! The environment and the command line of a container.

use k8s_openapi::api::core::v1::{Container, EnvVar, EnvVarSource};
use serde_json::Value;

use super::node::HOST_IP;
use super::pod::Pod;
use crate::process::ContainerCommand;

const DEFAULT_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// What the container runs, or why that can't be told.
pub(super) fn command(pod: &Pod, container: &Container) -> Result<ContainerCommand, String> {
    let env = environment(pod, container)?;
    let words = |list: &Option<Vec<String>>| -> Vec<String> {
        let list = list.as_deref().unwrap_or_default();
        list.iter().map(|word| expand(word, &env)).collect()
    };
    let mut argv = words(&container.command);
    if argv.is_empty() {
        return Err(format!(
            "container {:?} has no command: the sandbox ignores images; give `command`",
            container.name
        ));
    }
    argv.extend(words(&container.args));
    Ok(command_in(pod, container, argv, env))
}

/// A command of a hook or a probe, with the container's environment. Kubernetes expands no variables in it.
pub(super) fn exec_command(
    pod: &Pod,
    container: &Container,
    argv: &[String],
) -> Result<ContainerCommand, String> {
    let env = environment(pod, container)?;
    Ok(command_in(pod, container, argv.to_vec(), env))
}

fn command_in(
    pod: &Pod,
    container: &Container,
    argv: Vec<String>,
    env: Vec<(String, String)>,
) -> ContainerCommand {
    let base = &pod.node.working_dir;
    let working_dir = container
        .working_dir
        .as_deref()
        .filter(|dir| !dir.is_empty())
        .map_or_else(|| base.clone(), |dir| base.join(dir));
    ContainerCommand {
        argv,
        env,
        working_dir,
        hostname: pod.reference.name.clone(),
    }
}

/// The container's variables: those of a container on this machine, those of the sandbox, then the manifest's.
fn environment(pod: &Pod, container: &Container) -> Result<Vec<(String, String)>, String> {
    let required = |optional: Option<bool>| optional != Some(true);
    for source in container.env_from.iter().flatten() {
        let map = source.config_map_ref.as_ref().map(|r| r.optional);
        let secret = source.secret_ref.as_ref().map(|r| r.optional);
        if map.or(secret).is_some_and(required) {
            return Err(unavailable(&container.name, "envFrom"));
        }
    }
    let mut env = defaults(pod, container);
    for variable in container.env.iter().flatten() {
        let value = match &variable.value_from {
            Some(source) => match reference(pod, source) {
                Some(value) => value,
                None if is_optional(source) => continue,
                None => return Err(unavailable(&container.name, &variable.name)),
            },
            None => expand(variable.value.as_deref().unwrap_or_default(), &env),
        };
        set(&mut env, &variable.name, value);
    }
    if let Some(scratch) = &pod.node.scratch {
        prepend_path(&mut env, &scratch.path().to_string_lossy());
    }
    Ok(env)
}

fn unavailable(container: &str, what: &str) -> String {
    format!(
        "container {container:?}, env {what}: the sandbox has no ConfigMaps, Secrets or resource fields; give a value"
    )
}

fn defaults(pod: &Pod, container: &Container) -> Vec<(String, String)> {
    let inherited = |name: &str| std::env::var(name).ok();
    let port = pod.ports.get(&container.name).copied().unwrap_or(0);
    let mut env: Vec<(String, String)> = Vec::new();
    if pod.node.inherit_env {
        env.extend(std::env::vars_os().filter_map(|(name, value)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        }));
    }
    let own = [
        (
            "PATH",
            inherited("PATH").unwrap_or_else(|| DEFAULT_PATH.to_owned()),
        ),
        ("HOME", inherited("HOME").unwrap_or_else(|| "/".to_owned())),
        ("HOSTNAME", pod.reference.name.clone()),
        ("PORT", port.to_string()),
        ("POD_NAME", pod.reference.name.clone()),
        ("POD_IP", pod.ip.clone()),
        ("POD_NAMESPACE", pod.reference.namespace.clone()),
    ];
    for (name, value) in own {
        set(&mut env, name, value);
    }
    env
}

fn set(env: &mut Vec<(String, String)>, name: &str, value: String) {
    env.retain(|(n, _)| n != name);
    env.push((name.to_owned(), value));
}

/// The command `rollscope` is the sandbox's own program, whatever the manifest's PATH.
fn prepend_path(env: &mut [(String, String)], dir: &str) {
    for (_, value) in env.iter_mut().filter(|(name, _)| name == "PATH") {
        *value = format!("{dir}:{value}");
    }
}

fn is_optional(source: &EnvVarSource) -> bool {
    let map = source.config_map_key_ref.as_ref().and_then(|r| r.optional);
    let secret = source.secret_key_ref.as_ref().and_then(|r| r.optional);
    map.or(secret) == Some(true)
}

fn reference(pod: &Pod, source: &EnvVarSource) -> Option<String> {
    let path = source.field_ref.as_ref()?.field_path.as_str();
    match path {
        "status.podIP" | "status.podIPs" => Some(pod.ip.clone()),
        "status.hostIP" | "status.hostIPs" => Some(HOST_IP.to_owned()),
        _ => field(&pod.object, path),
    }
}

/// A field of the pod object: `metadata.name`, `spec.nodeName`, `metadata.labels['app']`, ...
fn field(object: &Value, path: &str) -> Option<String> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    if let Some((map, key)) = path.strip_suffix("']").and_then(|p| p.split_once("['")) {
        let field = map.strip_prefix("metadata.")?;
        return matches!(field, "labels" | "annotations")
            .then(|| text(&object["metadata"][field][key]));
    }
    let (part, field) = path.split_once('.')?;
    match path {
        "metadata.name"
        | "metadata.namespace"
        | "metadata.uid"
        | "spec.nodeName"
        | "spec.serviceAccountName" => Some(text(&object[part][field])),
        _ => None,
    }
}

/// The port that the manifest itself gives to the process.
pub(super) fn manifest_port(container: &Container) -> Option<u16> {
    let is_port = |v: &&EnvVar| v.name == "PORT";
    let variable = container.env.iter().flatten().rfind(is_port)?;
    variable.value.as_deref()?.parse().ok()
}

/// Replaces `$(NAME)` by the variable's value; an unknown name stays as it is, and `$$` stands for `$`.
fn expand(text: &str, env: &[(String, String)]) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        out.push_str(&rest[..at]);
        let after = &rest[at + 1..];
        if let Some(tail) = after.strip_prefix('$') {
            out.push('$');
            rest = tail;
        } else if let Some((name, tail)) = after.strip_prefix('(').and_then(|a| a.split_once(')')) {
            match env.iter().find(|(n, _)| n == name) {
                Some((_, value)) => out.push_str(value),
                None => out.push_str(&rest[at..rest.len() - tail.len()]),
            }
            rest = tail;
        } else {
            out.push('$');
            rest = after;
        }
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn variables_expand_as_in_kubernetes() {
        let env = [("A".to_owned(), "1".to_owned())];
        for (text, expected) in [
            ("x$(A)y", "x1y"),
            ("$(B)", "$(B)"),
            ("$$(A)", "$(A)"),
            ("$$$(A)", "$1"),
            ("$A $(A", "$A $(A"),
            ("100$", "100$"),
        ] {
            assert_eq!(expand(text, &env), expected, "{text}");
        }
    }

    #[test]
    fn field_references_reach_names_and_labels() {
        let pod = json!({
            "metadata": {"name": "web-1", "labels": {"app.kubernetes.io/name": "web"}},
            "spec": {"nodeName": "node1"},
        });
        let get = |path| field(&pod, path);
        assert_eq!(get("metadata.name").as_deref(), Some("web-1"));
        let label = get("metadata.labels['app.kubernetes.io/name']");
        assert_eq!(label.as_deref(), Some("web"));
        assert_eq!(get("spec.nodeName").as_deref(), Some("node1"));
        assert_eq!(get("spec.containers"), None);
    }
}
