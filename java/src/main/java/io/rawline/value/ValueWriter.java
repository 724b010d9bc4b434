package io.rawline.value;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/**
 * Writes values directly as bytes, into a buffer that grows and is reused: call {@link #clear} before the next value.
 * Once the buffer has grown, nothing is allocated. Not thread-safe.
 *
 * <p>To write a container, begin it, add its elements, and end it; a table's keys and values alternate. One byte is
 * reserved for the number of elements; only with more than 127 elements the bytes after it are moved. Sets and tables
 * keep the order in which they are written, which readers accept; {@link #endSorted} sorts them into the format's
 * order.
 *
 * <pre>{@code
 * static final Field UID = Field.of("uid"), QUERY = Field.of("query");
 *
 * writer.clear();
 * writer.beginTable().key(UID).add("CHhAvV").key(QUERY).add("example.com").end();
 * byte[] bytes = writer.toByteArray();
 * }</pre>
 *
 * <p>The writer doesn't check for several values in sequence or for duplicate keys: readers refuse them. Calls that
 * don't match, such as the end of a table after a key, throw {@link IllegalStateException}.
 */
public final class ValueWriter {
    private static final int BYTES_MAX = Integer.MAX_VALUE - 64;

    /** Bytes kept free after the written ones: a field's name of up to 24 bytes and a word are stored unchecked. */
    static final int SLACK_BYTES = 64;

    /**
     * Maximum length of a string whose characters are copied one by one, if each is one byte: for these, any call costs
     * more.
     */
    private static final int SHORT_CHARACTERS_MAX = 64;

    byte[] bytes;
    int length;
    /** Values added to the innermost container. */
    int count;
    /** Levels of what generated codecs are writing, and elements of their containers. */
    int levels;

    int elements;
    /** For each open container: the position of its count, and the number of values of the enclosing one. */
    private int[] open = new int[32];

    private int depth;
    private Sorted sorted;

    /** A writer with capacity for a small record. */
    public ValueWriter() {
        this(512);
    }

    /**
     * A writer with an initial capacity.
     *
     * @param bytesExpected capacity in bytes
     */
    public ValueWriter(int bytesExpected) {
        bytes = new byte[Math.max(bytesExpected, 0) + SLACK_BYTES];
    }

    /**
     * Removes what was written and keeps the memory.
     *
     * @return this writer
     */
    public ValueWriter clear() {
        length = 0;
        count = 0;
        depth = 0;
        levels = 0;
        elements = 0;
        return this;
    }

    /**
     * Adds a none.
     *
     * @return this writer
     */
    public ValueWriter addNone() {
        ensure(1);
        bytes[length++] = Wire.NONE;
        count++;
        return this;
    }

    /**
     * Adds a boolean.
     *
     * @param value the boolean
     * @return this writer
     */
    public ValueWriter add(boolean value) {
        ensure(2);
        Wire.putShort(bytes, length, Wire.BOOLEAN << 8 | (value ? 1 : 0));
        length += 2;
        count++;
        return this;
    }

    /**
     * Adds a count.
     *
     * @param value the count, unsigned
     * @return this writer
     */
    public ValueWriter addCount(long value) {
        return addWord(Wire.COUNT, value);
    }

    /**
     * Adds an integer.
     *
     * @param value the integer
     * @return this writer
     */
    public ValueWriter addInteger(long value) {
        return addWord(Wire.INTEGER, value);
    }

    /**
     * Adds a real. The format has no subnormal numbers below 2^-1023: they are written as zero.
     *
     * @param value the real
     * @return this writer
     */
    public ValueWriter add(double value) {
        return addWord(Wire.REAL, Wire.packReal(value));
    }

    /**
     * Adds a timestamp.
     *
     * @param nanoseconds since 1970
     * @return this writer
     */
    public ValueWriter addTimestamp(long nanoseconds) {
        return addWord(Wire.TIMESTAMP, nanoseconds);
    }

    /**
     * Adds a timespan.
     *
     * @param nanoseconds its length
     * @return this writer
     */
    public ValueWriter addTimespan(long nanoseconds) {
        return addWord(Wire.TIMESPAN, nanoseconds);
    }

    /**
     * Adds an address.
     *
     * @param address the address
     * @return this writer
     */
    public ValueWriter add(Address address) {
        return addAddress(address.high(), address.low());
    }

    /**
     * Adds an address.
     *
     * @param high its first eight bytes, big-endian
     * @param low its last eight bytes, big-endian
     * @return this writer
     */
    public ValueWriter addAddress(long high, long low) {
        ensure(17);
        putAddress(Wire.ADDRESS, high, low);
        return this;
    }

    /**
     * Adds a subnet.
     *
     * @param subnet the subnet
     * @return this writer
     */
    public ValueWriter add(Subnet subnet) {
        ensure(18);
        putAddress(Wire.SUBNET, subnet.network().high(), subnet.network().low());
        bytes[length++] = (byte) subnet.prefixBits();
        return this;
    }

