/* Simple Binary Encoding: flyweights that sbe-tool makes, read and written in the schema's order. */
package io.rawline.lab.format;

import io.rawline.lab.Case;
import io.rawline.lab.PlainRow;
import io.rawline.lab.RowKind;
import io.rawline.lab.Versions;
import io.rawline.lab.message.Check;
import io.rawline.lab.message.Doubles;
import io.rawline.lab.message.Measurement;
import io.rawline.lab.message.Message;
import io.rawline.lab.message.PingPong;
import io.rawline.lab.message.Strings;
import io.rawline.lab.sbe.BooleanType;
import io.rawline.lab.sbe.DoublesDecoder;
import io.rawline.lab.sbe.DoublesEncoder;
import io.rawline.lab.sbe.MeasurementDecoder;
import io.rawline.lab.sbe.MeasurementEncoder;
import io.rawline.lab.sbe.MessageHeaderDecoder;
import io.rawline.lab.sbe.MessageHeaderEncoder;
import io.rawline.lab.sbe.PingPongDecoder;
import io.rawline.lab.sbe.PingPongEncoder;
import io.rawline.lab.sbe.StringsDecoder;
import io.rawline.lab.sbe.StringsEncoder;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.agrona.DirectBuffer;
import org.agrona.concurrent.UnsafeBuffer;

/**
 * The encoder, the decoder and the buffer are kept, as its documentation advises. Texts lie behind the groups, so reading one means passing over the
 * groups: the format has it so.
 */
public final class Sbe {
    private Sbe() {}

    public static List<RowKind> rows() {
        return List.of(new RowKind("sbe", "sbe-tool", Versions.of("sbe"), "", Sbe::open));
    }

    private static PlainRow<? extends Message> open(Case kase) {
        return switch (kase) {
            case PINGPONG -> new PingPongs();
            case DOUBLES -> new DoublesS();
            case STRINGS -> new StringsS();
            case ZEEK -> new SbeZeek();
            case MEASUREMENT -> new Measurements();
            case ORDER -> new SbeOrder();
        };
    }

    /** The buffers of all cases. */
    abstract static class Flyweights<M extends Message> implements PlainRow<M> {
        // No message of the laboratory is longer.
        private static final int BYTES_MAX = 4 << 20;

        final UnsafeBuffer out = new UnsafeBuffer(new byte[BYTES_MAX]);
        final UnsafeBuffer in = new UnsafeBuffer(new byte[0]);
        final DirectBuffer view = new UnsafeBuffer(new byte[0]);
        final MessageHeaderEncoder headerEncoder = new MessageHeaderEncoder();
        final MessageHeaderDecoder headerDecoder = new MessageHeaderDecoder();
        private int bytes;

        /** The encoder's limit stands behind the message. */
        final Object written(int limit) {
            bytes = limit;
            return out;
        }

        @Override
        public final byte[] bytes(Object encoded) {
            return Arrays.copyOf(out.byteArray(), bytes);
        }

        final long checkView() {
            int length = view.capacity();
            return length == 0 ? 0 : Check.ofBytes(length, view.getByte(length - 1));
        }

        static BooleanType of(boolean value) {
            return value ? BooleanType.T : BooleanType.F;
        }

        static String orAbsent(String text) {
            return text.isEmpty() ? null : text;
        }

        static String orEmpty(String text) {
            return text == null ? "" : text;
        }
    }

    private static final class PingPongs extends Flyweights<PingPong> {
        private final PingPongEncoder encoder = new PingPongEncoder();
        private final PingPongDecoder decoder = new PingPongDecoder();

        @Override
        public Object encode(PingPong m) {
            encoder.wrapAndApplyHeader(out, 0, headerEncoder).id(m.id).version(m.version).isImportant(of(m.is_important));
            PingPongEncoder.NamesEncoder names = encoder.namesCount(m.names.size());
            for (String name : m.names) {
                names.next().name(name);
            }
            PingPongEncoder.IntsEncoder ints = encoder.intsCount(m.ints.length);
            for (int element : m.ints) {
                ints.next().record(element);
            }
            PingPongEncoder.DoublesEncoder doubles = encoder.doublesCount(m.doubles.length);
            for (double element : m.doubles) {
                doubles.next().record(element);
            }
            encoder.message(m.message);
            return written(encoder.limit());
        }

