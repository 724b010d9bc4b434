package io.rawline.value;

import java.nio.charset.StandardCharsets;
import java.util.Objects;

/**
 * Takes values off the front of bytes, one after the other, without an index: the fastest way to turn bytes into
 * objects whose shape is known. A container is taken as its head, and its elements follow as values of their own.
 *
 * <p>It checks what it takes: types, lengths, elements against the bytes that are there. It does not check whether a
 * set or table holds something twice, nor how deep it is, since it does not recurse. Reused by {@link #reset};
 * allocates nothing but what it gives. For one thread at a time.
 *
 * <pre>{@code
 * static final Fields FIELDS = Fields.of("uid", "query");
 *
 * reader.reset(bytes);
 * for (int left = reader.table(); left > 0; left--) {
 *     switch (reader.field(FIELDS)) {
 *         case 0 -> event.uid = reader.string();
 *         case 1 -> event.query = reader.string();
 *         default -> reader.skip();
 *     }
 * }
 * reader.finish();
 * }</pre>
 */
public final class ValueReader {
    /** A bit for each tag that eight bytes follow. */
    private static final int WORDS =
            1 << Wire.COUNT | 1 << Wire.INTEGER | 1 << Wire.REAL | 1 << Wire.TIMESTAMP | 1 << Wire.TIMESPAN;

    private final Limits limits;
    private byte[] bytes = {};
    private int begin;
    private int end;
    private int at;
    /** Elements that containers have claimed so far, and how many they may. */
    private long declared;

    private int declaredMax;
    /** The number of the field that is expected next. */
    private int fieldNext;

    /** A reader with the default limits, of no bytes. */
    public ValueReader() {
        this(Limits.DEFAULT);
    }

    /**
     * A reader with these limits, of no bytes.
     *
     * @param limits the limits; the depth does not count
     */
    public ValueReader(Limits limits) {
        this.limits = Objects.requireNonNull(limits);
    }

    /**
     * Reads these bytes from their front on.
     *
     * @param bytes the bytes, which are not copied
     * @return this reader
     * @throws ValueException if they are too long
     */
    public ValueReader reset(byte[] bytes) {
        return reset(bytes, 0, bytes.length);
    }

    /**
     * As {@link #reset(byte[])}, of a part of an array.
     *
     * @param bytes the array, which is not copied
     * @param offset where the value begins, in bytes
     * @param length its length in bytes
     * @return this reader
     * @throws ValueException if they are too long
     */
    public ValueReader reset(byte[] bytes, int offset, int length) {
        Objects.checkFromIndexSize(offset, length, bytes.length);
        limits.checkBytes(length);
        this.bytes = bytes;
        begin = offset;
        at = offset;
        end = offset + length;
        declared = 0;
        // Every element takes a byte at least, and the container around it one.
        declaredMax = Math.min(length, limits.elementsMax());
        fieldNext = 0;
        return this;
    }

    /**
     * Where the next value begins.
     *
     * @return bytes from the first one
     */
    public int position() {
        return at - begin;
    }

    /**
     * The type of the next value, which is not taken.
     *
     * @return its type
     * @throws ValueException if there is none
     */
    public Kind kind() {
        return Kind.of(tag());
    }

    /** The next value's tag, which is not taken. */
    int tag() {
        if (at >= end) {
            throw ValueException.truncated(at - begin);
        }
        int tag = bytes[at];
        if (tag < 0 || tag > Wire.TAG_MAX) {
            throw ValueException.tag(at - begin, tag & 0xff);
        }
        return tag;
    }

    /**
     * Takes a none, if one is next.
     *
     * @return whether one was
     */
    public boolean isNone() {
        if (at < end && bytes[at] == Wire.NONE) {
            at++;
            return true;
        }
        return false;
    }

    /**
     * Takes a boolean.
     *
     * @return the boolean
     * @throws ValueException if none is next
     */
    public boolean bool() {
        return bytes[fixed(Wire.BOOLEAN, 2)] != 0;
    }

    /**
     * Takes a count.
     *
     * @return the count, unsigned
     * @throws ValueException if none is next
     */
    public long count() {
        return word(Wire.COUNT);
    }

    /**
     * Takes an integer.
     *
     * @return the integer
     * @throws ValueException if none is next
     */
    public long integer() {
        return word(Wire.INTEGER);
    }

    /**
     * Takes a real.
     *
     * @return the real
     * @throws ValueException if none is next
     */
    public double real() {
        return Wire.unpackReal(word(Wire.REAL));
    }

    /**
     * Takes a timestamp.
     *
     * @return nanoseconds since 1970
     * @throws ValueException if none is next
     */
    public long timestamp() {
        return word(Wire.TIMESTAMP);
    }

