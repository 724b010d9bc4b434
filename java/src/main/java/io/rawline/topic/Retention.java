package io.rawline.topic;

import io.rawline.error.ConfigException;
import io.rawline.internal.setting.Settings;
import java.util.OptionalDouble;
import java.util.OptionalLong;

/**
 * Which records each partition of a topic keeps. The broker deletes whole commits, about once a minute, and always
 * keeps the newest one.
 *
 * @param hours records are deleted when they were appended more hours ago; empty keeps records of any age
 * @param bytes the oldest records of a partition are deleted while its stored objects have more bytes; empty keeps any
 *     amount
 */
public record Retention(OptionalDouble hours, OptionalLong bytes) {
    /** Keeps all records. */
    public static final Retention UNLIMITED = new Retention(OptionalDouble.empty(), OptionalLong.empty());

    /**
     * Checks that the limits are greater than 0.
     *
     * @param hours records are deleted when they were appended more hours ago; empty keeps records of any age
     * @param bytes the oldest records of a partition are deleted while its stored objects have more bytes; empty keeps
     *     any amount
     */
    public Retention {
        if (!(Settings.notNull("hours", hours).orElse(1) > 0)) {
            throw new ConfigException("hours must be greater than 0, not " + hours.getAsDouble(), null);
        }
        Settings.atLeast("bytes", 1L, Settings.notNull("bytes", bytes).orElse(1));
    }

    /**
     * Keeps records of a limited age.
     *
     * @param hours their age
     * @return no limit of their amount
     */
    public static Retention ofHours(double hours) {
        return new Retention(OptionalDouble.of(hours), OptionalLong.empty());
    }

    /**
     * Keeps a limited amount of records.
     *
     * @param bytes size of a partition's objects
     * @return no limit of their age
     */
    public static Retention ofBytes(long bytes) {
        return new Retention(OptionalDouble.empty(), OptionalLong.of(bytes));
    }
}
