//! JSON: serde_json and sonic-rs, both with their own trees.

use super::{Subject, attempt, same_tree};
use crate::candidate::{Attempt, Library};
use crate::path::{FieldSeed, mark_text};
use serde::de::DeserializeSeed;
use serde_json::Value as Json;
use sonic_rs::JsonValueTrait;

pub fn attempts(subject: &Subject<'_>) -> Vec<Attempt> {
    vec![
        attempt("json", "serde_json", "", serde_json_row(subject)),
        attempt("json", "sonic-rs", "", sonic_row(subject)),
    ]
}

fn serde_json_row(subject: &Subject<'_>) -> Result<Box<dyn crate::candidate::Candidate>, String> {
    let places = subject.path.by_name();
    let library = Library {
        native: subject.trees(),
        encode: |tree: &Json, out: &mut Vec<u8>| serde_json::to_writer(out, tree).map_err(|error| error.to_string()),
        decode: |bytes: &[u8]| serde_json::from_slice::<Json>(bytes).map_err(|error| error.to_string()),
        field: move |bytes: &[u8]| {
            let mut reader = serde_json::Deserializer::from_slice(bytes);
            FieldSeed(&places).deserialize(&mut reader).map_err(|error| error.to_string())
        },
    };
    library.check(&subject.present, |_, one, other| same_tree(one, other))
}

fn sonic_row(subject: &Subject<'_>) -> Result<Box<dyn crate::candidate::Candidate>, String> {
    let keys = subject.path.keys.clone();
    let trees = subject.trees();
    // From the other row's text: the order of the fields is the same, so that one field takes as long to reach.
    let native: Result<Vec<sonic_rs::Value>, String> =
        trees.iter().map(|tree| sonic_rs::from_str(&tree.to_string()).map_err(|error| error.to_string())).collect();
    let library = Library {
        native: native?,
        encode: |tree: &sonic_rs::Value, out: &mut Vec<u8>| {
            sonic_rs::to_writer(out, tree).map_err(|error| error.to_string())
        },
        decode: |bytes: &[u8]| sonic_rs::from_slice::<sonic_rs::Value>(bytes).map_err(|error| error.to_string()),
        field: move |bytes: &[u8]| match sonic_rs::get(bytes, keys.iter().map(String::as_str)) {
            Ok(value) => Ok(value.as_str().map_or(1, mark_text)),
            Err(error) if error.is_not_found() => Ok(0),
            Err(error) => Err(error.to_string()),
        },
    };
    library.check(&subject.present, |index, _, other| {
        let text = sonic_rs::to_string(other).map_err(|error| error.to_string())?;
        let other: Json = serde_json::from_str(&text).map_err(|error| error.to_string())?;
        trees.get(index).map_or(Ok(()), |one| same_tree(one, &other))
    })
}