    /**
     * Adds a port.
     *
     * @param port the port
     * @return this writer
     */
    public ValueWriter add(Port port) {
        return addPort(port.number(), port.protocol());
    }

    /**
     * Adds a port.
     *
     * @param number 0 to 65535; the low 16 bits of a larger one
     * @param protocol its protocol
     * @return this writer
     */
    public ValueWriter addPort(int number, Protocol protocol) {
        ensure(Wire.PORT_BYTES);
        bytes[length] = Wire.PORT;
        Wire.putShort(bytes, length + 1, number);
        bytes[length + 3] = (byte) protocol.number();
        length += Wire.PORT_BYTES;
        count++;
        return this;
    }

    /**
     * Adds a string, in UTF-8.
     *
     * @param text the string
     * @return this writer
     */
    public ValueWriter add(String text) {
        return addText(Wire.STRING, text);
    }

    /**
     * Adds a string of any bytes.
     *
     * @param text the bytes
     * @return this writer
     */
    public ValueWriter addBytes(byte[] text) {
        return addText(Wire.STRING, text, 0, text.length);
    }

    /**
     * Adds a string of any bytes.
     *
     * @param array an array that holds the bytes
     * @param offset where they start
     * @param length their number
     * @return this writer
     */
    public ValueWriter addBytes(byte[] array, int offset, int length) {
        java.util.Objects.checkFromIndexSize(offset, length, array.length);
        return addText(Wire.STRING, array, offset, length);
    }

    /**
     * Adds an enumerator's name.
     *
     * @param name such as {@code Conn::LOG}
     * @return this writer
     */
    public ValueWriter addEnum(String name) {
        return addText(Wire.ENUM, name);
    }

    /**
     * Adds a tree.
     *
     * @param value any value
     * @return this writer
     */
    public ValueWriter add(Value value) {
        Trees.write(value, this);
        return this;
    }

    /**
     * Adds a copy of a view's bytes, unchanged.
     *
     * @param value any value
     * @return this writer
     */
    public ValueWriter add(ValueView value) {
        int at = Nodes.position(value.node);
        return addEncoded(value.bytes, at, value.end() - at);
    }

    /**
     * Adds a field's name as a table's key; a faster {@code add(field.name())}.
     *
     * @param field the field
     * @return this writer
     */
    public ValueWriter key(Field field) {
        int size = field.size;
        if (size > Field.SHORT_BYTES_MAX) {
            return addEncoded(field.encoded, 0, size);
        }
        ensure(size);
        Wire.putLong(bytes, length, field.first);
        Wire.putLong(bytes, length + 8, field.second);
        length += size;
        count++;
        return this;
    }

    /**
     * Begins a vector.
     *
     * @return this writer
     */
    public ValueWriter beginList() {
        return begin(Wire.VECTOR);
    }

    /**
     * Begins a set.
     *
     * @return this writer
     */
    public ValueWriter beginSet() {
        return begin(Wire.SET);
    }

    /**
     * Begins a table.
     *
     * @return this writer
     */
    public ValueWriter beginTable() {
        return begin(Wire.TABLE);
    }

    /**
     * Ends the innermost container, its elements in the order in which they were added.
     *
     * @return this writer
     * @throws IllegalStateException no container is open, or a table would end after a key
     */
    public ValueWriter end() {
        if (depth == 0) {
            throw new IllegalStateException("no container is open; begin one before you end it");
        }
        int place = open[2 * depth - 2];
        int size = count;
        if (bytes[place - 1] == Wire.TABLE) {
            if ((size & 1) != 0) {
                throw new IllegalStateException("the table's last key has no value; add one before you end the table");
            }
            size >>= 1;
        }
        if (size < 0x80) {
            bytes[place] = (byte) size;
        } else {
            endLong(place, size);
        }
        count = open[2 * depth - 1];
        depth--;
        return this;
    }

    /**
     * Ends the innermost set or table, sorted into the format's order. Allocates if it wasn't sorted. With a duplicate
     * element or key, the container stays as written, and readers refuse it.
     *
     * @return this writer
     * @throws ValueException there is a duplicate element or key, or the container is over {@link Limits#FORMAT}
     * @throws IllegalStateException no container is open, or a table would end after a key
     */
    public ValueWriter endSorted() {
        int begin = depth == 0 ? 0 : open[2 * depth - 2] - 1;
        end();
        if (sorted == null) {
            sorted = new Sorted();
        }
        sorted.sort(bytes, begin, length);
        return this;
    }

    /**
     * Number of bytes written.
     *
     * @return their number
     */
    public int length() {
        return length;
    }

    /**
     * The writer's memory: its first {@link #length} bytes are what was written, until the writer is used again.
     *
     * @return the array, longer than what was written
     * @throws IllegalStateException a container is open
     */
    public byte[] array() {
        checkClosed();
        return bytes;
    }

