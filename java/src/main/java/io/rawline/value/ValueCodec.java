package io.rawline.value;

import java.nio.ByteBuffer;

/**
 * Converts objects of one type to values and back. {@link GenerateCodec} generates codecs that neither reflect nor make
 * a tree; {@link ValueField#with} names one that is written by hand. Thread-safe.
 *
 * <p>Where speed matters, reuse a writer and a reader, each for one thread:
 *
 * <pre>{@code
 * DnsCodec.TABLE.encode(event, writer);
 * producer.send(writer.toByteBuffer());
 *
 * Dns event = DnsCodec.TABLE.decode(reader.reset(bytes));
 * }</pre>
 *
 * @param <T> the type of the objects
 */
public abstract class ValueCodec<T> {
    /** For codecs. */
    protected ValueCodec() {}

    /**
     * Adds an object as exactly one value.
     *
     * @param value the object
     * @param writer where it is added
     * @throws ValueException the object can't be written, or is over the limits
     */
    public abstract void write(T value, ValueWriter writer);

    /**
     * Reads exactly one value.
     *
     * @param reader where the value is next
     * @return the object
     * @throws ValueException the bytes aren't a value, or not one of this type
     */
    public abstract T read(ValueReader reader);

    /**
     * The bytes of an object.
     *
     * @param value the object
     * @return the bytes
     * @throws ValueException the object can't be written, or is over {@link Limits#DEFAULT}
     */
    public final byte[] encode(T value) {
        ValueWriter writer = new ValueWriter();
        encode(value, writer);
        return writer.toByteArray();
    }

    /**
     * Clears a writer and writes an object: {@link ValueWriter#array} and {@link ValueWriter#length} are its bytes.
     *
     * @param value the object
     * @param writer a writer to reuse
     * @throws ValueException the object can't be written, or is over {@link Limits#DEFAULT}
     */
    public final void encode(T value, ValueWriter writer) {
        write(value, writer.clear());
        Limits.DEFAULT.checkBytes(writer.length());
    }

    /**
     * The object that these bytes are.
     *
     * @param bytes exactly one value
     * @return the object
     * @throws ValueException the bytes aren't a value, not one of this type, or over {@link Limits#DEFAULT}
     */
    public final T decode(byte[] bytes) {
        return decode(new ValueReader().reset(bytes));
    }

    /**
     * As {@link #decode(byte[])}, of the bytes between a buffer's position and limit, which are not changed.
     *
     * @param buffer exactly one value; copied if its array isn't accessible
     * @return the object
     * @throws ValueException the bytes aren't a value, not one of this type, or over {@link Limits#DEFAULT}
     */
    public final T decode(ByteBuffer buffer) {
        Limits.DEFAULT.checkBytes(buffer.remaining());
        ValueReader reader = new ValueReader();
        if (buffer.hasArray()) {
            reader.reset(buffer.array(), buffer.arrayOffset() + buffer.position(), buffer.remaining());
        } else {
            byte[] copy = new byte[buffer.remaining()];
            buffer.get(buffer.position(), copy);
            reader.reset(copy);
        }
        return decode(reader);
    }

    /**
     * The object that all bytes of a reader are, with the reader's limits.
     *
     * @param reader a reader that was reset to exactly one value
     * @return the object
     * @throws ValueException the bytes aren't a value, not one of this type, or over the limits
     */
    public final T decode(ValueReader reader) {
        T value = read(reader);
        reader.finish();
        return value;
    }
}
