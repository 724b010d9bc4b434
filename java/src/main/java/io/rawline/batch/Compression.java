package io.rawline.batch;

import io.airlift.compress.Compressor;
import io.airlift.compress.Decompressor;
import io.airlift.compress.lz4.Lz4Compressor;
import io.airlift.compress.lz4.Lz4Decompressor;
import io.airlift.compress.zstd.ZstdCompressor;
import io.airlift.compress.zstd.ZstdDecompressor;
import io.rawline.error.ConfigException;
import java.nio.ByteBuffer;

/** Packs and unpacks the data of batches, in plain Java. */
final class Compression {
    /** What the library takes of a frame that does not say how long its content is. */
    private static final long ZSTD_WINDOW_BYTES_MAX = 8 << 20;

    private final Codec codec;
    private final Packer packer;

    /** Packs with one codec; its state is used again. */
    Compression(Codec codec) {
        this.codec = codec;
        try {
            this.packer = codec == Codec.NONE ? null : new Packer(codec);
        } catch (NoClassDefFoundError error) {
            throw noLibrary(codec, error);
        }
    }

    Codec codec() {
        return codec;
    }

    /** Most bytes that so many bytes pack to. */
    int packedBytesMax(int rawBytes) {
        return packer.compressor.maxCompressedLength(rawBytes);
    }

    /** Packs {@code raw} into {@code out}, which has room for {@link #packedBytesMax}; {@code raw} is not moved on. */
    void pack(ByteBuffer raw, ByteBuffer out) {
        packer.compressor.compress(raw.duplicate(), out);
    }

    /**
     * The records of compressed data: exactly {@code rawBytes} from position 0 on, in {@code scratch} if that is long
     * enough, else in new memory.
     *
     * <p>No more than {@code rawBytes} is written, whatever the data claims.
     */
    static ByteBuffer unpack(Codec codec, ByteBuffer data, long rawBytes, ByteBuffer scratch) {
        ByteBuffer out = scratch;
        if (out == null || out.capacity() < rawBytes) {
            out = allocate(rawBytes);
        }
        out.clear().limit((int) rawBytes);
        ByteBuffer packed = readable(data);
        long windowBytes = 0;
        try {
            if (codec == Codec.ZSTD) {
                windowBytes = ZstdFrame.check(packed);
            }
            Unpacker.unpack(codec, packed, out);
        } catch (BatchException error) {
            throw error;
        } catch (NoClassDefFoundError error) {
            throw noLibrary(codec, error);
        } catch (RuntimeException error) {
            // The library has no type of its own for all that it finds wrong.
            String reason = String.valueOf(error.getMessage());
            if (windowBytes > ZSTD_WINDOW_BYTES_MAX) {
                reason += "; its window of " + windowBytes + " bytes is more than the 8 MiB that Java reads: compress"
                        + " with a window log of at most 23, or in one piece";
            }
            throw BatchException.decompress(reason, error);
        }
        if (out.position() != rawBytes) {
            throw BatchException.decompress(out.position() + " bytes came out, the header says " + rawBytes, null);
        }
        return out.flip();
    }

    private static ByteBuffer allocate(long rawBytes) {
        if (rawBytes > Integer.MAX_VALUE - 8) {
            throw BatchException.limit("raw_bytes", rawBytes, Integer.MAX_VALUE - 8);
        }
        return ByteBuffer.allocate((int) rawBytes);
    }

    /** The same bytes where the library can get at them: it knows arrays and direct memory only. */
    private static ByteBuffer readable(ByteBuffer data) {
        if (data.isDirect() || data.hasArray()) {
            return data.duplicate();
        }
        return ByteBuffer.allocate(data.remaining()).put(data.duplicate()).flip();
    }

    private static ConfigException noLibrary(Codec codec, NoClassDefFoundError error) {
        return new ConfigException(
                "batches compressed with " + codec + " need the library io.airlift:aircompressor:"
                        + " add version 2.0.3 to the class path",
                error);
    }

    /** Apart from the rest, so that programs which do not compress need no library. */
    private static final class Packer {
        private final Compressor compressor;

        private Packer(Codec codec) {
            compressor = codec == Codec.LZ4 ? new Lz4Compressor() : new ZstdCompressor();
        }
    }

    /** As {@link Packer}. */
    private static final class Unpacker {
        private static void unpack(Codec codec, ByteBuffer data, ByteBuffer out) {
            Decompressor decompressor = codec == Codec.LZ4 ? new Lz4Decompressor() : new ZstdDecompressor();
            decompressor.decompress(data, out);
        }
    }
}
