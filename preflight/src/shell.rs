//! What a shell does with a signal, as far as its script says it.

/// A simple command of a script, and what separates it from the one before.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Simple<'a> {
    /// From the start of the script to this command.
    before: &'a str,
    text: &'a str,
    /// Whether it stands behind a `|`.
    piped: bool,
}

/// What happens to a SIGTERM that the shell gets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Forwarding {
    /// The shell has become the program by then.
    Exec(Vec<String>),
    /// The script has a trap: it may forward the signal.
    Trap,
    /// It stays with the shell.
    None,
}

/// Words that begin a compound command.
const COMPOUND: &[&str] = &["while", "until", "for", "if", "case", "{", "(", "function"];

/// Commands that only end a script.
const TRIVIAL: &[&str] = &["true", ":", "exit", "wait", "false"];

/// What a script of the shell `name` does with the signal.
pub(crate) fn forwarding(name: &str, script: &str) -> Forwarding {
    let words: Vec<&str> = script
        .split(|c: char| c.is_whitespace() || c == ';')
        .collect();
    if words.contains(&"trap") {
        return Forwarding::Trap;
    }
    let commands = commands(script);
    let Some(last) = commands.last() else {
        return Forwarding::None;
    };
    let words = split(last.text);
    if words.first().is_some_and(|w| w == "exec") && !last.piped {
        return Forwarding::Exec(words[1..].to_vec());
    }
    // bash becomes the last command by itself where there is only one; dash does not.
    if name == "bash" && commands.len() == 1 && is_plain(last.text) {
        return Forwarding::Exec(words);
    }
    Forwarding::None
}

/// A command line that does what the script does and gets the signal: the program itself where the script is only
/// that, else a shell that becomes the program in the end. `instead` is run in the place of the program.
pub(crate) fn mended(shell: &str, script: &str, instead: Option<&[String]>) -> Vec<String> {
    let commands = commands(script);
    let compound = commands.iter().any(|c| starts_compound(c.text));
    let server = commands
        .iter()
        .rposition(|c| !c.piped && !is_trivial(c.text));
    let Some(server) = server.filter(|_| !compound) else {
        let script = format!(
            "trap 'kill -TERM -1; wait' TERM; {{ {}\n}} & wait",
            script.trim()
        );
        return vec![shell.to_owned(), "-c".to_owned(), script];
    };
    let command = &commands[server];
    let program = command
        .text
        .strip_prefix("exec ")
        .unwrap_or(command.text)
        .trim();
    let assigned = split(program).first().is_some_and(|w| is_assignment(w));
    let program = match (instead, assigned) {
        (Some(words), _) => joined(words),
        (None, true) => format!("env {program}"),
        (None, false) => program.to_owned(),
    };
    if command.before.trim().is_empty() && is_plain(&program) {
        return split(&program);
    }
    let gap = if command.before.ends_with(char::is_whitespace) || command.before.is_empty() {
        ""
    } else {
        " "
    };
    let script = format!("{}{gap}exec {program}", command.before);
    vec![
        shell.to_owned(),
        "-c".to_owned(),
        script.trim_start().to_owned(),
    ]
}

/// Words as a shell would be given them.
fn joined(words: &[String]) -> String {
    let quoted =
        words.iter().map(
            |w| match is_plain(w) && !w.contains([' ', '"', '\'']) && !w.is_empty() {
                true => w.clone(),
                false => format!("'{}'", w.replace('\'', r"'\''")),
            },
        );
    quoted.collect::<Vec<_>>().join(" ")
}

fn is_trivial(text: &str) -> bool {
    split(text)
        .first()
        .is_none_or(|w| TRIVIAL.contains(&w.as_str()))
}

/// The program that a script comes to in the end, as words.
pub(crate) fn program(script: &str) -> Vec<String> {
    let commands = commands(script);
    let last = commands.iter().rev().find(|c| !is_trivial(c.text));
    let mut words = last.map(|c| split(c.text)).unwrap_or_default();
    while words
        .first()
        .is_some_and(|w| w == "exec" || is_assignment(w))
    {
        words.remove(0);
    }
    words
}

fn starts_compound(text: &str) -> bool {
    let first = text.split_whitespace().next().unwrap_or_default();
    COMPOUND.contains(&first) || text.starts_with(['(', '{'])
}

/// `NAME=value`.
fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty()
            && !name.starts_with(|c: char| c.is_ascii_digit())
            && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
    })
}

/// Whether nothing in it means anything to a shell but blanks.
fn is_plain(text: &str) -> bool {
    !text.contains([
        '$', '`', '*', '?', '[', '<', '>', '(', ')', '{', '}', '#', '~', '&', '|', ';', '\n', '\\',
        '!',
    ])
}

/// The simple commands of a script, split where it is not quoted.
fn commands(script: &str) -> Vec<Simple<'_>> {
    let mut found = Vec::new();
    let (mut start, mut piped, mut quote) = (0, false, None);
    let mut skip = false;
    let bytes = script.as_bytes();
    let mut i = 0;
    while i < bytes.len() {
        let b = bytes[i];
        if skip {
            skip = false;
        } else if b == b'\\' && quote != Some(b'\'') {
            skip = true;
        } else if let Some(q) = quote {
            if b == q {
                quote = None;
            }
        } else if b == b'\'' || b == b'"' {
            quote = Some(b);
        } else if matches!(b, b';' | b'\n' | b'|' | b'&') && !is_redirection(bytes, i) {
            push(&mut found, script, start, i, piped);
            let double = bytes.get(i + 1) == Some(&b) && b != b'\n';
            piped = b == b'|' && !double;
            i += usize::from(double);
            start = i + 1;
        }
        i += 1;
    }
    push(&mut found, script, start, script.len(), piped);
    found
}

