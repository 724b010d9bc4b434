//! Encodes the defaults of a schema's fields, inner records first.

use serde_json::Value;

use crate::error::{EncodeError, SchemaError};
use crate::json;
use crate::schema::{Kind, Schema, Type, TypeId};

/// Bytes written and fields visited for all defaults of a schema. A default may contain the defaults of nested records,
/// so a few kilobytes of JSON could expand to more than any machine's memory. Real schemas need thousands.
pub(crate) const DEFAULTS_WORK_MAX: u64 = 1 << 24;

/// A default as given in the schema's JSON.
pub(crate) struct Given<'j> {
    pub record: TypeId,
    /// The field's index within the record.
    pub field: usize,
    pub value: &'j Value,
}

/// Encodes the defaults and stores them in their fields.
pub(crate) fn set(schema: &mut Schema, given: Vec<Given<'_>>) -> Result<(), SchemaError> {
    let mut work_left = DEFAULTS_WORK_MAX;
    let mut pending = given;
    // One pass is enough, unless a default of a recursive record omits a field that is defined later.
    while !pending.is_empty() {
        let count = pending.len();
        let mut refused = Vec::new();
        let mut first = None;
        for given in pending {
            match encode(schema, &given, &mut work_left) {
                Ok(bytes) => put(schema, &given, bytes),
                Err(error) if work_left == 0 => return Err(error),
                Err(error) => {
                    first.get_or_insert(error);
                    refused.push(given);
                }
            }
        }
        if let Some(error) = first.filter(|_| refused.len() == count) {
            return Err(error);
        }
        pending = refused;
    }
    Ok(())
}

fn encode(schema: &Schema, given: &Given<'_>, work_left: &mut u64) -> Result<Vec<u8>, SchemaError> {
    let Kind::Record(record) = schema.kind(given.record) else {
        unreachable!("the default of a field of {}, which has no fields", schema.kind(given.record))
    };
    let refuse = |name: &str, error: EncodeError| SchemaError::Default {
        record: record.name.full.clone(),
        field: name.to_owned(),
        error,
    };
    let field = record.fields.get(given.field);
    let field = field.unwrap_or_else(|| unreachable!("field {} of {}", given.field, record.name.full));
    let mut bytes = Vec::new();
    let encoded = json::encode_default(schema, field.type_id, given.value, work_left, &mut bytes);
    encoded.map(|()| bytes).map_err(|error| refuse(&field.name, error))
}

fn put(schema: &mut Schema, given: &Given<'_>, bytes: Vec<u8>) {
    if let Some(Type { kind: Kind::Record(record), .. }) = schema.types.get_mut(given.record.index())
        && let Some(field) = record.fields.get_mut(given.field)
    {
        field.default = Some(bytes.into());
    }
}
