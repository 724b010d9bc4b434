//! The grants of a key: operations on topics, groups and producers, matched by name or prefix.

use super::limits::{PATTERNS_MAX, SHOWN_BYTES_MAX};
use rawline_broker::Visible;
use std::collections::BTreeSet;
use std::fmt;

/// An operation on a topic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operation {
    /// Read records, offsets and settings.
    Read,
    /// Append records, which creates the topic if the broker does that.
    Write,
    /// Create and delete topics, change their settings, delete records.
    Admin,
}

/// Exact names, and prefixes that end with `*`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Patterns {
    names: BTreeSet<Box<str>>,
    prefixes: BTreeSet<Box<str>>,
}

/// Why a text is not a pattern.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PatternInvalid {
    /// No name is empty.
    #[error("a pattern is empty; use a name, a prefix with * after it, or * for all")]
    Empty,
    /// A star anywhere but at the end.
    #[error("{0:?} has a * that is not its last character; use a prefix with * after it, such as logs.*")]
    Star(String),
    /// More than [`PATTERNS_MAX`].
    #[error("{0} patterns; the maximum is {PATTERNS_MAX}; use prefixes")]
    TooMany(usize),
}

impl Patterns {
    /// Matches every name.
    pub fn all() -> Patterns {
        Patterns { names: BTreeSet::new(), prefixes: BTreeSet::from(["".into()]) }
    }

    /// Reads patterns.
    pub fn parse<'a>(texts: impl IntoIterator<Item = &'a str>) -> Result<Patterns, PatternInvalid> {
        let mut patterns = Patterns::default();
        for text in texts {
            let (name, is_prefix) = text.strip_suffix('*').map_or((text, false), |prefix| (prefix, true));
            if text.is_empty() {
                return Err(PatternInvalid::Empty);
            }
            if name.contains('*') {
                return Err(PatternInvalid::Star(shown(text).to_owned()));
            }
            if is_prefix {
                patterns.prefixes.insert(name.into())
            } else {
                patterns.names.insert(name.into())
            };
        }
        let count = patterns.names.len() + patterns.prefixes.len();
        if count > PATTERNS_MAX { Err(PatternInvalid::TooMany(count)) } else { Ok(patterns) }
    }

    /// Whether nothing matches.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty() && self.prefixes.is_empty()
    }

    /// Whether everything matches.
    pub fn is_everything(&self) -> bool {
        self.prefixes.contains("")
    }

    /// Whether a name matches.
    pub fn matches(&self, name: &str) -> bool {
        self.prefixes.iter().any(|prefix| name.starts_with(&**prefix)) || self.names.contains(name)
    }

    /// The patterns as texts.
    pub fn texts(&self) -> impl Iterator<Item = String> {
        let names = self.names.iter().map(|name| name.to_string());
        names.chain(self.prefixes.iter().map(|prefix| format!("{prefix}*")))
    }

    /// The matching part of all names that begin with `prefix`: longer prefixes, and names.
    pub(crate) fn within(&self, prefix: &str) -> (Vec<String>, Vec<String>) {
        if self.prefixes.iter().any(|granted| prefix.starts_with(&**granted)) {
            return (vec![prefix.to_owned()], Vec::new());
        }
        let below = |all: &BTreeSet<Box<str>>| -> Vec<String> {
            all.iter().filter(|granted| granted.starts_with(prefix)).map(ToString::to_string).collect()
        };
        (below(&self.prefixes), below(&self.names))
    }
}

impl fmt::Display for Patterns {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.texts().collect::<Vec<_>>().join(" "))
    }
}

/// The grants of a key.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Grants {
    /// Topics whose records it may read.
    pub read: Patterns,
    /// Topics that it may append to.
    pub write: Patterns,
    /// Topics that it may create, delete, truncate, and change the settings of.
    pub admin: Patterns,
    /// Groups that it may be a member of, commit offsets for, describe and delete.
    pub groups: Patterns,
    /// Named producers and transactional ids.
    pub producers: Patterns,
    /// Whether it may see the broker's metrics, statistics and settings.
    pub monitor: bool,
}

