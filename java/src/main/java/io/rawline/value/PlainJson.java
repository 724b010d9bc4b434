package io.rawline.value;

import java.util.BitSet;

/**
 * Human-readable JSON: <code>{"host":"10.0.0.1","port":"53/udp","seconds":1.5}</code>. Values are written without their
 * types: reading such a text returns values of JSON's types, not addresses and times.
 */
public final class PlainJson {
    private PlainJson() {}

    /**
     * Writes a value as JSON without white space: times as in RFC 3339, durations in seconds, a table as an object if
     * its keys are all of one type that is written as text, else as an array of {@code [key, value]}. Duplicates in
     * sets and tables are written, not checked. Does not recurse.
     *
     * @param bytes a value's bytes
     * @return the JSON
     * @throws ValueException the bytes aren't a value
     */
    public static String toString(byte[] bytes) {
        return toString(bytes, 0, bytes.length);
    }

    /**
     * As {@link #toString(byte[])}, of a part of an array.
     *
     * @param bytes the array
     * @param offset where the value starts, in bytes
     * @param length its length in bytes
     * @return the JSON
     * @throws ValueException the bytes aren't a value
     */
    public static String toString(byte[] bytes, int offset, int length) {
        BitSet objects = tablesWithTextKeys(new ValueReader().reset(bytes, offset, length));
        StringBuilder out = new StringBuilder();
        ValueReader reader = new ValueReader().reset(bytes, offset, length);
        Containers open = new Containers();
        int tables = 0;
        while (true) {
            Kind kind = reader.kind();
            if (kind.tag() >= Wire.SET) {
                int count = reader.head(kind.tag());
                open.push(kind, kind == Kind.TABLE ? count * 2 : count);
                if (kind == Kind.TABLE && objects.get(tables++)) {
                    open.setMark();
                }
                out.append(open.mark() ? '{' : '[');
            } else {
                writeScalar(kind, reader, out);
            }
            // After a value comes the end of every container that it completes, then the separator before the next
            // value.
            while (!writeNext(open, out)) {
                if (open.pop()) {
                    reader.finish();
                    return out.toString();
                }
            }
        }
    }

    /**
     * Writes the separator before the innermost container's next value, or its end; returns whether there is a next
     * one.
     */
    private static boolean writeNext(Containers open, StringBuilder out) {
        if (open.isEmpty()) {
            return false;
        }
        boolean isObject = open.mark();
        boolean isPairs = open.kind() == Kind.TABLE && !isObject;
        boolean isKey = open.kind() == Kind.TABLE && open.left() % 2 == 0;
        if (isKey && open.isStarted() && isPairs) {
            out.append(']');
        }
        if (open.left() == 0) {
            out.append(isObject ? '}' : ']');
            return false;
        }
        if (isObject && !isKey) {
            out.append(':');
        } else {
            out.append(open.isStarted() ? "," : "").append(isPairs && isKey ? "[" : "");
        }
        open.takeOne();
        return true;
    }

    /**
     * For each table, in the order of their heads, whether it can be an object: its keys are all of one type that is
     * written as text, and are different texts. One pass over all values, since a pass per table would be one per
     * level.
     */
    private static BitSet tablesWithTextKeys(ValueReader reader) {
        BitSet objects = new BitSet();
        Containers open = new Containers();
        // For each open container: the table's number, and the type of its keys so far.
        int[] numbers = new int[8];
        Kind[] kinds = new Kind[8];
        int tables = 0;
        int depth = 0;
        while (true) {
            Kind kind = reader.kind();
            boolean isKey = depth > 0 && open.kind() == Kind.TABLE && open.left() % 2 == 1;
            boolean isText = isText(kind, reader, isKey);
            if (isKey) {
                int number = numbers[depth - 1];
                if (!isText || kinds[depth - 1] != null && kinds[depth - 1] != kind) {
                    objects.clear(number);
                }
                kinds[depth - 1] = kind;
            }
            if (kind.tag() >= Wire.SET) {
                int count = reader.head(kind.tag());
                open.push(kind, kind == Kind.TABLE ? count * 2 : count);
                if (depth == numbers.length) {
                    numbers = java.util.Arrays.copyOf(numbers, depth * 2);
                    kinds = java.util.Arrays.copyOf(kinds, depth * 2);
                }
                kinds[depth] = null;
                if (kind == Kind.TABLE) {
                    objects.set(tables);
                    numbers[depth] = tables++;
                }
                depth++;
            }
            while (depth > 0 && open.left() == 0) {
                open.pop();
                depth--;
            }
            if (depth == 0) {
                return objects;
            }
            open.takeOne();
        }
    }

