//! CBOR: ciborium and minicbor, from and to serde_json's tree.

use super::{Subject, attempt, same_tree};
use crate::candidate::{Attempt, Library};
use crate::path::{FieldSeed, mark};
use serde::Serialize;
use serde::de::DeserializeSeed;
use serde_json::Value as Json;

pub fn attempts(subject: &Subject<'_>) -> Vec<Attempt> {
    let path = subject.path.clone();
    let ciborium = Library {
        native: subject.trees(),
        encode: |tree: &Json, out: &mut Vec<u8>| ciborium::into_writer(tree, out).map_err(|error| error.to_string()),
        decode: |bytes: &[u8]| ciborium::from_reader::<Json, _>(bytes).map_err(|error| error.to_string()),
        // It can't skip values.
        field: move |bytes: &[u8]| {
            let tree: Json = ciborium::from_reader(bytes).map_err(|error| error.to_string())?;
            Ok(path.of(&tree).map_or(0, mark))
        },
    };
    let places = subject.path.by_name();
    let minicbor = Library {
        native: subject.trees(),
        encode: |tree: &Json, out: &mut Vec<u8>| {
            let mut writer = minicbor_serde::Serializer::new(out);
            writer.serialize_unit_as_null(true);
            tree.serialize(&mut writer).map(|_| ()).map_err(|error| error.to_string())
        },
        decode: |bytes: &[u8]| minicbor_serde::from_slice::<Json>(bytes).map_err(|error| error.to_string()),
        field: move |bytes: &[u8]| {
            let mut reader = minicbor_serde::Deserializer::new(bytes);
            FieldSeed(&places).deserialize(&mut reader).map_err(|error| error.to_string())
        },
    };
    vec![
        attempt("cbor", "ciborium", "", ciborium.check(&subject.present, |_, one, other| same_tree(one, other))),
        attempt("cbor", "minicbor-serde", "", minicbor.check(&subject.present, |_, one, other| same_tree(one, other))),
    ]
}
