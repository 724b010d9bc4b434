//! Protobuf: prost-reflect's messages, with a given or inferred schema.

use super::{Subject, attempt, same_tree};
use crate::candidate::{Attempt, Candidate, Library};
use crate::error::LabError;
use crate::path::{mark_number, mark_text};
use crate::sample::Sample;
use crate::shape::{fit, proto_schema, schema_name};
use prost::Message as _;
use prost_reflect::{DescriptorPool, DeserializeOptions, DynamicMessage, Kind, MapKey, MessageDescriptor, Value};
use protox::file::{ChainFileResolver, File, FileResolver, GoogleFileResolver};
use serde_json::Value as Json;
use std::path::Path;

/// The messages' schema, and the messages as it has them.
#[derive(Debug)]
pub struct ProtoSchema {
    /// The schema's text.
    pub text: String,
    /// Whether it was inferred.
    pub inferred: bool,
    descriptor: MessageDescriptor,
    messages: Vec<DynamicMessage>,
}

/// The name that an inferred schema has among files.
const INFERRED: &str = "inferred.proto";

impl ProtoSchema {
    /// The schema in the file, or inferred; every message of the sample must be of it.
    pub fn new(sample: &Sample, file: Option<&Path>, message: Option<&str>) -> Result<ProtoSchema, LabError> {
        let name = file.map_or_else(|| "the inferred schema".to_owned(), |path| path.display().to_string());
        let broken = |why: String| LabError::Schema(format!("{name}: {why}"));
        let (text, pool) = match file {
            Some(path) => {
                let text =
                    std::fs::read_to_string(path).map_err(|source| LabError::File { path: name.clone(), source })?;
                let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
                let set = protox::compile([path], [folder]).map_err(|error| broken(format!("{error:?}")))?;
                (text, DescriptorPool::from_file_descriptor_set(set).map_err(|error| broken(error.to_string()))?)
            }
            None => {
                let text = proto_schema(&sample.shape);
                let pool = compile_text(&text).map_err(broken)?;
                (text, pool)
            }
        };
        let descriptor = choose(&pool, file.map_or(Some("Message"), |_| message)).map_err(broken)?;
        let mut messages = Vec::with_capacity(sample.messages.len());
        for taken in &sample.messages {
            let json = match file {
                Some(_) => renamed(&descriptor, &taken.json),
                None => fit(&sample.shape, &taken.json, true),
            };
            let built = of_json(&descriptor, &json).map_err(|why| {
                LabError::Schema(format!(
                    "{}: {why}, by message {} of {name}. Change the schema or the message",
                    taken.place,
                    descriptor.full_name()
                ))
            })?;
            messages.push(built);
        }
        Ok(ProtoSchema { text, inferred: file.is_none(), descriptor, messages })
    }
}

/// A schema file that exists only in memory.
struct TextResolver<'t>(&'t str);

impl FileResolver for TextResolver<'_> {
    fn open_file(&self, name: &str) -> Result<File, protox::Error> {
        if name == INFERRED { File::from_source(name, self.0) } else { Err(protox::Error::file_not_found(name)) }
    }
}

fn compile_text(text: &str) -> Result<DescriptorPool, String> {
    let mut resolver = ChainFileResolver::new();
    resolver.add(TextResolver(Box::leak(text.to_owned().into_boxed_str())));
    resolver.add(GoogleFileResolver::new());
    let mut compiler = protox::Compiler::with_file_resolver(resolver);
    compiler.open_file(INFERRED).map_err(|error| format!("{error:?}"))?;
    Ok(compiler.descriptor_pool())
}

/// The message of that name, or the only one there is.
fn choose(pool: &DescriptorPool, name: Option<&str>) -> Result<MessageDescriptor, String> {
    let all = || {
        pool.all_messages()
            .filter(|message| !message.is_map_entry() && !message.full_name().starts_with("google.protobuf."))
    };
    let names = || all().map(|message| message.full_name().to_owned()).collect::<Vec<_>>().join(", ");
    match name {
        Some(name) => all()
            .find(|message| message.full_name() == name || message.name() == name)
            .ok_or_else(|| format!("it has no message {name}; there are {}", names())),
        None => {
            let mut outer = all().filter(|message| message.parent_message().is_none());
            match (outer.next(), outer.next()) {
                (Some(only), None) => Ok(only),
                (None, _) => Err("it has no message".to_owned()),
                _ => Err(format!("it has several messages; select one with --message: {}", names())),
            }
        }
    }
}