    /** Consumes a scalar; returns whether its text is unique among the values of its type. */
    private static boolean isText(Kind kind, ValueReader reader, boolean isKey) {
        switch (kind) {
            case STRING, ENUM:
                long string = reader.text(kind.tag());
                // Replaced characters could make two keys equal.
                return !isKey || Utf8.isValid(reader.array(), (int) string, (int) (string >>> 32));
            case SUBNET:
                return reader.subnet().isCanonical();
            case SET, TABLE, VECTOR:
                return false;
            default:
                reader.skip();
                return kind == Kind.ADDRESS || kind == Kind.PORT || kind == Kind.TIMESTAMP || kind == Kind.TIMESPAN;
        }
    }

    private static void writeScalar(Kind kind, ValueReader reader, StringBuilder out) {
        switch (kind) {
            case BOOLEAN -> out.append(reader.bool());
            case COUNT -> out.append(Long.toUnsignedString(reader.count()));
            case INTEGER -> out.append(reader.integer());
            case REAL -> Reals.write(reader.real(), out);
            case STRING, ENUM -> {
                long string = reader.text(kind.tag());
                JsonText.writeString(Utf8.lossy(reader.array(), (int) string, (int) (string >>> 32)), out);
            }
            case ADDRESS -> out.append('"').append(reader.address()).append('"');
            case SUBNET -> out.append('"').append(reader.subnet()).append('"');
            case PORT -> out.append('"').append(reader.port()).append('"');
            case TIMESTAMP -> {
                out.append('"');
                Texts.writeTime(reader.timestamp(), 9, out);
                out.append("Z\"");
            }
            case TIMESPAN -> {
                out.append('"');
                Texts.writeSeconds(reader.timespan(), out);
                out.append('"');
            }
            default -> {
                reader.skip();
                out.append("null");
            }
        }
    }

    /**
     * Reads JSON as a value: {@code null} as none, a whole number as count or, if negative, as integer, any other
     * number as real, strings as strings, arrays as vectors, objects as tables with strings as keys, in the order of
     * the text.
     *
     * @param json one JSON value of any kind, at most 128 deep
     * @return the bytes
     * @throws ValueException it isn't JSON, or an object has a duplicate field
     */
    public static byte[] read(String json) {
        ValueWriter out = new ValueWriter();
        read(json, out);
        return out.toByteArray();
    }

    /**
     * As {@link #read(String)}, into a writer, which is unchanged after an error.
     *
     * @param json one JSON value of any kind, at most 128 deep
     * @param out the writer
     * @throws ValueException it isn't JSON, or an object has a duplicate field
     */
    public static void read(String json, ValueWriter out) {
        JsonRead.into(json, out, text -> readValue(text, out, 1));
    }

    private static void readValue(JsonText json, ValueWriter out, int depth) {
        json.checkDepth(depth);
        if (json.take('[')) {
            out.beginList();
            for (boolean isFirst = true; json.next(isFirst, ']'); isFirst = false) {
                readValue(json, out, depth + 1);
            }
            out.end();
        } else if (json.take('{')) {
            out.beginTable();
            for (boolean isFirst = true; json.next(isFirst, '}'); isFirst = false) {
                json.checkDepth(depth + 1);
                out.add(json.key());
                readValue(json, out, depth + 1);
            }
            out.end();
        } else if (json.peek() == '"') {
            out.add(json.string());
        } else if (json.isNumber()) {
            String number = json.number();
            if (!JsonText.isWhole(number)) {
                out.add(json.real(number));
            } else if (number.startsWith("-")) {
                out.addInteger(Long.parseLong(number));
            } else {
                out.addCount(Long.parseUnsignedLong(number));
            }
        } else {
            String word = json.word();
            if (word == null) {
                throw json.error("expected a JSON value");
            }
            if (word.equals("null")) {
                out.addNone();
            } else {
                out.add(word.equals("true"));
            }
        }
    }
}
