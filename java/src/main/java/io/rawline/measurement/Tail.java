package io.rawline.measurement;

/** Reads a measurement's time and value from the message's end, without knowing where they start. */
final class Tail {
    /** The high bit of each byte: set if a variable-length integer continues. */
    private static final long HIGH = 0x8080_8080_8080_8080L;

    /** Where the time starts, the time, and the value. */
    int begin;

    long time;
    double value;

    /** The integer that was read last. */
    private long last;

    /** Reads the tail of the message between two positions; false if the message's end is not a valid tail. */
    boolean read(ValueType type, byte[] bytes, int from, int end) {
        int at;
        if (type == ValueType.DOUBLE) {
            at = end - 8;
            if (at < from) {
                return false;
            }
            value = Double.longBitsToDouble(ByteTable.getLong(bytes, at));
        } else if (type == ValueType.FLOAT) {
            at = end - 4;
            if (at < from) {
                return false;
            }
            value = Float.intBitsToFloat(bytes[at] & 0xff
                    | (bytes[at + 1] & 0xff) << 8
                    | (bytes[at + 2] & 0xff) << 16
                    | bytes[at + 3] << 24);
        } else {
            at = longBefore(bytes, from, end);
            if (at < from || type == ValueType.INT && last != (int) last) {
                return false;
            }
            value = last;
        }
        begin = longBefore(bytes, from, at);
        time = last;
        return begin >= from;
    }

    /**
     * Where the integer that ends before {@code end} starts; below {@code from} if not found. Its last byte has the
     * high bit clear, its other bytes have it set, and the byte before it has it clear.
     */
    private int longBefore(byte[] bytes, int from, int end) {
        if (end - from >= 8) {
            long word = ByteTable.getLong(bytes, end - 8);
            long ends = ~word & HIGH;
            // The first bit is the integer's last byte; the next one is the byte before the integer.
            long before = ends & HIGH >>> 8;
            if (ends < 0 && before != 0) {
                int bits = Long.numberOfLeadingZeros(before) & ~7;
                last = unzigzag(compact(word >>> 64 - bits & ~HIGH));
                return end - bits / 8;
            }
        }
        return longOfManyBytesBefore(bytes, from, end);
    }

    private int longOfManyBytesBefore(byte[] bytes, int from, int end) {
        if (end <= from || bytes[end - 1] < 0) {
            return from - 1;
        }
        int at = end - 1;
        while (at > from && bytes[at - 1] < 0) {
            at--;
        }
        int length = end - at;
        // The tenth byte has only the 64th bit.
        if (length > Varint.BYTES_MAX || length == Varint.BYTES_MAX && bytes[end - 1] > 1) {
            return from - 1;
        }
        long packed = 0;
        for (int index = end - 1; index >= at; index--) {
            packed = packed << 7 | bytes[index] & 0x7f;
        }
        last = unzigzag(packed);
        return at;
    }

    private static long unzigzag(long value) {
        return value >>> 1 ^ -(value & 1);
    }

    /** Joins eight groups of seven bits, one per byte, to 56 bits. */
    private static long compact(long groups) {
        long pairs = (groups & 0x7f00_7f00_7f00_7f00L) >>> 1 | groups & 0x007f_007f_007f_007fL;
        long fours = (pairs & 0x3fff_0000_3fff_0000L) >>> 2 | pairs & 0x0000_3fff_0000_3fffL;
        return (fours & 0x0fff_ffff_0000_0000L) >>> 4 | fours & 0x0000_0000_0fff_ffffL;
    }
}
