package io.rawline.measurement;

/**
 * What became of a call's messages.
 *
 * @param messages messages given
 * @param rows of these, handed on
 * @param dropped of these, dropped because the series table had no room for their series
 * @param faulty of these, refused because their bytes are wrong
 */
public record Counts(long messages, long rows, long dropped, long faulty) {}
