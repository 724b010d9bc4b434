//! The types of values.

/// The type of a value, with its tag in the format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Kind {
    /// No value.
    None = 0,
    /// True or false.
    Boolean = 1,
    /// An unsigned number.
    Count = 2,
    /// A signed number.
    Integer = 3,
    /// A floating-point number.
    Real = 4,
    /// Any bytes.
    String = 5,
    /// An address.
    Address = 6,
    /// A network.
    Subnet = 7,
    /// A port.
    Port = 8,
    /// A point in time.
    Timestamp = 9,
    /// A duration.
    Timespan = 10,
    /// An enumeration's value.
    Enum = 11,
    /// A set.
    Set = 12,
    /// A table.
    Table = 13,
    /// A vector.
    Vector = 14,
}

impl Kind {
    /// The type with this tag.
    pub fn of_tag(tag: u8) -> Option<Kind> {
        Some(match tag {
            0 => Kind::None,
            1 => Kind::Boolean,
            2 => Kind::Count,
            3 => Kind::Integer,
            4 => Kind::Real,
            5 => Kind::String,
            6 => Kind::Address,
            7 => Kind::Subnet,
            8 => Kind::Port,
            9 => Kind::Timestamp,
            10 => Kind::Timespan,
            11 => Kind::Enum,
            12 => Kind::Set,
            13 => Kind::Table,
            14 => Kind::Vector,
            _ => return None,
        })
    }

    /// The type's name in the JSON mapping, such as `enum-value`.
    pub fn name(self) -> &'static str {
        match self {
            Kind::None => "none",
            Kind::Boolean => "boolean",
            Kind::Count => "count",
            Kind::Integer => "integer",
            Kind::Real => "real",
            Kind::String => "string",
            Kind::Address => "address",
            Kind::Subnet => "subnet",
            Kind::Port => "port",
            Kind::Timestamp => "timestamp",
            Kind::Timespan => "timespan",
            Kind::Enum => "enum-value",
            Kind::Set => "set",
            Kind::Table => "table",
            Kind::Vector => "vector",
        }
    }
}
