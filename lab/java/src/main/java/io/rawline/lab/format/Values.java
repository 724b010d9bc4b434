/* Rawline's own values: tables with names, and lists by position. */
package io.rawline.lab.format;

import io.rawline.lab.PlainRow;
import io.rawline.lab.RowKind;
import io.rawline.lab.Versions;
import io.rawline.lab.message.Check;
import io.rawline.lab.message.Message;
import io.rawline.value.Field;
import io.rawline.value.Kind;
import io.rawline.value.Step;
import io.rawline.value.ValueCodec;
import io.rawline.value.ValueDecoder;
import io.rawline.value.ValueReader;
import io.rawline.value.ValueView;
import io.rawline.value.ValueWriter;
import java.util.List;

/**
 * Codecs that the library's annotation processor generates for the plain objects. Writer, reader and decoder are
 * reused, as documented. A table leaves absent fields out; a list has none in their place.
 */
public final class Values {
    private Values() {}

    public static List<RowKind> rows() {
        return List.of(
                new RowKind("values", "rawline", Versions.of("rawline"), "", kase -> ValuesCases.of(kase, true)),
                new RowKind("values-list", "rawline", Versions.of("rawline"), "", kase -> ValuesCases.of(kase, false)));
    }

    /** A case in either form. */
    abstract static class Form<M extends Message> implements PlainRow<M> {
        private final ValueCodec<M> codec;
        private final ValueWriter out = new ValueWriter();
        private final ValueReader in = new ValueReader();
        private final ValueDecoder decoder = new ValueDecoder();
        private final boolean table;
        private final Step[] path;

        Form(ValueCodec<M> codec, boolean table, Step... path) {
            this.codec = codec;
            this.table = table;
            this.path = path;
        }

        /** Of all fields, through the view. */
        abstract long check(ValueView view);

        @Override
        public final Object encode(M message) {
            codec.encode(message, out);
            return out;
        }

        @Override
        public final byte[] bytes(Object encoded) {
            return out.toByteArray();
        }

        @Override
        public final M decode(byte[] bytes) {
            return codec.decode(in.reset(bytes));
        }

        @Override
        public final long field(byte[] bytes) {
            ValueView found = decoder.pick(bytes, 0, bytes.length, path);
            return found.kind() == Kind.REAL ? Check.of(found.asReal()) : Check.of(found.asBuffer());
        }

        @Override
        public final long fields(byte[] bytes) {
            return check(decoder.decode(bytes));
        }

        static long whole(ValueView number) {
            return number.kind() == Kind.COUNT ? number.asCount() : number.asInteger();
        }

        final ValueView at(ValueView view, Field field, int i) {
            return table ? view.get(field) : view.get(i);
        }

        static boolean isThere(ValueView view) {
            return view.isPresent() && !view.isNone();
        }

        /** Of a string's bytes in place. */
        static long checkText(ValueView text) {
            return isThere(text) ? Check.of(text.asBuffer()) : 0;
        }

        static long checkReal(ValueView real) {
            return isThere(real) ? Check.of(real.asReal()) : 0;
        }

        static long checkTexts(ValueView list) {
            long check = 0;
            for (int i = 0, size = list.size(); i < size; i++) {
                check += Check.of(list.get(i).asBuffer());
            }
            return check;
        }

        static long checkInts(ValueView list) {
            long check = 0;
            for (int i = 0, size = list.size(); i < size; i++) {
                check += whole(list.get(i));
            }
            return check;
        }

        static long checkDoubles(ValueView list) {
            long check = 0;
            for (int i = 0, size = list.size(); i < size; i++) {
                check += Check.of(list.get(i).asReal());
            }
            return check;
        }

        static long checkMap(ValueView map) {
            long check = 0;
            for (int i = 0, size = map.size(); i < size; i++) {
                check += Check.of(map.keyAt(i).asBuffer()) + Check.of(map.valueAt(i).asBuffer());
            }
            return check;
        }
    }
}
