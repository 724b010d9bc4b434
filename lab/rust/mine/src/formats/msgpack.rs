//! MessagePack: rmp-serde, from and to serde_json's tree.

use super::{Subject, attempt, same_tree};
use crate::candidate::{Attempt, Library};
use crate::path::FieldSeed;
use serde::de::DeserializeSeed;
use serde_json::Value as Json;

pub fn attempts(subject: &Subject<'_>) -> Vec<Attempt> {
    let keys = subject.path.keys.clone();
    let library = Library {
        native: subject.trees(),
        encode: |tree: &Json, out: &mut Vec<u8>| {
            rmp_serde::encode::write_named(out, tree).map_err(|error| error.to_string())
        },
        decode: |bytes: &[u8]| rmp_serde::from_slice::<Json>(bytes).map_err(|error| error.to_string()),
        field: move |bytes: &[u8]| {
            let mut reader = rmp_serde::Deserializer::from_read_ref(bytes);
            FieldSeed(&keys).deserialize(&mut reader).map_err(|error| error.to_string())
        },
    };
    let candidate = library.check(&subject.present, |_, one, other| same_tree(one, other));
    vec![attempt("msgpack", "rmp-serde", "", candidate)]
}
