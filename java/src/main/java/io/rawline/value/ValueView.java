package io.rawline.value;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.AbstractList;
import java.util.Arrays;
import java.util.List;

/**
 * A view of a value in the bytes that it was decoded from: small, immutable, and thread-safe as long as the bytes and
 * the decoder's memory don't change ({@link Envelope} owns both).
 *
 * <p>{@code as…()} throws for another type, {@code as…(fallback)} returns the fallback; types are never converted.
 * {@link #size}, {@link #get(int)}, {@link #get(Field)} and similar methods read a container's elements, and return
 * {@link #NONE} if there is no such element. Scalars are read without allocation, strings are decoded when they are
 * asked for. Views are compared by value, also over different bytes.
 */
public final class ValueView implements Comparable<ValueView> {
    /** A none without bytes: stands for an element or a field that doesn't exist. */
    public static final ValueView NONE = new ValueView(new byte[1], Nodes.EMPTY, 0);

    /** The array that holds the value. */
    final byte[] bytes;

    final long[] nodes;
    final long node;

    ValueView(byte[] bytes, long[] nodes, long node) {
        this.bytes = bytes;
        this.nodes = nodes;
        this.node = node;
    }

    /**
     * Decodes a value, with a new index. Reusing a {@link ValueDecoder} saves the allocation.
     *
     * @param bytes the bytes, which are not copied
     * @return the view
     * @throws ValueException the bytes are not exactly one value within the default limits
     */
    public static ValueView of(byte[] bytes) {
        return new ValueDecoder().decode(bytes);
    }

    /**
     * The value's type.
     *
     * @return its type
     */
    public Kind kind() {
        return Kind.of(Nodes.tag(node));
    }

    /**
     * Whether there is a value; a none is one.
     *
     * @return false only for {@link #NONE}
     */
    public boolean isPresent() {
        return this != NONE;
    }

    /**
     * Whether this is a none, or there is no value.
     *
     * @return whether it is
     */
    public boolean isNone() {
        return Nodes.tag(node) == Wire.NONE;
    }

    /**
     * A boolean.
     *
     * @return the boolean
     * @throws ValueException the value is of another type
     */
    public boolean asBoolean() {
        int at = place(Wire.BOOLEAN);
        return bytes[at] != 0;
    }

    /**
     * A boolean, or the fallback for another type.
     *
     * @param fallback the result for another type
     * @return the boolean
     */
    public boolean asBoolean(boolean fallback) {
        if (Nodes.tag(node) != Wire.BOOLEAN) {
            return fallback;
        }
        int at = Nodes.position(node) + 1;
        return bytes[at] != 0;
    }

    /**
     * A count.
     *
     * @return the count, unsigned
     * @throws ValueException the value is of another type
     */
    public long asCount() {
        int at = place(Wire.COUNT);
        return Wire.getLong(bytes, at);
    }

    /**
     * A count, or the fallback for another type.
     *
     * @param fallback the result for another type
     * @return the count, unsigned
     */
    public long asCount(long fallback) {
        if (Nodes.tag(node) != Wire.COUNT) {
            return fallback;
        }
        int at = Nodes.position(node) + 1;
        return Wire.getLong(bytes, at);
    }

    /**
     * An integer.
     *
     * @return the integer
     * @throws ValueException the value is of another type
     */
    public long asInteger() {
        int at = place(Wire.INTEGER);
        return Wire.getLong(bytes, at);
    }

    /**
     * An integer, or the fallback for another type.
     *
     * @param fallback the result for another type
     * @return the integer
     */
    public long asInteger(long fallback) {
        if (Nodes.tag(node) != Wire.INTEGER) {
            return fallback;
        }
        int at = Nodes.position(node) + 1;
        return Wire.getLong(bytes, at);
    }

    /**
     * A real.
     *
     * @return the real
     * @throws ValueException the value is of another type
     */
    public double asReal() {
        int at = place(Wire.REAL);
        return Wire.unpackReal(Wire.getLong(bytes, at));
    }

