/* Protocol Buffers: the classes that protoc generates. */
package io.rawline.lab.format;

import com.google.protobuf.CodedInputStream;
import com.google.protobuf.MessageLite;
import com.google.protobuf.Parser;
import com.google.protobuf.WireFormat;
import io.rawline.lab.Case;
import io.rawline.lab.Row;
import io.rawline.lab.RowKind;
import io.rawline.lab.Versions;
import io.rawline.lab.message.Check;
import java.io.IOException;
import java.util.List;

public final class Protobuf {
    private Protobuf() {}

    /**
     * Its messages are immutable, so an application builds one to send it: that is part of encoding. "prebuilt" leaves
     * it out, and with it the computation of sizes, which a message caches.
     */
    public static List<RowKind> rows() {
        return List.of(
                new RowKind("protobuf", "protobuf-java", Versions.of("protobuf"), "", Built::new),
                new RowKind("protobuf", "protobuf-java", Versions.of("protobuf"), "prebuilt", List.of("encode"),
                        Prebuilt::new));
    }

    private abstract static class Messages<E> implements Row<E, MessageLite> {
        final Cases<MessageLite, Object> messages;
        private final Parser<? extends MessageLite> parser;
        private final int[] fieldNumbers;
        private final boolean isDouble;

        @SuppressWarnings("unchecked")
        Messages(Case kase) {
            messages = (Cases<MessageLite, Object>) ProtobufCases.of(kase);
            parser = messages.parser();
            isDouble = kase == Case.DOUBLES;
            fieldNumbers = switch (kase) {
                case PINGPONG, DOUBLES, STRINGS -> new int[] {3};
                case ZEEK -> new int[] {10};
                case MEASUREMENT -> new int[] {1};
                case ORDER -> new int[] {4, 2};
            };
        }

        @Override
        public final Object restore(MessageLite decoded) {
            return messages.plain(decoded);
        }

        @Override
        public final MessageLite decode(byte[] bytes) throws IOException {
            return parser.parseFrom(bytes);
        }

        /** With the wire reader below the generated code: fields before it are skipped. */
        @Override
        public final long field(byte[] bytes) throws IOException {
            CodedInputStream in = CodedInputStream.newInstance(bytes);
            int depth = 0;
            for (int tag = in.readTag(); tag != 0; tag = in.readTag()) {
                if (WireFormat.getTagFieldNumber(tag) != fieldNumbers[depth]) {
                    in.skipField(tag);
                } else if (depth + 1 < fieldNumbers.length) {
                    in.pushLimit(in.readRawVarint32());
                    depth++;
                } else {
                    return isDouble ? Check.of(in.readDouble()) : Check.of(in.readStringRequireUtf8());
                }
            }
            return 0;
        }

        @Override
        public final long fields(byte[] bytes) throws IOException {
            return messages.read(decode(bytes));
        }
    }

    private static final class Built extends Messages<Object> {
        Built(Case kase) {
            super(kase);
        }

        @Override
        public Object prepare(Object message) {
            return message;
        }

        @Override
        public Object encode(Object message) {
            return messages.build(message).toByteArray();
        }
    }

    private static final class Prebuilt extends Messages<MessageLite> {
        Prebuilt(Case kase) {
            super(kase);
        }

        @Override
        public MessageLite prepare(Object message) {
            return messages.build(message);
        }

        @Override
        public Object encode(MessageLite message) {
            return message.toByteArray();
        }
    }

    /** @param <P> the generated class, @param <M> the case's plain object */
    abstract static class Cases<P extends MessageLite, M> {
        abstract Parser<P> parser();

        abstract P build(M message);

        abstract M plain(P message);

        abstract long read(P message);
    }
}
