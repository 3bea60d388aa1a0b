//! How the keys of a scenario are described: by tables that the checker and the JSON Schema both read.

/// The keys of one mapping of the scenario.
pub(crate) struct Table {
    /// Where the mapping stands, for "this key belongs in ..."; empty for the scenario itself.
    pub(crate) home: &'static str,
    /// What the mapping is, in a sentence.
    pub(crate) doc: &'static str,
    /// Its keys, in the order in which they are usually written.
    pub(crate) keys: &'static [Key],
    /// Keys of which exactly one must be there.
    pub(crate) one_of: &'static [&'static str],
    /// Keys that a later version will know.
    pub(crate) planned: &'static [Planned],
}

/// A key that a later version will know.
pub(crate) struct Planned {
    pub(crate) name: &'static str,
    /// The keys for which it stands in: where it is written they are not missed.
    pub(crate) instead_of: &'static [&'static str],
}

/// One key.
pub(crate) struct Key {
    pub(crate) name: &'static str,
    pub(crate) doc: &'static str,
    pub(crate) required: bool,
    /// Its value where the key is left out, as it would be written.
    pub(crate) default: Option<&'static str>,
    pub(crate) shape: Shape,
}

/// What a key's value looks like.
pub(crate) enum Shape {
    /// Text, not empty.
    Text,
    /// A DNS label.
    DnsLabel,
    /// `deployment/<name>`.
    Workload,
    /// `https://host:port`.
    BaseUrl,
    /// `/path?query`.
    Path,
    /// A header's name.
    HeaderName,
    /// `200/s`.
    Rate,
    /// `200/s`, or a mapping with keys of its own.
    RateOrSection(&'static Table),
    /// `true` or `false`.
    Flag,
    /// A text, a number, `true`, `false` or `null`.
    Scalar,
    /// The path of a file.
    File,
    /// `/status`, or nothing at all for the whole.
    JsonPointer,
    /// `host:port:address`, as curl has it.
    Resolves,
    /// A name or an address.
    Host,
    /// `1m30s`.
    Duration,
    /// `5s`, over 0.
    Deadline,
    /// `500ms..2s`.
    DurationRange,
    /// A whole number, both ends included.
    Whole(u64, u64),
    /// One of these words.
    Choice(&'static [&'static str]),
    /// A mapping with keys of its own.
    Section(&'static Table),
    /// A list of such mappings, not empty.
    Sections(&'static Table),
    /// A list of texts; the flag says whether it may be empty.
    Texts { may_be_empty: bool },
    /// A list of these words.
    Words(&'static [&'static str]),
    /// `redis://host:6379`.
    RedisUrl,
    /// A URL, or a path of the load's own target.
    JobUrl,
    /// `postgresql://user@host:5432/database`.
    PostgresqlUrl,
    /// A regular expression with the group `job`.
    JobPattern,
    /// `{}` or nothing.
    Nothing,
    /// A command: text for the shell, or a list of program and arguments.
    Command,
    /// `[200, 3xx]`.
    Statuses,
    /// Header names to a text, `{ env: VARIABLE }` or `{ file: PATH }`.
    Headers,
    /// Names to regular expressions.
    Patterns,
}

/// The highest rate, requests per second.
pub(crate) const MAX_RATE: f64 = 1e6;

impl Table {
    /// The key named `name`.
    pub(crate) fn key(&self, name: &str) -> Option<&'static Key> {
        self.keys.iter().find(|k| k.name == name)
    }

    /// The planned key named `name`.
    pub(crate) fn planned(&self, name: &str) -> Option<&'static Planned> {
        self.planned.iter().find(|p| p.name == name)
    }

    /// The names of all keys.
    pub(crate) fn names(&self) -> impl Iterator<Item = &'static str> {
        self.keys.iter().map(|k| k.name)
    }
}

impl Shape {
    /// What is expected, in words.
    pub(crate) fn expected(&self) -> String {
        match self {
            Self::Text => "text".to_owned(),
            Self::DnsLabel => "a name of lower-case letters, digits and inner dashes, at most 63".to_owned(),
            Self::Workload => "a workload such as `deployment/checkout`".to_owned(),
            Self::BaseUrl => "a URL such as `https://staging.example.com` or `http://127.0.0.1:8080`, without a path".to_owned(),
            Self::Path => "a path such as `/orders?limit=10`, percent-encoded where needed".to_owned(),
            Self::HeaderName => "a header name such as `x-pod-name`".to_owned(),
            Self::Rate => "a rate such as `200/s` or `30/m`, over 0 and up to 1000000/s".to_owned(),
            Self::RateOrSection(table) => format!("{}, or a mapping with {}", Self::Rate.expected(), one_of(table.names())),
            Self::Flag => "`true` or `false`".to_owned(),
            Self::Scalar => "a text, a number, `true`, `false` or `null`".to_owned(),
            Self::File => "a file that can be read".to_owned(),
            Self::JsonPointer => "a JSON pointer such as `/status`".to_owned(),
            Self::Resolves => "a list of `host:port:address` with one or more addresses, such as `shop.example:443:127.0.0.1`".to_owned(),
            Self::Host => "a host's name or address".to_owned(),
            Self::Duration => "a duration such as `500ms`, `1m30s` or `2h`, at most 168h".to_owned(),
            Self::Deadline => "a duration over 0 such as `500ms`, `1m30s` or `2h`, at most 168h".to_owned(),
            Self::DurationRange => "a range of durations such as `500ms..2s`, the shorter first".to_owned(),
            Self::Whole(min, u64::MAX) => format!("a whole number from {min}"),
            Self::Whole(min, max) => format!("a whole number from {min} to {max}"),
            Self::Choice(words) => one_of(words.iter().copied()),
            Self::Section(table) => format!("a mapping with {}", one_of(table.names())),
            Self::Sections(_) => "a list with at least one entry".to_owned(),
            Self::Texts { may_be_empty: true } => "a list of texts".to_owned(),
            Self::Texts { may_be_empty: false } => "a list with at least one text".to_owned(),
            Self::Words(words) => format!("a list of {}", one_of(words.iter().copied())),
            Self::RedisUrl => "a URL such as `redis://127.0.0.1:6379`, without a user".to_owned(),
            Self::JobUrl => "a path of the load's target such as `/jobs/events`, or a URL such as `https://jobs.example.com/events`".to_owned(),
            Self::PostgresqlUrl => "a URL such as `postgresql://reader@127.0.0.1:5432/shop`, with a user and without a password (`?sslmode=require` for TLS)".to_owned(),
            Self::JobPattern => "a regular expression with the group `(?P<job>...)` and, where it finds other events than the end of a job, `(?P<event>...)`".to_owned(),
            Self::Nothing => "`{}`".to_owned(),
            Self::Command => "a command, as text for the shell or as a list of program and arguments".to_owned(),
            Self::Statuses => "a list of statuses such as `[200, 3xx]`, from 100 to 599".to_owned(),
            Self::Headers => "a mapping of header names to a text, `{ env: VARIABLE }` or `{ file: PATH }`".to_owned(),
            Self::Patterns => "a mapping of names to regular expressions".to_owned(),
        }
    }
}

/// "`a`", "`a` or `b`", "one of `a`, `b`, `c`".
pub(crate) fn one_of(words: impl Iterator<Item = &'static str>) -> String {
    let quoted: Vec<String> = words.map(|w| format!("`{w}`")).collect();
    match quoted.as_slice() {
        [one] => one.clone(),
        [one, two] => format!("{one} or {two}"),
        many => format!("one of {}", many.join(", ")),
    }
}
