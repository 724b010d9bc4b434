//! The cases in SBE's generated encoders and decoders.

use std::collections::BTreeMap;

use crate::generated::sbe::boolean_type::BooleanType;
use crate::generated::sbe::message_header_codec::{self, MessageHeaderDecoder};
use crate::generated::sbe::{
    Encoder, ReadBuf, WriteBuf, doubles_codec, measurement_codec, order_codec, ping_pong_codec, strings_codec,
    zeek_codec,
};
use anyhow::{Result, ensure};

use crate::cases::plain::{Customer, Doubles, Line, Measurement, Order, PingPong, Shipping, Strings, Zeek};
use crate::cases::{Message, Sum};

/// A case's generated code.
pub trait Generated: Message {
    /// Writes header and message; returns their length.
    fn put(&self, buffer: &mut [u8]) -> Result<usize>;
    /// Creates an owned message.
    fn get(bytes: &[u8]) -> Result<Self>;
    /// Adds the one field.
    fn add_one(bytes: &[u8], sum: &mut Sum) -> Result<()>;
    /// Adds all fields.
    fn add(bytes: &[u8], sum: &mut Sum) -> Result<()>;
}

const HEADER_BYTES: usize = message_header_codec::ENCODED_LENGTH;

/// An encoder of a message whose header is written.
macro_rules! encoder {
    ($encoder:ty, $buffer:ident) => {{
        let encoder = <$encoder>::default().wrap(WriteBuf::new($buffer), HEADER_BYTES);
        encoder.header(0).parent()?
    }};
}

/// A decoder of a message, after its header's template is checked.
macro_rules! decoder {
    ($codec:ident, $decoder:ident, $bytes:ident) => {{
        let header = MessageHeaderDecoder::default().wrap(ReadBuf::new($bytes), 0);
        let template = header.template_id();
        ensure!(template == $codec::SBE_TEMPLATE_ID, "the message is of template {template}");
        $codec::$decoder::default().header(header, 0)
    }};
}

/// Writes a group, each element with `$put`, and returns the parent encoder.
macro_rules! put_group {
    ($encoder:ident . $group:ident ($of:ty), $all:expr, |$place:ident, $element:ident| $put:expr) => {{
        let mut $place = $encoder.$group(u16::try_from($all.len())?, <$of>::default());
        for $element in $all {
            $place.advance()?;
            $put;
        }
        $place.parent()?
    }};
}

/// Reads a group, each element with `$get`, and returns the parent decoder.
macro_rules! each {
    ($decoder:ident . $group:ident, |$place:ident| $get:expr) => {{
        let mut $place = $decoder.$group();
        while $place.advance()?.is_some() {
            $get;
        }
        $place.parent()?
    }};
}

/// The next string. Strings must be read in the order of the schema.
macro_rules! text {
    ($decoder:ident, $take:ident, $slice:ident) => {{
        let place = $decoder.$take();
        std::str::from_utf8($decoder.$slice(place))?
    }};
}

fn flag(flag: bool) -> BooleanType {
    if flag { BooleanType::T } else { BooleanType::F }
}

fn is(flag: BooleanType) -> bool {
    flag == BooleanType::T
}

/// An empty string means an absent one.
fn optional(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}

impl Generated for PingPong {
    fn put(&self, buffer: &mut [u8]) -> Result<usize> {
        use ping_pong_codec::encoder::{DoublesEncoder, IntsEncoder, NamesEncoder, PingPongEncoder};
        let mut encoder = encoder!(PingPongEncoder, buffer);
        encoder.id(self.id).version(self.version).is_important(flag(self.is_important));
        let encoder = put_group!(encoder.names_encoder(NamesEncoder<_>), &self.names, |place, name| place.name(name));
        let encoder = put_group!(encoder.ints_encoder(IntsEncoder<_>), &self.ints, |place, int| place.record(*int));
        let mut encoder =
            put_group!(encoder.doubles_encoder(DoublesEncoder<_>), &self.doubles, |place, real| place.record(*real));
        encoder.message(&self.message);
        Ok(encoder.get_limit())
    }

