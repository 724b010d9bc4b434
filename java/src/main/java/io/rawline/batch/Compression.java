package io.rawline.batch;

import io.airlift.compress.Compressor;
import io.airlift.compress.Decompressor;
import io.airlift.compress.lz4.Lz4Compressor;
import io.airlift.compress.lz4.Lz4Decompressor;
import io.airlift.compress.zstd.ZstdCompressor;
import io.airlift.compress.zstd.ZstdDecompressor;
import io.rawline.error.ConfigException;
import java.nio.ByteBuffer;

/** Compresses and decompresses the data of batches. */
final class Compression {
    /** The library's maximum window of a frame that doesn't state its content's length. */
    static final long ZSTD_WINDOW_BYTES_MAX = 8 << 20;

    private final Codec codec;
    private final Packer packer;

    /** Compresses with one codec, whose state is reused. */
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

    /** Maximum compressed length of {@code rawBytes} bytes. */
    int packedBytesMax(int rawBytes) {
        return packer.compressor.maxCompressedLength(rawBytes);
    }

    /**
     * Compresses {@code raw} into {@code out}, which has room for {@link #packedBytesMax}; {@code raw}'s position is
     * not changed.
     */
    void pack(ByteBuffer raw, ByteBuffer out) {
        packer.compressor.compress(raw.duplicate(), out);
    }

    /**
     * Compresses {@code raw}, from 0 to its limit, into a buffer of the pool. Returns {@code raw} itself if that
     * doesn't make it shorter.
     *
     * @param framed whether LZ4 is written in a frame
     */
    ByteBuffer pack(ByteBuffer raw, Buffers buffers, boolean framed) {
        if (codec == Codec.NONE) {
            return raw;
        }
        ByteBuffer packed;
        if (framed && codec == Codec.LZ4) {
            packed = buffers.take(Lz4Frame.packedBytesMax(this, raw.limit()));
            Lz4Frame.pack(this, raw, packed);
        } else {
            packed = buffers.take(packedBytesMax(raw.limit()));
            pack(raw, packed);
        }
        if (packed.position() < raw.limit()) {
            return packed.flip();
        }
        buffers.give(packed);
        return raw;
    }

    /**
     * Decompresses data to exactly {@code rawBytes} from position 0 on, in {@code scratch} if that is long enough, else
     * in new memory.
     *
     * <p>Never writes more than {@code rawBytes}, whatever the data claims.
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
            // The library throws several types for invalid data.
            String reason = String.valueOf(error.getMessage());
            if (windowBytes > ZSTD_WINDOW_BYTES_MAX) {
                reason += "; its window of " + windowBytes + " bytes is over the 8 MiB that Java supports: compress"
                        + " with a window log of up to 23, or in one piece";
            }
            throw BatchException.decompress(reason, error);
        }
        if (out.position() != rawBytes) {
            throw BatchException.decompress(out.position() + " bytes decompressed, the header says " + rawBytes, null);
        }
        return out.flip();
    }

    private static ByteBuffer allocate(long rawBytes) {
        if (rawBytes > Integer.MAX_VALUE - 8) {
            throw BatchException.limit("raw_bytes", rawBytes, Integer.MAX_VALUE - 8);
        }
        return ByteBuffer.allocate((int) rawBytes);
    }

    /** The same bytes in memory that the library can read: an array or direct memory. */
    private static ByteBuffer readable(ByteBuffer data) {
        if (data.isDirect() || data.hasArray()) {
            return data.duplicate();
        }
        return ByteBuffer.allocate(data.remaining()).put(data.duplicate()).flip();
    }

    static ConfigException noLibrary(Object codec, NoClassDefFoundError error) {
        return new ConfigException(
                "batches compressed with " + codec + " need the library io.airlift:aircompressor:"
                        + " add version 2.0.3 to the class path",
                error);
    }

    /** A separate class, so that programs without compressed batches don't need the library. */
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
