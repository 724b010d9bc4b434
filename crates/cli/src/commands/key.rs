//! How `rawline produce` chooses a record's partition: a given one, by a key for all records, or by a field of each.

use super::CommandError;
use rawline_client::{ClientError, Producer, Receipt};
use serde_json::Value;
use std::sync::Arc;

/// The flags.
#[derive(Debug, clap::Args)]
pub struct KeyArgs {
    /// Partition to append to [default: any, a batch at a time]
    #[arg(long, value_name = "N", conflicts_with_all = ["key", "key_field"])]
    partition: Option<u32>,

    /// Key of all records: they go to one partition, where Kafka's clients would put the key
    #[arg(long, value_name = "TEXT", conflicts_with = "key_field")]
    key: Option<String>,

    /// Field of each line of JSON that is its key; a record without it goes to any partition
    ///
    /// A member of an object in the record is named by both names with a dot between them, as in id.orig_h. A key that
    /// is text is its UTF-8 bytes, and any other value its JSON text. The key chooses the partition, and isn't stored.
    #[arg(long, value_name = "FIELD")]
    key_field: Option<String>,
}

/// How a record's partition is chosen.
#[derive(Debug)]
pub enum Choice {
    Any,
    Partition(u32),
    Key(String),
    Field {
        name: Arc<str>,
        /// Number of records that don't have it.
        missing: u64,
    },
}

impl KeyArgs {
    /// What they ask for. Fails if the records' fields can't be found, because the input has no lines of JSON.
    pub fn choice(&self, has_json_lines: bool) -> Result<Choice, CommandError> {
        Ok(match (self.partition, &self.key, &self.key_field) {
            (Some(partition), _, _) => Choice::Partition(partition),
            (_, Some(key), _) => Choice::Key(key.clone()),
            (_, _, Some(_)) if !has_json_lines => {
                let message = "--key-field needs lines of JSON; with this input, use --key or --partition";
                return Err(CommandError::Usage(message.to_owned()));
            }
            (_, _, Some(name)) => Choice::Field { name: name.as_str().into(), missing: 0 },
            (None, None, None) => Choice::Any,
        })
    }
}

impl Choice {
    /// The field of each record that is its key.
    pub fn field(&self) -> Option<Arc<str>> {
        match self {
            Choice::Field { name, .. } => Some(name.clone()),
            _ => None,
        }
    }

    /// Passes a record to the producer; `key` is the value of its field.
    pub async fn send(
        &mut self,
        producer: &Producer,
        key: Option<&[u8]>,
        record: &[u8],
    ) -> Result<Receipt, ClientError> {
        match self {
            Choice::Any => producer.send(record).await,
            Choice::Partition(partition) => producer.send_to(*partition, record).await,
            Choice::Key(key) => producer.send_with_key(key, record).await,
            Choice::Field { missing, .. } => match key {
                Some(key) => producer.send_with_key(key, record).await,
                None => {
                    *missing += 1;
                    producer.send(record).await
                }
            },
        }
    }

    /// Whether all records go to one partition, whatever their number.
    pub fn is_one(&self) -> bool {
        matches!(self, Choice::Partition(_) | Choice::Key(_))
    }

    /// Reports records without a key on stderr.
    pub fn report_missing(&self) {
        if let Choice::Field { name, missing: missing @ 1.. } = self {
            eprintln!("rawline: records without the field {name:?}: {missing}; they went to any partition");
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
}
