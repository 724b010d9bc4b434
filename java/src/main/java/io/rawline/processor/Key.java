package io.rawline.processor;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/** The bytes of a field's name in a table, as arguments of generated calls. */
record Key(byte[] bytes) {
    /** Maximum size of a head that is passed as words. */
    private static final int WORDS_BYTES_MAX = 24;

    private static final int STRING = 5;

    static Key of(String name) {
        byte[] text = name.getBytes(StandardCharsets.UTF_8);
        byte[] bytes = new byte[1 + 5 + text.length];
        bytes[0] = STRING;
        int at = 1;
        int size = text.length;
        for (; size >= 0x80; size >>>= 7) {
            bytes[at++] = (byte) (size | 0x80);
        }
        bytes[at++] = (byte) size;
        System.arraycopy(text, 0, bytes, at, text.length);
        return new Key(Arrays.copyOf(bytes, at + text.length));
    }

    /** The key with a tag after it. */
    Key with(int tag) {
        byte[] longer = Arrays.copyOf(bytes, bytes.length + 1);
        longer[bytes.length] = (byte) tag;
        return new Key(longer);
    }

    boolean fitsWords() {
        return bytes.length <= WORDS_BYTES_MAX;
    }

    /** Three words and the size, to write it. */
    String written() {
        byte[] padded = Arrays.copyOf(bytes, WORDS_BYTES_MAX);
        return word(padded, 0, 8) + ", " + word(padded, 8, 8) + ", " + word(padded, 16, 8) + ", " + bytes.length;
    }

    /** The bytes that it is compared with. */
    String compared() {
        int size = bytes.length;
        if (size < 8) {
            return word(bytes, 0, size) + ", " + size;
        }
        return word(bytes, 0, 8) + ", " + word(bytes, size > 16 ? 8 : size - 8, 8) + ", " + word(bytes, size - 8, 8)
                + ", " + size;
    }

    private static String word(byte[] bytes, int at, int size) {
        long word = 0;
        for (int index = at; index < at + size; index++) {
            word = word << 8 | bytes[index] & 0xff;
        }
        return word == 0 ? "0L" : String.format("0x%xL", word);
    }
}
