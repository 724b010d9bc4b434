package io.rawline.batch;

/** How the data of a batch is compressed. The sizes never are. */
public enum Codec {
    /** Uncompressed. */
    NONE,
    /** One LZ4 block, without a frame or a length. */
    LZ4,
    /** One Zstandard frame (RFC 8878). */
    ZSTD;

    /**
     * The codec's number in a batch's header.
     *
     * @return 0, 1 or 2
     */
    public int number() {
        return ordinal();
    }

    /**
     * The codec's name.
     *
     * @return {@code none}, {@code lz4} or {@code zstd}
     */
    @Override
    public String toString() {
        return switch (this) {
            case NONE -> "none";
            case LZ4 -> "lz4";
            case ZSTD -> "zstd";
        };
    }
}
