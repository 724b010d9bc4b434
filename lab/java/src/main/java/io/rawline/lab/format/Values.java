/* Rawline's own values: tables with names, and lists by position. */
package io.rawline.lab.format;

import io.rawline.lab.PlainRow;
import io.rawline.lab.RowKind;
import io.rawline.lab.Versions;
import io.rawline.lab.message.Check;
import io.rawline.lab.message.Message;
import io.rawline.value.Field;
import io.rawline.value.Fields;
import io.rawline.value.Kind;
import io.rawline.value.Step;
import io.rawline.value.ValueDecoder;
import io.rawline.value.ValueReader;
import io.rawline.value.ValueView;
import io.rawline.value.ValueWriter;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;

/**
 * Writer, reader and decoder are reused, as documented. A table leaves absent fields out; a list has none in their
 * place.
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
        final ValueWriter out = new ValueWriter();
        final ValueReader in = new ValueReader();
        private final ValueDecoder decoder = new ValueDecoder();
        private final boolean table;
        private final Step[] path;

        Form(boolean table, Step... path) {
            this.table = table;
            this.path = path;
        }

        abstract void write(M message);

        abstract M read();

        /** Of all fields, through the view. */
        abstract long check(ValueView view);

        @Override
        public final Object encode(M message) {
            out.clear();
            write(message);
            return out;
        }

        @Override
        public final byte[] bytes(Object encoded) {
            return out.toByteArray();
        }

        @Override
        public final M decode(byte[] bytes) {
            in.reset(bytes);
            M message = read();
            in.finish();
            return message;
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

        final void begin() {
            if (table) {
                out.beginTable();
            } else {
                out.beginList();
            }
        }

        final ValueWriter key(Field field) {
            return table ? out.key(field) : out;
        }

        final void absent() {
            if (!table) {
                out.addNone();
            }
        }

        final void write(List<String> list) {
            out.beginList();
            for (String element : list) {
                out.add(element);
            }
            out.end();
        }

        final void write(int[] list) {
            out.beginList();
            for (int element : list) {
                out.addInteger(element);
            }
            out.end();
        }

        final void write(double[] list) {
            out.beginList();
            for (double element : list) {
                out.add(element);
            }
            out.end();
        }

        /** Sorted by the writer, since the format's tables are. */
        final void write(Map<String, String> map) {
            out.beginTable();
            for (Map.Entry<String, String> entry : map.entrySet()) {
                out.add(entry.getKey()).add(entry.getValue());
            }
            out.endSorted();
        }

        /** A record's header: the number of fields. */
        final int count() {
            return table ? in.table() : in.list();
        }

        /** The number of the next field. */
        final int place(Fields fields, int i) {
            return table ? in.field(fields) : i;
        }

        /** Writers without types write a number that isn't negative as a count, as from JSON. */
        final long whole() {
            return in.kind() == Kind.COUNT ? in.count() : in.integer();
        }

        static long whole(ValueView number) {
            return number.kind() == Kind.COUNT ? number.asCount() : number.asInteger();
        }

        final List<String> texts() {
            int size = in.list();
            List<String> list = new ArrayList<>(size);
            for (int i = 0; i < size; i++) {
                list.add(in.string());
            }
            return list;
        }

        final int[] ints() {
            int[] list = new int[in.list()];
            for (int i = 0; i < list.length; i++) {
                list[i] = (int) whole();
            }
            return list;
        }

        final double[] doubles() {
            double[] list = new double[in.list()];
            for (int i = 0; i < list.length; i++) {
                list[i] = in.real();
            }
            return list;
        }

        final <E> List<E> list(Supplier<E> element) {
            int size = in.list();
            List<E> list = new ArrayList<>(size);
            for (int i = 0; i < size; i++) {
                list.add(element.get());
            }
            return list;
        }

        final Map<String, String> map() {
            Map<String, String> map = new LinkedHashMap<>();
            for (int left = in.table(); left > 0; left--) {
                String key = in.string();
                map.put(key, in.string());
            }
            return map;
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
