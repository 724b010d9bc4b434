/* The Zeek event in FlatBuffers. */
package io.rawline.lab.format;

import io.rawline.lab.message.Check;
import io.rawline.lab.message.Zeek;
import java.nio.ByteBuffer;

final class FlatBuffersZeek extends FlatBuffers.Tables<Zeek> {
    @Override
    int write(Zeek m) {
        int uid = builder.createString(m.uid);
        int origH = builder.createString(m.orig_h);
        int respH = builder.createString(m.resp_h);
        int proto = builder.createString(m.proto);
        int query = builder.createString(m.query);
        int qclassName = builder.createString(m.qclass_name);
        int qtypeName = builder.createString(m.qtype_name);
        int rcodeName = builder.createString(m.rcode_name);
        int answers = texts(m.answers);
        int ttls = io.rawline.lab.flat.Zeek.createTtlsVector(builder, m.ttls);
        // Field by field, because the function that writes them all cannot leave rtt out.
        io.rawline.lab.flat.Zeek.startZeek(builder);
        io.rawline.lab.flat.Zeek.addTs(builder, m.ts);
        io.rawline.lab.flat.Zeek.addUid(builder, uid);
        io.rawline.lab.flat.Zeek.addOrigH(builder, origH);
        io.rawline.lab.flat.Zeek.addOrigP(builder, m.orig_p);
        io.rawline.lab.flat.Zeek.addRespH(builder, respH);
        io.rawline.lab.flat.Zeek.addRespP(builder, m.resp_p);
        io.rawline.lab.flat.Zeek.addProto(builder, proto);
        io.rawline.lab.flat.Zeek.addTransId(builder, m.trans_id);
        if (m.rtt != null) {
            io.rawline.lab.flat.Zeek.addRtt(builder, m.rtt);
        }
        io.rawline.lab.flat.Zeek.addQuery(builder, query);
        io.rawline.lab.flat.Zeek.addQclass(builder, m.qclass);
        io.rawline.lab.flat.Zeek.addQclassName(builder, qclassName);
        io.rawline.lab.flat.Zeek.addQtype(builder, m.qtype);
        io.rawline.lab.flat.Zeek.addQtypeName(builder, qtypeName);
        io.rawline.lab.flat.Zeek.addRcode(builder, m.rcode);
        io.rawline.lab.flat.Zeek.addRcodeName(builder, rcodeName);
        io.rawline.lab.flat.Zeek.addAa(builder, m.aa);
        io.rawline.lab.flat.Zeek.addTc(builder, m.tc);
        io.rawline.lab.flat.Zeek.addRd(builder, m.rd);
        io.rawline.lab.flat.Zeek.addRa(builder, m.ra);
        io.rawline.lab.flat.Zeek.addZ(builder, m.z);
        io.rawline.lab.flat.Zeek.addAnswers(builder, answers);
        io.rawline.lab.flat.Zeek.addTtls(builder, ttls);
        io.rawline.lab.flat.Zeek.addRejected(builder, m.rejected);
        return io.rawline.lab.flat.Zeek.endZeek(builder);
    }

    private static io.rawline.lab.flat.Zeek open(byte[] bytes) {
        return io.rawline.lab.flat.Zeek.getRootAsZeek(ByteBuffer.wrap(bytes));
    }

    @Override
    public Zeek decode(byte[] bytes) {
        io.rawline.lab.flat.Zeek t = open(bytes);
        Zeek m = new Zeek();
        m.ts = t.ts();
        m.uid = t.uid();
        m.orig_h = t.origH();
        m.orig_p = t.origP();
        m.resp_h = t.respH();
        m.resp_p = t.respP();
        m.proto = t.proto();
        m.trans_id = t.transId();
        m.rtt = t.hasRtt() ? t.rtt() : null;
        m.query = t.query();
        m.qclass = t.qclass();
        m.qclass_name = t.qclassName();
        m.qtype = t.qtype();
        m.qtype_name = t.qtypeName();
        m.rcode = t.rcode();
        m.rcode_name = t.rcodeName();
        m.aa = t.aa();
        m.tc = t.tc();
        m.rd = t.rd();
        m.ra = t.ra();
        m.z = t.z();
        m.answers = texts(t.answersVector());
        m.ttls = doubles(t.ttlsLength(), t.ttlsAsByteBuffer());
        m.rejected = t.rejected();
        return m;
    }

    @Override
    public long field(byte[] bytes) {
        return Check.of(open(bytes).queryAsByteBuffer());
    }

    @Override
    public long fields(byte[] bytes) {
        io.rawline.lab.flat.Zeek t = open(bytes);
        long check = t.ts() + Check.of(t.uidAsByteBuffer()) + Check.of(t.origHAsByteBuffer()) + t.origP() + Check.of(t.respHAsByteBuffer())
                + t.respP()
                + Check.of(t.protoAsByteBuffer()) + t.transId() + (t.hasRtt() ? Check.of(t.rtt()) : 0) + Check.of(t.queryAsByteBuffer()) + t.qclass()
                + Check.of(t.qclassNameAsByteBuffer()) + t.qtype() + Check.of(t.qtypeNameAsByteBuffer()) + t.rcode()
                + Check.of(t.rcodeNameAsByteBuffer()) + Check.of(t.aa()) + Check.of(t.tc()) + Check.of(t.rd()) + Check.of(t.ra()) + t.z()
                + check(t.answersVector()) + Check.of(t.rejected());
        for (int i = 0, length = t.ttlsLength(); i < length; i++) {
            check += Check.of(t.ttls(i));
        }
        return check;
    }
}
