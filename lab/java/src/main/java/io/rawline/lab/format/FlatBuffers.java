/* FlatBuffers: tables that flatc makes, written from the leaves up and read where they lie. */
package io.rawline.lab.format;

import com.google.flatbuffers.FlatBufferBuilder;
import com.google.flatbuffers.StringVector;
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
import io.rawline.lab.flat.Tag;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** The builder is kept and cleared, as its documentation advises. Java has no verifier: whoever reads must trust the writer. */
public final class FlatBuffers {
    private FlatBuffers() {}

    public static List<RowKind> rows() {
        return List.of(new RowKind("flatbuffers", "flatbuffers-java", Versions.of("flatbuffers"), "", FlatBuffers::open));
    }

    private static PlainRow<? extends Message> open(Case kase) {
        return switch (kase) {
            case PINGPONG -> new PingPongs();
            case DOUBLES -> new DoublesS();
            case STRINGS -> new StringsS();
            case ZEEK -> new FlatBuffersZeek();
            case MEASUREMENT -> new Measurements();
            case ORDER -> new FlatBuffersOrder();
        };
    }

    abstract static class Tables<M extends Message> implements PlainRow<M> {
        final FlatBufferBuilder builder = new FlatBufferBuilder(1024);

        @Override
        public final Object encode(M message) {
            builder.clear();
            builder.finish(write(message));
            return builder.dataBuffer();
        }

        abstract int write(M message);

        @Override
        public final byte[] bytes(Object encoded) {
            return builder.sizedByteArray();
        }

        final int texts(List<String> list) {
            int[] offsets = new int[list.size()];
            for (int i = 0; i < offsets.length; i++) {
                offsets[i] = builder.createString(list.get(i));
            }
            return builder.createVectorOfTables(offsets);
        }

        /** A writer may leave an empty list out. */
        static double[] doubles(int length, ByteBuffer vector) {
            double[] list = new double[length];
            if (length > 0) {
                vector.asDoubleBuffer().get(list);
            }
            return list;
        }

        static List<String> texts(StringVector vector) {
            if (vector == null) {
                return new ArrayList<>();
            }
            List<String> list = new ArrayList<>(vector.length());
            for (int i = 0; i < vector.length(); i++) {
                list.add(vector.get(i));
            }
            return list;
        }

        /** A list's texts can only be had as strings. */
        static long check(StringVector vector) {
            long check = 0;
            for (int i = 0, length = vector == null ? 0 : vector.length(); i < length; i++) {
                check += Check.of(vector.get(i));
            }
            return check;
        }
    }

    private static final class PingPongs extends Tables<PingPong> {
        @Override
        int write(PingPong m) {
            int message = builder.createString(m.message);
            int names = texts(m.names);
            int ints = io.rawline.lab.flat.PingPong.createIntsVector(builder, m.ints);
            int doubles = io.rawline.lab.flat.PingPong.createDoublesVector(builder, m.doubles);
            return io.rawline.lab.flat.PingPong.createPingPong(builder, m.id, m.version, message, m.is_important, names, ints, doubles);
        }

        private static io.rawline.lab.flat.PingPong open(byte[] bytes) {
            return io.rawline.lab.flat.PingPong.getRootAsPingPong(ByteBuffer.wrap(bytes));
        }

        @Override
        public PingPong decode(byte[] bytes) {
            io.rawline.lab.flat.PingPong t = open(bytes);
            PingPong m = new PingPong();
            m.id = t.id();
            m.version = t.version();
            m.message = t.message();
            m.is_important = t.isImportant();
            m.names = texts(t.namesVector());
            m.ints = new int[t.intsLength()];
            if (m.ints.length > 0) {
                t.intsAsByteBuffer().asIntBuffer().get(m.ints);
            }
            m.doubles = doubles(t.doublesLength(), t.doublesAsByteBuffer());
            return m;
        }

        @Override
        public long field(byte[] bytes) {
            return Check.of(open(bytes).messageAsByteBuffer());
        }

        @Override
        public long fields(byte[] bytes) {
            io.rawline.lab.flat.PingPong t = open(bytes);
            long check = t.id() + t.version() + Check.of(t.messageAsByteBuffer()) + Check.of(t.isImportant()) + check(t.namesVector());
            for (int i = 0, length = t.intsLength(); i < length; i++) {
                check += t.ints(i);
            }
            for (int i = 0, length = t.doublesLength(); i < length; i++) {
                check += Check.of(t.doubles(i));
            }
            return check;
        }
    }

    private static final class DoublesS extends Tables<Doubles> {
        @Override
        int write(Doubles m) {
            int list = io.rawline.lab.flat.Doubles.createListVector(builder, m.list);
            return io.rawline.lab.flat.Doubles.createDoubles(builder, m.single_1, m.single_2, m.single_3, m.single_4, m.single_5, list);
        }

