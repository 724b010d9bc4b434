package io.rawline.batch;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/** Checks that bytes are exactly one Zstandard frame (RFC 8878, section 3.1.1). */
final class ZstdFrame {
    private static final int MAGIC = 0xfd2f_b528;
    private static final int[] DICTIONARY_ID_BYTES = {0, 1, 2, 4};
    private static final int[] CONTENT_SIZE_BYTES = {0, 2, 4, 8};
    private static final int BLOCK_RLE = 1;
    private static final int BLOCK_RESERVED = 3;

    private ZstdFrame() {}

    /**
     * Goes from block to block, since a second or a skippable frame would be data that no size accounts for. Returns
     * the window size in bytes; 0 if only the content's length limits it.
     */
    static long check(ByteBuffer data) {
        ByteBuffer bytes = data.slice().order(ByteOrder.LITTLE_ENDIAN);
        if (bytes.remaining() < 5 || bytes.getInt() != MAGIC) {
            throw BatchException.decompress("it is not a zstd frame", null);
        }
        int descriptor = bytes.get() & 0xff;
        boolean singleSegment = (descriptor & 0x20) != 0;
        long windowBytes = 0;
        boolean checksum = (descriptor & 0x04) != 0;
        int contentSizeBytes = CONTENT_SIZE_BYTES[descriptor >> 6];
        if (singleSegment) {
            contentSizeBytes = Math.max(contentSizeBytes, 1);
        } else {
            windowBytes = windowBytes(bytes);
        }
        int dictionaryIdBytes = DICTIONARY_ID_BYTES[descriptor & 3];
        for (int i = 0; i < dictionaryIdBytes; i++) {
            if (bytes.hasRemaining() && bytes.get() != 0) {
                throw BatchException.decompress("it needs a dictionary", null);
            }
        }
        skip(bytes, contentSizeBytes);
        boolean last = false;
        while (!last) {
            if (bytes.remaining() < 3) {
                throw truncated();
            }
            int block = bytes.get() & 0xff | (bytes.getShort() & 0xffff) << 8;
            int type = block >> 1 & 3;
            if (type == BLOCK_RESERVED) {
                throw BatchException.decompress("a block of the zstd frame has a reserved type", null);
            }
            last = (block & 1) != 0;
            skip(bytes, type == BLOCK_RLE ? 1 : block >> 3);
        }
        skip(bytes, checksum ? 4 : 0);
        if (bytes.hasRemaining()) {
            throw BatchException.decompress(bytes.remaining() + " bytes follow the zstd frame", null);
        }
        return windowBytes;
    }

    private static long windowBytes(ByteBuffer bytes) {
        if (!bytes.hasRemaining()) {
            throw truncated();
        }
        int descriptor = bytes.get() & 0xff;
        long base = 1L << 10 + (descriptor >> 3);
        return base + base / 8 * (descriptor & 7);
    }

    private static void skip(ByteBuffer bytes, int count) {
        if (bytes.remaining() < count) {
            throw truncated();
        }
        bytes.position(bytes.position() + count);
    }

    private static BatchException truncated() {
        return BatchException.decompress("the zstd frame is truncated", null);
    }
}
