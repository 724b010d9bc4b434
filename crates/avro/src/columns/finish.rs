//! Turns filled columns into Arrow arrays without copying, and leaves empty columns with the same capacity.

use std::sync::Arc;

use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Decimal128Type, Decimal256Type, Float32Type, Float64Type, Int32Type, Int64Type,
    IntervalMonthDayNanoType, Time32MillisecondType, Time64MicrosecondType, TimestampMicrosecondType,
    TimestampMillisecondType, TimestampNanosecondType, UInt32Type,
};
use arrow_array::{
    Array, ArrayRef, BinaryArray, BooleanArray, DictionaryArray, FixedSizeBinaryArray, ListArray, MapArray, NullArray,
    PrimitiveArray, StringArray, StringViewArray, StructArray, UnionArray,
};
use arrow_buffer::{BooleanBufferBuilder, Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::{ArrowError, DataType, TimeUnit};

use super::column::{Column, Data, Runs, offsets, rows};

/// State shared by all text columns.
pub(super) struct Shared {
    /// The block that views point into, if any.
    pub block: Option<Buffer>,
    /// The interner's strings.
    pub strings: ArrayRef,
}

/// The column `at` as an array; the column is empty afterwards.
pub(super) fn array(columns: &mut [Column], at: u32, shared: &Shared) -> ArrayRef {
    let rows = rows(columns, at);
    let Some(Column { data, data_type, nulls, .. }) = columns.get_mut(at as usize) else {
        return Arc::new(NullArray::new(0));
    };
    let nulls = validity(nulls, rows);
    match data {
        Data::Nothing => Arc::new(NullArray::new(0)),
        Data::Null(rows) => Arc::new(NullArray::new(std::mem::take(rows))),
        Data::Boolean(values) => Arc::new(BooleanArray::new(take_bits(values), nulls)),
        Data::Int(values) => match data_type {
            DataType::Date32 => primitive::<Date32Type>(values, nulls),
            DataType::Time32(_) => primitive::<Time32MillisecondType>(values, nulls),
            _ => primitive::<Int32Type>(values, nulls),
        },
        Data::Long(values) => match data_type {
            DataType::Time64(_) => primitive::<Time64MicrosecondType>(values, nulls),
            DataType::Timestamp(TimeUnit::Millisecond, _) => {
                typed::<TimestampMillisecondType>(values, nulls, data_type)
            }
            DataType::Timestamp(TimeUnit::Microsecond, _) => {
                typed::<TimestampMicrosecondType>(values, nulls, data_type)
            }
            DataType::Timestamp(..) => typed::<TimestampNanosecondType>(values, nulls, data_type),
            _ => primitive::<Int64Type>(values, nulls),
        },
        Data::Float(values) => primitive::<Float32Type>(values, nulls),
        Data::Double(values) => primitive::<Float64Type>(values, nulls),
        Data::Runs(runs) => {
            let (offsets, data) = take_runs(runs);
            match data_type {
                DataType::Binary => Arc::new(BinaryArray::new(offsets, data, nulls)),
                // SAFETY: only `str` is appended to a text column, so the bytes between two offsets are UTF-8; the
                // offsets never decrease, and the last is the length of the bytes.
                _ => Arc::new(unsafe { StringArray::new_unchecked(offsets, data, nulls) }),
            }
        }
        Data::View(views) => {
            let blocks: Vec<Buffer> = shared.block.iter().cloned().collect();
            let views = ScalarBuffer::from(take(views));
            // SAFETY: a view is made from a `str`: it either holds the text, padded with zeros, or has the offset in
            // the block to which the text or its message was copied. A removed row's part of the block is removed with
            // it.
            Arc::new(unsafe { StringViewArray::new_unchecked(views, blocks.into(), nulls) })
        }
        Data::Id(ids) => {
            let keys = PrimitiveArray::<UInt32Type>::new(take(ids).into(), nulls);
            Arc::new(DictionaryArray::new(keys, Arc::clone(&shared.strings)))
        }
        Data::Fixed { size, data, rows } => {
            let (size, rows) = (*size as i32, std::mem::take(rows));
            built(FixedSizeBinaryArray::try_new_with_len(size, take(data).into(), nulls, rows))
        }
        Data::Uuid(values) => {
            let data = Buffer::from_vec(take(values).into_flattened());
            Arc::new(FixedSizeBinaryArray::new(16, data, nulls))
        }
        Data::Decimal128 { values, .. } => typed::<Decimal128Type>(values, nulls, data_type),
        Data::Decimal256 { values, .. } => typed::<Decimal256Type>(values, nulls, data_type),
        Data::Duration(values) => primitive::<IntervalMonthDayNanoType>(values, nulls),
        Data::Symbol { keys, symbols } => {
            let keys = PrimitiveArray::<Int32Type>::new(take(keys).into(), nulls);
            Arc::new(DictionaryArray::new(keys, Arc::clone(symbols)))
        }
        Data::List { offsets, items } => {
            let (offsets, items) = (take_offsets(offsets), *items);
            let DataType::List(field) = data_type else { return Arc::new(NullArray::new(rows)) };
            let field = Arc::clone(field);
            Arc::new(ListArray::new(field, offsets, array(columns, items, shared), nulls))
        }
        Data::Map { offsets, keys } => {
            let (offsets, keys) = (take_offsets(offsets), *keys);
            let DataType::Map(field, _) = data_type else { return Arc::new(NullArray::new(rows)) };
            let field = Arc::clone(field);
            let DataType::Struct(fields) = field.data_type() else { return Arc::new(NullArray::new(rows)) };
            let arrays = vec![array(columns, keys, shared), array(columns, keys + 1, shared)];
            let entries = StructArray::new(fields.clone(), arrays, None);
            Arc::new(MapArray::new(field, offsets, entries, nulls, false))
        }
        Data::Record { .. } => Arc::new(record(columns, at, shared, nulls)),
        Data::Union { types, offsets, first } => {
            let (types, offsets, first) = (take(types), take(offsets), *first);
            let DataType::Union(fields, _) = data_type else { return Arc::new(NullArray::new(rows)) };
            let fields = fields.clone();
            let children = (first..).take(fields.len()).map(|child| array(columns, child, shared)).collect();
            built(UnionArray::try_new(fields, types.into(), Some(offsets.into()), children))
        }
        Data::Nullable { value, .. } => {
            let value = *value;
            array(columns, value, shared)
        }
    }
}

/// The record column `at` as an array.
pub(super) fn record(columns: &mut [Column], at: u32, shared: &Shared, nulls: Option<NullBuffer>) -> StructArray {
    let Some(Column { data: Data::Record { first, count, rows }, data_type: DataType::Struct(fields), .. }) =
        columns.get_mut(at as usize)
    else {
        return StructArray::new_empty_fields(0, None);
    };
    let (first, count, rows, fields) = (*first, *count, std::mem::take(rows), fields.clone());
    let arrays: Vec<_> = (first..first + count).map(|child| array(columns, child, shared)).collect();
    match arrays.is_empty() {
        true => StructArray::new_empty_fields(rows, nulls),
        false => StructArray::new(fields, arrays, nulls),
    }
}

/// Takes the list, and leaves an empty one with slightly more capacity.
pub(super) fn take<T>(values: &mut Vec<T>) -> Vec<T> {
    let room = values.len() + values.len() / 8;
    std::mem::replace(values, Vec::with_capacity(room))
}

fn take_offsets(full: &mut Vec<i32>) -> OffsetBuffer<i32> {
    let rows = full.len();
    offset_buffer(std::mem::replace(full, offsets(rows + rows / 8)))
}

fn offset_buffer(offsets: Vec<i32>) -> OffsetBuffer<i32> {
    // SAFETY: the first offset is 0, and each of the others is the previous one plus a non-negative number.
    unsafe { OffsetBuffer::new_unchecked(offsets.into()) }
}

fn take_runs(runs: &mut Runs) -> (OffsetBuffer<i32>, Buffer) {
    let (offsets, data) = runs.take().into_parts();
    (offset_buffer(offsets), data.into())
}

fn take_bits(bits: &mut BooleanBufferBuilder) -> arrow_buffer::BooleanBuffer {
    let room = bits.len() + bits.len() / 8;
    std::mem::replace(bits, BooleanBufferBuilder::new(room)).build()
}

/// Validity of all rows; `None` if no row is null.
fn validity(nulls: &mut BooleanBufferBuilder, rows: usize) -> Option<NullBuffer> {
    if nulls.is_empty() {
        return None;
    }
    nulls.append_n(rows - nulls.len(), true);
    Some(NullBuffer::new(take_bits(nulls)))
}

fn primitive<T: ArrowPrimitiveType>(values: &mut Vec<T::Native>, nulls: Option<NullBuffer>) -> ArrayRef {
    Arc::new(PrimitiveArray::<T>::new(take(values).into(), nulls))
}

/// A primitive array whose type has a time zone or a precision.
fn typed<T: ArrowPrimitiveType>(
    values: &mut Vec<T::Native>,
    nulls: Option<NullBuffer>,
    data_type: &DataType,
) -> ArrayRef {
    Arc::new(PrimitiveArray::<T>::new(take(values).into(), nulls).with_data_type(data_type.clone()))
}

/// Creates an array; asserts that its parts are consistent.
fn built(array: Result<impl Array + 'static, ArrowError>) -> ArrayRef {
    match array {
        Ok(array) => Arc::new(array),
        Err(error) => unreachable!("the columns fit their types: {error}"),
    }
}
