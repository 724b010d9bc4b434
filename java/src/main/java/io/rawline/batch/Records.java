package io.rawline.batch;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.OptionalLong;

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
    private final List<? extends StoredBatch> batches;
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
    /** Where the next record's offset is in {@link #sizes}; -1 if it follows the one before. */
    private int offsetAt = -1;

    private ByteBuffer data;
    /** Where the current batch's records end in {@link #data}. */
    private int dataEnd;

    private long createdUs;

    private int position;
    private int length;
    private long offset;
    /** The current batch's, if it is one of Kafka's. */
    private RecordCursor kafka;

    /** The offset of that batch. */
    private long kafkaOffset;

    /**
     * A cursor over an offset range of consecutive batches.
     *
     * @param batches the batches
     * @param batchesOffset offset of their first record
     * @param firstOffset offset of the first record wanted
     * @param endOffset offset before which to end
     * @param scratch memory for compressed batches, one at a time; null: each is unpacked into its own memory
     */
    public Records(
            List<? extends StoredBatch> batches,
            long batchesOffset,
            long firstOffset,
            long endOffset,
            Scratch scratch) {
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
     * @throws BatchException {@code batch_decompress}, {@code batch_limit}: a compressed batch can't be decompressed;
     *     {@code record_batch_invalid}: one of Kafka's has no valid record here; further calls throw the same
     */
    public boolean next() {
        do {
            while (kafka == null ? sizeAt == sizesEnd : !kafka.hasNext()) {
                if (!nextBatch()) {
                    return false;
                }
            }
            if (offset + 1 >= endOffset) {
                return false;
            }
            if (kafka != null) {
                nextOfKafka();
            } else {
                position += length;
                length = sizes.getInt(sizeAt);
                sizeAt += 4;
                offset++;
                if (offsetAt >= 0) {
                    offset = sizes.getLong(offsetAt);
                    offsetAt += 8;
                }
            }
        } while (offset < firstOffset);
        return offset < endOffset;
    }

    private void nextOfKafka() {
        kafka.next();
        // In a compacted topic, offsets before it may have no record.
        offset = kafkaOffset + kafka.offsetDelta();
        position = kafka.valueAt();
        length = Math.max(0, kafka.valueBytes());
        long timestampMs = Math.max(0, kafka.timestampMs());
        createdUs = timestampMs > Long.MAX_VALUE / 1000 ? Long.MAX_VALUE : 1000 * timestampMs;
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
     * When the producer made the record's batch, by its clock; of a Kafka batch, the record's own time.
     *
     * @return microseconds since the Unix epoch; 0 if a record of a Kafka batch has no time
     */
    public long createdUs() {
        return createdUs;
    }

    /**
     * The record's key. Records of our own batches have none.
     *
     * @return a copy, or null
     */
    public byte[] key() {
        return kafka == null ? null : kafka.key();
    }

    /**
     * The record's headers. Records of our own batches have none.
     *
     * @return copies, in order
     */
    public List<RecordHeader> headers() {
        return kafka == null ? List.of() : kafka.headers();
    }

    /**
     * The record's own time. Records of our own batches have none.
     *
     * @return milliseconds since the Unix epoch
     */
    public OptionalLong timestampMs() {
        return kafka == null || kafka.timestampMs() < 0 ? OptionalLong.empty() : OptionalLong.of(kafka.timestampMs());
    }

    /**
     * Whether the record has no value, unlike an empty one: with a key, it is a tombstone.
     *
     * @return true for some records of Kafka's batches
     */
    public boolean isNull() {
        return kafka != null && kafka.valueBytes() < 0;
    }

    /**
     * Whether the record is in a Kafka batch, whose records can have a key, headers and a time.
     *
     * @return false for records of our own batches
     */
    public boolean isKafka() {
        return kafka != null;
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
        if (kafka == null && position + length != dataEnd) {
            throw new IllegalStateException(
                    "a batch's records end at " + (position + length) + ", its data at " + dataEnd);
        }
        StoredBatch stored = batches.get(batchNext);
        long first = batchNextOffset;
        long after = endOf(stored, first);
        if (after > firstOffset && first < endOffset) {
            // An error changes nothing, so that a batch that can't be decompressed is one with each call, not skipped.
            if (stored instanceof Batch batch) {
                enter(batch, first);
            } else if (stored instanceof RecordBatch batch) {
                enter(batch, first);
            } else if (stored instanceof Selection selection) {
                enter(selection, first);
            }
        }
        batchNext++;
        batchNextOffset = after;
        return true;
    }

    /** The offset after what begins at {@code first}. */
    private static long endOf(StoredBatch stored, long first) {
        if (stored instanceof Selection selection) {
            return selection.endOffset();
        }
        return first + (stored instanceof RecordBatch batch ? batch.header().offsets() : stored.count());
    }

    /** Goes to before the first of selected records; {@link #next()} passes over unwanted ones. */
    private void enter(Selection selection, long first) {
        data = selection.buffer().duplicate().clear().asReadOnlyBuffer();
        position = selection.dataPosition();
        kafka = null;
        sizes = selection.buffer();
        sizeAt = selection.sizesPosition();
        sizesEnd = selection.dataPosition();
        offsetAt = selection.offsetsPosition();
        dataEnd = selection.end();
        createdUs = selection.createdUs();
        length = 0;
        offset = first - 1;
    }

    /** Goes to before the first wanted record of a batch whose first record has the offset {@code first}. */
    private void enter(Batch batch, long first) {
        boolean packed = batch.header().codec() != Codec.NONE;
        data = packed
                ? (scratch == null ? batch.unpack(null) : scratch.unpack(batch)).asReadOnlyBuffer()
                : batch.buffer().duplicate().clear().asReadOnlyBuffer();
        position = packed ? 0 : batch.dataPosition();
        kafka = null;
        sizes = batch.buffer();
        sizeAt = batch.sizesPosition();
        sizesEnd = sizeAt + 4 * batch.count();
        offsetAt = -1;
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

    /** Goes to before the first record of a Kafka batch; {@link #next()} passes over unwanted ones. */
    private void enter(RecordBatch batch, long first) {
        ByteBuffer section = scratch == null ? batch.unpack(null) : scratch.unpack(batch);
        data = section.asReadOnlyBuffer();
        kafka = new RecordCursor(batch.header(), section);
        kafkaOffset = first;
        offset = first - 1;
    }
}
