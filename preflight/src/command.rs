//! What PID 1 of a container is.

use crate::package_json::PackageJson;
use crate::shell::{self, Forwarding, basename};

/// What gets the stop signal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Pid1 {
    /// A program: nothing stands between it and the signal.
    Program(Vec<String>),
    /// A shell that keeps the signal to itself.
    Shell { shell: String, script: String },
    /// A shell with a trap, or one that runs a file: it may do anything.
    Script,
    /// A package manager, and the script that it runs.
    PackageManager { name: String, script: String },
}

const SHELLS: &[&str] = &["sh", "bash", "ash", "dash", "zsh", "ksh", "busybox"];

/// Programs that run another one and stay, or become it, without changing what the signal meets.
const INITS: &[&str] = &[
    "tini",
    "tini-static",
    "dumb-init",
    "catatonit",
    "docker-init",
    "docker-entrypoint.sh",
];

const PACKAGE_MANAGERS: &[&str] = &["npm", "yarn", "pnpm", "npx", "yarnpkg"];

/// What a command line comes to.
pub(crate) fn pid1(argv: &[String]) -> Pid1 {
    let argv = unwrapped(argv);
    let Some(first) = argv.first() else {
        return Pid1::Script;
    };
    let name = basename(first);
    if SHELLS.contains(&name) {
        return of_shell(name, first, &argv[1..]);
    }
    if PACKAGE_MANAGERS.contains(&name)
        && let Some(script) = managed_script(name, &argv[1..])
    {
        let name = name.to_owned();
        return Pid1::PackageManager { name, script };
    }
    Pid1::Program(argv.to_vec())
}

/// The command line without an init, `env A=1` and `exec` in front of it.
pub(crate) fn unwrapped(argv: &[String]) -> &[String] {
    let mut rest = argv;
    loop {
        let name = rest.first().map(|w| basename(w));
        match name {
            Some(name) if INITS.contains(&name) => {
                let options = rest[1..]
                    .iter()
                    .take_while(|w| w.starts_with('-') && *w != "--")
                    .count();
                rest = &rest[1 + options..];
                if rest.first().is_some_and(|w| w == "--") {
                    rest = &rest[1..];
                }
            }
            Some("env") => {
                let words = rest[1..]
                    .iter()
                    .take_while(|w| w.contains('=') || w.starts_with('-'))
                    .count();
                rest = &rest[1 + words..];
            }
            Some("exec") => rest = &rest[1..],
            _ => return rest,
        }
    }
}

fn of_shell(name: &str, shell: &str, args: &[String]) -> Pid1 {
    let args = match (name, args.first()) {
        ("busybox", Some(_)) => &args[1..],
        _ => args,
    };
    let runs = args
        .iter()
        .position(|w| w.starts_with('-') && !w.starts_with("--") && w.contains('c'));
    let script = runs.and_then(|i| args.get(i + 1));
    let Some(script) = script else {
        return Pid1::Script;
    };
    match shell::forwarding(name, script) {
        Forwarding::Exec(words) => pid1(&words),
        Forwarding::Trap => Pid1::Script,
        Forwarding::None => Pid1::Shell {
            shell: shell.to_owned(),
            script: script.clone(),
        },
    }
}

/// The script that a package manager runs; `None` where it is asked for something else (`npm ci`).
fn managed_script(name: &str, args: &[String]) -> Option<String> {
    let mut words = args.iter().filter(|w| !w.starts_with('-'));
    let first = words.next()?;
    match (name, first.as_str()) {
        ("npx", package) => Some(package.to_owned()),
        (_, "run" | "run-script") => words.next().cloned(),
        (_, "start") => Some("start".to_owned()),
        ("npm", _) => None,
        (_, "install" | "add" | "exec" | "dlx" | "node" | "build" | "test") => None,
        (_, script) => Some(script.to_owned()),
    }
}

/// The program that runs in the end, as far as it is known: behind shells and package managers, without what only
/// development needs.
pub(crate) fn program(pid1: &Pid1, package: Option<&PackageJson>) -> Vec<String> {
    let words = match pid1 {
        Pid1::Program(argv) => argv.clone(),
        Pid1::Shell { script, .. } => shell::program(script),
        Pid1::Script => Vec::new(),
        Pid1::PackageManager { script, .. } => {
            let text = package.and_then(|p| p.script(script));
            let text = text.or_else(|| package.and_then(|p| p.script("start")));
            text.map(|(text, _)| shell::program(text))
                .unwrap_or_default()
        }
    };
    let words = unwrapped(&words).to_vec();
    match self::pid1(&words) {
        inner @ Pid1::PackageManager { .. } if inner != *pid1 => {
            let Pid1::PackageManager { script, .. } = &inner else {
                return words;
            };
            let text = package.and_then(|p| p.script(script));
            text.map(|(text, _)| shell::program(text))
                .unwrap_or_default()
        }
        _ => words,
    }
}

