//! The position of a subscription, as text: `T0;TOPIC~ID/PARTITION=NEXT,PARTITION=NEXT;TOPIC~ID/PARTITION=NEXT`.

use std::collections::BTreeMap;
use std::fmt::{self, Display, Formatter};
use std::str::FromStr;

/// Maximum length of a cursor in bytes: it travels in the head of a request.
pub const CURSOR_BYTES_MAX: usize = 32 << 10;

/// The position of a subscription.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Cursor {
    /// A partition that isn't listed is at its first record appended after this time, in microseconds since the Unix
    /// epoch.
    pub after_us: u64,
    /// The topics in which partitions are listed.
    pub topics: BTreeMap<String, InTopic>,
}

/// The position of a subscription in a topic.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct InTopic {
    /// Tells the topic apart from others that had its name, or will have it; `None` if that isn't known.
    pub id: Option<ShortId>,
    /// By partition, the offset of the next record.
    pub positions: BTreeMap<u32, u64>,
}

/// A part of a topic's id: eight hexadecimal digits as text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShortId(pub u32);

/// A text that isn't a cursor.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CursorError {
    /// Longer than [`CURSOR_BYTES_MAX`].
    #[error("the cursor has {bytes} bytes; at most {CURSOR_BYTES_MAX}")]
    TooLong {
        /// Its length.
        bytes: usize,
    },
    /// It doesn't have the form of one.
    #[error(
        "{part:?} isn't a part of a cursor; use one that the broker sent, such as 1764000000000000;dns~5f3c02aa/0=17"
    )]
    Form {
        /// The invalid part.
        part: String,
    },
}

impl Cursor {
    /// Sets the offset of the next record in a partition.
    pub fn set(&mut self, topic: &str, partition: u32, next_offset: u64) {
        self.topic(topic).positions.insert(partition, next_offset);
    }

    /// The topic of this name has this id. If it had another one, that was another topic: its positions are forgotten.
    pub fn identify(&mut self, topic: &str, id: ShortId) {
        let known = self.topic(topic);
        if known.id.replace(id).is_some_and(|before| before != id) {
            known.positions.clear();
        }
    }

    /// The offset of the next record in a partition, if it is listed.
    pub fn next_offset(&self, topic: &str, partition: u32) -> Option<u64> {
        self.topics.get(topic)?.positions.get(&partition).copied()
    }

    /// Forgets a topic that was deleted.
    pub fn remove(&mut self, topic: &str) {
        self.topics.remove(topic);
    }

    fn topic(&mut self, topic: &str) -> &mut InTopic {
        if !self.topics.contains_key(topic) {
            self.topics.insert(topic.to_owned(), InTopic::default());
        }
        let Some(known) = self.topics.get_mut(topic) else { unreachable!("{topic} was inserted") };
        known
    }
}

impl Display for ShortId {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:08x}", self.0)
    }
}

impl FromStr for ShortId {
    type Err = CursorError;

    fn from_str(text: &str) -> Result<ShortId, CursorError> {
        let is_form = text.len() == 8 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        let parsed = is_form.then(|| u32::from_str_radix(text, 16).ok()).flatten();
        parsed.map(ShortId).ok_or_else(|| wrong(text))
    }
}

impl Display for Cursor {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.after_us)?;
        for (topic, InTopic { id, positions }) in &self.topics {
            let mut separator = match id {
                Some(id) => format!(";{topic}~{id}/"),
                None => format!(";{topic}/"),
            };
            for (partition, next_offset) in positions {
                write!(formatter, "{separator}{partition}={next_offset}")?;
                separator.clear();
                separator.push(',');
            }
        }
        Ok(())
    }
}

impl FromStr for Cursor {
    type Err = CursorError;

