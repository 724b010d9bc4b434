package io.rawline.measurement;

/** Errors in a message's bytes. */
public enum Fault {
    /** The message ends inside a field. */
    TRUNCATED("the message ends inside it: it was truncated, or has another schema"),
    /** A variable-length integer has more bytes than its type can hold. */
    INTEGER_TOO_LONG("its integer is longer than its type allows: the message has another schema"),
    /** A length or count is negative, or a block's size is wrong. */
    LENGTH("its length is negative or larger than the rest of the message"),
    /** A string is not UTF-8. */
    UTF8("its bytes are not UTF-8: repair the producer"),
    /** More tags than the limit. */
    ELEMENTS("it has more elements than the limit of " + SeriesTable.TAGS_MAX + ": use fewer tags"),
    /** A string is longer than the limit. */
    STRING_TOO_LONG("it has a string longer than " + StringInterner.STRING_BYTES_MAX
            + " bytes: shorten it where it is produced"),
    /** A boolean is neither 0 nor 1. */
    BOOLEAN("its boolean is neither 0 nor 1: the message has another schema"),
    /** A union has no such branch. */
    BRANCH("its union has no such branch: the message has another schema"),
    /** A union's value can't be read as the measurement's field, such as null. */
    BRANCH_UNFIT("its union has a null, or another type than the measurement: write a value"),
    /** An enum has no such symbol. */
    SYMBOL("its enum has no such symbol: the message has another schema"),
    /** More records and elements, or deeper nesting, than the limit. */
    PARTS("it has more than 2^20 elements, or they are nested more than 64 deep: write smaller messages"),
    /** The bytes before the message name another schema, or none. */
    FRAME("it doesn't start with the expected schema fingerprint or id: it has another schema or framing"),
    /** Bytes are left after the message's last field. */
    REMAINDER("bytes are left after the last field: the message has another schema");

    private final String text;

    Fault(String text) {
        this.text = text;
    }

    /**
     * The error, and what to do.
     *
     * @return a sentence without its subject
     */
    public String text() {
        return text;
    }
}
