package io.rawline.value;

import java.util.HexFormat;
import java.util.Locale;

/**
 * JSON with every value's type: <code>{"@data-type":"count","data":42}</code>, the mapping of Zeek Broker's
 * WebSocket interface. A round trip through JSON gives the same bytes for every value of up to 128 levels.
 *
 * <p>If the data can't express the value (a string that isn't UTF-8, a subnet with an impossible prefix), the field
 * {@code @bytes} precedes it with the value's bytes in hexadecimal; if both are present, they must agree.
 */
public final class TypedJson {
    private static final String NOT_FOR_BYTES = "\"@bytes\" is only for strings, enum-values and subnets; remove it";

    private TypedJson() {}

    /**
     * Writes a value as a JSON object without white space. Duplicates in sets and tables are written, not checked. Does
     * not recurse.
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
        StringBuilder out = new StringBuilder();
        ValueReader reader = new ValueReader().reset(bytes, offset, length);
        Containers open = new Containers();
        while (true) {
            Kind kind = reader.kind();
            out.append("{\"@data-type\":\"").append(kind.jsonName()).append("\",");
            if (kind.tag() >= Wire.SET) {
                out.append("\"data\":[");
                int count = reader.head(kind.tag());
                open.push(kind, kind == Kind.TABLE ? count * 2 : count);
            } else {
                writeData(kind, reader, out);
                out.append('}');
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
        boolean isTable = open.kind() == Kind.TABLE;
        boolean isKey = isTable && open.left() % 2 == 0;
        if (isKey && open.isStarted()) {
            out.append('}');
        }
        if (open.left() == 0) {
            out.append("]}");
            return false;
        }
        if (isTable && !isKey) {
            out.append(",\"value\":");
        } else {
            out.append(open.isStarted() ? "," : "").append(isKey ? "{\"key\":" : "");
        }
        open.takeOne();
        return true;
    }

    private static void writeData(Kind kind, ValueReader reader, StringBuilder out) {
        if (kind == Kind.STRING || kind == Kind.ENUM) {
            long string = reader.text(kind.tag());
            int at = (int) string;
            int length = (int) (string >>> 32);
            if (!Utf8.isValid(reader.array(), at, length)) {
                writeBytes(reader.array(), at, length, out);
            }
            out.append("\"data\":");
            JsonText.writeString(Utf8.lossy(reader.array(), at, length), out);
            return;
        }
        if (kind == Kind.SUBNET) {
            Subnet subnet = reader.subnet();
            if (!subnet.isCanonical()) {
                writeBytes(reader.array(), reader.place() - 17, 17, out);
            }
            out.append("\"data\":\"").append(subnet).append('"');
            return;
        }
        out.append("\"data\":");
        switch (kind) {
            case BOOLEAN -> out.append(reader.bool());
            case COUNT -> out.append(Long.toUnsignedString(reader.count()));
            case INTEGER -> out.append(reader.integer());
            case REAL -> Reals.write(reader.real(), out);
            case ADDRESS -> out.append('"').append(reader.address()).append('"');
            case PORT -> out.append('"').append(reader.port()).append('"');
            case TIMESTAMP -> {
                long time = reader.timestamp();
                out.append('"');
                Texts.writeTime(time, Texts.timeDigits(time), out);
                out.append('"');
            }
            case TIMESPAN -> {
                out.append('"');
                Texts.writeSpan(reader.timespan(), out);
                out.append('"');
            }
            default -> {
                reader.skip();
                out.append("{}");
            }
        }
    }

    private static void writeBytes(byte[] bytes, int at, int length, StringBuilder out) {
        out.append("\"@bytes\":\"")
                .append(HexFormat.of().formatHex(bytes, at, at + length))
                .append("\",");
    }

    /**
     * Reads a value from its JSON object.
     *
     * @param json one JSON object, at most 128 deep
     * @return the value's bytes; elements of sets and tables in the order of the text
     * @throws ValueException it isn't the JSON of a value
     */
    public static byte[] read(String json) {
        ValueWriter out = new ValueWriter();
        read(json, out);
        return out.toByteArray();
    }

    /**
     * As {@link #read(String)}, into a writer, which is unchanged after an error.
     *
     * @param json one JSON object, at most 128 deep
     * @param out the writer
     * @throws ValueException it isn't the JSON of a value
     */
    public static void read(String json, ValueWriter out) {
        JsonRead.into(json, out, text -> readValue(text, out, 1));
    }

