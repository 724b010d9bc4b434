//! Encodes columns as messages: each row is written directly from its columns.

use std::borrow::Cow;
use std::sync::Arc;

use arrow_array::types::IntervalMonthDayNanoType;
use arrow_array::{BinaryArray, BooleanArray, FixedSizeBinaryArray, LargeBinaryArray, LargeStringArray};
use arrow_array::{PrimitiveArray, RecordBatch, StringArray, StringViewArray, UnionArray};
use arrow_buffer::{NullBuffer, i256};

use super::{ColumnsError, fit, logical};
use crate::schema::{Kind, Schema};
use crate::write::{bytes, long};

/// Concatenated messages, in the layout of a batch of records.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Encoded {
    /// Length of each message in bytes.
    pub sizes: Vec<u32>,
    /// The messages.
    pub data: Vec<u8>,
}

impl Encoded {
    /// Each message's bytes.
    pub fn messages(&self) -> impl Iterator<Item = &[u8]> {
        self.sizes.iter().scan(self.data.as_slice(), |rest, size| {
            let message;
            (message, *rest) = rest.split_at_checked(*size as usize)?;
            Some(message)
        })
    }

    /// Removes all messages and keeps the memory.
    pub fn clear(&mut self) {
        self.sizes.clear();
        self.data.clear();
    }
}

/// Encodes rows as bare datums of one schema.
///
/// It accepts the types that [`super::ColumnDecoder`] creates, and also narrower integers and floats, large strings,
/// bytes and lists, and any column that matches a branch of a union. A record's fields are matched by name; a field
/// without a column needs a default, and a column without a field is an error.
#[derive(Debug, Clone)]
pub struct ColumnEncoder {
    schema: Arc<Schema>,
}

impl ColumnEncoder {
    /// Creates an encoder of messages of `schema`. Messages that aren't records are taken from a column named `value`.
    pub fn new(schema: Arc<Schema>) -> Self {
        Self { schema }
    }

    /// Appends the batch's rows to `out`; appends nothing if one of them doesn't match the schema.
    pub fn encode(&self, batch: &RecordBatch, out: &mut Encoded) -> Result<(), ColumnsError> {
        let root = self.schema.root();
        let writer = match self.schema.kind(root) {
            Kind::Record(record) => {
                let schema = batch.schema();
                let names = schema.fields().iter().map(|field| field.name().as_str());
                fit::record(&self.schema, record, names.zip(batch.columns()))
            }
            _ => match batch.column_by_name("value") {
                Some(column) if batch.num_columns() == 1 => fit::column(&self.schema, root, column),
                _ => Err(ColumnsError::new("a schema that isn't a record needs one column, named `value`")),
            },
        }?;
        let before = (out.sizes.len(), out.data.len());
        out.sizes.reserve(batch.num_rows());
        for row in 0..batch.num_rows() {
            let begin = out.data.len();
            let size = writer.write(row, &mut out.data).and_then(|()| {
                u32::try_from(out.data.len() - begin)
                    .map_err(|_| ColumnsError::new("the message has 4 GiB or more; split it"))
            });
            match size {
                Ok(size) => out.sizes.push(size),
                Err(error) => {
                    out.sizes.truncate(before.0);
                    out.data.truncate(before.1);
                    return Err(ColumnsError { reason: format!("row {row}: {}", error.reason), ..error });
                }
            }
        }
        Ok(())
    }
}

