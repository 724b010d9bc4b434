package io.rawline.measurement;

/**
 * Results of decoding a group of messages.
 *
 * @param messages number of messages
 * @param rows of these, decoded
 * @param dropped of these, dropped because the series table had no room for their series
 * @param faulty of these, refused because they are invalid
 */
public record Counts(long messages, long rows, long dropped, long faulty) {}
