package io.rawline;

import java.time.Duration;

/**
 * What a read asks for.
 *
 * @param offset offset of the first record wanted
 * @param recordsMax most records; 0 for no limit. A compressed batch is served whole, so more may come
 * @param bytesMax most bytes; 0 for the broker's own limit. At least one record comes, however long it is
 * @param waitMax how long the broker waits for a record to come if there is none yet; whole milliseconds
 */
public record ReadOptions(long offset, long recordsMax, long bytesMax, Duration waitMax) {
    /**
     * From an offset on, as much as the broker gives, without waiting.
     *
     * @param offset offset of the first record wanted
     * @return the options
     */
    public static ReadOptions from(long offset) {
        return new ReadOptions(offset, 0, 0, Duration.ZERO);
    }

    /**
     * The same with another number of records.
     *
     * @param recordsMax most records; 0 for no limit
     * @return the options
     */
    public ReadOptions recordsMax(long recordsMax) {
        return new ReadOptions(offset, recordsMax, bytesMax, waitMax);
    }

    /**
     * The same with another number of bytes.
     *
     * @param bytesMax most bytes; 0 for the broker's own limit
     * @return the options
     */
    public ReadOptions bytesMax(long bytesMax) {
        return new ReadOptions(offset, recordsMax, bytesMax, waitMax);
    }

    /**
     * The same with another wait.
     *
     * @param waitMax how long the broker waits for a record to come
     * @return the options
     */
    public ReadOptions waitMax(Duration waitMax) {
        return new ReadOptions(offset, recordsMax, bytesMax, waitMax);
    }
}
