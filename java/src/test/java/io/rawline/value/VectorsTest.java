package io.rawline.value;

import static io.rawline.value.Vectors.assertError;
import static io.rawline.value.Vectors.hex;
import static io.rawline.value.Vectors.nested;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.rawline.value.ValueException.Reason;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** The reference implementation's vectors: what it wrote round-trips, what it refused is refused. */
class VectorsTest {
    /**
     * Inputs that the reference accepts and this reader refuses: overlong sizes, and depths that need a longer stack.
     */
    private static final Set<String> STRICTER =
            Set.of("string_len_gt_u32", "string_overlong_len_10_bytes", "nesting_1000", "nesting_10000");

    @Test
    void everyValueRoundTrips() {
        int seen = 0;
        for (JsonNode vector : Vectors.read("values")) {
            byte[] bytes = hex(vector, "hex");
            Value value = Value.decode(bytes);
            assertEquals(hex(bytes), hex(value.encode()), vector.get("name").asText());
            String kind =
                    vector.path("json").path("@data-type").asText(value.kind().jsonName());
            assertEquals(kind, value.kind().jsonName());
            Bodies.agree(bytes);
            seen++;
        }
        assertEquals(124, seen);
    }

    /** Texts of scalars that all languages read or refuse alike. */
    @Test
    void everyTextIsReadAlikeOrRefused() {
        int seen = 0;
        for (JsonNode vector : Vectors.read("texts")) {
            String json = new ObjectMapper()
                    .createObjectNode()
                    .put("@data-type", vector.get("type").asText())
                    .put("data", vector.get("text").asText())
                    .toString();
            byte[] bytes;
            try {
                bytes = TypedJson.read(json);
            } catch (ValueException error) {
                bytes = null;
            }
            byte[] expected = hex(vector, "hex");
            assertEquals(expected == null ? null : hex(expected), bytes == null ? null : hex(bytes), vector.toString());
            seen++;
        }
        assertTrue(seen > 100);
    }

    @Test
    void everyMalformedValueIsRefusedWithItsReason() {
        int seen = 0;
        for (JsonNode vector : Vectors.read("malformed")) {
            if (!vector.get("kind").asText().equals("value")) {
                continue;
            }
            String name = vector.get("name").asText();
            byte[] bytes = hex(vector, "hex");
            bytes = bytes != null ? bytes : nested(Integer.parseInt(name.substring("nesting_".length())));
            assertEquals(vector.get("size").asInt(), bytes.length);
            if (vector.get("verdict").asText().equals("accept") && !STRICTER.contains(name)) {
                Value value = Value.decode(bytes);
                String encoded = vector.get("data_deserialize").asText();
                if (encoded.contains("re-encodes-to ")) {
                    assertEquals(encoded.split("re-encodes-to ")[1], hex(value.encode()), name);
                }
            } else {
                byte[] refused = bytes;
                assertThrows(ValueException.class, () -> Value.decode(refused), name);
            }
            Bodies.agree(bytes);
            seen++;
        }
        assertEquals(56, seen);
    }

    private static ValueException error(Limits limits, byte[] bytes) {
        return assertThrows(ValueException.class, () -> new ValueDecoder(limits).decode(bytes));
    }

    private static void assertRefused(String hex, Reason reason, long position, long detail) {
        assertError(error(Limits.DEFAULT, Vectors.unhex(hex)), reason, position, detail);
    }

    @Test
    void errorsHaveReasonAndPosition() {
        assertRefused("", Reason.TRUNCATED, 0, 0);
        assertRefused("0e010f", Reason.TAG, 2, 0x0f);
        assertRefused("08005004", Reason.PROTOCOL, 3, 4);
        assertRefused("050261", Reason.TRUNCATED, 2, 0);
        assertRefused("058080808010", Reason.SIZE, 1, 0);
        assertRefused("0effffffff0f", Reason.TRUNCATED, 1, 0);
        assertRefused("0e010c020000", Reason.NOT_UNIQUE, 2, 0);
        assertRefused("0000", Reason.TRAILING_BYTES, 1, 1);
        assertError(error(Limits.DEFAULT, nested(129)), Reason.TOO_DEEP, 256, 128);
    }

    @Test
    void positionsCountFromTheValueNotFromItsArray() {
        byte[] bytes = Vectors.unhex("ffff0e010fff");
        ValueException error = assertThrows(ValueException.class, () -> new ValueDecoder().decode(bytes, 2, 3));
        assertError(error, Reason.TAG, 2, 0x0f);
        assertEquals(
                0x0102,
                new ValueDecoder()
                        .decode(Vectors.unhex("ff020000000000000102ff"), 1, 9)
                        .asCount());
    }

    @Test
    void limitsAreEnforced() {
        byte[] bytes = Vectors.value("vector_200_counts");
        assertError(error(new Limits(128, 199, 1 << 20), bytes), Reason.TOO_MANY_ELEMENTS, 1, 199);
        new ValueDecoder(new Limits(128, 200, bytes.length)).decode(bytes);
        assertError(error(new Limits(128, 200, bytes.length - 1), bytes), Reason.TOO_LONG, 0, bytes.length - 1);
        new ValueDecoder(new Limits(8, 200, 1000)).decode(nested(8));
        assertError(error(new Limits(8, 200, 1000), nested(9)), Reason.TOO_DEEP, 16, 8);
        Limits deepest = new Limits(Integer.MAX_VALUE, 1000, 1000);
        new ValueDecoder(deepest).decode(nested(256));
        assertError(error(deepest, nested(257)), Reason.TOO_DEEP, 512, 256);
        assertThrows(IllegalArgumentException.class, () -> new Limits(-1, 0, 0));
    }

    @Test
    void everyFrameRoundTrips() {
        int seen = 0;
        for (JsonNode vector : Vectors.read("envelopes")) {
            if (!vector.path("payload_hex").isTextual()) {
                continue;
            }
            byte[] bytes = hex(vector, "hex");
            Frame frame = Frame.parse(bytes);
            Envelope envelope = frame.toEnvelope();
            assertEquals(Frame.DATA, frame.kind());
            assertArrayEquals(hex(vector, "payload_hex"), frame.payload());
            assertEquals(vector.get("topic").asText(), envelope.topic());
            assertEquals(vector.get("ttl").asInt(), envelope.ttl());
            assertEquals(id(vector.get("sender").asText()), envelope.sender());
            assertEquals(id(vector.get("receiver").asText()), envelope.receiver());
            assertEquals(Value.decode(frame.payload()), envelope.value().toValue());
            assertEquals(hex(bytes), hex(envelope.toFrame().encode()));
            assertEquals(envelope, Frame.parse(bytes).toEnvelope());
            seen++;
        }
        assertEquals(7, seen);
    }

    private static EndpointId id(String text) {
        byte[] bytes = Vectors.unhex(text.replace("-", ""));
        return new EndpointId(Wire.getLong(bytes, 0), Wire.getLong(bytes, 8));
    }

    @Test
    void everyMalformedFrameIsRefused() {
        int seen = 0;
        for (JsonNode vector : Vectors.read("malformed")) {
            if (!vector.get("kind").asText().equals("envelope")) {
                continue;
            }
            byte[] bytes = hex(vector, "hex");
            if (vector.get("verdict").asText().equals("accept")) {
                Frame.parse(bytes).toEnvelope();
            } else {
                assertThrows(ValueException.class, () -> Frame.parse(bytes).toEnvelope(), vector.toString());
            }
            seen++;
        }
        assertEquals(10, seen);
    }
}
