package io.rawline.measurement;

import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.Map;

/**
 * A metric and its tags, encoded once for all messages of their series, with the message's prefix. Immutable.
 */
public final class Identity {
    private final MeasurementShape shape;
    private final byte[] bytes;

    private Identity(MeasurementShape shape, byte[] bytes) {
        this.shape = shape;
        this.bytes = bytes;
    }

    /**
     * The identity of a series.
     *
     * @param shape the shape of its messages
     * @param metric the metric
     * @param tags the tags, written in the map's order
     * @return the identity
     */
    public static Identity of(MeasurementShape shape, String metric, Map<String, String> tags) {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        out.writeBytes(shape.head());
        putString(metric, out);
        if (!tags.isEmpty()) {
            putLong(tags.size(), out);
            tags.forEach((key, value) -> {
                putString(key, out);
                putString(value, out);
            });
        }
        out.write(0);
        return new Identity(shape, out.toByteArray());
    }

    private static void putString(String text, ByteArrayOutputStream out) {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        putLong(bytes.length, out);
        out.writeBytes(bytes);
    }

    private static void putLong(long value, ByteArrayOutputStream out) {
        byte[] bytes = new byte[10];
        out.write(bytes, 0, Varint.put(value, bytes, 0));
    }

    MeasurementShape shape() {
        return shape;
    }

    byte[] bytes() {
        return bytes;
    }
}
