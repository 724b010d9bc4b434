package io.rawline.topic;

/**
 * The extent of a partition after old records were deleted.
 *
 * @param firstOffset offset of the oldest record that is left
 * @param nextOffset offset that the next record will get
 */
public record Trimmed(long firstOffset, long nextOffset) {}
