//! The laboratory's six messages as Rust types, three times: plain, with absent fields left out, and borrowed.

use std::borrow::Cow;
use std::ops::Deref;

use rawline_value::{FromValue, Step, ToValue};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::sums::sums;

/// The read fields of a message, as one number that doesn't depend on the order of reading. Every timed function
/// returns one, so that the compiler can't drop the reads, and every row must return the same one.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Sum(pub u64);

impl Sum {
    /// A whole number.
    #[inline(always)]
    pub fn int(&mut self, number: i64) {
        self.0 = self.0.wrapping_add(number as u64);
    }

    /// A number with a fraction, by its bits.
    #[inline(always)]
    pub fn real(&mut self, number: f64) {
        self.0 = self.0.wrapping_add(number.to_bits());
    }

    /// A truth value.
    #[inline(always)]
    pub fn flag(&mut self, flag: bool) {
        self.0 = self.0.wrapping_add(u64::from(flag));
    }

    /// A string: its length, its first byte and its last.
    #[inline(always)]
    pub fn text(&mut self, text: &str) {
        self.bytes(text.as_bytes());
    }

    /// A string's bytes.
    #[inline(always)]
    pub fn bytes(&mut self, text: &[u8]) {
        if let (Some(first), Some(last)) = (text.first(), text.last()) {
            let ends = u64::from(*first) << 32 | u64::from(*last) << 40;
            self.0 = self.0.wrapping_add(text.len() as u64 | ends);
        }
    }
}

/// A type whose fields can all be read.
pub trait Summed {
    /// The sum of all fields.
    fn sum(&self) -> u64;
}

/// A type whose one field can be read.
pub trait OneSummed {
    /// The sum of the case's one field.
    fn one(&self) -> u64;
}

/// A case: its plain type, and its other types.
pub trait Message:
    Serialize
    + DeserializeOwned
    + ToValue
    + for<'b> FromValue<'b>
    + Summed
    + OneSummed
    + Clone
    + std::fmt::Debug
    + Send
    + Sync
    + 'static
{
    /// The case's name, as in the files' names.
    const CASE: &'static str;
    /// The Avro schema.
    const AVRO: &'static str;
    /// The path to the one field.
    const ONE: &'static [&'static str];
    /// The same in a value whose records are tables.
    const KEYS: &'static [Step<'static>];
    /// The same in a value whose records are lists.
    const PLACES: &'static [Step<'static>];
    /// The type that leaves absent fields out: for formats that name their fields.
    type Named: Serialize + DeserializeOwned + ToValue + for<'b> FromValue<'b> + Summed + Send + Sync + 'static;
    /// The type that borrows its strings where it can.
    type Borrowed<'a>: Deserialize<'a> + FromValue<'a> + Summed + OneSummed;
    /// Only the one field, for formats that name their fields.
    type One<'a>: Deserialize<'a> + OneSummed;
    /// The same, owning it.
    type OneOwned: DeserializeOwned + OneSummed;
    /// All fields up to the one, for formats that identify a field by its position.
    type Prefix<'a>: Deserialize<'a> + OneSummed;
}

/// A string that is borrowed unless it contains escapes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Deserialize, FromValue)]
#[serde(transparent)]
pub struct Text<'a>(#[serde(borrow)] pub Cow<'a, str>);

impl Deref for Text<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

/// An absent string adds nothing to a sum, like an empty one.
#[inline]
pub(crate) fn text_or_none<T: Deref<Target = str>>(text: &Option<T>) -> &str {
    text.as_deref().unwrap_or_default()
}

