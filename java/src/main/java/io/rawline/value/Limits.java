package io.rawline.value;

/**
 * What a reader accepts at most. Every limit is checked before memory is had for what the bytes claim.
 *
 * @param depthMax containers inside each other; never more than 256
 * @param elementsMax elements of all containers together; a table's pair counts as two
 * @param bytesMax length of a value in bytes; never more than 2^28 - 1
 */
public record Limits(int depthMax, int elementsMax, int bytesMax) {
    /** What no reader goes beyond. */
    public static final Limits FORMAT = new Limits(256, Integer.MAX_VALUE, (1 << 28) - 1);

    /** 128 deep, 1 Mi elements, 16 MiB long: a record that someone looks into. */
    public static final Limits DEFAULT = new Limits(128, 1 << 20, 16 << 20);

    /**
     * Limits of these numbers.
     *
     * @param depthMax containers inside each other
     * @param elementsMax elements of all containers together
     * @param bytesMax length in bytes
     * @throws IllegalArgumentException if one is negative
     */
    public Limits {
        if (depthMax < 0 || elementsMax < 0 || bytesMax < 0) {
            throw new IllegalArgumentException("a limit is negative; give 0 or more: " + depthMax + " deep, "
                    + elementsMax + " elements, " + bytesMax + " bytes");
        }
    }

    /** The depth that holds for this reader. */
    int depth() {
        return Math.min(depthMax, FORMAT.depthMax);
    }

    /** Errs if so many bytes are too long. */
    void checkBytes(int length) {
        if (length > Math.min(bytesMax, FORMAT.bytesMax)) {
            throw ValueException.tooLong(length, bytesMax);
        }
    }
}
