package io.rawline.measurement;

/** The type of a measurement's value. */
public enum ValueType {
    /** {@code int}. */
    INT,
    /** {@code long}. */
    LONG,
    /** {@code float}. */
    FLOAT,
    /** {@code double}. */
    DOUBLE;

    /** The type's name in a schema. */
    String avroName() {
        return name().toLowerCase(java.util.Locale.ROOT);
    }
}