    /**
     * A real, or the fallback for another type.
     *
     * @param fallback the result for another type
     * @return the real
     */
    public double asReal(double fallback) {
        if (Nodes.tag(node) != Wire.REAL) {
            return fallback;
        }
        int at = Nodes.position(node) + 1;
        return Wire.unpackReal(Wire.getLong(bytes, at));
    }

    /**
     * A timestamp.
     *
     * @return the nanoseconds since 1970
     * @throws ValueException the value is of another type
     */
    public long asTimestamp() {
        int at = place(Wire.TIMESTAMP);
        return Wire.getLong(bytes, at);
    }

    /**
     * A timestamp, or the fallback for another type.
     *
     * @param fallback the result for another type
     * @return the nanoseconds since 1970
     */
    public long asTimestamp(long fallback) {
        if (Nodes.tag(node) != Wire.TIMESTAMP) {
            return fallback;
        }
        int at = Nodes.position(node) + 1;
        return Wire.getLong(bytes, at);
    }

    /**
     * A timespan.
     *
     * @return the nanoseconds
     * @throws ValueException the value is of another type
     */
    public long asTimespan() {
        int at = place(Wire.TIMESPAN);
        return Wire.getLong(bytes, at);
    }

    /**
     * A timespan, or the fallback for another type.
     *
     * @param fallback the result for another type
     * @return the nanoseconds
     */
    public long asTimespan(long fallback) {
        if (Nodes.tag(node) != Wire.TIMESPAN) {
            return fallback;
        }
        int at = Nodes.position(node) + 1;
        return Wire.getLong(bytes, at);
    }

    /**
     * An address.
     *
     * @return the address
     * @throws ValueException the value is of another type
     */
    public Address asAddress() {
        int at = place(Wire.ADDRESS);
        return new Address(Wire.getLong(bytes, at), Wire.getLong(bytes, at + 8));
    }

    /**
     * An address, or the fallback for another type.
     *
     * @param fallback the result for another type
     * @return the address
     */
    public Address asAddress(Address fallback) {
        if (Nodes.tag(node) != Wire.ADDRESS) {
            return fallback;
        }
        int at = Nodes.position(node) + 1;
        return new Address(Wire.getLong(bytes, at), Wire.getLong(bytes, at + 8));
    }

    /**
     * A subnet.
     *
     * @return the subnet
     * @throws ValueException the value is of another type
     */
    public Subnet asSubnet() {
        int at = place(Wire.SUBNET);
        return new Subnet(new Address(Wire.getLong(bytes, at), Wire.getLong(bytes, at + 8)), bytes[at + 16] & 0xff);
    }

    /**
     * A subnet, or the fallback for another type.
     *
     * @param fallback the result for another type
     * @return the subnet
     */
    public Subnet asSubnet(Subnet fallback) {
        if (Nodes.tag(node) != Wire.SUBNET) {
            return fallback;
        }
        int at = Nodes.position(node) + 1;
        return new Subnet(new Address(Wire.getLong(bytes, at), Wire.getLong(bytes, at + 8)), bytes[at + 16] & 0xff);
    }

    /**
     * A port.
     *
     * @return the port
     * @throws ValueException the value is of another type
     */
    public Port asPort() {
        int at = place(Wire.PORT);
        return new Port(Wire.getShort(bytes, at), Protocol.of(bytes[at + 2]));
    }

    /**
     * A port, or the fallback for another type.
     *
     * @param fallback the result for another type
     * @return the port
     */
    public Port asPort(Port fallback) {
        if (Nodes.tag(node) != Wire.PORT) {
            return fallback;
        }
        int at = Nodes.position(node) + 1;
        return new Port(Wire.getShort(bytes, at), Protocol.of(bytes[at + 2]));
    }

    /**
     * A string as text; invalid UTF-8 is replaced by U+FFFD.
     *
     * @return the text
     * @throws ValueException the value is of another type
     */
    public String asString() {
        place(Wire.STRING);
        return text();
    }

