package io.rawline.group;

/** How far the division of a group's partitions among its members is. */
public enum GroupState {
    /** It has no members. */
    EMPTY,
    /** Members join, for the first time or again. */
    JOINING,
    /** The leader divides the partitions. */
    DIVIDING,
    /** Every member has its partitions. */
    STABLE
}
