//! Ten named fields of a DNS event, read from each format.

use rawline_value::{Address, Field, Port, TimestampNs, Variant, zeek::Message};
use serde::de::{Deserializer, Error, IgnoredAny, Visitor};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fmt;
use std::hint::black_box;

/// A string, borrowed where the format holds it unescaped.
#[derive(Debug, Serialize)]
pub struct Text<'a>(Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Text<'a>, D::Error> {
        struct Borrow;
        impl<'de> Visitor<'de> for Borrow {
            type Value = Text<'de>;
            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a text")
            }
            fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Text<'de>, E> {
                Ok(Text(Cow::Borrowed(text)))
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Text<'de>, E> {
                Ok(Text(Cow::Owned(text.to_owned())))
            }
        }
        deserializer.deserialize_str(Borrow)
    }
}

/// The fields by name; the types of strings, times, addresses and ports are the reader's choice.
#[derive(Debug, Deserialize)]
pub struct Ten<S, T, A, P> {
    ts: T,
    uid: S,
    #[serde(rename = "id.orig_h")]
    orig_h: A,
    #[serde(rename = "id.orig_p")]
    orig_p: P,
    #[serde(rename = "id.resp_h")]
    resp_h: A,
    #[serde(rename = "id.resp_p")]
    resp_p: P,
    proto: S,
    query: Option<S>,
    qtype_name: Option<S>,
    rcode_name: Option<S>,
}

/// Times and addresses left as text: the minimum that a reader of JSON can do.
pub type AsText<'a> = Ten<Text<'a>, Text<'a>, Text<'a>, u16>;

/// Times and addresses parsed, strings borrowed.
pub type Typed<'a> = Ten<Text<'a>, TimestampNs, Address, u16>;

/// Times and addresses parsed, nothing borrowed.
pub type Owned = Ten<String, TimestampNs, Address, u16>;

/// A whole event whose argument is a table of named fields.
#[derive(Debug, Deserialize)]
pub struct TableEvent<'a>(
    IgnoredAny,
    IgnoredAny,
    #[serde(borrow)] (IgnoredAny, (Ten<Text<'a>, TimestampNs, Address, Port>,)),
);

/// A whole event whose argument is a record.
#[derive(Debug, Deserialize)]
pub struct RecordEvent<'a>(IgnoredAny, IgnoredAny, #[serde(borrow)] (IgnoredAny, (RecordFields<'a>,)));

#[derive(Debug, Deserialize)]
struct RecordFields<'a> {
    ts: TimestampNs,
    #[serde(borrow)]
    uid: Text<'a>,
    id: (Address, Port, Address, Port),
    #[serde(borrow)]
    proto: Text<'a>,
    #[serde(rename = "trans_id")]
    _trans_id: IgnoredAny,
    #[serde(rename = "rtt")]
    _rtt: IgnoredAny,
    #[serde(borrow)]
    query: Option<Text<'a>>,
    #[serde(rename = "qclass")]
    _qclass: IgnoredAny,
    #[serde(rename = "qclass_name")]
    _qclass_name: IgnoredAny,
    #[serde(rename = "qtype")]
    _qtype: IgnoredAny,
    #[serde(borrow)]
    qtype_name: Option<Text<'a>>,
    #[serde(rename = "rcode")]
    _rcode: IgnoredAny,
    #[serde(borrow)]
    rcode_name: Option<Text<'a>>,
}

impl AsRef<str> for Text<'_> {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

/// A type that has a port number.
pub trait PortNumber {
    /// The number.
    fn port_number(&self) -> u16;
}

impl PortNumber for u16 {
    fn port_number(&self) -> u16 {
        *self
    }
}

impl PortNumber for Port {
    fn port_number(&self) -> u16 {
        self.number
    }
}

impl<S: AsRef<str>, T, A, P: PortNumber> Ten<S, T, A, P> {
    /// A number over all fields.
    pub fn sum(&self) -> u64 {
        black_box((&self.ts, &self.orig_h, &self.resp_h));
        let [query, qtype_name, rcode_name] = [&self.query, &self.qtype_name, &self.rcode_name].map(Option::as_ref);
        let texts = [Some(&self.uid), Some(&self.proto), query, qtype_name, rcode_name];
        sum(self.orig_p.port_number(), self.resp_p.port_number(), texts.map(bytes))
    }
}

impl TableEvent<'_> {
    /// A number over all fields.
    pub fn sum(&self) -> u64 {
        let TableEvent(_, _, (_, (fields,))) = self;
        fields.sum()
    }
}

impl RecordEvent<'_> {
    /// A number over all fields.
    pub fn sum(&self) -> u64 {
        let RecordEvent(_, _, (_, (fields,))) = self;
        let (orig_h, orig_p, resp_h, resp_p) = &fields.id;
        black_box((&fields.ts, orig_h, resp_h));
        let texts = [&fields.query, &fields.qtype_name, &fields.rcode_name].map(Option::as_ref);
        let [query, qtype_name, rcode_name] = texts;
        let texts = [Some(&fields.uid), Some(&fields.proto), query, qtype_name, rcode_name];
        sum(orig_p.number, resp_p.number, texts.map(bytes))
    }
}

/// The fields of an event whose argument is a record, through a view.
pub fn of_record(value: &Variant<'_>) -> Option<u64> {
    let Message::Event(event) = Message::read(value)? else { return None };
    let record = event.arguments.at(0).as_list()?;
    let id = record.at(2).as_list()?;
    black_box((record.at(0).as_timestamp()?, id.at(0).as_address()?, id.at(2).as_address()?));
    let text = |place: usize| record.at(place).as_str().unwrap_or_default().len();
    let texts = [text(1), record.at(3).as_enum()?.len(), text(6), text(10), text(12)];
    Some(sum(id.at(1).as_port()?.number, id.at(3).as_port()?.number, texts))
}

/// The fields of an event whose argument is a table, through a view.
pub fn of_table(value: &Variant<'_>) -> Option<u64> {
    static FIELDS: [Field<'static>; 10] = [
        Field::new("ts"),
        Field::new("uid"),
        Field::new("id.orig_h"),
        Field::new("id.orig_p"),
        Field::new("id.resp_h"),
        Field::new("id.resp_p"),
        Field::new("proto"),
        Field::new("query"),
        Field::new("qtype_name"),
        Field::new("rcode_name"),
    ];
    let Message::Event(event) = Message::read(value)? else { return None };
    let table = event.arguments.at(0).as_table()?;
    let fields = FIELDS.each_ref().map(|field| table.get_field(field).unwrap_or(Variant::NONE));
    let [ts, uid, orig_h, orig_p, resp_h, resp_p, proto, texts @ ..] = fields;
    black_box((ts.as_timestamp()?, orig_h.as_address()?, resp_h.as_address()?));
    let [query, qtype_name, rcode_name] = texts.map(|text| text.as_str().unwrap_or_default().len());
    let texts = [uid.as_str()?.len(), proto.as_enum()?.len(), query, qtype_name, rcode_name];
    Some(sum(orig_p.as_port()?.number, resp_p.as_port()?.number, texts))
}

fn bytes(text: Option<&impl AsRef<str>>) -> usize {
    text.map_or(0, |text| text.as_ref().len())
}

fn sum(orig_p: u16, resp_p: u16, text_bytes: [usize; 5]) -> u64 {
    u64::from(orig_p) + u64::from(resp_p) + text_bytes.iter().sum::<usize>() as u64
}
