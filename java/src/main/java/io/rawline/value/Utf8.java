package io.rawline.value;

import java.nio.charset.StandardCharsets;

/** Decodes and checks UTF-8. */
final class Utf8 {
    private Utf8() {}

    static boolean isValid(byte[] bytes, int at, int length) {
        int end = at + length;
        while (at < end) {
            int step = bytes[at] >= 0 ? 1 : step(bytes, at, end);
            if (step < 0) {
                return false;
            }
            at += step;
        }
        return true;
    }

    /**
     * Decodes bytes. Each maximal prefix of a truncated character becomes one U+FFFD, as does each byte that starts no
     * character. All languages of the project do the same, so that their texts are equal.
     */
    static String lossy(byte[] bytes, int at, int length) {
        if (isValid(bytes, at, length)) {
            return new String(bytes, at, length, StandardCharsets.UTF_8);
        }
        StringBuilder out = new StringBuilder(length);
        int end = at + length;
        int begin = at;
        while (at < end) {
            int step = step(bytes, at, end);
            if (step < 0) {
                out.append(new String(bytes, begin, at - begin, StandardCharsets.UTF_8))
                        .append('\ufffd');
                begin = at - step;
            }
            at += Math.abs(step);
        }
        return out.append(new String(bytes, begin, end - begin, StandardCharsets.UTF_8))
                .toString();
    }

    /** Length of the character at a position in bytes; if it is invalid, the number of bytes to skip, negative. */
    private static int step(byte[] bytes, int at, int end) {
        int first = bytes[at] & 0xff;
        if (first < 0x80) {
            return 1;
        }
        int length = first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf5 ? 4 : 0;
        if (length == 0) {
            return -1;
        }
        // The second byte's range excludes overlong encodings, surrogates, and characters above U+10FFFF.
        int low = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
        int high = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
        for (int index = 1; index < length; index++) {
            int next = at + index < end ? bytes[at + index] & 0xff : 0;
            if (next < low || next > high) {
                return -index;
            }
            low = 0x80;
            high = 0xbf;
        }
        return length;
    }
}
