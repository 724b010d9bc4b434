package io.rawline.batch;

import java.nio.ByteBuffer;
import java.util.List;

/**
 * A checked view of the contiguous bytes of a Kafka batch; nothing is copied. Its records are checked when
 * they are read.
 *
 * <p>As a {@link Batch}, it is invalid once the memory of its bytes is reused. Not thread-safe.
 */
public final class RecordBatch implements StoredBatch {
    private final RecordBatchHeader header;
    private final ByteBuffer buffer;
    private final int position;
    private final long rawBytesMax;

    RecordBatch(RecordBatchHeader header, ByteBuffer buffer, int position, long rawBytesMax) {
        this.header = header;
        this.buffer = buffer;
        this.position = position;
        this.rawBytesMax = rawBytesMax;
    }

    /**
     * The header's fields.
     *
     * @return the header
     */
    public RecordBatchHeader header() {
        return header;
    }

    @Override
    public int count() {
        return header.records();
    }

    @Override
    public ByteBuffer bytes() {
        return buffer.slice(position, header.batchBytes()).asReadOnlyBuffer();
    }

    /**
     * A cursor over all records; their offsets are those of the batch.
     *
     * @return before the first record
     */
    public Records records() {
        return new Records(List.of(this), header.baseOffset(), header.baseOffset(), Long.MAX_VALUE, new Scratch());
    }

    /**
     * A human-readable description.
     *
     * @return its size and codec
     */
    @Override
    public String toString() {
        return "Kafka's batch of " + header.records() + " records, " + header.batchBytes() + " bytes, codec "
                + header.codec();
    }

    /** The records: a slice of the received bytes, or decompressed into {@code scratch} if that is long enough. */
    ByteBuffer unpack(ByteBuffer scratch) {
        ByteBuffer section =
                buffer.slice(position + RecordBatchHeader.BYTES, header.batchBytes() - RecordBatchHeader.BYTES);
        return header.codec() == RecordCodec.NONE
                ? section
                : RecordUnpacker.unpack(header.codec(), section, rawBytesMax, scratch);
    }
}
