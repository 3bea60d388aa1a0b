//! Names that are known: environment variables, libraries, proxies, images.

/// Environment variables that say how long a program keeps serving after the stop signal (units are taken off).
pub(crate) const DELAYS: &[&str] = &[
    "SHUTDOWN_DELAY",
    "DRAIN_DELAY",
    "PRESTOP_DELAY",
    "PRE_STOP_DELAY",
    "PROPAGATION_DELAY",
    "SHUTDOWN_PROPAGATION_DELAY",
    "GRACEFUL_SHUTDOWN_DELAY",
    "DEREGISTRATION_DELAY",
    "LAME_DUCK",
    "LAMEDUCK",
    "LAME_DUCK_DURATION",
    "LAMEDUCK_DURATION",
];

/// Those that say how long requests in flight may take once the program stops accepting.
pub(crate) const DRAIN_DEADLINES: &[&str] = &["DRAIN_DEADLINE", "DRAIN_TIMEOUT"];

/// Those that say after how long from the signal the program ends its shutdown.
pub(crate) const SHUTDOWN_DEADLINES: &[&str] = &[
    "SHUTDOWN_TIMEOUT",
    "SHUTDOWN_DEADLINE",
    "GRACEFUL_SHUTDOWN_TIMEOUT",
    "GRACEFUL_TIMEOUT",
    "FORCE_EXIT_TIMEOUT",
    "FORCED_EXIT_TIMEOUT",
];

/// Those that say how long the program keeps an idle connection.
pub(crate) const KEEP_ALIVES: &[&str] = &[
    "KEEP_ALIVE_TIMEOUT",
    "KEEPALIVE_TIMEOUT",
    "SERVER_KEEP_ALIVE_TIMEOUT",
    "SERVER_KEEPALIVE_TIMEOUT",
    "HTTP_KEEP_ALIVE_TIMEOUT",
    "HTTP_KEEPALIVE_TIMEOUT",
];

/// Node's `server.keepAliveTimeout` where nothing sets it, ns.
pub(crate) const NODE_KEEP_ALIVE: i64 = 5_000_000_000;

/// What a library does with SIGTERM.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Owner {
    /// Listens for it by itself.
    Listens,
    /// Has hooks for it that are usually switched on.
    Framework,
    /// Drains when it is called, which is usually done from a listener.
    Drains,
}

/// Libraries that have to do with SIGTERM.
pub(crate) const OWNERS: &[(&str, Owner)] = &[
    ("@nestjs/core", Owner::Framework),
    ("@adonisjs/core", Owner::Framework),
    ("moleculer", Owner::Framework),
    ("@apollo/server", Owner::Listens),
    ("apollo-server", Owner::Listens),
    ("@godaddy/terminus", Owner::Listens),
    ("lightship", Owner::Listens),
    ("fastify-graceful-shutdown", Owner::Listens),
    ("close-with-grace", Owner::Listens),
    ("http-graceful-shutdown", Owner::Listens),
    ("@gquittet/graceful-server", Owner::Listens),
    ("node-graceful-shutdown", Owner::Listens),
    ("nestjs-graceful-shutdown", Owner::Listens),
    ("nest-graceful-shutdown", Owner::Listens),
    ("graphile-worker", Owner::Listens),
    ("http-terminator", Owner::Drains),
    ("stoppable", Owner::Drains),
    ("express-graceful-exit", Owner::Drains),
];

/// What `name` does with SIGTERM.
pub(crate) fn owner(name: &str) -> Option<Owner> {
    OWNERS.iter().find(|(n, _)| *n == name).map(|(_, o)| *o)
}

const PROXY_NAMES: &[&str] = &[
    "istio-proxy",
    "linkerd-proxy",
    "envoy",
    "envoy-proxy",
    "envoy-sidecar",
    "consul-dataplane",
    "kuma-sidecar",
    "cloud-sql-proxy",
    "cloudsql-proxy",
    "cloudsql",
    "pgbouncer",
    "oauth2-proxy",
    "nginx-proxy",
    "daprd",
];

const PROXY_IMAGES: &[&str] = &[
    "proxyv2",
    "envoy",
    "consul-dataplane",
    "cloud-sql-proxy",
    "gce-proxy",
    "pgbouncer",
    "oauth2-proxy",
    "daprd",
];

/// Whether a container is a proxy that traffic or connections of the application go through.
pub(crate) fn is_proxy(name: &str, image: &str) -> bool {
    PROXY_NAMES.contains(&name) || PROXY_IMAGES.contains(&image_name(image))
}

/// Whether a container only exports metrics.
pub(crate) fn is_exporter(name: &str, image: &str) -> bool {
    let marks = ["exporter", "metrics", "prometheus"];
    marks
        .iter()
        .any(|m| name.contains(m) || image_name(image).contains(m))
}

/// The name of an image, without registry, tag and digest.
pub(crate) fn image_name(image: &str) -> &str {
    let bare = image.split('@').next().unwrap_or_default();
    let last = bare.rsplit('/').next().unwrap_or_default();
    last.split(':').next().unwrap_or_default()
}

/// Whether an image has neither a shell nor the usual programs, by its name.
pub(crate) fn is_distroless(image: &str) -> bool {
    let tag = image.rsplit_once(':').map_or("", |(_, tag)| tag);
    let with_shell = ["debug", "-dev"].iter().any(|m| tag.contains(m));
    let bare = image == "scratch"
        || image.contains("distroless")
        || image.starts_with("cgr.dev/")
        || image_name(image) == "static";
    bare && !with_shell
}
