package io.rawline.group;

/**
 * A group in a list of groups.
 *
 * @param name its name
 * @param state how far the division of its partitions is
 * @param members number of members
 */
public record GroupSummary(String name, GroupState state, long members) {}
