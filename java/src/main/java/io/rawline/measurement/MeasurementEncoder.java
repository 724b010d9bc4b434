package io.rawline.measurement;

import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Map;

/**
 * Writes measurements as Avro records, one after the other in memory that is used again. For one thread at a time.
 *
 * <pre>{@code
 * MeasurementEncoder encoder = new MeasurementEncoder(MeasurementShape.DEFAULT);
 * Identity cpu = Identity.of(MeasurementShape.DEFAULT, "cpu", Map.of("host", "a1"));
 * producer.send(encoder.encode(cpu, System.currentTimeMillis(), 0.93));
 * }</pre>
 */
public final class MeasurementEncoder {
    private final MeasurementShape shape;
    private byte[] bytes = new byte[256];
    private ByteBuffer buffer = ByteBuffer.wrap(bytes);

    /**
     * An encoder of messages of this shape.
     *
     * @param shape the shape
     */
    public MeasurementEncoder(MeasurementShape shape) {
        this.shape = java.util.Objects.requireNonNull(shape);
    }

    /**
     * One measurement.
     *
     * @param metric the metric
     * @param tags the tags
     * @param timeMs milliseconds since 1970
     * @param value the value
     * @return its bytes, until the next call; a series that comes again is cheaper with an {@link Identity}
     * @throws IllegalArgumentException if the value is no number of the shape's type
     */
    public ByteBuffer encode(String metric, Map<String, String> tags, long timeMs, double value) {
        return encode(Identity.of(shape, metric, tags), timeMs, value);
    }

    /**
     * One measurement. Nothing is allocated.
     *
     * @param identity the metric and tags, made for this encoder's shape
     * @param timeMs milliseconds since 1970
     * @param value the value
     * @return its bytes, until the next call
     * @throws IllegalArgumentException if the value is no number of the shape's type, or the identity of another shape
     */
    public ByteBuffer encode(Identity identity, long timeMs, double value) {
        ValueType type = shape.value();
        if (type == ValueType.INT || type == ValueType.LONG) {
            long whole = (long) value;
            // 2^63 itself becomes one less, which as a real is 2^63 again.
            if (whole != value || whole == Long.MAX_VALUE) {
                throw new IllegalArgumentException("the value " + value + " is no " + type.avroName()
                        + "; give a whole number, or use a shape of doubles");
            }
            return encode(identity, timeMs, whole);
        }
        int at = begin(identity, timeMs);
        if (type == ValueType.FLOAT) {
            return finish(putLittle(Float.floatToRawIntBits((float) value), 4, at));
        }
        return finish(putLittle(Double.doubleToRawLongBits(value), 8, at));
    }

    /**
     * One measurement whose value is a whole number. Nothing is allocated.
     *
     * @param identity the metric and tags, made for this encoder's shape
     * @param timeMs milliseconds since 1970
     * @param value the value
     * @return its bytes, until the next call
     * @throws IllegalArgumentException if the value is no number of the shape's type, or the identity of another shape
     */
    public ByteBuffer encode(Identity identity, long timeMs, long value) {
        ValueType type = shape.value();
        if (type == ValueType.FLOAT || type == ValueType.DOUBLE) {
            return encode(identity, timeMs, (double) value);
        }
        if (type == ValueType.INT && value != (int) value) {
            throw new IllegalArgumentException("the value " + value + " is no int; use a shape of longs");
        }
        int at = begin(identity, timeMs);
        return finish(Varint.put(value, bytes, at));
    }

    private int begin(Identity identity, long timeMs) {
        if (identity.shape() != shape) {
            throw new IllegalArgumentException("the identity was made for another shape; make it with this encoder's");
        }
        byte[] head = identity.bytes();
        if (bytes.length < head.length + 2 * Varint.BYTES_MAX) {
            bytes = Arrays.copyOf(bytes, 2 * head.length + 2 * Varint.BYTES_MAX);
            buffer = ByteBuffer.wrap(bytes);
        }
        System.arraycopy(head, 0, bytes, 0, head.length);
        return Varint.put(timeMs, bytes, head.length);
    }

    private int putLittle(long bits, int count, int at) {
        for (int index = 0; index < count; index++) {
            bytes[at++] = (byte) (bits >>> 8 * index);
        }
        return at;
    }

    private ByteBuffer finish(int end) {
        return buffer.clear().limit(end);
    }
}
