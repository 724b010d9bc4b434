//! Keys, headers and partitions of `rawline produce`: given ones for all records, or a key in each.

use super::CommandError;
use rawline_client::{ClientError, Message, Producer, Receipt};
use serde_json::Value;
use std::str::FromStr;
use std::sync::Arc;

/// The flags.
#[derive(Debug, clap::Args)]
pub struct KeyArgs {
    /// Partition to append to [default: by the key; without a key, any, a batch at a time]
    #[arg(long, value_name = "N", conflicts_with = "key_field")]
    partition: Option<u32>,

    /// Key of all records, stored with each; selects the partition like Kafka's Java client
    #[arg(long, short, value_name = "TEXT", conflicts_with_all = ["key_field", "key_separator"])]
    key: Option<String>,

    /// Separator of key and record in each line, as in `kcat -K`; \t is a tab
    ///
    /// The key is stored with the record and chooses its partition. A line without the separator is a record without a
    /// key.
    #[arg(long, short = 'K', value_name = "TEXT", conflicts_with = "key_field", value_parser = parse_separator)]
    key_separator: Option<Arc<str>>,

    /// JSON field that chooses the partition of each record; a record without it goes to any partition
    ///
    /// A dot separates the names of nested fields, as in id.orig_h. The key is the UTF-8 bytes of a text, or the JSON
    /// text of another value. It chooses the partition and isn't stored separately: Kafka's clients see no key. For one
    /// that they see, use --key-separator.
    #[arg(long, value_name = "FIELD")]
    key_field: Option<String>,

    /// Header of all records; null without =VALUE; repeatable
    #[arg(long = "header", short = 'H', value_name = "NAME=VALUE", conflicts_with = "key_field")]
    headers: Vec<Header>,
}

/// A header of all records.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Header {
    name: String,
    value: Option<String>,
}

impl FromStr for Header {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (name, value) = text.split_once('=').map_or((text, None), |(name, value)| (name, Some(value)));
        if name.is_empty() {
            return Err("give a name, as in source=sensor-7".to_owned());
        }
        Ok(Header { name: name.to_owned(), value: value.map(str::to_owned) })
    }
}

fn parse_separator(text: &str) -> Result<Arc<str>, String> {
    let text = text.replace("\\t", "\t");
    if text.is_empty() { Err("give at least one character, such as : or \\t".to_owned()) } else { Ok(text.into()) }
}

/// The source of each record's key.
#[derive(Debug, Clone)]
pub enum KeySource {
    /// A field of the record.
    Field(Arc<str>),
    /// Before the record, which begins after this text.
    Separator(Arc<str>),
}

impl KeySource {
    /// The key in a line, if it has one, and the record.
    pub fn split<'l>(&self, line: &'l [u8]) -> (Option<Vec<u8>>, &'l [u8]) {
        match self {
            KeySource::Field(field) => (key_of(line, field), line),
            KeySource::Separator(separator) => match memchr::memmem::find(line, separator.as_bytes()) {
                Some(at) => {
                    let (key, rest) = line.split_at(at);
                    (Some(key.to_vec()), rest.split_at(separator.len()).1)
                }
                None => (None, line),
            },
        }
    }
}

/// How a record's key, headers and partition are chosen.
#[derive(Debug)]
pub struct Choice {
    partition: Option<u32>,
    /// The key of all records.
    key: Option<String>,
    source: Option<KeySource>,
    headers: Vec<Header>,
    /// Number of records without a key where each should have one.
    missing: u64,
}

impl KeyArgs {
    /// The selected key. Fails if the records' keys can't be found, because the input has no lines.
    pub fn choice(&self, has_plain_lines: bool) -> Result<Choice, CommandError> {
        let source = match (&self.key_field, &self.key_separator) {
            (Some(field), _) => Some(KeySource::Field(field.as_str().into())),
            (None, separator) => separator.clone().map(KeySource::Separator),
        };
        if let Some(source) = source.as_ref().filter(|_| !has_plain_lines) {
            let (flag, needs) = match source {
                KeySource::Field(_) => ("--key-field", "lines of JSON"),
                KeySource::Separator(_) => ("--key-separator", "lines other than CSV"),
            };
            let message = format!("{flag} needs {needs}; with this input, use --key or --partition");
            return Err(CommandError::Usage(message));
        }
        let KeyArgs { partition, key, headers, .. } = self;
        Ok(Choice { partition: *partition, key: key.clone(), source, headers: headers.clone(), missing: 0 })
    }
}

impl Choice {
    /// The source of each record's key, if records have separate keys.
    pub fn source(&self) -> Option<KeySource> {
        self.source.clone()
    }

