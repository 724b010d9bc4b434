package io.rawline.value;

import io.rawline.error.ErrorKind;
import io.rawline.error.RawlineException;

/**
 * Bytes or a text are not a valid value; the message says where, and what to do. Its kind is
 * {@link ErrorKind#FIX_REQUEST}.
 */
public final class ValueException extends RawlineException {
    private static final long serialVersionUID = 1L;

    /** The kind of error. */
    public enum Reason {
        /** The bytes end inside a value, or a container claims more elements than there are bytes. */
        TRUNCATED,
        /** A byte that is not the tag of a type. */
        TAG,
        /** A number that is not the protocol of a port. */
        PROTOCOL,
        /** A size of more than five bytes, or 2^32 or more. */
        SIZE,
        /** A set with duplicate elements, or a table with duplicate keys. */
        NOT_UNIQUE,
        /** Bytes after the end of the value. */
        TRAILING_BYTES,
        /** Containers nested deeper than the limit. */
        TOO_DEEP,
        /** More elements than the limit, in all containers together. */
        TOO_MANY_ELEMENTS,
        /** More bytes than the limit. */
        TOO_LONG,
        /** A value of another type than the expected one. */
        TYPE,
        /** A text that is not a valid address, subnet, port, time or duration. */
        TEXT,
        /** A text that is not the JSON of a value. */
        JSON,
        /** A number or a time that the Java type, or the format, can't hold. */
        RANGE,
        /** A field that isn't there, or a vector that is too short. */
        MISSING,
        /** A name that none of a type's alternatives or constants has. */
        VARIANT,
        /** A string that isn't UTF-8, for a Java string. */
        UTF8,
        /** A frame that is truncated, of an unknown kind, or with a topic that is too long. */
        FRAME
    }

    /** The kind of error. */
    private final Reason reason;
    /** Where, in bytes from the start of the value. */
    private final long position;
    /** A number that belongs to the reason. */
    private final long detail;
    /** The fields around the value, the outermost first, such as {@code customer.name}. */
    private final String path;
    /** The message without the path. */
    private final String text;

    private ValueException(Reason reason, long position, long detail, String message) {
        this(reason, position, detail, "", message);
    }

    private ValueException(Reason reason, long position, long detail, String path, String text) {
        super(ErrorKind.FIX_REQUEST, path.isEmpty() ? text : "field " + path + ": " + text);
        this.reason = reason;
        this.position = position;
        this.detail = detail;
        this.path = path;
        this.text = text;
    }

    /**
     * The kind of error.
     *
     * @return the reason
     */
    public Reason reason() {
        return reason;
    }

    /**
     * Where the error is.
     *
     * @return bytes from the start of the value, for JSON characters from the start of the text; 0 if the reason has no
     *     position
     */
    public long position() {
        return position;
    }

    /**
     * A number that belongs to the reason: the tag or protocol found, the bytes that follow, or the limit.
     *
     * @return the number; 0 if the reason has none
     */
    public long detail() {
        return detail;
    }

    /**
     * The field that can't be decoded, such as {@code customer.name}.
     *
     * @return its path; empty for the whole value, and where no generated codec was reading
     */
    public String path() {
        return path;
    }

    /** The same error for a field around the value. */
    ValueException within(String field) {
        ValueException outer =
                new ValueException(reason, position, detail, path.isEmpty() ? field : field + "." + path, text);
        outer.setStackTrace(getStackTrace());
        return outer;
    }

    /** The same error, its position counted from bytes before those that were read. */
    ValueException moved(long distance) {
        return new ValueException(reason, position + distance, detail, path, text);
    }

    static ValueException range(long position, String number) {
        return new ValueException(
                Reason.RANGE, position, 0, "the field's type can't hold the number " + number + "; use a larger type");
    }

    static ValueException time(String time) {
        return new ValueException(
                Reason.RANGE,
                0,
                0,
                "the time " + time + " is more than 292 years from 1970 or zero; use one of 64 bits of nanoseconds");
    }

    static ValueException missing(long position) {
        return new ValueException(
                Reason.MISSING, position, 0, "missing; send it, or give the field a default with optional or orElse");
    }

    static ValueException duplicateField(long position) {
        return new ValueException(Reason.NOT_UNIQUE, position, 0, "duplicate; send each key once");
    }

    static ValueException variant(long position, String message) {
        return new ValueException(Reason.VARIANT, position, 0, message);
    }

    static ValueException character(long position, String text) {
        return new ValueException(Reason.TEXT, position, 0, '"' + text + "\" is not one character");
    }

    static ValueException utf8(long position) {
        return new ValueException(
                Reason.UTF8, position, 0, "the string at byte " + position + " is not UTF-8; read it as a byte[]");
    }

    static ValueException truncated(long position) {
        return new ValueException(
                Reason.TRUNCATED,
                position,
                0,
                "the value is truncated: the field at byte " + position
                        + " needs more bytes than follow; send all of it");
    }

    static ValueException tag(long position, int found) {
        return new ValueException(
                Reason.TAG,
                position,
                found,
                String.format("unknown tag 0x%02x at byte %d; use 0x00 to 0x0e", found, position));
    }

    static ValueException protocol(long position, int found) {
        return new ValueException(
                Reason.PROTOCOL,
                position,
                found,
                "unknown protocol " + found + " at byte " + position
                        + "; use 0 (unknown), 1 (tcp), 2 (udp) or 3 (icmp)");
    }

    static ValueException size(long position) {
        return new ValueException(
                Reason.SIZE,
                position,
                0,
                "the size at byte " + position + " is more than five bytes or 32 bits; send smaller values");
    }

    static ValueException notUnique(long position) {
        return new ValueException(
                Reason.NOT_UNIQUE,
                position,
                0,
                "the set or table at byte " + position + " has a duplicate element or key; remove one");
    }

    static ValueException trailingBytes(long position, int count) {
        return new ValueException(
                Reason.TRAILING_BYTES,
                position,
                count,
                count + " bytes follow the value's end at byte " + position + "; send exactly one value");
    }

    static ValueException tooDeep(long position, int depthMax) {
        return new ValueException(
                Reason.TOO_DEEP,
                position,
                depthMax,
                "the container at byte " + position + " is nested deeper than " + depthMax
                        + " levels; send flatter values");
    }

    static ValueException tooManyElements(long position, int elementsMax) {
        return new ValueException(
                Reason.TOO_MANY_ELEMENTS,
                position,
                elementsMax,
                "at byte " + position + " the value has more than " + elementsMax + " elements; send smaller values");
    }

    static ValueException tooLong(long bytes, int bytesMax) {
        return new ValueException(
                Reason.TOO_LONG,
                0,
                bytesMax,
                "a value of " + bytes + " bytes is over this reader's limit of " + bytesMax + "; send smaller values");
    }

    static ValueException type(long position, Kind found, Kind expected) {
        return new ValueException(
                Reason.TYPE,
                position,
                found.tag(),
                "at byte " + position + " is a "
                        + found.jsonName() + " and not a " + expected.jsonName()
                        + "; check the value's kind first, or pass a fallback");
    }

    static ValueException text(String text, String expected) {
        return new ValueException(Reason.TEXT, 0, 0, "\"" + text + "\" is not " + expected);
    }

    static ValueException json(int position, String message) {
        return new ValueException(Reason.JSON, position, 0, message + "; the mapping is in docs/values.md");
    }

    static ValueException frame(String message) {
        return new ValueException(Reason.FRAME, 0, 0, message);
    }
}