    fn from_str(text: &str) -> Result<Cursor, CursorError> {
        if text.len() > CURSOR_BYTES_MAX {
            return Err(CursorError::TooLong { bytes: text.len() });
        }
        let mut parts = text.split(';');
        let first = parts.next().unwrap_or_default();
        let mut cursor = Cursor { after_us: number(first).ok_or_else(|| wrong(first))?, ..Cursor::default() };
        for part in parts {
            let (topic, positions) =
                part.split_once('/').filter(|(topic, _)| !topic.is_empty()).ok_or_else(|| wrong(part))?;
            let (topic, id) = match topic.split_once('~') {
                Some((topic, id)) if !topic.is_empty() => (topic, Some(id.parse().map_err(|_| wrong(part))?)),
                Some(_) => return Err(wrong(part)),
                None => (topic, None),
            };
            if let Some(id) = id {
                cursor.identify(topic, id);
            }
            for position in positions.split(',') {
                let parsed =
                    position.split_once('=').and_then(|(partition, next)| Some((number(partition)?, number(next)?)));
                let (partition, next_offset) = parsed.ok_or_else(|| wrong(part))?;
                cursor.set(topic, partition, next_offset);
            }
        }
        Ok(cursor)
    }
}

/// Digits only: the library would take a sign.
fn number<N: FromStr>(text: &str) -> Option<N> {
    let is_plain = text.bytes().all(|byte| byte.is_ascii_digit());
    if is_plain { text.parse().ok() } else { None }
}

fn wrong(part: &str) -> CursorError {
    CursorError::Form { part: part.chars().take(100).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_is_what_it_was() {
        let text = "1764000000000000;dns/0=17,1=29;http/0=3";
        let mut cursor: Cursor = text.parse().unwrap();
        assert_eq!((cursor.after_us, cursor.next_offset("dns", 1)), (1_764_000_000_000_000, Some(29)));
        assert_eq!(cursor.to_string(), text);
        cursor.set("a.b-c_d", 4, u64::MAX);
        cursor.remove("http");
        assert_eq!(cursor.to_string(), "1764000000000000;a.b-c_d/4=18446744073709551615;dns/0=17,1=29");
        assert_eq!(cursor.to_string().parse(), Ok(cursor));
        assert_eq!("0".parse(), Ok(Cursor::default()));
    }

    #[test]
    fn topics_with_the_same_name_are_distinguished_by_id() {
        let text = "5;dns~00c0ffee/0=17,1=29;http/0=3";
        let mut cursor: Cursor = text.parse().unwrap();
        assert_eq!((cursor.topics["dns"].id, cursor.topics["http"].id), (Some(ShortId(0xc0_ffee)), None));
        assert_eq!(cursor.to_string(), text);
        cursor.identify("dns", ShortId(0xc0_ffee));
        cursor.identify("http", ShortId(1));
        assert_eq!(cursor.to_string(), "5;dns~00c0ffee/0=17,1=29;http~00000001/0=3");
        cursor.identify("dns", ShortId(2));
        assert_eq!(cursor.next_offset("dns", 0), None);
        // Without a position there is nothing to say of a topic.
        assert_eq!(cursor.to_string(), "5;http~00000001/0=3");
        cursor.set("dns", 0, 1);
        assert_eq!(cursor.to_string(), "5;dns~00000002/0=1;http~00000001/0=3");
    }

    #[test]
    fn other_texts_are_refused() {
        for wrong in [
            "",
            "x",
            "-1",
            "+1",
            "1;",
            "1;dns",
            "1;dns/",
            "1;dns/0",
            "1;dns/0=",
            "1;dns/=1",
            "1;dns/0=1,",
            "1;/0=1",
            "1;dns/4294967296=1",
            "1;dns/0=18446744073709551616",
            "18446744073709551616",
            "1;dns/0=-1",
            "1;dns/0=1;",
            "1;dns~/0=1",
            "1;~00000001/0=1",
            "1;dns~1/0=1",
            "1;dns~0000000G/0=1",
            "1;dns~0000000A/0=1",
            "1;dns~+0000001/0=1",
            "1;dns~000000001/0=1",
            "1;dns~00000001~00000001/0=1",
        ] {
            assert!(matches!(wrong.parse::<Cursor>(), Err(CursorError::Form { .. })), "{wrong:?}");
        }
        let long = "1".repeat(CURSOR_BYTES_MAX + 1);
        assert_eq!(long.parse::<Cursor>(), Err(CursorError::TooLong { bytes: long.len() }));
    }
}
