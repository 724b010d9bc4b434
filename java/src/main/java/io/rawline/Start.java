package io.rawline;

import java.time.Instant;
import java.util.Objects;

/** Where a consumer begins. */
public sealed interface Start {
    /**
     * At an offset.
     *
     * @param offset the first record's
     */
    record Offset(long offset) implements Start {}

    /** At the oldest record that is there. */
    record Earliest() implements Start {}

    /** Behind the newest record: only what comes from now on. */
    record Latest() implements Start {}

    /**
     * At the first record appended at or after a time, by the broker's clock.
     *
     * @param time the time
     */
    record Time(Instant time) implements Start {}

    /**
     * At an offset.
     *
     * @param offset the first record's
     * @return the start
     */
    static Start offset(long offset) {
        return new Offset(offset);
    }

    /**
     * At the oldest record that is there.
     *
     * @return the start
     */
    static Start earliest() {
        return new Earliest();
    }

    /**
     * Behind the newest record: only what comes from now on.
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
        return new Time(Objects.requireNonNull(time));
    }
}
