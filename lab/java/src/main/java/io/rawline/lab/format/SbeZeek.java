/* The Zeek event in SBE. */
package io.rawline.lab.format;

import io.rawline.lab.message.Check;
import io.rawline.lab.message.Zeek;
import io.rawline.lab.sbe.BooleanType;
import io.rawline.lab.sbe.ZeekDecoder;
import io.rawline.lab.sbe.ZeekEncoder;
import java.util.ArrayList;

final class SbeZeek extends Sbe.Flyweights<Zeek> {
    private final ZeekEncoder encoder = new ZeekEncoder();
    private final ZeekDecoder decoder = new ZeekDecoder();

    @Override
    public Object encode(Zeek m) {
        encoder.wrapAndApplyHeader(out, 0, headerEncoder).ts(m.ts).rtt(m.rtt == null ? ZeekEncoder.rttNullValue() : m.rtt).origP(m.orig_p)
                .respP(m.resp_p).transId(m.trans_id).qclass(m.qclass).qtype(m.qtype).rcode(m.rcode).z(m.z).aa(of(m.aa)).tc(of(m.tc)).rd(of(m.rd))
                .ra(of(m.ra)).rejected(of(m.rejected));
        ZeekEncoder.AnswersEncoder answers = encoder.answersCount(m.answers.size());
        for (String answer : m.answers) {
            answers.next().answer(answer);
        }
        ZeekEncoder.TtlsEncoder ttls = encoder.ttlsCount(m.ttls.length);
        for (double ttl : m.ttls) {
            ttls.next().record(ttl);
        }
        encoder.query(m.query).uid(m.uid).origH(m.orig_h).respH(m.resp_h).proto(m.proto).qclassName(m.qclass_name).qtypeName(m.qtype_name)
                .rcodeName(m.rcode_name);
        return written(encoder.limit());
    }

    private ZeekDecoder open(byte[] bytes) {
        in.wrap(bytes);
        return decoder.wrapAndApplyHeader(in, 0, headerDecoder);
    }

    @Override
    public Zeek decode(byte[] bytes) {
        ZeekDecoder d = open(bytes);
        Zeek m = new Zeek();
        m.ts = d.ts();
        double rtt = d.rtt();
        m.rtt = Double.isNaN(rtt) ? null : rtt;
        m.orig_p = d.origP();
        m.resp_p = d.respP();
        m.trans_id = d.transId();
        m.qclass = d.qclass();
        m.qtype = d.qtype();
        m.rcode = d.rcode();
        m.z = d.z();
        m.aa = d.aa() == BooleanType.T;
        m.tc = d.tc() == BooleanType.T;
        m.rd = d.rd() == BooleanType.T;
        m.ra = d.ra() == BooleanType.T;
        m.rejected = d.rejected() == BooleanType.T;
        ZeekDecoder.AnswersDecoder answers = d.answers();
        m.answers = new ArrayList<>(answers.count());
        while (answers.hasNext()) {
            m.answers.add(answers.next().answer());
        }
        ZeekDecoder.TtlsDecoder ttls = d.ttls();
        m.ttls = new double[ttls.count()];
        for (int i = 0; i < m.ttls.length; i++) {
            m.ttls[i] = ttls.next().record();
        }
        m.query = d.query();
        m.uid = d.uid();
        m.orig_h = d.origH();
        m.resp_h = d.respH();
        m.proto = d.proto();
        m.qclass_name = d.qclassName();
        m.qtype_name = d.qtypeName();
        m.rcode_name = d.rcodeName();
        return m;
    }

    @Override
    public long field(byte[] bytes) {
        ZeekDecoder d = open(bytes);
        ZeekDecoder.AnswersDecoder answers = d.answers();
        while (answers.hasNext()) {
            answers.next().skipAnswer();
        }
        int ttls = d.ttls().count();
        d.limit(d.limit() + ttls * ZeekDecoder.TtlsDecoder.sbeBlockLength());
        d.wrapQuery(view);
        return checkView();
    }

    @Override
    public long fields(byte[] bytes) {
        ZeekDecoder d = open(bytes);
        double rtt = d.rtt();
        long check = d.ts() + (Double.isNaN(rtt) ? 0 : Check.of(rtt)) + d.origP() + d.respP() + d.transId() + d.qclass() + d.qtype()
                + d.rcode() + d.z()
                + Check.of(d.aa() == BooleanType.T) + Check.of(d.tc() == BooleanType.T) + Check.of(d.rd() == BooleanType.T)
                + Check.of(d.ra() == BooleanType.T) + Check.of(d.rejected() == BooleanType.T);
        ZeekDecoder.AnswersDecoder answers = d.answers();
        while (answers.hasNext()) {
            answers.next().wrapAnswer(view);
            check += checkView();
        }
        ZeekDecoder.TtlsDecoder ttls = d.ttls();
        while (ttls.hasNext()) {
            check += Check.of(ttls.next().record());
        }
        d.wrapQuery(view);
        check += checkView();
        d.wrapUid(view);
        check += checkView();
        d.wrapOrigH(view);
        check += checkView();
        d.wrapRespH(view);
        check += checkView();
        d.wrapProto(view);
        check += checkView();
        d.wrapQclassName(view);
        check += checkView();
        d.wrapQtypeName(view);
        check += checkView();
        d.wrapRcodeName(view);
        return check + checkView();
    }
}
