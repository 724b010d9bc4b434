package io.rawline.value;

/** The type of a value, in the format's order. {@link #tag()} is the byte before the value. */
public enum Kind {
    /** No value. */
    NONE("none"),
    /** True or false. */
    BOOLEAN("boolean"),
    /** An unsigned number of 64 bits. */
    COUNT("count"),
    /** A signed number of 64 bits. */
    INTEGER("integer"),
    /** A floating-point number. */
    REAL("real"),
    /** Any bytes, usually UTF-8. */
    STRING("string"),
    /** An IPv4 or IPv6 address. */
    ADDRESS("address"),
    /** A network: an address and the length of its prefix. */
    SUBNET("subnet"),
    /** A port number with its protocol. */
    PORT("port"),
    /** A point in time, in nanoseconds since 1970-01-01T00:00:00Z. */
    TIMESTAMP("timestamp"),
    /** A duration in nanoseconds. */
    TIMESPAN("timespan"),
    /** An enumerator's name. */
    ENUM("enum-value"),
    /** Values in ascending order, without duplicates. */
    SET("set"),
    /** Pairs of key and value, ascending by key, without duplicate keys. */
    TABLE("table"),
    /** Values in any order. */
    VECTOR("vector");

    private static final Kind[] KINDS = values();

    private final String jsonName;

    Kind(String jsonName) {
        this.jsonName = jsonName;
    }

    /**
     * The byte before a value of this type.
     *
     * @return 0 to 14
     */
    public int tag() {
        return ordinal();
    }

    /**
     * The type's name in typed JSON.
     *
     * @return a name such as {@code enum-value}
     */
    public String jsonName() {
        return jsonName;
    }

    /** The type of a tag, which the caller has checked to be 0 to 14. */
    static Kind of(int tag) {
        return KINDS[tag];
    }

    /** The type with this name in JSON; null if not found. */
    static Kind named(String jsonName) {
        for (Kind kind : KINDS) {
            if (kind.jsonName.equals(jsonName)) {
                return kind;
            }
        }
        return null;
    }
}
