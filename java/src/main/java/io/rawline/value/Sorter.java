package io.rawline.value;

/**
 * Sorts the nodes of a set's children, or of a table's pairs.
 *
 * <p>Writers usually keep the same order from one table to the next, ascending or not. So the permutation that sorted
 * the last small container of each size is tried first, and usually costs one comparison per entry.
 */
final class Sorter {
    /** Maximum number of entries whose permutation is kept. */
    private static final int KEPT_MAX = 64;

    private final int[][] kept = new int[KEPT_MAX + 1][];
    private long[] copy = new long[2 * KEPT_MAX];
    private int[] order = new int[KEPT_MAX];
    private int[] merged = new int[KEPT_MAX];

    /**
     * Sorts {@code children} nodes from {@code first} on, a table's in pairs; returns false if there is a duplicate.
     */
    boolean ascend(byte[] bytes, long[] nodes, int first, int children, int width) {
        int count = children / width;
        if (copy.length < children) {
            copy = new long[children];
        }
        System.arraycopy(nodes, first, copy, 0, children);
        if (count <= KEPT_MAX && kept[count] != null) {
            permute(nodes, first, count, width, kept[count]);
            if (isAscending(bytes, nodes, first, children, width)) {
                return true;
            }
        }
        sort(bytes, nodes, count, width);
        permute(nodes, first, count, width, order);
        if (count <= KEPT_MAX) {
            kept[count] = java.util.Arrays.copyOf(order, count);
        }
        for (int index = first + width; index < first + children; index += width) {
            if (Order.compare(bytes, nodes, nodes[index - width], bytes, nodes, nodes[index], true) == 0) {
                return false;
            }
        }
        return true;
    }

    /** Whether the entries of {@code width} nodes each are in order, without duplicates. */
    static boolean isAscending(byte[] bytes, long[] nodes, int first, int children, int width) {
        for (int index = first + width; index < first + children; index += width) {
            if (!Order.ascend(bytes, nodes, nodes[index - width], nodes[index])) {
                return false;
            }
        }
        return true;
    }

    private void permute(long[] nodes, int first, int count, int width, int[] permutation) {
        int place = first;
        for (int index = 0; index < count; index++) {
            int from = permutation[index] * width;
            nodes[place++] = copy[from];
            if (width == 2) {
                nodes[place++] = copy[from + 1];
            }
        }
    }

    /** Sorts the indices of the copied entries in {@code order}: merges runs that double in length. */
    private void sort(byte[] bytes, long[] nodes, int count, int width) {
        if (order.length < count) {
            order = new int[count];
            merged = new int[count];
        }
        for (int index = 0; index < count; index++) {
            order[index] = index;
        }
        for (int run = 1; run < count; run *= 2) {
            for (int begin = 0; begin < count; begin += 2 * run) {
                merge(bytes, nodes, begin, Math.min(begin + run, count), Math.min(begin + 2 * run, count), width);
            }
            int[] sorted = merged;
            merged = order;
            order = sorted;
        }
    }

    private void merge(byte[] bytes, long[] nodes, int begin, int middle, int end, int width) {
        int left = begin;
        int right = middle;
        for (int place = begin; place < end; place++) {
            boolean takesLeft = right == end
                    || left < middle
                            && Order.compare(
                                            bytes,
                                            nodes,
                                            copy[order[left] * width],
                                            bytes,
                                            nodes,
                                            copy[order[right] * width],
                                            false)
                                    <= 0;
            merged[place] = order[takesLeft ? left++ : right++];
        }
    }
}
