package io.rawline.batch;

/** How the records of a Kafka batch are compressed. */
public enum RecordCodec {
    /** Uncompressed. */
    NONE,
    /** Members of gzip (RFC 1952). */
    GZIP,
    /** Snappy: a block alone, or blocks in the frame of Xerial's library. */
    SNAPPY,
    /** LZ4 frames. */
    LZ4,
    /** Zstandard frames (RFC 8878). */
    ZSTD;

    /** The one that a producer writes with this setting. */
    static RecordCodec of(Codec codec) {
        return switch (codec) {
            case NONE -> NONE;
            case LZ4 -> LZ4;
            case ZSTD -> ZSTD;
        };
    }

    /**
     * The codec's number in a batch's attributes.
     *
     * @return 0 to 4
     */
    public int number() {
        return ordinal();
    }
}
