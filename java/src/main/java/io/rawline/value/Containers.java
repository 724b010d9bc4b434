package io.rawline.value;

import java.util.Arrays;

/** The open containers of a JSON text being written, the innermost last. */
final class Containers {
    private Kind[] kinds = new Kind[8];
    /** Whether a table is written as an object. */
    private boolean[] marks = new boolean[8];
    /** Number of values left to write, a pair counts as two; and the total. */
    private int[] left = new int[8];

    private int[] all = new int[8];
    private int depth;

    void push(Kind kind, int values) {
        if (depth == kinds.length) {
            kinds = Arrays.copyOf(kinds, depth * 2);
            marks = Arrays.copyOf(marks, depth * 2);
            left = Arrays.copyOf(left, depth * 2);
            all = Arrays.copyOf(all, depth * 2);
        }
        kinds[depth] = kind;
        marks[depth] = false;
        left[depth] = values;
        all[depth] = values;
        depth++;
    }

    /** Ends the innermost container, if any is open; returns whether none is left, so the whole value is complete. */
    boolean pop() {
        if (depth > 0) {
            depth--;
        }
        return depth == 0;
    }

    boolean isEmpty() {
        return depth == 0;
    }

    Kind kind() {
        return kinds[depth - 1];
    }

    boolean mark() {
        return marks[depth - 1];
    }

    void setMark() {
        marks[depth - 1] = true;
    }

    int left() {
        return left[depth - 1];
    }

    boolean isStarted() {
        return left[depth - 1] < all[depth - 1];
    }

    void takeOne() {
        left[depth - 1]--;
    }
}