/// A grant that a key doesn't have, as a message that says how to add it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Denied {
    #[error(
        "this key has no grant to {verb} topic {topic}: add a pattern that matches it to \"{list}\" of the key's entry \
         in the keys file", verb = verb(*operation), list = list(*operation)
    )]
    Topic { operation: Operation, topic: String },
    #[error(
        "this key has no grant for topic {topic}: add a pattern that matches it to \"read\", \"write\" or \"admin\" of \
         the key's entry in the keys file"
    )]
    NoOperation { topic: String },
    #[error(
        "this key has no grant to read any topic whose name begins with {prefix:?}: add a pattern to \"read\" of the \
         key's entry in the keys file"
    )]
    Prefix { prefix: String },
    #[error(
        "this key has no grant to write to any topic: add a pattern to \"write\" of the key's entry in the keys file"
    )]
    NoTopic,
    #[error(
        "this key has no grant for group {group}: add a pattern that matches it to \"groups\" of the key's entry in \
         the keys file"
    )]
    Group { group: String },
    #[error(
        "this key has no grant for producer {producer}: add a pattern that matches it to \"producers\" of the key's \
         entry in the keys file"
    )]
    Producer { producer: String },
    #[error("this key has no grant to monitor the broker: add \"monitor = true\" to the key's entry in the keys file")]
    Monitor,
}

impl Denied {
    /// The resource that it was denied for, for the audit log.
    pub fn target(&self) -> String {
        match self {
            Denied::Topic { topic: name, .. } | Denied::NoOperation { topic: name } => format!("topic {name}"),
            Denied::Prefix { prefix } => format!("topics {prefix}*"),
            Denied::NoTopic => "topics".to_owned(),
            Denied::Group { group } => format!("group {group}"),
            Denied::Producer { producer } => format!("producer {producer}"),
            Denied::Monitor => "broker".to_owned(),
        }
    }
}

fn verb(operation: Operation) -> &'static str {
    match operation {
        Operation::Read => "read",
        Operation::Write => "write to",
        Operation::Admin => "administer",
    }
}

fn list(operation: Operation) -> &'static str {
    match operation {
        Operation::Read => "read",
        Operation::Write => "write",
        Operation::Admin => "admin",
    }
}

/// A name from outside as messages show it: not longer than a topic's.
pub(crate) fn shown(name: &str) -> &str {
    name.get(..name.floor_char_boundary(SHOWN_BYTES_MAX)).unwrap_or(name)
}

impl Grants {
    /// Everything.
    pub fn all() -> Grants {
        let all = Patterns::all;
        Grants { read: all(), write: all(), admin: all(), groups: all(), producers: all(), monitor: true }
    }

    fn of(&self, operation: Operation) -> &Patterns {
        match operation {
            Operation::Read => &self.read,
            Operation::Write => &self.write,
            Operation::Admin => &self.admin,
        }
    }

    /// Whether an operation on a topic is granted.
    pub(crate) fn allows(&self, operation: Operation, topic: &str) -> bool {
        self.of(operation).matches(topic)
    }

    /// The same, as a result.
    pub(crate) fn topic(&self, operation: Operation, topic: &str) -> Result<(), Denied> {
        let denied = || Denied::Topic { operation, topic: shown(topic).to_owned() };
        if self.allows(operation, topic) { Ok(()) } else { Err(denied()) }
    }

    /// Whether any operation on a topic is granted: then it is listed and described.
    pub(crate) fn sees(&self, topic: &str) -> bool {
        [Operation::Read, Operation::Write, Operation::Admin].iter().any(|operation| self.allows(*operation, topic))
    }

    /// The topics that are seen.
    pub(crate) fn visible(&self) -> Visible {
        Visible::of([&self.read, &self.write, &self.admin].into_iter().flat_map(Patterns::texts))
    }

    /// The same, as a result.
    pub(crate) fn describe(&self, topic: &str) -> Result<(), Denied> {
        if self.sees(topic) { Ok(()) } else { Err(Denied::NoOperation { topic: shown(topic).to_owned() }) }
    }

    pub(crate) fn group(&self, group: &str) -> Result<(), Denied> {
        if self.groups.matches(group) { Ok(()) } else { Err(Denied::Group { group: shown(group).to_owned() }) }
    }

    pub(crate) fn producer(&self, name: &str) -> Result<(), Denied> {
        let denied = || Denied::Producer { producer: shown(name).to_owned() };
        if self.producers.matches(name) { Ok(()) } else { Err(denied()) }
    }

    /// Whether it may be any producer.
    pub(crate) fn is_every_producer(&self) -> bool {
        self.producers.is_everything()
    }

