//! The cases in Cap'n Proto's generated builders and readers.

use anyhow::Result;
use capnp::traits::Owned;
use capnp::{primitive_list, text, text_list};

use crate::cases::plain::{Customer, Doubles, Line, Measurement, Order, PingPong, Shipping, Strings, Zeek};
use crate::cases::{Message, Sum};
use crate::cases_capnp::{doubles, line, measurement, order, ping_pong, strings, zeek};

/// A case's generated code.
pub trait Generated: Message {
    /// The generated type.
    type Owned: Owned;
    /// Writes the message.
    fn put(&self, builder: <Self::Owned as Owned>::Builder<'_>) -> Result<()>;
    /// Creates an owned message from a view.
    fn get(reader: <Self::Owned as Owned>::Reader<'_>) -> Result<Self>;
    /// Adds the one field.
    fn add_one(reader: <Self::Owned as Owned>::Reader<'_>, sum: &mut Sum) -> Result<()>;
    /// Adds all fields.
    fn add(reader: <Self::Owned as Owned>::Reader<'_>, sum: &mut Sum) -> Result<()>;
}

/// A list's length. No case reaches 2^29, the format's limit.
fn count<T>(list: &[T]) -> u32 {
    u32::try_from(list.len()).unwrap_or(u32::MAX)
}

fn put_texts(mut list: text_list::Builder<'_>, texts: &[String]) {
    for (index, text) in (0..).zip(texts) {
        list.set(index, text.as_str());
    }
}

fn owned(text: capnp::Result<text::Reader<'_>>) -> Result<String> {
    Ok(text?.to_str()?.to_owned())
}

fn owned_all(texts: capnp::Result<text_list::Reader<'_>>) -> Result<Vec<String>> {
    texts?.iter().map(owned).collect()
}

#[inline]
fn add_text(text: capnp::Result<text::Reader<'_>>, sum: &mut Sum) -> Result<()> {
    sum.text(text?.to_str()?);
    Ok(())
}

#[inline]
fn add_texts(texts: capnp::Result<text_list::Reader<'_>>, sum: &mut Sum) -> Result<()> {
    texts?.iter().try_for_each(|text| add_text(text, sum))
}

#[inline]
fn add_reals(numbers: capnp::Result<primitive_list::Reader<'_, f64>>, sum: &mut Sum) -> Result<()> {
    numbers?.iter().for_each(|number| sum.real(number));
    Ok(())
}

impl Generated for PingPong {
    type Owned = ping_pong::Owned;

    fn put(&self, mut builder: ping_pong::Builder<'_>) -> Result<()> {
        builder.set_id(self.id);
        builder.set_version(self.version);
        builder.set_message(self.message.as_str());
        builder.set_is_important(self.is_important);
        put_texts(builder.reborrow().init_names(count(&self.names)), &self.names);
        builder.set_ints(self.ints.as_slice())?;
        builder.set_doubles(self.doubles.as_slice())?;
        Ok(())
    }

    fn get(reader: ping_pong::Reader<'_>) -> Result<PingPong> {
        Ok(PingPong {
            id: reader.get_id(),
            version: reader.get_version(),
            message: owned(reader.get_message())?,
            is_important: reader.get_is_important(),
            names: owned_all(reader.get_names())?,
            ints: reader.get_ints()?.iter().collect(),
            doubles: reader.get_doubles()?.iter().collect(),
        })
    }

    fn add_one(reader: ping_pong::Reader<'_>, sum: &mut Sum) -> Result<()> {
        add_text(reader.get_message(), sum)
    }

    fn add(reader: ping_pong::Reader<'_>, sum: &mut Sum) -> Result<()> {
        sum.int(reader.get_id());
        sum.int(reader.get_version().into());
        add_text(reader.get_message(), sum)?;
        sum.flag(reader.get_is_important());
        add_texts(reader.get_names(), sum)?;
        reader.get_ints()?.iter().for_each(|number| sum.int(number.into()));
        add_reals(reader.get_doubles(), sum)
    }
}

impl Generated for Doubles {
    type Owned = doubles::Owned;

    fn put(&self, mut builder: doubles::Builder<'_>) -> Result<()> {
        builder.set_single1(self.single_1);
        builder.set_single2(self.single_2);
        builder.set_single3(self.single_3);
        builder.set_single4(self.single_4);
        builder.set_single5(self.single_5);
        builder.set_list(self.list.as_slice())?;
        Ok(())
    }

    fn get(reader: doubles::Reader<'_>) -> Result<Doubles> {
        Ok(Doubles {
            single_1: reader.get_single1(),
            single_2: reader.get_single2(),
            single_3: reader.get_single3(),
            single_4: reader.get_single4(),
            single_5: reader.get_single5(),
            list: reader.get_list()?.iter().collect(),
        })
    }

    fn add_one(reader: doubles::Reader<'_>, sum: &mut Sum) -> Result<()> {
        sum.real(reader.get_single3());
        Ok(())
    }

    fn add(reader: doubles::Reader<'_>, sum: &mut Sum) -> Result<()> {
        for single in [reader.get_single1(), reader.get_single2(), reader.get_single3()] {
            sum.real(single);
        }
        sum.real(reader.get_single4());
        sum.real(reader.get_single5());
        add_reals(reader.get_list(), sum)
    }
}

impl Generated for Strings {
    type Owned = strings::Owned;

    fn put(&self, mut builder: strings::Builder<'_>) -> Result<()> {
        builder.set_string1(self.string_1.as_str());
        builder.set_string2(self.string_2.as_str());
        builder.set_string3(self.string_3.as_str());
        builder.set_string4(self.string_4.as_str());
        builder.set_string5(self.string_5.as_str());
        put_texts(builder.init_names(count(&self.names)), &self.names);
        Ok(())
    }

    fn get(reader: strings::Reader<'_>) -> Result<Strings> {
        Ok(Strings {
            string_1: owned(reader.get_string1())?,
            string_2: owned(reader.get_string2())?,
            string_3: owned(reader.get_string3())?,
            string_4: owned(reader.get_string4())?,
            string_5: owned(reader.get_string5())?,
            names: owned_all(reader.get_names())?,
        })
    }

    fn add_one(reader: strings::Reader<'_>, sum: &mut Sum) -> Result<()> {
        add_text(reader.get_string3(), sum)
    }

    fn add(reader: strings::Reader<'_>, sum: &mut Sum) -> Result<()> {
        for text in [reader.get_string1(), reader.get_string2(), reader.get_string3()] {
            add_text(text, sum)?;
        }
        add_text(reader.get_string4(), sum)?;
        add_text(reader.get_string5(), sum)?;
        add_texts(reader.get_names(), sum)
    }
}

impl Generated for Zeek {
    type Owned = zeek::Owned;

    fn put(&self, mut builder: zeek::Builder<'_>) -> Result<()> {
        builder.set_ts(self.ts);
        builder.set_uid(self.uid.as_str());
        builder.set_orig_h(self.orig_h.as_str());
        builder.set_orig_p(self.orig_p);
        builder.set_resp_h(self.resp_h.as_str());
        builder.set_resp_p(self.resp_p);
        builder.set_proto(self.proto.as_str());
        builder.set_trans_id(self.trans_id);
        match self.rtt {
            Some(rtt) => builder.reborrow().init_rtt().set_some(rtt),
            None => builder.reborrow().init_rtt().set_none(()),
        }
        builder.set_query(self.query.as_str());
        builder.set_qclass(self.qclass);
        builder.set_qclass_name(self.qclass_name.as_str());
        builder.set_qtype(self.qtype);
        builder.set_qtype_name(self.qtype_name.as_str());
        builder.set_rcode(self.rcode);
        builder.set_rcode_name(self.rcode_name.as_str());
        builder.set_aa(self.aa);
        builder.set_tc(self.tc);
        builder.set_rd(self.rd);
        builder.set_ra(self.ra);
        builder.set_z(self.z);
        put_texts(builder.reborrow().init_answers(count(&self.answers)), &self.answers);
        builder.set_ttls(self.ttls.as_slice())?;
        builder.set_rejected(self.rejected);
        Ok(())
    }

    fn get(reader: zeek::Reader<'_>) -> Result<Zeek> {
        Ok(Zeek {
            ts: reader.get_ts(),
            uid: owned(reader.get_uid())?,
            orig_h: owned(reader.get_orig_h())?,
            orig_p: reader.get_orig_p(),
            resp_h: owned(reader.get_resp_h())?,
            resp_p: reader.get_resp_p(),
            proto: owned(reader.get_proto())?,
            trans_id: reader.get_trans_id(),
            rtt: match reader.get_rtt().which()? {
                zeek::rtt::Some(rtt) => Some(rtt),
                zeek::rtt::None(()) => None,
            },
            query: owned(reader.get_query())?,
            qclass: reader.get_qclass(),
            qclass_name: owned(reader.get_qclass_name())?,
            qtype: reader.get_qtype(),
            qtype_name: owned(reader.get_qtype_name())?,
            rcode: reader.get_rcode(),
            rcode_name: owned(reader.get_rcode_name())?,
            aa: reader.get_aa(),
            tc: reader.get_tc(),
            rd: reader.get_rd(),
            ra: reader.get_ra(),
            z: reader.get_z(),
            answers: owned_all(reader.get_answers())?,
            ttls: reader.get_ttls()?.iter().collect(),
            rejected: reader.get_rejected(),
        })
    }

    fn add_one(reader: zeek::Reader<'_>, sum: &mut Sum) -> Result<()> {
        add_text(reader.get_query(), sum)
    }

    fn add(reader: zeek::Reader<'_>, sum: &mut Sum) -> Result<()> {
        sum.int(reader.get_ts());
        for number in [reader.get_orig_p(), reader.get_resp_p(), reader.get_trans_id(), reader.get_qclass()] {
            sum.int(number.into());
        }
        for number in [reader.get_qtype(), reader.get_rcode(), reader.get_z()] {
            sum.int(number.into());
        }
        for text in [reader.get_uid(), reader.get_orig_h(), reader.get_resp_h(), reader.get_proto()] {
            add_text(text, sum)?;
        }
        add_text(reader.get_query(), sum)?;
        for text in [reader.get_qclass_name(), reader.get_qtype_name(), reader.get_rcode_name()] {
            add_text(text, sum)?;
        }
        if let zeek::rtt::Some(rtt) = reader.get_rtt().which()? {
            sum.real(rtt);
        }
        for flag in [reader.get_aa(), reader.get_tc(), reader.get_rd(), reader.get_ra(), reader.get_rejected()] {
            sum.flag(flag);
        }
        add_texts(reader.get_answers(), sum)?;
        add_reals(reader.get_ttls(), sum)
    }
}

impl Generated for Measurement {
    type Owned = measurement::Owned;

    fn put(&self, mut builder: measurement::Builder<'_>) -> Result<()> {
        builder.set_metric(self.metric.as_str());
        let mut tags = builder.reborrow().init_tags(u32::try_from(self.tags.len())?);
        for (index, (key, value)) in (0..).zip(&self.tags) {
            let mut tag = tags.reborrow().get(index);
            tag.set_key(key.as_str());
            tag.set_value(value.as_str());
        }
        builder.set_logtime(self.logtime);
        builder.set_value(self.value);
        Ok(())
    }

    fn get(reader: measurement::Reader<'_>) -> Result<Measurement> {
        let tags = reader.get_tags()?.iter();
        Ok(Measurement {
            metric: owned(reader.get_metric())?,
            tags: tags.map(|tag| Ok((owned(tag.get_key())?, owned(tag.get_value())?))).collect::<Result<_>>()?,
            logtime: reader.get_logtime(),
            value: reader.get_value(),
        })
    }

    fn add_one(reader: measurement::Reader<'_>, sum: &mut Sum) -> Result<()> {
        add_text(reader.get_metric(), sum)
    }

    fn add(reader: measurement::Reader<'_>, sum: &mut Sum) -> Result<()> {
        add_text(reader.get_metric(), sum)?;
        for tag in reader.get_tags()? {
            add_text(tag.get_key(), sum)?;
            add_text(tag.get_value(), sum)?;
        }
        sum.int(reader.get_logtime());
        sum.int(reader.get_value());
        Ok(())
    }
}

impl Generated for Order {
    type Owned = order::Owned;

    fn put(&self, mut builder: order::Builder<'_>) -> Result<()> {
        builder.set_id(self.id);
        builder.set_placed_at(self.placed_at);
        builder.set_currency(self.currency.as_str());
        let mut customer = builder.reborrow().init_customer();
        customer.set_id(self.customer.id);
        customer.set_name(self.customer.name.as_str());
        if let Some(email) = &self.customer.email {
            customer.set_email(email.as_str());
        }
        if let Some(shipping) = &self.shipping {
            let mut place = builder.reborrow().init_shipping();
            place.set_street(shipping.street.as_str());
            place.set_city(shipping.city.as_str());
            place.set_postcode(shipping.postcode.as_str());
            place.set_country(shipping.country.as_str());
        }
        let mut lines = builder.reborrow().init_lines(count(&self.lines));
        for (index, line) in (0..).zip(&self.lines) {
            let mut place = lines.reborrow().get(index);
            place.set_sku(line.sku.as_str());
            if let Some(description) = &line.description {
                place.set_description(description.as_str());
            }
            place.set_quantity(line.quantity);
            place.set_unit_price_cents(line.unit_price_cents);
            match line.discount {
                Some(discount) => place.init_discount().set_some(discount),
                None => place.init_discount().set_none(()),
            }
        }
        if let Some(note) = &self.note {
            builder.set_note(note.as_str());
        }
        builder.set_total_cents(self.total_cents);
        Ok(())
    }

    fn get(reader: order::Reader<'_>) -> Result<Order> {
        let customer = reader.get_customer()?;
        let shipping = if reader.has_shipping() { Some(reader.get_shipping()?) } else { None };
        let shipping = shipping.map(|shipping| -> Result<Shipping> {
            Ok(Shipping {
                street: owned(shipping.get_street())?,
                city: owned(shipping.get_city())?,
                postcode: owned(shipping.get_postcode())?,
                country: owned(shipping.get_country())?,
            })
        });
        let lines = reader.get_lines()?.iter().map(|line| -> Result<Line> {
            Ok(Line {
                sku: owned(line.get_sku())?,
                description: line.has_description().then(|| owned(line.get_description())).transpose()?,
                quantity: line.get_quantity(),
                unit_price_cents: line.get_unit_price_cents(),
                discount: match line.get_discount().which()? {
                    line::discount::Some(discount) => Some(discount),
                    line::discount::None(()) => None,
                },
            })
        });
        Ok(Order {
            id: reader.get_id(),
            placed_at: reader.get_placed_at(),
            currency: owned(reader.get_currency())?,
            customer: Customer {
                id: customer.get_id(),
                name: owned(customer.get_name())?,
                email: customer.has_email().then(|| owned(customer.get_email())).transpose()?,
            },
            shipping: shipping.transpose()?,
            lines: lines.collect::<Result<_>>()?,
            note: reader.has_note().then(|| owned(reader.get_note())).transpose()?,
            total_cents: reader.get_total_cents(),
        })
    }

    fn add_one(reader: order::Reader<'_>, sum: &mut Sum) -> Result<()> {
        add_text(reader.get_customer()?.get_name(), sum)
    }

    fn add(reader: order::Reader<'_>, sum: &mut Sum) -> Result<()> {
        let customer = reader.get_customer()?;
        for number in [reader.get_id(), reader.get_placed_at(), customer.get_id(), reader.get_total_cents()] {
            sum.int(number);
        }
        // An absent string reads as an empty one, which adds nothing.
        for text in [reader.get_currency(), customer.get_name(), customer.get_email(), reader.get_note()] {
            add_text(text, sum)?;
        }
        if reader.has_shipping() {
            let shipping = reader.get_shipping()?;
            for text in [shipping.get_street(), shipping.get_city(), shipping.get_postcode(), shipping.get_country()] {
                add_text(text, sum)?;
            }
        }
        for line in reader.get_lines()? {
            add_text(line.get_sku(), sum)?;
            add_text(line.get_description(), sum)?;
            sum.int(line.get_quantity().into());
            sum.int(line.get_unit_price_cents());
            if let line::discount::Some(discount) = line.get_discount().which()? {
                sum.real(discount);
            }
        }
        Ok(())
    }
}
