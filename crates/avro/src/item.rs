//! An item of a row's list: a scalar, or the position of a value's parts.

/// A scalar, or the position of a value's parts.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Item<'m> {
    Null,
    Boolean(bool),
    Int(i32),
    Long(i64),
    Float(f32),
    Double(f64),
    Bytes(&'m [u8]),
    Fixed(&'m [u8]),
    String(&'m str),
    Symbol(u32),
    /// Its slots begin at `begin`; it and all its parts end before `end`.
    Record {
        begin: u32,
        end: u32,
    },
    Array {
        begin: u32,
        end: u32,
        count: u32,
    },
    /// Each entry is a key and a value.
    Map {
        begin: u32,
        end: u32,
        count: u32,
    },
    /// The value is at `begin`.
    Union {
        begin: u32,
        end: u32,
        branch: u32,
    },
}
