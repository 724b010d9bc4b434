package io.rawline.value;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.HexFormat;

/** The vectors of the reference implementation, in the repository's {@code vectors/value}. */
final class Vectors {
    private Vectors() {}

    static JsonNode read(String name) {
        Path path = Path.of(System.getProperty("rawline.vectors", "../vectors"), "value", name + ".json");
        try {
            return new ObjectMapper().readTree(path.toFile());
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
    }

    /** The bytes of the field {@code key} in hexadecimal; null if it is null or missing. */
    static byte[] hex(JsonNode vector, String key) {
        return vector.path(key).isTextual() ? unhex(vector.get(key).asText()) : null;
    }

    static byte[] unhex(String text) {
        return HexFormat.of().parseHex(text);
    }

    static String hex(byte[] bytes) {
        return HexFormat.of().formatHex(bytes);
    }

    /** The bytes of the value with this name. */
    static byte[] value(String name) {
        for (JsonNode vector : read("values")) {
            if (vector.get("name").asText().equals(name)) {
                return hex(vector, "hex");
            }
        }
        throw new AssertionError("no vector is called " + name);
    }

    /** {@code depth} nested vectors of one element, around a none. */
    static byte[] nested(int depth) {
        byte[] bytes = new byte[2 * depth + 1];
        for (int level = 0; level < depth; level++) {
            bytes[2 * level] = 0x0e;
            bytes[2 * level + 1] = 1;
        }
        return bytes;
    }

    /** Asserts an error's reason, position and number. */
    static void assertError(ValueException error, ValueException.Reason reason, long position, long detail) {
        assertEquals(
                reason + " " + position + " " + detail,
                error.reason() + " " + error.position() + " " + error.detail(),
                error.getMessage());
    }
}
