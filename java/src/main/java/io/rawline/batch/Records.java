package io.rawline.batch;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.List;

/**
 * A cursor over records, which allocates nothing per record.
 *
 * <pre>{@code
 * Records records = fetched.records();
 * while (records.next()) {
 *     use(records.offset(), records.buffer(), records.position(), records.length());
 * }
 * }</pre>
 *
 * <p>Its methods describe the current record. The memory of a compressed batch's records is reused for the next such
 * batch.
 */
public final class Records {
    private final List<Batch> batches;
    private final long firstOffset;
    private final long endOffset;
    private final Scratch scratch;
    /** Index of the next batch, and the offset of its first record. */
    private int batchNext;

    private long batchNextOffset;

    /** The current batch: its sizes, the next one's position and their end; its records, read-only. */
    private ByteBuffer sizes;

    private int sizeAt;
    private int sizesEnd;
    private ByteBuffer data;
    /** Where the current batch's records end in {@link #data}. */
    private int dataEnd;

    private long createdUs;

    private int position;
    private int length;
    private long offset;

    /**
     * A cursor over an offset range of consecutive batches.
     *
     * @param batches the batches
     * @param batchesOffset offset of their first record
     * @param firstOffset offset of the first record wanted
     * @param endOffset offset before which to end
     * @param scratch memory for compressed batches, one at a time; null: each is unpacked into its own memory
     */
    public Records(List<Batch> batches, long batchesOffset, long firstOffset, long endOffset, Scratch scratch) {
        this.batches = batches;
        this.batchNextOffset = batchesOffset;
        this.firstOffset = firstOffset;
        this.endOffset = endOffset;
        this.scratch = scratch;
    }

    /**
     * Goes to the next record.
     *
     * @return false after the last record
     * @throws BatchException {@code batch_decompress}: a compressed batch can't be decompressed; further calls throw
     *     the same
     */
    public boolean next() {
        while (sizeAt == sizesEnd) {
            if (!nextBatch()) {
                return false;
            }
        }
        if (offset + 1 >= endOffset) {
            return false;
        }
        position += length;
        length = sizes.getInt(sizeAt);
        sizeAt += 4;
        offset++;
        return true;
    }

    /**
     * The record's offset in its partition.
     *
     * @return from 0 on
     */
    public long offset() {
        return offset;
    }

    /**
     * When the producer made the record's batch, by its clock.
     *
     * @return microseconds since the Unix epoch
     */
    public long createdUs() {
        return createdUs;
    }

    /**
     * The memory that contains the record, from {@link #position()} on, {@link #length()} bytes long.
     *
     * @return read-only and the same object for all records of a batch; read it by absolute positions
     */
    public ByteBuffer buffer() {
        return data;
    }

    /**
     * Where the record starts in {@link #buffer()}.
     *
     * @return bytes
     */
    public int position() {
        return position;
    }

    /**
     * The record's length.
     *
     * @return bytes
     */
    public int length() {
        return length;
    }

    /**
     * The record's bytes.
     *
     * @return a read-only slice, not a copy
     */
    public ByteBuffer bytes() {
        return data.slice(position, length);
    }

    /**
     * A copy of the record's bytes.
     *
     * @return a new array
     */
    public byte[] toBytes() {
        byte[] copy = new byte[length];
        data.get(position, copy);
        return copy;
    }

    /**
     * The record's bytes as text.
     *
     * @return the bytes decoded as UTF-8; invalid sequences become U+FFFD
     */
    public String text() {
        return new String(toBytes(), StandardCharsets.UTF_8);
    }

    private boolean nextBatch() {
        if (batchNext == batches.size()) {
            return false;
        }
        if (position + length != dataEnd) {
            throw new IllegalStateException(
                    "a batch's records end at " + (position + length) + ", its data at " + dataEnd);
        }
        Batch batch = batches.get(batchNext);
        long first = batchNextOffset;
        long after = first + batch.count();
        if (after > firstOffset && first < endOffset) {
            boolean packed = batch.header().codec() != Codec.NONE;
            // First, so that a batch that can't be decompressed is an error with each call and isn't skipped.
            data = packed
                    ? (scratch == null ? batch.unpack(null) : scratch.unpack(batch)).asReadOnlyBuffer()
                    : batch.buffer().duplicate().clear().asReadOnlyBuffer();
            position = packed ? 0 : batch.dataPosition();
            goTo(batch, first);
        }
        batchNext++;
        batchNextOffset = after;
        return true;
    }

    /** Goes to before the first wanted record of a batch whose first record has the offset {@code first}. */
    private void goTo(Batch batch, long first) {
        sizes = batch.buffer();
        sizeAt = batch.sizesPosition();
        sizesEnd = sizeAt + 4 * batch.count();
        dataEnd = position + (int) batch.header().rawBytes();
        createdUs = batch.header().createdUs();
        length = 0;
        offset = first - 1;
        while (offset + 1 < firstOffset) {
            position += sizes.getInt(sizeAt);
            sizeAt += 4;
            offset++;
        }
    }
}