    /**
     * The written bytes.
     *
     * @return a copy
     * @throws IllegalStateException a container is open
     */
    public byte[] toByteArray() {
        checkClosed();
        return Arrays.copyOf(bytes, length);
    }

    /**
     * The written bytes, without a copy.
     *
     * @return a buffer over it, until the writer is used again
     * @throws IllegalStateException a container is open
     */
    public ByteBuffer toByteBuffer() {
        checkClosed();
        return ByteBuffer.wrap(bytes, 0, length);
    }

    /**
     * Writes the bytes to a stream.
     *
     * @param out the stream
     * @throws IOException the stream failed
     * @throws IllegalStateException a container is open
     */
    public void writeTo(OutputStream out) throws IOException {
        checkClosed();
        out.write(bytes, 0, length);
    }

    ValueWriter begin(int tag) {
        ensure(2);
        if (2 * depth + 1 >= open.length) {
            open = Arrays.copyOf(open, open.length * 2);
        }
        Wire.putShort(bytes, length, tag << 8);
        open[2 * depth] = length + 1;
        open[2 * depth + 1] = count + 1;
        length += 2;
        depth++;
        count = 0;
        return this;
    }

    private ValueWriter addWord(int tag, long word) {
        ensure(9);
        bytes[length] = (byte) tag;
        Wire.putLong(bytes, length + 1, word);
        length += 9;
        count++;
        return this;
    }

    private void putAddress(int tag, long high, long low) {
        bytes[length] = (byte) tag;
        Wire.putLong(bytes, length + 1, high);
        Wire.putLong(bytes, length + 9, low);
        length += 17;
        count++;
    }

    ValueWriter addText(int tag, String text) {
        int characters = text.length();
        if (characters <= SHORT_CHARACTERS_MAX) {
            ensure(2 + SHORT_CHARACTERS_MAX);
            byte[] to = bytes;
            int at = length + 2;
            int all = 0;
            for (int index = 0; index < characters; index++) {
                char character = text.charAt(index);
                all |= character;
                to[at + index] = (byte) character;
            }
            if (all < 0x80) {
                Wire.putShort(to, length, tag << 8 | characters);
                length = at + characters;
                count++;
                return this;
            }
        }
        return addLongText(tag, text);
    }

    /** Separate from short strings, so that the JIT compiler inlines those. */
    private ValueWriter addLongText(int tag, String text) {
        byte[] encoded = text.getBytes(StandardCharsets.UTF_8);
        return addText(tag, encoded, 0, encoded.length);
    }

    ValueWriter addText(int tag, byte[] text, int offset, int size) {
        // There is always room for tag and size.
        ensure(size);
        bytes[length] = (byte) tag;
        int at = Wire.putSize(bytes, length + 1, size);
        System.arraycopy(text, offset, bytes, at, size);
        length = at + size;
        count++;
        return this;
    }

    /** Adds the bytes of exactly one value. */
    ValueWriter addEncoded(byte[] encoded, int at, int size) {
        ensure(size);
        System.arraycopy(encoded, at, bytes, length, size);
        length += size;
        count++;
        return this;
    }

    /** Makes room for the bytes of a size above 127. */
    private void endLong(int place, int size) {
        int more = Wire.sizeBytes(size) - 1;
        ensure(more);
        System.arraycopy(bytes, place + 1, bytes, place + 1 + more, length - place - 1);
        Wire.putSize(bytes, place, size);
        length += more;
    }

    void ensure(int more) {
        if (bytes.length - SLACK_BYTES - length < more) {
            grow(more);
        }
    }

    private void grow(int more) {
        long needed = (long) length + more + SLACK_BYTES;
        if (needed > BYTES_MAX) {
            throw ValueException.tooLong(needed, BYTES_MAX);
        }
        bytes = Arrays.copyOf(bytes, (int) Math.max(needed, Math.min(bytes.length * 2L, BYTES_MAX)));
    }

    private void checkClosed() {
        if (depth > 0) {
            throw new IllegalStateException(depth + " containers are open; end them before you take the bytes");
        }
    }

    // For JSON readers, which may find an error after a part is written.

    /** The current state, to return to with {@link #back}. */
    long[] mark() {
        return new long[] {length, count, depth};
    }

    /** Removes what was written since {@link #mark}. */
    void back(long[] mark) {
        length = (int) mark[0];
        count = (int) mark[1];
        depth = (int) mark[2];
    }

    /** Swaps the bytes from {@code middle} on with those from {@code start} to {@code middle}. */
    void swap(int start, int middle) {
        byte[] first = Arrays.copyOfRange(bytes, start, middle);
        System.arraycopy(bytes, middle, bytes, start, length - middle);
        System.arraycopy(first, 0, bytes, length - first.length, first.length);
    }

    /** The bytes so far, with open containers still incomplete. */
    byte[] memory() {
        return bytes;
    }
}
