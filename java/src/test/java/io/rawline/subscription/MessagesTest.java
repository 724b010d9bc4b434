package io.rawline.subscription;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.rawline.batch.Limits;
import io.rawline.batch.RecordHeader;
import io.rawline.error.RawlineException;
import io.rawline.internal.http.Http;
import io.rawline.internal.http.HttpConfig;
import io.rawline.internal.request.Received;
import io.rawline.internal.request.Responses;
import io.rawline.record.ConsumedRecord;
import io.rawline.record.Fetched;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HexFormat;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** The golden messages in {@code vectors/subscribe/}, which all languages share, and cursors. */
class MessagesTest {
    private final JsonNode cases;
    private final Messages messages;

    MessagesTest() throws IOException {
        cases = new ObjectMapper()
                .readTree(Path.of("../vectors/subscribe/messages.json").toFile())
                .get("cases");
        Duration patient = Duration.ofSeconds(30);
        Http http = new Http(new HttpConfig("http://127.0.0.1:1", null, null, patient, patient, 64, null));
        messages = new Messages(new Responses(http, Limits.FORMAT, Integer.MAX_VALUE));
    }

    /** A message that arrives in pieces of at most this size. */
    private record Pieces(ByteBuffer left, int bytes) implements Received.Source {
        @Override
        public int read(ByteBuffer to) {
            if (hasEnded()) {
                return -1;
            }
            int count = Math.min(bytes, Math.min(left.remaining(), to.remaining()));
            to.put(left.slice().limit(count));
            left.position(left.position() + count);
            return count;
        }

        @Override
        public boolean hasEnded() {
            return !left.hasRemaining();
        }

        @Override
        public long announcedBytes() {
            return left.remaining();
        }
    }

    private Fetched receive(byte[] message, Cursor positions, int pieceBytes) throws IOException {
        Received fetched = new Received();
        messages.receive(new Pieces(ByteBuffer.wrap(message), pieceBytes), positions, fetched);
        return fetched;
    }

    private static Cursor positions(JsonNode one, byte[] message) {
        Cursor positions = new Cursor();
        int nameBytes = message.length < 32 ? 0 : ByteBuffer.wrap(message).get(2);
        if (nameBytes > 0 && message.length >= 32 + nameBytes) {
            String topic = new String(message, 32, nameBytes, StandardCharsets.UTF_8);
            int partition = one.path("partition").asInt();
            positions.set(
                    topic, partition, Long.parseUnsignedLong(one.get("position").asText()));
        }
        return positions;
    }

    private static byte[] bytes(JsonNode hex) {
        return hex.isNull() ? null : HexFormat.of().parseHex(hex.asText());
    }

    @Test
    void goldenMessagesAreDeliveredFromThePositionOn() throws IOException {
        for (JsonNode one : cases) {
            if (one.has("error")) {
                continue;
            }
            String name = one.get("name").asText();
            byte[] message = bytes(one.get("hex"));
            for (int pieceBytes : new int[] {1, 7, 4096}) {
                Cursor positions = new Cursor();
                String topic = one.get("topic").asText();
                positions.set(
                        topic,
                        one.get("partition").asInt(),
                        Long.parseLong(one.get("position").asText()));
                Fetched fetched = receive(message, positions, pieceBytes);
                assertEquals(topic, fetched.topic(), name);
                assertEquals(one.get("partition").asInt(), fetched.partition(), name);
                assertEquals(Long.parseLong(one.get("end_offset").asText()), fetched.nextOffset(), name);
                assertEquals(one.get("records").isEmpty(), fetched.isEmpty(), name);
                int count = 0;
                for (ConsumedRecord record : fetched) {
                    JsonNode want = one.get("records").get(count++);
                    assertEquals(Long.parseLong(want.get("offset").asText()), record.offset(), name);
                    assertArrayEquals(bytes(want.get("hex")), record.toBytes(), name);
                    assertEquals(want.path("null").asBoolean(), record.isNull(), name);
                    if (want.has("key")) {
                        assertArrayEquals(bytes(want.get("key")), record.key(), name);
                        List<RecordHeader> headers = record.headers();
                        assertEquals(want.get("headers").size(), headers.size(), name);
                        for (int i = 0; i < headers.size(); i++) {
                            JsonNode header = want.get("headers").get(i);
                            String headerName = new String(bytes(header.get(0)), StandardCharsets.UTF_8);
                            assertEquals(headerName, headers.get(i).name());
                            assertArrayEquals(
                                    bytes(header.get(1)), headers.get(i).value());
                        }
                        assertEquals(
                                want.get("timestamp_ms").asLong(),
                                record.timestampMs().orElseThrow(),
                                name);
                    } else {
                        assertNull(record.key(), name);
                    }
                    if (one.get("kind").asInt() == 3) {
                        assertEquals(Long.parseLong(one.get("time_us").asText()), record.createdUs(), name);
                    }
                }
                assertEquals(one.get("records").size(), count, name);
            }
        }
    }

