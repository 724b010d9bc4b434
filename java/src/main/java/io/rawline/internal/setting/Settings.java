package io.rawline.internal.setting;

import io.rawline.error.ConfigException;
import java.time.Duration;
import java.util.Objects;

/** Checks of settings and arguments: each error names the setting, its range and the value given. */
public final class Settings {
    /** Maximum number of partitions of a topic. */
    public static final int PARTITIONS_MAX = 1024;

    private Settings() {}

    public static <T> T notNull(String name, T value) {
        return Objects.requireNonNull(value, () -> name + " must not be null");
    }

    public static Duration positive(String name, Duration value) {
        if (notNull(name, value).isNegative() || value.isZero()) {
            throw new ConfigException(name + " must be more than zero, not " + text(value), null);
        }
        return value;
    }

    public static Duration notNegative(String name, Duration value) {
        if (notNull(name, value).isNegative()) {
            throw new ConfigException(name + " must not be negative, not " + text(value), null);
        }
        return value;
    }

    public static long atLeast(String name, long min, long value) {
        return range(name, min, Long.MAX_VALUE, value);
    }

    public static int atLeast(String name, int min, int value) {
        return (int) range(name, min, Long.MAX_VALUE, value);
    }

    public static long range(String name, long min, long max, long value) {
        if (value < min || value > max) {
            String allowed = max == Long.MAX_VALUE ? "at least " + min : min + " to " + max;
            throw new ConfigException(name + " must be " + allowed + ", not " + value, null);
        }
        return value;
    }

    /** The number of a partition that a topic may have. */
    public static int partition(int partition) {
        return (int) range("partition", 0, PARTITIONS_MAX - 1, partition);
    }

    private static String text(Duration value) {
        return Nanos.of(value) / 1e6 + " ms";
    }
}
