package io.rawline.batch;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.List;
import java.util.zip.CRC32C;

/**
 * A checked view of the contiguous bytes of a batch; nothing is copied.
 *
 * <p>It is a view of the bytes it was parsed from, and invalid once their memory is reused, as that of a consumer's
 * results is. Not thread-safe.
 */
public final class Batch implements StoredBatch {
    private final BatchHeader header;
    /** The bytes that contain it, little-endian, and where it starts. */
    private final ByteBuffer buffer;

    private final int position;
    /** The start of each record in {@link #unpacked}; created by the first call. */
    private int[] starts;

    private ByteBuffer unpacked;

    /** A view of checked bytes. */
    Batch(BatchHeader header, ByteBuffer buffer, int position) {
        this.header = header;
        this.buffer = buffer;
        this.position = position;
    }

    /**
     * Checks that the bytes from position to limit are exactly one batch.
     *
     * @param bytes the batch, which is not copied; the position is not changed
     * @param limits maximum sizes
     * @return the view
     * @throws BatchException the first rule of {@code docs/format.md} that is broken
     */
    public static Batch parse(ByteBuffer bytes, Limits limits) {
        ByteBuffer rest = bytes.duplicate();
        Batch batch = parsePrefix(rest, limits);
        if (rest.hasRemaining()) {
            throw new BatchException(
                    "batch_trailing_bytes",
                    rest.remaining() + " bytes follow the end of the batch; send nothing after it");
        }
        return batch;
    }

    /**
     * Checks the batch at the position of {@code bytes} and moves the position after it.
     *
     * @param bytes batches back to back; not copied
     * @param limits maximum sizes
     * @return the view
     * @throws BatchException the first rule of {@code docs/format.md} that is broken; the position is not changed then
     */
    public static Batch parsePrefix(ByteBuffer bytes, Limits limits) {
        ByteBuffer buffer = bytes.duplicate().order(ByteOrder.LITTLE_ENDIAN);
        int position = buffer.position();
        int have = buffer.remaining();
        if (have < BatchHeader.BYTES) {
            throw BatchException.truncated(have, BatchHeader.BYTES);
        }
        BatchHeader header = BatchHeader.parse(buffer, position, limits);
        if (have < header.batchBytes()) {
            throw BatchException.truncated(have, header.batchBytes());
        }
        int end = position + (int) header.batchBytes();
        CRC32C crc = new CRC32C();
        crc.update(buffer.limit(position + BatchHeader.CRC_POSITION));
        crc.update(buffer.limit(end).position(position + BatchHeader.BYTES));
        checkContents(header, buffer, position, (int) crc.getValue());
        bytes.position(end);
        return new Batch(header, buffer, position);
    }

    /**
     * Checks the complete bytes after a header, in the order of {@code docs/format.md}. The checksum is first, so that
     * damage is never reported as an error of the producer.
     */
    static void checkContents(BatchHeader header, ByteBuffer buffer, int position, int crc32c) {
        if (crc32c != header.crc32c()) {
            throw BatchException.checksum("batch_crc", crc32c, header.crc32c());
        }
        long sum = 0;
        int sizesEnd = position + (int) header.dataPosition();
        for (int at = position + BatchHeader.BYTES; at < sizesEnd; at += 4) {
            sum += BatchHeader.u32(buffer, at);
        }
        if (sum > 0xffff_ffffL) {
            throw BatchException.sizesOverflow(sum);
        }
        if (sum != header.rawBytes()) {
            throw BatchException.sizesSum(sum, header.rawBytes());
        }
        int end = (int) header.batchBytes();
        for (int at = (int) (header.dataPosition() + header.dataBytes()); at < end; at++) {
            if (buffer.get(position + at) != 0) {
                throw BatchException.reserved(at);
            }
        }
    }

    /**
     * The header's fields.
     *
     * @return the header
     */
    public BatchHeader header() {
        return header;
    }

    @Override
    public int count() {
        return (int) header.records();
    }

    @Override
    public ByteBuffer bytes() {
        return buffer.slice(position, (int) header.batchBytes()).asReadOnlyBuffer();
    }

    /**
     * The data in the batch, compressed if it has a codec.
     *
     * @return a read-only slice
     */
    public ByteBuffer data() {
        return buffer.slice(dataPosition(), (int) header.dataBytes()).asReadOnlyBuffer();
    }

    /**
     * Length of a record, by its index; allocates nothing.
     *
     * @param index 0 to {@link #count()} - 1
     * @return bytes
     */
    public int recordBytes(int index) {
        checkIndex(index);
        return buffer.getInt(position + BatchHeader.BYTES + 4 * index);
    }

    /**
     * The start of a record in {@link #unpacked()}, by its index; the first call allocates a table.
     *
     * @param index 0 to {@link #count()} - 1
     * @return bytes
     */
    public int recordPosition(int index) {
        checkIndex(index);
        if (starts == null) {
            int[] found = new int[count()];
            for (int at = 1; at < found.length; at++) {
                found[at] = found[at - 1] + recordBytes(at - 1);
            }
            starts = found;
        }
        return starts[index];
    }

    /**
     * The records back to back: a slice of the received bytes, or the decompressed data.
     *
     * @return read-only, the same object with every call; read it by absolute positions
     * @throws BatchException {@code batch_decompress}
     */
    public ByteBuffer unpacked() {
        if (unpacked == null) {
            unpacked = header.codec() == Codec.NONE ? data() : unpack(null).asReadOnlyBuffer();
        }
        return unpacked;
    }

    /**
     * A record, by its index.
     *
     * @param index 0 to {@link #count()} - 1
     * @return a read-only slice of {@link #unpacked()}
     * @throws BatchException {@code batch_decompress}
     */
    public ByteBuffer record(int index) {
        return unpacked().slice(recordPosition(index), recordBytes(index));
    }

    /**
     * A cursor over all records; their offsets count from 0.
     *
     * @return before the first record
     */
    public Records records() {
        return new Records(List.of(this), 0, 0, Long.MAX_VALUE, new Scratch());
    }

    /**
     * A human-readable description.
     *
     * @return its size and codec
     */
    @Override
    public String toString() {
        return "batch of " + header.records() + " records, " + header.batchBytes() + " bytes, codec " + header.codec();
    }

    /** The bytes that contain the batch; not read-only, so not public. */
    ByteBuffer buffer() {
        return buffer;
    }

    /** The start of its sizes in {@link #buffer()}. */
    int sizesPosition() {
        return position + BatchHeader.BYTES;
    }

    /** Where its data starts in {@link #buffer()}. */
    int dataPosition() {
        return position + (int) header.dataPosition();
    }

    /** Decompresses the data into {@code scratch}, or into new memory if that is null or too short. */
    ByteBuffer unpack(ByteBuffer scratch) {
        ByteBuffer data = buffer.slice(dataPosition(), (int) header.dataBytes());
        return Compression.unpack(header.codec(), data, header.rawBytes(), scratch);
    }

    private void checkIndex(int index) {
        if (index < 0 || index >= header.records()) {
            throw new IndexOutOfBoundsException("record " + index + " of a batch of " + header.records());
        }
    }
}