    fn get(bytes: &[u8]) -> Result<PingPong> {
        let decoder = decoder!(ping_pong_codec, PingPongDecoder, bytes);
        let (mut names, mut ints, mut doubles) = (Vec::new(), Vec::new(), Vec::new());
        let decoder =
            each!(decoder.names_decoder, |place| names.push(text!(place, name_decoder, name_slice).to_owned()));
        let decoder = each!(decoder.ints_decoder, |place| ints.push(place.record()));
        let mut decoder = each!(decoder.doubles_decoder, |place| doubles.push(place.record()));
        let message = text!(decoder, message_decoder, message_slice).to_owned();
        let (id, version, is_important) = (decoder.id(), decoder.version(), is(decoder.is_important()));
        Ok(PingPong { id, version, message, is_important, names, ints, doubles })
    }

    fn add_one(bytes: &[u8], sum: &mut Sum) -> Result<()> {
        let decoder = decoder!(ping_pong_codec, PingPongDecoder, bytes);
        let decoder = each!(decoder.names_decoder, |place| place.name_decoder());
        let decoder = each!(decoder.ints_decoder, |place| {});
        let mut decoder = each!(decoder.doubles_decoder, |place| {});
        sum.text(text!(decoder, message_decoder, message_slice));
        Ok(())
    }

    fn add(bytes: &[u8], sum: &mut Sum) -> Result<()> {
        let decoder = decoder!(ping_pong_codec, PingPongDecoder, bytes);
        sum.int(decoder.id());
        sum.int(decoder.version().into());
        sum.flag(is(decoder.is_important()));
        let decoder = each!(decoder.names_decoder, |place| sum.text(text!(place, name_decoder, name_slice)));
        let decoder = each!(decoder.ints_decoder, |place| sum.int(place.record().into()));
        let mut decoder = each!(decoder.doubles_decoder, |place| sum.real(place.record()));
        sum.text(text!(decoder, message_decoder, message_slice));
        Ok(())
    }
}

impl Generated for Doubles {
    fn put(&self, buffer: &mut [u8]) -> Result<usize> {
        use doubles_codec::encoder::{DoublesEncoder, ListEncoder};
        let mut encoder = encoder!(DoublesEncoder, buffer);
        encoder.single_1(self.single_1).single_2(self.single_2).single_3(self.single_3);
        encoder.single_4(self.single_4).single_5(self.single_5);
        let encoder = put_group!(encoder.list_encoder(ListEncoder<_>), &self.list, |place, real| place.record(*real));
        Ok(encoder.get_limit())
    }

    fn get(bytes: &[u8]) -> Result<Doubles> {
        let decoder = decoder!(doubles_codec, DoublesDecoder, bytes);
        let mut list = Vec::new();
        let decoder = each!(decoder.list_decoder, |place| list.push(place.record()));
        Ok(Doubles {
            single_1: decoder.single_1(),
            single_2: decoder.single_2(),
            single_3: decoder.single_3(),
            single_4: decoder.single_4(),
            single_5: decoder.single_5(),
            list,
        })
    }

    fn add_one(bytes: &[u8], sum: &mut Sum) -> Result<()> {
        sum.real(decoder!(doubles_codec, DoublesDecoder, bytes).single_3());
        Ok(())
    }

    fn add(bytes: &[u8], sum: &mut Sum) -> Result<()> {
        let decoder = decoder!(doubles_codec, DoublesDecoder, bytes);
        for single in [decoder.single_1(), decoder.single_2(), decoder.single_3()] {
            sum.real(single);
        }
        sum.real(decoder.single_4());
        sum.real(decoder.single_5());
        each!(decoder.list_decoder, |place| sum.real(place.record()));
        Ok(())
    }
}

impl Generated for Strings {
    fn put(&self, buffer: &mut [u8]) -> Result<usize> {
        use strings_codec::encoder::{NamesEncoder, StringsEncoder};
        let encoder = encoder!(StringsEncoder, buffer);
        let mut encoder =
            put_group!(encoder.names_encoder(NamesEncoder<_>), &self.names, |place, name| place.name(name));
        encoder.string_1(&self.string_1).string_2(&self.string_2).string_3(&self.string_3);
        encoder.string_4(&self.string_4).string_5(&self.string_5);
        Ok(encoder.get_limit())
    }

    fn get(bytes: &[u8]) -> Result<Strings> {
        let decoder = decoder!(strings_codec, StringsDecoder, bytes);
        let mut names = Vec::new();
        let mut decoder =
            each!(decoder.names_decoder, |place| names.push(text!(place, name_decoder, name_slice).to_owned()));
        Ok(Strings {
            string_1: text!(decoder, string_1_decoder, string_1_slice).to_owned(),
            string_2: text!(decoder, string_2_decoder, string_2_slice).to_owned(),
            string_3: text!(decoder, string_3_decoder, string_3_slice).to_owned(),
            string_4: text!(decoder, string_4_decoder, string_4_slice).to_owned(),
            string_5: text!(decoder, string_5_decoder, string_5_slice).to_owned(),
            names,
        })
    }

