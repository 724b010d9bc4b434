package io.rawline.value;

/**
 * Limits of a reader. Each is checked before memory is allocated for a claimed size.
 *
 * @param depthMax maximum nesting of containers; capped at 256
 * @param elementsMax maximum number of elements of all containers together; a table's pair counts as two
 * @param bytesMax maximum length of a value in bytes; capped at 2^28 - 1
 */
public record Limits(int depthMax, int elementsMax, int bytesMax) {
    /** Limits of the format. */
    public static final Limits FORMAT = new Limits(256, Integer.MAX_VALUE, (1 << 28) - 1);

    /** The default limits: 128 deep, 1 Mi elements, 16 MiB. */
    public static final Limits DEFAULT = new Limits(128, 1 << 20, 16 << 20);

    /**
     * Limits.
     *
     * @param depthMax maximum nesting of containers
     * @param elementsMax maximum number of elements of all containers together
     * @param bytesMax maximum length in bytes
     * @throws IllegalArgumentException if one is negative
     */
    public Limits {
        if (depthMax < 0 || elementsMax < 0 || bytesMax < 0) {
            throw new IllegalArgumentException("limits must not be negative: " + depthMax + " deep, " + elementsMax
                    + " elements, " + bytesMax + " bytes");
        }
    }

    /** The maximum depth, capped. */
    int depth() {
        return Math.min(depthMax, FORMAT.depthMax);
    }

    /** Throws if the length is over the limit. */
    void checkBytes(int length) {
        if (length > Math.min(bytesMax, FORMAT.bytesMax)) {
            throw ValueException.tooLong(length, bytesMax);
        }
    }
}
