package io.rawline.measurement;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;

/** Measurements that other schemas wrote; another implementation, fastavro, made their bytes and fingerprint. */
class WriterSchemaTest {
    /** Another order, other names with aliases, a nullable time in microseconds, and more fields. */
    private static final String LATER =
            """
            {"type": "record", "name": "Sample", "namespace": "later", "doc": "x", "fields": [
            {"name": "reading", "type": ["null", "float"], "aliases": ["value"]},
            {"name": "unit", "type": ["null", {"type": "enum", "name": "Unit", "symbols": ["MS", "S"]}],
             "default": null},
            {"name": "at", "aliases": ["logtime"],
             "type": ["null", {"type": "long", "logicalType": "timestamp-micros"}]},
            {"name": "labels", "aliases": ["tags"], "type": {"type": "map", "values": ["null", "string"]}},
            {"name": "history", "type": {"type": "array", "items": "double"}},
            {"name": "origin", "type": ["null", {"type": "record", "name": "Node", "fields": [
              {"name": "key", "type": {"type": "fixed", "name": "other.Key", "size": 3}},
              {"name": "ok", "type": "boolean"}, {"name": "next", "type": ["null", "Node"]},
              {"name": "previous", "type": ["null", "other.Key"]}]}]},
            {"name": "metric", "type": "bytes"}]}""";
    /** Metric m1, tags host h1 and zone z, 0.5 at 1,600,000,000,000,999 µs, and all of the other fields. */
    private static final String FULL =
            "020000003f020202ce8fa0faa0ccd7050408686f737402046831087a6f6e6502027a00040000000000"
                    + "00f03f00000000000000400002616263010264656600000278797a00046d31";
    /** The same metric without tags, -2 at -1 µs; nullable fields are null. */
    private static final String SPARE = "02000000c0000201000000046d31";

    private final SeriesTable table = new SeriesTable(100);
    private final List<String> rows = new ArrayList<>();

    private void add(int series, long timeMs, double value) {
        rows.add(table.metric(series) + new TreeMap<>(table.tags(series)) + " " + timeMs + " " + value);
    }

    private static byte[] bytes(String hex) {
        return HexFormat.of().parseHex(hex);
    }

    /** The record's fields as JSON, from names to types. */
    private static String schema(String... fields) {
        List<String> all = new ArrayList<>();
        for (int at = 0; at < fields.length; at += 2) {
            all.add("{\"name\": \"" + fields[at] + "\", \"type\": " + fields[at + 1] + "}");
        }
        return "{\"type\": \"record\", \"name\": \"M\", \"fields\": [" + String.join(",", all) + "]}";
    }

    private static final String TAGS = "{\"type\": \"map\", \"values\": \"string\"}";

    private String read(String schema, String hex) {
        rows.clear();
        MeasurementDecoder decoder = new MeasurementDecoder(WriterSchema.bare(schema), table);
        boolean isRead = decoder.decode(ByteBuffer.wrap(bytes(hex)), this::add);
        assertEquals(isRead, decoder.faults().isEmpty());
        return isRead
                ? rows.get(0)
                : decoder.faults().get(0).field() + " "
                        + decoder.faults().get(0).position() + " "
                        + decoder.faults().get(0).fault();
    }

    @Test
    void fieldsAreFoundByNameOrAliasAndOthersAreSkipped() {
        assertEquals("m1{host=h1, zone=z} 1600000000000 0.5", read(LATER, FULL));
        assertEquals("m1{} -1 -2.0", read(LATER, SPARE));
        // Metric and tags are those of the series that the default schema writes.
        MeasurementEncoder encoder = new MeasurementEncoder(MeasurementShape.bare(ValueType.LONG));
        MeasurementDecoder decoder = new MeasurementDecoder(MeasurementShape.bare(ValueType.LONG), table);
        rows.clear();
        assertTrue(decoder.decode(encoder.encode("m1", Map.of(), 5, 6), this::add));
        assertEquals(List.of("m1{} 5 6.0"), rows);
        assertEquals(2, table.size());
    }

