//! MessagePack by rmp-serde, from and to its own tree: maps with the fields' names, and arrays without, as rmp-serde
//! writes a struct.

use super::{Subject, attempt};
use crate::candidate::{Attempt, Candidate, Library};
use crate::path::{FieldSeed, Place};
use crate::shape::listed;
use rmpv::Value;
use serde::de::DeserializeSeed;
use serde_json::Value as Json;

pub fn attempts(subject: &Subject<'_>) -> Vec<Attempt> {
    let shape = &subject.sample.shape;
    let messages = || subject.sample.messages.iter().map(|message| &message.json);
    let maps = row(subject, messages().map(of_json).collect(), subject.path.by_name());
    let lists = || messages().map(|message| of_json(&listed(shape, message))).collect();
    let arrays = subject.path.by_index(shape).and_then(|places| row(subject, lists(), places));
    vec![attempt("msgpack", "rmp-serde", "", maps), attempt("msgpack-array", "rmp-serde", "", arrays)]
}

fn row(subject: &Subject<'_>, native: Vec<Value>, places: Vec<Place>) -> Result<Box<dyn Candidate>, String> {
    let library = Library {
        native,
        encode: |tree: &Value, out: &mut Vec<u8>| {
            rmp_serde::encode::write(out, tree).map_err(|error| error.to_string())
        },
        decode: |bytes: &[u8]| rmp_serde::from_slice::<Value>(bytes).map_err(|error| error.to_string()),
        field: move |bytes: &[u8]| {
            let mut reader = rmp_serde::Deserializer::from_read_ref(bytes);
            FieldSeed(&places).deserialize(&mut reader).map_err(|error| error.to_string())
        },
    };
    library.check(
        &subject.present,
        |_, one, other| {
            if one == other { Ok(()) } else { Err("another value came back".to_owned()) }
        },
    )
}

fn of_json(json: &Json) -> Value {
    match json {
        Json::Null => Value::Nil,
        Json::Bool(value) => Value::from(*value),
        Json::Number(number) => match (number.as_u64(), number.as_i64(), number.as_f64()) {
            (Some(number), _, _) => Value::from(number),
            (_, Some(number), _) => Value::from(number),
            (_, _, number) => Value::from(number.unwrap_or(f64::NAN)),
        },
        Json::String(text) => Value::from(text.as_str()),
        Json::Array(elements) => Value::Array(elements.iter().map(of_json).collect()),
        Json::Object(fields) => {
            Value::Map(fields.iter().map(|(key, value)| (Value::from(key.as_str()), of_json(value))).collect())
        }
    }
}