    fn add_one(bytes: &[u8], sum: &mut Sum) -> Result<()> {
        let decoder = decoder!(strings_codec, StringsDecoder, bytes);
        let mut decoder = each!(decoder.names_decoder, |place| place.name_decoder());
        decoder.string_1_decoder();
        decoder.string_2_decoder();
        sum.text(text!(decoder, string_3_decoder, string_3_slice));
        Ok(())
    }

    fn add(bytes: &[u8], sum: &mut Sum) -> Result<()> {
        let decoder = decoder!(strings_codec, StringsDecoder, bytes);
        let mut decoder = each!(decoder.names_decoder, |place| sum.text(text!(place, name_decoder, name_slice)));
        sum.text(text!(decoder, string_1_decoder, string_1_slice));
        sum.text(text!(decoder, string_2_decoder, string_2_slice));
        sum.text(text!(decoder, string_3_decoder, string_3_slice));
        sum.text(text!(decoder, string_4_decoder, string_4_slice));
        sum.text(text!(decoder, string_5_decoder, string_5_slice));
        Ok(())
    }
}

impl Generated for Zeek {
    fn put(&self, buffer: &mut [u8]) -> Result<usize> {
        use zeek_codec::encoder::{AnswersEncoder, TtlsEncoder, ZeekEncoder};
        let mut encoder = encoder!(ZeekEncoder, buffer);
        encoder.ts(self.ts).rtt_opt(self.rtt).orig_p(self.orig_p).resp_p(self.resp_p).trans_id(self.trans_id);
        encoder.qclass(self.qclass).qtype(self.qtype).rcode(self.rcode).z(self.z);
        encoder.aa(flag(self.aa)).tc(flag(self.tc)).rd(flag(self.rd)).ra(flag(self.ra)).rejected(flag(self.rejected));
        let encoder =
            put_group!(encoder.answers_encoder(AnswersEncoder<_>), &self.answers, |place, text| place.answer(text));
        let mut encoder =
            put_group!(encoder.ttls_encoder(TtlsEncoder<_>), &self.ttls, |place, real| place.record(*real));
        encoder.query(&self.query).uid(&self.uid).orig_h(&self.orig_h).resp_h(&self.resp_h).proto(&self.proto);
        encoder.qclass_name(&self.qclass_name).qtype_name(&self.qtype_name).rcode_name(&self.rcode_name);
        Ok(encoder.get_limit())
    }

    fn get(bytes: &[u8]) -> Result<Zeek> {
        let decoder = decoder!(zeek_codec, ZeekDecoder, bytes);
        let (mut answers, mut ttls) = (Vec::new(), Vec::new());
        let decoder =
            each!(decoder.answers_decoder, |place| answers.push(text!(place, answer_decoder, answer_slice).to_owned()));
        let mut decoder = each!(decoder.ttls_decoder, |place| ttls.push(place.record()));
        Ok(Zeek {
            query: text!(decoder, query_decoder, query_slice).to_owned(),
            uid: text!(decoder, uid_decoder, uid_slice).to_owned(),
            orig_h: text!(decoder, orig_h_decoder, orig_h_slice).to_owned(),
            resp_h: text!(decoder, resp_h_decoder, resp_h_slice).to_owned(),
            proto: text!(decoder, proto_decoder, proto_slice).to_owned(),
            qclass_name: text!(decoder, qclass_name_decoder, qclass_name_slice).to_owned(),
            qtype_name: text!(decoder, qtype_name_decoder, qtype_name_slice).to_owned(),
            rcode_name: text!(decoder, rcode_name_decoder, rcode_name_slice).to_owned(),
            ts: decoder.ts(),
            rtt: decoder.rtt(),
            orig_p: decoder.orig_p(),
            resp_p: decoder.resp_p(),
            trans_id: decoder.trans_id(),
            qclass: decoder.qclass(),
            qtype: decoder.qtype(),
            rcode: decoder.rcode(),
            z: decoder.z(),
            aa: is(decoder.aa()),
            tc: is(decoder.tc()),
            rd: is(decoder.rd()),
            ra: is(decoder.ra()),
            rejected: is(decoder.rejected()),
            answers,
            ttls,
        })
    }

