package io.rawline.measurement;

import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;

/**
 * Maps strings to dense ids from 0, and back. Thread-safe.
 *
 * <ul>
 *   <li>The same bytes have the same id in every thread; an id never changes and is never reused.
 *   <li>Finding a known string takes no lock, writes nothing and allocates nothing.
 *   <li>A new string takes one short lock and is checked to be UTF-8.
 *   <li>A string without room is refused without any effect; every known string is still found.
 *   <li>Probing is limited, the hash is seeded, and all bytes are compared: different strings never share an id.
 * </ul>
 */
public final class StringInterner {
    /** Maximum length of a string in bytes. */
    public static final int STRING_BYTES_MAX = 64 << 10;

    private final ByteTable table;
    /** Decoded strings; threads that race may decode one more than once. */
    private final String[] texts;

    /**
     * An empty interner.
     *
     * @param stringsMax maximum number of strings
     * @param bytesMax maximum memory for their bytes, each with a header of 8 and padded to 8; allocated as it is
     *     filled
     * @param seed the seed of the hash: a random number, except in repeatable tests
     * @throws IllegalArgumentException these are out of range
     */
    public StringInterner(int stringsMax, long bytesMax, long seed) {
        table = new ByteTable(stringsMax, bytesMax, seed);
        texts = new String[stringsMax];
    }

    /**
     * The id of a string, which is inserted if it is new.
     *
     * @param bytes an array that holds the string in UTF-8
     * @param offset where it starts
     * @param length its length in bytes
     * @return the id
     * @throws MeasurementException it is new and there is no room, or it is too long or not UTF-8
     */
    public int intern(byte[] bytes, int offset, int length) {
        java.util.Objects.checkFromIndexSize(offset, length, bytes.length);
        long hash = table.hash(bytes, offset, length);
        int id = table.find(hash, bytes, offset, length);
        return id >= 0 ? id : insert(hash, bytes, offset, length);
    }

    private int insert(long hash, byte[] bytes, int offset, int length) {
        if (length > STRING_BYTES_MAX) {
            throw new MeasurementException(
                    "the string is longer than " + STRING_BYTES_MAX + " bytes; shorten it in the producer");
        }
        try {
            StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(bytes, offset, length));
        } catch (CharacterCodingException error) {
            throw new MeasurementException("the string's bytes are not UTF-8; fix the producer");
        }
        int id = table.insertNext(hash, bytes, offset, length);
        if (id == ByteTable.FULL) {
            throw new MeasurementException(
                    "the table of strings is full; create one with higher limits for strings and bytes");
        }
        return id;
    }

    /**
     * The id of a string, which is inserted if it is new.
     *
     * @param text the string
     * @return the id
     * @throws MeasurementException it is new and there is no room, or it is too long
     */
    public int intern(String text) {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        return intern(bytes, 0, bytes.length);
    }

    /**
     * The id of a known string.
     *
     * @param bytes an array that holds the string in UTF-8
     * @param offset where it starts
     * @param length its length in bytes
     * @return the id; -1 if it has none
     */
    public int find(byte[] bytes, int offset, int length) {
        java.util.Objects.checkFromIndexSize(offset, length, bytes.length);
        return table.find(table.hash(bytes, offset, length), bytes, offset, length);
    }

    /**
     * As {@link #intern(byte[], int, int)}, of a valid short string; {@link ByteTable#FULL} without room.
     */
    int internChecked(byte[] bytes, int offset, int length) {
        long hash = table.hash(bytes, offset, length);
        int id = table.find(hash, bytes, offset, length);
        return id >= 0 ? id : table.insertNext(hash, bytes, offset, length);
    }

    /**
     * The string with this id.
     *
     * @param id the id
     * @return the string, usually the same object; null if there is no such id
     */
    public String get(int id) {
        if (id < 0 || id >= table.size()) {
            return null;
        }
        String text = texts[id];
        if (text == null) {
            text = new String(table.get(id), StandardCharsets.UTF_8);
            texts[id] = text;
        }
        return text;
    }

    /**
     * Number of strings; all smaller numbers are ids.
     *
     * @return 0 or more
     */
    public int size() {
        return table.size();
    }
}
