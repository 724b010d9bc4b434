/* Protobuf's messages of plain objects and back, and how an application reads them. */
package io.rawline.lab.format;

import com.google.protobuf.MessageLite;
import com.google.protobuf.Parser;
import io.rawline.lab.Case;
import io.rawline.lab.message.Check;
import io.rawline.lab.message.Doubles;
import io.rawline.lab.message.Measurement;
import io.rawline.lab.message.Order;
import io.rawline.lab.message.PingPong;
import io.rawline.lab.message.Strings;
import io.rawline.lab.message.Zeek;
import io.rawline.lab.proto.Order.Customer;
import io.rawline.lab.proto.Order.Line;
import io.rawline.lab.proto.Order.Shipping;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;

/** @param <P> the generated class, @param <M> the case's plain object */
abstract class ProtobufMessages<P extends MessageLite, M> {
    abstract Parser<P> parser();

    abstract P build(M message);

    abstract M plain(P message);

    abstract long read(P message);

    static ProtobufMessages<?, ?> of(Case kase) {
        return switch (kase) {
            case PINGPONG -> new PingPongs();
            case DOUBLES -> new DoublesS();
            case STRINGS -> new StringsS();
            case ZEEK -> new Zeeks();
            case MEASUREMENT -> new Measurements();
            case ORDER -> new Orders();
        };
    }

    private static double[] array(List<Double> list) {
        return list.stream().mapToDouble(element -> element).toArray();
    }

    private static final class PingPongs extends ProtobufMessages<io.rawline.lab.proto.PingPong, PingPong> {
        @Override
        Parser<io.rawline.lab.proto.PingPong> parser() {
            return io.rawline.lab.proto.PingPong.parser();
        }

        @Override
        io.rawline.lab.proto.PingPong build(PingPong m) {
            io.rawline.lab.proto.PingPong.Builder b =
                    io.rawline.lab.proto.PingPong.newBuilder().setId(m.id).setVersion(m.version).setMessage(m.message).setIsImportant(m.is_important)
                            .addAllNames(m.names);
            for (int element : m.ints) {
                b.addInts(element);
            }
            for (double element : m.doubles) {
                b.addDoubles(element);
            }
            return b.build();
        }

        @Override
        PingPong plain(io.rawline.lab.proto.PingPong p) {
            PingPong m = new PingPong();
            m.id = p.getId();
            m.version = p.getVersion();
            m.message = p.getMessage();
            m.is_important = p.getIsImportant();
            m.names = new ArrayList<>(p.getNamesList());
            m.ints = p.getIntsList().stream().mapToInt(element -> element).toArray();
            m.doubles = array(p.getDoublesList());
            return m;
        }

        @Override
        long read(io.rawline.lab.proto.PingPong p) {
            long check = p.getId() + p.getVersion() + Check.of(p.getMessage()) + Check.of(p.getIsImportant());
            for (int i = 0, count = p.getNamesCount(); i < count; i++) {
                check += Check.of(p.getNames(i));
            }
            for (int i = 0, count = p.getIntsCount(); i < count; i++) {
                check += p.getInts(i);
            }
            for (int i = 0, count = p.getDoublesCount(); i < count; i++) {
                check += Check.of(p.getDoubles(i));
            }
            return check;
        }
    }

    private static final class DoublesS extends ProtobufMessages<io.rawline.lab.proto.Doubles, Doubles> {
        @Override
        Parser<io.rawline.lab.proto.Doubles> parser() {
            return io.rawline.lab.proto.Doubles.parser();
        }

        @Override
        io.rawline.lab.proto.Doubles build(Doubles m) {
            io.rawline.lab.proto.Doubles.Builder b =
                    io.rawline.lab.proto.Doubles.newBuilder().setSingle1(m.single_1).setSingle2(m.single_2).setSingle3(m.single_3)
                            .setSingle4(m.single_4)
                            .setSingle5(m.single_5);
            for (double element : m.list) {
                b.addList(element);
            }
            return b.build();
        }

        @Override
        Doubles plain(io.rawline.lab.proto.Doubles p) {
            Doubles m = new Doubles();
            m.single_1 = p.getSingle1();
            m.single_2 = p.getSingle2();
            m.single_3 = p.getSingle3();
            m.single_4 = p.getSingle4();
            m.single_5 = p.getSingle5();
            m.list = array(p.getListList());
            return m;
        }

        @Override
        long read(io.rawline.lab.proto.Doubles p) {
            long check = Check.of(p.getSingle1()) + Check.of(p.getSingle2()) + Check.of(p.getSingle3()) + Check.of(p.getSingle4())
                    + Check.of(p.getSingle5());
            for (int i = 0, count = p.getListCount(); i < count; i++) {
                check += Check.of(p.getList(i));
            }
            return check;
        }
    }

