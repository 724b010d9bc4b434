package io.rawline.measurement;

import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;

/**
 * Strings to dense ids from 0 and back, shared by all threads: every method may be called from any thread at any time.
 *
 * <ul>
 *   <li>The same bytes have the same id in every thread; an id never changes and is never used again.
 *   <li>Finding a known string takes no lock, writes nothing and allocates nothing.
 *   <li>A new string takes one short lock and is checked to be UTF-8.
 *   <li>A string that has no room is refused at once, nothing of it is kept, and every known string still resolves.
 *   <li>Probing is bounded, the hash is seeded, and bytes are compared in full: different strings never share an id.
 * </ul>
 */
public final class StringInterner {
    /** Longest string that is interned, in bytes. */
    public static final int STRING_BYTES_MAX = 64 << 10;

    private final ByteTable table;
    /** Strings that were asked for once; whoever comes second may make the same again. */
    private final String[] texts;

    /**
     * An empty interner.
     *
     * @param stringsMax strings it may hold
     * @param bytesMax memory for their bytes, each with a header of 8 and filled up to 8; had as it is filled
     * @param seed goes into the hash: a random one, but for tests that must be repeatable
     * @throws IllegalArgumentException if these cannot be had
     */
    public StringInterner(int stringsMax, long bytesMax, long seed) {
        table = new ByteTable(stringsMax, bytesMax, seed);
        texts = new String[stringsMax];
    }

    /**
     * The id of a string, which is inserted if it is new.
     *
     * @param bytes an array that holds the string in UTF-8
     * @param offset where it begins
     * @param length its length in bytes
     * @return the id
     * @throws MeasurementException if it is new and there is no room, or it is too long or not UTF-8
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
                    "the string is longer than " + STRING_BYTES_MAX + " bytes: shorten it where it is produced");
        }
        try {
            StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(bytes, offset, length));
        } catch (CharacterCodingException error) {
            throw new MeasurementException("the string's bytes are not UTF-8: repair the producer");
        }
        int id = table.insertNext(hash, bytes, offset, length);
        if (id == ByteTable.FULL) {
            throw new MeasurementException(
                    "the table of strings is full: start again with higher limits for strings and bytes");
        }
        return id;
    }

    /**
     * The id of a string, which is inserted if it is new.
     *
     * @param text the string
     * @return the id
     * @throws MeasurementException if it is new and there is no room, or it is too long
     */
    public int intern(String text) {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        return intern(bytes, 0, bytes.length);
    }

    /**
     * The id of a string, if it has one.
     *
     * @param bytes an array that holds the string in UTF-8
     * @param offset where it begins
     * @param length its length in bytes
     * @return the id; -1 if it has none
     */
    public int find(byte[] bytes, int offset, int length) {
        java.util.Objects.checkFromIndexSize(offset, length, bytes.length);
        return table.find(table.hash(bytes, offset, length), bytes, offset, length);
    }

    /**
     * As {@link #intern(byte[], int, int)}, of what is known to be a short string; {@link ByteTable#FULL} without room.
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
     * @return the string, mostly the same object each time; null if the id was not given yet
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
     * Strings held; ids are all numbers below it.
     *
     * @return their number
     */
    public int size() {
        return table.size();
    }
}
