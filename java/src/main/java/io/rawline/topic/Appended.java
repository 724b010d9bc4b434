package io.rawline.topic;

/**
 * The offsets of appended records.
 *
 * @param firstOffset offset of the first record appended
 * @param nextOffset offset after the last record appended
 */
public record Appended(long firstOffset, long nextOffset) {}