        private PingPongDecoder open(byte[] bytes) {
            in.wrap(bytes);
            return decoder.wrapAndApplyHeader(in, 0, headerDecoder);
        }

        @Override
        public PingPong decode(byte[] bytes) {
            PingPongDecoder d = open(bytes);
            PingPong m = new PingPong();
            m.id = d.id();
            m.version = d.version();
            m.is_important = d.isImportant() == BooleanType.T;
            PingPongDecoder.NamesDecoder names = d.names();
            m.names = new ArrayList<>(names.count());
            while (names.hasNext()) {
                m.names.add(names.next().name());
            }
            PingPongDecoder.IntsDecoder ints = d.ints();
            m.ints = new int[ints.count()];
            for (int i = 0; i < m.ints.length; i++) {
                m.ints[i] = ints.next().record();
            }
            PingPongDecoder.DoublesDecoder doubles = d.doubles();
            m.doubles = new double[doubles.count()];
            for (int i = 0; i < m.doubles.length; i++) {
                m.doubles[i] = doubles.next().record();
            }
            m.message = d.message();
            return m;
        }

        @Override
        public long field(byte[] bytes) {
            PingPongDecoder d = open(bytes);
            PingPongDecoder.NamesDecoder names = d.names();
            while (names.hasNext()) {
                names.next().skipName();
            }
            // Elements of one size: the limit can be set behind them all.
            int ints = d.ints().count();
            d.limit(d.limit() + ints * PingPongDecoder.IntsDecoder.sbeBlockLength());
            int doubles = d.doubles().count();
            d.limit(d.limit() + doubles * PingPongDecoder.DoublesDecoder.sbeBlockLength());
            d.wrapMessage(view);
            return checkView();
        }

        @Override
        public long fields(byte[] bytes) {
            PingPongDecoder d = open(bytes);
            long check = d.id() + d.version() + Check.of(d.isImportant() == BooleanType.T);
            PingPongDecoder.NamesDecoder names = d.names();
            while (names.hasNext()) {
                names.next().wrapName(view);
                check += checkView();
            }
            PingPongDecoder.IntsDecoder ints = d.ints();
            while (ints.hasNext()) {
                check += ints.next().record();
            }
            PingPongDecoder.DoublesDecoder doubles = d.doubles();
            while (doubles.hasNext()) {
                check += Check.of(doubles.next().record());
            }
            d.wrapMessage(view);
            return check + checkView();
        }
    }

    private static final class DoublesS extends Flyweights<Doubles> {
        private final DoublesEncoder encoder = new DoublesEncoder();
        private final DoublesDecoder decoder = new DoublesDecoder();

        @Override
        public Object encode(Doubles m) {
            encoder.wrapAndApplyHeader(out, 0, headerEncoder).single1(m.single_1).single2(m.single_2).single3(m.single_3).single4(m.single_4)
                    .single5(m.single_5);
            DoublesEncoder.ListEncoder list = encoder.listCount(m.list.length);
            for (double element : m.list) {
                list.next().record(element);
            }
            return written(encoder.limit());
        }

        private DoublesDecoder open(byte[] bytes) {
            in.wrap(bytes);
            return decoder.wrapAndApplyHeader(in, 0, headerDecoder);
        }

        @Override
        public Doubles decode(byte[] bytes) {
            DoublesDecoder d = open(bytes);
            Doubles m = new Doubles();
            m.single_1 = d.single1();
            m.single_2 = d.single2();
            m.single_3 = d.single3();
            m.single_4 = d.single4();
            m.single_5 = d.single5();
            DoublesDecoder.ListDecoder list = d.list();
            m.list = new double[list.count()];
            for (int i = 0; i < m.list.length; i++) {
                m.list[i] = list.next().record();
            }
            return m;
        }

        @Override
        public long field(byte[] bytes) {
            return Check.of(open(bytes).single3());
        }

        @Override
        public long fields(byte[] bytes) {
            DoublesDecoder d = open(bytes);
            long check = Check.of(d.single1()) + Check.of(d.single2()) + Check.of(d.single3()) + Check.of(d.single4()) + Check.of(d.single5());
            DoublesDecoder.ListDecoder list = d.list();
            while (list.hasNext()) {
                check += Check.of(list.next().record());
            }
            return check;
        }
    }