    @Test
    void theFingerprintIsOfTheCanonicalForm() {
        assertEquals(0xf9ff596f78a1b9dcL, WriterSchema.bare(LATER).fingerprint());
        WriterSchema own = WriterSchema.singleObject(MeasurementShape.MEASUREMENT_SCHEMA);
        assertEquals(
                HexFormat.of().formatHex(MeasurementShape.DEFAULT.head()),
                HexFormat.of().formatHex(own.head()));
        assertEquals(ValueType.DOUBLE, own.shape());
        assertNull(WriterSchema.bare(LATER).shape());
        for (WriterSchema framed : List.of(WriterSchema.singleObject(LATER), WriterSchema.registry(7, LATER))) {
            MeasurementDecoder decoder = new MeasurementDecoder(framed, table);
            byte[] spare = bytes(SPARE);
            byte[] message = ByteBuffer.allocate(framed.head().length + spare.length)
                    .put(framed.head())
                    .put(spare)
                    .array();
            rows.clear();
            Counts counts = decoder.decode(message, 0, new int[] {message.length, 0}, 2, this::add);
            assertEquals(new Counts(2, 1, 0, 1), counts);
            assertEquals(List.of("m1{} -1 -2.0"), rows);
            assertEquals(
                    new MessageFault(1, "frame", 0, Fault.FRAME),
                    decoder.faults().get(0));
        }
    }

    @Test
    void numbersAreWidenedAndStringsMayBeBytes() {
        assertEquals(
                "m{} 3 -2.0",
                read(schema("metric", "\"string\"", "logtime", "\"int\"", "value", "\"int\""), "026d0603"));
        assertEquals(
                "m{} 3 -2.0",
                read(
                        schema("value", "\"long\"", "metric", "[\"bytes\", \"string\"]", "logtime", "\"long\""),
                        "0302026d06"));
        assertEquals(
                "m{a=b} 0 1.5",
                read(
                        schema(
                                "metric",
                                "\"string\"",
                                "tags",
                                TAGS,
                                "logtime",
                                "{\"type\": \"long\", \"logicalType\": \"timestamp-nanos\"}",
                                "value",
                                "\"double\""),
                        "026d02026102620002000000000000f83f"));
        // Other logical types of a number are ignored.
        assertEquals(
                "m{} 1 0.0",
                read(
                        schema(
                                "metric",
                                "{\"type\": \"string\", \"logicalType\": \"uuid\"}",
                                "logtime",
                                "\"long\"",
                                "value",
                                "[\"null\", \"double\", \"int\"]"),
                        "026d020400"));
    }

    @Test
    void invalidMessagesAreRefusedWithTheirField() {
        String valid = FULL;
        assertEquals("value 0 BRANCH_UNFIT", read(LATER, "00"));
        assertEquals("value 0 BRANCH", read(LATER, "04"));
        assertEquals("unit 6 SYMBOL", read(LATER, valid.substring(0, 12) + "04"));
        assertEquals("time 7 BRANCH_UNFIT", read(LATER, valid.substring(0, 14) + "00"));
        assertEquals("tags 22 BRANCH_UNFIT", read(LATER, valid.substring(0, 44) + "00"));
        assertEquals("origin 57 BOOLEAN", read(LATER, valid.replace("61626301", "61626302")));
        assertEquals("metric 69 TRUNCATED", read(LATER, valid.substring(0, valid.length() - 2)));
        assertEquals("end 72 REMAINDER", read(LATER, valid + "00"));
        assertEquals("value 0 TRUNCATED", read(LATER, ""));
    }

