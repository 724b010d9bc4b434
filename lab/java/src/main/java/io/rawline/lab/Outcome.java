/* One figure, as a line from the process that measured it to the one that records it. */
package io.rawline.lab;

import java.util.Arrays;
import java.util.Locale;

/**
 * @param ns nanoseconds per operation; with several threads, the wall time divided by all operations
 * @param low the lower end of its interval
 * @param high the upper end
 * @param allocated bytes allocated per operation; NaN if unknown
 */
record Outcome(String operation, String size, double ns, double low, double high, double allocated) {
    private static final String MARK = "outcome ";

    String toLine() {
        return MARK + String.format(Locale.ROOT, "%s %s %f %f %f %f", operation, size, ns, low, high, allocated);
    }

    /** Null for any other line. */
    static Outcome ofLine(String line) {
        if (!line.startsWith(MARK)) {
            return null;
        }
        String[] words = line.substring(MARK.length()).split(" ");
        double[] numbers = Arrays.stream(words).skip(2).mapToDouble(Double::parseDouble).toArray();
        return new Outcome(words[0], words[1], numbers[0], numbers[1], numbers[2], numbers[3]);
    }
}
