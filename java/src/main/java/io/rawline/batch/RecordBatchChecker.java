package io.rawline.batch;

import java.nio.ByteBuffer;

/** Checks a stream of Kafka's batches, but not their records: {@link Records} does. */
public final class RecordBatchChecker extends StreamChecker<RecordBatchHeader, RecordBatch> {
    private final Limits limits;

    /**
     * A checker of a stream of which nothing has arrived.
     *
     * @param limits maximum sizes; the records are limited when they are decompressed
     */
    public RecordBatchChecker(Limits limits) {
        super(RecordBatchHeader.BYTES);
        this.limits = limits;
    }

    @Override
    RecordBatchHeader parse(ByteBuffer buffer, int position) {
        return RecordBatchHeader.parse(buffer, position, limits);
    }

    @Override
    long batchBytes(RecordBatchHeader header) {
        return header.batchBytes();
    }

    @Override
    void limitToChecked(ByteBuffer buffer, int position) {
        buffer.limit(position + RecordBatchHeader.BYTES).position(position + RecordBatchHeader.CHECKED_POSITION);
    }

    @Override
    void checkContents(RecordBatchHeader header, ByteBuffer buffer, int position, int crc32c) {
        if (crc32c != header.crc32c()) {
            throw BatchException.checksum("record_batch_damaged", crc32c, header.crc32c());
        }
    }

    @Override
    RecordBatch view(RecordBatchHeader header, ByteBuffer buffer, int position) {
        return new RecordBatch(header, buffer, position, limits.rawBytesMax());
    }
}
