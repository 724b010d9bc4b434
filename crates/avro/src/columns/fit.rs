//! Decides how a column is written as a type, once per batch.

use std::borrow::Cow;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Decimal128Type, Decimal256Type, Float32Type, Float64Type, Int8Type, Int16Type,
    Int32Type, Int64Type, Time32MillisecondType, Time64MicrosecondType, TimestampMicrosecondType,
    TimestampMillisecondType, TimestampNanosecondType, UInt8Type, UInt16Type, UInt32Type,
};
use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType, IntervalUnit, TimeUnit};

use super::ColumnsError;
use super::encode::Writer;
use crate::schema::{Enum, Kind, Logical, Record, Schema, Type, TypeId};

/// Decides how rows are written as `record` from columns with these names.
pub(super) fn record<'a, 'n>(
    schema: &'a Schema,
    record: &'a Record,
    columns: impl Iterator<Item = (&'n str, &'a ArrayRef)>,
) -> Result<Writer<'a>, ColumnsError> {
    let columns: Vec<_> = columns.collect();
    if let Some((name, _)) = columns.iter().find(|(name, _)| record.fields.iter().all(|field| field.name != *name)) {
        let reason = format!("the column {name:?} isn't a field of {}; drop it, or add the field", record.name.full);
        return Err(ColumnsError::new(&reason));
    }
    let fields = record.fields.iter().map(|field| {
        let name = field.name.as_str();
        let writer = match (columns.iter().find(|(of, _)| *of == name), field.default.as_deref()) {
            (Some((_, array)), _) => column(schema, field.type_id, array),
            (None, Some(default)) => Ok(Writer::Default(default)),
            (None, None) => Err(ColumnsError::new("it has neither a column nor a default; add one of them")),
        };
        Ok((name, writer.map_err(|error| error.within(name))?))
    });
    Ok(Writer::Record(fields.collect::<Result<_, _>>()?))
}

/// Decides how rows are written as the type `id` from `array`.
pub(super) fn column<'a>(schema: &'a Schema, id: TypeId, array: &'a ArrayRef) -> Result<Writer<'a>, ColumnsError> {
    let nulls = array.logical_nulls().filter(|nulls| nulls.null_count() > 0);
    match schema.kind(id) {
        Kind::Null if *array.data_type() == DataType::Null => Ok(Writer::Null),
        Kind::Union(branches) if matches!(array.data_type(), DataType::Union(..)) => union(schema, branches, array),
        Kind::Union(branches) => {
            let null = branches.iter().position(|id| matches!(schema.kind(*id), Kind::Null));
            if let (DataType::Null, Some(branch)) = (array.data_type(), null) {
                return Ok(Writer::Branch { branch: branch as i64, value: Box::new(Writer::Null) });
            }
            let mut refusal = None;
            for (branch, id) in (0..).zip(branches) {
                match plain(schema, *id, array) {
                    Ok(value) => {
                        let value = Box::new(Writer::Branch { branch, value: Box::new(value) });
                        return Ok(match (nulls, null) {
                            (None, _) => *value,
                            (Some(nulls), Some(null)) => Writer::Nullable { nulls, null_branch: null as i64, value },
                            (Some(nulls), None) => Writer::Whole { nulls, value },
                        });
                    }
                    // Reports the intended type's error, not null's.
                    Err(error) if Some(branch as usize) != null => drop(refusal.get_or_insert(error)),
                    Err(_) => {}
                }
            }
            Err(refusal.unwrap_or_else(|| ColumnsError::new("its union has no branch for a value; add one")))
        }
        _ => {
            let value = plain(schema, id, array)?;
            Ok(match nulls {
                Some(nulls) => Writer::Whole { nulls, value: Box::new(value) },
                None => value,
            })
        }
    }
}

fn union<'a>(schema: &'a Schema, branches: &'a [TypeId], array: &'a ArrayRef) -> Result<Writer<'a>, ColumnsError> {
    let DataType::Union(fields, _) = array.data_type() else { return Err(mismatch("a union", array)) };
    if fields.len() != branches.len() {
        let reason = format!("its union has {} branches, its column {}; make both equal", branches.len(), fields.len());
        return Err(ColumnsError::new(&reason));
    }
    let array = array.as_union();
    let branches = branches
        .iter()
        .zip(fields.iter())
        .map(|(id, (type_id, _))| Ok((type_id, column(schema, *id, array.child(type_id))?)));
    Ok(Writer::Union { array, branches: branches.collect::<Result<_, _>>()? })
}

