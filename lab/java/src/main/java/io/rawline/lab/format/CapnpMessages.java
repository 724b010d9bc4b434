/* The cases' structs in Cap'n Proto: how plain objects are written to builders and made of readers. */
package io.rawline.lab.format;

import io.rawline.lab.Case;
import io.rawline.lab.capnp.Cases;
import io.rawline.lab.message.Check;
import io.rawline.lab.message.Doubles;
import io.rawline.lab.message.Measurement;
import io.rawline.lab.message.Order;
import io.rawline.lab.message.PingPong;
import io.rawline.lab.message.Strings;
import io.rawline.lab.message.Zeek;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.Map;
import org.capnproto.FromPointerBuilder;
import org.capnproto.FromPointerReader;
import org.capnproto.PrimitiveList;
import org.capnproto.StructList;

final class CapnpMessages {
    private CapnpMessages() {}

    static Capnp.Struct<?, ?, ?> of(Case kase) {
        return switch (kase) {
            case PINGPONG -> new PingPongs();
            case DOUBLES -> new DoublesS();
            case STRINGS -> new StringsS();
            case ZEEK -> new Zeeks();
            case MEASUREMENT -> new Measurements();
            case ORDER -> new Orders();
        };
    }

    private static final class PingPongs extends Capnp.Struct<Cases.PingPong.Builder, Cases.PingPong.Reader, PingPong> {
        @Override
        FromPointerBuilder<Cases.PingPong.Builder> builders() {
            return Cases.PingPong.factory;
        }

        @Override
        FromPointerReader<Cases.PingPong.Reader> readers() {
            return Cases.PingPong.factory;
        }

        @Override
        void write(PingPong m, Cases.PingPong.Builder b) {
            b.setId(m.id);
            b.setVersion(m.version);
            b.setMessage(m.message);
            b.setIsImportant(m.is_important);
            write(m.names, b.initNames(m.names.size()));
            PrimitiveList.Int.Builder ints = b.initInts(m.ints.length);
            for (int i = 0; i < m.ints.length; i++) {
                ints.set(i, m.ints[i]);
            }
            PrimitiveList.Double.Builder doubles = b.initDoubles(m.doubles.length);
            for (int i = 0; i < m.doubles.length; i++) {
                doubles.set(i, m.doubles[i]);
            }
        }

        @Override
        PingPong plain(Cases.PingPong.Reader r) {
            PingPong m = new PingPong();
            m.id = r.getId();
            m.version = r.getVersion();
            m.message = r.getMessage().toString();
            m.is_important = r.getIsImportant();
            m.names = plain(r.getNames());
            PrimitiveList.Int.Reader ints = r.getInts();
            m.ints = new int[ints.size()];
            for (int i = 0; i < m.ints.length; i++) {
                m.ints[i] = ints.get(i);
            }
            m.doubles = plain(r.getDoubles());
            return m;
        }

        @Override
        long field(Cases.PingPong.Reader r) {
            return check(r.getMessage());
        }

        @Override
        long fields(Cases.PingPong.Reader r) {
            long check = r.getId() + r.getVersion() + check(r.getMessage()) + Check.of(r.getIsImportant()) + check(r.getNames())
                    + check(r.getDoubles());
            PrimitiveList.Int.Reader ints = r.getInts();
            for (int i = 0, size = ints.size(); i < size; i++) {
                check += ints.get(i);
            }
            return check;
        }
    }

    private static final class DoublesS extends Capnp.Struct<Cases.Doubles.Builder, Cases.Doubles.Reader, Doubles> {
        @Override
        FromPointerBuilder<Cases.Doubles.Builder> builders() {
            return Cases.Doubles.factory;
        }

        @Override
        FromPointerReader<Cases.Doubles.Reader> readers() {
            return Cases.Doubles.factory;
        }

        @Override
        void write(Doubles m, Cases.Doubles.Builder b) {
            b.setSingle1(m.single_1);
            b.setSingle2(m.single_2);
            b.setSingle3(m.single_3);
            b.setSingle4(m.single_4);
            b.setSingle5(m.single_5);
            PrimitiveList.Double.Builder list = b.initList(m.list.length);
            for (int i = 0; i < m.list.length; i++) {
                list.set(i, m.list[i]);
            }
        }