    private static void readValue(JsonText json, ValueWriter out, int depth) {
        json.checkDepth(depth);
        json.expect('{', "a value such as {\"@data-type\":\"count\",\"data\":42}");
        Kind kind = null;
        String bytes = null;
        String text = null;
        boolean hasData = false;
        // Where the data starts, if it precedes its type.
        int early = -1;
        for (boolean isFirst = true; json.next(isFirst, '}'); isFirst = false) {
            String name = json.key();
            switch (name) {
                case "@data-type" -> {
                    checkOnce(json, kind == null, name);
                    kind = readKind(json);
                }
                case "data" -> {
                    checkOnce(json, !hasData, name);
                    hasData = true;
                    if (kind == null) {
                        json.peek();
                        early = json.position();
                        json.skip();
                    } else {
                        text = readData(json, kind, out, depth);
                    }
                }
                case "@bytes" -> {
                    checkOnce(json, bytes == null, name);
                    bytes = json.string();
                }
                default -> json.skip();
            }
        }
        if (kind == null) {
            throw json.error("the field \"@data-type\" is missing; add it");
        }
        if (early >= 0) {
            int end = json.position();
            json.goTo(early);
            text = readData(json, kind, out, depth);
            json.goTo(end);
        }
        if (!hasData && kind != Kind.NONE) {
            throw json.error("the field \"data\" is missing; add it");
        }
        if (text == null) {
            if (!hasData) {
                out.addNone();
            }
            if (bytes != null && hasData) {
                throw json.error(NOT_FOR_BYTES);
            }
        } else if (bytes == null) {
            putText(json, kind, text, out);
        } else {
            putBytes(json, kind, text, bytes, out);
        }
    }

    private static void checkOnce(JsonText json, boolean isFirst, String name) {
        if (!isFirst) {
            throw json.error("\"" + name + "\" is a duplicate; remove one");
        }
    }

    private static Kind readKind(JsonText json) {
        String name = json.string();
        Kind kind = Kind.named(name);
        if (kind == null) {
            StringBuilder names = new StringBuilder();
            for (Kind known : Kind.values()) {
                names.append(names.isEmpty() ? "" : ", ").append(known.jsonName());
            }
            throw json.error("\"" + name + "\" is not a type; use one of " + names);
        }
        return kind;
    }

    /** Reads the data of a type: into the output, or as text, which is returned to be parsed. */
    private static String readData(JsonText json, Kind kind, ValueWriter out, int depth) {
        char next = json.peek();
        switch (kind) {
            case NONE -> {
                json.skip();
                out.addNone();
                return null;
            }
            case BOOLEAN -> {
                String word = next == 'n' ? null : json.word();
                if (word == null) {
                    throw unexpected(json, kind);
                }
                out.add(word.equals("true"));
                return null;
            }
            case COUNT, INTEGER, REAL -> {
                if (json.isNumber()) {
                    putNumber(json, kind, out);
                    return null;
                }
            }
            case SET, TABLE, VECTOR -> {
                if (!json.take('[')) {
                    throw unexpected(json, kind);
                }
                out.begin(kind.tag());
                for (boolean isFirst = true; json.next(isFirst, ']'); isFirst = false) {
                    if (kind == Kind.TABLE) {
                        readPair(json, out, depth + 1);
                    } else {
                        readValue(json, out, depth + 1);
                    }
                }
                out.end();
                return null;
            }
            default -> {}
        }
        if (next != '"' || kind == Kind.COUNT || kind == Kind.INTEGER) {
            throw unexpected(json, kind);
        }
        return json.string();
    }

    private static void putNumber(JsonText json, Kind kind, ValueWriter out) {
        int begin = json.position();
        String number = json.number();
        boolean isWhole = JsonText.isWhole(number);
        boolean isNegative = number.startsWith("-");
        double real = isWhole ? 0 : json.real(number);
        long whole = !isWhole ? 0 : isNegative ? Long.parseLong(number) : Long.parseUnsignedLong(number);
        boolean fits =
                switch (kind) {
                    case COUNT -> isWhole && !isNegative;
                    case INTEGER -> isWhole && (isNegative || whole >= 0);
                    default -> !isWhole;
                };
        if (!fits) {
            json.goTo(begin);
            throw unexpected(json, kind);
        }
        switch (kind) {
            case COUNT -> out.addCount(whole);
            case INTEGER -> out.addInteger(whole);
            default -> out.add(real);
        }
    }

