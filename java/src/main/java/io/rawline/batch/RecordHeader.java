package io.rawline.batch;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Objects;

/**
 * A header of a record: a name with a value, which may be null. A record may have several of one name.
 *
 * @param name its name
 * @param value its value, or null; not copied
 */
public record RecordHeader(String name, byte[] value) {
    /**
     * A header.
     *
     * @param name its name
     * @param value its value, or null
     */
    public RecordHeader {
        Objects.requireNonNull(name, "name must not be null");
    }

    /**
     * Its value as text.
     *
     * @return the value decoded as UTF-8; null if it is null
     */
    public String text() {
        return value == null ? null : new String(value, StandardCharsets.UTF_8);
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof RecordHeader header && name.equals(header.name) && Arrays.equals(value, header.value);
    }

    @Override
    public int hashCode() {
        return 31 * name.hashCode() + Arrays.hashCode(value);
    }

    /**
     * A human-readable description.
     *
     * @return its name, and its value as text
     */
    @Override
    public String toString() {
        return name + "=" + text();
    }
}