    /**
     * Takes a timespan.
     *
     * @return nanoseconds
     * @throws ValueException if none is next
     */
    public long timespan() {
        return word(Wire.TIMESPAN);
    }

    /**
     * Takes an address.
     *
     * @return the address
     * @throws ValueException if none is next
     */
    public Address address() {
        int place = fixed(Wire.ADDRESS, 17);
        return new Address(Wire.getLong(bytes, place), Wire.getLong(bytes, place + 8));
    }

    /**
     * Takes a subnet.
     *
     * @return the subnet
     * @throws ValueException if none is next
     */
    public Subnet subnet() {
        int place = fixed(Wire.SUBNET, 18);
        Address network = new Address(Wire.getLong(bytes, place), Wire.getLong(bytes, place + 8));
        return new Subnet(network, bytes[place + 16] & 0xff);
    }

    /**
     * Takes a port.
     *
     * @return the port
     * @throws ValueException if none is next, or of an unknown protocol
     */
    public Port port() {
        int place = fixed(Wire.PORT, Wire.PORT_BYTES);
        Wire.checkProtocol(bytes, place - 1, begin);
        return new Port(Wire.getShort(bytes, place), Protocol.of(bytes[place + 2]));
    }

    /**
     * Takes a string.
     *
     * @return the string; what is not UTF-8 is replaced by U+FFFD
     * @throws ValueException if none is next
     */
    public String string() {
        long string = text(Wire.STRING);
        return new String(bytes, (int) string, (int) (string >>> 32), StandardCharsets.UTF_8);
    }

    /**
     * Takes a string's bytes.
     *
     * @return a copy of them
     * @throws ValueException if none is next
     */
    public byte[] bytes() {
        long string = text(Wire.STRING);
        return java.util.Arrays.copyOfRange(bytes, (int) string, (int) string + (int) (string >>> 32));
    }

    /**
     * Takes an enumeration value's name.
     *
     * @return the name; what is not UTF-8 is replaced by U+FFFD
     * @throws ValueException if none is next
     */
    public String enumName() {
        long string = text(Wire.ENUM);
        return new String(bytes, (int) string, (int) (string >>> 32), StandardCharsets.UTF_8);
    }

    /**
     * Takes a vector's head.
     *
     * @return how many values follow
     * @throws ValueException if none is next
     */
    public int list() {
        return head(Wire.VECTOR);
    }

    /**
     * Takes a set's head.
     *
     * @return how many values follow
     * @throws ValueException if none is next
     */
    public int set() {
        return head(Wire.SET);
    }

    /**
     * Takes a table's head.
     *
     * @return how many pairs follow, of a key and a value each
     * @throws ValueException if none is next
     */
    public int table() {
        fieldNext = 0;
        return head(Wire.TABLE);
    }

    /**
     * Takes a table's key and tells which field it is.
     *
     * @param fields the fields that are known
     * @return the field's number; -1 for any other key, be it a string or not
     * @throws ValueException if no value is next
     */
    public int field(Fields fields) {
        if (tag() != Wire.STRING) {
            skip();
            return -1;
        }
        long string = text(Wire.STRING);
        int number = fields.find(bytes, (int) string, (int) (string >>> 32), fieldNext);
        if (number >= 0) {
            fieldNext = number + 1;
        }
        return number;
    }

    /**
     * Passes over the next value, with all that is in it.
     *
     * @throws ValueException if there is none, or it is wrong
     */
    public void skip() {
        byte[] bytes = this.bytes;
        int end = this.end;
        int at = this.at;
        // Never more than there are bytes, which the check of a container's elements sees to.
        long left = 1;
        do {
            left--;
            if (at >= end) {
                throw ValueException.truncated(at - begin);
            }
            int tag = bytes[at];
            if (tag < 0 || tag > Wire.TAG_MAX) {
                throw ValueException.tag(at - begin, tag & 0xff);
            }
            int step = Wire.STEPS[tag];
            if (step != 0) {
                if (step > end - at) {
                    throw ValueException.truncated(at + 1 - begin);
                }
                at += step;
            } else if (tag == Wire.STRING || tag == Wire.ENUM) {
                long string = Wire.string(bytes, at, end, begin);
                at = (int) string + (int) (string >>> 32);
            } else if (tag == Wire.PORT) {
                if (end - at < Wire.PORT_BYTES) {
                    throw ValueException.truncated(at + 1 - begin);
                }
                Wire.checkProtocol(bytes, at, begin);
                at += Wire.PORT_BYTES;
            } else {
                this.at = at;
                int elements = elements(tag == Wire.TABLE ? 2 : 1);
                left += tag == Wire.TABLE ? elements * 2L : elements;
                at = this.at;
            }
        } while (left > 0);
        this.at = at;
    }

