/* What one process measures of one row and case, as its command-line arguments. */
package io.rawline.lab;

import java.util.List;

/**
 * Each operation on each size.
 *
 * @param messages "varied" or "one"
 * @param warm milliseconds for each of them before any is measured, and once more before it is
 * @param measured milliseconds for each of them
 */
record Task(List<String> operations, List<String> sizes, String messages, int threads, int warm, int measured) {
    static Task of(List<String> words) {
        return new Task(List.of(words.get(0).split(",")), List.of(words.get(1).split(",")), words.get(2),
                Integer.parseInt(words.get(3)),
                Integer.parseInt(words.get(4)), Integer.parseInt(words.get(5)));
    }

    List<String> words() {
        return List.of(String.join(",", operations), String.join(",", sizes), messages, Integer.toString(threads),
                Integer.toString(warm),
                Integer.toString(measured));
    }

    /** Of these operations only. */
    Task only(List<String> measured) {
        return new Task(operations.stream().filter(measured::contains).toList(), sizes, messages, threads, warm,
                this.measured);
    }

    int count() {
        return operations.size() * sizes.size();
    }

    /** How long it takes, without the process's start. */
    int milliseconds() {
        return count() * (2 * warm + measured);
    }

    Task scaled(double scale) {
        return new Task(operations, sizes, messages, threads, (int) (warm * scale), (int) (measured * scale));
    }
}