    /** Reads a pair of a table; writes its key first. */
    private static void readPair(JsonText json, ValueWriter out, int depth) {
        json.expect('{', "a table's pair: {\"key\":value,\"value\":value}");
        int start = out.length();
        int keyAt = -1;
        int valueAt = -1;
        for (boolean isFirst = true; json.next(isFirst, '}'); isFirst = false) {
            String name = json.key();
            if (name.equals("key")) {
                checkOnce(json, keyAt < 0, name);
                keyAt = out.length();
            } else if (name.equals("value")) {
                checkOnce(json, valueAt < 0, name);
                valueAt = out.length();
            } else {
                json.skip();
                continue;
            }
            readValue(json, out, depth);
        }
        if (keyAt < 0 || valueAt < 0) {
            throw json.error("the field \"" + (keyAt < 0 ? "key" : "value") + "\" is missing; add it");
        }
        if (keyAt > start) {
            out.swap(start, keyAt);
        }
    }

    /** Adds a value whose JSON is a text. */
    private static void putText(JsonText json, Kind kind, String text, ValueWriter out) {
        try {
            switch (kind) {
                case STRING -> out.add(text);
                case ENUM -> out.addEnum(text);
                case ADDRESS -> out.add(Address.parse(text));
                case SUBNET -> out.add(Subnet.parse(text));
                case PORT -> out.add(Port.parseLoosely(text));
                case TIMESTAMP -> out.addTimestamp(Texts.readTime(text));
                case TIMESPAN -> out.addTimespan(Texts.readSpan(text));
                default -> {
                    Double real = Reals.special(text);
                    if (real == null) {
                        throw unexpected(json, kind);
                    }
                    out.add(real);
                }
            }
        } catch (ValueException error) {
            throw error.reason() == ValueException.Reason.TEXT ? json.error(error.getMessage()) : error;
        }
    }

    /** Adds a value that its text doesn't express exactly. */
    private static void putBytes(JsonText json, Kind kind, String text, String hex, ValueWriter out) {
        byte[] bytes;
        try {
            bytes = HexFormat.of().parseHex(hex);
        } catch (IllegalArgumentException error) {
            throw json.error("\"@bytes\" is not pairs of hexadecimal digits; write them as in \"fffe\"");
        }
        boolean agrees;
        if (kind == Kind.STRING || kind == Kind.ENUM) {
            agrees = Utf8.lossy(bytes, 0, bytes.length).equals(text);
            out.addText(kind.tag(), bytes, 0, bytes.length);
        } else if (kind == Kind.SUBNET) {
            Subnet subnet = bytes.length != 17
                    ? null
                    : new Subnet(Address.of(Wire.getLong(bytes, 0), Wire.getLong(bytes, 8)), bytes[16] & 0xff);
            agrees = subnet != null && subnet.toString().equals(text);
            if (agrees) {
                out.add(subnet);
            }
        } else {
            throw json.error(NOT_FOR_BYTES);
        }
        if (!agrees) {
            throw json.error("\"@bytes\" and \"data\" differ; change both, or remove \"@bytes\"");
        }
    }

    private static ValueException unexpected(JsonText json, Kind kind) {
        return json.error("expected "
                + switch (kind) {
                    case BOOLEAN -> "true or false for a boolean";
                    case COUNT -> "a whole number from 0 to 18446744073709551615 for a count";
                    case INTEGER -> "a whole number from -9223372036854775808 to 9223372036854775807 for an integer";
                    case REAL -> "a number with a point or an exponent for a real, or \"inf\", \"-inf\" or \"nan\"";
                    case ADDRESS -> "an address such as \"192.0.2.1\" or \"2001:db8::1\"";
                    case SUBNET -> "a subnet such as \"192.0.2.0/24\"";
                    case PORT -> "a port such as \"53/udp\"";
                    case TIMESTAMP -> "a timestamp such as \"2022-04-10T07:00:00.000\"";
                    case TIMESPAN -> "a timespan such as \"1500ms\"";
                    case ENUM -> "a string, the name of an enum-value";
                    case SET, VECTOR ->
                        "an array of values for a " + kind.name().toLowerCase(Locale.ROOT);
                    case TABLE -> "an array of {\"key\":value,\"value\":value} for a table";
                    default -> "a string";
                });
    }
}
