//! Declarations of structures, from which reading and writing in all versions follow.

// The names that declarations use: they import all of this module.
pub(super) use super::field::{self, Field, Nullable, Source, Uuid};
pub(super) use crate::read::WireError;
pub(super) use crate::write::Writer;
pub(super) use bytes::Bytes;

/// Declares structures:
///
/// ```text
/// /// Its purpose.
/// struct Name {
///     /// In all versions from 2 on.
///     first: i32 [2..],
///     /// In versions 3 and 4; -1 in others.
///     second: i64 [3..=4] = -1,
///     /// In all versions, nullable from 4 on.
///     third: Option<String> [0.., null 4],
/// } tagged {
///     /// In all flexible versions, written unless it is the default.
///     0 fourth: bool,
/// }
/// ```
///
/// Versions are those of the request or response that a structure belongs to. A field that a version lacks is read as
/// its default, and isn't written.
macro_rules! structures {
    (@default) => { Default::default() };
    (@default $default:expr) => { $default };
    (@null) => { 0 };
    (@null $null:literal) => { $null };
    ($(
        $(#[$about:meta])*
        struct $name:ident {
            $($(#[$note:meta])* $field:ident: $kind:ty [$versions:expr $(, null $null:literal)?] $(= $default:expr)?,)*
        }
        $(tagged {
            $($(#[$tagged_note:meta])* $tag:literal $tagged:ident: $tagged_kind:ty $(= $tagged_default:expr)?,)*
        })?
    )*) => {$(
        $(#[$about])*
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub struct $name {
            $($(#[$note])* #[doc = concat!("Versions `", stringify!($versions), "`.")] pub $field: $kind,)*
            $($($(#[$tagged_note])* #[doc = concat!("Tag ", stringify!($tag), ".")] pub $tagged: $tagged_kind,)*)?
        }

        impl Default for $name {
            fn default() -> $name {
                $name {
                    $($field: structures!(@default $($default)?),)*
                    $($($tagged: structures!(@default $($tagged_default)?),)*)?
                }
            }
        }

        impl Field for $name {
            fn read<S: Source>(from: &mut S, version: i16) -> Result<$name, WireError> {
                let mut read = $name::default();
                $(if ($versions).contains(&version) {
                    read.$field = field::read(from, version, structures!(@null $($null)?))?;
                })*
                from.tags(|from, tag| {
                    $($(if tag == $tag {
                        read.$tagged = Field::read(from, version)?;
                        return Ok(true);
                    })*)?
                    // Not every structure has some.
                    let _ = (from, tag);
                    Ok(false)
                })?;
                Ok(read)
            }

            fn write(&self, to: &mut Writer, version: i16) {
                $(if ($versions).contains(&version) {
                    field::write(&self.$field, to, version, structures!(@null $($null)?));
                })*
                let tags = Tags::default();
                $($(let tags = tags.with($tag, &self.$tagged, structures!(@default $($tagged_default)?), version);)*)?
                tags.write(to);
            }

            fn error(&self) -> i16 {
                field::first([
                    $(if stringify!($field) == "error_code" { self.$field.code() } else { self.$field.error() },)*
                    $($(self.$tagged.error(),)*)?
                ])
            }
        }

        impl Nullable for $name {
            fn read_nullable<S: Source>(from: &mut S, version: i16) -> Result<Option<$name>, WireError> {
                if from.is_present()? { $name::read(from, version).map(Some) } else { Ok(None) }
            }

            fn write_nullable(value: Option<&$name>, to: &mut Writer, version: i16) {
                to.i8(if value.is_some() { 1 } else { -1 });
                if let Some(value) = value {
                    value.write(to, version);
                }
            }
        }
    )*};
}

pub(super) use structures;

/// The tagged fields at a structure's end.
#[derive(Default)]
pub struct Tags {
    count: u32,
    bytes: Vec<u8>,
}

impl Tags {
    /// Adds a field, unless it has its default. The numbers ascend.
    pub fn with<T: Field + PartialEq>(self, tag: u32, value: &T, default: T, version: i16) -> Tags {
        if *value == default {
            return self;
        }
        let mut field = Writer::new(true);
        value.write(&mut field, version);
        let field = field.into_bytes();
        let mut to = Writer::after(self.bytes, true);
        to.varint(tag);
        to.varint(field.len() as u32);
        to.raw(&field);
        Tags { count: self.count + 1, bytes: to.into_bytes() }
    }

    pub fn write(self, to: &mut Writer) {
        if to.is_flexible() {
            to.varint(self.count);
            to.raw(&self.bytes);
        }
    }
}
