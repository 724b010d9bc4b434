package io.rawline.batch;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.HexFormat;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** The golden bytes in {@code vectors/batch/}, which all languages share. */
class GoldenBatchTest {
    private final JsonNode cases;

    GoldenBatchTest() throws IOException {
        cases = new ObjectMapper()
                .readTree(Path.of("../vectors/batch/batches.json").toFile())
                .get("cases");
    }

    private static byte[] bytesOf(JsonNode one) {
        return HexFormat.of().parseHex(one.get("hex").asText());
    }

    private static Limits limitsOf(JsonNode one) {
        JsonNode limits = one.path("limits");
        return new Limits(
                limits.path("batch_bytes_max").asLong(0xffff_ffffL),
                limits.path("records_max").asLong(0xffff_ffffL),
                limits.path("raw_bytes_max").asLong(0xffff_ffffL));
    }

    private static long number(JsonNode fields, String name) {
        return Long.parseUnsignedLong(fields.get(name).asText());
    }

    private static BatchHeader headerOf(JsonNode fields) {
        return new BatchHeader(
                Codec.valueOf(fields.get("codec").asText().toUpperCase()),
                fields.get("slice").asBoolean(),
                fields.get("records").size(),
                number(fields, "data_bytes"),
                number(fields, "raw_bytes"),
                number(fields, "created_us"),
                number(fields, "producer_id"),
                number(fields, "sequence"),
                (int) number(fields, "crc32c"));
    }

    private static List<String> recordsOf(JsonNode fields) {
        List<String> records = new ArrayList<>();
        fields.get("records").forEach(record -> records.add(record.asText()));
        return records;
    }

    private static List<String> recordsOf(Batch batch) {
        List<String> found = new ArrayList<>();
        for (Records records = batch.records(); records.next(); ) {
            String hex = HexFormat.of().formatHex(records.toBytes());
            assertEquals(found.size(), records.offset());
            assertEquals(batch.record(found.size()), records.bytes());
            assertEquals(batch.recordBytes(found.size()), records.length());
            found.add(hex);
        }
        return found;
    }

    /** The same bytes in every kind of buffer. */
    private static List<ByteBuffer> places(byte[] bytes) {
        ByteBuffer direct = ByteBuffer.allocateDirect(bytes.length + 3)
                .position(3)
                .put(bytes)
                .position(3);
        ByteBuffer inTheMiddle =
                ByteBuffer.allocate(bytes.length + 5).position(5).put(bytes).position(5);
        return List.of(
                ByteBuffer.wrap(bytes),
                ByteBuffer.wrap(bytes).asReadOnlyBuffer(),
                direct,
                direct.asReadOnlyBuffer(),
                inTheMiddle);
    }

    @Test
    void goldenBytesAreRead() {
        for (JsonNode one : cases) {
            for (ByteBuffer rest : places(bytesOf(one))) {
                check(one, rest);
            }
        }
    }

    /** Reads a case as a consumer does: each batch is decompressed before the next is read. */
    private static void check(JsonNode one, ByteBuffer rest) {
        String name = one.get("name").asText();
        String error = one.path("error").asText(null);
        if (one.path("one").asBoolean()) {
            BatchException found = assertThrows(BatchException.class, () -> Batch.parse(rest, limitsOf(one)), name);
            assertEquals(error, found.code(), name);
            return;
        }
        String found = null;
        int batches = 0;
        try {
            while (rest.hasRemaining()) {
                Batch batch = Batch.parsePrefix(rest, limitsOf(one));
                List<String> records = recordsOf(batch);
                JsonNode fields = one.get("batches").get(batches++);
                assertEquals(headerOf(fields), batch.header(), name);
                assertEquals(number(fields, "batch_bytes"), batch.header().batchBytes(), name);
                assertEquals(number(fields, "batch_bytes"), batch.bytes().remaining(), name);
                assertEquals(recordsOf(fields), records, name);
            }
            if (batches == 0) {
                found = "batch_empty";
            }
        } catch (BatchException broken) {
            found = broken.code();
        }
        assertEquals(error, found, name);
        assertEquals(one.get("batches").size(), batches, name);
    }

