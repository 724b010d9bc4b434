package io.rawline.topic;

/**
 * The extent of a partition.
 *
 * @param firstOffset offset of the oldest record that is still stored
 * @param nextOffset offset that the next record will get
 */
public record Extent(long firstOffset, long nextOffset) {
    /**
     * Number of records that are stored.
     *
     * @return 0 or more
     */
    public long records() {
        return nextOffset - firstOffset;
    }
}
