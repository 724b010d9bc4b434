package io.rawline.batch;

import io.airlift.compress.snappy.SnappyDecompressor;
import io.airlift.compress.zstd.ZstdDecompressor;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Locale;
import java.util.zip.GZIPInputStream;

/** Decompresses the records of Kafka's batches, which don't say how long they get. */
final class RecordUnpacker {
    private static final byte[] XERIAL_MAGIC = "\u0082SNAPPY\0".getBytes(StandardCharsets.ISO_8859_1);
    /** The magic and two versions. */
    private static final int XERIAL_HEAD_BYTES = 16;
    /** A copy of 64 bytes takes 3, other elements of a block more for each byte. */
    private static final long SNAPPY_RATIO_MAX = 64 / 3 + 1;

    /** gzip is unpacked in steps of this many bytes at first, then of as many as there are. */
    private static final int STEP_BYTES = 16 << 10;

    /** Where a zstd frame has the byte that says how long its window is, and the one for the library's maximum. */
    private static final int ZSTD_WINDOW_AT = 5;

    private static final byte ZSTD_WINDOW_MAX = 13 << 3;

    private RecordUnpacker() {}

    /**
     * Decompresses records into {@code scratch}, or into new memory if that is null or too short. Allocates no more
     * than {@code bytesMax} allows, whatever the bytes claim.
     */
    static ByteBuffer unpack(RecordCodec codec, ByteBuffer section, long bytesMax, ByteBuffer scratch) {
        byte[] packed = new byte[section.remaining()];
        section.get(section.position(), packed);
        RecordOutput out = new RecordOutput(scratch, bytesMax);
        try {
            switch (codec) {
                case GZIP -> gzip(packed, out);
                case SNAPPY -> snappy(packed, out);
                case LZ4 -> Lz4Frame.unpack(packed, out);
                case ZSTD -> zstd(packed, out);
                default -> throw new IllegalStateException("records to unpack with " + codec);
            }
        } catch (BatchException | IllegalStateException error) {
            throw error;
        } catch (NoClassDefFoundError error) {
            throw Compression.noLibrary(codec.name().toLowerCase(Locale.ROOT), error);
        } catch (IOException | RuntimeException error) {
            // The library throws several types for invalid data.
            throw BatchException.decompress(String.valueOf(error.getMessage()), error);
        }
        return out.finish();
    }

    private static void gzip(byte[] packed, RecordOutput out) throws IOException {
        GZIPInputStream members = new GZIPInputStream(new ByteArrayInputStream(packed));
        while (true) {
            int room = out.room(Math.max(STEP_BYTES, out.length()));
            if (room == 0) {
                if (members.read() >= 0) {
                    throw out.tooLong();
                }
                return;
            }
            int read = members.read(out.bytes(), out.length(), room);
            if (read < 0) {
                return;
            }
            out.add(read);
        }
    }

    private static void snappy(byte[] packed, RecordOutput out) {
        boolean framed = packed.length >= XERIAL_HEAD_BYTES
                && Arrays.equals(packed, 0, XERIAL_MAGIC.length, XERIAL_MAGIC, 0, XERIAL_MAGIC.length);
        if (!framed) {
            snappyBlock(packed, 0, packed.length, out);
            return;
        }
        ByteBuffer bytes = ByteBuffer.wrap(packed).position(XERIAL_HEAD_BYTES);
        while (bytes.hasRemaining()) {
            int length = bytes.remaining() < 4 ? -1 : bytes.getInt();
            if (length < 0 || length > bytes.remaining()) {
                throw BatchException.decompress("a snappy block is truncated", null);
            }
            snappyBlock(packed, bytes.position(), length, out);
            bytes.position(bytes.position() + length);
        }
    }

    /** One block. It begins with its length when decompressed. */
    private static void snappyBlock(byte[] packed, int from, int length, RecordOutput out) {
        int announced = SnappyDecompressor.getUncompressedLength(packed, from);
        if (announced < 0 || announced > SNAPPY_RATIO_MAX * length) {
            throw BatchException.decompress(length + " bytes of snappy can't hold " + announced, null);
        }
        if (out.room(announced) < announced) {
            throw out.tooLong();
        }
        out.add(new SnappyDecompressor().decompress(packed, from, length, out.bytes(), out.length(), announced));
    }

    private static void zstd(byte[] packed, RecordOutput out) {
        ByteBuffer bytes = ByteBuffer.wrap(packed).order(ByteOrder.LITTLE_ENDIAN);
        while (bytes.hasRemaining()) {
            int from = bytes.position();
            if (ZstdFrame.skip(bytes)) {
                continue;
            }
            ZstdFrame frame = ZstdFrame.read(bytes);
            if (frame.windowBytes() > Compression.ZSTD_WINDOW_BYTES_MAX) {
                // In one piece, the output is the window: the library, which refuses long ones, needs none.
                packed[from + ZSTD_WINDOW_AT] = ZSTD_WINDOW_MAX;
            }
            int room = out.room(frame.contentBytesMax());
            try {
                out.add(new ZstdDecompressor()
                        .decompress(packed, from, bytes.position() - from, out.bytes(), out.length(), room));
            } catch (RuntimeException error) {
                throw room < frame.contentBytesMax() ? out.tooLong() : error;
            }
        }
    }
}
