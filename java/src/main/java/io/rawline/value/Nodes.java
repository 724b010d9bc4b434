package io.rawline.value;

/**
 * The index of a value: a word with the position of each value in it.
 *
 * <p>The children of a container are adjacent, so the n-th is found in O(1); before them is a word with the container's
 * end and number of children. The children of a set, and the pairs of a table, are in ascending order, whatever the
 * order of the bytes.
 *
 * <pre>
 * word of a value:      u4 tag, u30 position of its tag in the array, u30 link
 *                       link: a string's first byte, a container's word of its end; else unused
 * word of an end:       u32 children (a table's pair is two), u32 position after the container
 * </pre>
 */
final class Nodes {
    /** Maximum position in an array. */
    static final int POSITION_MAX = (1 << 30) - 1;

    private static final int POSITION_SHIFT = 30;
    private static final int TAG_SHIFT = 60;

    static final long[] EMPTY = {};

    private Nodes() {}

    static long pack(int tag, int position, int link) {
        return (long) tag << TAG_SHIFT | (long) position << POSITION_SHIFT | link;
    }

    static int tag(long node) {
        return (int) (node >>> TAG_SHIFT);
    }

    static int position(long node) {
        return (int) (node >>> POSITION_SHIFT) & POSITION_MAX;
    }

    static int link(long node) {
        return (int) node & POSITION_MAX;
    }

    static long packEnd(int end, int children) {
        return (long) children << 32 | end;
    }

    static int children(long endNode) {
        return (int) (endNode >>> 32);
    }

    static int end(long endNode) {
        return (int) endNode;
    }
}
