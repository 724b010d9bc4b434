//! How the cases' types become values and come out of them again, as a program of its own would have it: one trait for
//! what a value can be, one macro for records.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail};
use rawline_value::{
    Address, EnumName, Kind, ListBuilder, Name, Port, Put, Step, TableBuilder, TimestampNs, ValueReader,
};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::cases::plain::{Customer, Doubles, Line, Measurement, Order, PingPong, Shipping, Strings};
use crate::cases::{Message, Sum};

/// What a value can be. `TABLE` says whether records are tables with names or vectors.
pub trait Part: Sized {
    /// Appends the value.
    fn put<const TABLE: bool>(&self, out: &mut Vec<u8>);
    /// Takes an owned one off the bytes.
    fn take<const TABLE: bool>(reader: &mut ValueReader<'_>) -> Result<Self>;
    /// Takes one off the bytes into a sum, without making one.
    fn add<const TABLE: bool>(reader: &mut ValueReader<'_>, sum: &mut Sum) -> Result<()>;
    /// Adds an owned one to a sum.
    fn add_owned(&self, sum: &mut Sum);

    /// Whether it is left out of a table.
    fn is_absent(&self) -> bool {
        false
    }

    /// What stands for a field that is not there.
    fn absent() -> Option<Self> {
        None
    }
}

/// A case with the type that a program would have for our values.
pub trait Valued: Message {
    /// That type.
    type Typed: Part + Serialize + DeserializeOwned + Send + Sync + 'static;
    /// The way to the one field where records are tables.
    const WAY_TABLE: &'static [Step<'static>];
    /// The way to the one field where records are vectors.
    const WAY_LIST: &'static [Step<'static>];
    /// The typed message.
    fn typed(&self) -> Result<Self::Typed>;
    /// The case's message.
    fn untyped(typed: Self::Typed) -> Result<Self>;
}

/// A part as builders take it.
pub(crate) struct As<'p, P, const TABLE: bool>(pub(crate) &'p P);

impl<P: Part, const TABLE: bool> Put for As<'_, P, TABLE> {
    #[inline]
    fn put(&self, out: &mut Vec<u8>) {
        self.0.put::<TABLE>(out);
    }
}

macro_rules! parts {
    ($($of:ty: $self:ident => $put:expr, $reader:ident => $take:expr, $sum:ident, $owned:expr;)*) => {
        $(impl Part for $of {
            #[inline]
            fn put<const TABLE: bool>(&$self, out: &mut Vec<u8>) {
                Put::put(&$put, out);
            }

            #[inline]
            fn take<const TABLE: bool>($reader: &mut ValueReader<'_>) -> Result<Self> {
                Ok($take)
            }

            #[inline]
            fn add<const TABLE: bool>(reader: &mut ValueReader<'_>, sum: &mut Sum) -> Result<()> {
                Self::take::<TABLE>(reader)?.add_owned(sum);
                Ok(())
            }

            #[inline]
            fn add_owned(&$self, sum: &mut Sum) {
                sum.$sum($owned);
            }
        })*
    };
}

parts! {
    i64: self => *self, reader => reader.integer()?, int, *self;
    i32: self => *self, reader => reader.integer()?.try_into()?, int, (*self).into();
    bool: self => *self, reader => reader.boolean()?, flag, *self;
    f64: self => *self, reader => reader.real()?, real, *self;
    Address: self => *self, reader => reader.address()?, bytes, self.octets();
    Port: self => *self, reader => reader.port()?, int, self.number.into();
    TimestampNs: self => *self, reader => TimestampNs(reader.timestamp()?), int, self.0;
}

/// Texts are looked at where they lie.
impl Part for String {
    #[inline]
    fn put<const TABLE: bool>(&self, out: &mut Vec<u8>) {
        Put::put(self.as_str(), out);
    }

    #[inline]
    fn take<const TABLE: bool>(reader: &mut ValueReader<'_>) -> Result<String> {
        Ok(reader.str()?.to_owned())
    }

    #[inline]
    fn add<const TABLE: bool>(reader: &mut ValueReader<'_>, sum: &mut Sum) -> Result<()> {
        sum.text(reader.str()?);
        Ok(())
    }

    #[inline]
    fn add_owned(&self, sum: &mut Sum) {
        sum.text(self);
    }
}