/// The `&` of `2>&1` and `&>file`.
fn is_redirection(bytes: &[u8], i: usize) -> bool {
    bytes[i] == b'&' && ((i > 0 && bytes[i - 1] == b'>') || bytes.get(i + 1) == Some(&b'>'))
}

fn push<'a>(found: &mut Vec<Simple<'a>>, script: &'a str, start: usize, end: usize, piped: bool) {
    let text = script[start..end].trim();
    if !text.is_empty() && !text.starts_with('#') {
        let before = &script[..start];
        found.push(Simple {
            before,
            text,
            piped,
        });
    }
}

/// The words of a simple command, without their quotes.
pub(crate) fn split(text: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match (quote, c) {
            (None, c) if c.is_whitespace() => words.extend(word.take()),
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (Some(q), c) if c == q => quote = None,
            (None | Some('"'), '\\') => word.get_or_insert_default().extend(chars.next()),
            (_, c) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

/// The seconds that a script sleeps in all; `None` where it does not, or not for a number of seconds.
pub(crate) fn sleeps(script: &str) -> Option<i64> {
    let slept: Vec<i64> = commands(script)
        .iter()
        .filter_map(|c| match split(c.text).as_slice() {
            [name, seconds] if basename(name) == "sleep" => sleep_seconds(seconds),
            _ => None,
        })
        .collect();
    (!slept.is_empty()).then(|| slept.iter().fold(0_i64, |sum, s| sum.saturating_add(*s)))
}

/// Whether a script is nothing but a sleep.
pub(crate) fn only_sleeps(script: &str) -> bool {
    let commands = commands(script);
    commands.len() == 1 && sleeps(script).is_some()
}

/// `5`, `5s`, `1m`, `0.5` (rounded up), seconds.
pub(crate) fn sleep_seconds(text: &str) -> Option<i64> {
    let (number, scale) = match text.as_bytes().last()? {
        b's' => (&text[..text.len() - 1], 1.0),
        b'm' => (&text[..text.len() - 1], 60.0),
        b'h' => (&text[..text.len() - 1], 3600.0),
        _ => (text, 1.0),
    };
    let seconds = number.parse::<f64>().ok()? * scale;
    (0.0..=1e9)
        .contains(&seconds)
        .then(|| seconds.ceil() as i64)
}

/// The last part of a path.
pub(crate) fn basename(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn a_shell_passes_the_signal_on_only_by_exec_or_trap() {
        for (shell, script, expected) in [
            ("sh", "node server.js", Forwarding::None),
            ("sh", "node server.js; true", Forwarding::None),
            (
                "sh",
                "exec node server.js",
                Forwarding::Exec(words("node server.js")),
            ),
            (
                "sh",
                "npm run migrate && exec node server.js",
                Forwarding::Exec(words("node server.js")),
            ),
            ("sh", "exec node server.js | tee log", Forwarding::None),
            (
                "sh",
                "trap 'kill -TERM $pid' TERM; node x & pid=$!; wait",
                Forwarding::Trap,
            ),
            (
                "bash",
                "node server.js",
                Forwarding::Exec(words("node server.js")),
            ),
            ("bash", "node server.js; true", Forwarding::None),
            ("sh", "echo 'exec x'; node y", Forwarding::None),
            ("sh", "", Forwarding::None),
        ] {
            assert_eq!(forwarding(shell, script), expected, "{shell}: {script}");
        }
    }

    #[test]
    fn what_is_mended_gets_the_signal() {
        for (script, expected) in [
            ("node server.js; true", vec!["node", "server.js"]),
            (
                "node server.js --name 'a b'",
                vec!["node", "server.js", "--name", "a b"],
            ),
            (
                "cd /app && node x.js",
                vec!["sh", "-c", "cd /app && exec node x.js"],
            ),
            ("node $FILE", vec!["sh", "-c", "exec node $FILE"]),
            ("A=1 node x.js", vec!["env", "A=1", "node", "x.js"]),
            ("node x.js | tee log", vec!["node", "x.js"]),
            ("node x.js 2>&1", vec!["sh", "-c", "exec node x.js 2>&1"]),
            ("node x.js & wait", vec!["node", "x.js"]),
        ] {
            let mended = mended("sh", script, None);
            assert_eq!(mended, expected, "{script}");
            if mended[0] == "sh" {
                assert_ne!(forwarding("sh", &mended[2]), Forwarding::None, "{script}");
            }
        }
        let looped = mended("sh", "while true; do node x.js; done", None);
        assert_eq!(forwarding("sh", &looped[2]), Forwarding::Trap);
    }

    #[test]
    fn sleeps_are_added_up() {
        for (script, expected) in [
            ("sleep 5", Some(5)),
            ("/bin/sleep 1m && nginx -s quit; sleep 0.5", Some(61)),
            ("sleep $DELAY", None),
            ("nginx -s quit", None),
        ] {
            assert_eq!(sleeps(script), expected, "{script}");
        }
    }
}
