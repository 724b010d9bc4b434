package io.rawline.value;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/** A string of any bytes, usually UTF-8, which is not checked. Immutable, ordered as unsigned bytes. */
public final class Text implements Value {
    private final byte[] bytes;

    private Text(byte[] bytes) {
        this.bytes = bytes;
    }

    /**
     * A string in UTF-8.
     *
     * @param text the string
     * @return the string
     */
    public static Text of(String text) {
        return new Text(text.getBytes(StandardCharsets.UTF_8));
    }

    /**
     * A string of these bytes.
     *
     * @param bytes the bytes, which are copied
     * @return the string
     */
    public static Text of(byte[] bytes) {
        return new Text(bytes.clone());
    }

    /** A string that owns these bytes. */
    static Text owning(byte[] bytes) {
        return new Text(bytes);
    }

    /**
     * The bytes.
     *
     * @return a copy of them
     */
    public byte[] toByteArray() {
        return bytes.clone();
    }

    /** The bytes, not copied; callers must not change them. */
    byte[] bytes() {
        return bytes;
    }

    @Override
    public Kind kind() {
        return Kind.STRING;
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof Text text && Arrays.equals(bytes, text.bytes);
    }

    @Override
    public int hashCode() {
        return Arrays.hashCode(bytes);
    }

    /** The string; invalid UTF-8 is replaced by U+FFFD. */
    @Override
    public String toString() {
        return new String(bytes, StandardCharsets.UTF_8);
    }
}
