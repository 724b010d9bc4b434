package io.rawline;

/**
 * Where appended records lie.
 *
 * @param firstOffset offset of the first record appended
 * @param nextOffset offset of the record that will follow the last one appended
 */
public record Appended(long firstOffset, long nextOffset) {}
