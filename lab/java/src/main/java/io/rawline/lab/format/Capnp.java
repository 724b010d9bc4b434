/* Cap'n Proto: plain and packed. */
package io.rawline.lab.format;

import io.rawline.lab.Case;
import io.rawline.lab.PlainRow;
import io.rawline.lab.Row;
import io.rawline.lab.RowKind;
import io.rawline.lab.Versions;
import io.rawline.lab.capnp.Cases;
import io.rawline.lab.message.Check;
import io.rawline.lab.message.Message;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import org.capnproto.ArrayInputStream;
import org.capnproto.ArrayOutputStream;
import org.capnproto.FromPointerBuilder;
import org.capnproto.FromPointerReader;
import org.capnproto.MessageBuilder;
import org.capnproto.MessageReader;
import org.capnproto.PrimitiveList;
import org.capnproto.Serialize;
import org.capnproto.SerializePacked;
import org.capnproto.Text;
import org.capnproto.StructList;
import org.capnproto.TextList;

/** A new builder for each message, written to a channel over a reused buffer. */
public final class Capnp {
    private Capnp() {}

    /**
     * A builder starts with 8 KiB of new zeros. Keeping that segment and clearing it was measured, and takes longer.
     */
    public static List<RowKind> rows() {
        return List.of(
                row("", kase -> new Messages<>(CapnpCases.of(kase), false)),
                row("packed", kase -> new Messages<>(CapnpCases.of(kase), true)));
    }

    private static RowKind row(String variant, Function<Case, Row<?, ?>> opener) {
        return new RowKind("capnp", "capnproto-java", Versions.of("capnp"), variant, opener);
    }

    /** A case's struct: B its builder, R its reader, M the plain object. */
    abstract static class Struct<B, R, M extends Message> {
        abstract FromPointerBuilder<B> builders();

        abstract FromPointerReader<R> readers();

        abstract void write(M message, B builder);

        abstract M plain(R reader);

        abstract long field(R reader);

        abstract long fields(R reader);

        static void write(List<String> from, TextList.Builder to) {
            for (int i = 0; i < from.size(); i++) {
                to.set(i, new Text.Reader(from.get(i)));
            }
        }

        static void write(int[] from, PrimitiveList.Int.Builder to) {
            for (int i = 0; i < from.length; i++) {
                to.set(i, from[i]);
            }
        }

        static void write(double[] from, PrimitiveList.Double.Builder to) {
            for (int i = 0; i < from.length; i++) {
                to.set(i, from[i]);
            }
        }

        static void write(Map<String, String> from, StructList.Builder<Cases.Tag.Builder> to) {
            int i = 0;
            for (Map.Entry<String, String> entry : from.entrySet()) {
                Cases.Tag.Builder tag = to.get(i++);
                tag.setKey(entry.getKey());
                tag.setValue(entry.getValue());
            }
        }

        static List<String> plain(TextList.Reader from) {
            List<String> list = new ArrayList<>(from.size());
            for (int i = 0, size = from.size(); i < size; i++) {
                list.add(from.get(i).toString());
            }
            return list;
        }

        static double[] plain(PrimitiveList.Double.Reader from) {
            double[] list = new double[from.size()];
            for (int i = 0; i < list.length; i++) {
                list[i] = from.get(i);
            }
            return list;
        }

        static int[] plain(PrimitiveList.Int.Reader from) {
            int[] list = new int[from.size()];
            for (int i = 0; i < list.length; i++) {
                list[i] = from.get(i);
            }
            return list;
        }

        static Map<String, String> plain(StructList.Reader<Cases.Tag.Reader> from) {
            Map<String, String> map = new LinkedHashMap<>();
            for (Cases.Tag.Reader tag : from) {
                map.put(tag.getKey().toString(), tag.getValue().toString());
            }
            return map;
        }

        static long check(StructList.Reader<Cases.Tag.Reader> tags) {
            long check = 0;
            for (Cases.Tag.Reader tag : tags) {
                check += check(tag.getKey()) + check(tag.getValue());
            }
            return check;
        }

        static long check(PrimitiveList.Int.Reader list) {
            long check = 0;
            for (int i = 0, size = list.size(); i < size; i++) {
                check += list.get(i);
            }
            return check;
        }

        /** Of the text's bytes, in place. */
        static long check(Text.Reader text) {
            return text.size() == 0 ? 0 : Check.ofBytes(text.size(), text.buffer.get(text.offset + text.size() - 1));
        }

        static long check(TextList.Reader list) {
            long check = 0;
            for (int i = 0, size = list.size(); i < size; i++) {
                check += check(list.get(i));
            }
            return check;
        }

        static long check(PrimitiveList.Double.Reader list) {
            long check = 0;
            for (int i = 0, size = list.size(); i < size; i++) {
                check += Check.of(list.get(i));
            }
            return check;
        }
    }

    private static final class Messages<B, R, M extends Message> implements PlainRow<M> {
        // No message of the laboratory is longer.
        private static final int BYTES_MAX = 4 << 20;

        private final Struct<B, R, M> struct;
        private final FromPointerBuilder<B> builders;
        private final FromPointerReader<R> readers;
        private final boolean packed;
        private final ByteBuffer out = ByteBuffer.allocate(BYTES_MAX);

        Messages(Struct<B, R, M> struct, boolean packed) {
            this.struct = struct;
            this.builders = struct.builders();
            this.readers = struct.readers();
            this.packed = packed;
        }

        @Override
        public Object encode(M message) throws IOException {
            MessageBuilder builder = new MessageBuilder();
            struct.write(message, builder.initRoot(builders));
            ArrayOutputStream stream = new ArrayOutputStream(out);
            if (packed) {
                SerializePacked.write(stream, builder);
            } else {
                Serialize.write(stream, builder);
            }
            return stream;
        }

        @Override
        public byte[] bytes(Object encoded) {
            // The stream has its own view of the buffer.
            return Arrays.copyOf(out.array(), ((ArrayOutputStream) encoded).buf.position());
        }

        private R open(byte[] bytes) throws IOException {
            ByteBuffer in = ByteBuffer.wrap(bytes);
            MessageReader message = packed ? SerializePacked.read(new ArrayInputStream(in)) : Serialize.read(in);
            return message.getRoot(readers);
        }

        @Override
        public M decode(byte[] bytes) throws IOException {
            return struct.plain(open(bytes));
        }

        @Override
        public long field(byte[] bytes) throws IOException {
            return struct.field(open(bytes));
        }

        @Override
        public long fields(byte[] bytes) throws IOException {
            return struct.fields(open(bytes));
        }
    }
}
