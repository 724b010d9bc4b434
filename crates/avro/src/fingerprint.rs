//! A schema's Parsing Canonical Form, the same with what it omits, and the CRC-64-AVRO of bytes.
//!
//! Source: Avro specification 1.12, "Parsing Canonical Form for Schemas" and "Schema Fingerprints".

use std::collections::HashSet;

use crate::schema::{Kind, Name, Type, TypeId};

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
    write(types, root, Form::Canonical, &mut HashSet::new(), &mut out);
    out
}

/// The canonical form of the type at `root` with logical types and aliases: schemas of one identity read every message
/// alike.
pub(crate) fn identity(types: &[Type], root: TypeId) -> String {
    let mut out = String::new();
    write(types, root, Form::Identity, &mut HashSet::new(), &mut out);
    out
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Canonical,
    Identity,
}

/// Recursion is bounded by the depth of the schema's JSON: after its first use, a named type is written as a reference.
fn write<'a>(types: &'a [Type], id: TypeId, form: Form, written: &mut HashSet<&'a str>, out: &mut String) {
    let Some(Type { kind, logical }) = types.get(id.index()) else { return };
    if let (Form::Identity, Some(logical)) = (form, logical) {
        out.push_str(&format!("{logical:?} of "));
    }
    match kind {
        Kind::Array(items) => {
            out.push_str("{\"type\":\"array\",\"items\":");
            write(types, *items, form, written, out);
            out.push('}');
        }
        Kind::Map(values) => {
            out.push_str("{\"type\":\"map\",\"values\":");
            write(types, *values, form, written, out);
            out.push('}');
        }
        Kind::Union(branches) => {
            list(branches.iter(), out, |branch, out| write(types, *branch, form, written, out));
        }
        Kind::Record(record) if written.insert(&record.name.full) => {
            named(&record.name, "record", form, out);
            out.push_str(",\"fields\":");
            list(record.fields.iter(), out, |field, out| {
                out.push_str("{\"name\":");
                quoted(&field.name, out);
                aliases(&field.aliases, form, out);
                out.push_str(",\"type\":");
                write(types, field.type_id, form, written, out);
                out.push('}');
            });
            out.push('}');
        }
        Kind::Enum(symbols) if written.insert(&symbols.name.full) => {
            named(&symbols.name, "enum", form, out);
            out.push_str(",\"symbols\":");
            list(symbols.symbols.iter(), out, |symbol, out| quoted(symbol, out));
            out.push('}');
        }
        Kind::Fixed(fixed) if written.insert(&fixed.name.full) => {
            named(&fixed.name, "fixed", form, out);
            out.push_str(&format!(",\"size\":{}}}", fixed.size));
        }
        // A primitive type, or a name that was already written.
        kind => quoted(&kind.to_string(), out),
    }
}

fn named(name: &Name, kind: &str, form: Form, out: &mut String) {
    out.push_str("{\"name\":");
    quoted(&name.full, out);
    aliases(&name.aliases, form, out);
    out.push_str(&format!(",\"type\":\"{kind}\""));
}

/// A field's aliases may be any text: they are escaped, so that different lists have different forms.
fn aliases(aliases: &[String], form: Form, out: &mut String) {
    if form == Form::Identity && !aliases.is_empty() {
        out.push_str(&format!(",\"aliases\":{aliases:?}"));
    }
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
