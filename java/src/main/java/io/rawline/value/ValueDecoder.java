package io.rawline.value;

import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Objects;

/**
 * Checks bytes and creates views of them. Its memory is reused from value to value: once it has grown, only the view
 * itself is allocated, and earlier views become invalid. Not thread-safe.
 *
 * <p>{@link #decode} checks the whole value; {@link #pick} reads one field and ignores everything after it.
 */
public final class ValueDecoder {
    /**
     * Size of the first part of a buffer without an array that {@link #pick} copies; each further part is eight times
     * as long.
     */
    private static final int PICK_BYTES = 4096;

    private final Limits limits;
    /** Created by the first container that isn't sorted. */
    private Sorter sorter;

    private final ValueReader reader;
    private long[] nodes = new long[64];
    /** The open containers around the current one: the slot of the node, and where its siblings' nodes end. */
    private int[] open = new int[16];
    /** Copies of buffers that have no array. */
    private byte[] copy = {};

    /** A decoder with the default limits. */
    public ValueDecoder() {
        this(Limits.DEFAULT);
    }

    /**
     * A decoder with these limits.
     *
     * @param limits the limits
     */
    public ValueDecoder(Limits limits) {
        this.limits = Objects.requireNonNull(limits);
        reader = new ValueReader(limits);
    }

    /**
     * Decodes a value; the bytes must be exactly one. They are not copied and must not change while the view is used.
     *
     * @param bytes the bytes
     * @return the view, valid until the decoder is used again
     * @throws ValueException the bytes are not exactly one value within the limits
     */
    public ValueView decode(byte[] bytes) {
        return decode(bytes, 0, bytes.length);
    }

    /**
     * As {@link #decode(byte[])}, of a part of an array.
     *
     * @param bytes the array
     * @param offset where the value starts, in bytes
     * @param length its length in bytes
     * @return the view, valid until the decoder is used again
     * @throws ValueException the bytes are not exactly one value within the limits
     */
    public ValueView decode(byte[] bytes, int offset, int length) {
        check(bytes, offset, length);
        int end = index(bytes, offset, length, offset);
        if (end != offset + length) {
            throw ValueException.trailingBytes(end - offset, offset + length - end);
        }
        return new ValueView(bytes, nodes, nodes[0]);
    }

    /**
     * As {@link #decode(byte[])}, of the bytes between a buffer's position and limit, which are not changed. An
     * accessible array is not copied; other buffers are copied into the decoder's memory.
     *
     * @param buffer the buffer
     * @return the view, valid until the decoder is used again
     * @throws ValueException the bytes are not exactly one value within the limits
     */
    public ValueView decode(ByteBuffer buffer) {
        int length = buffer.remaining();
        if (buffer.hasArray()) {
            return decode(buffer.array(), buffer.arrayOffset() + buffer.position(), length);
        }
        limits.checkBytes(length);
        return decode(copyOf(buffer, length), 0, length);
    }

    /**
     * Finds one field of a table, reading from the start. Bytes after the field are ignored, so the cost depends on
     * what precedes it. Of duplicate fields, the first counts.
     *
     * @param bytes a table's bytes
     * @param field the field
     * @return its value, valid until the decoder is used again; {@link ValueView#NONE} if there is no table or no such
     *     field
     * @throws ValueException the bytes up to the field's end are invalid or over the limits
     */
    public ValueView pick(byte[] bytes, Field field) {
        return pick(bytes, 0, bytes.length, field);
    }

    /**
     * As {@link #pick(byte[], Field)}, of a part of an array.
     *
     * @param bytes the array
     * @param offset where the table starts, in bytes
     * @param length its length in bytes
     * @param field the field
     * @return its value, valid until the decoder is used again; {@link ValueView#NONE} if there is no table or no such
     *     field
     * @throws ValueException the bytes up to the field's end are invalid or over the limits
     */
    public ValueView pick(byte[] bytes, int offset, int length, Field field) {
        check(bytes, offset, length);
        return reader.reset(bytes, offset, length).goTo(field) ? picked(bytes, offset) : ValueView.NONE;
    }

    /**
     * As {@link #pick(byte[], Field)}, of a nested value: {@code customer}, {@code name}.
     *
     * @param bytes the array
     * @param offset where the outermost value starts, in bytes
     * @param length its length in bytes
     * @param path the steps, the outermost first
     * @return the value there, valid until the decoder is used again; {@link ValueView#NONE} if not found
     * @throws ValueException the bytes up to that value's end are invalid or over the limits
     */
    public ValueView pick(byte[] bytes, int offset, int length, Step... path) {
        check(bytes, offset, length);
        reader.reset(bytes, offset, length);
        for (Step step : path) {
            if (!reader.goTo(step)) {
                return ValueView.NONE;
            }
        }
        return picked(bytes, offset);
    }

    /**
     * As {@link #pick(byte[], Field)}, of the bytes between a buffer's position and limit, which are not changed. Of a
     * buffer without an accessible array, up to eight times the needed bytes are copied.
     *
     * @param buffer the buffer
     * @param path the steps, the outermost first
     * @return the value there, valid until the decoder is used again; {@link ValueView#NONE} if not found
     * @throws ValueException the bytes up to that value's end are invalid or over the limits
     */
    public ValueView pick(ByteBuffer buffer, Step... path) {
        int length = buffer.remaining();
        if (buffer.hasArray()) {
            return pick(buffer.array(), buffer.arrayOffset() + buffer.position(), length, path);
        }
        limits.checkBytes(length);
        for (int part = Math.min(length, PICK_BYTES); ; part = (int) Math.min(length, part * 8L)) {
            try {
                return pick(copyOf(buffer, part), 0, part, path);
            } catch (ValueException error) {
                if (error.reason() != ValueException.Reason.TRUNCATED || part == length) {
                    throw error;
                }
            }
        }
    }