/// A column, ready to be written as one type.
pub(super) enum Writer<'a> {
    Null,
    Boolean(&'a BooleanArray),
    Int(Cow<'a, [i32]>),
    Long(Cow<'a, [i64]>),
    Float(&'a [f32]),
    Double(Cow<'a, [f64]>),
    Text(&'a StringArray),
    LargeText(&'a LargeStringArray),
    View(&'a StringViewArray),
    Binary(&'a BinaryArray),
    LargeBinary(&'a LargeBinaryArray),
    /// A dictionary's keys and values.
    Keyed {
        keys: Vec<usize>,
        values: Box<Writer<'a>>,
    },
    /// The symbol of each row.
    Symbols(Vec<Option<u32>>),
    Fixed(&'a FixedSizeBinaryArray),
    UuidText(&'a FixedSizeBinaryArray),
    UuidBytes(&'a FixedSizeBinaryArray),
    Duration(&'a PrimitiveArray<IntervalMonthDayNanoType>),
    Decimal128 {
        values: &'a [i128],
        size: Option<usize>,
    },
    Decimal256 {
        values: &'a [i256],
        size: Option<usize>,
    },
    /// Elements, or a map's entries if there are keys.
    Blocks {
        offsets: Cow<'a, [i64]>,
        keys: Option<Box<Writer<'a>>>,
        values: Box<Writer<'a>>,
    },
    Record(Vec<(&'a str, Writer<'a>)>),
    Default(&'a [u8]),
    Branch {
        branch: i64,
        value: Box<Writer<'a>>,
    },
    /// Branches by type id, each with the column of its values.
    Union {
        array: &'a UnionArray,
        branches: Vec<(i8, Writer<'a>)>,
    },
    /// Null rows write a union's null branch.
    Nullable {
        nulls: NullBuffer,
        null_branch: i64,
        value: Box<Writer<'a>>,
    },
    /// Null rows are an error, since the schema doesn't allow nulls.
    Whole {
        nulls: NullBuffer,
        value: Box<Writer<'a>>,
    },
}

impl Writer<'_> {
    /// Appends the value at `row`.
    pub fn write(&self, row: usize, out: &mut Vec<u8>) -> Result<(), ColumnsError> {
        match self {
            Self::Null => {}
            Self::Boolean(array) => out.push(u8::from(array.value(row))),
            Self::Int(values) => long(out, i64::from(at(values, row))),
            Self::Long(values) => long(out, at(values, row)),
            Self::Float(values) => out.extend_from_slice(&at(values, row).to_le_bytes()),
            Self::Double(values) => out.extend_from_slice(&at(values, row).to_le_bytes()),
            Self::Text(array) => bytes(out, array.value(row).as_bytes()),
            Self::LargeText(array) => bytes(out, array.value(row).as_bytes()),
            Self::View(array) => bytes(out, array.value(row).as_bytes()),
            Self::Binary(array) => bytes(out, array.value(row)),
            Self::LargeBinary(array) => bytes(out, array.value(row)),
            Self::Keyed { keys, values } => return values.write(at(keys, row), out),
            Self::Symbols(symbols) => match at(symbols, row) {
                Some(symbol) => long(out, i64::from(symbol)),
                None => {
                    return Err(ColumnsError::new("its text isn't a symbol of the enum; add the symbol to the schema"));
                }
            },
            Self::Fixed(array) => out.extend_from_slice(array.value(row)),
            Self::UuidText(array) => {
                let uuid = array.value(row).first_chunk().copied().unwrap_or_default();
                bytes(out, &logical::uuid_to_text(&uuid));
            }
            Self::UuidBytes(array) => bytes(out, array.value(row)),
            Self::Duration(array) => {
                let value = array.value(row);
                let parts = logical::duration_of(value.months, value.days, value.nanoseconds);
                let Some(parts) = parts else {
                    return Err(ColumnsError::new(
                        "its interval is negative or finer than a millisecond; an Avro duration can't hold it",
                    ));
                };
                out.extend_from_slice(&parts);
            }
            Self::Decimal128 { values, size } => decimal(&at(values, row).to_be_bytes(), *size, out)?,
            Self::Decimal256 { values, size } => decimal(&at(values, row).to_be_bytes(), *size, out)?,
            Self::Blocks { offsets, keys, values } => return blocks(offsets, keys.as_deref(), values, row, out),
            Self::Record(fields) => {
                for (name, field) in fields {
                    field.write(row, out).map_err(|error| error.within(name))?;
                }
            }
            Self::Default(value) => out.extend_from_slice(value),
            Self::Branch { branch, value } => {
                long(out, *branch);
                return value.write(row, out);
            }
            Self::Union { array, branches } => {
                let id = array.type_id(row);
                for (branch, (_, value)) in (0..).zip(branches).filter(|(_, (of, _))| *of == id) {
                    long(out, branch);
                    value.write(array.value_offset(row), out)?;
                }
            }
            Self::Nullable { nulls, null_branch, value } => match nulls.is_null(row) {
                true => long(out, *null_branch),
                false => return value.write(row, out),
            },
            Self::Whole { nulls, value } => match nulls.is_null(row) {
                true => {
                    return Err(ColumnsError::new(
                        "it is null, but its type isn't nullable; make the type a union with null, or set a value",
                    ));
                }
                false => return value.write(row, out),
            },
        }
        Ok(())
    }
}

fn at<T: Copy + Default>(values: &[T], row: usize) -> T {
    values.get(row).copied().unwrap_or_default()
}

fn blocks(
    offsets: &[i64],
    keys: Option<&Writer>,
    values: &Writer,
    row: usize,
    out: &mut Vec<u8>,
) -> Result<(), ColumnsError> {
    let (begin, end) = (at(offsets, row), at(offsets, row + 1));
    if end > begin {
        long(out, end - begin);
        for element in begin as usize..end as usize {
            if let Some(keys) = keys {
                keys.write(element, out)?;
            }
            values.write(element, out).map_err(|error| error.within(if keys.is_some() { "value" } else { "[]" }))?;
        }
    }
    out.push(0);
    Ok(())
}

/// A decimal's bytes, as few as possible or exactly `size`.
fn decimal(number: &[u8], size: Option<usize>, out: &mut Vec<u8>) -> Result<(), ColumnsError> {
    let short = logical::shortest(number);
    let Some(size) = size else {
        bytes(out, short);
        return Ok(());
    };
    let Some(missing) = size.checked_sub(short.len()) else {
        return Err(ColumnsError::new("its decimal needs more bytes than its fixed type has; make the type larger"));
    };
    let fill = if short.first().is_some_and(|first| first & 0x80 != 0) { 0xff } else { 0 };
    out.resize(out.len() + missing, fill);
    out.extend_from_slice(short);
    Ok(())
}
