package io.rawline.measurement;

import java.util.LinkedHashMap;
import java.util.Map;

/**
 * Maps series, a metric and tags in any order, to dense ids from 0, and back. Thread-safe; all decoders share one
 * table.
 *
 * <p>A series is a metric and a set of tags without duplicate keys; of duplicate keys the last one counts. On the wire
 * it has many encodings. There are three tables, each with the contract of {@link StringInterner}: the strings; the
 * series by their strings' ids, sorted by key; and the encodings' bytes, unchanged. A known encoding costs one hash,
 * one lookup and one comparison of all bytes; a new one is read forward once.
 *
 * <p>Without room for a series or its strings, a message is dropped and counted. Without room for an encoding, the
 * message is read forward each time. Nothing waits.
 */
public final class SeriesTable {
    /** Maximum number of tags of a message, duplicate keys included. */
    public static final int TAGS_MAX = 256;

    private static final int ID_BYTES = 4;

    private final StringInterner strings;
    private final ByteTable series;
    private final ByteTable encodings;

    /**
     * A table with room for a number of series of ordinary size: two encodings each of 112 bytes, 12 tags, and as many
     * different strings as series, of 40 bytes.
     *
     * @param seriesMax maximum number of series
     * @throws IllegalArgumentException it is less than 1 or more than 2^27
     */
    public SeriesTable(int seriesMax) {
        this(seriesMax, new java.security.SecureRandom().nextLong());
    }

    /**
     * As {@link #SeriesTable(int)}, with a known seed, for tests that must be repeatable.
     *
     * @param seriesMax maximum number of series
     * @param seed the seed of the hashes
     * @throws IllegalArgumentException {@code seriesMax} is less than 1 or more than 2^27
     */
    public SeriesTable(int seriesMax, long seed) {
        if (seriesMax < 1 || seriesMax > 1 << 27) {
            throw new IllegalArgumentException(seriesMax + " series is out of range; use 1 to " + (1 << 27));
        }
        // Small tables have room for long strings too.
        long spare = 2 << 20;
        strings = new StringInterner(seriesMax + (1 << 14), spare + seriesMax * 48L, seed);
        series = new ByteTable(seriesMax, spare + seriesMax * 112L, seed + 1);
        encodings = new ByteTable(seriesMax * 2, spare + seriesMax * 240L, seed + 2);
    }

    /**
     * The id of the series with this metric and these tags, in any order.
     *
     * @param metric the metric
     * @param tags the tags
     * @return the id
     * @throws MeasurementException the series is new and there is no room for it, or it has too many tags or a string
     *     that is too long
     */
    public int intern(String metric, Map<String, String> tags) {
        Identity identity = Identity.of(MeasurementShape.bare(ValueType.LONG), metric, tags);
        Scratch scratch = new Scratch();
        byte[] bytes = identity.bytes();
        int id = read(scratch, bytes, 0, bytes.length) ? learn(scratch) : ByteTable.FULL;
        if (id == ByteTable.FULL) {
            throw new MeasurementException("the series table is full; create one with room for more series");
        }
        return id;
    }

    private static boolean read(Scratch scratch, byte[] bytes, int at, int end) {
        scratch.cursor.reset(bytes, at, end);
        try {
            scratch.readIdentity();
            return true;
        } catch (FaultException fault) {
            throw new MeasurementException(scratch.field + ": " + fault.fault.text());
        }
    }

    /** The encodings, for a decoder that looks up many together. */
    ByteTable encodings() {
        return encodings;
    }

    /**
     * The id of the series that was just read, or {@link ByteTable#FULL}; its encoding is remembered if there is room.
     */
    int learn(Scratch scratch) {
        scratch.sort();
        int id = canonical(scratch);
        if (id >= 0) {
            int length = scratch.identityEnd - scratch.identityAt;
            byte[] bytes = scratch.cursor.bytes;
            encodings.insert(encodings.hash(bytes, scratch.identityAt, length), bytes, scratch.identityAt, length, id);
        }
        return id;
    }

    private int canonical(Scratch scratch) {
        // Without room for series, new strings are not added either: no series could use them.
        boolean isFull = series.isFullFor(ID_BYTES);
        byte[] bytes = scratch.cursor.bytes;
        byte[] key = scratch.key;
        int length = putId(key, 0, bytes, scratch.metricAt, scratch.metricLength, isFull);
        for (int index = 0; length > 0 && index < scratch.tags; index++) {
            int tag = scratch.order[index];
            length = putId(key, length, bytes, scratch.keyAt[tag], scratch.keyLength[tag], isFull);
            length = length < 0
                    ? length
                    : putId(key, length, bytes, scratch.valueAt[tag], scratch.valueLength[tag], isFull);
        }
        if (length < 0) {
            return ByteTable.FULL;
        }
        long hash = series.hash(key, 0, length);
        int id = series.find(hash, key, 0, length);
        return id >= 0 ? id : series.insertNext(hash, key, 0, length);
    }

    /** Appends a string's id and returns where it ends; negative if the string has none. */
    private int putId(byte[] key, int at, byte[] bytes, int from, int length, boolean isFull) {
        int id = isFull ? strings.find(bytes, from, length) : strings.internChecked(bytes, from, length);
        if (id < 0) {
            return ByteTable.FULL;
        }
        key[at] = (byte) id;
        key[at + 1] = (byte) (id >> 8);
        key[at + 2] = (byte) (id >> 16);
        key[at + 3] = (byte) (id >> 24);
        return at + ID_BYTES;
    }

    /**
     * Number of series; all smaller numbers are ids.
     *
     * @return 0 or more
     */
    public int size() {
        return series.size();
    }

    /**
     * Number of known encodings.
     *
     * @return 0 or more
     */
    public int encodingsSize() {
        return encodings.size();
    }

    /**
     * The strings of metrics and tags.
     *
     * @return the interner
     */
    public StringInterner strings() {
        return strings;
    }

    /**
     * The metric of a series.
     *
     * @param id the series' id
     * @return its metric; null if there is no such id
     */
    public String metric(int id) {
        byte[] key = series.get(id);
        return key == null ? null : text(key, 0);
    }

    /**
     * The tags of a series.
     *
     * @param id the series' id
     * @return its tags, sorted by key; null if there is no such id
     */
    public Map<String, String> tags(int id) {
        byte[] key = series.get(id);
        if (key == null) {
            return null;
        }
        Map<String, String> tags = new LinkedHashMap<>();
        for (int at = ID_BYTES; at < key.length; at += 2 * ID_BYTES) {
            tags.put(text(key, at), text(key, at + ID_BYTES));
        }
        return tags;
    }

    private String text(byte[] key, int at) {
        return strings.get(key[at] & 0xff | (key[at + 1] & 0xff) << 8 | (key[at + 2] & 0xff) << 16 | key[at + 3] << 24);
    }
}
