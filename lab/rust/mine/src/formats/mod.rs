//! The formats that need no schema, or take one when they run; each file drives one format's libraries.

mod avro;
mod cbor;
mod json;
mod msgpack;
mod protobuf;
mod values;

use crate::candidate::Attempt;
use crate::error::LabError;
use crate::path::FieldPath;
use crate::sample::Sample;
use lab_report::Row;
use rawline_value::FieldHint;
use serde_json::Value as Json;
use std::path::PathBuf;

pub use avro::AvroSchema;
pub use protobuf::ProtoSchema;

/// All that the formats are driven with.
#[derive(Debug)]
pub struct Subject<'s> {
    /// The messages.
    pub sample: &'s Sample,
    /// Of each message whether it has the field.
    pub present: Vec<bool>,
    /// The field.
    pub path: FieldPath,
    /// Fields whose values ours keeps as addresses, ports, times.
    pub types: Vec<FieldHint>,
    /// The messages' Avro schema.
    pub avro: AvroSchema,
    /// The messages' Protobuf schema.
    pub proto: ProtoSchema,
}

/// A schema's file, as the user gave it.
#[derive(Debug, Clone, Default)]
pub struct SchemaFiles {
    /// `.avsc`.
    pub avro: Option<PathBuf>,
    /// `.proto`.
    pub proto: Option<PathBuf>,
    /// The message's name in the `.proto`.
    pub message: Option<String>,
}

impl<'s> Subject<'s> {
    /// Takes the schemas from the files, or infers them from the sample.
    pub fn new(
        sample: &'s Sample,
        path: FieldPath,
        types: Vec<FieldHint>,
        files: &SchemaFiles,
    ) -> Result<Subject<'s>, LabError> {
        let present = sample.messages.iter().map(|message| path.of(&message.json).is_some()).collect();
        let avro = AvroSchema::new(sample, files.avro.as_deref())?;
        let proto = ProtoSchema::new(sample, files.proto.as_deref(), files.message.as_deref())?;
        Ok(Subject { sample, present, path, types, avro, proto })
    }

    /// Every row, each checked.
    pub fn attempts(&self) -> Result<Vec<Attempt>, LabError> {
        let mut attempts = Vec::new();
        attempts.extend(json::attempts(self));
        attempts.extend(msgpack::attempts(self));
        attempts.extend(cbor::attempts(self));
        attempts.extend(values::attempts(self)?);
        attempts.extend(avro::attempts(self));
        attempts.extend(protobuf::attempts(self));
        Ok(attempts)
    }

    /// The messages as trees of JSON.
    fn trees(&self) -> Vec<Json> {
        self.sample.messages.iter().map(|message| message.json.clone()).collect()
    }
}

/// A row of Rust's.
fn attempt(
    format: &str,
    library: &str,
    variant: &str,
    candidate: Result<Box<dyn crate::candidate::Candidate>, String>,
) -> Attempt {
    Attempt {
        row: Row {
            language: "rust".to_owned(),
            format: format.to_owned(),
            library: library.to_owned(),
            variant: variant.to_owned(),
        },
        version: version(library),
        candidate,
    }
}

/// The library's version in the lock file that this program was built with.
fn version(library: &str) -> String {
    let lock = include_str!("../../../Cargo.lock");
    let name = format!("name = \"{library}\"");
    let mut lines = lock.lines().skip_while(|line| *line != name).skip(1);
    lines
        .next()
        .and_then(|line| line.strip_prefix("version = \""))
        .map(|version| version.trim_end_matches('"').to_owned())
        .unwrap_or_default()
}

/// Whether two trees are equal: 1 and 1.0 are the same number.
fn same_tree(one: &Json, other: &Json) -> Result<(), String> {
    same_at(one, other, &mut String::new())
}

fn same_at(one: &Json, other: &Json, path: &mut String) -> Result<(), String> {
    let differs = |path: &str| {
        let place = if path.is_empty() { "the message" } else { path };
        Err(format!("{place}: {one} came back as {other}"))
    };
    match (one, other) {
        (Json::Number(a), Json::Number(b)) if a == b || a.as_f64() == b.as_f64() => Ok(()),
        (Json::Array(a), Json::Array(b)) if a.len() == b.len() => {
            a.iter().zip(b).enumerate().try_for_each(|(index, (a, b))| {
                let length = path.len();
                path.push_str(&format!("[{index}]"));
                same_at(a, b, path).inspect(|()| path.truncate(length))
            })
        }
        (Json::Object(a), Json::Object(b)) if a.len() == b.len() => a.iter().try_for_each(|(key, a)| {
            let Some(b) = b.get(key) else { return differs(&format!("{path}.{key}")) };
            let length = path.len();
            if !path.is_empty() {
                path.push('.');
            }
            path.push_str(key);
            same_at(a, b, path).inspect(|()| path.truncate(length))
        }),
        (a, b) if a == b => Ok(()),
        _ => differs(path),
    }
}