    private static final class StringsS extends ProtobufMessages<io.rawline.lab.proto.Strings, Strings> {
        @Override
        Parser<io.rawline.lab.proto.Strings> parser() {
            return io.rawline.lab.proto.Strings.parser();
        }

        @Override
        io.rawline.lab.proto.Strings build(Strings m) {
            return io.rawline.lab.proto.Strings.newBuilder().setString1(m.string_1).setString2(m.string_2).setString3(m.string_3)
                    .setString4(m.string_4)
                    .setString5(m.string_5).addAllNames(m.names).build();
        }

        @Override
        Strings plain(io.rawline.lab.proto.Strings p) {
            Strings m = new Strings();
            m.string_1 = p.getString1();
            m.string_2 = p.getString2();
            m.string_3 = p.getString3();
            m.string_4 = p.getString4();
            m.string_5 = p.getString5();
            m.names = new ArrayList<>(p.getNamesList());
            return m;
        }

        @Override
        long read(io.rawline.lab.proto.Strings p) {
            long check = Check.of(p.getString1()) + Check.of(p.getString2()) + Check.of(p.getString3()) + Check.of(p.getString4())
                    + Check.of(p.getString5());
            for (int i = 0, count = p.getNamesCount(); i < count; i++) {
                check += Check.of(p.getNames(i));
            }
            return check;
        }
    }

    private static final class Zeeks extends ProtobufMessages<io.rawline.lab.proto.Zeek, Zeek> {
        @Override
        Parser<io.rawline.lab.proto.Zeek> parser() {
            return io.rawline.lab.proto.Zeek.parser();
        }

        @Override
        io.rawline.lab.proto.Zeek build(Zeek m) {
            io.rawline.lab.proto.Zeek.Builder b =
                    io.rawline.lab.proto.Zeek.newBuilder().setTs(m.ts).setUid(m.uid).setOrigH(m.orig_h).setOrigP(m.orig_p).setRespH(m.resp_h)
                            .setRespP(m.resp_p).setProto(m.proto).setTransId(m.trans_id).setQuery(m.query).setQclass(m.qclass)
                            .setQclassName(m.qclass_name)
                            .setQtype(m.qtype).setQtypeName(m.qtype_name).setRcode(m.rcode).setRcodeName(m.rcode_name).setAa(m.aa).setTc(m.tc)
                            .setRd(m.rd)
                            .setRa(m.ra).setZ(m.z).addAllAnswers(m.answers).setRejected(m.rejected);
            if (m.rtt != null) {
                b.setRtt(m.rtt);
            }
            for (double element : m.ttls) {
                b.addTtls(element);
            }
            return b.build();
        }

        @Override
        Zeek plain(io.rawline.lab.proto.Zeek p) {
            Zeek m = new Zeek();
            m.ts = p.getTs();
            m.uid = p.getUid();
            m.orig_h = p.getOrigH();
            m.orig_p = p.getOrigP();
            m.resp_h = p.getRespH();
            m.resp_p = p.getRespP();
            m.proto = p.getProto();
            m.trans_id = p.getTransId();
            m.rtt = p.hasRtt() ? p.getRtt() : null;
            m.query = p.getQuery();
            m.qclass = p.getQclass();
            m.qclass_name = p.getQclassName();
            m.qtype = p.getQtype();
            m.qtype_name = p.getQtypeName();
            m.rcode = p.getRcode();
            m.rcode_name = p.getRcodeName();
            m.aa = p.getAa();
            m.tc = p.getTc();
            m.rd = p.getRd();
            m.ra = p.getRa();
            m.z = p.getZ();
            m.answers = new ArrayList<>(p.getAnswersList());
            m.ttls = array(p.getTtlsList());
            m.rejected = p.getRejected();
            return m;
        }

        @Override
        long read(io.rawline.lab.proto.Zeek p) {
            long check = p.getTs() + Check.of(p.getUid()) + Check.of(p.getOrigH()) + p.getOrigP() + Check.of(p.getRespH()) + p.getRespP()
                    + Check.of(p.getProto()) + p.getTransId() + (p.hasRtt() ? Check.of(p.getRtt()) : 0) + Check.of(p.getQuery()) + p.getQclass()
                    + Check.of(p.getQclassName()) + p.getQtype() + Check.of(p.getQtypeName()) + p.getRcode() + Check.of(p.getRcodeName())
                    + Check.of(p.getAa())
                    + Check.of(p.getTc()) + Check.of(p.getRd()) + Check.of(p.getRa()) + p.getZ() + Check.of(p.getRejected());
            for (int i = 0, count = p.getAnswersCount(); i < count; i++) {
                check += Check.of(p.getAnswers(i));
            }
            for (int i = 0, count = p.getTtlsCount(); i < count; i++) {
                check += Check.of(p.getTtls(i));
            }
            return check;
        }
    }