        @Override
        Doubles plain(Cases.Doubles.Reader r) {
            Doubles m = new Doubles();
            m.single_1 = r.getSingle1();
            m.single_2 = r.getSingle2();
            m.single_3 = r.getSingle3();
            m.single_4 = r.getSingle4();
            m.single_5 = r.getSingle5();
            m.list = plain(r.getList());
            return m;
        }

        @Override
        long field(Cases.Doubles.Reader r) {
            return Check.of(r.getSingle3());
        }

        @Override
        long fields(Cases.Doubles.Reader r) {
            return Check.of(r.getSingle1()) + Check.of(r.getSingle2()) + Check.of(r.getSingle3()) + Check.of(r.getSingle4())
                    + Check.of(r.getSingle5())
                    + check(r.getList());
        }
    }

    private static final class StringsS extends Capnp.Struct<Cases.Strings.Builder, Cases.Strings.Reader, Strings> {
        @Override
        FromPointerBuilder<Cases.Strings.Builder> builders() {
            return Cases.Strings.factory;
        }

        @Override
        FromPointerReader<Cases.Strings.Reader> readers() {
            return Cases.Strings.factory;
        }

        @Override
        void write(Strings m, Cases.Strings.Builder b) {
            b.setString1(m.string_1);
            b.setString2(m.string_2);
            b.setString3(m.string_3);
            b.setString4(m.string_4);
            b.setString5(m.string_5);
            write(m.names, b.initNames(m.names.size()));
        }

        @Override
        Strings plain(Cases.Strings.Reader r) {
            Strings m = new Strings();
            m.string_1 = r.getString1().toString();
            m.string_2 = r.getString2().toString();
            m.string_3 = r.getString3().toString();
            m.string_4 = r.getString4().toString();
            m.string_5 = r.getString5().toString();
            m.names = plain(r.getNames());
            return m;
        }

        @Override
        long field(Cases.Strings.Reader r) {
            return check(r.getString3());
        }

        @Override
        long fields(Cases.Strings.Reader r) {
            return check(r.getString1()) + check(r.getString2()) + check(r.getString3()) + check(r.getString4()) + check(r.getString5())
                    + check(r.getNames());
        }
    }

    private static final class Zeeks extends Capnp.Struct<Cases.Zeek.Builder, Cases.Zeek.Reader, Zeek> {
        @Override
        FromPointerBuilder<Cases.Zeek.Builder> builders() {
            return Cases.Zeek.factory;
        }

        @Override
        FromPointerReader<Cases.Zeek.Reader> readers() {
            return Cases.Zeek.factory;
        }

        @Override
        void write(Zeek m, Cases.Zeek.Builder b) {
            b.setTs(m.ts);
            b.setUid(m.uid);
            b.setOrigH(m.orig_h);
            b.setOrigP(m.orig_p);
            b.setRespH(m.resp_h);
            b.setRespP(m.resp_p);
            b.setProto(m.proto);
            b.setTransId(m.trans_id);
            if (m.rtt != null) {
                b.getRtt().setSome(m.rtt);
            }
            b.setQuery(m.query);
            b.setQclass(m.qclass);
            b.setQclassName(m.qclass_name);
            b.setQtype(m.qtype);
            b.setQtypeName(m.qtype_name);
            b.setRcode(m.rcode);
            b.setRcodeName(m.rcode_name);
            b.setAa(m.aa);
            b.setTc(m.tc);
            b.setRd(m.rd);
            b.setRa(m.ra);
            b.setZ(m.z);
            write(m.answers, b.initAnswers(m.answers.size()));
            PrimitiveList.Double.Builder ttls = b.initTtls(m.ttls.length);
            for (int i = 0; i < m.ttls.length; i++) {
                ttls.set(i, m.ttls[i]);
            }
            b.setRejected(m.rejected);
        }

