/* MessagePack: Jackson's format, and the core library by hand. */
package io.rawline.lab.format;

import io.rawline.lab.Case;
import io.rawline.lab.PlainRow;
import io.rawline.lab.RowKind;
import io.rawline.lab.Versions;
import io.rawline.lab.message.Check;
import io.rawline.lab.message.Message;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.List;
import org.msgpack.core.MessagePacker;
import java.util.Map;
import java.util.LinkedHashMap;
import java.util.ArrayList;
import org.msgpack.core.MessageBufferPacker;
import org.msgpack.core.MessagePack;
import org.msgpack.core.MessageUnpacker;
import org.msgpack.core.buffer.ArrayBufferInput;
import org.msgpack.jackson.dataformat.JsonArrayFormat;
import org.msgpack.jackson.dataformat.MessagePackMapper;

public final class MsgPack {
    private MsgPack() {}

    public static List<RowKind> rows() {
        return List.of(
                new RowKind("msgpack", "jackson-dataformat-msgpack", Versions.of("msgpack-jackson"), "",
                        kase -> new Jackson(new MessagePackMapper(), kase)),
                new RowKind("msgpack", "msgpack-core", Versions.of("msgpack"), "",
                        kase -> new Core<>(MsgPackCases.of(kase), kase)),
                new RowKind("msgpack", "msgpack-core", Versions.of("msgpack"), "reused",
                        kase -> new ReusedCore<>(MsgPackCases.of(kase), kase)),
                new RowKind("msgpack-array", "jackson-dataformat-msgpack", Versions.of("msgpack-jackson"), "",
                        kase -> new JacksonArray(new MessagePackMapper(), kase)));
    }

    /** Fields by position: Jackson's arrays of a class's fields, with null for absent fields. */
    private static final class JacksonArray implements PlainRow<Message> {
        private final MessagePackMapper mapper;
        private final Case kase;

        JacksonArray(MessagePackMapper mapper, Case kase) {
            this.mapper = mapper;
            this.kase = kase;
            mapper.setAnnotationIntrospector(new JsonArrayFormat());
            mapper.configure(com.fasterxml.jackson.databind.MapperFeature.SORT_PROPERTIES_ALPHABETICALLY, false);
        }

        @Override
        public Object encode(Message message) throws IOException {
            return mapper.writeValueAsBytes(message);
        }

        @Override
        public Message decode(byte[] bytes) throws IOException {
            return mapper.readValue(bytes, kase.type);
        }

        @Override
        public long field(byte[] bytes) throws IOException {
            try (MessageUnpacker in = MessagePack.newDefaultUnpacker(bytes)) {
                int[] places = switch (kase) {
                    case PINGPONG, DOUBLES, STRINGS -> new int[] {2};
                    case ZEEK -> new int[] {9};
                    case MEASUREMENT -> new int[] {0};
                    case ORDER -> new int[] {3, 1};
                };
                for (int place : places) {
                    in.unpackArrayHeader();
                    in.skipValue(place);
                }
                return value(in, kase);
            }
        }
    }

    /** As in its documentation: a packer and an unpacker a message. */
    private static class Core<M extends Message> implements PlainRow<M> {
        final Fields<M> fields;
        private final Case kase;

        Core(Fields<M> fields, Case kase) {
            this.fields = fields;
            this.kase = kase;
        }

        @Override
        public Object encode(M message) throws IOException {
            try (MessageBufferPacker out = MessagePack.newDefaultBufferPacker()) {
                fields.write(message, out);
                return out.toByteArray();
            }
        }

        @Override
        public M decode(byte[] bytes) throws IOException {
            try (MessageUnpacker in = MessagePack.newDefaultUnpacker(bytes)) {
                return fields.read(in);
            }
        }

        @Override
        public long field(byte[] bytes) throws IOException {
            try (MessageUnpacker in = MessagePack.newDefaultUnpacker(bytes)) {
                return find(in);
            }
        }

