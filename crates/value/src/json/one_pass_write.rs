//! Writes a value as plain JSON in one pass that also checks it.
//!
//! It writes common values only. Those with anything else are written by `plain`, which also reports errors: tables
//! whose keys aren't all strings, deep values, and whatever breaks a rule of the format.

use super::buffer::{Buffer, WORD_BYTES, first_word, verbatim_bytes};
use super::plain::{write_scalar, write_text};
use super::text::DayText;
use crate::item::{Item, ItemReader};
use crate::{Kind, Limits};

/// Maximum size of a value in bytes: longer ones don't need the speed.
const BYTES_MAX: usize = 64 << 10;

/// Bytes of text for each byte of a value: a none becomes `null,`.
const TEXT_BYTES_PER_BYTE: usize = 6;

/// Maximum nesting; deeper values are rare.
const DEPTH_MAX: usize = 16;

/// Memory that is reused from value to value.
#[derive(Debug, Clone, Default)]
pub(super) struct OnePassWriter {
    text: Buffer,
    day: DayText,
}

/// A value's text.
pub(super) struct Written<'a> {
    pub(super) text: &'a [u8],
    /// Whether its sets and tables are known to have no duplicates.
    pub(super) is_unique: bool,
}

impl OnePassWriter {
    /// The text of the value. `None` if it isn't in the form that is written here.
    pub(super) fn write(&mut self, value: &[u8]) -> Option<Written<'_>> {
        if value.len() > BYTES_MAX {
            return None;
        }
        self.text.begin(value.len() * TEXT_BYTES_PER_BYTE);
        let items = ItemReader::new(value, &Limits::default()).ok()?;
        let mut writer = Writer { items, memory: self, is_unique: true };
        writer.value(1)?;
        writer.items.finish().ok()?;
        let is_unique = writer.is_unique;
        Some(Written { text: self.text.written(0)?, is_unique })
    }
}

/// Writes one value. Every function returns `None` if the value has another form.
struct Writer<'a> {
    items: ItemReader<'a>,
    memory: &'a mut OnePassWriter,
    is_unique: bool,
}

impl<'a> Writer<'a> {
    fn value(&mut self, depth: usize) -> Option<()> {
        (depth <= DEPTH_MAX).then_some(())?;
        if let Some(tag) = self.items.rest().first()
            && (*tag == Kind::String as u8 || *tag == Kind::Enum as u8)
        {
            self.items.reader.byte().ok()?;
            let (text, bytes) = self.string()?;
            return self.memory.text.put_text(text, bytes);
        }
        let OnePassWriter { text, day } = &mut *self.memory;
        match self.items.item().ok()? {
            Item::Count(count) => text.put_count(count),
            Item::Timestamp(time) => {
                text.put(b"\"")?;
                text.put(day.rfc3339(time))?;
                text.put(b"\"")
            }
            Item::Vector(elements) => self.array(elements, depth),
            Item::Set(elements) => {
                self.is_unique &= elements <= 1;
                self.array(elements, depth)
            }
            Item::Table(pairs) => self.object(pairs, depth),
            scalar => write_scalar(scalar, text).ok(),
        }
    }

    fn array(&mut self, elements: usize, depth: usize) -> Option<()> {
        self.memory.text.put(b"[")?;
        for index in 0..elements {
            if index > 0 {
                self.memory.text.put(b",")?;
            }
            self.value(depth + 1)?;
        }
        self.memory.text.put(b"]")
    }

    fn object(&mut self, pairs: usize, depth: usize) -> Option<()> {
        self.memory.text.put(b"{")?;
        let mut before: (u64, &[u8]) = (0, &[]);
        for index in 0..pairs {
            if index > 0 {
                self.memory.text.put(b",")?;
            }
            let is_string = self.items.reader.byte().ok()? == Kind::String as u8;
            is_string.then_some(())?;
            let (name, bytes) = self.string()?;
            let key = (first_word(name, bytes), name);
            // Most differ in their first bytes, which saves a call.
            self.is_unique &= index == 0 || before.0 < key.0 || before.0 == key.0 && before.1 < key.1;
            before = key;
            let begin = self.memory.text.len();
            self.memory.text.put_text(name, bytes)?;
            // Replaced characters could make two keys equal.
            let is_verbatim = self.memory.text.len() - begin == name.len() + 2;
            (is_verbatim || str::from_utf8(name).is_ok()).then_some(())?;
            self.memory.text.put(b":")?;
            self.value(depth + 1)?;
        }
        self.memory.text.put(b"}")
    }

