package io.rawline.measurement;

/** What can be wrong with a message's bytes at one place. */
public enum Fault {
    /** The message ends inside a field. */
    TRUNCATED("the message ends inside it: it was cut, or its schema is another one"),
    /** A variable-length integer has more bytes than its type can hold. */
    INTEGER_TOO_LONG("its integer is longer than its type allows: the message's schema is another one"),
    /** A length or count is negative, or a block's size is wrong. */
    LENGTH("its length is negative or larger than the rest of the message"),
    /** A string is not UTF-8. */
    UTF8("its bytes are not UTF-8: repair the producer"),
    /** There are more tags than the limit. */
    ELEMENTS("it has more elements than the limit of " + SeriesTable.TAGS_MAX + ": use fewer tags"),
    /** A string is longer than the limit. */
    STRING_TOO_LONG("it has a string longer than " + StringInterner.STRING_BYTES_MAX
            + " bytes: shorten it where it is produced"),
    /** A boolean is neither 0 nor 1. */
    BOOLEAN("its boolean is neither 0 nor 1: the message's schema is another one"),
    /** A union has no such branch. */
    BRANCH("its union has no such branch: the message's schema is another one"),
    /** A union holds what can't be read as the measurement's field, such as null. */
    BRANCH_UNFIT("its union holds a null, or another type than the measurement has here: give it a value"),
    /** An enum has no such symbol. */
    SYMBOL("its enum has no such symbol: the message's schema is another one"),
    /** There are more records and elements, or they are deeper in one another, than is read. */
    PARTS("it has more than 2^20 elements, or they are nested more than 64 deep: write smaller messages"),
    /** The bytes before the message name another schema, or none. */
    FRAME("it does not begin with the expected schema fingerprint or id: its schema or its framing is another one"),
    /** Bytes are left after the message's last field. */
    REMAINDER("bytes are left after the last field: the message's schema is another one");

    private final String text;

    Fault(String text) {
        this.text = text;
    }

    /**
     * What is wrong, and what to do.
     *
     * @return a sentence without its subject
     */
    public String text() {
        return text;
    }
}
