package io.rawline.value;

import java.time.Duration;
import java.time.Instant;

/**
 * Functions that generated codecs call to write. Not for other callers: it changes with the generator.
 *
 * <p>A record's head is written with the number of its fields, which the generated code knows. A field's head, which is
 * its key and the tag of its value, is a constant of up to 24 bytes, passed as three words: its bytes, big-endian, and
 * zeros. A writer always has {@link ValueWriter#SLACK_BYTES} bytes free, so nothing is checked before they are stored.
 */
public final class CodecWrites {
    private CodecWrites() {}

    /**
     * Begins a record that is a table.
     *
     * @param writer the writer
     * @param fields number of its fields
     * @return what {@link #end} needs
     */
    public static int beginTable(ValueWriter writer, int fields) {
        return begin(writer, Wire.TABLE, fields, fields * 2);
    }

    /**
     * Begins a record that is a vector.
     *
     * @param writer the writer
     * @param fields number of its fields
     * @return what {@link #end} needs
     */
    public static int beginVector(ValueWriter writer, int fields) {
        return begin(writer, Wire.VECTOR, fields, fields);
    }

    private static int begin(ValueWriter writer, int tag, int fields, int elements) {
        int outer = enter(writer);
        claim(writer, elements);
        if (fields < 0x80) {
            Wire.putShort(writer.bytes, writer.length, tag << 8 | fields);
            advance(writer, 2);
        } else {
            writer.bytes[writer.length] = (byte) tag;
            advance(writer, Wire.putSize(writer.bytes, writer.length + 1, fields) - writer.length);
        }
        return outer;
    }

    /**
     * Begins a level without a container.
     *
     * @param writer the writer
     * @return what {@link #end} needs
     */
    public static int enter(ValueWriter writer) {
        if (writer.levels >= Limits.DEFAULT.depthMax()) {
            throw ValueException.tooDeep(writer.length, Limits.DEFAULT.depthMax());
        }
        writer.levels++;
        return writer.count;
    }

    /**
     * Ends what {@link #beginTable}, {@link #beginVector} or {@link #enter} began: a value of the container around it.
     *
     * @param writer the writer
     * @param outer the value returned then
     */
    public static void end(ValueWriter writer, int outer) {
        writer.levels--;
        writer.count = outer + 1;
    }

    /**
     * Begins a container whose elements are counted as they are added.
     *
     * @param writer the writer
     * @param kind a set, a table or a vector
     * @return where it starts, for {@link #endContainer}
     */
    public static int beginContainer(ValueWriter writer, Kind kind) {
        enter(writer);
        int start = writer.length;
        writer.begin(kind.tag());
        return start;
    }

    /**
     * Ends a container.
     *
     * @param writer the writer
     * @param start where it starts
     * @param isUnique whether its elements or keys are surely different; otherwise they are checked
     */
    public static void endContainer(ValueWriter writer, int start, boolean isUnique) {
        claim(writer, writer.count);
        writer.end();
        writer.levels--;
        if (!isUnique) {
            new ValueDecoder(Limits.FORMAT).decode(writer.bytes, start, writer.length - start);
        }
    }

    private static void claim(ValueWriter writer, int elements) {
        writer.elements += elements;
        if (writer.elements > Limits.DEFAULT.elementsMax()) {
            throw ValueException.tooManyElements(writer.length, Limits.DEFAULT.elementsMax());
        }
    }

    private static void putHead(ValueWriter writer, long first, long second, long third, int size) {
        byte[] bytes = writer.bytes;
        int at = writer.length;
        Wire.putLong(bytes, at, first);
        if (size > 8) {
            Wire.putLong(bytes, at + 8, second);
        }
        if (size > 16) {
            Wire.putLong(bytes, at + 16, third);
        }
    }

    private static void advance(ValueWriter writer, int size) {
        writer.length += size;
        writer.ensure(0);
    }

    /**
     * Adds a key.
     *
     * @param writer the writer
     * @param first its first eight bytes
     * @param second the next eight
     * @param third the next eight
     * @param size its size in bytes
     */
    public static void head(ValueWriter writer, long first, long second, long third, int size) {
        putHead(writer, first, second, third, size);
        advance(writer, size);
    }