    /** The value at the reader's position. */
    private ValueView picked(byte[] bytes, int offset) {
        int at = reader.place();
        int tag = reader.tag();
        if (tag == Wire.STRING || tag == Wire.ENUM) {
            int start = (int) reader.text(tag);
            return new ValueView(bytes, Nodes.EMPTY, Nodes.pack(tag, at, start));
        }
        reader.skip();
        if (tag < Wire.SET) {
            return new ValueView(bytes, Nodes.EMPTY, Nodes.pack(tag, at, 0));
        }
        index(bytes, at, reader.place() - at, offset);
        return new ValueView(bytes, nodes, nodes[0]);
    }

    private void check(byte[] bytes, int offset, int length) {
        Objects.checkFromIndexSize(offset, length, bytes.length);
        limits.checkBytes(length);
        if (offset + length > Nodes.POSITION_MAX) {
            throw new IllegalArgumentException("the value ends at byte " + (offset + (long) length)
                    + " of its array; copy it into a separate array of less than 1 GiB");
        }
    }

    private byte[] copyOf(ByteBuffer buffer, int length) {
        if (copy.length < length) {
            copy = new byte[Math.max(length, (int) Math.min(copy.length * 2L, limits.bytesMax()))];
        }
        buffer.get(buffer.position(), copy, 0, length);
        return copy;
    }

    /**
     * Indexes the value at the start of {@code length} bytes from {@code at} on, in one pass, without recursion.
     * Returns where it ends; its node is the first. Nodes after the last one belong to earlier values. Positions in
     * errors count from {@code offset}.
     */
    private int index(byte[] bytes, int at, int length, int offset) {
        int end = at + length;
        // Every element takes at least a byte, and so does the container.
        int declaredMax = Math.min(length, limits.elementsMax());
        long declared = 0;
        long[] places = nodes;
        int count = 1;
        int depth = 0;
        int slot = 0;
        int slotEnd = 1;
        while (true) {
            while (slot < slotEnd) {
                int position = at;
                if (position >= end) {
                    throw ValueException.truncated(position - offset);
                }
                int tag = bytes[position];
                if (tag < 0 || tag > Wire.TAG_MAX) {
                    throw ValueException.tag(position - offset, tag & 0xff);
                }
                int step = Wire.STEPS[tag];
                int link = 0;
                if (step != 0) {
                    at = position + step;
                    if (at > end) {
                        throw ValueException.truncated(position + 1 - offset);
                    }
                } else if (tag == Wire.STRING || tag == Wire.ENUM) {
                    long string = Wire.string(bytes, position, end, offset);
                    link = (int) string;
                    at = link + (int) (string >>> 32);
                } else if (tag == Wire.PORT) {
                    at = position + Wire.PORT_BYTES;
                    if (at > end) {
                        throw ValueException.truncated(position + 1 - offset);
                    }
                    Wire.checkProtocol(bytes, position, offset);
                } else {
                    if (depth >= limits.depth()) {
                        throw ValueException.tooDeep(position - offset, limits.depth());
                    }
                    long size = Wire.size(bytes, position + 1, end, offset);
                    at = Wire.endOf(size);
                    long children = tag == Wire.TABLE ? Wire.sizeOf(size) * 2 : Wire.sizeOf(size);
                    declared += children;
                    if (declared > declaredMax || children > end - at) {
                        throw tooMany(children, end - at, declared, length, position + 1 - offset);
                    }
                    int endSlot = count;
                    count += 1 + (int) children;
                    places[slot] = Nodes.pack(tag, position, endSlot);
                    if (count > places.length) {
                        places = grow(count);
                    }
                    push(depth++, slot, slotEnd);
                    slot = endSlot + 1;
                    slotEnd = count;
                    continue;
                }
                places[slot++] = Nodes.pack(tag, position, link);
            }
            if (depth == 0) {
                return at;
            }
            depth--;
            slot = close(places, open[2 * depth], slotEnd, at, bytes, offset) + 1;
            slotEnd = open[2 * depth + 1];
        }
    }

    /**
     * Ends the container whose node is in {@code slot}, which it returns; its children's nodes end at {@code
     * childrenEnd}.
     */
    private int close(long[] places, int slot, int childrenEnd, int end, byte[] bytes, int offset) {
        long container = places[slot];
        int endSlot = Nodes.link(container);
        int children = childrenEnd - endSlot - 1;
        places[endSlot] = Nodes.packEnd(end, children);
        int tag = Nodes.tag(container);
        int width = tag == Wire.TABLE ? 2 : 1;
        if (tag != Wire.VECTOR && !Sorter.isAscending(bytes, places, endSlot + 1, children, width)) {
            if (sorter == null) {
                sorter = new Sorter();
            }
            if (!sorter.ascend(bytes, places, endSlot + 1, children, width)) {
                throw ValueException.notUnique(Nodes.position(container) - offset);
            }
        }
        return slot;
    }

    private ValueException tooMany(long children, int left, long declared, int length, int position) {
        // More elements than bytes means a truncated value; otherwise it is over the limit.
        return children > left || declared > length
                ? ValueException.truncated(position)
                : ValueException.tooManyElements(position, limits.elementsMax());
    }

    private void push(int depth, int slot, int slotEnd) {
        if (2 * depth + 1 >= open.length) {
            open = Arrays.copyOf(open, open.length * 2);
        }
        open[2 * depth] = slot;
        open[2 * depth + 1] = slotEnd;
    }

    private long[] grow(int count) {
        nodes = Arrays.copyOf(nodes, (int) Math.max(count, Math.min(nodes.length * 2L, Nodes.POSITION_MAX)));
        return nodes;
    }
}