fn of_json(descriptor: &MessageDescriptor, json: &Json) -> Result<DynamicMessage, String> {
    let mut track = serde_path_to_error::Track::new();
    let reader = serde_path_to_error::Deserializer::new(json, &mut track);
    let read = DynamicMessage::deserialize_with_options(descriptor.clone(), reader, &DeserializeOptions::new());
    read.map_err(|error| {
        let path = track.path().to_string();
        if path == "." { error.to_string() } else { format!("{path}: {error}") }
    })
}

/// The message with each key that isn't a valid name replaced by its name in the schema.
fn renamed(descriptor: &MessageDescriptor, json: &Json) -> Json {
    let Json::Object(fields) = json else { return json.clone() };
    let field_value = |key: &String, value: &Json| {
        let name = schema_name(key);
        let field = descriptor
            .get_field_by_name(key)
            .or_else(|| descriptor.get_field_by_json_name(key))
            .or_else(|| descriptor.get_field_by_name(&name));
        let Some(field) = field else { return (key.clone(), value.clone()) };
        let inner = match field.kind() {
            Kind::Message(inner) if !inner.full_name().starts_with("google.protobuf.") => inner,
            _ => return (field.name().to_owned(), value.clone()),
        };
        let value = match value {
            Json::Array(elements) => elements.iter().map(|element| renamed(&inner, element)).collect(),
            Json::Object(_) if field.is_map() => value.clone(),
            value => renamed(&inner, value),
        };
        (field.name().to_owned(), value)
    };
    fields.iter().map(|(key, value)| field_value(key, value)).collect()
}

pub fn attempts(subject: &Subject<'_>) -> Vec<Attempt> {
    vec![attempt("protobuf", "prost-reflect", "", row(subject))]
}

fn row(subject: &Subject<'_>) -> Result<Box<dyn Candidate>, String> {
    let (for_decode, for_field) = (subject.proto.descriptor.clone(), subject.proto.descriptor.clone());
    let names = if subject.proto.inferred { subject.path.names.clone() } else { subject.path.schema_names() };
    let library = Library {
        native: subject.proto.messages.clone(),
        encode: |message: &DynamicMessage, out: &mut Vec<u8>| message.encode(out).map_err(|error| error.to_string()),
        decode: move |bytes: &[u8]| {
            DynamicMessage::decode(for_decode.clone(), bytes).map_err(|error| error.to_string())
        },
        // It can't skip values.
        field: move |bytes: &[u8]| {
            let message = DynamicMessage::decode(for_field.clone(), bytes).map_err(|error| error.to_string())?;
            Ok(mark_at(&Value::Message(message), &names))
        },
    };
    // As JSON without defaults: a field that was set to zero and one that was not are the same message in the bytes.
    let tree = |message: &DynamicMessage| serde_json::to_value(message).map_err(|error| error.to_string());
    library.check(&subject.present, |_, one, other| same_tree(&tree(one)?, &tree(other)?))
}

fn mark_at(value: &Value, names: &[String]) -> u64 {
    let Some((name, rest)) = names.split_first() else {
        return match value {
            Value::String(text) => mark_text(text),
            Value::I32(number) => mark_number(f64::from(*number)),
            Value::I64(number) => mark_number(*number as f64),
            Value::U32(number) => mark_number(f64::from(*number)),
            Value::U64(number) => mark_number(*number as f64),
            Value::F32(number) => mark_number(f64::from(*number)),
            Value::F64(number) => mark_number(*number),
            Value::Bool(value) => 2 + u64::from(*value),
            _ => 1,
        };
    };
    match value {
        Value::Message(message) => message.get_field_by_name(name).map_or(0, |value| mark_at(&value, rest)),
        Value::Map(entries) => entries.get(&MapKey::String(name.clone())).map_or(0, |value| mark_at(value, rest)),
        _ => 0,
    }
}
