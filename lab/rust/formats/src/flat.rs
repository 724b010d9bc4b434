//! FlatBuffers with flatc's code: bytes that are read in place, with or without verification.

use anyhow::{Context, Result};
use flatbuffers::{FlatBufferBuilder, Follow, ForwardsUOffset, Vector, Verifiable, WIPOffset};

use crate::cases::plain::{Customer, Doubles, Line, Measurement, Order, PingPong, Shipping, Strings, Zeek};
use crate::cases::{Message, Sum};
use crate::codec::{Codec, Operation, Row, Used, as_wrapped, plain_messages, wraps};
use crate::generated::flatbuffers::flat;

/// Written by the generated `create` functions with a reused builder, read after a check of all bytes.
pub struct Flat {
    builder: FlatBufferBuilder<'static>,
}

/// Read without the check: for bytes that the program wrote itself and that nothing else can change.
pub struct FlatUnchecked(Flat);

impl Used for Flat {
    const ROW: Row = Row::new("flatbuffers", "flatbuffers");
}

impl Used for FlatUnchecked {
    const ROW: Row = Flat::ROW.variant("unchecked").only(&[Operation::Field, Operation::Fields]);
}

/// A case's generated code.
pub trait Generated: Message {
    /// The generated view.
    type View<'a>: Follow<'a, Inner = Self::View<'a>> + Verifiable;
    /// Writes the message.
    fn put(&self, builder: &mut FlatBufferBuilder<'static>);
    /// Creates an owned message from a view. FlatBuffers makes strings and records optional; those that a case always
    /// has must be present.
    fn get(view: Self::View<'_>) -> Result<Self>;
    /// Adds the one field.
    fn add_one(view: Self::View<'_>, sum: &mut Sum) -> Option<()>;
    /// Adds all fields.
    fn add(view: Self::View<'_>, sum: &mut Sum);
}

impl<M: Generated> Codec<M> for Flat {
    plain_messages!();
    fn new() -> Result<Self> {
        Ok(Flat { builder: FlatBufferBuilder::new() })
    }

    fn encode(&mut self, native: &M) -> Result<&[u8]> {
        self.builder.reset();
        native.put(&mut self.builder);
        Ok(self.builder.finished_data())
    }

    fn decode(&mut self, bytes: &[u8]) -> Result<M> {
        M::get(flatbuffers::root::<M::View<'_>>(bytes)?)
    }

    fn field(&mut self, bytes: &[u8]) -> Result<u64> {
        let mut sum = Sum::default();
        M::add_one(flatbuffers::root::<M::View<'_>>(bytes)?, &mut sum).context("the one field is missing")?;
        Ok(sum.0)
    }

    fn fields(&mut self, bytes: &[u8]) -> Result<u64> {
        let mut sum = Sum::default();
        M::add(flatbuffers::root::<M::View<'_>>(bytes)?, &mut sum);
        Ok(sum.0)
    }
}

impl<M: Generated> Codec<M> for FlatUnchecked {
    plain_messages!();
    wraps!(Flat);
    as_wrapped!(decode -> M);

    fn field(&mut self, bytes: &[u8]) -> Result<u64> {
        let mut sum = Sum::default();
        // SAFETY: the laboratory gives this row only bytes that the row above wrote and that its test verified.
        let view = unsafe { flatbuffers::root_unchecked::<M::View<'_>>(bytes) };
        M::add_one(view, &mut sum).context("the one field is missing")?;
        Ok(sum.0)
    }

    fn fields(&mut self, bytes: &[u8]) -> Result<u64> {
        let mut sum = Sum::default();
        // SAFETY: as above.
        M::add(unsafe { flatbuffers::root_unchecked::<M::View<'_>>(bytes) }, &mut sum);
        Ok(sum.0)
    }
}

type Texts<'a> = Vector<'a, ForwardsUOffset<&'a str>>;

fn put_texts<'b>(builder: &mut FlatBufferBuilder<'b>, texts: &[String]) -> WIPOffset<Texts<'b>> {
    let texts: Vec<_> = texts.iter().map(|text| builder.create_string(text)).collect();
    builder.create_vector(&texts)
}

fn owned(text: Option<&str>) -> Result<String> {
    Ok(text.context("a string is missing")?.to_owned())
}

fn owned_all(texts: Option<Texts<'_>>) -> Vec<String> {
    texts.map_or_else(Vec::new, |texts| texts.iter().map(str::to_owned).collect())
}

fn numbers<'a, T: Follow<'a> + 'a>(numbers: Option<Vector<'a, T>>) -> impl Iterator<Item = T::Inner> {
    numbers.into_iter().flat_map(|numbers| numbers.iter())
}

/// An absent string adds nothing, like an empty one.
#[inline]
fn add_texts<'a>(texts: impl IntoIterator<Item = Option<&'a str>>, sum: &mut Sum) {
    texts.into_iter().flatten().for_each(|text| sum.text(text));
}

#[inline]
fn add_all(texts: Option<Texts<'_>>, sum: &mut Sum) {
    texts.iter().flat_map(|texts| texts.iter()).for_each(|text| sum.text(text));
}

impl Generated for PingPong {
    type View<'a> = flat::PingPong<'a>;

    fn put(&self, builder: &mut FlatBufferBuilder<'static>) {
        let message = Some(builder.create_string(&self.message));
        let names = Some(put_texts(builder, &self.names));
        let ints = Some(builder.create_vector(&self.ints));
        let doubles = Some(builder.create_vector(&self.doubles));
        let PingPong { id, version, is_important, .. } = *self;
        let fields = flat::PingPongArgs { id, version, message, is_important, names, ints, doubles };
        let root = flat::PingPong::create(builder, &fields);
        builder.finish(root, None);
    }

    fn get(view: flat::PingPong<'_>) -> Result<PingPong> {
        Ok(PingPong {
            id: view.id(),
            version: view.version(),
            message: owned(view.message())?,
            is_important: view.is_important(),
            names: owned_all(view.names()),
            ints: numbers(view.ints()).collect(),
            doubles: numbers(view.doubles()).collect(),
        })
    }

    fn add_one(view: flat::PingPong<'_>, sum: &mut Sum) -> Option<()> {
        sum.text(view.message()?);
        Some(())
    }

    fn add(view: flat::PingPong<'_>, sum: &mut Sum) {
        sum.int(view.id());
        sum.int(view.version().into());
        add_texts([view.message()], sum);
        sum.flag(view.is_important());
        add_all(view.names(), sum);
        numbers(view.ints()).for_each(|number| sum.int(number.into()));
        numbers(view.doubles()).for_each(|number| sum.real(number));
    }
}

impl Generated for Doubles {
    type View<'a> = flat::Doubles<'a>;

    fn put(&self, builder: &mut FlatBufferBuilder<'static>) {
        let list = Some(builder.create_vector(&self.list));
        let Doubles { single_1, single_2, single_3, single_4, single_5, .. } = *self;
        let fields = flat::DoublesArgs { single_1, single_2, single_3, single_4, single_5, list };
        let root = flat::Doubles::create(builder, &fields);
        builder.finish(root, None);
    }

    fn get(view: flat::Doubles<'_>) -> Result<Doubles> {
        Ok(Doubles {
            single_1: view.single_1(),
            single_2: view.single_2(),
            single_3: view.single_3(),
            single_4: view.single_4(),
            single_5: view.single_5(),
            list: numbers(view.list()).collect(),
        })
    }

    fn add_one(view: flat::Doubles<'_>, sum: &mut Sum) -> Option<()> {
        sum.real(view.single_3());
        Some(())
    }

    fn add(view: flat::Doubles<'_>, sum: &mut Sum) {
        for single in [view.single_1(), view.single_2(), view.single_3(), view.single_4(), view.single_5()] {
            sum.real(single);
        }
        numbers(view.list()).for_each(|number| sum.real(number));
    }
}

impl Generated for Strings {
    type View<'a> = flat::Strings<'a>;

    fn put(&self, builder: &mut FlatBufferBuilder<'static>) {
        let fields = flat::StringsArgs {
            string_1: Some(builder.create_string(&self.string_1)),
            string_2: Some(builder.create_string(&self.string_2)),
            string_3: Some(builder.create_string(&self.string_3)),
            string_4: Some(builder.create_string(&self.string_4)),
            string_5: Some(builder.create_string(&self.string_5)),
            names: Some(put_texts(builder, &self.names)),
        };
        let root = flat::Strings::create(builder, &fields);
        builder.finish(root, None);
    }

    fn get(view: flat::Strings<'_>) -> Result<Strings> {
        Ok(Strings {
            string_1: owned(view.string_1())?,
            string_2: owned(view.string_2())?,
            string_3: owned(view.string_3())?,
            string_4: owned(view.string_4())?,
            string_5: owned(view.string_5())?,
            names: owned_all(view.names()),
        })
    }

    fn add_one(view: flat::Strings<'_>, sum: &mut Sum) -> Option<()> {
        sum.text(view.string_3()?);
        Some(())
    }

    fn add(view: flat::Strings<'_>, sum: &mut Sum) {
        add_texts([view.string_1(), view.string_2(), view.string_3(), view.string_4(), view.string_5()], sum);
        add_all(view.names(), sum);
    }
}

impl Generated for Zeek {
    type View<'a> = flat::Zeek<'a>;

    fn put(&self, builder: &mut FlatBufferBuilder<'static>) {
        let fields = flat::ZeekArgs {
            ts: self.ts,
            uid: Some(builder.create_string(&self.uid)),
            orig_h: Some(builder.create_string(&self.orig_h)),
            orig_p: self.orig_p,
            resp_h: Some(builder.create_string(&self.resp_h)),
            resp_p: self.resp_p,
            proto: Some(builder.create_string(&self.proto)),
            trans_id: self.trans_id,
            rtt: self.rtt,
            query: Some(builder.create_string(&self.query)),
            qclass: self.qclass,
            qclass_name: Some(builder.create_string(&self.qclass_name)),
            qtype: self.qtype,
            qtype_name: Some(builder.create_string(&self.qtype_name)),
            rcode: self.rcode,
            rcode_name: Some(builder.create_string(&self.rcode_name)),
            aa: self.aa,
            tc: self.tc,
            rd: self.rd,
            ra: self.ra,
            z: self.z,
            answers: Some(put_texts(builder, &self.answers)),
            ttls: Some(builder.create_vector(&self.ttls)),
            rejected: self.rejected,
        };
        let root = flat::Zeek::create(builder, &fields);
        builder.finish(root, None);
    }

    fn get(view: flat::Zeek<'_>) -> Result<Zeek> {
        Ok(Zeek {
            ts: view.ts(),
            uid: owned(view.uid())?,
            orig_h: owned(view.orig_h())?,
            orig_p: view.orig_p(),
            resp_h: owned(view.resp_h())?,
            resp_p: view.resp_p(),
            proto: owned(view.proto())?,
            trans_id: view.trans_id(),
            rtt: view.rtt(),
            query: owned(view.query())?,
            qclass: view.qclass(),
            qclass_name: owned(view.qclass_name())?,
            qtype: view.qtype(),
            qtype_name: owned(view.qtype_name())?,
            rcode: view.rcode(),
            rcode_name: owned(view.rcode_name())?,
            aa: view.aa(),
            tc: view.tc(),
            rd: view.rd(),
            ra: view.ra(),
            z: view.z(),
            answers: owned_all(view.answers()),
            ttls: numbers(view.ttls()).collect(),
            rejected: view.rejected(),
        })
    }

    fn add_one(view: flat::Zeek<'_>, sum: &mut Sum) -> Option<()> {
        sum.text(view.query()?);
        Some(())
    }

    fn add(view: flat::Zeek<'_>, sum: &mut Sum) {
        sum.int(view.ts());
        for number in [view.orig_p(), view.resp_p(), view.trans_id(), view.qclass(), view.qtype(), view.rcode()] {
            sum.int(number.into());
        }
        sum.int(view.z().into());
        add_texts([view.uid(), view.orig_h(), view.resp_h(), view.proto(), view.query()], sum);
        add_texts([view.qclass_name(), view.qtype_name(), view.rcode_name()], sum);
        view.rtt().into_iter().for_each(|rtt| sum.real(rtt));
        for flag in [view.aa(), view.tc(), view.rd(), view.ra(), view.rejected()] {
            sum.flag(flag);
        }
        add_all(view.answers(), sum);
        numbers(view.ttls()).for_each(|number| sum.real(number));
    }
}

impl Generated for Measurement {
    type View<'a> = flat::Measurement<'a>;

    fn put(&self, builder: &mut FlatBufferBuilder<'static>) {
        let tags = self.tags.iter().map(|(key, value)| {
            let fields =
                flat::TagArgs { key: Some(builder.create_string(key)), value: Some(builder.create_string(value)) };
            flat::Tag::create(builder, &fields)
        });
        let tags: Vec<_> = tags.collect();
        let fields = flat::MeasurementArgs {
            metric: Some(builder.create_string(&self.metric)),
            tags: Some(builder.create_vector(&tags)),
            logtime: self.logtime,
            value: self.value,
        };
        let root = flat::Measurement::create(builder, &fields);
        builder.finish(root, None);
    }

    fn get(view: flat::Measurement<'_>) -> Result<Measurement> {
        let tags = view.tags().into_iter().flat_map(|tags| tags.iter());
        Ok(Measurement {
            metric: owned(view.metric())?,
            tags: tags.map(|tag| Ok((owned(tag.key())?, owned(tag.value())?))).collect::<Result<_>>()?,
            logtime: view.logtime(),
            value: view.value(),
        })
    }

    fn add_one(view: flat::Measurement<'_>, sum: &mut Sum) -> Option<()> {
        sum.text(view.metric()?);
        Some(())
    }

    fn add(view: flat::Measurement<'_>, sum: &mut Sum) {
        add_texts([view.metric()], sum);
        let tags = view.tags().into_iter().flat_map(|tags| tags.iter());
        tags.for_each(|tag| add_texts([tag.key(), tag.value()], sum));
        sum.int(view.logtime());
        sum.int(view.value());
    }
}

impl Generated for Order {
    type View<'a> = flat::Order<'a>;

    fn put(&self, builder: &mut FlatBufferBuilder<'static>) {
        let Order { customer, .. } = self;
        let customer = flat::CustomerArgs {
            id: customer.id,
            name: Some(builder.create_string(&customer.name)),
            email: customer.email.as_ref().map(|email| builder.create_string(email)),
        };
        let customer = flat::Customer::create(builder, &customer);
        let shipping = self.shipping.as_ref().map(|shipping| {
            let fields = flat::ShippingArgs {
                street: Some(builder.create_string(&shipping.street)),
                city: Some(builder.create_string(&shipping.city)),
                postcode: Some(builder.create_string(&shipping.postcode)),
                country: Some(builder.create_string(&shipping.country)),
            };
            flat::Shipping::create(builder, &fields)
        });
        let lines = self.lines.iter().map(|line| {
            let fields = flat::LineArgs {
                sku: Some(builder.create_string(&line.sku)),
                description: line.description.as_ref().map(|text| builder.create_string(text)),
                quantity: line.quantity,
                unit_price_cents: line.unit_price_cents,
                discount: line.discount,
            };
            flat::Line::create(builder, &fields)
        });
        let lines: Vec<_> = lines.collect();
        let fields = flat::OrderArgs {
            id: self.id,
            placed_at: self.placed_at,
            currency: Some(builder.create_string(&self.currency)),
            customer: Some(customer),
            shipping,
            lines: Some(builder.create_vector(&lines)),
            note: self.note.as_ref().map(|note| builder.create_string(note)),
            total_cents: self.total_cents,
        };
        let root = flat::Order::create(builder, &fields);
        builder.finish(root, None);
    }

    fn get(view: flat::Order<'_>) -> Result<Order> {
        let customer = view.customer().context("the customer is missing")?;
        let shipping = view.shipping().map(|shipping| -> Result<Shipping> {
            Ok(Shipping {
                street: owned(shipping.street())?,
                city: owned(shipping.city())?,
                postcode: owned(shipping.postcode())?,
                country: owned(shipping.country())?,
            })
        });
        let lines = view.lines().into_iter().flat_map(|lines| lines.iter()).map(|line| -> Result<Line> {
            Ok(Line {
                sku: owned(line.sku())?,
                description: line.description().map(str::to_owned),
                quantity: line.quantity(),
                unit_price_cents: line.unit_price_cents(),
                discount: line.discount(),
            })
        });
        Ok(Order {
            id: view.id(),
            placed_at: view.placed_at(),
            currency: owned(view.currency())?,
            customer: Customer {
                id: customer.id(),
                name: owned(customer.name())?,
                email: customer.email().map(str::to_owned),
            },
            shipping: shipping.transpose()?,
            lines: lines.collect::<Result<_>>()?,
            note: view.note().map(str::to_owned),
            total_cents: view.total_cents(),
        })
    }

    fn add_one(view: flat::Order<'_>, sum: &mut Sum) -> Option<()> {
        sum.text(view.customer()?.name()?);
        Some(())
    }

    fn add(view: flat::Order<'_>, sum: &mut Sum) {
        for number in [view.id(), view.placed_at(), view.total_cents()] {
            sum.int(number);
        }
        add_texts([view.currency(), view.note()], sum);
        if let Some(customer) = view.customer() {
            sum.int(customer.id());
            add_texts([customer.name(), customer.email()], sum);
        }
        if let Some(shipping) = view.shipping() {
            add_texts([shipping.street(), shipping.city(), shipping.postcode(), shipping.country()], sum);
        }
        for line in view.lines().into_iter().flat_map(|lines| lines.iter()) {
            add_texts([line.sku(), line.description()], sum);
            sum.int(line.quantity().into());
            sum.int(line.unit_price_cents());
            line.discount().into_iter().for_each(|discount| sum.real(discount));
        }
    }
}
