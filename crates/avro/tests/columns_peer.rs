//! Columns compared with `arrow-avro`'s: the same messages, and the same columns written as messages again.

#![cfg(feature = "arrow")]
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

mod arrows;

use std::sync::Arc;

use arrow_avro::reader::{DecoderMode, ReaderBuilder};
use arrow_avro::schema::{AvroSchema, FingerprintAlgorithm, SchemaStore};
use arrows::{Schemas, parse, value};
use rawline_avro::{ColumnDecoder, ColumnEncoder, Encoded, Limits, Plan, StringAs};

#[test]
fn columns_are_what_arrow_avro_makes() {
    let mut compared = 0;
    for seed in 0..300 {
        let mut schemas = Schemas::new(seed);
        let written = schemas.record(3);
        let text = written.to_string();
        // Types that one of the two has otherwise, and records of no fields, of which Arrow can't have a batch.
        if ["decimal", "duration", "local-timestamp-nanos", "[]", "\"size\":0"].iter().any(|no| text.contains(no)) {
            continue;
        }
        let schema = parse(&written);
        let mut store = SchemaStore::new_with_type(FingerprintAlgorithm::Rabin);
        let Ok(fingerprint) = store.register(AvroSchema::new(text.clone())) else { continue };
        let reader = ReaderBuilder::new().with_writer_schema_store(store).with_active_fingerprint(fingerprint);
        let reader = reader.with_decoder_mode(DecoderMode::UnframedDatum).with_batch_size(32);
        // Its views lose nulls, so only ours are views.
        let Ok(mut theirs) = reader.build_decoder() else { continue };
        let plan = Arc::new(Plan::same(&schema, Limits::default()).unwrap());
        let strings = if seed % 2 == 0 { StringAs::Utf8View } else { StringAs::Utf8 };
        let mut ours = ColumnDecoder::new(plan, strings).unwrap();
        for _ in 0..32 {
            let mut message = Vec::new();
            value(&schema, schema.root(), &mut schemas.random, &mut message);
            theirs.decode(&message).unwrap();
            ours.append(&message).unwrap();
        }
        let encoder = ColumnEncoder::new(Arc::clone(&schema));
        let [mut one, mut other] = [Encoded::default(), Encoded::default()];
        encoder.encode(&ours.finish(), &mut one).unwrap();
        // It refuses its own columns where a null stands in a map or a list.
        let Ok(Some(theirs)) = theirs.flush() else { continue };
        encoder.encode(&theirs, &mut other).unwrap_or_else(|error| panic!("{error}: {text}"));
        assert_eq!(one, other, "seed {seed}: {text}");
        compared += 1;
    }
    assert!(compared > 50, "{compared}");
}
