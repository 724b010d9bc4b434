/* The Zeek event as a Rawline value. */
package io.rawline.lab.format;

import io.rawline.lab.message.Check;
import io.rawline.lab.message.Message;
import io.rawline.lab.message.Zeek;
import io.rawline.value.Address;
import io.rawline.value.Field;
import io.rawline.value.Fields;
import io.rawline.value.Port;
import io.rawline.value.Protocol;
import io.rawline.value.Step;
import io.rawline.value.ValueView;
import java.util.List;
import java.util.Locale;

final class ValuesZeek extends Values.Form<ValuesZeek.Event> {
    private static final Field TS = Field.of("ts");
    private static final Field UID = Field.of("uid");
    private static final Field ORIG_H = Field.of("orig_h");
    private static final Field ORIG_P = Field.of("orig_p");
    private static final Field RESP_H = Field.of("resp_h");
    private static final Field RESP_P = Field.of("resp_p");
    private static final Field PROTO = Field.of("proto");
    private static final Field TRANS_ID = Field.of("trans_id");
    private static final Field RTT = Field.of("rtt");
    private static final Field QUERY = Field.of("query");
    private static final Field QCLASS = Field.of("qclass");
    private static final Field QCLASS_NAME = Field.of("qclass_name");
    private static final Field QTYPE = Field.of("qtype");
    private static final Field QTYPE_NAME = Field.of("qtype_name");
    private static final Field RCODE = Field.of("rcode");
    private static final Field RCODE_NAME = Field.of("rcode_name");
    private static final Field AA = Field.of("aa");
    private static final Field TC = Field.of("tc");
    private static final Field RD = Field.of("rd");
    private static final Field RA = Field.of("ra");
    private static final Field Z = Field.of("z");
    private static final Field ANSWERS = Field.of("answers");
    private static final Field TTLS = Field.of("ttls");
    private static final Field REJECTED = Field.of("rejected");
    private static final Fields FIELDS =
            Fields.of(
                    "ts", "uid", "orig_h", "orig_p", "resp_h", "resp_p", "proto", "trans_id", "rtt", "query", "qclass", "qclass_name",
                    "qtype", "qtype_name", "rcode", "rcode_name", "aa", "tc", "rd", "ra", "z", "answers", "ttls", "rejected");

    ValuesZeek(boolean table) {
        super(table, table ? QUERY : Step.at(9));
    }

    @Override
    void write(ValuesZeek.Event m) {
        begin();
        key(TS).addTimestamp(m.ts);
        key(UID).add(m.uid);
        key(ORIG_H).add(m.orig_h);
        key(ORIG_P).add(m.orig_p);
        key(RESP_H).add(m.resp_h);
        key(RESP_P).add(m.resp_p);
        key(PROTO).addEnum(m.proto);
        key(TRANS_ID).addInteger(m.trans_id);
        if (m.rtt == null) {
            absent();
        } else {
            key(RTT).add(m.rtt);
        }
        key(QUERY).add(m.query);
        key(QCLASS).addInteger(m.qclass);
        key(QCLASS_NAME).add(m.qclass_name);
        key(QTYPE).addInteger(m.qtype);
        key(QTYPE_NAME).add(m.qtype_name);
        key(RCODE).addInteger(m.rcode);
        key(RCODE_NAME).add(m.rcode_name);
        key(AA).add(m.aa);
        key(TC).add(m.tc);
        key(RD).add(m.rd);
        key(RA).add(m.ra);
        key(Z).addInteger(m.z);
        key(ANSWERS);
        write(m.answers);
        key(TTLS);
        write(m.ttls);
        key(REJECTED).add(m.rejected);
        out.end();
    }

    @Override
    ValuesZeek.Event read() {
        ValuesZeek.Event m = new ValuesZeek.Event();
        for (int i = 0, count = count(); i < count; i++) {
            switch (place(FIELDS, i)) {
                case 0 -> m.ts = in.timestamp();
                case 1 -> m.uid = in.string();
                case 2 -> m.orig_h = in.address();
                case 3 -> m.orig_p = in.port();
                case 4 -> m.resp_h = in.address();
                case 5 -> m.resp_p = in.port();
                case 6 -> m.proto = in.enumName();
                case 7 -> m.trans_id = (int) whole();
                case 8 -> m.rtt = in.isNone() ? null : (Double) in.real();
                case 9 -> m.query = in.string();
                case 10 -> m.qclass = (int) whole();
                case 11 -> m.qclass_name = in.string();
                case 12 -> m.qtype = (int) whole();
                case 13 -> m.qtype_name = in.string();
                case 14 -> m.rcode = (int) whole();
                case 15 -> m.rcode_name = in.string();
                case 16 -> m.aa = in.bool();
                case 17 -> m.tc = in.bool();
                case 18 -> m.rd = in.bool();
                case 19 -> m.ra = in.bool();
                case 20 -> m.z = (int) whole();
                case 21 -> m.answers = texts();
                case 22 -> m.ttls = doubles();
                case 23 -> m.rejected = in.bool();
                default -> in.skip();
            }
        }
        return m;
    }

