package io.rawline.topic;

/** The cleanup of a topic's old records. */
public enum CleanupPolicy {
    /** Those beyond the limits of its {@link Retention} are deleted. */
    DELETE("delete"),
    /**
     * Of the records with one key, all but the newest are removed; the limits have no effect. Records without a key are
     * refused.
     */
    COMPACT("compact"),
    /** Both. */
    COMPACT_DELETE("compact,delete");

    private final String name;

    CleanupPolicy(String name) {
        this.name = name;
    }

    /**
     * The name in the broker's API.
     *
     * @return {@code delete}, {@code compact} or {@code compact,delete}
     */
    @Override
    public String toString() {
        return name;
    }
}