/// Decides how non-null values are written.
fn plain<'a>(schema: &'a Schema, id: TypeId, array: &'a ArrayRef) -> Result<Writer<'a>, ColumnsError> {
    let Type { kind, logical } = schema.type_at(id);
    if let DataType::Dictionary(..) = array.data_type()
        && !matches!(kind, Kind::Enum(_))
    {
        let dictionary = array.as_any_dictionary();
        let values = plain(schema, id, dictionary.values())?;
        let keys = if dictionary.values().is_empty() { Vec::new() } else { dictionary.normalized_keys() };
        return Ok(Writer::Keyed { keys, values: Box::new(values) });
    }
    let writer = match (kind, array.data_type()) {
        (Kind::Boolean, DataType::Boolean) => Writer::Boolean(array.as_boolean()),
        (Kind::Int, of) => Writer::Int(match (logical, of) {
            (Some(Logical::Date), DataType::Date32) => values::<Date32Type>(array),
            (Some(Logical::TimeMillis), DataType::Time32(TimeUnit::Millisecond)) => {
                values::<Time32MillisecondType>(array)
            }
            (_, DataType::Int32) => values::<Int32Type>(array),
            (_, DataType::Int16) => widened::<Int16Type, _>(array),
            (_, DataType::Int8) => widened::<Int8Type, _>(array),
            (_, DataType::UInt16) => widened::<UInt16Type, _>(array),
            (_, DataType::UInt8) => widened::<UInt8Type, _>(array),
            _ => return Err(mismatch(&name(kind, *logical), array)),
        }),
        (Kind::Long, of) => Writer::Long(match (logical, of) {
            (Some(Logical::TimeMicros), DataType::Time64(TimeUnit::Microsecond)) => {
                values::<Time64MicrosecondType>(array)
            }
            (Some(Logical::TimestampMillis), DataType::Timestamp(TimeUnit::Millisecond, Some(_)))
            | (Some(Logical::LocalTimestampMillis), DataType::Timestamp(TimeUnit::Millisecond, None)) => {
                values::<TimestampMillisecondType>(array)
            }
            (Some(Logical::TimestampMicros), DataType::Timestamp(TimeUnit::Microsecond, Some(_)))
            | (Some(Logical::LocalTimestampMicros), DataType::Timestamp(TimeUnit::Microsecond, None)) => {
                values::<TimestampMicrosecondType>(array)
            }
            (Some(Logical::TimestampNanos), DataType::Timestamp(TimeUnit::Nanosecond, Some(_)))
            | (Some(Logical::LocalTimestampNanos), DataType::Timestamp(TimeUnit::Nanosecond, None)) => {
                values::<TimestampNanosecondType>(array)
            }
            (_, DataType::Int64) => values::<Int64Type>(array),
            (_, DataType::Int32) => widened::<Int32Type, _>(array),
            (_, DataType::Int16) => widened::<Int16Type, _>(array),
            (_, DataType::Int8) => widened::<Int8Type, _>(array),
            (_, DataType::UInt32) => widened::<UInt32Type, _>(array),
            (_, DataType::UInt16) => widened::<UInt16Type, _>(array),
            (_, DataType::UInt8) => widened::<UInt8Type, _>(array),
            _ => return Err(mismatch(&name(kind, *logical), array)),
        }),
        (Kind::Float, DataType::Float32) => Writer::Float(array.as_primitive::<Float32Type>().values()),
        (Kind::Double, DataType::Float64) => Writer::Double(values::<Float64Type>(array)),
        (Kind::Double, DataType::Float32) => Writer::Double(widened::<Float32Type, _>(array)),
        (Kind::Bytes | Kind::Fixed(_), DataType::Decimal128(digits, of)) if is_decimal(*logical, *digits, *of) => {
            Writer::Decimal128 { values: array.as_primitive::<Decimal128Type>().values(), size: size(kind) }
        }
        (Kind::Bytes | Kind::Fixed(_), DataType::Decimal256(digits, of)) if is_decimal(*logical, *digits, *of) => {
            Writer::Decimal256 { values: array.as_primitive::<Decimal256Type>().values(), size: size(kind) }
        }
        (Kind::String, DataType::FixedSizeBinary(16)) if *logical == Some(Logical::Uuid) => {
            Writer::UuidText(array.as_fixed_size_binary())
        }
        (Kind::Bytes, DataType::FixedSizeBinary(16)) if *logical == Some(Logical::Uuid) => {
            Writer::UuidBytes(array.as_fixed_size_binary())
        }
        (Kind::Bytes, DataType::Binary) => Writer::Binary(array.as_binary()),
        (Kind::Bytes, DataType::LargeBinary) => Writer::LargeBinary(array.as_binary()),
        (Kind::String, DataType::Utf8) => Writer::Text(array.as_string()),
        (Kind::String, DataType::LargeUtf8) => Writer::LargeText(array.as_string()),
        (Kind::String, DataType::Utf8View) => Writer::View(array.as_string_view()),
        (Kind::Fixed(fixed), DataType::FixedSizeBinary(size)) if usize::try_from(*size) == Ok(fixed.size) => {
            Writer::Fixed(array.as_fixed_size_binary())
        }
        (Kind::Fixed(_), DataType::Interval(IntervalUnit::MonthDayNano)) if *logical == Some(Logical::Duration) => {
            Writer::Duration(array.as_primitive())
        }
        (Kind::Enum(symbols), _) => enumeration(symbols, array)?,
        (Kind::Array(items), DataType::List(_)) => {
            let list = array.as_list::<i32>();
            let offsets = Cow::Owned(list.value_offsets().iter().copied().map(i64::from).collect());
            let values = column(schema, *items, list.values()).map_err(|error| error.within("[]"))?;
            Writer::Blocks { offsets, keys: None, values: Box::new(values) }
        }
        (Kind::Array(items), DataType::LargeList(_)) => {
            let list = array.as_list::<i64>();
            let values = column(schema, *items, list.values()).map_err(|error| error.within("[]"))?;
            Writer::Blocks { offsets: Cow::Borrowed(list.value_offsets()), keys: None, values: Box::new(values) }
        }
        (Kind::Map(values), DataType::Map(..)) => {
            let map = array.as_map();
            let offsets = Cow::Owned(map.value_offsets().iter().copied().map(i64::from).collect());
            let keys = Some(Box::new(text(map.keys())?));
            let values = column(schema, *values, map.values()).map_err(|error| error.within("value"))?;
            Writer::Blocks { offsets, keys, values: Box::new(values) }
        }
        (Kind::Record(of), DataType::Struct(fields)) => {
            let names = fields.iter().map(|field| field.name().as_str());
            record(schema, of, names.zip(array.as_struct().columns()))?
        }
        _ => return Err(mismatch(&name(kind, *logical), array)),
    };
    Ok(writer)
}