    /**
     * Checks that nothing is left.
     *
     * @throws ValueException if bytes are left
     */
    public void finish() {
        if (at != end) {
            throw ValueException.trailingBytes(at - begin, end - at);
        }
    }

    /**
     * Goes one step down; whether there is something. Of a table, passes over what stands in front of the field. Where
     * there is nothing, the value, or a container's head, is taken.
     */
    boolean goTo(Step step) {
        int tag = tag();
        if (step instanceof Field field && tag == Wire.TABLE) {
            return goToField(field);
        }
        if (tag < Wire.SET) {
            skip();
            return false;
        }
        int count = head(tag);
        int index = step instanceof Step.Index at ? at.index() : -1;
        if (tag != Wire.VECTOR || index < 0 || index >= count) {
            return false;
        }
        for (int passed = 0; passed < index; passed++) {
            skip();
        }
        return true;
    }

    private boolean goToField(Field field) {
        int left = table();
        byte[] bytes = this.bytes;
        int end = this.end;
        int at = this.at;
        for (; left > 0; left--) {
            int length;
            if (end - at >= 2 && bytes[at] == Wire.STRING && (length = bytes[at + 1]) >= 0 && length <= end - at - 2) {
                at += 2 + length;
                if (field.is(bytes, at - length, length)) {
                    this.at = at;
                    return true;
                }
            } else {
                this.at = at;
                if (tag() == Wire.STRING) {
                    long string = text(Wire.STRING);
                    if (field.is(bytes, (int) string, (int) (string >>> 32))) {
                        return true;
                    }
                } else {
                    skip();
                }
                at = this.at;
            }
            at = skip(bytes, at, end);
        }
        this.at = at;
        return false;
    }

    /**
     * Passes over the value at a place; gives where it ends. The types that are met most are told apart by branches: a
     * processor guesses those and goes on, where it would have to wait for a length out of a table.
     */
    private int skip(byte[] bytes, int at, int end) {
        int left = end - at;
        if (left >= 2) {
            int tag = bytes[at];
            if (tag == Wire.STRING || tag == Wire.ENUM) {
                int length = bytes[at + 1];
                if (length >= 0 && length <= left - 2) {
                    return at + 2 + length;
                }
            } else if (tag == Wire.BOOLEAN) {
                return at + 2;
            } else if (left >= 9 && tag >= 0 && tag < 16 && (WORDS >>> tag & 1) != 0) {
                return at + 9;
            } else if (left >= 17 && tag == Wire.ADDRESS) {
                return at + 17;
            }
        }
        this.at = at;
        skip();
        return this.at;
    }

    /** Where the next value begins in the array. */
    int place() {
        return at;
    }

    /** Takes a value of so many bytes, tag included, and gives where what is behind its tag begins. */
    private int fixed(int tag, int width) {
        int place = at + 1;
        if (width > end - at || bytes[at] != tag) {
            throw mismatch(tag);
        }
        at += width;
        return place;
    }

    private long word(int tag) {
        return Wire.getLong(bytes, fixed(tag, 9));
    }

    /** Takes a string or name and gives where its bytes are, as {@link Wire#string} does. */
    long text(int tag) {
        if (at >= end || bytes[at] != tag) {
            throw mismatch(tag);
        }
        long string = Wire.string(bytes, at, end, begin);
        at = (int) string + (int) (string >>> 32);
        return string;
    }

    /** Takes a container's head. */
    int head(int tag) {
        if (at >= end || bytes[at] != tag) {
            throw mismatch(tag);
        }
        return elements(tag == Wire.TABLE ? 2 : 1);
    }

    /** All containers' elements together are no more than there are bytes or than the limit. */
    private int elements(int width) {
        int position = at + 1;
        long size = Wire.size(bytes, position, end, begin);
        long values = Wire.sizeOf(size) * width;
        int rest = end - Wire.endOf(size);
        declared += values;
        if (declared > declaredMax || values > rest) {
            // What cannot be there at all is cut off; the rest is over the limit.
            throw values > rest || declared > end - begin
                    ? ValueException.truncated(position - begin)
                    : ValueException.tooManyElements(position - begin, limits.elementsMax());
        }
        at = Wire.endOf(size);
        return (int) Wire.sizeOf(size);
    }

    /** The bytes that are read. */
    byte[] array() {
        return bytes;
    }

    private ValueException mismatch(int expected) {
        int found = tag();
        return found == expected
                ? ValueException.truncated(at + 1 - begin)
                : ValueException.type(at - begin, Kind.of(found), Kind.of(expected));
    }
}
