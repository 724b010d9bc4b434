package io.rawline.value;

import java.nio.charset.StandardCharsets;
import java.util.Objects;

/**
 * Reads values in sequence, without an index: the fastest way to turn bytes into objects of a known shape. A container
 * is read as its head; its elements are the next values.
 *
 * <p>It checks what it reads: types, lengths, and numbers of elements against the bytes. It checks neither duplicates
 * in sets and tables nor the depth, since it doesn't recurse. {@link #reset} reuses it; it allocates only what it
 * returns. Not thread-safe.
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
    /** A bit for each tag of a type of eight bytes. */
    private static final int WORDS =
            1 << Wire.COUNT | 1 << Wire.INTEGER | 1 << Wire.REAL | 1 << Wire.TIMESTAMP | 1 << Wire.TIMESPAN;

    final Limits limits;
    byte[] bytes = {};
    int begin;
    int end;
    int at;
    /** Levels of what generated codecs are reading. */
    int levels;
    /** Number of elements that containers have claimed so far, and its limit. */
    long declared;

    private int declaredMax;
    /** The number of the field that is expected next. */
    private int fieldNext;

    /** A reader with the default limits, without bytes. */
    public ValueReader() {
        this(Limits.DEFAULT);
    }

    /**
     * A reader with these limits, without bytes.
     *
     * @param limits the limits, of which the depth is ignored
     */
    public ValueReader(Limits limits) {
        this.limits = Objects.requireNonNull(limits);
    }

    /**
     * Starts at the first of these bytes.
     *
     * @param bytes the bytes, which are not copied
     * @return this reader
     * @throws ValueException they are too long
     */
    public ValueReader reset(byte[] bytes) {
        return reset(bytes, 0, bytes.length);
    }

    /**
     * As {@link #reset(byte[])}, of a part of an array.
     *
     * @param bytes the array, which is not copied
     * @param offset where the value starts, in bytes
     * @param length its length in bytes
     * @return this reader
     * @throws ValueException they are too long
     */
    public ValueReader reset(byte[] bytes, int offset, int length) {
        Objects.checkFromIndexSize(offset, length, bytes.length);
        limits.checkBytes(length);
        this.bytes = bytes;
        begin = offset;
        at = offset;
        end = offset + length;
        declared = 0;
        // Every element takes at least a byte, and so does the container.
        declaredMax = Math.min(length, limits.elementsMax());
        fieldNext = 0;
        levels = 0;
        return this;
    }

    /**
     * The position of the next value.
     *
     * @return bytes from the start
     */
    public int position() {
        return at - begin;
    }

    /**
     * The type of the next value, without consuming it.
     *
     * @return its type
     * @throws ValueException there are no more values
     */
    public Kind kind() {
        return Kind.of(tag());
    }

    /** The next value's tag, without consuming it. */
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
     * Reads a none, if one is next.
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
     * Reads a boolean.
     *
     * @return the boolean
     * @throws ValueException the next value is of another type or missing
     */
    public boolean bool() {
        return bytes[fixed(Wire.BOOLEAN, 2)] != 0;
    }

    /**
     * Reads a count.
     *
     * @return the count, unsigned
     * @throws ValueException the next value is of another type or missing
     */
    public long count() {
        return word(Wire.COUNT);
    }

    /**
     * Reads an integer.
     *
     * @return the integer
     * @throws ValueException the next value is of another type or missing
     */
    public long integer() {
        return word(Wire.INTEGER);
    }

    /**
     * Reads a real.
     *
     * @return the real
     * @throws ValueException the next value is of another type or missing
     */
    public double real() {
        return Wire.unpackReal(word(Wire.REAL));
    }

    /**
     * Reads a timestamp.
     *
     * @return nanoseconds since 1970
     * @throws ValueException the next value is of another type or missing
     */
    public long timestamp() {
        return word(Wire.TIMESTAMP);
    }

    /**
     * Reads a timespan.
     *
     * @return nanoseconds
     * @throws ValueException the next value is of another type or missing
     */
    public long timespan() {
        return word(Wire.TIMESPAN);
    }

    /**
     * Reads an address.
     *
     * @return the address
     * @throws ValueException the next value is of another type or missing
     */
    public Address address() {
        int place = fixed(Wire.ADDRESS, 17);
        return new Address(Wire.getLong(bytes, place), Wire.getLong(bytes, place + 8));
    }

    /**
     * Reads a subnet.
     *
     * @return the subnet
     * @throws ValueException the next value is of another type or missing
     */
    public Subnet subnet() {
        int place = fixed(Wire.SUBNET, 18);
        Address network = new Address(Wire.getLong(bytes, place), Wire.getLong(bytes, place + 8));
        return new Subnet(network, bytes[place + 16] & 0xff);
    }

    /**
     * Reads a port.
     *
     * @return the port
     * @throws ValueException the next value is of another type or has an unknown protocol
     */
    public Port port() {
        int place = fixed(Wire.PORT, Wire.PORT_BYTES);
        Wire.checkProtocol(bytes, place - 1, begin);
        return new Port(Wire.getShort(bytes, place), Protocol.of(bytes[place + 2]));
    }

    /**
     * Reads a string.
     *
     * @return the string; invalid UTF-8 is replaced by U+FFFD
     * @throws ValueException the next value is of another type or missing
     */
    public String string() {
        long string = text(Wire.STRING);
        return new String(bytes, (int) string, (int) (string >>> 32), StandardCharsets.UTF_8);
    }

    /**
     * Reads a string's bytes.
     *
     * @return a copy of them
     * @throws ValueException the next value is of another type or missing
     */
    public byte[] bytes() {
        long string = text(Wire.STRING);
        return java.util.Arrays.copyOfRange(bytes, (int) string, (int) string + (int) (string >>> 32));
    }

    /**
     * Reads an enumerator's name.
     *
     * @return the name; invalid UTF-8 is replaced by U+FFFD
     * @throws ValueException the next value is of another type or missing
     */
    public String enumName() {
        long string = text(Wire.ENUM);
        return new String(bytes, (int) string, (int) (string >>> 32), StandardCharsets.UTF_8);
    }

    /**
     * Reads a vector's head.
     *
     * @return number of values that follow
     * @throws ValueException the next value is of another type or missing
     */
    public int list() {
        return head(Wire.VECTOR);
    }

    /**
     * Reads a set's head.
     *
     * @return number of values that follow
     * @throws ValueException the next value is of another type or missing
     */
    public int set() {
        return head(Wire.SET);
    }

    /**
     * Reads a table's head.
     *
     * @return number of pairs that follow, a key and a value each
     * @throws ValueException the next value is of another type or missing
     */
    public int table() {
        fieldNext = 0;
        return head(Wire.TABLE);
    }

    /**
     * Reads a table's key and finds its field.
     *
     * @param fields the known fields
     * @return the field's number; -1 for any other key, whatever its type
     * @throws ValueException there is no value
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
     * Skips the next value, with everything in it.
     *
     * @throws ValueException there are no more values, or the next one is invalid
     */
    public void skip() {
        byte[] bytes = this.bytes;
        int end = this.end;
        int at = this.at;
        // Never more than there are bytes: the check of a container's elements ensures it.
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
     * Checks that all bytes are read.
     *
     * @throws ValueException bytes are left
     */
    public void finish() {
        if (at != end) {
            throw ValueException.trailingBytes(at - begin, end - at);
        }
    }

    /**
     * Takes one step of a path; returns whether there is a value. In a table, skips what precedes the field. If there
     * is no value, the current value, or a container's head, is consumed.
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
     * Skips the value at a position; returns where it ends. The most frequent types are distinguished by branches: a
     * processor predicts those and continues, but has to wait for a length from a table.
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

    /** The next value's position in the array. */
    int place() {
        return at;
    }

    /** Consumes a value of {@code bytes} bytes, tag included, and returns the position after the tag. */
    private int fixed(int tag, int width) {
        int place = at + 1;
        if (width > end - at || bytes[at] != tag) {
            throw mismatch(tag);
        }
        at += width;
        return place;
    }

    long word(int tag) {
        return Wire.getLong(bytes, fixed(tag, 9));
    }

    /** Consumes a string or name and returns where its bytes are, as {@link Wire#string} does. */
    long text(int tag) {
        if (at >= end || bytes[at] != tag) {
            throw mismatch(tag);
        }
        long string = Wire.string(bytes, at, end, begin);
        at = (int) string + (int) (string >>> 32);
        return string;
    }

    /** Consumes a container's head. */
    int head(int tag) {
        if (at >= end || bytes[at] != tag) {
            throw mismatch(tag);
        }
        return elements(tag == Wire.TABLE ? 2 : 1);
    }

    /** All containers' elements together are limited by the number of bytes and by the limit. */
    private int elements(int width) {
        int position = at + 1;
        long size = Wire.size(bytes, position, end, begin);
        long values = Wire.sizeOf(size) * width;
        int rest = end - Wire.endOf(size);
        declared += values;
        if (declared > declaredMax || values > rest) {
            // More elements than bytes means a truncated value; otherwise it is over the limit.
            throw values > rest || declared > end - begin
                    ? ValueException.truncated(position - begin)
                    : ValueException.tooManyElements(position - begin, limits.elementsMax());
        }
        at = Wire.endOf(size);
        return (int) Wire.sizeOf(size);
    }

    /** The array. */
    byte[] array() {
        return bytes;
    }

    ValueException mismatch(int expected) {
        int found = tag();
        return found == expected
                ? ValueException.truncated(at + 1 - begin)
                : ValueException.type(at - begin, Kind.of(found), Kind.of(expected));
    }
}