    private static final class StringsS extends Flyweights<Strings> {
        private final StringsEncoder encoder = new StringsEncoder();
        private final StringsDecoder decoder = new StringsDecoder();

        @Override
        public Object encode(Strings m) {
            StringsEncoder.NamesEncoder names = encoder.wrapAndApplyHeader(out, 0, headerEncoder).namesCount(m.names.size());
            for (String name : m.names) {
                names.next().name(name);
            }
            encoder.string1(m.string_1).string2(m.string_2).string3(m.string_3).string4(m.string_4).string5(m.string_5);
            return written(encoder.limit());
        }

        private StringsDecoder open(byte[] bytes) {
            in.wrap(bytes);
            return decoder.wrapAndApplyHeader(in, 0, headerDecoder);
        }

        @Override
        public Strings decode(byte[] bytes) {
            StringsDecoder d = open(bytes);
            Strings m = new Strings();
            StringsDecoder.NamesDecoder names = d.names();
            m.names = new ArrayList<>(names.count());
            while (names.hasNext()) {
                m.names.add(names.next().name());
            }
            m.string_1 = d.string1();
            m.string_2 = d.string2();
            m.string_3 = d.string3();
            m.string_4 = d.string4();
            m.string_5 = d.string5();
            return m;
        }

        @Override
        public long field(byte[] bytes) {
            StringsDecoder d = open(bytes);
            StringsDecoder.NamesDecoder names = d.names();
            while (names.hasNext()) {
                names.next().skipName();
            }
            d.skipString1();
            d.skipString2();
            d.wrapString3(view);
            return checkView();
        }

        @Override
        public long fields(byte[] bytes) {
            StringsDecoder d = open(bytes);
            long check = 0;
            StringsDecoder.NamesDecoder names = d.names();
            while (names.hasNext()) {
                names.next().wrapName(view);
                check += checkView();
            }
            d.wrapString1(view);
            check += checkView();
            d.wrapString2(view);
            check += checkView();
            d.wrapString3(view);
            check += checkView();
            d.wrapString4(view);
            check += checkView();
            d.wrapString5(view);
            return check + checkView();
        }
    }

    private static final class Measurements extends Flyweights<Measurement> {
        private final MeasurementEncoder encoder = new MeasurementEncoder();
        private final MeasurementDecoder decoder = new MeasurementDecoder();

        @Override
        public Object encode(Measurement m) {
            MeasurementEncoder.TagsEncoder tags =
                    encoder.wrapAndApplyHeader(out, 0, headerEncoder).logtime(m.logtime).value(m.value).tagsCount(m.tags.size());
            for (Map.Entry<String, String> tag : m.tags.entrySet()) {
                tags.next().key(tag.getKey()).value(tag.getValue());
            }
            encoder.metric(m.metric);
            return written(encoder.limit());
        }

        private MeasurementDecoder open(byte[] bytes) {
            in.wrap(bytes);
            return decoder.wrapAndApplyHeader(in, 0, headerDecoder);
        }

        @Override
        public Measurement decode(byte[] bytes) {
            MeasurementDecoder d = open(bytes);
            Measurement m = new Measurement();
            m.logtime = d.logtime();
            m.value = d.value();
            m.tags = new LinkedHashMap<>();
            MeasurementDecoder.TagsDecoder tags = d.tags();
            while (tags.hasNext()) {
                String key = tags.next().key();
                m.tags.put(key, tags.value());
            }
            m.metric = d.metric();
            return m;
        }

        @Override
        public long field(byte[] bytes) {
            MeasurementDecoder d = open(bytes);
            MeasurementDecoder.TagsDecoder tags = d.tags();
            while (tags.hasNext()) {
                tags.next().skipKey();
                tags.skipValue();
            }
            d.wrapMetric(view);
            return checkView();
        }

        @Override
        public long fields(byte[] bytes) {
            MeasurementDecoder d = open(bytes);
            long check = d.logtime() + d.value();
            MeasurementDecoder.TagsDecoder tags = d.tags();
            while (tags.hasNext()) {
                tags.next().wrapKey(view);
                check += checkView();
                tags.wrapValue(view);
                check += checkView();
            }
            d.wrapMetric(view);
            return check + checkView();
        }
    }
}
