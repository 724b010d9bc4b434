//! A schema's Parsing Canonical Form and the CRC-64-AVRO of bytes.
//!
//! Source: Avro specification 1.12, "Parsing Canonical Form for Schemas" and "Schema Fingerprints".

use std::collections::HashSet;

use crate::schema::{Kind, Type, TypeId};

/// The fingerprint of empty input, which is also the polynomial.
const EMPTY: u64 = 0xc15d_213a_a4d7_a795;

const TABLE: [u64; 256] = {
    let mut table = [0; 256];
    let mut i = 0;
    while i < 256 {
        let mut value = i as u64;
        let mut bit = 0;
        while bit < 8 {
            value = (value >> 1) ^ (EMPTY & (value & 1).wrapping_neg());
            bit += 1;
        }
        #[allow(clippy::indexing_slicing)] // In a constant: a wrong index does not compile.
        {
            table[i] = value;
        }
        i += 1;
    }
    table
};

pub(crate) fn crc64(bytes: &[u8]) -> u64 {
    bytes.iter().fold(EMPTY, |crc, byte| {
        let index = (crc ^ u64::from(*byte)) & 0xff;
        (crc >> 8) ^ TABLE.get(index as usize).copied().unwrap_or_default()
    })
}

/// The canonical form of the type at `root`.
pub(crate) fn canonical(types: &[Type], root: TypeId) -> String {
    let mut out = String::new();
    write(types, root, &mut HashSet::new(), &mut out);
    out
}

/// Recursion is bounded by the depth of the schema's JSON: after its first use, a named type is written as a reference.
fn write<'a>(types: &'a [Type], id: TypeId, written: &mut HashSet<&'a str>, out: &mut String) {
    let Some(Type { kind, .. }) = types.get(id.index()) else { return };
    match kind {
        Kind::Array(items) => {
            out.push_str("{\"type\":\"array\",\"items\":");
            write(types, *items, written, out);
            out.push('}');
        }
        Kind::Map(values) => {
            out.push_str("{\"type\":\"map\",\"values\":");
            write(types, *values, written, out);
            out.push('}');
        }
        Kind::Union(branches) => {
            list(branches.iter(), out, |branch, out| write(types, *branch, written, out));
        }
        Kind::Record(record) if written.insert(&record.name.full) => {
            named(&record.name.full, "record", out);
            out.push_str(",\"fields\":");
            list(record.fields.iter(), out, |field, out| {
                out.push_str("{\"name\":");
                quoted(&field.name, out);
                out.push_str(",\"type\":");
                write(types, field.type_id, written, out);
                out.push('}');
            });
            out.push('}');
        }
        Kind::Enum(symbols) if written.insert(&symbols.name.full) => {
            named(&symbols.name.full, "enum", out);
            out.push_str(",\"symbols\":");
            list(symbols.symbols.iter(), out, |symbol, out| quoted(symbol, out));
            out.push('}');
        }
        Kind::Fixed(fixed) if written.insert(&fixed.name.full) => {
            named(&fixed.name.full, "fixed", out);
            out.push_str(&format!(",\"size\":{}}}", fixed.size));
        }
        // A primitive type, or a name that was already written.
        kind => quoted(&kind.to_string(), out),
    }
}

fn named(name: &str, kind: &str, out: &mut String) {
    out.push_str("{\"name\":");
    quoted(name, out);
    out.push_str(&format!(",\"type\":\"{kind}\""));
}

fn list<T>(items: impl Iterator<Item = T>, out: &mut String, mut write: impl FnMut(T, &mut String)) {
    out.push('[');
    for (i, item) in items.enumerate() {
        if i > 0 {
            out.push(',');
        }
        write(item, out);
    }
    out.push(']');
}

/// No character of a name needs escaping in JSON.
fn quoted(name: &str, out: &mut String) {
    out.push('"');
    out.push_str(name);
    out.push('"');
}