    @Test
    void schemasThatDoNotFitAMeasurementAreRefused() {
        String[][] unfit = {
            {"\"long\"", "not a record"},
            {"[1", "isn't JSON"},
            {"7", "neither a name"},
            {"\"x\"", "not defined"},
            {schema("metric", "\"string\"", "value", "\"long\""), "\"logtime\""},
            {schema("metric", "\"int\"", "logtime", "\"long\"", "value", "\"long\""), "a string"},
            {schema("metric", "\"string\"", "logtime", "\"double\"", "value", "\"long\""), "a long"},
            {schema("metric", "\"string\"", "logtime", "\"long\"", "value", "[\"null\", \"string\"]"), "a number"},
            {
                schema(
                        "metric",
                        "\"string\"",
                        "tags",
                        "{\"type\": \"map\", \"values\": \"int\"}",
                        "logtime",
                        "\"long\"",
                        "value",
                        "\"long\""),
                "a map of strings"
            },
            {
                schema(
                        "metric",
                        "\"string\"",
                        "logtime",
                        "{\"type\": \"int\", \"logicalType\": \"date\"}",
                        "value",
                        "\"int\""),
                "date"
            },
            {
                schema(
                        "metric",
                        "\"string\"",
                        "logtime",
                        "[\"int\", {\"type\": \"long\", \"logicalType\": \"timestamp-micros\"}]",
                        "value",
                        "\"int\""),
                "several units"
            },
            {schema("a", "\"int\"", "a", "\"int\""), "duplicate"},
            {schema("a", "[\"int\", \"int\"]"), "duplicate"},
            {schema("a", "{\"type\": \"fixed\", \"name\": \"F\", \"size\": -1}"), "no size"},
            {schema("a", "{\"type\": \"enum\", \"name\": \"a b\", \"symbols\": []}"), "not a valid name"},
            {schema("a", "{\"type\": \"array\"}"), "neither a name"},
            {"{\"type\": \"record\", \"name\": \"R\"}", "no fields"},
            {"{\"type\": \"union\"}", "array"},
            {"{}", "neither a name"},
            {"[".repeat(100_000), "isn't JSON"}
        };
        for (String[] each : unfit) {
            String message = assertThrows(MeasurementException.class, () -> WriterSchema.bare(each[0]), each[0])
                    .getMessage();
            assertTrue(message.contains(each[1]), message);
        }
    }

    @Test
    void aMessageCannotKeepItsReaderBusy() {
        String rest = ", {\"name\": \"metric\", \"type\": \"string\"}, {\"name\": \"logtime\", \"type\": \"long\"}, "
                + "{\"name\": \"value\", \"type\": \"long\"}]}";
        String begin = "{\"type\": \"record\", \"name\": \"M\", \"fields\": [{\"name\": \"x\", \"type\": ";
        // 2^62 nulls; infinitely nested records; records of zero bytes whose number doubles with each level.
        assertEquals(
                "x 9 PARTS", read(begin + "{\"type\": \"array\", \"items\": \"null\"}}" + rest, "feffffffffffffff7f"));
        assertEquals(
                "x 0 PARTS",
                read(
                        begin + "{\"type\": \"record\", \"name\": \"R\", \"fields\": ["
                                + "{\"name\": \"r\", \"type\": \"R\"}]}}" + rest,
                        "00"));
        String doubled = "{\"type\": \"record\", \"name\": \"R0\", \"fields\": []}";
        for (int level = 1; level < 30; level++) {
            doubled = "{\"type\": \"record\", \"name\": \"R" + level + "\", \"fields\": [{\"name\": \"a\", \"type\": "
                    + doubled + "}, {\"name\": \"b\", \"type\": \"R" + (level - 1) + "\"}]}";
        }
        assertEquals("x 0 PARTS", read(begin + doubled + "}" + rest, "00"));
    }

    @Test
    void changedMessagesAndSchemasAreReadOrRefused() {
        Random random = new Random(6);
        MeasurementDecoder decoder = new MeasurementDecoder(WriterSchema.bare(LATER), new SeriesTable(10_000));
        int read = 0;
        for (int round = 0; round < 20_000; round++) {
            byte[] bytes = bytes(random.nextInt(3) > 0 ? FULL : SPARE);
            for (int changes = 1 + random.nextInt(3); changes > 0; changes--) {
                bytes[random.nextInt(bytes.length)] =
                        (byte) (random.nextBoolean() ? random.nextInt() : random.nextInt(8));
            }
            int length = random.nextInt(5) > 0 ? bytes.length : random.nextInt(bytes.length);
            read += decoder.decode(ByteBuffer.wrap(bytes, 0, length), (series, timeMs, value) -> {}) ? 1 : 0;
        }
        assertTrue(read > 1000 && read < 15_000, read + " read");
        int taken = 0;
        for (int round = 0; round < 5_000; round++) {
            StringBuilder changed = new StringBuilder(LATER);
            for (int changes = random.nextInt(3); changes > 0; changes--) {
                int at = random.nextInt(changed.length());
                changed.replace(
                        at,
                        at + random.nextInt(3),
                        "{}[]\":, x1".substring(random.nextInt(10)).substring(0, 1));
            }
            try {
                WriterSchema.singleObject(changed.toString());
                taken++;
            } catch (MeasurementException error) {
                assertFalse(error.getMessage().isBlank());
            }
        }
        assertTrue(taken > 1000 && taken < 4500, taken + " taken");
    }
}