        private static io.rawline.lab.flat.Doubles open(byte[] bytes) {
            return io.rawline.lab.flat.Doubles.getRootAsDoubles(ByteBuffer.wrap(bytes));
        }

        @Override
        public Doubles decode(byte[] bytes) {
            io.rawline.lab.flat.Doubles t = open(bytes);
            Doubles m = new Doubles();
            m.single_1 = t.single1();
            m.single_2 = t.single2();
            m.single_3 = t.single3();
            m.single_4 = t.single4();
            m.single_5 = t.single5();
            m.list = doubles(t.listLength(), t.listAsByteBuffer());
            return m;
        }

        @Override
        public long field(byte[] bytes) {
            return Check.of(open(bytes).single3());
        }

        @Override
        public long fields(byte[] bytes) {
            io.rawline.lab.flat.Doubles t = open(bytes);
            long check = Check.of(t.single1()) + Check.of(t.single2()) + Check.of(t.single3()) + Check.of(t.single4()) + Check.of(t.single5());
            for (int i = 0, length = t.listLength(); i < length; i++) {
                check += Check.of(t.list(i));
            }
            return check;
        }
    }

    private static final class StringsS extends Tables<Strings> {
        @Override
        int write(Strings m) {
            int string1 = builder.createString(m.string_1);
            int string2 = builder.createString(m.string_2);
            int string3 = builder.createString(m.string_3);
            int string4 = builder.createString(m.string_4);
            int string5 = builder.createString(m.string_5);
            return io.rawline.lab.flat.Strings.createStrings(builder, string1, string2, string3, string4, string5, texts(m.names));
        }

        private static io.rawline.lab.flat.Strings open(byte[] bytes) {
            return io.rawline.lab.flat.Strings.getRootAsStrings(ByteBuffer.wrap(bytes));
        }

        @Override
        public Strings decode(byte[] bytes) {
            io.rawline.lab.flat.Strings t = open(bytes);
            Strings m = new Strings();
            m.string_1 = t.string1();
            m.string_2 = t.string2();
            m.string_3 = t.string3();
            m.string_4 = t.string4();
            m.string_5 = t.string5();
            m.names = texts(t.namesVector());
            return m;
        }

        @Override
        public long field(byte[] bytes) {
            return Check.of(open(bytes).string3AsByteBuffer());
        }

        @Override
        public long fields(byte[] bytes) {
            io.rawline.lab.flat.Strings t = open(bytes);
            return Check.of(t.string1AsByteBuffer()) + Check.of(t.string2AsByteBuffer()) + Check.of(t.string3AsByteBuffer())
                    + Check.of(t.string4AsByteBuffer()) + Check.of(t.string5AsByteBuffer()) + check(t.namesVector());
        }
    }

    private static final class Measurements extends Tables<Measurement> {
        @Override
        int write(Measurement m) {
            int metric = builder.createString(m.metric);
            int[] offsets = new int[m.tags.size()];
            int i = 0;
            for (Map.Entry<String, String> tag : m.tags.entrySet()) {
                int key = builder.createString(tag.getKey());
                int value = builder.createString(tag.getValue());
                offsets[i++] = Tag.createTag(builder, key, value);
            }
            int tags = builder.createVectorOfTables(offsets);
            return io.rawline.lab.flat.Measurement.createMeasurement(builder, metric, tags, m.logtime, m.value);
        }

        private static io.rawline.lab.flat.Measurement open(byte[] bytes) {
            return io.rawline.lab.flat.Measurement.getRootAsMeasurement(ByteBuffer.wrap(bytes));
        }

        @Override
        public Measurement decode(byte[] bytes) {
            io.rawline.lab.flat.Measurement t = open(bytes);
            Measurement m = new Measurement();
            m.metric = t.metric();
            m.tags = new LinkedHashMap<>();
            Tag tag = new Tag();
            for (int i = 0, length = t.tagsLength(); i < length; i++) {
                t.tags(tag, i);
                m.tags.put(tag.key(), tag.value());
            }
            m.logtime = t.logtime();
            m.value = t.value();
            return m;
        }

        @Override
        public long field(byte[] bytes) {
            return Check.of(open(bytes).metricAsByteBuffer());
        }

        @Override
        public long fields(byte[] bytes) {
            io.rawline.lab.flat.Measurement t = open(bytes);
            long check = Check.of(t.metricAsByteBuffer()) + t.logtime() + t.value();
            Tag tag = new Tag();
            for (int i = 0, length = t.tagsLength(); i < length; i++) {
                t.tags(tag, i);
                check += Check.of(tag.keyAsByteBuffer()) + Check.of(tag.valueAsByteBuffer());
            }
            return check;
        }
    }
}
