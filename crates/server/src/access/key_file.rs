//! The text of a keys file: TOML with a table for each key. An error has the line and says what to do.

use super::grants::{Grants, Patterns, shown};
use super::hashes::{Hashes, RANDOM_BYTES, Salted};
use super::limits::{KEYS_MAX, NAME_BYTES_MAX};
use super::quota::QuotaLimits;
use super::scram::{Credential, Hash};
use std::collections::BTreeSet;
use std::num::NonZeroU64;
use std::ops::Range;
use std::sync::Arc;
use toml_edit::{Array, ArrayOfTables, Document, DocumentMut, Item, Table, Value, value};

/// The name of the tables.
const KEY: &str = "key";

/// The beginning of a new file.
const COMMENT: &str = "# Keys of a Rawline broker, and what they may do. `rawline key add` adds one.\n";

/// The fields of a key.
const FIELDS: [&str; 13] = [
    "name",
    "sha_256",
    "scram_sha_256",
    "scram_sha_512",
    "read",
    "write",
    "admin",
    "groups",
    "producers",
    "monitor",
    "bytes_in_per_second",
    "bytes_out_per_second",
    "connections",
];

/// One key of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyEntry {
    /// Its name, which is unique.
    pub name: Arc<str>,
    pub(super) hashes: Hashes,
    /// Its grants.
    pub grants: Grants,
    /// How much it may do at once.
    pub quota: QuotaLimits,
}

/// An error in a file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {message}")]
pub struct KeyFileError {
    /// The line, from 1 on.
    pub line: usize,
    /// The error, and what to do. It has no part of a hash.
    pub message: String,
}

/// Why a requested change is impossible.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Change {
    /// The file already has an error.
    #[error(transparent)]
    File(#[from] KeyFileError),
    /// Names are unique.
    #[error("there is a key {0:?} already; choose another name, or remove that key first")]
    Exists(String),
    /// Nothing to remove.
    #[error("there is no key {0:?}; list the keys")]
    NotFound(String),
    /// Not a name.
    #[error("{0:?} can't be a key's name; use 1 to {NAME_BYTES_MAX} letters, digits, '-', '_' and '.'")]
    Name(String),
    /// As many as there may be.
    #[error("the file has the maximum number of keys, {KEYS_MAX}; remove some")]
    TooMany,
}

/// The keys of a file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KeyFile {
    /// In the order of the file.
    pub keys: Vec<KeyEntry>,
}

impl KeyEntry {
    /// A new key, and its entry.
    pub fn generate(name: &str, grants: Grants, quota: QuotaLimits) -> Result<(String, KeyEntry), Change> {
        if !is_name(name) {
            return Err(Change::Name(shown(name).to_owned()));
        }
        let (key, hashes) = Hashes::generate(name, &random());
        Ok((key, KeyEntry { name: name.into(), hashes, grants, quota }))
    }

    fn table(&self) -> Table {
        let mut table = Table::new();
        let Hashes { sha_256, scram_sha_256, scram_sha_512 } = &self.hashes;
        table.insert("name", value(&*self.name));
        table.insert("sha_256", value(sha_256.to_string()));
        for (name, credential) in [("scram_sha_256", scram_sha_256), ("scram_sha_512", scram_sha_512)] {
            if let Some(credential) = credential {
                table.insert(name, value(credential.to_string()));
            }
        }
        let Grants { read, write, admin, groups, producers, monitor } = &self.grants;
        for (name, patterns) in
            [("read", read), ("write", write), ("admin", admin), ("groups", groups), ("producers", producers)]
        {
            if !patterns.is_empty() {
                table.insert(name, value(patterns.texts().collect::<Array>()));
            }
        }
        if *monitor {
            table.insert("monitor", value(true));
        }
        let QuotaLimits { bytes_in_per_second, bytes_out_per_second, connections } = self.quota;
        let rate = |rate: Option<NonZeroU64>| rate.map(|rate| i64::try_from(rate.get()).unwrap_or(i64::MAX));
        for (name, number) in [
            ("bytes_in_per_second", rate(bytes_in_per_second)),
            ("bytes_out_per_second", rate(bytes_out_per_second)),
            ("connections", connections.map(i64::from)),
        ] {
            if let Some(number) = number {
                table.insert(name, value(number));
            }
        }
        table
    }
}

