package io.rawline.batch;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/**
 * Builds batches of records. Not thread-safe.
 *
 * <pre>{@code
 * BatchBuilder builder = new BatchBuilder(Codec.ZSTD, Limits.DEFAULT);
 * builder.add(ByteBuffer.wrap(record));
 * ByteBuffer batch = builder.finish(createdUs, 0, 0);
 * }</pre>
 */
public final class BatchBuilder {
    private static final int SIZES_BYTES_MIN = 1 << 10;
    private static final int DATA_BYTES_MIN = 16 << 10;

    private final Limits limits;
    private final Compression compression;
    private final Buffers sizesBuffers;
    private final Buffers dataBuffers;
    /** Room for the header, then the sizes; the records. Null while the batch is empty. */
    private ByteBuffer front;

    private ByteBuffer data;

    /**
     * An empty batch.
     *
     * @param codec how the data is compressed when the batch is finished; data that would not get shorter is stored
     *     uncompressed
     * @param limits how large it may become
     */
    public BatchBuilder(Codec codec, Limits limits) {
        this(codec, limits, new Buffers(Integer.MAX_VALUE), new Buffers(Integer.MAX_VALUE));
    }

    /**
     * An empty batch whose memory comes from pools that the caller shares.
     *
     * @param codec how the data is compressed when the batch is finished; data that would not get shorter is stored
     *     uncompressed
     * @param limits how large it may become
     * @param sizesBuffers for header and sizes
     * @param dataBuffers for the records
     */
    public BatchBuilder(Codec codec, Limits limits, Buffers sizesBuffers, Buffers dataBuffers) {
        this.limits = limits;
        this.compression = new Compression(codec);
        this.sizesBuffers = sizesBuffers;
        this.dataBuffers = dataBuffers;
    }

    /**
     * Number of records so far.
     *
     * @return 0 after each batch
     */
    public int count() {
        return front == null ? 0 : (front.position() - BatchHeader.BYTES) / 4;
    }

    /**
     * Length of the batch if it were finished now, without compression.
     *
     * @return bytes
     */
    public long bytes() {
        return BatchHeader.batchBytes(count(), dataBytes());
    }

    /**
     * Length of the records so far.
     *
     * @return bytes
     */
    public int dataBytes() {
        return data == null ? 0 : data.position();
    }

    /**
     * Adds a record, unless the batch would then be over its limits.
     *
     * @param record its bytes, from position to limit, which are copied; the position is not changed
     * @return false if it doesn't fit: finish the batch and add it to the next; if it doesn't fit into an empty batch,
     *     no batch can hold the record
     */
    public boolean add(ByteBuffer record) {
        int recordBytes = record.remaining();
        long rawBytes = (long) dataBytes() + recordBytes;
        long batchBytesMax = Math.min(limits.batchBytesMax(), Integer.MAX_VALUE);
        if (rawBytes > limits.rawBytesMax()
                || count() >= limits.recordsMax()
                || BatchHeader.batchBytes(count() + 1L, rawBytes) > batchBytesMax) {
            return false;
        }
        makeRoom(recordBytes, (int) rawBytes);
        front.putInt(recordBytes);
        data.put(data.position(), record, record.position(), recordBytes);
        data.position((int) rawBytes);
        return true;
    }

    private void makeRoom(int recordBytes, int rawBytes) {
        if (front == null) {
            ByteBuffer taken = sizesBuffers.take(SIZES_BYTES_MIN).position(BatchHeader.BYTES);
            // An allocation may fail: get both or none.
            data = dataBuffers.take(Math.max(DATA_BYTES_MIN, recordBytes));
            front = taken;
        }
        if (front.remaining() < 4) {
            front = sizesBuffers.grow(front, front.capacity() + 4);
        }
        if (data.remaining() < recordBytes) {
            data = dataBuffers.grow(data, rawBytes);
        }
    }

    /**
     * Finishes the batch and starts the next.
     *
     * @param createdUs when it was made: microseconds since the Unix epoch
     * @param producerId the producer's id; 0 for none
     * @param sequence the producer's number for the first record
     * @return the batch, in new memory
     * @throws BatchException {@code batch_empty}: there are no records
     */
    public ByteBuffer finish(long createdUs, long producerId, long sequence) {
        SealedBatch sealed = seal(createdUs, producerId, sequence);
        ByteBuffer whole = ByteBuffer.allocate(sealed.bytes());
        for (ByteBuffer piece : sealed.pieces()) {
            whole.put(piece);
        }
        sizesBuffers.give(sealed.front());
        dataBuffers.give(sealed.data());
        return whole.flip();
    }

    /**
     * As {@link #finish}, in pieces. The caller may give their memory back to the buffers.
     *
     * @param createdUs when it was made: microseconds since the Unix epoch
     * @param producerId the producer's id; 0 for none
     * @param sequence the producer's number for the first record
     * @return the batch in pieces
     * @throws BatchException {@code batch_empty}: there are no records
     */
    public SealedBatch seal(long createdUs, long producerId, long sequence) {
        int records = count();
        if (records == 0) {
            throw BatchException.empty();
        }
        // The builder is not changed until nothing can fail any more.
        ByteBuffer raw = data.duplicate().order(ByteOrder.LITTLE_ENDIAN).flip();
        ByteBuffer packed = compression.pack(raw, dataBuffers, false);
        BatchHeader header = new BatchHeader(
                packed == raw ? Codec.NONE : compression.codec(),
                false,
                records,
                packed.limit(),
                raw.limit(),
                createdUs,
                producerId,
                sequence,
                0);
        SealedBatch sealed = SealedBatch.seal(
                header, front.duplicate().order(ByteOrder.LITTLE_ENDIAN).flip(), packed);
        if (packed != raw) {
            dataBuffers.give(raw);
        }
        front = null;
        data = null;
        return sealed;
    }
}