    @Test
    void goldenBytesAreCheckedAsTheyArrive() {
        for (JsonNode one : cases) {
            if (one.path("one").asBoolean()
                    || "batch_decompress".equals(one.path("error").asText())) {
                continue;
            }
            for (int length : new int[] {1, 5, 64, 1000}) {
                byte[] bytes = bytesOf(one);
                ByteBuffer buffer = ByteBuffer.allocateDirect(bytes.length).order(ByteOrder.LITTLE_ENDIAN);
                BatchChecker checker = new BatchChecker(limitsOf(one));
                String found = null;
                try {
                    for (int end = 0; end < bytes.length; ) {
                        int next = Math.min(end + length, bytes.length);
                        buffer.put(end, bytes, end, next - end);
                        checker.advance(buffer, next);
                        end = next;
                    }
                    assertEquals(
                            one.get("batches").size(),
                            checker.finish(buffer, bytes.length).size());
                } catch (BatchException broken) {
                    found = broken.code();
                }
                assertEquals(
                        one.path("error").asText(null), found, one.get("name").asText());
            }
        }
    }

    @Test
    void goldenBytesAreWritten() {
        int written = 0;
        for (JsonNode one : cases) {
            int position = 0;
            for (JsonNode fields : one.get("batches")) {
                BatchHeader header = headerOf(fields);
                int before = position;
                position += (int) header.batchBytes();
                if (header.codec() != Codec.NONE) {
                    continue;
                }
                byte[] data = HexFormat.of().parseHex(String.join("", recordsOf(fields)));
                ByteBuffer front = ByteBuffer.allocate((int) header.dataPosition())
                        .order(ByteOrder.LITTLE_ENDIAN)
                        .position(64);
                recordsOf(fields).forEach(record -> front.putInt(record.length() / 2));
                ByteBuffer whole = ByteBuffer.allocate((int) header.batchBytes());
                for (ByteBuffer piece : SealedBatch.seal(header, front.rewind(), ByteBuffer.wrap(data))
                        .pieces()) {
                    whole.put(piece);
                }
                byte[] expected = new byte[position - before];
                System.arraycopy(bytesOf(one), before, expected, 0, expected.length);
                assertArrayEquals(expected, whole.array(), one.get("name").asText());
                if (!header.slice()) {
                    assertArrayEquals(
                            expected, built(fields, header), one.get("name").asText());
                }
                written++;
            }
        }
        assertTrue(written >= 20, written + " batches without a codec");
    }

    private static byte[] built(JsonNode fields, BatchHeader header) {
        BatchBuilder builder = new BatchBuilder(Codec.NONE, Limits.FORMAT);
        for (String record : recordsOf(fields)) {
            assertTrue(builder.add(ByteBuffer.wrap(HexFormat.of().parseHex(record))));
        }
        assertEquals(header.batchBytes(), builder.bytes());
        return builder.finish(header.createdUs(), header.producerId(), header.sequence())
                .array();
    }

    @Test
    void everyErrorOfAReaderHasAGoldenCase() {
        Set<String> codes = new HashSet<>();
        cases.forEach(one -> codes.add(one.path("error").asText()));
        assertTrue(
                codes.containsAll(List.of(
                        "batch_truncated",
                        "batch_trailing_bytes",
                        "batch_magic",
                        "batch_version",
                        "batch_codec",
                        "batch_reserved",
                        "batch_empty",
                        "batch_length",
                        "batch_sizes_overflow",
                        "batch_sizes_sum",
                        "batch_data_length",
                        "batch_crc",
                        "batch_limit",
                        "batch_decompress")),
                codes::toString);
    }

    @Test
    void theDocumentedExampleIsABatch() throws IOException {
        String text = Files.readString(Path.of("../docs/format.md"));
        StringBuilder hex = new StringBuilder();
        text.split("```hex\n")[1]
                .split("```")[0]
                .lines()
                .forEach(line -> hex.append(line.split("│")[0].replaceAll("\\s", "")));
        Batch batch = Batch.parse(ByteBuffer.wrap(HexFormat.of().parseHex(hex)), Limits.FORMAT);
        assertEquals(List.of("68656c6c6f", "", "776f726c6421"), recordsOf(batch));
        assertTrue(text.contains(String.format("`0x%08x`", batch.header().crc32c())));
    }
}
