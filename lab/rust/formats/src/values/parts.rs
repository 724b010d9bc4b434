//! How the cases' messages become values and values become messages: one trait for what a value can be, one macro for
//! records.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail};
use rawline_value::{ListBuilder, Put, Step, TableBuilder, ValueReader};

use crate::cases::plain::{Customer, Doubles, Line, Measurement, Order, PingPong, Shipping, Strings, Zeek};
use crate::cases::{Message, Sum};

/// A case's message, and the path to its one field.
pub trait Record: Message + Part {
    /// If records are tables.
    const PATH_TABLE: &'static [Step<'static>];
    /// If records are lists.
    const PATH_LIST: &'static [Step<'static>];
}

macro_rules! paths {
    ($($of:ident [$($key:literal),+] [$($index:literal),+];)*) => {
        $(impl Record for $of {
            const PATH_TABLE: &'static [Step<'static>] = &[$(Step::Key($key)),+];
            const PATH_LIST: &'static [Step<'static>] = &[$(Step::Index($index)),+];
        })*
    };
}

paths! {
    PingPong ["message"] [2];
    Doubles ["single_3"] [2];
    Strings ["string_3"] [2];
    Zeek ["query"] [9];
    Measurement ["metric"] [0];
    Order ["customer", "name"] [3, 1];
}

/// What a value can be. `TABLE` says whether records are tables with names or lists.
pub trait Part: Sized {
    /// Appends the value.
    fn put<const TABLE: bool>(&self, out: &mut Vec<u8>);
    /// Reads the next value.
    fn take<const TABLE: bool>(reader: &mut ValueReader<'_>) -> Result<Self>;
    /// Adds the next value to a sum, without allocating.
    fn add<const TABLE: bool>(reader: &mut ValueReader<'_>, sum: &mut Sum) -> Result<()>;

    /// Whether it is left out of a table.
    fn is_absent(&self) -> bool {
        false
    }

    /// What stands for a missing field.
    fn absent() -> Option<Self> {
        None
    }
}

/// A part as builders take it.
struct As<'p, P, const TABLE: bool>(&'p P);

impl<P: Part, const TABLE: bool> Put for As<'_, P, TABLE> {
    #[inline]
    fn put(&self, out: &mut Vec<u8>) {
        self.0.put::<TABLE>(out);
    }
}

macro_rules! scalars {
    ($($of:ty: $reader:ident => $take:expr, $sum:ident;)*) => {
        $(impl Part for $of {
            #[inline]
            fn put<const TABLE: bool>(&self, out: &mut Vec<u8>) {
                Put::put(self, out);
            }

            #[inline]
            fn take<const TABLE: bool>($reader: &mut ValueReader<'_>) -> Result<Self> {
                Ok($take)
            }

            #[inline]
            fn add<const TABLE: bool>(reader: &mut ValueReader<'_>, sum: &mut Sum) -> Result<()> {
                sum.$sum(Self::take::<TABLE>(reader)?.into());
                Ok(())
            }
        })*
    };
}

scalars! {
    i64: reader => reader.integer()?, int;
    i32: reader => reader.integer()?.try_into()?, int;
    bool: reader => reader.boolean()?, flag;
    f64: reader => reader.real()?, real;
}

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
}

/// A record's fields. Lists and tables have them in this order. Readers accept a table's pairs in any order.
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
                        None => bail!(concat!("field missing: ", stringify!($field))),
                    }),* })
                }

                #[inline]
                fn add<const TABLE: bool>(reader: &mut ValueReader<'_>, sum: &mut Sum) -> Result<()> {
                    each_field!(TABLE, reader, [$($field),*], $({
                        <$type as Part>::add::<TABLE>(reader, sum).context(stringify!($field))?;
                    })*);
                    Ok(())
                }
            }
        };
    };
}

/// Runs a block for each field, in the order of the bytes.
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
            anyhow::ensure!(elements >= COUNT, "a list of {elements} elements, expected {COUNT}");
            $($block)*
            for _ in COUNT..elements {
                $reader.skip()?;
            }
        }
    };
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
    Zeek,
    [
        ts: i64,
        uid: String,
        orig_h: String,
        orig_p: i32,
        resp_h: String,
        resp_p: i32,
        proto: String,
        trans_id: i32,
        rtt: Option<f64>,
        query: String,
        qclass: i32,
        qclass_name: String,
        qtype: i32,
        qtype_name: String,
        rcode: i32,
        rcode_name: String,
        aa: bool,
        tc: bool,
        rd: bool,
        ra: bool,
        z: i32,
        answers: Vec<String>,
        ttls: Vec<f64>,
        rejected: bool,
    ]
);
record!(
    Measurement,
    [metric: String, tags: BTreeMap<String, String>, logtime: i64, value: i64]
);
record!(Customer, [id: i64, name: String, email: Option<String>]);
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
