//! Encodes a decoded value with its own schema.

use crate::datum::Datum;
use crate::item::Item;
use crate::write::{bytes, long};

impl Datum<'_, '_> {
    /// Appends the value, encoded with its own schema, the reader's.
    ///
    /// Recurses for each level; the plan's limits bound the depth.
    pub fn encode(&self, out: &mut Vec<u8>) {
        match self.item() {
            Item::Null => {}
            Item::Boolean(value) => out.push(u8::from(value)),
            Item::Int(value) => long(out, i64::from(value)),
            Item::Long(value) => long(out, value),
            Item::Float(value) => out.extend_from_slice(&value.to_le_bytes()),
            Item::Double(value) => out.extend_from_slice(&value.to_le_bytes()),
            Item::Bytes(value) => bytes(out, value),
            Item::Fixed(value) => out.extend_from_slice(value),
            Item::String(value) => bytes(out, value.as_bytes()),
            Item::Symbol(value) => long(out, i64::from(value)),
            Item::Record { .. } => self.fields().for_each(|(_, field)| field.encode(out)),
            Item::Array { count, .. } => {
                long(out, i64::from(count));
                self.elements().for_each(|element| element.encode(out));
                if count > 0 {
                    out.push(0);
                }
            }
            Item::Map { count, .. } => {
                long(out, i64::from(count));
                for (key, value) in self.entries() {
                    bytes(out, key.as_bytes());
                    value.encode(out);
                }
                if count > 0 {
                    out.push(0);
                }
            }
            Item::Union { branch, .. } => {
                long(out, i64::from(branch));
                self.plain().encode(out);
            }
        }
    }
}
