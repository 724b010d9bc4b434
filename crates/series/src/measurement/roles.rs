//! Finds the fields of a measurement in a record, and the unit of its time.

use std::fmt;

use rawline_avro::{Kind, Logical, Record, Schema, TypeId};

/// A measurement's fields in order.
pub(super) const ROLES: [&str; 4] = ["metric", "tags", "logtime", "value"];

/// For each of [`ROLES`], the index of the field with this name, otherwise of the first field with this name as an
/// alias.
pub(super) fn roles(record: &Record) -> [Option<usize>; 4] {
    ROLES.map(|role| {
        let by_name = record.fields.iter().position(|field| field.name == role);
        by_name.or_else(|| {
            record.fields.iter().position(|field| {
                let had_it = field.aliases.iter().any(|alias| alias == role);
                had_it && !ROLES.contains(&field.name.as_str())
            })
        })
    })
}

/// The unit of a time, counted since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TimeUnit {
    Milliseconds,
    Microseconds,
    Nanoseconds,
}

impl TimeUnit {
    /// The unit of a time of this type, or the reason why it isn't a time. A plain integer counts milliseconds; in a
    /// union, all types but null must agree.
    pub fn of(schema: &Schema, id: TypeId) -> Result<Self, String> {
        if let Kind::Union(branches) = schema.kind(id) {
            let mut values = branches.iter().filter(|branch| !matches!(schema.kind(**branch), Kind::Null));
            let first = values.next().ok_or("its time is always null")?;
            let unit = Self::of_plain(schema, *first)?;
            for branch in values {
                if Self::of_plain(schema, *branch)? != unit {
                    return Err("its time has several units; make it one type".to_owned());
                }
            }
            return Ok(unit);
        }
        Self::of_plain(schema, id)
    }

    fn of_plain(schema: &Schema, id: TypeId) -> Result<Self, String> {
        match schema.type_at(id).logical {
            None | Some(Logical::TimestampMillis | Logical::LocalTimestampMillis) => Ok(Self::Milliseconds),
            Some(Logical::TimestampMicros | Logical::LocalTimestampMicros) => Ok(Self::Microseconds),
            Some(Logical::TimestampNanos | Logical::LocalTimestampNanos) => Ok(Self::Nanoseconds),
            Some(other) => {
                Err(format!("its time is a {other:?}, not a time since 1970 in milli-, micro- or nanoseconds"))
            }
        }
    }

    /// Converts a time to whole milliseconds, rounded down, also before 1970.
    pub fn to_ms(self, time: i64) -> i64 {
        match self {
            Self::Milliseconds => time,
            Self::Microseconds => time.div_euclid(1_000),
            Self::Nanoseconds => time.div_euclid(1_000_000),
        }
    }
}

impl fmt::Display for TimeUnit {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Milliseconds => "milliseconds",
            Self::Microseconds => "microseconds",
            Self::Nanoseconds => "nanoseconds",
        })
    }
}
