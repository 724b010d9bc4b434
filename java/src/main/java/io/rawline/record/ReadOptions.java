package io.rawline.record;

import io.rawline.internal.setting.Settings;
import java.time.Duration;

/**
 * The range and limits of a read.
 *
 * @param offset offset of the first record wanted
 * @param recordsMax maximum number of records; 0 for no limit. A compressed batch is served whole, so more may be
 *     received
 * @param bytesMax maximum size in bytes; 0 for the broker's limit. At least one record is received, whatever its length
 * @param waitMax maximum time that the broker waits for a record, in whole milliseconds
 * @param partition the topic's partition, from 0
 */
public record ReadOptions(long offset, long recordsMax, long bytesMax, Duration waitMax, int partition) {
    /**
     * Options of a read.
     *
     * @param offset offset of the first record wanted
     * @param recordsMax maximum number of records; 0 for no limit
     * @param bytesMax maximum size in bytes; 0 for the broker's limit
     * @param waitMax maximum time that the broker waits for a record
     * @param partition the topic's partition
     * @throws io.rawline.error.ConfigException one of them is negative, or no topic has that partition
     */
    public ReadOptions {
        Settings.partition(partition);
        Settings.atLeast("offset", 0L, offset);
        Settings.atLeast("recordsMax", 0L, recordsMax);
        Settings.atLeast("bytesMax", 0L, bytesMax);
        Settings.notNegative("waitMax", waitMax);
    }

    /**
     * Options of a read of partition 0.
     *
     * @param offset offset of the first record wanted
     * @param recordsMax maximum number of records; 0 for no limit
     * @param bytesMax maximum size in bytes; 0 for the broker's limit
     * @param waitMax maximum time that the broker waits for a record
     * @throws io.rawline.error.ConfigException one of them is negative
     */
    public ReadOptions(long offset, long recordsMax, long bytesMax, Duration waitMax) {
        this(offset, recordsMax, bytesMax, waitMax, 0);
    }

    /**
     * From an offset of partition 0 on, as much as the broker sends, without waiting.
     *
     * @param offset offset of the first record wanted
     * @return the options
     */
    public static ReadOptions from(long offset) {
        return new ReadOptions(offset, 0, 0, Duration.ZERO);
    }

    /**
     * The same options from another offset on.
     *
     * @param offset offset of the first record wanted
     * @return the options
     */
    public ReadOptions offset(long offset) {
        return new ReadOptions(offset, recordsMax, bytesMax, waitMax, partition);
    }

    /**
     * The same options with another number of records.
     *
     * @param recordsMax maximum number of records; 0 for no limit
     * @return the options
     */
    public ReadOptions recordsMax(long recordsMax) {
        return new ReadOptions(offset, recordsMax, bytesMax, waitMax, partition);
    }

    /**
     * The same options with another size.
     *
     * @param bytesMax maximum size in bytes; 0 for the broker's limit
     * @return the options
     */
    public ReadOptions bytesMax(long bytesMax) {
        return new ReadOptions(offset, recordsMax, bytesMax, waitMax, partition);
    }

    /**
     * The same options with another wait.
     *
     * @param waitMax maximum time that the broker waits for a record
     * @return the options
     */
    public ReadOptions waitMax(Duration waitMax) {
        return new ReadOptions(offset, recordsMax, bytesMax, waitMax, partition);
    }

    /**
     * The same options for another partition.
     *
     * @param partition the topic's partition, from 0
     * @return the options
     */
    public ReadOptions partition(int partition) {
        return new ReadOptions(offset, recordsMax, bytesMax, waitMax, partition);
    }
}