        @Override
        Zeek plain(Cases.Zeek.Reader r) {
            Zeek m = new Zeek();
            m.ts = r.getTs();
            m.uid = r.getUid().toString();
            m.orig_h = r.getOrigH().toString();
            m.orig_p = r.getOrigP();
            m.resp_h = r.getRespH().toString();
            m.resp_p = r.getRespP();
            m.proto = r.getProto().toString();
            m.trans_id = r.getTransId();
            m.rtt = r.getRtt().isSome() ? r.getRtt().getSome() : null;
            m.query = r.getQuery().toString();
            m.qclass = r.getQclass();
            m.qclass_name = r.getQclassName().toString();
            m.qtype = r.getQtype();
            m.qtype_name = r.getQtypeName().toString();
            m.rcode = r.getRcode();
            m.rcode_name = r.getRcodeName().toString();
            m.aa = r.getAa();
            m.tc = r.getTc();
            m.rd = r.getRd();
            m.ra = r.getRa();
            m.z = r.getZ();
            m.answers = plain(r.getAnswers());
            m.ttls = plain(r.getTtls());
            m.rejected = r.getRejected();
            return m;
        }

        @Override
        long field(Cases.Zeek.Reader r) {
            return check(r.getQuery());
        }

        @Override
        long fields(Cases.Zeek.Reader r) {
            Cases.Zeek.Rtt.Reader rtt = r.getRtt();
            return r.getTs() + check(r.getUid()) + check(r.getOrigH()) + r.getOrigP() + check(r.getRespH()) + r.getRespP() + check(r.getProto())
                    + r.getTransId() + (rtt.isSome() ? Check.of(rtt.getSome()) : 0) + check(r.getQuery()) + r.getQclass() + check(r.getQclassName())
                    + r.getQtype() + check(r.getQtypeName()) + r.getRcode() + check(r.getRcodeName()) + Check.of(r.getAa()) + Check.of(r.getTc())
                    + Check.of(r.getRd()) + Check.of(r.getRa()) + r.getZ() + check(r.getAnswers()) + check(r.getTtls()) + Check.of(r.getRejected());
        }
    }

    private static final class Measurements extends Capnp.Struct<Cases.Measurement.Builder, Cases.Measurement.Reader, Measurement> {
        @Override
        FromPointerBuilder<Cases.Measurement.Builder> builders() {
            return Cases.Measurement.factory;
        }

        @Override
        FromPointerReader<Cases.Measurement.Reader> readers() {
            return Cases.Measurement.factory;
        }

        @Override
        void write(Measurement m, Cases.Measurement.Builder b) {
            b.setMetric(m.metric);
            StructList.Builder<Cases.Tag.Builder> tags = b.initTags(m.tags.size());
            int i = 0;
            for (Map.Entry<String, String> entry : m.tags.entrySet()) {
                Cases.Tag.Builder tag = tags.get(i++);
                tag.setKey(entry.getKey());
                tag.setValue(entry.getValue());
            }
            b.setLogtime(m.logtime);
            b.setValue(m.value);
        }

        @Override
        Measurement plain(Cases.Measurement.Reader r) {
            Measurement m = new Measurement();
            m.metric = r.getMetric().toString();
            m.tags = new LinkedHashMap<>();
            for (Cases.Tag.Reader tag : r.getTags()) {
                m.tags.put(tag.getKey().toString(), tag.getValue().toString());
            }
            m.logtime = r.getLogtime();
            m.value = r.getValue();
            return m;
        }

        @Override
        long field(Cases.Measurement.Reader r) {
            return check(r.getMetric());
        }

        @Override
        long fields(Cases.Measurement.Reader r) {
            long check = check(r.getMetric()) + r.getLogtime() + r.getValue();
            for (Cases.Tag.Reader tag : r.getTags()) {
                check += check(tag.getKey()) + check(tag.getValue());
            }
            return check;
        }
    }

    private static final class Orders extends Capnp.Struct<Cases.Order.Builder, Cases.Order.Reader, Order> {
        @Override
        FromPointerBuilder<Cases.Order.Builder> builders() {
            return Cases.Order.factory;
        }

