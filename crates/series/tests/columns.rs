//! The interner as the dictionary of Avro's columns.

#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::UInt32Type;
use rawline_avro::{ColumnDecoder, FaultKind, Limits, Plan, Schema, StringAs};
use rawline_series::{Interner, InternerLimits, STRING_BYTES_MAX};

fn interner(strings_max: u32) -> Arc<Interner> {
    Arc::new(Interner::new(InternerLimits { strings_max, bytes_max: 1 << 18 }, 1).unwrap())
}

fn decoder(strings: &Arc<Interner>) -> ColumnDecoder {
    let schema = Arc::new(Schema::parse(r#""string""#).unwrap());
    let plan = Arc::new(Plan::same(&schema, Limits::default()).unwrap());
    ColumnDecoder::new(plan, StringAs::Dictionary(strings.clone())).unwrap()
}

fn message(text: &str) -> Vec<u8> {
    let mut message = Vec::new();
    rawline_avro::write::bytes(&mut message, text.as_bytes());
    message
}

#[test]
fn keys_are_the_interners_ids_and_values_its_strings() {
    let strings = interner(100);
    strings.intern(b"known before").unwrap();
    let mut decoders = [decoder(&strings), decoder(&strings)];
    for decoder in &mut decoders {
        for text in ["a", "known before", "b", "a"] {
            decoder.append(&message(text)).unwrap();
        }
        let batch = decoder.finish();
        let column = batch.column(0).as_dictionary::<UInt32Type>();
        assert_eq!(column.keys().values().as_ref(), [1, 0, 2, 1]);
        let values: Vec<_> = column.values().as_string::<i32>().iter().flatten().collect();
        assert_eq!(values, ["known before", "a", "b"]);
    }
    assert_eq!(strings.len(), 3);
}

#[test]
fn each_refusal_of_the_interner_is_a_fault() {
    let strings = interner(1);
    let mut decoder = decoder(&strings);
    decoder.append(&message("a")).unwrap();
    let fault = |decoder: &mut ColumnDecoder, text: &str| decoder.append(&message(text)).unwrap_err().fault.kind;
    assert_eq!(fault(&mut decoder, "b"), FaultKind::StringsFull);
    assert_eq!(fault(&mut decoder, &"x".repeat(STRING_BYTES_MAX + 1)), FaultKind::StringTooLong);
    assert_eq!(decoder.finish().num_rows(), 1);
}
