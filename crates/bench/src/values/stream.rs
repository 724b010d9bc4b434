//! The stream of events in each format: its size, and the cost of writing, reading ten fields and visiting every field.

use super::compare;
use super::dns::Dns;
use super::race::{Race, Time};
use super::{ten, visit};
use indicatif::ProgressBar;
use rawline_value::{Decoder, from_bytes};
use serde::Serialize;

/// Bytes of the whole stream in one format.
#[derive(Debug, Serialize)]
pub struct Size {
    /// The format.
    pub name: &'static str,
    /// All events together.
    pub bytes: u64,
}

/// Every figure of the stream.
#[derive(Debug, Serialize)]
pub struct Figures {
    /// Bytes of all events.
    pub sizes: Vec<Size>,
    /// From Rust structs into bytes.
    pub encode: Vec<Time>,
    /// From bytes to ten named fields.
    pub ten_fields: Vec<Time>,
    /// From bytes to every field, without a schema.
    pub every_field: Vec<Time>,
}

/// The events, and their bytes in each format.
pub struct Stream {
    events: Vec<Dns>,
    json: Vec<Vec<u8>>,
    record: Vec<Vec<u8>>,
    table: Vec<Vec<u8>>,
}

impl Stream {
    /// Encodes every event as a record and as a table.
    pub fn new(events: Vec<Dns>, json: Vec<Vec<u8>>) -> Stream {
        let encode = |put: fn(&Dns, &mut Vec<u8>)| {
            let bytes = |event| {
                let mut out = Vec::new();
                put(event, &mut out);
                out
            };
            events.iter().map(bytes).collect()
        };
        Stream { record: encode(Dns::put_record), table: encode(Dns::put_table), json, events }
    }

    /// Measures everything.
    pub fn measure(&self, rounds: u32, bar: &ProgressBar) -> Figures {
        let mut sizes =
            vec![size("JSON", &self.json), size("value, record", &self.record), size("value, table", &self.table)];
        // The contenders borrow from these.
        let others = compare::Others::new(&self.events, &self.json);
        let mut decoders = [Decoder::default(), Decoder::default(), Decoder::default(), Decoder::default()];
        let [ten_record, ten_table, every_record, every_table] = &mut decoders;

        let mut encode = self.encode();
        let mut ten_fields = self.ten_fields(ten_record, ten_table);
        let mut every_field = self.every_field(every_record, every_table);
        others.join(&mut sizes, &mut encode, &mut ten_fields, &mut every_field);
        sizes.sort_by_key(|size| size.bytes);
        Figures {
            sizes,
            encode: encode.run(rounds, bar),
            ten_fields: ten_fields.run(rounds, bar),
            every_field: every_field.run(rounds, bar),
        }
    }

    fn encode(&self) -> Race<'_> {
        let mut race = Race::new(self.events.len());
        race.add("serde_json", {
            let mut out = Vec::with_capacity(4096);
            move || each(&self.events, |event| written(&mut out, |out| serde_json::to_writer(out, event).is_ok()))
        });
        race.add("value, record", {
            let mut out = Vec::with_capacity(4096);
            move || {
                each(&self.events, |event| {
                    out.clear();
                    event.put_record(&mut out);
                    out.len() as u64
                })
            }
        });
        race.add("value, table", {
            let mut out = Vec::with_capacity(4096);
            move || {
                each(&self.events, |event| {
                    out.clear();
                    event.put_table(&mut out);
                    out.len() as u64
                })
            }
        });
        race
    }

    fn ten_fields<'a>(&'a self, record: &'a mut Decoder, table: &'a mut Decoder) -> Race<'a> {
        let mut race = Race::new(self.events.len());
        race.add("serde_json, borrowed text", || {
            each(&self.json, |json| serde_json::from_slice(json).map_or(0, |fields: ten::AsText<'_>| fields.sum()))
        });
        race.add("serde_json, times and addresses", || {
            each(&self.json, |json| serde_json::from_slice(json).map_or(0, |fields: ten::Typed<'_>| fields.sum()))
        });
        race.add("value, record, view", || {
            each(&self.record, |bytes| {
                record.decode(bytes).ok().and_then(|value| ten::of_record(&value)).unwrap_or_default()
            })
        });
        race.add("value, record, struct by serde", || {
            each(&self.record, |bytes| from_bytes(bytes).map_or(0, |event: ten::RecordEvent<'_>| event.sum()))
        });
        race.add("value, table, view", || {
            each(&self.table, |bytes| {
                table.decode(bytes).ok().and_then(|value| ten::of_table(&value)).unwrap_or_default()
            })
        });
        race.add("value, table, struct by serde", || {
            each(&self.table, |bytes| from_bytes(bytes).map_or(0, |event: ten::TableEvent<'_>| event.sum()))
        });
        race
    }

    fn every_field<'a>(&'a self, record: &'a mut Decoder, table: &'a mut Decoder) -> Race<'a> {
        let mut race = Race::new(self.events.len());
        race.add("serde_json::Value", || {
            each(&self.json, |json| serde_json::from_slice(json).map_or(0, |value| visit::json(&value)))
        });
        race.add("value, record, view", || {
            each(&self.record, |bytes| record.decode(bytes).map_or(0, |value| visit::view(&value)))
        });
        race.add("value, table, view", || {
            each(&self.table, |bytes| table.decode(bytes).map_or(0, |value| visit::view(&value)))
        });
        race
    }
}

/// Bytes of all events.
pub fn size(name: &'static str, events: &[Vec<u8>]) -> Size {
    Size { name, bytes: events.iter().map(|event| event.len() as u64).sum() }
}

/// Sum of `of` over all events.
pub fn each<T>(events: &[T], of: impl FnMut(&T) -> u64) -> u64 {
    events.iter().map(of).fold(0, u64::wrapping_add)
}

/// Number of bytes that `write` writes into a reused buffer.
pub fn written(out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>) -> bool) -> u64 {
    out.clear();
    if write(out) { out.len() as u64 } else { 0 }
}