/// An enum's name; a plain text stands for one too.
impl Part for Name {
    #[inline]
    fn put<const TABLE: bool>(&self, out: &mut Vec<u8>) {
        Put::put(&EnumName(&self.0), out);
    }

    #[inline]
    fn take<const TABLE: bool>(reader: &mut ValueReader<'_>) -> Result<Name> {
        Ok(Name(name(reader)?.to_owned()))
    }

    #[inline]
    fn add<const TABLE: bool>(reader: &mut ValueReader<'_>, sum: &mut Sum) -> Result<()> {
        sum.text(name(reader)?);
        Ok(())
    }

    #[inline]
    fn add_owned(&self, sum: &mut Sum) {
        sum.text(&self.0);
    }
}

#[inline]
fn name<'a>(reader: &mut ValueReader<'a>) -> Result<&'a str> {
    let name = if reader.kind()? == Kind::String { reader.string()? } else { reader.enum_name()? };
    Ok(std::str::from_utf8(name)?)
}

impl<P: Part> Part for Vec<P> {
    #[inline]
    fn put<const TABLE: bool>(&self, out: &mut Vec<u8>) {
        let mut list = ListBuilder::new(out);
        self.iter().for_each(|part| {
            list.add(As::<_, TABLE>(part));
        });
    }

    #[inline]
    fn take<const TABLE: bool>(reader: &mut ValueReader<'_>) -> Result<Vec<P>> {
        (0..reader.vector()?).map(|_| P::take::<TABLE>(reader)).collect()
    }

    #[inline]
    fn add<const TABLE: bool>(reader: &mut ValueReader<'_>, sum: &mut Sum) -> Result<()> {
        (0..reader.vector()?).try_for_each(|_| P::add::<TABLE>(reader, sum))
    }

    fn add_owned(&self, sum: &mut Sum) {
        self.iter().for_each(|part| part.add_owned(sum));
    }
}

impl<P: Part> Part for Option<P> {
    #[inline]
    fn put<const TABLE: bool>(&self, out: &mut Vec<u8>) {
        match self {
            Some(part) => part.put::<TABLE>(out),
            None => Put::put(&(), out),
        }
    }

    #[inline]
    fn take<const TABLE: bool>(reader: &mut ValueReader<'_>) -> Result<Option<P>> {
        if reader.none() { Ok(None) } else { P::take::<TABLE>(reader).map(Some) }
    }

    #[inline]
    fn add<const TABLE: bool>(reader: &mut ValueReader<'_>, sum: &mut Sum) -> Result<()> {
        if reader.none() { Ok(()) } else { P::add::<TABLE>(reader, sum) }
    }

    fn add_owned(&self, sum: &mut Sum) {
        self.iter().for_each(|part| part.add_owned(sum));
    }

    #[inline]
    fn is_absent(&self) -> bool {
        self.is_none()
    }

    #[inline]
    fn absent() -> Option<Self> {
        Some(None)
    }
}

impl Part for BTreeMap<String, String> {
    #[inline]
    fn put<const TABLE: bool>(&self, out: &mut Vec<u8>) {
        let mut table = TableBuilder::new(out);
        for (key, value) in self {
            table.add(key.as_str(), value.as_str());
        }
    }

    #[inline]
    fn take<const TABLE: bool>(reader: &mut ValueReader<'_>) -> Result<Self> {
        (0..reader.table()?.left()).map(|_| Ok((reader.str()?.to_owned(), reader.str()?.to_owned()))).collect()
    }

    #[inline]
    fn add<const TABLE: bool>(reader: &mut ValueReader<'_>, sum: &mut Sum) -> Result<()> {
        (0..reader.table()?.left() * 2).try_for_each(|_| String::add::<TABLE>(reader, sum))
    }

    fn add_owned(&self, sum: &mut Sum) {
        for (key, value) in self {
            sum.text(key);
            sum.text(value);
        }
    }
}

