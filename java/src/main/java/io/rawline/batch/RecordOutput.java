package io.rawline.batch;

import java.nio.ByteBuffer;
import java.util.Arrays;

/** Where decompressed records go: memory that grows as they come, up to a limit. */
final class RecordOutput {
    private final int bytesMax;
    private byte[] bytes;
    private int length;

    /**
     * An empty one.
     *
     * @param scratch null, or memory that is used if it suffices
     */
    RecordOutput(ByteBuffer scratch, long bytesMax) {
        this.bytesMax = (int) Math.min(bytesMax, Integer.MAX_VALUE - 8);
        bytes = scratch != null && scratch.hasArray() ? scratch.array() : new byte[0];
    }

    /** The memory; valid until more room is made. */
    byte[] bytes() {
        return bytes;
    }

    /** Number of bytes so far. */
    int length() {
        return length;
    }

    /** Reserves this many more bytes, or as many as the limit allows; returns the number. */
    int room(long count) {
        int room = (int) Math.min(count, bytesMax - length);
        if (bytes.length - length < room) {
            long capacity = Math.max((long) length + room, 2L * bytes.length);
            bytes = Arrays.copyOf(bytes, (int) Math.min(capacity, Math.max(bytesMax, bytes.length)));
        }
        return room;
    }

    /** Adds the bytes written after the bytes so far. */
    void add(int count) {
        if (count < 0 || count > bytes.length - length) {
            throw new IllegalStateException(count + " bytes written into " + (bytes.length - length));
        }
        length += count;
    }

    /** The error for more bytes than the limit. */
    BatchException tooLong() {
        return BatchException.limit("raw_bytes", bytesMax + 1L, bytesMax);
    }

    /** The bytes from position to limit. */
    ByteBuffer finish() {
        return ByteBuffer.wrap(bytes, 0, length);
    }
}
