package io.rawline.batch;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/**
 * A Zstandard frame (RFC 8878, section 3.1.1).
 *
 * @param windowBytes the window's size; 0 if only the content's length limits it
 * @param contentBytesMax maximum length of the content
 */
record ZstdFrame(long windowBytes, long contentBytesMax) {
    private static final int MAGIC = 0xfd2f_b528;
    /** Any of 16 numbers that differ in their lowest four bits. */
    private static final int SKIPPABLE_MAGIC = 0x184d_2a50;

    private static final int[] DICTIONARY_ID_BYTES = {0, 1, 2, 4};
    private static final int[] CONTENT_SIZE_BYTES = {0, 2, 4, 8};
    private static final int BLOCK_RAW = 0;
    private static final int BLOCK_RLE = 1;
    private static final int BLOCK_RESERVED = 3;
    /** Maximum length of a compressed block's content. */
    private static final int BLOCK_BYTES_MAX = 128 << 10;

    /**
     * Checks that bytes are exactly one frame, since a second or a skippable one would be data that no size accounts
     * for. Returns the window size in bytes; 0 if only the content's length limits it.
     */
    static long check(ByteBuffer data) {
        ByteBuffer bytes = data.slice().order(ByteOrder.LITTLE_ENDIAN);
        ZstdFrame frame = read(bytes);
        if (bytes.hasRemaining()) {
            throw BatchException.decompress(bytes.remaining() + " bytes follow the zstd frame", null);
        }
        return frame.windowBytes;
    }

    /** Moves the position of little-endian {@code bytes} after a skippable frame; false if there is another one. */
    static boolean skip(ByteBuffer bytes) {
        if (bytes.remaining() < 8 || (bytes.getInt(bytes.position()) & ~0xf) != SKIPPABLE_MAGIC) {
            return false;
        }
        bytes.getInt();
        int count = bytes.getInt();
        if (count < 0) {
            throw truncated();
        }
        skip(bytes, count);
        return true;
    }

    /** Reads a frame from block to block, and moves the position of little-endian {@code bytes} after it. */
    static ZstdFrame read(ByteBuffer bytes) {
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
        long contentBytesMax = 0;
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
            contentBytesMax += type == BLOCK_RAW || type == BLOCK_RLE ? block >> 3 : BLOCK_BYTES_MAX;
        }
        skip(bytes, checksum ? 4 : 0);
        return new ZstdFrame(windowBytes, contentBytesMax);
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
