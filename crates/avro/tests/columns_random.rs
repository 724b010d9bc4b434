//! Columns compared with rows: any schema, any messages, good and bad, read as they were written and as later readers
//! do.

#![cfg(feature = "arrow")]
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

mod arrows;
mod ids;

use std::sync::Arc;

use arrows::{Schemas, parse, same_row, validate, value};
use ids::Ids;
use rawline_avro::{ColumnDecoder, ColumnEncoder, Encoded, Limits, Plan, RowBuffer, Schema, StringAs};
use serde_json::json;

#[test]
fn columns_are_what_rows_are() {
    for seed in 0..120 {
        let mut schemas = Schemas::new(seed);
        let depth = schemas.random.u32(0..5);
        let written = if seed % 8 == 0 { schemas.any(depth) } else { schemas.record(depth) };
        let writer = parse(&written);
        run(seed, &writer, &writer);
        if seed % 4 == 0 {
            let flat = json!({"type": "record", "name": "M", "fields": [{"name": "a", "type": "string"},
                {"name": "b", "type": {"type": "map", "values": "string"}}, {"name": "c", "type": "long"},
                {"name": "d", "type": "boolean"}, {"name": "e", "type": "double"}, {"name": "f", "type": "int"}]});
            run(seed, &parse(&flat), &parse(&flat));
        }
        let later = schemas.later(&written);
        let reader = parse(&later);
        if Plan::new(&writer, &reader, Limits::default()).is_ok() {
            run(seed, &writer, &reader);
        }
    }
}

/// Appends messages, a third of them damaged, and compares each batch with the rows.
fn run(seed: u64, writer: &Arc<Schema>, reader: &Arc<Schema>) {
    let mut random = fastrand::Rng::with_seed(seed);
    let limits = Limits { elements_max: 200, ..Limits::default() };
    let plan = Arc::new(Plan::new(writer, reader, limits).unwrap());
    let back = Plan::same(reader, Limits::default()).unwrap();
    let mut buffer = RowBuffer::new();
    for strings in [StringAs::Utf8, StringAs::Utf8View, StringAs::Dictionary(Ids::new(1 << 16))] {
        let mut decoder = ColumnDecoder::new(Arc::clone(&plan), strings).unwrap();
        for _ in 0..3 {
            let mut kept = Vec::new();
            for _ in 0..random.u32(0..25) {
                let mut message = Vec::new();
                value(writer, writer.root(), &mut random, &mut message);
                match random.u32(0..9) {
                    0 if !message.is_empty() => message.truncate(random.usize(..message.len())),
                    1 if !message.is_empty() => {
                        let at = random.usize(..message.len());
                        message[at] = random.u8(..);
                    }
                    2 => message.push(random.u8(..)),
                    _ => {}
                }
                let wanted = plan.row(&mut buffer, &message).map(drop);
                match decoder.append(&message) {
                    Ok(()) => {
                        assert_eq!(wanted, Ok(()), "seed {seed}");
                        kept.push(message);
                    }
                    // Rows take values that no logical type has.
                    Err(error) if wanted.is_ok() => {
                        assert_eq!(error.fault.kind, rawline_avro::FaultKind::Logical, "seed {seed}");
                    }
                    Err(error) => assert_eq!(wanted, Err(error), "seed {seed}"),
                }
                assert_eq!(decoder.rows(), kept.len());
            }
            let batch = decoder.finish();
            assert_eq!(batch.num_rows(), kept.len(), "seed {seed}");
            assert_eq!(batch.schema(), *decoder.schema());
            validate(&batch);
            for (row, message) in kept.iter().enumerate() {
                same_row(&batch, row, plan.row(&mut buffer, message).unwrap().datum());
            }
            // To messages and back again.
            let mut encoded = Encoded::default();
            ColumnEncoder::new(Arc::clone(reader)).encode(&batch, &mut encoded).unwrap();
            assert_eq!(encoded.messages().count(), kept.len());
            assert_eq!(encoded.data.len(), encoded.sizes.iter().sum::<u32>() as usize);
            for (row, message) in encoded.messages().enumerate() {
                same_row(&batch, row, back.row(&mut buffer, message).unwrap().datum());
            }
        }
    }
}
