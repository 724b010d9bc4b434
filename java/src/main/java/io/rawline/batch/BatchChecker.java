package io.rawline.batch;

import java.nio.ByteBuffer;

/** The checks of {@link Batch#parse} for a stream of batches. */
public final class BatchChecker extends StreamChecker<BatchHeader, Batch> {
    private final Limits limits;

    /**
     * A checker of a stream of which nothing has arrived.
     *
     * @param limits maximum sizes
     */
    public BatchChecker(Limits limits) {
        super(BatchHeader.BYTES);
        this.limits = limits;
    }

    @Override
    BatchHeader parse(ByteBuffer buffer, int position) {
        return BatchHeader.parse(buffer, position, limits);
    }

    @Override
    long batchBytes(BatchHeader header) {
        return header.batchBytes();
    }

    @Override
    void limitToChecked(ByteBuffer buffer, int position) {
        buffer.limit(position + BatchHeader.CRC_POSITION).position(position);
    }

    @Override
    void checkContents(BatchHeader header, ByteBuffer buffer, int position, int crc32c) {
        Batch.checkContents(header, buffer, position, crc32c);
    }

    @Override
    Batch view(BatchHeader header, ByteBuffer buffer, int position) {
        return new Batch(header, buffer, position);
    }
}