    fn add_one(bytes: &[u8], sum: &mut Sum) -> Result<()> {
        let decoder = decoder!(zeek_codec, ZeekDecoder, bytes);
        let decoder = each!(decoder.answers_decoder, |place| place.answer_decoder());
        let mut decoder = each!(decoder.ttls_decoder, |place| {});
        sum.text(text!(decoder, query_decoder, query_slice));
        Ok(())
    }

    fn add(bytes: &[u8], sum: &mut Sum) -> Result<()> {
        let decoder = decoder!(zeek_codec, ZeekDecoder, bytes);
        sum.int(decoder.ts());
        for number in [decoder.orig_p(), decoder.resp_p(), decoder.trans_id(), decoder.qclass(), decoder.qtype()] {
            sum.int(number.into());
        }
        sum.int(decoder.rcode().into());
        sum.int(decoder.z().into());
        decoder.rtt().into_iter().for_each(|rtt| sum.real(rtt));
        for each in [decoder.aa(), decoder.tc(), decoder.rd(), decoder.ra(), decoder.rejected()] {
            sum.flag(is(each));
        }
        let decoder = each!(decoder.answers_decoder, |place| sum.text(text!(place, answer_decoder, answer_slice)));
        let mut decoder = each!(decoder.ttls_decoder, |place| sum.real(place.record()));
        sum.text(text!(decoder, query_decoder, query_slice));
        sum.text(text!(decoder, uid_decoder, uid_slice));
        sum.text(text!(decoder, orig_h_decoder, orig_h_slice));
        sum.text(text!(decoder, resp_h_decoder, resp_h_slice));
        sum.text(text!(decoder, proto_decoder, proto_slice));
        sum.text(text!(decoder, qclass_name_decoder, qclass_name_slice));
        sum.text(text!(decoder, qtype_name_decoder, qtype_name_slice));
        sum.text(text!(decoder, rcode_name_decoder, rcode_name_slice));
        Ok(())
    }
}

impl Generated for Measurement {
    fn put(&self, buffer: &mut [u8]) -> Result<usize> {
        use measurement_codec::encoder::{MeasurementEncoder, TagsEncoder};
        let mut encoder = encoder!(MeasurementEncoder, buffer);
        encoder.logtime(self.logtime).value(self.value);
        let mut encoder = put_group!(encoder.tags_encoder(TagsEncoder<_>), &self.tags, |place, tag| {
            place.key(tag.0).value(tag.1)
        });
        encoder.metric(&self.metric);
        Ok(encoder.get_limit())
    }

    fn get(bytes: &[u8]) -> Result<Measurement> {
        let decoder = decoder!(measurement_codec, MeasurementDecoder, bytes);
        let mut tags = BTreeMap::new();
        let mut decoder = each!(decoder.tags_decoder, |place| {
            let key = text!(place, key_decoder, key_slice).to_owned();
            tags.insert(key, text!(place, value_decoder, value_slice).to_owned());
        });
        let metric = text!(decoder, metric_decoder, metric_slice).to_owned();
        Ok(Measurement { metric, tags, logtime: decoder.logtime(), value: decoder.value() })
    }

    fn add_one(bytes: &[u8], sum: &mut Sum) -> Result<()> {
        let decoder = decoder!(measurement_codec, MeasurementDecoder, bytes);
        let mut decoder = each!(decoder.tags_decoder, |place| {
            place.key_decoder();
            place.value_decoder();
        });
        sum.text(text!(decoder, metric_decoder, metric_slice));
        Ok(())
    }

    fn add(bytes: &[u8], sum: &mut Sum) -> Result<()> {
        let decoder = decoder!(measurement_codec, MeasurementDecoder, bytes);
        sum.int(decoder.logtime());
        sum.int(decoder.value());
        let mut decoder = each!(decoder.tags_decoder, |place| {
            sum.text(text!(place, key_decoder, key_slice));
            sum.text(text!(place, value_decoder, value_slice));
        });
        sum.text(text!(decoder, metric_decoder, metric_slice));
        Ok(())
    }
}