    /**
     * A string as text, or the fallback for another type.
     *
     * @param fallback the result for another type
     * @return the text; invalid UTF-8 is replaced by U+FFFD
     */
    public String asString(String fallback) {
        return Nodes.tag(node) == Wire.STRING ? text() : fallback;
    }

    /**
     * An enumerator's name as text; invalid UTF-8 is replaced by U+FFFD.
     *
     * @return the text
     * @throws ValueException the value is of another type
     */
    public String asEnum() {
        place(Wire.ENUM);
        return text();
    }

    /**
     * An enumerator's name as text, or the fallback for another type.
     *
     * @param fallback the result for another type
     * @return the text; invalid UTF-8 is replaced by U+FFFD
     */
    public String asEnum(String fallback) {
        return Nodes.tag(node) == Wire.ENUM ? text() : fallback;
    }

    /**
     * The bytes of a string or of an enumerator's name.
     *
     * @return a copy of them
     * @throws ValueException the value is of another type
     */
    public byte[] asBytes() {
        int at = textPlace();
        return Arrays.copyOfRange(bytes, at, at + Order.stringLength(bytes, node));
    }

    /**
     * The bytes of a string or of an enumerator's name, not copied.
     *
     * @return a read-only buffer over them
     * @throws ValueException the value is of another type
     */
    public ByteBuffer asBuffer() {
        int at = textPlace();
        return ByteBuffer.wrap(bytes, at, Order.stringLength(bytes, node))
                .slice()
                .asReadOnlyBuffer();
    }

    /**
     * Whether this is a string that equals the field's name; allocates nothing.
     *
     * @param name the text to compare with
     * @return whether it is
     */
    public boolean isString(Field name) {
        return Nodes.tag(node) == Wire.STRING && name.is(bytes, Nodes.link(node), Order.stringLength(bytes, node));
    }

    /**
     * Number of elements of a vector or set, or of pairs of a table.
     *
     * @return 0 or more; 0 for other types
     */
    public int size() {
        return Nodes.tag(node) == Wire.TABLE ? children() / 2 : children();
    }

    /**
     * An element of a vector, or of a set in ascending order, in O(1).
     *
     * @param index its index from 0
     * @return the element; {@link #NONE} after the end, and for other types
     */
    public ValueView get(int index) {
        int tag = Nodes.tag(node);
        if (tag != Wire.VECTOR && tag != Wire.SET || index < 0 || index >= children()) {
            return NONE;
        }
        return child(index);
    }

    /**
     * A table's key, in ascending order, in O(1).
     *
     * @param index the pair's index from 0
     * @return the key; {@link #NONE} after the end, and for other types
     */
    public ValueView keyAt(int index) {
        return index < 0 || index >= pairs() ? NONE : child(2 * index);
    }

    /**
     * A table's value, in the ascending order of the keys, in O(1).
     *
     * @param index the pair's index from 0
     * @return the value; {@link #NONE} after the end, and for other types
     */
    public ValueView valueAt(int index) {
        return index < 0 || index >= pairs() ? NONE : child(2 * index + 1);
    }

    /**
     * A field of a table. In O(1) if the field had the same position in the table that was searched before, as in
     * tables of one schema; else in O(log n).
     *
     * @param field the field
     * @return the value; {@link #NONE} if not found, and for other types
     */
    public ValueView get(Field field) {
        int pairs = pairs();
        if (pairs == 0) {
            return NONE;
        }
        int first = Nodes.link(node) + 1;
        int place = field.place;
        if (place < pairs && Lookup.isKey(bytes, nodes[first + 2 * place], field)) {
            return new ValueView(bytes, nodes, nodes[first + 2 * place + 1]);
        }
        place = Lookup.find(bytes, nodes, first, pairs, field.encoded, field.start, field.length);
        if (place < 0) {
            return NONE;
        }
        field.place = place;
        return new ValueView(bytes, nodes, nodes[first + 2 * place + 1]);
    }

