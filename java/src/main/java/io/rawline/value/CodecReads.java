package io.rawline.value;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;

/**
 * Functions that generated codecs call to read. Not for other callers: it changes with the generator.
 *
 * <p>A record's fields are first read in the order in which they are declared: a key is compared with a constant. What
 * comes in another order is looked up.
 */
public final class CodecReads {
    private static final long SECOND = 1_000_000_000L;

    /** Maximum number of elements for which a list reserves memory before they are read. */
    private static final int RESERVED_MAX = 1 << 16;

    private CodecReads() {}

    /**
     * Begins a record, which {@link #end} ends.
     *
     * @param reader the reader
     * @return number of fields of a table; of a vector, the number's complement, which is negative
     */
    public static int begin(ValueReader reader) {
        boolean isTable = reader.at < reader.end && reader.bytes[reader.at] == Wire.TABLE;
        int fields = isTable ? reader.table() : ~reader.list();
        enter(reader);
        return fields;
    }

    /**
     * Begins a level, which {@link #end} ends.
     *
     * @param reader the reader
     */
    public static void enter(ValueReader reader) {
        if (reader.levels >= Math.min(reader.limits.depthMax(), Limits.DEFAULT.depthMax())) {
            throw ValueException.tooDeep(reader.position(), reader.levels);
        }
        reader.levels++;
    }

    /**
     * Ends a level.
     *
     * @param reader the reader
     */
    public static void end(ValueReader reader) {
        reader.levels--;
    }

    /**
     * Reads this key of up to 7 bytes, if it is next.
     *
     * @param reader the reader
     * @param key its bytes, a big-endian number
     * @param size its size in bytes
     * @return whether it was
     */
    public static boolean key(ValueReader reader, long key, int size) {
        byte[] bytes = reader.bytes;
        int at = reader.at;
        if (at + 8 > bytes.length) {
            return shortKey(reader, key, size);
        }
        if (Wire.getLong(bytes, at) >>> 64 - 8 * size != key || at + size > reader.end) {
            return false;
        }
        reader.at = at + size;
        return true;
    }

    /** Near the array's end, where no word can be loaded. */
    private static boolean shortKey(ValueReader reader, long key, int size) {
        int at = reader.at;
        if (at + size > reader.end) {
            return false;
        }
        long found = 0;
        for (int index = 0; index < size; index++) {
            found = found << 8 | reader.bytes[at + index] & 0xff;
        }
        if (found != key) {
            return false;
        }
        reader.at = at + size;
        return true;
    }

    /**
     * Reads this key of 8 to 24 bytes, if it is next.
     *
     * @param reader the reader
     * @param first its first eight bytes
     * @param second of more than 16 bytes, the next eight; otherwise the last eight
     * @param tail its last eight bytes
     * @param size its size in bytes
     * @return whether it was
     */
    public static boolean key(ValueReader reader, long first, long second, long tail, int size) {
        byte[] bytes = reader.bytes;
        int at = reader.at;
        if (at + size > reader.end
                || Wire.getLong(bytes, at) != first
                || size > 16 && Wire.getLong(bytes, at + 8) != second
                || Wire.getLong(bytes, at + size - 8) != tail) {
            return false;
        }
        reader.at = at + size;
        return true;
    }

    /**
     * Reads this key of any size, if it is next.
     *
     * @param reader the reader
     * @param field the field
     * @return whether it was
     */
    public static boolean key(ValueReader reader, Field field) {
        int size = field.size;
        int at = reader.at;
        if (at + size > reader.end || !java.util.Arrays.equals(reader.bytes, at, at + size, field.encoded, 0, size)) {
            return false;
        }
        reader.at = at + size;
        return true;
    }

    /**
     * Skips the fields of a vector that the type doesn't have.
     *
     * @param reader the reader
     * @param values their number
     */
    public static void skip(ValueReader reader, int values) {
        for (int left = values; left > 0; left--) {
            reader.skip();
        }
    }

    /**
     * Records that a field occurred.
     *
     * @param reader the reader, after the key
     * @param seen a bit for each field that occurred
     * @param bit the field's
     * @return the bits with the field's
     */
    public static long once(ValueReader reader, long seen, long bit) {
        if ((seen & bit) != 0) {
            throw ValueException.duplicateField(reader.position());
        }
        return seen | bit;
    }

    /**
     * The error for fields that weren't there.
     *
     * @param reader the reader
     * @param start where the record starts
     * @param missing a bit for each missing field
     * @param first the number of the first bit's field
     * @param fields the record's fields
     * @return the error
     */
    public static ValueException missing(ValueReader reader, int start, long missing, int first, Fields fields) {
        String name = fields.get(first + Long.numberOfTrailingZeros(missing)).name();
        return ValueException.missing(start).within(name);
    }