impl Generated for Order {
    fn put(&self, buffer: &mut [u8]) -> Result<usize> {
        use order_codec::encoder::{LinesEncoder, OrderEncoder, ShippingEncoder};
        let mut encoder = encoder!(OrderEncoder, buffer);
        encoder.id(self.id).placed_at(self.placed_at).customer_id(self.customer.id).total_cents(self.total_cents);
        let shipping = self.shipping.as_slice();
        let encoder = put_group!(encoder.shipping_encoder(ShippingEncoder<_>), shipping, |place, shipping| {
            place.street(&shipping.street).city(&shipping.city);
            place.postcode(&shipping.postcode).country(&shipping.country);
        });
        let mut encoder = put_group!(encoder.lines_encoder(LinesEncoder<_>), &self.lines, |place, line| {
            place.unit_price_cents(line.unit_price_cents).discount_opt(line.discount).quantity(line.quantity);
            place.sku(&line.sku).description(line.description.as_deref().unwrap_or_default());
        });
        encoder.customer_name(&self.customer.name);
        encoder.customer_email(self.customer.email.as_deref().unwrap_or_default());
        encoder.currency(&self.currency).note(self.note.as_deref().unwrap_or_default());
        Ok(encoder.get_limit())
    }

    fn get(bytes: &[u8]) -> Result<Order> {
        let decoder = decoder!(order_codec, OrderDecoder, bytes);
        let (mut shipping, mut lines) = (None, Vec::new());
        let decoder = each!(decoder.shipping_decoder, |place| {
            shipping = Some(Shipping {
                street: text!(place, street_decoder, street_slice).to_owned(),
                city: text!(place, city_decoder, city_slice).to_owned(),
                postcode: text!(place, postcode_decoder, postcode_slice).to_owned(),
                country: text!(place, country_decoder, country_slice).to_owned(),
            });
        });
        let mut decoder = each!(decoder.lines_decoder, |place| lines.push(Line {
            unit_price_cents: place.unit_price_cents(),
            discount: place.discount(),
            quantity: place.quantity(),
            sku: text!(place, sku_decoder, sku_slice).to_owned(),
            description: optional(text!(place, description_decoder, description_slice)),
        }));
        Ok(Order {
            customer: Customer {
                id: decoder.customer_id(),
                name: text!(decoder, customer_name_decoder, customer_name_slice).to_owned(),
                email: optional(text!(decoder, customer_email_decoder, customer_email_slice)),
            },
            currency: text!(decoder, currency_decoder, currency_slice).to_owned(),
            note: optional(text!(decoder, note_decoder, note_slice)),
            id: decoder.id(),
            placed_at: decoder.placed_at(),
            total_cents: decoder.total_cents(),
            shipping,
            lines,
        })
    }

    fn add_one(bytes: &[u8], sum: &mut Sum) -> Result<()> {
        let decoder = decoder!(order_codec, OrderDecoder, bytes);
        let decoder = each!(decoder.shipping_decoder, |place| {
            place.street_decoder();
            place.city_decoder();
            place.postcode_decoder();
            place.country_decoder();
        });
        let mut decoder = each!(decoder.lines_decoder, |place| {
            place.sku_decoder();
            place.description_decoder();
        });
        sum.text(text!(decoder, customer_name_decoder, customer_name_slice));
        Ok(())
    }

    fn add(bytes: &[u8], sum: &mut Sum) -> Result<()> {
        let decoder = decoder!(order_codec, OrderDecoder, bytes);
        for number in [decoder.id(), decoder.placed_at(), decoder.customer_id(), decoder.total_cents()] {
            sum.int(number);
        }
        let decoder = each!(decoder.shipping_decoder, |place| {
            sum.text(text!(place, street_decoder, street_slice));
            sum.text(text!(place, city_decoder, city_slice));
            sum.text(text!(place, postcode_decoder, postcode_slice));
            sum.text(text!(place, country_decoder, country_slice));
        });
        let mut decoder = each!(decoder.lines_decoder, |place| {
            sum.int(place.unit_price_cents());
            place.discount().into_iter().for_each(|discount| sum.real(discount));
            sum.int(place.quantity().into());
            sum.text(text!(place, sku_decoder, sku_slice));
            sum.text(text!(place, description_decoder, description_slice));
        });
        sum.text(text!(decoder, customer_name_decoder, customer_name_slice));
        sum.text(text!(decoder, customer_email_decoder, customer_email_slice));
        sum.text(text!(decoder, currency_decoder, currency_slice));
        sum.text(text!(decoder, note_decoder, note_slice));
        Ok(())
    }
}