    @Override
    long check(ValueView v) {
        return at(v, TS, 0).asTimestamp()
                + checkText(at(v, UID, 1))
                + Event.check(at(v, ORIG_H, 2).asAddress())
                + Event.check(at(v, ORIG_P, 3).asPort())
                + Event.check(at(v, RESP_H, 4).asAddress())
                + Event.check(at(v, RESP_P, 5).asPort())
                + Check.of(at(v, PROTO, 6).asEnum())
                + whole(at(v, TRANS_ID, 7))
                + checkReal(at(v, RTT, 8))
                + checkText(at(v, QUERY, 9))
                + whole(at(v, QCLASS, 10))
                + checkText(at(v, QCLASS_NAME, 11))
                + whole(at(v, QTYPE, 12))
                + checkText(at(v, QTYPE_NAME, 13))
                + whole(at(v, RCODE, 14))
                + checkText(at(v, RCODE_NAME, 15))
                + Check.of(at(v, AA, 16).asBoolean())
                + Check.of(at(v, TC, 17).asBoolean())
                + Check.of(at(v, RD, 18).asBoolean())
                + Check.of(at(v, RA, 19).asBoolean())
                + whole(at(v, Z, 20))
                + checkTexts(at(v, ANSWERS, 21))
                + checkDoubles(at(v, TTLS, 22))
                + Check.of(at(v, REJECTED, 23).asBoolean());
    }

    @Override
    public Event prepare(Object message) {
        return Event.of((Zeek) message);
    }

    @Override
    public Object restore(Event decoded) {
        return decoded.plain();
    }

    /** The event as an application that uses values holds it: addresses, ports with their protocol and times have types. */
    static final class Event implements Message {
        long ts;
        String uid;
        Address orig_h;
        Port orig_p;
        Address resp_h;
        Port resp_p;
        String proto;
        int trans_id;
        Double rtt;
        String query;
        int qclass;
        String qclass_name;
        int qtype;
        String qtype_name;
        int rcode;
        String rcode_name;
        boolean aa;
        boolean tc;
        boolean rd;
        boolean ra;
        int z;
        List<String> answers;
        double[] ttls;
        boolean rejected;

        static Event of(Zeek from) {
            Event m = new Event();
            m.ts = from.ts;
            m.uid = from.uid;
            m.orig_h = Address.parse(from.orig_h);
            m.orig_p = new Port(from.orig_p, Protocol.valueOf(from.proto.toUpperCase(Locale.ROOT)));
            m.resp_h = Address.parse(from.resp_h);
            m.resp_p = new Port(from.resp_p, Protocol.valueOf(from.proto.toUpperCase(Locale.ROOT)));
            m.proto = from.proto;
            m.trans_id = from.trans_id;
            m.rtt = from.rtt;
            m.query = from.query;
            m.qclass = from.qclass;
            m.qclass_name = from.qclass_name;
            m.qtype = from.qtype;
            m.qtype_name = from.qtype_name;
            m.rcode = from.rcode;
            m.rcode_name = from.rcode_name;
            m.aa = from.aa;
            m.tc = from.tc;
            m.rd = from.rd;
            m.ra = from.ra;
            m.z = from.z;
            m.answers = from.answers;
            m.ttls = from.ttls;
            m.rejected = from.rejected;
            return m;
        }

        Zeek plain() {
            Zeek m = new Zeek();
            m.ts = ts;
            m.uid = uid;
            m.orig_h = orig_h.toString();
            m.orig_p = orig_p.number();
            m.resp_h = resp_h.toString();
            m.resp_p = resp_p.number();
            m.proto = proto;
            m.trans_id = trans_id;
            m.rtt = rtt;
            m.query = query;
            m.qclass = qclass;
            m.qclass_name = qclass_name;
            m.qtype = qtype;
            m.qtype_name = qtype_name;
            m.rcode = rcode;
            m.rcode_name = rcode_name;
            m.aa = aa;
            m.tc = tc;
            m.rd = rd;
            m.ra = ra;
            m.z = z;
            m.answers = answers;
            m.ttls = ttls;
            m.rejected = rejected;
            return m;
        }

        @Override
        public long checkField() {
            return Check.of(query);
        }

        @Override
        public long checkFields() {
            return ts
                    + Check.of(uid)
                    + check(orig_h)
                    + check(orig_p)
                    + check(resp_h)
                    + check(resp_p)
                    + Check.of(proto)
                    + trans_id
                    + Check.of(rtt)
                    + Check.of(query)
                    + qclass
                    + Check.of(qclass_name)
                    + qtype
                    + Check.of(qtype_name)
                    + rcode
                    + Check.of(rcode_name)
                    + Check.of(aa)
                    + Check.of(tc)
                    + Check.of(rd)
                    + Check.of(ra)
                    + z
                    + Check.of(answers)
                    + Check.of(ttls)
                    + Check.of(rejected);
        }

        static long check(Address address) {
            return address.high() ^ address.low();
        }

        static long check(Port port) {
            return 4L * port.number() + port.protocol().number();
        }
    }
}
