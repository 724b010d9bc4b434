package io.rawline.value;

import java.nio.charset.StandardCharsets;

/** Bytes as text, and whether they are text at all. */
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
     * The text; each longest beginning of a character that does not go on becomes one U+FFFD, as does each byte that
     * begins none. Every language of the project does the same, so that what is written beside such a text agrees with
     * it.
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

    /** Bytes of the character at a place; of what is none, the bytes that are passed over, negative. */
    private static int step(byte[] bytes, int at, int end) {
        int first = bytes[at] & 0xff;
        if (first < 0x80) {
            return 1;
        }
        int length = first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf5 ? 4 : 0;
        if (length == 0) {
            return -1;
        }
        // The second byte's range keeps out what is too long, surrogates, and what is beyond U+10FFFF.
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
