package io.rawline.record;

import io.rawline.internal.setting.Settings;
import java.time.Instant;

/** The start of a consumer in a partition. */
public sealed interface Start {
    /**
     * At an offset of the partition.
     *
     * @param offset the first record's offset, 0 or more
     */
    record Offset(long offset) implements Start {
        /**
         * At an offset of the partition.
         *
         * @param offset the first record's offset
         * @throws io.rawline.error.ConfigException it is negative
         */
        public Offset {
            Settings.atLeast("offset", 0L, offset);
        }
    }

    /** At the partition's oldest record that is still stored. */
    record Earliest() implements Start {}

    /** After the newest record: only records that are appended from now on. */
    record Latest() implements Start {}

    /**
     * At the first record appended at or after a time, by the broker's clock.
     *
     * @param time the time
     */
    record Time(Instant time) implements Start {
        /**
         * At a time.
         *
         * @param time the time
         */
        public Time {
            Settings.notNull("time", time);
        }
    }

    /**
     * At an offset of the partition.
     *
     * @param offset the first record's offset
     * @return the start
     * @throws io.rawline.error.ConfigException it is negative
     */
    static Start offset(long offset) {
        return new Offset(offset);
    }

    /**
     * At the oldest record that is still stored.
     *
     * @return the start
     */
    static Start earliest() {
        return new Earliest();
    }

    /**
     * After the newest record: only records that are appended from now on.
     *
     * @return the start
     */
    static Start latest() {
        return new Latest();
    }

    /**
     * At the first record appended at or after a time, by the broker's clock.
     *
     * @param time the time
     * @return the start
     */
    static Start time(Instant time) {
        return new Time(time);
    }
}
