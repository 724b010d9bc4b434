//! The order of values in a view: that of the values.

use crate::value::{reals, reals_loose};
use crate::{Kind, Value, Variant};
use std::cmp::Ordering;

/// Compares views as [`values`] compares the same values.
pub(crate) fn variants(left: &Variant<'_>, right: &Variant<'_>) -> Ordering {
    variants_by(left, right, reals)
}

/// Whether the right of two neighbours sorts after the left and isn't a duplicate of it.
#[inline]
pub(crate) fn variants_ascend(left: &Variant<'_>, right: &Variant<'_>) -> bool {
    if let (Some(left), Some(right)) = (left.as_string(), right.as_string()) {
        // Most neighbours differ in their first bytes, which saves a call.
        return match (left.first_chunk::<4>(), right.first_chunk::<4>()) {
            (Some(left), Some(right)) if left != right => u32::from_be_bytes(*left) < u32::from_be_bytes(*right),
            _ => left < right,
        };
    }
    variants(left, right) == Ordering::Less && !duplicate_variants(left, right)
}

/// Whether two neighbours in ascending order count as duplicates.
pub(crate) fn duplicate_variants(left: &Variant<'_>, right: &Variant<'_>) -> bool {
    variants_by(left, right, reals_loose) == Ordering::Equal
}

fn variants_by(left: &Variant<'_>, right: &Variant<'_>, reals: fn(f64, f64) -> Ordering) -> Ordering {
    let kinds = left.kind().cmp(&right.kind());
    if kinds != Ordering::Equal {
        return kinds;
    }
    match left.kind() {
        Kind::None => Ordering::Equal,
        Kind::Boolean => left.as_boolean().cmp(&right.as_boolean()),
        Kind::Real => reals(left.to_real(0.0), right.to_real(0.0)),
        Kind::Integer => left.as_integer().cmp(&right.as_integer()),
        Kind::Timestamp => left.as_timestamp().cmp(&right.as_timestamp()),
        Kind::Timespan => left.as_timespan().cmp(&right.as_timespan()),
        Kind::String => left.as_string().cmp(&right.as_string()),
        Kind::Enum => left.as_enum().cmp(&right.as_enum()),
        // The bytes of these types sort like their values.
        Kind::Count | Kind::Address | Kind::Subnet | Kind::Port => left.bytes().cmp(right.bytes()),
        Kind::Set | Kind::Table | Kind::Vector => {
            let (left, right) = (left.walk(), right.walk());
            let lengths = left.len().cmp(&right.len());
            let mut orders = left.zip(right).map(|(left, right)| variants_by(&left, &right, reals));
            orders.find(|order| *order != Ordering::Equal).unwrap_or(lengths)
        }
    }
}

/// Compares a view with a tree as [`values`] compares the same values.
pub(crate) fn variant_with_value(left: &Variant<'_>, right: &Value) -> Ordering {
    let kinds = left.kind().cmp(&right.kind());
    if kinds != Ordering::Equal {
        return kinds;
    }
    match right {
        Value::String(right) => left.to_bytes(&[]).cmp(right),
        Value::Enum(right) => left.to_enum(&[]).cmp(right),
        Value::Set(right) => with_values(left.walk(), right.iter()),
        Value::Vector(right) => with_values(left.walk(), right.iter()),
        Value::Table(right) => {
            let lengths = left.to_table().len().cmp(&right.len());
            let mut orders = left.to_table().iter().zip(right).map(|(left, right)| {
                variant_with_value(&left.0, &right.0).then_with(|| variant_with_value(&left.1, &right.1))
            });
            orders.find(|order| *order != Ordering::Equal).unwrap_or(lengths)
        }
        right => left.to_value().cmp(right),
    }
}

fn with_values<'a>(
    left: impl ExactSizeIterator<Item = Variant<'a>>,
    right: impl ExactSizeIterator<Item = &'a Value>,
) -> Ordering {
    let lengths = left.len().cmp(&right.len());
    let mut orders = left.zip(right).map(|(left, right)| variant_with_value(&left, right));
    orders.find(|order| *order != Ordering::Equal).unwrap_or(lengths)
}