/// Unpredictable bytes.
#[expect(clippy::disallowed_methods, reason = "a key's secret and its salts")]
fn random() -> [u8; RANDOM_BYTES] {
    rand::random()
}

fn is_name(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    !name.is_empty() && name.len() <= NAME_BYTES_MAX && name.bytes().all(plain)
}

impl KeyFile {
    /// Reads a file's text.
    pub fn parse(text: &str) -> Result<KeyFile, KeyFileError> {
        let document = Document::parse(text.to_owned()).map_err(|error| {
            let message = format!("this is not TOML: {}", error.message());
            error_at(text, error.span(), message)
        })?;
        let reader = Reader { text };
        for (name, item) in document.iter() {
            if name != KEY {
                let span = document.key(name).and_then(toml_edit::Key::span).or_else(|| item.span());
                let message = format!("unknown name {:?}; a keys file has tables [[{KEY}]] only", shown(name));
                return Err(reader.error(span, message));
            }
        }
        let Some(item) = document.get(KEY) else { return Ok(KeyFile::default()) };
        let Some(tables) = item.as_array_of_tables() else {
            let span = document.key(KEY).and_then(toml_edit::Key::span).or_else(|| item.span());
            let message = format!("{KEY} has another form; begin each key with a line [[{KEY}]]");
            return Err(reader.error(span, message));
        };
        let (mut keys, mut names) = (Vec::with_capacity(tables.len()), BTreeSet::new());
        for table in tables {
            if keys.len() == KEYS_MAX {
                return Err(reader.error(table.span(), format!("more than {KEYS_MAX} keys; remove some")));
            }
            let entry = reader.entry(table)?;
            if !names.insert(entry.name.clone()) {
                let message = format!("a second key {:?}; each key has its own name", entry.name);
                return Err(reader.error(span_of(table, "name"), message));
            }
            keys.push(entry);
        }
        Ok(KeyFile { keys })
    }

    /// The text of a file with an additional key; the rest of it is unchanged.
    pub fn add(text: &str, entry: &KeyEntry) -> Result<String, Change> {
        let file = KeyFile::parse(text)?;
        if file.keys.iter().any(|key| key.name == entry.name) {
            return Err(Change::Exists(entry.name.to_string()));
        }
        if file.keys.len() == KEYS_MAX {
            return Err(Change::TooMany);
        }
        let (mut document, front) = (editable(text)?, if text.trim().is_empty() { COMMENT } else { "" });
        let tables = document.entry(KEY).or_insert_with(|| Item::ArrayOfTables(ArrayOfTables::new()));
        let Some(tables) = tables.as_array_of_tables_mut() else { unreachable!("the file was checked") };
        let mut table = entry.table();
        table.decor_mut().set_prefix("\n");
        tables.push(table);
        let added = format!("{front}{document}");
        match KeyFile::parse(&added) {
            Ok(now) if now.keys.last() == Some(entry) && now.keys.len() == file.keys.len() + 1 => Ok(added),
            wrong => unreachable!("the file with the key is {:?}", wrong.map(|file| file.keys.len())),
        }
    }

    /// The text of a file without a key.
    pub fn remove(text: &str, name: &str) -> Result<String, Change> {
        let file = KeyFile::parse(text)?;
        let not_found = || Change::NotFound(shown(name).to_owned());
        let index = file.keys.iter().position(|key| *key.name == *name).ok_or_else(not_found)?;
        let mut document = editable(text)?;
        let Some(tables) = document.get_mut(KEY).and_then(Item::as_array_of_tables_mut) else {
            unreachable!("the file was checked")
        };
        tables.remove(index);
        Ok(document.to_string())
    }
}