    /// Passes a record to the producer; `found` is the key that its source has.
    pub async fn send(
        &mut self,
        producer: &Producer,
        found: Option<&[u8]>,
        record: &[u8],
    ) -> Result<Receipt, ClientError> {
        self.missing += u64::from(self.source.is_some() && found.is_none());
        // All records of a run are sent in the same way, so that their batches are of one kind.
        let has_fields = self.key.is_some() || matches!(self.source, Some(KeySource::Separator(_)));
        if has_fields || !self.headers.is_empty() {
            let headers = self.headers.iter().map(|header| (&*header.name, header.value.as_deref().map(str::as_bytes)));
            let message = Message {
                key: self.key.as_deref().map(str::as_bytes).or(found),
                value: Some(record),
                headers: &headers.collect::<Vec<_>>(),
                timestamp_ms: None,
                partition: self.partition,
            };
            return producer.send_message(message).await;
        }
        match (self.partition, found) {
            (Some(partition), _) => producer.send_to(partition, record).await,
            (None, Some(key)) => producer.send_with_key(key, record).await,
            (None, None) => producer.send(record).await,
        }
    }

    /// Whether all records go to one partition, whatever their number.
    pub fn is_one(&self) -> bool {
        self.partition.is_some() || self.key.is_some()
    }

    /// Reports records without a key on stderr.
    pub fn report_missing(&self) {
        let missing = self.missing;
        match &self.source {
            Some(KeySource::Field(name)) if missing > 0 => {
                eprintln!("rawline: records without the field {name:?}: {missing}; they went to any partition");
            }
            Some(KeySource::Separator(separator)) if missing > 0 => {
                eprintln!("rawline: records without the key separator {separator:?}: {missing}; they have no key");
            }
            _ => {}
        }
    }
}

/// The key in a line of JSON: the field's text, or the JSON text of another value. `None` if it has no such field, or
/// the field is null.
pub fn key_of(line: &[u8], field: &str) -> Option<Vec<u8>> {
    let record: Value = serde_json::from_slice(line).ok()?;
    match find(&record, field)? {
        Value::Null => None,
        Value::String(text) => Some(text.clone().into_bytes()),
        other => Some(other.to_string().into_bytes()),
    }
}

/// The member of this name; else the one at the end of a path of names. Names may have dots.
fn find<'a>(record: &'a Value, field: &str) -> Option<&'a Value> {
    let members = record.as_object()?;
    if let Some(found) = members.get(field) {
        return Some(found);
    }
    let mut dots = field.match_indices('.').filter_map(|(at, _)| Some((field.get(..at)?, field.get(at + 1..)?)));
    dots.find_map(|(first, rest)| find(members.get(first)?, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_a_field_of_a_line() {
        let line = br#"{"id.orig_h":"10.0.0.1","id":{"resp_h":"10.0.0.2","a.b":{"c":true}},"port":53,"none":null}"#;
        for (field, key) in [
            ("id.orig_h", Some("10.0.0.1")),
            ("id.resp_h", Some("10.0.0.2")),
            ("id.a.b.c", Some("true")),
            ("port", Some("53")),
            ("id", Some(r#"{"a.b":{"c":true},"resp_h":"10.0.0.2"}"#)),
            ("none", None),
            ("other", None),
            ("port.x", None),
            ("id.", None),
            ("", None),
        ] {
            assert_eq!(key_of(line, field), key.map(|key| key.as_bytes().to_vec()), "{field:?}");
        }
        for line in [&b"not JSON"[..], b"", b"[1]", b"\"port\"", b"\xff"] {
            assert_eq!(key_of(line, "port"), None);
        }
    }

    #[test]
    fn a_key_ends_at_the_first_separator() {
        let split = |separator: &str, line: &'static str| {
            let (key, record) = KeySource::Separator(parse_separator(separator).unwrap()).split(line.as_bytes());
            (key.map(|key| String::from_utf8(key).unwrap()), std::str::from_utf8(record).unwrap())
        };
        assert_eq!(split(":", "k:v:w"), (Some("k".to_owned()), "v:w"));
        assert_eq!(split("\\t", "k\tv"), (Some("k".to_owned()), "v"));
        assert_eq!(split(" | ", " | v"), (Some(String::new()), "v"));
        assert_eq!(split(" | ", "k | "), (Some("k".to_owned()), ""));
        assert_eq!(split("::", "k:v"), (None, "k:v"));
        assert!(parse_separator("").is_err());
    }

    #[test]
    fn a_header_has_a_name_and_may_have_a_value() {
        let header =
            |name: &str, value: Option<&str>| Header { name: name.to_owned(), value: value.map(str::to_owned) };
        assert_eq!("a=b=c".parse(), Ok(header("a", Some("b=c"))));
        assert_eq!("a=".parse(), Ok(header("a", Some(""))));
        assert_eq!("a".parse(), Ok(header("a", None)));
        assert!("=b".parse::<Header>().unwrap_err().contains("source=sensor-7"));
    }
}
