package io.rawline.batch;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.zip.CRC32C;

/**
 * A finished batch in pieces, so that existing data is sent without a copy.
 *
 * @param front header and sizes
 * @param data the data as stored in the batch
 * @param paddingBytes number of zeros after it
 */
public record SealedBatch(ByteBuffer front, ByteBuffer data, int paddingBytes) {
    private static final ByteBuffer ZEROS = ByteBuffer.allocateDirect(8).asReadOnlyBuffer();

    /**
     * Writes the header into {@code front}, before the sizes, with its checksum; both buffers are read from 0 to their
     * limits.
     */
    static SealedBatch seal(BatchHeader header, ByteBuffer front, ByteBuffer data) {
        int paddingBytes = (int) (header.batchBytes() - header.dataPosition() - header.dataBytes());
        if (front.limit() != header.dataPosition() || data.limit() != header.dataBytes()) {
            throw new IllegalStateException(
                    "sizes up to " + front.limit() + " and " + data.limit() + " bytes of data for " + header);
        }
        header.write(front);
        CRC32C crc = new CRC32C();
        crc.update(front.duplicate().limit(BatchHeader.CRC_POSITION));
        crc.update(front.duplicate().position(BatchHeader.BYTES));
        crc.update(data.duplicate());
        crc.update(ZEROS.duplicate().limit(paddingBytes));
        front.putInt(BatchHeader.CRC_POSITION, (int) crc.getValue());
        return new SealedBatch(front, data, paddingBytes);
    }

    /**
     * An uncompressed batch of records that lie back to back.
     *
     * @param sizes the records' lengths in bytes
     * @param data the records, from position to limit; not copied
     * @param createdUs when the batch was made: microseconds since the Unix epoch
     * @param limits how large it may be
     * @return the batch
     * @throws BatchException the sizes don't add up to the data, or the batch is over its limits
     */
    public static SealedBatch of(int[] sizes, ByteBuffer data, long createdUs, Limits limits) {
        long sum = 0;
        for (int size : sizes) {
            sum += size & 0xffff_ffffL;
        }
        if (sum > 0xffff_ffffL) {
            throw BatchException.sizesOverflow(sum);
        }
        if (sum != data.remaining()) {
            throw BatchException.sizesSum(sum, data.remaining());
        }
        if (sizes.length == 0) {
            throw BatchException.empty();
        }
        BatchHeader header = new BatchHeader(Codec.NONE, false, sizes.length, sum, sum, createdUs, 0, 0, 0);
        header.checkLimits(limits);
        ByteBuffer front = ByteBuffer.allocate((int) header.dataPosition()).order(ByteOrder.LITTLE_ENDIAN);
        front.position(BatchHeader.BYTES);
        front.asIntBuffer().put(sizes);
        return seal(header, front.rewind(), data.slice());
    }

    /**
     * Length of the batch.
     *
     * @return bytes
     */
    public int bytes() {
        return front.limit() + data.limit() + paddingBytes;
    }

    /**
     * The batch in pieces.
     *
     * @return header and sizes, data, padding; new views with each call
     */
    public ByteBuffer[] pieces() {
        return new ByteBuffer[] {
            front.duplicate(), data.duplicate(), ZEROS.duplicate().limit(paddingBytes)
        };
    }
}