/// What a development mode looks like in a command line, if this is one.
pub(crate) fn development(words: &[String]) -> Option<String> {
    let words = unwrapped(words);
    let name = basename(words.first()?);
    let has = |word: &str| words.iter().any(|w| w == word);
    match name {
        "nodemon" | "ts-node-dev" | "tsnd" | "node-dev" | "supervisor" => Some(name.to_owned()),
        "node" | "bun"
            if words
                .iter()
                .any(|w| w == "--watch" || w.starts_with("--watch-path")) =>
        {
            Some(format!("{name} --watch"))
        }
        "deno" if has("--watch") => Some("deno --watch".to_owned()),
        "tsx" if has("watch") || has("--watch") => Some("tsx watch".to_owned()),
        "nest" if has("--watch") || has("-w") => Some("nest start --watch".to_owned()),
        "next" | "vite" | "nuxt" | "astro" | "remix" if has("dev") => Some(format!("{name} dev")),
        _ => None,
    }
}

/// A command line for production in the place of one for development.
pub(crate) fn production(words: &[String]) -> Vec<String> {
    let words = unwrapped(words);
    let Some(first) = words.first() else {
        return Vec::new();
    };
    let file = words[1..]
        .iter()
        .find(|w| !w.starts_with('-') && is_file(w));
    match basename(first) {
        "nodemon" | "ts-node-dev" | "tsnd" | "node-dev" | "supervisor" | "tsx" => {
            let file = file.cloned().unwrap_or_else(|| MAIN.to_owned());
            vec!["node".to_owned(), file.replace(".ts", ".js")]
        }
        "nest" => vec!["node".to_owned(), "dist/main.js".to_owned()],
        "next" | "vite" | "nuxt" | "astro" | "remix" => vec![first.clone(), "start".to_owned()],
        _ => words
            .iter()
            .filter(|w| !w.starts_with("--watch"))
            .cloned()
            .collect(),
    }
}

fn is_file(word: &str) -> bool {
    [".js", ".ts", ".mjs", ".cjs", ".mts"]
        .iter()
        .any(|end| word.ends_with(end))
}

/// The file that stands in where nothing says which one it is.
pub(crate) const MAIN: &str = "server.js";

/// Whether the program runs on Node.js.
pub(crate) fn is_node(words: &[String]) -> bool {
    words
        .first()
        .is_some_and(|w| matches!(basename(w), "node" | "nodejs" | "tsx" | "ts-node"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn argv(text: &str) -> Vec<String> {
        shell::split(text)
    }

    #[test]
    fn what_stands_in_front_of_the_program_is_seen() {
        for (command, expected) in [
            ("node server.js", Pid1::Program(argv("node server.js"))),
            (
                "/usr/bin/dumb-init --single-child -- node x.js",
                Pid1::Program(argv("node x.js")),
            ),
            (
                "tini -- npm start",
                Pid1::PackageManager {
                    name: "npm".to_owned(),
                    script: "start".to_owned(),
                },
            ),
            (
                "npm --silent run serve",
                Pid1::PackageManager {
                    name: "npm".to_owned(),
                    script: "serve".to_owned(),
                },
            ),
            (
                "yarn serve",
                Pid1::PackageManager {
                    name: "yarn".to_owned(),
                    script: "serve".to_owned(),
                },
            ),
            ("npm ci", Pid1::Program(argv("npm ci"))),
            (
                "sh -c 'exec env A=1 node x.js'",
                Pid1::Program(argv("node x.js")),
            ),
            ("sh /start.sh", Pid1::Script),
            (
                "bash -ec 'node x.js; true'",
                Pid1::Shell {
                    shell: "bash".to_owned(),
                    script: "node x.js; true".to_owned(),
                },
            ),
            (
                "sh -c 'exec npm start'",
                Pid1::PackageManager {
                    name: "npm".to_owned(),
                    script: "start".to_owned(),
                },
            ),
        ] {
            assert_eq!(pid1(&argv(command)), expected, "{command}");
        }
    }

    #[test]
    fn development_has_a_production_form() {
        for (command, seen, instead) in [
            ("nodemon src/index.ts", "nodemon", "node src/index.js"),
            ("node --watch app.js", "node --watch", "node app.js"),
            ("next dev", "next dev", "next start"),
            ("tsx watch src/a.ts", "tsx watch", "node src/a.js"),
        ] {
            assert_eq!(development(&argv(command)).as_deref(), Some(seen));
            assert_eq!(production(&argv(command)), argv(instead));
            assert_eq!(development(&argv(instead)), None, "{instead}");
        }
    }
}
