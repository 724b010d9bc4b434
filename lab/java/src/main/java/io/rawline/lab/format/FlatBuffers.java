/* FlatBuffers: tables that flatc generates, written from the leaves up and read in place. */
package io.rawline.lab.format;

import com.google.flatbuffers.FlatBufferBuilder;
import com.google.flatbuffers.StringVector;
import io.rawline.lab.PlainRow;
import io.rawline.lab.RowKind;
import io.rawline.lab.Versions;
import io.rawline.lab.message.Check;
import io.rawline.lab.message.Measurement;
import io.rawline.lab.message.Message;
import io.rawline.lab.flat.Tag;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** The builder is reused, as its documentation advises. Java has no verifier: a reader must trust the writer. */
public final class FlatBuffers {
    private FlatBuffers() {}

    public static List<RowKind> rows() {
        return List.of(new RowKind("flatbuffers", "flatbuffers-java", Versions.of("flatbuffers"), "",
                FlatBuffersCases::of));
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

        static int[] ints(int length, ByteBuffer vector) {
            int[] list = new int[length];
            if (length > 0) {
                vector.asIntBuffer().get(list);
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

        /** A list's elements are only available as strings. */
        static long check(StringVector vector) {
            long check = 0;
            for (int i = 0, length = vector == null ? 0 : vector.length(); i < length; i++) {
                check += Check.of(vector.get(i));
            }
            return check;
        }

        final int tags(Map<String, String> map) {
            int[] offsets = new int[map.size()];
            int i = 0;
            for (Map.Entry<String, String> tag : map.entrySet()) {
                int key = builder.createString(tag.getKey());
                int value = builder.createString(tag.getValue());
                offsets[i++] = Tag.createTag(builder, key, value);
            }
            return builder.createVectorOfTables(offsets);
        }

        static Map<String, String> tags(io.rawline.lab.flat.Measurement t) {
            Map<String, String> map = new LinkedHashMap<>();
            Tag tag = new Tag();
            for (int i = 0, length = t.tagsLength(); i < length; i++) {
                t.tags(tag, i);
                map.put(tag.key(), tag.value());
            }
            return map;
        }

        static long checkTags(io.rawline.lab.flat.Measurement t) {
            long check = 0;
            Tag tag = new Tag();
            for (int i = 0, length = t.tagsLength(); i < length; i++) {
                t.tags(tag, i);
                check += Check.of(tag.keyAsByteBuffer()) + Check.of(tag.valueAsByteBuffer());
            }
            return check;
        }
    }
}