    /**
     * An error that names the record's field in which it is.
     *
     * @param error the error
     * @param reader the reader
     * @param start where the record starts
     * @param fields the record's fields
     * @return the error with the field's name
     */
    public static ValueException within(ValueException error, ValueReader reader, int start, Fields fields) {
        String name = fieldAt(reader, start, error.position(), fields);
        return name == null ? error : error.within(name);
    }

    /** The name of the field that contains a position, by reading the record again; null if none does. */
    private static String fieldAt(ValueReader failed, int start, long position, Fields fields) {
        ValueReader reader =
                new ValueReader(Limits.FORMAT).reset(failed.bytes, failed.begin, failed.end - failed.begin);
        reader.at = failed.begin + start;
        String name = null;
        try {
            int found = begin(reader);
            int count = found < 0 ? ~found : found;
            for (int number = 0; number < count && reader.position() <= position; number++) {
                if (found < 0) {
                    name = number < fields.size() ? fields.get(number).name() : null;
                } else if (reader.tag() == Wire.STRING) {
                    name = string(reader);
                } else {
                    name = null;
                    reader.skip();
                }
                reader.skip();
            }
            return reader.position() > position ? name : null;
        } catch (ValueException itself) {
            // The error is in this field, so it can't be skipped.
            return name;
        }
    }

    /**
     * Reads a whole number, written as an integer or a count.
     *
     * @param reader the reader
     * @return the number
     */
    public static long int64(ValueReader reader) {
        if (reader.at < reader.end && reader.bytes[reader.at] == Wire.INTEGER) {
            return reader.integer();
        }
        return positive(reader);
    }

    private static long between(ValueReader reader, long least, long most) {
        int position = reader.at;
        long number = int64(reader);
        if (number < least || number > most) {
            throw ValueException.range(position - reader.begin, Long.toString(number));
        }
        return number;
    }

    private static long positive(ValueReader reader) {
        int position = reader.position();
        if (reader.tag() != Wire.COUNT) {
            throw reader.mismatch(Wire.INTEGER);
        }
        long number = reader.count();
        if (number < 0) {
            throw ValueException.range(position, Long.toUnsignedString(number));
        }
        return number;
    }

    /**
     * Reads a whole number as an unsigned one.
     *
     * @param reader the reader
     * @return its bits
     */
    public static long count(ValueReader reader) {
        int position = reader.position();
        if (reader.tag() != Wire.INTEGER) {
            return reader.count();
        }
        long number = reader.integer();
        if (number < 0) {
            throw ValueException.range(position, Long.toString(number));
        }
        return number;
    }

    /**
     * Reads a whole number.
     *
     * @param reader the reader
     * @return the number
     */
    public static int int32(ValueReader reader) {
        return (int) between(reader, Integer.MIN_VALUE, Integer.MAX_VALUE);
    }

    /**
     * Reads a whole number.
     *
     * @param reader the reader
     * @return the number
     */
    public static short int16(ValueReader reader) {
        return (short) between(reader, Short.MIN_VALUE, Short.MAX_VALUE);
    }

    /**
     * Reads a whole number.
     *
     * @param reader the reader
     * @return the number
     */
    public static byte int8(ValueReader reader) {
        return (byte) between(reader, Byte.MIN_VALUE, Byte.MAX_VALUE);
    }

    /**
     * Reads a real or a whole number.
     *
     * @param reader the reader
     * @return the number
     */
    public static double real(ValueReader reader) {
        if (reader.at < reader.end && reader.bytes[reader.at] == Wire.REAL) {
            return reader.real();
        }
        return wholeReal(reader);
    }

    private static double wholeReal(ValueReader reader) {
        int tag = reader.tag();
        if (tag == Wire.INTEGER) {
            return reader.integer();
        }
        if (tag != Wire.COUNT) {
            throw reader.mismatch(Wire.REAL);
        }
        long count = reader.count();
        // An odd last bit keeps the rounding right.
        return count >= 0 ? count : (count >>> 1 | count & 1) * 2.0;
    }

    /**
     * Reads a string or an enum's name; an address, a subnet, a port and a time as text.
     *
     * @param reader the reader
     * @return the string
     */
    public static String string(ValueReader reader) {
        int position = reader.at;
        if (position >= reader.end || reader.bytes[position] != Wire.STRING) {
            return otherText(reader);
        }
        return utf8(reader, reader.text(Wire.STRING), position);
    }

    private static String utf8(ValueReader reader, long text, int position) {
        int start = (int) text;
        int length = (int) (text >>> 32);
        String string = new String(reader.bytes, start, length, StandardCharsets.UTF_8);
        // Costs nothing for a string of Latin-1.
        if (string.indexOf('\ufffd') >= 0 && !Utf8.isValid(reader.bytes, start, length)) {
            throw ValueException.utf8(position - reader.begin);
        }
        return string;
    }