    pub(crate) fn monitor(&self) -> Result<(), Denied> {
        if self.monitor { Ok(()) } else { Err(Denied::Monitor) }
    }

    /// Whether it may append to some topic: then it gets a producer's id.
    pub(crate) fn write_somewhere(&self) -> Result<(), Denied> {
        if self.write.is_empty() { Err(Denied::NoTopic) } else { Ok(()) }
    }

    /// The readable part of all topics that begin with a prefix: prefixes, and names.
    pub(crate) fn readable(&self, prefix: &str) -> Result<(Vec<String>, Vec<String>), Denied> {
        let (prefixes, names) = self.read.within(prefix);
        if prefixes.is_empty() && names.is_empty() {
            return Err(Denied::Prefix { prefix: shown(prefix).to_owned() });
        }
        Ok((prefixes, names))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn patterns(texts: &[&str]) -> Patterns {
        Patterns::parse(texts.iter().copied()).unwrap()
    }

    #[test]
    fn patterns_match_names_and_prefixes() {
        let some = patterns(&["dns", "zeek.*"]);
        for name in ["dns", "zeek.", "zeek.conn"] {
            assert!(some.matches(name), "{name}");
        }
        for name in ["", "dn", "dns.1", "zeek", "DNS", "azeek.x"] {
            assert!(!some.matches(name), "{name}");
        }
        assert!(patterns(&["*"]).matches("anything") && Patterns::all().matches(""));
        assert!(!Patterns::default().matches("") && !Patterns::default().matches("a"));
        assert_eq!(some.to_string(), "dns zeek.*");
    }

    #[test]
    fn what_is_not_a_pattern_says_why() {
        let wrong = |texts: &[&str]| Patterns::parse(texts.iter().copied()).unwrap_err();
        assert_eq!(wrong(&["a", ""]), PatternInvalid::Empty);
        for text in ["a*b", "**", "*.log"] {
            assert_eq!(wrong(&[text]), PatternInvalid::Star(text.to_owned()));
        }
        let many: Vec<String> = (0..=PATTERNS_MAX).map(|number| number.to_string()).collect();
        assert_eq!(wrong(&many.iter().map(String::as_str).collect::<Vec<_>>()), PatternInvalid::TooMany(1001));
    }

    #[test]
    fn a_prefix_is_narrowed_to_what_is_granted() {
        let grants = Grants { read: patterns(&["dns", "zeek.*", "zebra"]), ..Grants::default() };
        let readable = |prefix: &str| {
            let (prefixes, names) = grants.readable(prefix).ok()?;
            Some((prefixes.join(" "), names.join(" ")))
        };
        let both = |prefixes: &str, names: &str| Some((prefixes.to_owned(), names.to_owned()));
        assert_eq!(readable(""), both("zeek.", "dns zebra"));
        assert_eq!(readable("ze"), both("zeek.", "zebra"));
        assert_eq!(readable("zeek.conn"), both("zeek.conn", ""));
        assert_eq!(readable("dns"), both("", "dns"));
        assert_eq!(readable("dns."), None);
        assert_eq!(Grants::default().readable(""), Err(Denied::Prefix { prefix: String::new() }));
    }

    #[test]
    fn each_operation_has_its_own_grant_and_any_shows_the_topic() {
        let grants = Grants {
            read: patterns(&["r"]),
            write: patterns(&["w"]),
            admin: patterns(&["a"]),
            groups: patterns(&["g*"]),
            ..Grants::default()
        };
        for (operation, own) in [(Operation::Read, "r"), (Operation::Write, "w"), (Operation::Admin, "a")] {
            for topic in ["r", "w", "a", "other"] {
                assert_eq!(grants.allows(operation, topic), topic == own, "{operation:?} {topic}");
                assert_eq!(grants.sees(topic), topic != "other");
                assert_eq!(grants.visible().has(topic), topic != "other");
            }
        }
        assert!(grants.group("g1").is_ok() && grants.group("h").is_err());
        assert!(grants.producer("p").is_err() && grants.monitor().is_err() && grants.write_somewhere().is_ok());
        let denied = grants.topic(Operation::Write, "r").unwrap_err();
        assert!(denied.to_string().starts_with("this key has no grant to write to topic r: add"), "{denied}");
        let long = grants.topic(Operation::Read, &"ü".repeat(1000)).unwrap_err();
        assert!(long.to_string().len() < 500, "{long}");
    }
}