fn editable(text: &str) -> Result<DocumentMut, KeyFileError> {
    Ok(Document::parse(text.to_owned())
        .map_err(|error| error_at(text, error.span(), error.message().to_owned()))?
        .into_mut())
}

fn error_at(text: &str, span: Option<Range<usize>>, message: String) -> KeyFileError {
    let start = span.map_or(0, |span| span.start).min(text.len());
    let line = 1 + text.bytes().take(start).filter(|byte| *byte == b'\n').count();
    KeyFileError { line, message }
}

fn span_of(table: &Table, name: &str) -> Option<Range<usize>> {
    table.key(name).and_then(toml_edit::Key::span).or_else(|| table.span())
}

/// Reads the tables of a text.
struct Reader<'a> {
    text: &'a str,
}

impl Reader<'_> {
    fn error(&self, span: Option<Range<usize>>, message: String) -> KeyFileError {
        error_at(self.text, span, message)
    }

    fn entry(&self, table: &Table) -> Result<KeyEntry, KeyFileError> {
        if let Some((name, _)) = table.iter().find(|(name, _)| !FIELDS.contains(name)) {
            let message = format!("unknown field {:?}; a key has {}", shown(name), FIELDS.join(", "));
            return Err(self.error(span_of(table, name), message));
        }
        let name = self.name(table)?;
        let hash = table.get("sha_256").and_then(Item::as_str).and_then(Salted::read);
        let sha_256 = hash.ok_or_else(|| {
            let message = format!(
                "key {name:?} has no valid sha_256, which is made with the key and not from it by hand; remove the \
                 entry, and add the key again with rawline key add"
            );
            self.error(span_of(table, "sha_256"), message)
        })?;
        let hashes = Hashes {
            sha_256,
            scram_sha_256: self.credential(table, "scram_sha_256", Hash::Sha256)?,
            scram_sha_512: self.credential(table, "scram_sha_512", Hash::Sha512)?,
        };
        let grants = Grants {
            read: self.patterns(table, "read")?,
            write: self.patterns(table, "write")?,
            admin: self.patterns(table, "admin")?,
            groups: self.patterns(table, "groups")?,
            producers: self.patterns(table, "producers")?,
            monitor: self.switch(table, "monitor")?,
        };
        let rate = |name| Ok(self.number(table, name)?.and_then(NonZeroU64::new));
        let quota = QuotaLimits {
            bytes_in_per_second: rate("bytes_in_per_second")?,
            bytes_out_per_second: rate("bytes_out_per_second")?,
            connections: self.number(table, "connections")?.map(|count| u32::try_from(count).unwrap_or(u32::MAX)),
        };
        Ok(KeyEntry { name: name.into(), hashes, grants, quota })
    }

    fn name<'t>(&self, table: &'t Table) -> Result<&'t str, KeyFileError> {
        match table.get("name").map(Item::as_str) {
            Some(Some(name)) if is_name(name) => Ok(name),
            Some(_) => {
                let message = format!(
                    "a key's name is a text of 1 to {NAME_BYTES_MAX} letters, digits, '-', '_' and '.'; change it, and \
                     add the key again, because its name is a part of it"
                );
                Err(self.error(span_of(table, "name"), message))
            }
            None => Err(self.error(table.span(), "a key has no name; add name = \"NAME\"".to_owned())),
        }
    }

    fn credential(&self, table: &Table, name: &str, hash: Hash) -> Result<Option<Arc<Credential>>, KeyFileError> {
        let Some(item) = table.get(name) else { return Ok(None) };
        let credential = item.as_str().and_then(|text| text.parse::<Credential>().ok());
        match credential.filter(|credential| credential.is_of(hash)) {
            Some(credential) => Ok(Some(Arc::new(credential))),
            None => {
                let message = format!(
                    "{name} is damaged; add the key again with rawline key add, or remove the line if no client of \
                     Kafka's uses SCRAM with this key"
                );
                Err(self.error(span_of(table, name), message))
            }
        }
    }

    fn patterns(&self, table: &Table, name: &str) -> Result<Patterns, KeyFileError> {
        let Some(item) = table.get(name) else { return Ok(Patterns::default()) };
        let texts = item.as_array().and_then(|array| array.iter().map(Value::as_str).collect::<Option<Vec<_>>>());
        let Some(texts) = texts else {
            let message =
                format!("{name} has another form; use a list of names and prefixes, such as [\"dns\", \"zeek.*\"]");
            return Err(self.error(span_of(table, name), message));
        };
        Patterns::parse(texts).map_err(|invalid| self.error(span_of(table, name), format!("{name}: {invalid}")))
    }

    fn switch(&self, table: &Table, name: &str) -> Result<bool, KeyFileError> {
        match table.get(name).map(Item::as_bool) {
            None => Ok(false),
            Some(Some(is_on)) => Ok(is_on),
            Some(None) => Err(self.error(span_of(table, name), format!("{name} is neither true nor false"))),
        }
    }

    fn number(&self, table: &Table, name: &str) -> Result<Option<u64>, KeyFileError> {
        let Some(item) = table.get(name) else { return Ok(None) };
        match item.as_integer().and_then(|number| u64::try_from(number).ok()).filter(|number| *number > 0) {
            Some(number) => Ok(Some(number)),
            None => {
                let message =
                    format!("{name} is not a whole number of 1 or more; leave the line out if there is no limit");
                Err(self.error(span_of(table, name), message))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(name: &str) -> KeyEntry {
        let (_, hashes) = Hashes::generate(name, &[3; RANDOM_BYTES]);
        let patterns = |texts: &[&str]| Patterns::parse(texts.iter().copied()).unwrap();
        let grants = Grants {
            read: patterns(&["*"]),
            write: patterns(&["dns", "zeek.*"]),
            groups: patterns(&["dash \"1\"*"]),
            monitor: true,
            ..Grants::default()
        };
        let quota = QuotaLimits {
            bytes_in_per_second: NonZeroU64::new(10 << 20),
            bytes_out_per_second: None,
            connections: Some(5),
        };
        KeyEntry { name: name.into(), hashes, grants, quota }
    }

    #[test]
    fn keys_are_added_and_removed_and_the_rest_stays() {
        let one = KeyFile::add("", &entry("one")).unwrap();
        assert!(one.starts_with(COMMENT) && one.contains("\n\n[[key]]\nname = \"one\"\n"), "{one}");
        let mine = one.replace("read = [\"*\"]", "# All of them.\nread = [ '*' ]  # really");
        let two = KeyFile::add(&mine, &entry("two")).unwrap();
        assert!(two.starts_with(&mine), "{two}");
        assert_eq!(KeyFile::parse(&two).unwrap().keys, [entry("one"), entry("two")]);
        assert_eq!(KeyFile::remove(&two, "two").unwrap(), mine);
        let rest = KeyFile::remove(&two, "one").unwrap();
        assert_eq!(KeyFile::parse(&rest).unwrap().keys, [entry("two")]);
        assert_eq!(KeyFile::remove(&two, "three"), Err(Change::NotFound("three".into())));
        assert_eq!(KeyFile::add(&two, &entry("two")), Err(Change::Exists("two".into())));
        assert_eq!(KeyFile::parse("# nothing\n").unwrap(), KeyFile::default());
    }

    #[test]
    fn a_generated_key_is_new_each_time() {
        let (one, first) = KeyEntry::generate("n", Grants::all(), QuotaLimits::default()).unwrap();
        let (other, second) = KeyEntry::generate("n", Grants::all(), QuotaLimits::default()).unwrap();
        assert!(one != other && first.hashes != second.hashes);
        for wrong in ["", "ü", "a b", "a/b", &"n".repeat(NAME_BYTES_MAX + 1)] {
            assert!(matches!(KeyEntry::generate(wrong, Grants::all(), QuotaLimits::default()), Err(Change::Name(_))));
        }
    }

    #[test]
    fn every_mistake_has_its_line_and_says_what_to_do() {
        let good = KeyFile::add("", &entry("one")).unwrap();
        let two = KeyFile::add(&good, &entry("two")).unwrap();
        let change = |from: &str, to: &str| {
            assert!(good.contains(from), "{from} is not in {good}");
            good.replacen(from, to, 1)
        };
        let hash = entry("one").hashes.sha_256.to_string();
        let scram = entry("one").hashes.scram_sha_256.unwrap().to_string();
        let cases = [
            ("[[key]\n".to_owned(), 1, "this is not TOML"),
            ("\n\nkey = 1\n".to_owned(), 3, "begin each key with a line [[key]]"),
            ("[key]\nname = \"a\"\n".to_owned(), 1, "begin each key with a line [[key]]"),
            ("\n[[keys]]\nname = \"a\"\n".to_owned(), 2, "tables [[key]] only"),
            ("\n[[key]]\n".to_owned(), 2, "add name = \"NAME\""),
            ("[[key]]\nname = \"a\"\n".to_owned(), 1, "add the key again"),
            (change("name = \"one\"", "name = 1"), 4, "letters, digits"),
            (change("name = \"one\"", "name = \"o ne\""), 4, "letters, digits"),
            (change(&hash, "secret"), 5, "add the key again"),
            (change(&hash, &scram), 5, "add the key again"),
            (change(&scram, &hash), 6, "scram_sha_256 is damaged"),
            (change("read = [\"*\"]", "raed = [\"*\"]"), 8, "unknown field \"raed\"; a key has name, sha_256"),
            (change("read = [\"*\"]", "read = \"*\""), 8, "use a list of names and prefixes"),
            (change("read = [\"*\"]", "read = [1]"), 8, "use a list of names and prefixes"),
            (change("read = [\"*\"]", "read = [\"\"]"), 8, "read: a pattern is empty"),
            (change("\"zeek.*\"", "\"*.zeek\""), 9, "write: \"*.zeek\" has a *"),
            (change("monitor = true", "monitor = 1"), 11, "neither true nor false"),
            (change("= 10485760", "= \"10MiB\""), 12, "whole number of 1 or more"),
            (change("connections = 5", "connections = 0"), 13, "whole number of 1 or more"),
            (change("connections = 5", "connections = 5\nconnections = 6"), 14, "this is not TOML"),
            (two.replace("\"two\"", "\"one\""), 16, "a second key \"one\""),
        ];
        for (text, line, message) in cases {
            let error = KeyFile::parse(&text).expect_err(&text);
            assert!(
                error.line == line && error.message.contains(message),
                "{error}, not line {line}: {message}\n{text}"
            );
            assert!(!error.message.contains("secret") && !error.message.contains(&hash), "{error}");
        }
    }

    /// Whatever a file has, it is read or refused.
    #[test]
    fn damaged_files_get_an_error_or_keys() {
        let good = KeyFile::add(&KeyFile::add("", &entry("one")).unwrap(), &entry("two")).unwrap();
        let mut random = fastrand::Rng::with_seed(1);
        let parts = ["[[key]]\n", "\"", "[", "]", "=", "\n", "name", "*", "ü", "\0", "#", "{", "1e9", "'''"];
        let (mut read, mut refused) = (0, 0);
        for _ in 0..3000 {
            let mut text = good.clone();
            for _ in 0..random.usize(1..4) {
                let at = text.floor_char_boundary(random.usize(..=text.len()));
                let end = text.floor_char_boundary((at + random.usize(..8)).min(text.len()));
                text.replace_range(at..end.max(at), parts[random.usize(..parts.len())]);
            }
            match KeyFile::parse(&text) {
                Ok(_) => read += 1,
                Err(error) => {
                    assert!(error.line <= 1 + text.lines().count() && !error.message.is_empty(), "{error}");
                    refused += 1;
                }
            }
        }
        assert!(read > 10 && refused > 1000, "{read} read, {refused} refused");
    }
}