    private static final class Measurements extends ProtobufMessages<io.rawline.lab.proto.Measurement, Measurement> {
        @Override
        Parser<io.rawline.lab.proto.Measurement> parser() {
            return io.rawline.lab.proto.Measurement.parser();
        }

        @Override
        io.rawline.lab.proto.Measurement build(Measurement m) {
            return io.rawline.lab.proto.Measurement.newBuilder().setMetric(m.metric).putAllTags(m.tags).setLogtime(m.logtime)
                    .setValue(m.value).build();
        }

        @Override
        Measurement plain(io.rawline.lab.proto.Measurement p) {
            Measurement m = new Measurement();
            m.metric = p.getMetric();
            m.tags = new LinkedHashMap<>(p.getTagsMap());
            m.logtime = p.getLogtime();
            m.value = p.getValue();
            return m;
        }

        @Override
        long read(io.rawline.lab.proto.Measurement p) {
            return Check.of(p.getMetric()) + Check.of(p.getTagsMap()) + p.getLogtime() + p.getValue();
        }
    }

    private static final class Orders extends ProtobufMessages<io.rawline.lab.proto.Order, Order> {
        @Override
        Parser<io.rawline.lab.proto.Order> parser() {
            return io.rawline.lab.proto.Order.parser();
        }

        @Override
        io.rawline.lab.proto.Order build(Order m) {
            io.rawline.lab.proto.Order.Builder b =
                    io.rawline.lab.proto.Order.newBuilder().setId(m.id).setPlacedAt(m.placed_at).setCurrency(m.currency).setTotalCents(m.total_cents);
            Customer.Builder customer = b.getCustomerBuilder().setId(m.customer.id).setName(m.customer.name);
            if (m.customer.email != null) {
                customer.setEmail(m.customer.email);
            }
            if (m.shipping != null) {
                b.getShippingBuilder().setStreet(m.shipping.street).setCity(m.shipping.city).setPostcode(m.shipping.postcode)
                        .setCountry(m.shipping.country);
            }
            for (Order.Line line : m.lines) {
                Line.Builder l = b.addLinesBuilder().setSku(line.sku).setQuantity(line.quantity).setUnitPriceCents(line.unit_price_cents);
                if (line.description != null) {
                    l.setDescription(line.description);
                }
                if (line.discount != null) {
                    l.setDiscount(line.discount);
                }
            }
            if (m.note != null) {
                b.setNote(m.note);
            }
            return b.build();
        }

        @Override
        Order plain(io.rawline.lab.proto.Order p) {
            Order m = new Order();
            m.id = p.getId();
            m.placed_at = p.getPlacedAt();
            m.currency = p.getCurrency();
            m.customer = new Order.Customer();
            m.customer.id = p.getCustomer().getId();
            m.customer.name = p.getCustomer().getName();
            m.customer.email = p.getCustomer().hasEmail() ? p.getCustomer().getEmail() : null;
            if (p.hasShipping()) {
                m.shipping = new Order.Shipping();
                m.shipping.street = p.getShipping().getStreet();
                m.shipping.city = p.getShipping().getCity();
                m.shipping.postcode = p.getShipping().getPostcode();
                m.shipping.country = p.getShipping().getCountry();
            }
            m.lines = new ArrayList<>();
            for (Line line : p.getLinesList()) {
                Order.Line l = new Order.Line();
                l.sku = line.getSku();
                l.description = line.hasDescription() ? line.getDescription() : null;
                l.quantity = line.getQuantity();
                l.unit_price_cents = line.getUnitPriceCents();
                l.discount = line.hasDiscount() ? line.getDiscount() : null;
                m.lines.add(l);
            }
            m.note = p.hasNote() ? p.getNote() : null;
            m.total_cents = p.getTotalCents();
            return m;
        }

        @Override
        long read(io.rawline.lab.proto.Order p) {
            Customer customer = p.getCustomer();
            long check = p.getId() + p.getPlacedAt() + Check.of(p.getCurrency()) + customer.getId() + Check.of(customer.getName())
                    + Check.of(customer.getEmail()) + Check.of(p.getNote()) + p.getTotalCents();
            if (p.hasShipping()) {
                Shipping shipping = p.getShipping();
                check += Check.of(shipping.getStreet()) + Check.of(shipping.getCity()) + Check.of(shipping.getPostcode())
                        + Check.of(shipping.getCountry());
            }
            for (Line line : p.getLinesList()) {
                check += Check.of(line.getSku()) + Check.of(line.getDescription()) + line.getQuantity() + line.getUnitPriceCents()
                        + (line.hasDiscount() ? Check.of(line.getDiscount()) : 0);
            }
            return check;
        }
    }
}
