//! The topics that a member's client may see: a regular expression matches no others.

use std::collections::BTreeSet;

/// Names of topics, and what names begin with.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Visible {
    names: BTreeSet<Box<str>>,
    prefixes: BTreeSet<Box<str>>,
}

impl Visible {
    /// All topics.
    pub fn all() -> Visible {
        Visible::of(["*"])
    }

    /// The topics with these names; a `*` at the end matches all with this prefix.
    pub fn of<T: AsRef<str>>(patterns: impl IntoIterator<Item = T>) -> Visible {
        let mut visible = Visible::default();
        for pattern in patterns {
            match pattern.as_ref().strip_suffix('*') {
                Some(prefix) => visible.prefixes.insert(prefix.into()),
                None => visible.names.insert(pattern.as_ref().into()),
            };
        }
        visible
    }

    /// The names and beginnings of which this was made.
    pub fn patterns(&self) -> impl Iterator<Item = String> {
        let names = self.names.iter().map(|name| name.to_string());
        names.chain(self.prefixes.iter().map(|prefix| format!("{prefix}*")))
    }

    /// Whether a topic with this name is among them.
    pub fn has(&self, topic: &str) -> bool {
        self.names.contains(topic) || self.prefixes.iter().any(|prefix| topic.starts_with(&**prefix))
    }
}
