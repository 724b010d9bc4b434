package io.rawline.internal.setting;

import java.time.Duration;

/** Durations in nanoseconds; a longer one than that can express counts as forever. */
public final class Nanos {
    /** About 73 years: adding the current time doesn't overflow. */
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
