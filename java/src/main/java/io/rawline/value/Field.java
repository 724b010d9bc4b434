package io.rawline.value;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/**
 * A field's name, prepared once for all tables that have the field: it is written as encoded bytes, compared as words,
 * and remembers its last position in a table. Keep it in a constant. Thread-safe.
 */
public final class Field implements Step {
    /** Maximum size of an encoded name that fits into the two words below. */
    static final int SHORT_BYTES_MAX = 16;

    private final String name;
    /** The name as a value: tag, size, bytes. */
    final byte[] encoded;
    /** Where the name's characters start in it. */
    final int start;
    /** Length of the name in bytes. */
    final int length;
    /** Size of the encoded name in bytes; the two words of a short one, which are written at once. */
    final int size;

    final long first;
    final long second;
    /** The first eight bytes of the name, or all of a shorter one. */
    final long head;
    /** The last eight bytes of a name of eight bytes or more. */
    final long tail;
    /** The pair's position in the table that was last searched: a hint, which any thread may change. */
    int place;

    private Field(String name) {
        this.name = name;
        byte[] bytes = name.getBytes(StandardCharsets.UTF_8);
        length = bytes.length;
        start = 1 + Wire.sizeBytes(length);
        encoded = new byte[start + length];
        encoded[0] = Wire.STRING;
        Wire.putSize(encoded, 1, length);
        System.arraycopy(bytes, 0, encoded, start, length);
        size = encoded.length;
        byte[] padded = Arrays.copyOf(encoded, Math.max(size, SHORT_BYTES_MAX));
        first = Wire.getLong(padded, 0);
        second = Wire.getLong(padded, 8);
        head = length >= 8 ? Wire.getLong(bytes, 0) : length == 0 ? 0 : Wire.getLong(padded, start) >>> 64 - 8 * length;
        tail = length >= 8 ? Wire.getLong(bytes, length - 8) : 0;
    }

    /**
     * A field.
     *
     * @param name its name in tables
     * @return the field
     */
    public static Field of(String name) {
        return new Field(name);
    }

    /**
     * The name.
     *
     * @return the name
     */
    public String name() {
        return name;
    }

    /** Whether these bytes are the name. All of them lie within the array. */
    boolean is(byte[] bytes, int at, int count) {
        if (count != length) {
            return false;
        }
        if (count >= 8) {
            return Wire.getLong(bytes, at) == head
                    && Wire.getLong(bytes, at + count - 8) == tail
                    && (count <= 16 || Arrays.equals(bytes, at, at + count, encoded, start, start + length));
        }
        if (count == 0) {
            return true;
        }
        // Bytes after the name are loaded with it, and ignored: so they must be within the array.
        if (at <= bytes.length - 8) {
            return Wire.getLong(bytes, at) >>> 64 - 8 * count == head;
        }
        return Arrays.equals(bytes, at, at + count, encoded, start, start + length);
    }

    @Override
    public String toString() {
        return name;
    }
}
