package io.rawline.batch;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/**
 * LZ4's frames, without dictionaries.
 *
 * <pre>
 * magic │ flags │ block size │ content size u64 if flagged │ checksum of the three, 1 byte
 * blocks: length u32, bit 31 set if it isn't compressed │ block │ checksum if flagged
 * 0 u32 │ checksum of the content if flagged
 * </pre>
 *
 * All numbers are little-endian, the checksums xxHash32. The format is
 * {@code https://github.com/lz4/lz4/blob/dev/doc/lz4_Frame_format.md}.
 */
final class Lz4Frame {
    private static final int MAGIC = 0x184d_2204;
    private static final int VERSION_MASK = 0b1100_0010;
    private static final int VERSION = 0b0100_0000;
    private static final int INDEPENDENT = 1 << 5;
    private static final int BLOCK_CHECKSUMS = 1 << 4;
    private static final int CONTENT_SIZE = 1 << 3;
    private static final int CONTENT_CHECKSUM = 1 << 2;
    private static final int DICTIONARY = 1;
    private static final int STORED = 1 << 31;
    /** Size 4 is the smallest, each further one four times as large. */
    private static final int SIZE_MIN = 4;

    private static final int BLOCK_BYTES_MIN = 64 << 10;
    /** Maximum number of bytes that a byte of a block unpacks to. */
    private static final long RATIO_MAX = 255;

    private Lz4Frame() {}

    /** Decompresses frames that follow each other. */
    static void unpack(byte[] section, RecordOutput out) {
        ByteBuffer bytes = ByteBuffer.wrap(section).order(ByteOrder.LITTLE_ENDIAN);
        while (bytes.hasRemaining()) {
            unpackFrame(bytes, out);
        }
    }

    private static void unpackFrame(ByteBuffer bytes, RecordOutput out) {
        if (take(bytes, 4).getInt() != MAGIC) {
            throw BatchException.decompress("it is not an LZ4 frame", null);
        }
        int descriptor = bytes.position();
        ByteBuffer head = take(bytes, 2);
        int flags = head.get();
        int size = head.get() - (SIZE_MIN << 4) >> 4;
        if ((flags & VERSION_MASK) != VERSION || (flags & DICTIONARY) != 0 || size < 0 || size > 3) {
            throw BatchException.decompress("an LZ4 frame of another version, or with a dictionary", null);
        }
        int blockBytesMax = BLOCK_BYTES_MIN << 2 * size;
        long contentBytes = (flags & CONTENT_SIZE) == 0 ? -1 : take(bytes, 8).getLong();
        int checksum = XxHash32.of(bytes.array(), descriptor, bytes.position()) >> 8 & 0xff;
        if (checksum != (take(bytes, 1).get() & 0xff)) {
            throw wrongChecksum();
        }
        int start = out.length();
        for (int word = take(bytes, 4).getInt();
                word != 0;
                word = take(bytes, 4).getInt()) {
            int length = word & ~STORED;
            if (length > blockBytesMax) {
                throw BatchException.decompress("an LZ4 block is longer than its frame allows", null);
            }
            int from = bytes.position();
            take(bytes, length);
            verify(flags & BLOCK_CHECKSUMS, bytes, bytes.array(), from, from + length);
            if ((word & STORED) == 0) {
                unpackBlock(bytes.array(), from, from + length, blockBytesMax, flags, start, out);
            } else {
                if (out.room(length) < length) {
                    throw out.tooLong();
                }
                System.arraycopy(bytes.array(), from, out.bytes(), out.length(), length);
                out.add(length);
            }
        }
        verify(flags & CONTENT_CHECKSUM, bytes, out.bytes(), start, out.length());
        if (contentBytes >= 0 && contentBytes != out.length() - start) {
            throw BatchException.decompress("an LZ4 frame has another length than it says", null);
        }
    }

    private static void unpackBlock(
            byte[] in, int from, int to, int blockBytesMax, int flags, int frameStart, RecordOutput out) {
        long bytesMax = Math.min(blockBytesMax, RATIO_MAX * (to - from));
        int room = out.room(bytesMax);
        int start = out.length();
        int window = (flags & INDEPENDENT) == 0 ? frameStart : start;
        int end = Lz4Block.decompress(in, from, to, out.bytes(), start, start + room, window);
        if (end == Lz4Block.NO_ROOM) {
            throw room < bytesMax
                    ? out.tooLong()
                    : BatchException.decompress("an LZ4 block is longer than its frame allows", null);
        }
        out.add(end - start);
    }

    /** Checks the checksum that comes next if {@code flag} is set. */
    private static void verify(int flag, ByteBuffer bytes, byte[] checked, int from, int to) {
        if (flag != 0 && take(bytes, 4).getInt() != XxHash32.of(checked, from, to)) {
            throw wrongChecksum();
        }
    }

    private static BatchException wrongChecksum() {
        return BatchException.decompress("a checksum of an LZ4 frame doesn't match its bytes", null);
    }

    /** The next bytes. */
    private static ByteBuffer take(ByteBuffer bytes, int count) {
        if (count > bytes.remaining()) {
            throw BatchException.decompress("an LZ4 frame is truncated", null);
        }
        ByteBuffer taken = bytes.slice(bytes.position(), count).order(ByteOrder.LITTLE_ENDIAN);
        bytes.position(bytes.position() + count);
        return taken;
    }

    /** Maximum length of a frame of so many bytes. */
    static int packedBytesMax(Compression lz4, int rawBytes) {
        int blocks = rawBytes / BLOCK_BYTES_MIN + 1;
        return 7 + blocks * (4 + lz4.packedBytesMax(BLOCK_BYTES_MIN)) + 4;
    }

    /**
     * Writes a frame of {@code raw} into {@code out}, a little-endian buffer with room for {@link #packedBytesMax}: of
     * independent blocks, the only ones that Kafka's Java client reads.
     */
    static void pack(Compression lz4, ByteBuffer raw, ByteBuffer out) {
        byte[] descriptor = {(byte) (VERSION | INDEPENDENT), SIZE_MIN << 4};
        out.putInt(MAGIC).put(descriptor).put((byte) (XxHash32.of(descriptor, 0, descriptor.length) >> 8));
        for (int from = 0; from < raw.limit(); from += BLOCK_BYTES_MIN) {
            ByteBuffer block = raw.slice(from, Math.min(BLOCK_BYTES_MIN, raw.limit() - from));
            int lengthAt = out.position();
            out.position(lengthAt + 4);
            lz4.pack(block, out);
            int packedBytes = out.position() - lengthAt - 4;
            if (packedBytes < block.limit()) {
                out.putInt(lengthAt, packedBytes);
            } else {
                out.putInt(lengthAt, block.limit() | STORED)
                        .position(lengthAt + 4)
                        .put(block);
            }
        }
        out.putInt(0);
    }
}