    /**
     * Adds a head and a word.
     *
     * @param writer the writer
     * @param first the head's first eight bytes
     * @param second the next eight
     * @param third the next eight
     * @param size the head's size in bytes
     * @param word the word
     */
    public static void word(ValueWriter writer, long first, long second, long third, int size, long word) {
        putHead(writer, first, second, third, size);
        Wire.putLong(writer.bytes, writer.length + size, word);
        advance(writer, size + 8);
    }

    /**
     * Adds a head and a boolean.
     *
     * @param writer the writer
     * @param first the head's first eight bytes
     * @param second the next eight
     * @param third the next eight
     * @param size the head's size in bytes
     * @param value the boolean
     */
    public static void bool(ValueWriter writer, long first, long second, long third, int size, boolean value) {
        putHead(writer, first, second, third, size);
        writer.bytes[writer.length + size] = (byte) (value ? 1 : 0);
        advance(writer, size + 1);
    }

    /**
     * Adds a key and a string.
     *
     * @param writer the writer
     * @param first the key's first eight bytes
     * @param second the next eight
     * @param third the next eight
     * @param size the key's size in bytes
     * @param text the string
     */
    public static void string(ValueWriter writer, long first, long second, long third, int size, String text) {
        putHead(writer, first, second, third, size);
        advance(writer, size);
        writer.add(text);
    }

    /**
     * Adds a whole number as a count.
     *
     * @param writer the writer
     * @param number the number
     */
    public static void count(ValueWriter writer, int number) {
        if (number < 0) {
            throw ValueException.range(writer.length, number + " as a count");
        }
        writer.addCount(number);
    }

    /**
     * Adds a tree, with the limits that readers have.
     *
     * @param writer the writer
     * @param value the tree
     */
    public static void tree(ValueWriter writer, Value value) {
        int start = writer.length;
        writer.add(value);
        int depth = Limits.DEFAULT.depthMax() - writer.levels;
        Limits limits = new Limits(depth, Limits.DEFAULT.elementsMax(), Limits.DEFAULT.bytesMax());
        new ValueDecoder(limits).decode(writer.bytes, start, writer.length - start);
    }

    /**
     * The bits of a real, as they are written.
     *
     * @param real the real
     * @return the bits
     */
    public static long bits(double real) {
        return Wire.packReal(real);
    }

    /**
     * A timestamp.
     *
     * @param instant the time
     * @return nanoseconds since 1970
     */
    public static long nanoseconds(Instant instant) {
        return nanoseconds(instant.getEpochSecond(), instant.getNano(), instant);
    }

    /**
     * A timespan.
     *
     * @param duration the duration
     * @return nanoseconds
     */
    public static long nanoseconds(Duration duration) {
        return nanoseconds(duration.getSeconds(), duration.getNano(), duration);
    }

    private static long nanoseconds(long seconds, int nanoseconds, Object time) {
        // The product of a negative number of seconds may be below the smallest number while the sum isn't.
        boolean isNegative = seconds < 0;
        long whole = isNegative ? seconds + 1 : seconds;
        long rest = isNegative ? nanoseconds - 1_000_000_000L : nanoseconds;
        long product = whole * 1_000_000_000L;
        long sum = product + rest;
        if (Math.abs(whole) > Long.MAX_VALUE / 1_000_000_000L || ((product ^ sum) & (rest ^ sum)) < 0) {
            throw ValueException.time(time.toString());
        }
        return sum;
    }

    /**
     * An object that must be there.
     *
     * @param value the object
     * @param field the field that holds it
     * @param <T> its type
     * @return the object
     * @throws NullPointerException it is null
     */
    public static <T> T present(T value, String field) {
        if (value == null) {
            throw isNull(field);
        }
        return value;
    }

    private static NullPointerException isNull(String field) {
        return new NullPointerException(
                "the field " + field + " is or contains null; give it a value, or let it be null with optional = true");
    }

    /**
     * The error for an alternative that the codec doesn't know.
     *
     * @param value the object
     * @return the error
     */
    public static IllegalStateException unknown(Object value) {
        return new IllegalStateException(
                "no generated code for " + value.getClass().getName() + "; compile the sealed interface again");
    }
}