    @Test
    void wrongMessagesAreRefused() {
        int refused = 0;
        for (JsonNode one : cases) {
            if (!one.has("error")) {
                continue;
            }
            byte[] message = bytes(one.get("hex"));
            for (int pieceBytes : new int[] {1, 7, 4096}) {
                assertThrows(
                        RawlineException.class,
                        () -> receive(message, positions(one, message), pieceBytes),
                        one.get("name").asText());
            }
            refused++;
        }
        assertTrue(refused > 30);
    }

    @Test
    void validMessagesThatWereChangedThrowNothingElse() throws IOException {
        Random random = new Random(11);
        for (JsonNode one : cases) {
            byte[] message = bytes(one.get("hex"));
            for (int round = 0; message.length > 0 && round < 200; round++) {
                byte[] changed = message.clone();
                for (int i = 0; i < 3; i++) {
                    changed[random.nextInt(changed.length)] = (byte) (random.nextBoolean() ? random.nextInt() : 1);
                }
                try {
                    for (ConsumedRecord record : receive(changed, new Cursor(), 1 + random.nextInt(200))) {
                        assertTrue(record.offset() >= 0);
                    }
                } catch (RawlineException error) {
                    assertFalse(error.getMessage().isEmpty());
                }
            }
        }
    }

    @Test
    void cursorsAreReadAsTheyWereWritten() {
        for (String text : List.of("0", "1764000000000000", "1764000000000000;dns/0=17,1=29;http/0=3")) {
            assertEquals(text, Cursor.parse(text).toString());
        }
        String identified = "5;dns~00c0ffee/0=17,1=29;http/0=3";
        Cursor cursor = Cursor.parse(identified);
        assertEquals(identified, cursor.toString());
        cursor.identify("dns", "00c0ffee");
        cursor.identify("http", "00000001");
        assertEquals("5;dns~00c0ffee/0=17,1=29;http~00000001/0=3", cursor.copy().toString());
        cursor.identify("dns", "00000002");
        assertEquals("5;http~00000001/0=3", cursor.toString(), "another topic");
        assertEquals(
                "5;dns/0=17,1=29;http/0=3",
                Cursor.parse("5;http/0=3;dns/1=29,0=17").toString());
        for (String wrong : List.of(
                "",
                "+5",
                "-5",
                "dns/0=1",
                "5;",
                "5;dns",
                "5;dns/",
                "5;/0=1",
                "5;dns/0",
                "5;dns/0=",
                "5;dns/0=1,",
                "5;dns/-1=1",
                "5;dns/4294967296=1",
                "5;dns~/0=1",
                "5;~00000001/0=1",
                "5;dns~1/0=1",
                "5;dns~0000000A/0=1",
                "5;dns~000000001/0=1",
                "5;dns/0=18446744073709551616",
                "1".repeat(40_000))) {
            assertThrows(IllegalArgumentException.class, () -> Cursor.parse(wrong), wrong);
        }
    }
}
