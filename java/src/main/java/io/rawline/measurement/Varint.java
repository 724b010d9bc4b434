package io.rawline.measurement;

/** Avro's zigzag integers of variable length. */
final class Varint {
    static final int BYTES_MAX = 10;

    private Varint() {}

    /** Writes an integer and returns where it ends. */
    static int put(long value, byte[] bytes, int at) {
        long left = value << 1 ^ value >> 63;
        while ((left & ~0x7fL) != 0) {
            bytes[at++] = (byte) (left | 0x80);
            left >>>= 7;
        }
        bytes[at++] = (byte) left;
        return at;
    }
}