    /// The string after its tag; and the bytes from its first on, with those after it.
    #[inline]
    fn string(&mut self) -> Option<(&'a [u8], &'a [u8])> {
        let size = self.items.reader.size().ok()?;
        let bytes = self.items.rest();
        Some((self.items.reader.take(size).ok()?, bytes))
    }
}

impl Buffer {
    /// Appends a text as [`write_text`] writes it. It is at the beginning of `bytes`.
    #[inline]
    fn put_text(&mut self, text: &[u8], bytes: &[u8]) -> Option<()> {
        let begin = self.len();
        self.put(b"\"")?;
        let mut words = bytes.as_chunks::<WORD_BYTES>().0.iter();
        let mut left = text.len();
        while left > 0 {
            let Some(word) = words.next() else { break };
            let verbatim = verbatim_bytes(word).min(left);
            self.put_first(word, verbatim)?;
            left -= verbatim;
            if verbatim < WORD_BYTES {
                break;
            }
        }
        if left > 0 {
            // It is at the end of all bytes, or has bytes that JSON doesn't have as they are.
            self.truncate(begin);
            return write_text(text, self).ok();
        }
        self.put(b"\"")
    }

    /// Appends the digits of a number.
    #[inline]
    fn put_count(&mut self, count: u64) -> Option<()> {
        if count < 10 {
            return self.put(&[b'0' + count as u8]);
        }
        write_scalar(Item::Count(count), self).ok()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::{plain, typed};
    use super::*;
    use crate::Decoder;

    /// Whether the value is written in one pass. Its text is the same as the general writer's.
    fn is_written(value: &[u8]) -> bool {
        let mut one_pass = OnePassWriter::default();
        // The second time, the day is known.
        for _ in 0..2 {
            let Some(Written { text, is_unique }) = one_pass.write(value) else { return false };
            let mut general = Vec::new();
            plain::write(value, &mut general).unwrap();
            assert_eq!(String::from_utf8_lossy(text), String::from_utf8_lossy(&general));
            assert!(!is_unique || Decoder::default().decode(value).is_ok(), "{text:?}");
        }
        true
    }

    fn value_of(typed_json: &str) -> Vec<u8> {
        let mut value = Vec::new();
        typed::read(typed_json.as_bytes(), &mut value).unwrap();
        value
    }

    /// Values of all types; plain JSON may lack some of them.
    fn values() -> Vec<Vec<u8>> {
        let scalars = [
            ("none", "{}"),
            ("boolean", "true"),
            ("boolean", "false"),
            ("count", "0"),
            ("count", "9"),
            ("count", "10"),
            ("count", "18446744073709551615"),
            ("integer", "-9223372036854775808"),
            ("integer", "7"),
            ("real", "0.1"),
            ("real", "1e300"),
            ("string", "\"\""),
            ("string", "\"abcdefg\""),
            ("string", "\"abcdefgh\""),
            ("string", "\"abcdefghabcdefghabcdefghi\""),
            ("string", "\"a\\\"b\\\\c\\u0000 ü€\""),
            ("enum-value", "\"udp\""),
            ("address", "\"10.0.200.1\""),
            ("address", "\"fe80::1\""),
            ("subnet", "\"10.0.0.0/8\""),
            ("port", "\"53/udp\""),
            ("timestamp", "\"2018-03-24T17:15:20.865716123\""),
            ("timestamp", "\"2018-03-24T00:00:00.000\""),
            ("timestamp", "\"1969-12-31T23:59:59.999999999\""),
            ("timestamp", "\"1677-09-21T00:12:43.145224193\""),
            ("timespan", "\"1500ms\""),
        ];
        let scalar = |(kind, data): (&str, &str)| format!("{{\"@data-type\":\"{kind}\",\"data\":{data}}}");
        let scalars: Vec<String> = scalars.into_iter().map(scalar).collect();
        let vector = format!("{{\"@data-type\":\"vector\",\"data\":[{}]}}", scalars.join(","));
        let set = format!("{{\"@data-type\":\"set\",\"data\":[{}]}}", scalars.join(","));
        let table = |names: &[&str], value: &str| {
            let pair = |name: &&str| format!("{{\"key\":{},\"value\":{value}}}", scalar(("string", name)));
            let pairs: Vec<String> = names.iter().map(pair).collect();
            format!("{{\"@data-type\":\"table\",\"data\":[{}]}}", pairs.join(","))
        };
        let ascending = table(&["\"\"", "\"a\"", "\"abcdefgh\"", "\"abcdefghi\"", "\"ü\\n\""], &vector);
        let nested = table(&["\"b\"", "\"a\""], &ascending);
        let other = [vector.as_str(), &set, &ascending, &nested, "{\"@data-type\":\"vector\",\"data\":[]}"];
        scalars.iter().map(String::as_str).chain(other).map(value_of).collect()
    }

    #[test]
    fn texts_are_those_of_the_general_way() {
        for value in values() {
            assert!(is_written(&value), "{value:?}");
        }
    }

    #[test]
    fn other_tables_and_long_values_are_left_to_the_general_way() {
        let key = "{\"@data-type\":\"count\",\"data\":1}";
        let pair = format!("{{\"key\":{key},\"value\":{key}}}");
        assert!(!is_written(&value_of(&format!("{{\"@data-type\":\"table\",\"data\":[{pair}]}}"))));
        // A table with a name that isn't UTF-8.
        assert!(!is_written(&[Kind::Table as u8, 1, Kind::String as u8, 1, 0xff, Kind::None as u8]));
        let deep = |depth: usize| {
            let mut value = [Kind::Vector as u8, 1].repeat(depth);
            value.push(Kind::None as u8);
            value
        };
        assert!(is_written(&deep(DEPTH_MAX - 1)) && !is_written(&deep(DEPTH_MAX)));
        let long =
            |bytes: usize| value_of(&format!("{{\"@data-type\":\"string\",\"data\":\"{}\"}}", "x".repeat(bytes)));
        assert!(is_written(&long(BYTES_MAX - 4)) && !is_written(&long(BYTES_MAX)));
    }

    /// Duplicates aren't looked for where the order doesn't exclude them.
    #[test]
    fn only_ascending_tables_are_known_to_be_unique() {
        let table = |names: &[&str]| {
            let mut value = vec![Kind::Table as u8, names.len() as u8];
            for name in names {
                value.extend_from_slice(&[Kind::String as u8, name.len() as u8]);
                value.extend_from_slice(name.as_bytes());
                value.push(Kind::None as u8);
            }
            value
        };
        for (names, is_unique) in [
            (&["a", "b"][..], true),
            (&["", "a", "a\0", "abcdefgh", "abcdefghi"], true),
            (&["abcdefghi", "abcdefgh"], false),
            (&["a", "a"], false),
            (&["", ""], false),
            (&["b", "a"], false),
        ] {
            let (mut one_pass, value) = (OnePassWriter::default(), table(names));
            assert_eq!(one_pass.write(&value).unwrap().is_unique, is_unique, "{names:?}");
        }
        let set = [Kind::Set as u8, 2, Kind::None as u8, Kind::None as u8];
        assert!(!OnePassWriter::default().write(&set).unwrap().is_unique);
    }

    /// Bytes that differ from values in a few places.
    #[test]
    fn what_breaks_a_rule_is_left_to_the_general_way() {
        let values = values();
        let mut written = 0;
        for value in &values {
            // Every byte of short values, and some of the long ones.
            for at in (0..value.len()).step_by(1 + value.len() / 200) {
                for byte in [0, 1, 5, 13, 14, 15, 0x7f, 0x80, 0xff] {
                    let mut changed = value.clone();
                    changed[at] = byte;
                    written += u32::from(is_written(&changed));
                }
                assert!(!is_written(&value[..at]), "{at} bytes of {value:?}");
            }
        }
        assert!(written > 1000, "{written}");
    }
}