    private static String otherText(ValueReader reader) {
        int position = reader.at;
        StringBuilder text = new StringBuilder();
        switch (Kind.of(reader.tag())) {
            case ENUM -> {
                return utf8(reader, reader.text(Wire.ENUM), position);
            }
            case ADDRESS -> text.append(reader.address());
            case SUBNET -> text.append(reader.subnet());
            case PORT -> text.append(reader.port());
            case TIMESTAMP -> {
                Texts.writeTime(reader.timestamp(), 9, text);
                text.append('Z');
            }
            case TIMESPAN -> Texts.writeSeconds(reader.timespan(), text);
            default -> throw reader.mismatch(Wire.STRING);
        }
        return text.toString();
    }

    /**
     * Reads a string of one character.
     *
     * @param reader the reader
     * @return the character
     */
    public static char character(ValueReader reader) {
        int position = reader.position();
        String text = string(reader);
        if (text.length() != 1) {
            throw ValueException.character(position, text);
        }
        return text.charAt(0);
    }

    /**
     * Reads a string's bytes, or an enum's; a vector of numbers below 256 as well.
     *
     * @param reader the reader
     * @return a copy of them
     */
    public static byte[] bytes(ValueReader reader) {
        int tag = reader.tag();
        if (tag == Wire.VECTOR) {
            byte[] bytes = new byte[reader.list()];
            for (int index = 0; index < bytes.length; index++) {
                bytes[index] = (byte) between(reader, 0, 255);
            }
            return bytes;
        }
        return tag == Wire.ENUM ? copy(reader, reader.text(Wire.ENUM)) : reader.bytes();
    }

    private static byte[] copy(ValueReader reader, long text) {
        return java.util.Arrays.copyOfRange(reader.bytes, (int) text, (int) text + (int) (text >>> 32));
    }

    /**
     * Reads a timestamp.
     *
     * @param reader the reader
     * @return the time
     */
    public static Instant instant(ValueReader reader) {
        long nanoseconds = reader.timestamp();
        return Instant.ofEpochSecond(Math.floorDiv(nanoseconds, SECOND), Math.floorMod(nanoseconds, SECOND));
    }

    /**
     * Reads a timespan.
     *
     * @param reader the reader
     * @return the duration
     */
    public static Duration duration(ValueReader reader) {
        return Duration.ofNanos(reader.timespan());
    }

    /**
     * Reads any value as a tree.
     *
     * @param reader the reader
     * @return the tree
     */
    public static Value value(ValueReader reader) {
        int start = reader.at;
        reader.skip();
        return checked(reader, start, reader.at).toValue();
    }

    /** The view of a value within the reader's bytes, checked for depth and duplicates. */
    private static ValueView checked(ValueReader reader, int start, int end) {
        int depth = Math.max(0, Limits.DEFAULT.depthMax() - reader.levels);
        Limits limits = new Limits(depth, Limits.DEFAULT.elementsMax(), Limits.DEFAULT.bytesMax());
        try {
            return new ValueDecoder(limits).decode(reader.bytes, start, end - start);
        } catch (ValueException error) {
            throw error.moved(start - reader.begin);
        }
    }

    /** Checks that the next value has no duplicate, without reading it. */
    private static void checkUnique(ValueReader reader) {
        int start = reader.at;
        long declared = reader.declared;
        reader.skip();
        checked(reader, start, reader.at);
        reader.at = start;
        reader.declared = declared;
    }

    /**
     * Begins a list of a vector's or a set's elements, which {@link #end} ends.
     *
     * @param reader the reader
     * @param isUnique whether the caller finds duplicates of a set itself
     * @return their number
     */
    public static int elements(ValueReader reader, boolean isUnique) {
        int tag = reader.tag();
        if (tag == Wire.SET && !isUnique) {
            checkUnique(reader);
        }
        int count = tag == Wire.SET ? reader.set() : reader.list();
        enter(reader);
        return count;
    }

    /**
     * Begins a table's pairs, which {@link #end} ends.
     *
     * @param reader the reader
     * @param isUnique whether the caller finds duplicate keys itself
     * @return their number
     */
    public static int pairs(ValueReader reader, boolean isUnique) {
        if (reader.tag() == Wire.TABLE && !isUnique) {
            checkUnique(reader);
        }
        int count = reader.table();
        enter(reader);
        return count;
    }

    /**
     * An empty list.
     *
     * @param elements number of elements that will be added
     * @param <T> their type
     * @return the list
     */
    public static <T> ArrayList<T> list(int elements) {
        return new ArrayList<>(Math.min(elements, RESERVED_MAX));
    }

    /**
     * Checks what adding to a set or a map returned.
     *
     * @param reader the reader
     * @param start where the set or the table starts
     * @param isNew whether the element or key was new
     */
    public static void unique(ValueReader reader, int start, boolean isNew) {
        if (!isNew) {
            throw ValueException.notUnique(start);
        }
    }
}