/// A record's fields, which vectors and tables have in this order: readers take a table's pairs in any, and what is in
/// front of a large list is found without going through it.
macro_rules! record {
    ($of:ident, [$($field:ident: $type:ty),* $(,)?]) => {
        const _: () = {
            use rawline_value::{Fields, ValueReader};

            const COUNT: usize = [$(stringify!($field)),*].len();
            static FIELDS: Fields<'static, COUNT> = Fields::new([$(stringify!($field)),*]);

            #[allow(non_camel_case_types)]
            enum Number {
                $($field),*
            }

            impl Part for $of {
                #[inline]
                fn put<const TABLE: bool>(&self, out: &mut Vec<u8>) {
                    if TABLE {
                        let mut table = TableBuilder::new(out);
                        $(if !self.$field.is_absent() {
                            table.add(stringify!($field), As::<_, TABLE>(&self.$field));
                        })*
                    } else {
                        let mut list = ListBuilder::new(out);
                        $(list.add(As::<_, TABLE>(&self.$field));)*
                    }
                }

                #[inline]
                fn take<const TABLE: bool>(reader: &mut ValueReader<'_>) -> Result<Self> {
                    $(let mut $field = None;)*
                    each_field!(TABLE, reader, [$($field),*], $({
                        $field = Some(<$type as Part>::take::<TABLE>(reader).context(stringify!($field))?);
                    })*);
                    Ok($of { $($field: match $field.or_else(<$type as Part>::absent) {
                        Some(part) => part,
                        None => bail!(concat!("there is no ", stringify!($field))),
                    }),* })
                }

                #[inline]
                fn add<const TABLE: bool>(reader: &mut ValueReader<'_>, sum: &mut Sum) -> Result<()> {
                    each_field!(TABLE, reader, [$($field),*], $({
                        <$type as Part>::add::<TABLE>(reader, sum).context(stringify!($field))?;
                    })*);
                    Ok(())
                }

                fn add_owned(&self, sum: &mut Sum) {
                    $(self.$field.add_owned(sum);)*
                }
            }
        };
    };
}

/// Runs a block for each field that comes next.
macro_rules! each_field {
    ($table:ident, $reader:ident, [$($field:ident),*], $($block:block)*) => {
        if $table {
            let mut pairs = $reader.table()?;
            while let Some(number) = pairs.field($reader, &FIELDS)? {
                $(if number == Number::$field as usize {
                    $block
                    continue;
                })*
            }
        } else {
            let elements = $reader.vector()?;
            anyhow::ensure!(elements >= COUNT, "a vector of {elements} elements, where there are {COUNT} fields");
            $($block)*
            for _ in COUNT..elements {
                $reader.skip()?;
            }
        }
    };
}

pub(crate) use {each_field, record};

macro_rules! valued_as_is {
    ($($of:ident [$($key:literal),+] [$($index:literal),+];)*) => {
        $(impl Valued for $of {
            type Typed = $of;
            const WAY_TABLE: &'static [Step<'static>] = &[$(Step::Key($key)),+];
            const WAY_LIST: &'static [Step<'static>] = &[$(Step::Index($index)),+];

            fn typed(&self) -> Result<$of> {
                Ok(self.clone())
            }

            fn untyped(typed: $of) -> Result<$of> {
                Ok(typed)
            }
        })*
    };
}

valued_as_is! {
    PingPong ["message"] [2];
    Doubles ["single_3"] [2];
    Strings ["string_3"] [2];
    Measurement ["metric"] [0];
    Order ["customer", "name"] [3, 1];
}

record!(
    PingPong,
    [
        id: i64,
        version: i32,
        message: String,
        is_important: bool,
        names: Vec<String>,
        ints: Vec<i32>,
        doubles: Vec<f64>,
    ]
);
record!(
    Doubles,
    [single_1: f64, single_2: f64, single_3: f64, single_4: f64, single_5: f64, list: Vec<f64>]
);
record!(
    Strings,
    [
        string_1: String,
        string_2: String,
        string_3: String,
        string_4: String,
        string_5: String,
        names: Vec<String>,
    ]
);
record!(
    Measurement,
    [metric: String, tags: BTreeMap<String, String>, logtime: i64, value: i64]
);
record!(Customer, [id: i64, name: String, email: Option<String>]
);
record!(
    Shipping,
    [street: String, city: String, postcode: String, country: String]
);
record!(
    Line,
    [sku: String, description: Option<String>, quantity: i32, unit_price_cents: i64, discount: Option<f64>]
);
record!(
    Order,
    [
        id: i64,
        placed_at: i64,
        currency: String,
        customer: Customer,
        shipping: Option<Shipping>,
        lines: Vec<Line>,
        note: Option<String>,
        total_cents: i64,
    ]
);