    /**
     * The value of a table's key that is a string, in O(log n). For a name that is used often, make a {@link Field}.
     *
     * @param key the key
     * @return the value; {@link #NONE} if not found, and for other types
     */
    public ValueView get(String key) {
        byte[] name = key.getBytes(StandardCharsets.UTF_8);
        int place = Lookup.find(bytes, nodes, Nodes.link(node) + 1, pairs(), name, 0, name.length);
        return place < 0 ? NONE : child(2 * place + 1);
    }

    /**
     * The value of a table's key of any type, in O(log n).
     *
     * @param key the key
     * @return the value; {@link #NONE} if not found, and for other types
     */
    public ValueView get(ValueView key) {
        int place = pairs() == 0 ? -1 : Lookup.find(this, 2, key);
        return place < 0 ? NONE : child(2 * place + 1);
    }

    /**
     * Whether a set contains a value, or a table a key, in O(log n).
     *
     * @param value the value or key
     * @return whether it does; false for other types
     */
    public boolean contains(ValueView value) {
        int tag = Nodes.tag(node);
        return tag == Wire.SET && Lookup.find(this, 1, value) >= 0
                || tag == Wire.TABLE && Lookup.find(this, 2, value) >= 0;
    }

    /**
     * The elements of a vector, or of a set in ascending order.
     *
     * @return a list over the same bytes; empty for other types
     */
    public List<ValueView> elements() {
        int count = Nodes.tag(node) == Wire.TABLE ? 0 : children();
        return new AbstractList<>() {
            @Override
            public ValueView get(int index) {
                return child(java.util.Objects.checkIndex(index, count));
            }

            @Override
            public int size() {
                return count;
            }
        };
    }

    /**
     * The value's bytes, unchanged: a complete value, which can be sent separately.
     *
     * @return a copy of them
     */
    public byte[] toByteArray() {
        return Arrays.copyOfRange(bytes, Nodes.position(node), end());
    }

    /**
     * The value as an owned tree. Recurses as deep as the value is.
     *
     * @return a copy
     */
    public Value toValue() {
        return Trees.of(this);
    }

    /** Where the value ends in the array. */
    int end() {
        int at = Nodes.position(node);
        int tag = Nodes.tag(node);
        return switch (tag) {
            case Wire.STRING, Wire.ENUM -> Nodes.link(node) + Order.stringLength(bytes, node);
            case Wire.SET, Wire.TABLE, Wire.VECTOR -> Nodes.end(nodes[Nodes.link(node)]);
            case Wire.PORT -> at + Wire.PORT_BYTES;
            default -> at + Wire.STEPS[tag];
        };
    }

    /** Number of values in a container, a table's keys and values counted separately; 0 for another type. */
    int children() {
        return Nodes.tag(node) < Wire.SET ? 0 : Nodes.children(nodes[Nodes.link(node)]);
    }

    ValueView child(int index) {
        return new ValueView(bytes, nodes, nodes[Nodes.link(node) + 1 + index]);
    }

    private int pairs() {
        return Nodes.tag(node) == Wire.TABLE ? children() / 2 : 0;
    }

    private String text() {
        return new String(bytes, Nodes.link(node), Order.stringLength(bytes, node), StandardCharsets.UTF_8);
    }

    private int textPlace() {
        if (Nodes.tag(node) != Wire.ENUM) {
            place(Wire.STRING);
        }
        return Nodes.link(node);
    }

    /** The position after the tag, if the value is of this type. */
    private int place(int tag) {
        if (Nodes.tag(node) != tag) {
            throw ValueException.type(Nodes.position(node), kind(), Kind.of(tag));
        }
        return Nodes.position(node) + 1;
    }

    /** By type, then within the type, as the format orders sets; a NaN sorts last. */
    @Override
    public int compareTo(ValueView other) {
        return Order.compare(bytes, nodes, node, other.bytes, other.nodes, other.node, false);
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof ValueView view && compareTo(view) == 0;
    }

    @Override
    public int hashCode() {
        return Lookup.hash(this);
    }

    /** The value as human-readable JSON. */
    @Override
    public String toString() {
        return PlainJson.toString(bytes, Nodes.position(node), end() - Nodes.position(node));
    }
}
