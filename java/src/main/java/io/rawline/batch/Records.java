package io.rawline.batch;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.List;

/**
 * Goes through records without allocating anything for each of them.
 *
 * <pre>{@code
 * Records records = fetched.records();
 * while (records.next()) {
 *     use(records.offset(), records.buffer(), records.position(), records.length());
 * }
 * }</pre>
 *
 * <p>Stands on one record at a time, which its methods speak of. The records of a compressed batch lie in memory that
 * is used again for the next such batch.
 */
public final class Records {
    private final List<Batch> batches;
    private final long firstOffset;
    private final long endOffset;
    private final Scratch scratch;
    /** Index of the batch behind the one at hand, and the offset of its first record. */
    private int batchNext;

    private long batchNextOffset;

    /** Of the batch at hand: where its sizes lie, the next one's place and their end; its records, read-only. */
    private ByteBuffer sizes;

    private int sizeAt;
    private int sizesEnd;
    private ByteBuffer data;
    private long createdUs;

    private int position;
    private int length;
    private long offset;

    /**
     * The records of an offset range of batches back to back.
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
     * @return false behind the last one
     * @throws BatchException {@code batch_decompress}: a compressed batch can't be unpacked; the same again with each
     *     further call
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
     * The record's offset in the topic.
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
     * The memory that the record lies in, from {@link #position()} on, {@link #length()} bytes long.
     *
     * @return read-only and the same object for all records of a batch; to be read by positions
     */
    public ByteBuffer buffer() {
        return data;
    }

    /**
     * Where the record begins in {@link #buffer()}.
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
     * The record's bytes, where they are.
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
     * @return what they are in UTF-8; what is not UTF-8 becomes U+FFFD
     */
    public String text() {
        return new String(toBytes(), StandardCharsets.UTF_8);
    }

    private boolean nextBatch() {
        if (batchNext == batches.size()) {
            return false;
        }
        Batch batch = batches.get(batchNext);
        long first = batchNextOffset;
        long after = first + batch.count();
        if (after > firstOffset && first < endOffset) {
            boolean packed = batch.header().codec() != Codec.NONE;
            // First of all: a batch that can't be unpacked is an error again, and not passed over, when asked again.
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

    /** To before the first record that is wanted of a batch whose first one has the offset {@code first}. */
    private void goTo(Batch batch, long first) {
        sizes = batch.buffer();
        sizeAt = batch.sizesPosition();
        sizesEnd = sizeAt + 4 * batch.count();
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
