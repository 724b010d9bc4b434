package io.rawline.http;

import java.time.Duration;

/** Durations in nanoseconds; one that is too long for that is as good as for ever. */
public final class Nanos {
    /** Some 73 years: a time that is now can be added without wrapping round. */
    public static final long MAX = Long.MAX_VALUE / 4;

    private Nanos() {}

    /** From minus to plus {@link #MAX}. */
    public static long of(Duration duration) {
        long seconds = duration.getSeconds();
        if (Math.abs(seconds) >= MAX / 1_000_000_000) {
            return seconds < 0 ? -MAX : MAX;
        }
        return duration.toNanos();
    }
}