        @Override
        FromPointerReader<Cases.Order.Reader> readers() {
            return Cases.Order.factory;
        }

        @Override
        void write(Order m, Cases.Order.Builder b) {
            b.setId(m.id);
            b.setPlacedAt(m.placed_at);
            b.setCurrency(m.currency);
            Cases.Customer.Builder customer = b.initCustomer();
            customer.setId(m.customer.id);
            customer.setName(m.customer.name);
            if (m.customer.email != null) {
                customer.setEmail(m.customer.email);
            }
            if (m.shipping != null) {
                Cases.Shipping.Builder shipping = b.initShipping();
                shipping.setStreet(m.shipping.street);
                shipping.setCity(m.shipping.city);
                shipping.setPostcode(m.shipping.postcode);
                shipping.setCountry(m.shipping.country);
            }
            StructList.Builder<Cases.Line.Builder> lines = b.initLines(m.lines.size());
            for (int i = 0; i < m.lines.size(); i++) {
                Order.Line from = m.lines.get(i);
                Cases.Line.Builder line = lines.get(i);
                line.setSku(from.sku);
                if (from.description != null) {
                    line.setDescription(from.description);
                }
                line.setQuantity(from.quantity);
                line.setUnitPriceCents(from.unit_price_cents);
                if (from.discount != null) {
                    line.getDiscount().setSome(from.discount);
                }
            }
            if (m.note != null) {
                b.setNote(m.note);
            }
            b.setTotalCents(m.total_cents);
        }

        @Override
        Order plain(Cases.Order.Reader r) {
            Order m = new Order();
            m.id = r.getId();
            m.placed_at = r.getPlacedAt();
            m.currency = r.getCurrency().toString();
            Cases.Customer.Reader customer = r.getCustomer();
            m.customer = new Order.Customer();
            m.customer.id = customer.getId();
            m.customer.name = customer.getName().toString();
            m.customer.email = customer.hasEmail() ? customer.getEmail().toString() : null;
            if (r.hasShipping()) {
                Cases.Shipping.Reader shipping = r.getShipping();
                m.shipping = new Order.Shipping();
                m.shipping.street = shipping.getStreet().toString();
                m.shipping.city = shipping.getCity().toString();
                m.shipping.postcode = shipping.getPostcode().toString();
                m.shipping.country = shipping.getCountry().toString();
            }
            m.lines = new ArrayList<>(r.getLines().size());
            for (Cases.Line.Reader from : r.getLines()) {
                Order.Line line = new Order.Line();
                line.sku = from.getSku().toString();
                line.description = from.hasDescription() ? from.getDescription().toString() : null;
                line.quantity = from.getQuantity();
                line.unit_price_cents = from.getUnitPriceCents();
                line.discount = from.getDiscount().isSome() ? from.getDiscount().getSome() : null;
                m.lines.add(line);
            }
            m.note = r.hasNote() ? r.getNote().toString() : null;
            m.total_cents = r.getTotalCents();
            return m;
        }

        @Override
        long field(Cases.Order.Reader r) {
            return check(r.getCustomer().getName());
        }

        @Override
        long fields(Cases.Order.Reader r) {
            Cases.Customer.Reader customer = r.getCustomer();
            // An absent text reads as an empty one, whose check is 0 as well.
            long check = r.getId() + r.getPlacedAt() + check(r.getCurrency()) + customer.getId() + check(customer.getName())
                    + check(customer.getEmail())
                    + check(r.getNote()) + r.getTotalCents();
            if (r.hasShipping()) {
                Cases.Shipping.Reader shipping = r.getShipping();
                check += check(shipping.getStreet()) + check(shipping.getCity()) + check(shipping.getPostcode()) + check(shipping.getCountry());
            }
            for (Cases.Line.Reader line : r.getLines()) {
                Cases.Line.Discount.Reader discount = line.getDiscount();
                check += check(line.getSku()) + check(line.getDescription()) + line.getQuantity() + line.getUnitPriceCents()
                        + (discount.isSome() ? Check.of(discount.getSome()) : 0);
            }
            return check;
        }
    }
}
