package io.rawline.measurement;

import java.nio.charset.StandardCharsets;
import java.util.Objects;

/**
 * How measurements are encoded: the prefix of each message, and the type of its value. The record is a metric (string),
 * tags (a map of strings), a time (long, milliseconds since 1970) and a value, in this order.
 */
public final class MeasurementShape {
    /** The default schema of measurements. */
    public static final String MEASUREMENT_SCHEMA =
            """
            {"type":"record","name":"Measurement","namespace":"rawline",\
            "doc":"One value of one series: a metric, tags in any order, a time and a value","fields":[\
            {"name":"metric","type":"string"},{"name":"tags","type":{"type":"map","values":"string"}},\
            {"name":"logtime","type":{"type":"long","logicalType":"timestamp-millis"}},\
            {"name":"value","type":"double"}]}""";

    /** {@link #MEASUREMENT_SCHEMA}, identified by its fingerprint. */
    public static final MeasurementShape DEFAULT = singleObject(ValueType.DOUBLE);

    private static final long FINGERPRINT_EMPTY = 0xc15d_213a_a4d7_a795L;

    private final byte[] head;
    private final ValueType value;

    private MeasurementShape(byte[] head, ValueType value) {
        this.head = head;
        this.value = Objects.requireNonNull(value);
    }

    /**
     * Messages without a prefix.
     *
     * @param value the value's type
     * @return the shape
     */
    public static MeasurementShape bare(ValueType value) {
        return new MeasurementShape(new byte[0], value);
    }

    /**
     * Messages with a fingerprint of the schema: {@code C3 01} and 8 bytes, little-endian. The schema is
     * {@link #MEASUREMENT_SCHEMA}, or the same with another type of value.
     *
     * @param value the value's type
     * @return the shape
     */
    public static MeasurementShape singleObject(ValueType value) {
        String canonical = "{\"name\":\"rawline.Measurement\",\"type\":\"record\",\"fields\":["
                + "{\"name\":\"metric\",\"type\":\"string\"},"
                + "{\"name\":\"tags\",\"type\":{\"type\":\"map\",\"values\":\"string\"}},"
                + "{\"name\":\"logtime\",\"type\":\"long\"},{\"name\":\"value\",\"type\":\"" + value.avroName()
                + "\"}]}";
        return singleObject(fingerprint(canonical), value);
    }

    /**
     * Messages with this fingerprint of the schema.
     *
     * @param fingerprint the CRC-64-AVRO of the schema's canonical form
     * @param value the value's type
     * @return the shape
     */
    public static MeasurementShape singleObject(long fingerprint, ValueType value) {
        byte[] head = new byte[10];
        head[0] = (byte) 0xc3;
        head[1] = 1;
        for (int index = 0; index < 8; index++) {
            head[2 + index] = (byte) (fingerprint >>> 8 * index);
        }
        return new MeasurementShape(head, value);
    }

    /**
     * Messages with the schema's id in a registry: {@code 00} and 4 bytes, big-endian.
     *
     * @param number the schema's id
     * @param value the value's type
     * @return the shape
     */
    public static MeasurementShape registry(int number, ValueType value) {
        byte[] head = {0, (byte) (number >>> 24), (byte) (number >>> 16), (byte) (number >>> 8), (byte) number};
        return new MeasurementShape(head, value);
    }

    /**
     * The fingerprint of a schema.
     *
     * @param canonical its Parsing Canonical Form, as defined by the Avro specification
     * @return its CRC-64-AVRO
     */
    public static long fingerprint(String canonical) {
        long fingerprint = FINGERPRINT_EMPTY;
        for (byte next : canonical.getBytes(StandardCharsets.UTF_8)) {
            fingerprint ^= next & 0xff;
            for (int bit = 0; bit < 8; bit++) {
                fingerprint = fingerprint >>> 1 ^ FINGERPRINT_EMPTY & -(fingerprint & 1);
            }
        }
        return fingerprint;
    }

    /**
     * The type of the value.
     *
     * @return its type
     */
    public ValueType value() {
        return value;
    }

    /** The prefix of each message; callers must not change it. */
    byte[] head() {
        return head;
    }
}
