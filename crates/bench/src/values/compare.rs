//! The stream of events in other formats and libraries: simd-json, sonic-rs, MessagePack and CBOR.

use super::dns::Dns;
use super::race::Race;
use super::stream::{Size, each, size, written};
use super::ten::{AsText, Owned, Typed};
use super::visit::text;
use ciborium::Value as Cbor;
use simd_json::{Buffers, StaticNode};
use sonic_rs::{JsonContainerTrait, JsonValueTrait};

/// The events' bytes in each format.
pub struct Others<'a> {
    events: &'a [Dns],
    json: &'a [Vec<u8>],
    message_pack: Vec<Vec<u8>>,
    cbor: Vec<Vec<u8>>,
}

impl<'a> Others<'a> {
    /// Encodes every event.
    pub fn new(events: &'a [Dns], json: &'a [Vec<u8>]) -> Others<'a> {
        let message_pack = events.iter().map(|event| rmp_serde::to_vec_named(event).unwrap_or_default()).collect();
        let cbor = |event| {
            let mut out = Vec::new();
            let written = ciborium::into_writer(event, &mut out);
            written.map_or(Vec::new(), |()| out)
        };
        Others { message_pack, cbor: events.iter().map(cbor).collect(), events, json }
    }

    /// Adds its contenders.
    pub fn join<'s>(
        &'s self,
        sizes: &mut Vec<Size>,
        encode: &mut Race<'s>,
        ten_fields: &mut Race<'s>,
        every_field: &mut Race<'s>,
    ) {
        let Others { events, json, message_pack, cbor } = self;
        sizes.push(size("MessagePack, names", message_pack));
        sizes.push(size("CBOR, names", cbor));

        let mut out = Vec::with_capacity(4096);
        encode.add("sonic-rs", {
            let mut out = Vec::with_capacity(4096);
            move || each(events, |event| written(&mut out, |out| sonic_rs::to_writer(out, event).is_ok()))
        });
        encode.add("MessagePack (rmp-serde)", {
            let mut out = Vec::with_capacity(4096);
            move || each(events, |event| written(&mut out, |out| rmp_serde::encode::write_named(out, event).is_ok()))
        });
        encode.add("CBOR (ciborium)", move || {
            each(events, |event| written(&mut out, |out| ciborium::into_writer(event, out).is_ok()))
        });

        let mut copy = Vec::with_capacity(4096);
        let mut buffers = Buffers::default();
        ten_fields.add("simd-json, borrowed text", move || {
            each(json, |json| {
                // It overwrites its input, so a reader that keeps the input has to copy it.
                copy.clone_from(json);
                simd_json::serde::from_slice_with_buffers(&mut copy, &mut buffers)
                    .map_or(0, |fields: AsText<'_>| fields.sum())
            })
        });
        ten_fields.add("sonic-rs, borrowed text", move || {
            each(json, |json| sonic_rs::from_slice(json).map_or(0, |fields: AsText<'_>| fields.sum()))
        });
        ten_fields.add("MessagePack (rmp-serde)", move || {
            each(message_pack, |bytes| rmp_serde::from_slice(bytes).map_or(0, |fields: Typed<'_>| fields.sum()))
        });
        ten_fields.add("CBOR (ciborium)", move || {
            // It borrows nothing from its input.
            each(cbor, |bytes| ciborium::from_reader(bytes.as_slice()).map_or(0, |fields: Owned| fields.sum()))
        });

        let mut copy = Vec::with_capacity(4096);
        let mut buffers = Buffers::default();
        every_field.add("simd-json, BorrowedValue", move || {
            each(json, |json| {
                copy.clone_from(json);
                let value = simd_json::to_borrowed_value_with_buffers(&mut copy, &mut buffers);
                value.map_or(0, |value| visit_simd(&value))
            })
        });
        every_field.add("sonic-rs, Value", move || {
            each(json, |json| sonic_rs::from_slice(json).map_or(0, |value| visit_sonic(&value)))
        });
        every_field.add("MessagePack (rmpv, ValueRef)", move || {
            each(message_pack, |bytes| {
                rmpv::decode::read_value_ref(&mut bytes.as_slice()).map_or(0, |value| visit_message_pack(&value))
            })
        });
        every_field.add("CBOR (ciborium, Value)", move || {
            each(cbor, |bytes| ciborium::from_reader(bytes.as_slice()).map_or(0, |value| visit_cbor(&value)))
        });
    }
}

fn visit_simd(value: &simd_json::BorrowedValue<'_>) -> u64 {
    match value {
        simd_json::BorrowedValue::Static(StaticNode::Null) => 0,
        simd_json::BorrowedValue::Static(StaticNode::Bool(boolean)) => u64::from(*boolean),
        simd_json::BorrowedValue::Static(StaticNode::U64(number)) => *number,
        simd_json::BorrowedValue::Static(StaticNode::I64(number)) => number.cast_unsigned(),
        simd_json::BorrowedValue::Static(StaticNode::F64(number)) => number.to_bits(),
        simd_json::BorrowedValue::String(string) => text(string.as_bytes()),
        simd_json::BorrowedValue::Array(values) => values.iter().map(visit_simd).fold(0, u64::wrapping_add),
        simd_json::BorrowedValue::Object(fields) => fields
            .iter()
            .map(|(name, value)| text(name.as_bytes()).wrapping_add(visit_simd(value)))
            .fold(0, u64::wrapping_add),
    }
}

fn visit_sonic(value: &sonic_rs::Value) -> u64 {
    if let Some(string) = value.as_str() {
        return text(string.as_bytes());
    }
    if let Some(number) = value.as_u64() {
        return number;
    }
    if let Some(number) = value.as_f64() {
        return number.to_bits();
    }
    if let Some(boolean) = value.as_bool() {
        return boolean.into();
    }
    if let Some(values) = value.as_array() {
        return values.iter().map(visit_sonic).fold(0, u64::wrapping_add);
    }
    let fields = value.as_object().into_iter().flat_map(|fields| fields.iter());
    fields.map(|(name, value)| text(name.as_bytes()).wrapping_add(visit_sonic(value))).fold(0, u64::wrapping_add)
}

fn visit_message_pack(value: &rmpv::ValueRef<'_>) -> u64 {
    use rmpv::ValueRef;
    match value {
        ValueRef::Nil => 0,
        ValueRef::Boolean(boolean) => u64::from(*boolean),
        ValueRef::Integer(number) => number.as_u64().unwrap_or_default(),
        ValueRef::F32(number) => number.to_bits().into(),
        ValueRef::F64(number) => number.to_bits(),
        ValueRef::String(string) => text(string.as_bytes()),
        ValueRef::Binary(bytes) | ValueRef::Ext(_, bytes) => text(bytes),
        ValueRef::Array(values) => values.iter().map(visit_message_pack).fold(0, u64::wrapping_add),
        ValueRef::Map(pairs) => pairs
            .iter()
            .map(|(key, value)| visit_message_pack(key).wrapping_add(visit_message_pack(value)))
            .fold(0, u64::wrapping_add),
    }
}

fn visit_cbor(value: &Cbor) -> u64 {
    match value {
        Cbor::Integer(number) => u64::try_from(*number).unwrap_or_default(),
        Cbor::Bytes(bytes) => text(bytes),
        Cbor::Float(number) => number.to_bits(),
        Cbor::Text(string) => text(string.as_bytes()),
        Cbor::Bool(boolean) => u64::from(*boolean),
        Cbor::Array(values) => values.iter().map(visit_cbor).fold(0, u64::wrapping_add),
        Cbor::Map(pairs) => {
            pairs.iter().map(|(key, value)| visit_cbor(key).wrapping_add(visit_cbor(value))).fold(0, u64::wrapping_add)
        }
        _ => 0,
    }
}