        final long find(MessageUnpacker in) throws IOException {
            for (String name : kase.fieldPath) {
                find(in, name);
            }
            return value(in, kase);
        }

        private static void find(MessageUnpacker in, String name) throws IOException {
            for (int left = in.unpackMapHeader(); left > 0; left--) {
                if (in.unpackString().equals(name)) {
                    return;
                }
                in.skipValue();
            }
            throw new IOException("the message has no field " + name);
        }
    }

    private static long value(MessageUnpacker in, Case kase) throws IOException {
        if (kase == Case.DOUBLES) {
            return Check.of(in.unpackDouble());
        }
        int length = in.unpackRawStringHeader();
        ByteBuffer text = in.readPayloadAsReference(length).sliceAsByteBuffer();
        return Check.of(text);
    }

    /** One packer, whose buffer is cleared, and one unpacker, which is given each message's bytes. */
    private static final class ReusedCore<M extends Message> extends Core<M> {
        private final MessageBufferPacker packer = MessagePack.newDefaultBufferPacker();
        private final MessageUnpacker unpacker = MessagePack.newDefaultUnpacker(new byte[0]);
        private final ArrayBufferInput input = new ArrayBufferInput(new byte[0]);

        ReusedCore(Fields<M> fields, Case kase) {
            super(fields, kase);
        }

        @Override
        public Object encode(M message) throws IOException {
            packer.clear();
            fields.write(message, packer);
            return packer;
        }

        @Override
        public byte[] bytes(Object encoded) {
            return packer.toByteArray();
        }

        @Override
        public M decode(byte[] bytes) throws IOException {
            return fields.read(over(bytes));
        }

        @Override
        public long field(byte[] bytes) throws IOException {
            return find(over(bytes));
        }

        private MessageUnpacker over(byte[] bytes) throws IOException {
            input.reset(bytes);
            unpacker.reset(input);
            return unpacker;
        }
    }

    /** A case's fields, written and read by hand as maps of names. */
    abstract static class Fields<M extends Message> {
        abstract void write(M message, MessagePacker out) throws IOException;

        /** Fields may come in any order; unknown ones are skipped. */
        abstract M read(MessageUnpacker in) throws IOException;

        static void write(List<String> list, MessagePacker out) throws IOException {
            out.packArrayHeader(list.size());
            for (String element : list) {
                out.packString(element);
            }
        }

        static void write(int[] list, MessagePacker out) throws IOException {
            out.packArrayHeader(list.length);
            for (int element : list) {
                out.packInt(element);
            }
        }

        static void write(double[] list, MessagePacker out) throws IOException {
            out.packArrayHeader(list.length);
            for (double element : list) {
                out.packDouble(element);
            }
        }

        static void write(Map<String, String> map, MessagePacker out) throws IOException {
            out.packMapHeader(map.size());
            for (Map.Entry<String, String> entry : map.entrySet()) {
                out.packString(entry.getKey());
                out.packString(entry.getValue());
            }
        }

        static List<String> texts(MessageUnpacker in) throws IOException {
            int size = in.unpackArrayHeader();
            List<String> list = new ArrayList<>(size);
            for (int i = 0; i < size; i++) {
                list.add(in.unpackString());
            }
            return list;
        }

        static int[] ints(MessageUnpacker in) throws IOException {
            int[] list = new int[in.unpackArrayHeader()];
            for (int i = 0; i < list.length; i++) {
                list[i] = in.unpackInt();
            }
            return list;
        }

        static double[] doubles(MessageUnpacker in) throws IOException {
            double[] list = new double[in.unpackArrayHeader()];
            for (int i = 0; i < list.length; i++) {
                list[i] = in.unpackDouble();
            }
            return list;
        }

        static Map<String, String> map(MessageUnpacker in) throws IOException {
            Map<String, String> map = new LinkedHashMap<>();
            for (int left = in.unpackMapHeader(); left > 0; left--) {
                String key = in.unpackString();
                map.put(key, in.unpackString());
            }
            return map;
        }
    }
}
