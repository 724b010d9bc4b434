package io.rawline.batch;

import java.nio.ByteBuffer;

/**
 * Records that a subscription's filter has selected, with their offsets: {@code count} u32, zero u32, {@code count}
 * offsets u64, {@code count} sizes u32, then the records back to back; all little-endian. A view; nothing is copied.
 */
public final class Selection implements StoredBatch {
    /** Length of the count and the zeros. */
    private static final int FRONT_BYTES = 8;

    private final ByteBuffer buffer;
    private final int bytes;
    private final int count;
    private final long endOffset;
    private final long createdUs;

    private Selection(ByteBuffer buffer, int bytes, int count, long endOffset, long createdUs) {
        this.buffer = buffer;
        this.bytes = bytes;
        this.count = count;
        this.endOffset = endOffset;
        this.createdUs = createdUs;
    }

    /**
     * Checks a selection.
     *
     * @param buffer little-endian; the selection is its bytes 0 to {@code bytes} - 1
     * @param bytes its length
     * @param firstOffset the lowest offset that it may have
     * @param endOffset the offset after the highest one
     * @param createdUs when the batch of its records was stored, in microseconds since the Unix epoch
     * @return a view of the bytes
     * @throws IllegalArgumentException it isn't a selection of these offsets
     */
    public static Selection parse(ByteBuffer buffer, int bytes, long firstOffset, long endOffset, long createdUs) {
        if (bytes < FRONT_BYTES) {
            throw new IllegalArgumentException("a selection of " + bytes + " bytes");
        }
        long count = buffer.getInt(0) & 0xffffffffL;
        long before = FRONT_BYTES + 12 * count;
        if (before > bytes || buffer.getInt(4) != 0) {
            throw new IllegalArgumentException("a selection of " + count + " records in " + bytes + " bytes");
        }
        Selection selection = new Selection(buffer, bytes, (int) count, endOffset, createdUs);
        long length = before;
        long from = firstOffset;
        for (int i = 0; i < count; i++) {
            length += buffer.getInt(selection.sizesPosition() + 4 * i) & 0xffffffffL;
            long offset = buffer.getLong(FRONT_BYTES + 8 * i);
            if (offset < from || offset >= endOffset) {
                throw new IllegalArgumentException(
                        "a selection with the offset " + offset + " that isn't in " + from + ".." + endOffset);
            }
            from = offset + 1;
        }
        if (length != bytes) {
            throw new IllegalArgumentException("a selection of " + bytes + " bytes whose sizes say " + length);
        }
        return selection;
    }

    @Override
    public int count() {
        return count;
    }

    @Override
    public ByteBuffer bytes() {
        return buffer.slice(0, bytes).asReadOnlyBuffer();
    }

    /**
     * When the batch of these records was stored.
     *
     * @return microseconds since the Unix epoch
     */
    public long createdUs() {
        return createdUs;
    }

    ByteBuffer buffer() {
        return buffer;
    }

    long endOffset() {
        return endOffset;
    }

    int offsetsPosition() {
        return FRONT_BYTES;
    }

    int sizesPosition() {
        return FRONT_BYTES + 8 * count;
    }

    int dataPosition() {
        return FRONT_BYTES + 12 * count;
    }

    int end() {
        return bytes;
    }
}