macro_rules! messages {
    ($module:ident, [$($life:lifetime)?], $text:ty, $(#[$derive:meta])*, $(#[$whole:meta])*, $(#[$absent:meta])*) => {
        #[allow(missing_docs, reason = "the fields are documented by the cases' own files")]
        pub mod $module {
            use super::*;
            use std::collections::BTreeMap;

            $(#[$derive])*
            pub struct PingPong<$($life)?> {
                pub id: i64,
                pub version: i32,
                $(#[$whole])*
                pub message: $text,
                pub is_important: bool,
                $(#[$whole])*
                pub names: Vec<$text>,
                pub ints: Vec<i32>,
                pub doubles: Vec<f64>,
            }

            $(#[$derive])*
            pub struct Doubles {
                pub single_1: f64,
                pub single_2: f64,
                pub single_3: f64,
                pub single_4: f64,
                pub single_5: f64,
                pub list: Vec<f64>,
            }

            $(#[$derive])*
            pub struct Strings<$($life)?> {
                $(#[$whole])*
                pub string_1: $text,
                $(#[$whole])*
                pub string_2: $text,
                $(#[$whole])*
                pub string_3: $text,
                $(#[$whole])*
                pub string_4: $text,
                $(#[$whole])*
                pub string_5: $text,
                $(#[$whole])*
                pub names: Vec<$text>,
            }

            $(#[$derive])*
            pub struct Zeek<$($life)?> {
                pub ts: i64,
                $(#[$whole])*
                pub uid: $text,
                $(#[$whole])*
                pub orig_h: $text,
                pub orig_p: i32,
                $(#[$whole])*
                pub resp_h: $text,
                pub resp_p: i32,
                $(#[$whole])*
                pub proto: $text,
                pub trans_id: i32,
                $(#[$absent])*
                pub rtt: Option<f64>,
                $(#[$whole])*
                pub query: $text,
                pub qclass: i32,
                $(#[$whole])*
                pub qclass_name: $text,
                pub qtype: i32,
                $(#[$whole])*
                pub qtype_name: $text,
                pub rcode: i32,
                $(#[$whole])*
                pub rcode_name: $text,
                pub aa: bool,
                pub tc: bool,
                pub rd: bool,
                pub ra: bool,
                pub z: i32,
                $(#[$whole])*
                pub answers: Vec<$text>,
                pub ttls: Vec<f64>,
                pub rejected: bool,
            }

            $(#[$derive])*
            pub struct Measurement<$($life)?> {
                $(#[$whole])*
                pub metric: $text,
                $(#[$whole])*
                pub tags: BTreeMap<$text, $text>,
                pub logtime: i64,
                pub value: i64,
            }

            $(#[$derive])*
            pub struct Customer<$($life)?> {
                pub id: i64,
                $(#[$whole])*
                pub name: $text,
                $(#[$whole])*
                $(#[$absent])*
                pub email: Option<$text>,
            }

            $(#[$derive])*
            pub struct Shipping<$($life)?> {
                $(#[$whole])*
                pub street: $text,
                $(#[$whole])*
                pub city: $text,
                $(#[$whole])*
                pub postcode: $text,
                $(#[$whole])*
                pub country: $text,
            }

            $(#[$derive])*
            pub struct Line<$($life)?> {
                $(#[$whole])*
                pub sku: $text,
                $(#[$whole])*
                $(#[$absent])*
                pub description: Option<$text>,
                pub quantity: i32,
                pub unit_price_cents: i64,
                $(#[$absent])*
                pub discount: Option<f64>,
            }

            $(#[$derive])*
            pub struct Order<$($life)?> {
                pub id: i64,
                pub placed_at: i64,
                $(#[$whole])*
                pub currency: $text,
                $(#[$whole])*
                pub customer: Customer<$($life)?>,
                $(#[$whole])*
                $(#[$absent])*
                pub shipping: Option<Shipping<$($life)?>>,
                $(#[$whole])*
                pub lines: Vec<Line<$($life)?>>,
                $(#[$whole])*
                $(#[$absent])*
                pub note: Option<$text>,
                pub total_cents: i64,
            }

            sums!(PingPong PingPong<$($life)?>, [$($life)?]);
            sums!(Doubles Doubles, []);
            sums!(Strings Strings<$($life)?>, [$($life)?]);
            sums!(Zeek Zeek<$($life)?>, [$($life)?], std::convert::identity);
            sums!(Measurement Measurement<$($life)?>, [$($life)?]);
            sums!(Order Order<$($life)?>, [$($life)?], Some, text_or_none, std::convert::identity);
        }
    };
}

messages!(
    plain, [], String,
    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, bincode::Encode, bincode::Decode)]
    #[derive(rkyv::Archive, rkyv::Serialize, rkyv::Deserialize, ToValue, FromValue)],
    ,
);
messages!(
    named, [], String,
    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToValue, FromValue)]
    #[value(table)],
    ,
    #[serde(default, skip_serializing_if = "Option::is_none")]
);
messages!(
    borrowed, ['a], Text<'a>,
    #[derive(Debug, Clone, PartialEq, Deserialize, FromValue)],
    #[serde(borrow)],
    #[serde(default)]
);

macro_rules! ones {
    ($module:ident, [$($life:lifetime)?], $text:ty, $(#[$borrow:meta])*) => {
        /// Types with nothing but the one field of each case.
        #[allow(missing_docs, reason = "the fields are documented by the cases' own files")]
        pub mod $module {
            use super::*;

            #[derive(Debug, Deserialize)]
            pub struct PingPong<$($life)?> {
                $(#[$borrow])*
                pub message: $text,
            }

            #[derive(Debug, Deserialize)]
            pub struct Doubles {
                pub single_3: f64,
            }

            #[derive(Debug, Deserialize)]
            pub struct Strings<$($life)?> {
                $(#[$borrow])*
                pub string_3: $text,
            }

            #[derive(Debug, Deserialize)]
            pub struct Zeek<$($life)?> {
                $(#[$borrow])*
                pub query: $text,
            }

            #[derive(Debug, Deserialize)]
            pub struct Measurement<$($life)?> {
                $(#[$borrow])*
                pub metric: $text,
            }

            #[derive(Debug, Deserialize)]
            pub struct Customer<$($life)?> {
                $(#[$borrow])*
                pub name: $text,
            }

            #[derive(Debug, Deserialize)]
            pub struct Order<$($life)?> {
                $(#[$borrow])*
                pub customer: Customer<$($life)?>,
            }
        }
    };
}

ones!(one, ['a], Cow<'a, str>, #[serde(borrow)]);
ones!(one_owned, [], String,);

/// Types with the fields of each case up to the one field.
#[allow(missing_docs, reason = "the fields are documented by the cases' own files")]
pub mod prefix {
    use super::*;

    #[derive(Debug, Deserialize)]
    pub struct PingPong<'a> {
        pub id: i64,
        pub version: i32,
        pub message: &'a str,
    }
    #[derive(Debug, Deserialize)]
    pub struct Doubles {
        pub single_1: f64,
        pub single_2: f64,
        pub single_3: f64,
    }
    #[derive(Debug, Deserialize)]
    pub struct Strings<'a> {
        pub string_1: &'a str,
        pub string_2: &'a str,
        pub string_3: &'a str,
    }
    #[derive(Debug, Deserialize)]
    pub struct Zeek<'a> {
        pub ts: i64,
        pub uid: &'a str,
        pub orig_h: &'a str,
        pub orig_p: i32,
        pub resp_h: &'a str,
        pub resp_p: i32,
        pub proto: &'a str,
        pub trans_id: i32,
        pub rtt: Option<f64>,
        pub query: &'a str,
    }
    #[derive(Debug, Deserialize)]
    pub struct Measurement<'a> {
        pub metric: &'a str,
    }
    #[derive(Debug, Deserialize)]
    pub struct Customer<'a> {
        pub id: i64,
        pub name: &'a str,
    }
    #[derive(Debug, Deserialize)]
    pub struct Order<'a> {
        pub id: i64,
        pub placed_at: i64,
        pub currency: &'a str,
        #[serde(borrow)]
        pub customer: Customer<'a>,
    }
}

macro_rules! one_summed {
    ($of:ty, [$($life:lifetime)?], $($one:ident).+, $sum:ident) => {
        impl<$($life)?> OneSummed for $of {
            #[inline]
            fn one(&self) -> u64 {
                let mut sum = Sum::default();
                sum.$sum(as_part(&self.$($one).+));
                sum.0
            }
        }
    };
}

macro_rules! cases {
    ($($case:literal $of:ident [$($life:lifetime)?] $($one:ident).+ [$($place:literal),+] $sum:ident;)*) => {
        $(
            one_summed!(plain::$of, [], $($one).+, $sum);
            one_summed!(borrowed::$of<$($life)?>, [$($life)?], $($one).+, $sum);
            one_summed!(one::$of<$($life)?>, [$($life)?], $($one).+, $sum);
            one_summed!(one_owned::$of, [], $($one).+, $sum);
            one_summed!(prefix::$of<$($life)?>, [$($life)?], $($one).+, $sum);

            impl Message for plain::$of {
                const CASE: &'static str = $case;
                const AVRO: &'static str = include_str!(concat!("../../../schemas/", $case, ".avsc"));
                const ONE: &'static [&'static str] = &[$(stringify!($one)),+];
                const KEYS: &'static [Step<'static>] = &[$(Step::Key(stringify!($one))),+];
                const PLACES: &'static [Step<'static>] = &[$(Step::Index($place)),+];
                type Named = named::$of;
                type Borrowed<'a> = borrowed::$of<$($life)?>;
                type One<'a> = one::$of<$($life)?>;
                type OneOwned = one_owned::$of;
                type Prefix<'a> = prefix::$of<$($life)?>;
            }
        )*
    };
}

/// The one field as [`Sum`] takes it.
trait Part {
    type As<'a>
    where
        Self: 'a;
    fn part(&self) -> Self::As<'_>;
}

impl Part for f64 {
    type As<'a> = f64;
    fn part(&self) -> f64 {
        *self
    }
}

macro_rules! text_parts {
    ($($of:ty),*) => {
        $(impl Part for $of {
            type As<'a> = &'a str where Self: 'a;
            fn part(&self) -> &str {
                self
            }
        })*
    };
}

text_parts!(String, Cow<'_, str>, Text<'_>, &str);

fn as_part<P: Part>(part: &P) -> P::As<'_> {
    part.part()
}

cases! {
    "pingpong" PingPong ['a] message [2] text;
    "doubles" Doubles [] single_3 [2] real;
    "strings" Strings ['a] string_3 [2] text;
    "zeek" Zeek ['a] query [9] text;
    "measurement" Measurement ['a] metric [0] text;
    "order" Order ['a] customer.name [3, 1] text;
}