fn text(array: &ArrayRef) -> Result<Writer<'_>, ColumnsError> {
    Ok(match array.data_type() {
        DataType::Utf8 => Writer::Text(array.as_string()),
        DataType::LargeUtf8 => Writer::LargeText(array.as_string()),
        DataType::Utf8View => Writer::View(array.as_string_view()),
        DataType::Dictionary(..) => {
            let dictionary = array.as_any_dictionary();
            let values = Box::new(text(dictionary.values())?);
            let keys = if dictionary.values().is_empty() { Vec::new() } else { dictionary.normalized_keys() };
            Writer::Keyed { keys, values }
        }
        _ => return Err(mismatch("string", array)),
    })
}

/// Symbols by text; each entry of a dictionary is looked up once.
fn enumeration<'a>(symbols: &Enum, array: &'a ArrayRef) -> Result<Writer<'a>, ColumnsError> {
    let find = |text: &str| {
        let at = symbols.symbols.iter().position(|symbol| symbol == text);
        at.and_then(|at| u32::try_from(at).ok())
    };
    let all = |array: &ArrayRef| -> Result<Vec<Option<u32>>, ColumnsError> {
        Ok(match array.data_type() {
            DataType::Utf8 => array.as_string::<i32>().iter().map(|text| text.and_then(find)).collect(),
            DataType::LargeUtf8 => array.as_string::<i64>().iter().map(|text| text.and_then(find)).collect(),
            DataType::Utf8View => array.as_string_view().iter().map(|text| text.and_then(find)).collect(),
            _ => return Err(mismatch(&symbols.name.full, array)),
        })
    };
    let DataType::Dictionary(..) = array.data_type() else { return Ok(Writer::Symbols(all(array)?)) };
    let dictionary = array.as_any_dictionary();
    let known = all(dictionary.values())?;
    let keys = if known.is_empty() { Vec::new() } else { dictionary.normalized_keys() };
    Ok(Writer::Symbols(keys.iter().map(|key| known.get(*key).copied().flatten()).collect()))
}

fn values<T: ArrowPrimitiveType>(array: &ArrayRef) -> Cow<'_, [T::Native]> {
    Cow::Borrowed(array.as_primitive::<T>().values())
}

fn widened<'a, T: ArrowPrimitiveType, W: From<T::Native> + Clone>(array: &ArrayRef) -> Cow<'a, [W]> {
    Cow::Owned(array.as_primitive::<T>().values().iter().copied().map(W::from).collect())
}

fn is_decimal(logical: Option<Logical>, digits: u8, of: i8) -> bool {
    matches!(logical, Some(Logical::Decimal { precision, scale })
        if i64::from(scale) == i64::from(of) && u32::from(digits) <= precision)
}

fn size(kind: &Kind) -> Option<usize> {
    match kind {
        Kind::Fixed(fixed) => Some(fixed.size),
        _ => None,
    }
}

fn name(kind: &Kind, logical: Option<Logical>) -> String {
    logical.map_or_else(|| kind.to_string(), |logical| format!("{kind} ({logical:?})"))
}

fn mismatch(wanted: &str, array: &ArrayRef) -> ColumnsError {
    let reason =
        format!("a column of {} can't be written as {wanted}; cast it, or change the schema", array.data_type());
    ColumnsError::new(&reason)
}
