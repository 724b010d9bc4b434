package io.rawline.measurement;

import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Map;

/**
 * Encodes measurements as Avro records, in memory that is reused. Not thread-safe.
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
     * Encodes a measurement.
     *
     * @param metric the metric
     * @param tags the tags
     * @param timeMs milliseconds since 1970
     * @param value the value
     * @return its bytes, valid until the next call; for a repeated series, an {@link Identity} is faster
     * @throws IllegalArgumentException the value isn't a number of the shape's type
     */
    public ByteBuffer encode(String metric, Map<String, String> tags, long timeMs, double value) {
        return encode(Identity.of(shape, metric, tags), timeMs, value);
    }

    /**
     * Encodes a measurement, without allocation.
     *
     * @param identity the metric and tags, made for this encoder's shape
     * @param timeMs milliseconds since 1970
     * @param value the value
     * @return its bytes, valid until the next call
     * @throws IllegalArgumentException the value isn't a number of the shape's type, or the identity has another shape
     */
    public ByteBuffer encode(Identity identity, long timeMs, double value) {
        ValueType type = shape.value();
        if (type == ValueType.INT || type == ValueType.LONG) {
            long whole = (long) value;
            // 2^63 becomes 2^63 - 1, which as a double is 2^63 again.
            if (whole != value || whole == Long.MAX_VALUE) {
                throw new IllegalArgumentException("the value " + value + " isn't a valid " + type.avroName()
                        + "; use a whole number, or a shape of doubles");
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
     * Encodes a measurement whose value is a whole number, without allocation.
     *
     * @param identity the metric and tags, made for this encoder's shape
     * @param timeMs milliseconds since 1970
     * @param value the value
     * @return its bytes, valid until the next call
     * @throws IllegalArgumentException the value isn't a number of the shape's type, or the identity has another shape
     */
    public ByteBuffer encode(Identity identity, long timeMs, long value) {
        ValueType type = shape.value();
        if (type == ValueType.FLOAT || type == ValueType.DOUBLE) {
            return encode(identity, timeMs, (double) value);
        }
        if (type == ValueType.INT && value != (int) value) {
            throw new IllegalArgumentException("the value " + value + " isn't a valid int; use a shape of longs");
        }
        int at = begin(identity, timeMs);
        return finish(Varint.put(value, bytes, at));
    }

    private int begin(Identity identity, long timeMs) {
        if (identity.shape() != shape) {
            throw new IllegalArgumentException("the identity has another shape; create it with this encoder's");
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
