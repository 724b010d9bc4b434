package io.rawline.measurement;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.management.ThreadMXBean;
import io.rawline.batch.Batch;
import io.rawline.batch.BatchBuilder;
import io.rawline.batch.Codec;
import io.rawline.batch.Limits;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** Decoding of measurements: golden bytes, every length and type, invalid bytes, full tables, allocations. */
class MeasurementTest {
    private static final long SEED = 7;
    private static final MeasurementShape LONGS = MeasurementShape.bare(ValueType.LONG);

    private static byte[] golden(String name) throws IOException {
        Path path = Path.of(System.getProperty("rawline.vectors", "../vectors"), "avro", name);
        return HexFormat.of().parseHex(Files.readString(path).strip());
    }

    private static Map<String, String> tags(String... pairs) {
        Map<String, String> tags = new LinkedHashMap<>();
        for (int index = 0; index < pairs.length; index += 2) {
            tags.put(pairs[index], pairs[index + 1]);
        }
        return tags;
    }

    private static final Map<String, String> ARTICLE_TAGS =
            tags("tag1", "value1", "tag4", "value4", "tag5", "value5", "tag2", "value2", "tag3", "value3");

    private static byte[] copyOf(ByteBuffer buffer) {
        byte[] bytes = new byte[buffer.remaining()];
        buffer.get(buffer.position(), bytes);
        return bytes;
    }

    private static MeasurementDecoder decoder(MeasurementShape shape) {
        return new MeasurementDecoder(shape, new SeriesTable(10_000, SEED));
    }

    private static Counts decode(MeasurementDecoder decoder, List<byte[]> messages, Columns out) {
        ByteArrayOutputStream block = new ByteArrayOutputStream();
        block.write(9);
        messages.forEach(block::writeBytes);
        int[] lengths = messages.stream().mapToInt(message -> message.length).toArray();
        return decoder.decode(block.toByteArray(), 1, lengths, lengths.length, out);
    }

    @Test
    void goldenBytesRoundTrip() throws IOException {
        Map<String, MeasurementShape> shapes = Map.of(
                "measurement.hex", LONGS,
                "measurement-registry-7.hex", MeasurementShape.registry(7, ValueType.LONG),
                "measurement-single-object.hex", MeasurementShape.singleObject(ValueType.LONG));
        for (Map.Entry<String, MeasurementShape> entry : shapes.entrySet()) {
            byte[] golden = golden(entry.getKey());
            MeasurementEncoder encoder = new MeasurementEncoder(entry.getValue());
            assertArrayEquals(golden, copyOf(encoder.encode("metric.name", ARTICLE_TAGS, 1_600_000_000_000L, 1)));
            MeasurementDecoder decoder = decoder(entry.getValue());
            Columns out = new Columns();
            List<byte[]> messages = java.util.Collections.nCopies(100, golden);
            assertEquals(new Counts(100, 100, 0, 0), decode(decoder, messages, out));
            for (int row = 0; row < 100; row++) {
                assertEquals(
                        "0 1600000000000 1.0", out.series()[row] + " " + out.timeMs()[row] + " " + out.value()[row]);
            }
            assertEquals("metric.name", decoder.table().metric(0));
            assertEquals(
                    "{tag1=value1, tag2=value2, tag3=value3, tag4=value4, tag5=value5}",
                    decoder.table().tags(0).toString());
            assertNull(decoder.table().metric(1));
            assertNull(decoder.table().tags(-1));
        }
    }

    @Test
    void fingerprintsAreThoseOfAvro() throws IOException {
        // The specification's example, a schema that is a string.
        assertEquals(0x8f01_4872_6345_03c7L, MeasurementShape.fingerprint("\"string\""));
        byte[] golden = golden("measurement-single-object.hex");
        assertArrayEquals(
                Arrays.copyOf(golden, 10),
                MeasurementShape.singleObject(ValueType.LONG).head());
        assertTrue(MeasurementShape.MEASUREMENT_SCHEMA.endsWith("{\"name\":\"value\",\"type\":\"double\"}]}"));
        assertEquals(ValueType.DOUBLE, MeasurementShape.DEFAULT.value());
    }

    @Test
    void everyLengthOfTimeAndValueIsRead() {
        List<Long> numbers = new ArrayList<>(List.of(0L, Long.MAX_VALUE, Long.MIN_VALUE));
        for (int bit = 0; bit < 63; bit++) {
            long number = 1L << bit;
            numbers.addAll(List.of(number - 1, number, -number, -number - 1));
        }
        MeasurementEncoder encoder = new MeasurementEncoder(LONGS);
        // Short identities too: the whole message may be shorter than one read.
        Identity none = Identity.of(LONGS, "", Map.of());
        Identity some = Identity.of(LONGS, "", Map.of("server", "sgp-1234"));
        List<byte[]> messages = new ArrayList<>();
        Columns expected = new Columns();
        for (long time : numbers) {
            for (long value : numbers) {
                boolean isNone = ((time ^ value) & 1) == 0;
                messages.add(copyOf(encoder.encode(isNone ? none : some, time, value)));
                expected.add(isNone ? 0 : 1, time, value);
            }
        }
        MeasurementDecoder decoder = decoder(LONGS);
        for (int round = 0; round < 2; round++) {
            Columns out = new Columns();
            assertEquals(messages.size(), decode(decoder, messages, out).rows());
            assertArrayEquals(
                    Arrays.copyOf(expected.series(), expected.rows()), Arrays.copyOf(out.series(), out.rows()));
            assertArrayEquals(
                    Arrays.copyOf(expected.timeMs(), expected.rows()), Arrays.copyOf(out.timeMs(), out.rows()));
            assertArrayEquals(Arrays.copyOf(expected.value(), expected.rows()), Arrays.copyOf(out.value(), out.rows()));
        }
        assertEquals(2, decoder.table().size());
    }

    @Test
    void everyTypeOfValueIsReadAndWritten() {
        Map<ValueType, double[]> values = Map.of(
                ValueType.INT, new double[] {0, Integer.MIN_VALUE, Integer.MAX_VALUE, -1},
                ValueType.LONG, new double[] {0, 1L << 50, Long.MIN_VALUE, 7},
                ValueType.FLOAT, new double[] {1.5, -Float.MAX_VALUE, Double.NaN, 0},
                ValueType.DOUBLE, new double[] {-2.5e300, Double.NEGATIVE_INFINITY, Double.MIN_VALUE, -0.0});
        values.forEach((type, numbers) -> {
            for (MeasurementShape shape : List.of(MeasurementShape.bare(type), MeasurementShape.singleObject(type))) {
                MeasurementEncoder encoder = new MeasurementEncoder(shape);
                MeasurementDecoder decoder = decoder(shape);
                Identity identity = Identity.of(shape, "m", tags("a", "b"));
                for (int time = -2; time < 6; time++) {
                    double number = numbers[time & 3];
                    Columns out = new Columns();
                    ByteBuffer message = encoder.encode(identity, time, number);
                    assertTrue(decoder.decode(time % 2 == 0 ? message : message.asReadOnlyBuffer(), out));
                    assertEquals(time, out.timeMs()[0]);
                    assertEquals(Double.doubleToLongBits(number), Double.doubleToLongBits(out.value()[0]));
                }
            }
        });
        MeasurementEncoder longs = new MeasurementEncoder(LONGS);
        assertThrows(IllegalArgumentException.class, () -> longs.encode("m", Map.of(), 0, 0.5));
        assertThrows(IllegalArgumentException.class, () -> longs.encode("m", Map.of(), 0, 0x1p63));
        MeasurementShape ints = MeasurementShape.bare(ValueType.INT);
        Identity identity = Identity.of(ints, "m", Map.of());
        assertThrows(IllegalArgumentException.class, () -> new MeasurementEncoder(ints).encode(identity, 0, 1L << 31));
        assertThrows(IllegalArgumentException.class, () -> longs.encode(identity, 0, 1));
        byte[] tooLong = copyOf(longs.encode("m", Map.of(), 0, 1L << 31));
        MeasurementDecoder decoder = decoder(ints);
        assertEquals(new Counts(2, 0, 0, 2), decode(decoder, List.of(tooLong, tooLong), new Columns()));
        assertEquals(
                new MessageFault(1, "value", 4, Fault.INTEGER_TOO_LONG),
                decoder.faults().get(1));
    }

    @Test
    void framesAreChecked() {
        List<MeasurementShape> shapes = List.of(
                LONGS,
                MeasurementShape.registry(0x102, ValueType.LONG),
                MeasurementShape.singleObject(0x0102_0304_0506_0708L, ValueType.LONG));
        List<byte[]> messages = new ArrayList<>();
        for (MeasurementShape shape : shapes) {
            messages.add(copyOf(new MeasurementEncoder(shape).encode("metric", tags("a", "b"), 5, 6)));
        }
        messages.add(new byte[0]);
        for (int index = 0; index < shapes.size(); index++) {
            MeasurementDecoder decoder = decoder(shapes.get(index));
            for (int round = 0; round < 2; round++) {
                Columns out = new Columns();
                assertEquals(new Counts(4, 1, 0, 3), decode(decoder, messages, out));
                assertEquals(5, out.timeMs()[0]);
                for (MessageFault fault : decoder.faults()) {
                    assertTrue(fault.number() != index);
                    assertTrue(index == 0 || fault.fault() == Fault.FRAME, fault.toString());
                }
            }
        }
    }

    /** A message of raw parts: numbers are bytes, strings are written with their length. */
    private static byte[] raw(Object... parts) {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        for (Object part : parts) {
            if (part instanceof String text) {
                out.write(text.length() * 2);
                out.writeBytes(text.getBytes(StandardCharsets.ISO_8859_1));
            } else {
                out.write((Integer) part);
            }
        }
        return out.toByteArray();
    }

    @Test
    void tagsInAnyOrderAndInSeveralBlocksAreOneSeries() {
        MeasurementDecoder decoder = decoder(LONGS);
        Columns out = new Columns();
        List<byte[]> messages = List.of(
                raw("m", 4, "a", "1", "b", "2", 0, 2, 2),
                raw("m", 4, "b", "2", "a", "1", 0, 2, 2),
                raw("m", 2, "b", "2", 2, "a", "1", 0, 2, 2),
                // A negative count is followed by the block's size in bytes.
                raw("m", 3, 16, "b", "2", "a", "1", 0, 2, 2),
                raw("m", 6, "b", "x", "a", "1", "b", "2", 0, 2, 2),
                // An overlong length.
                raw(0x82, 0x80, 0, (int) 'm', 4, "a", "1", "b", "2", 0x80, 0, 2, 2),
                raw("m", 2, "a", "1", 0, 2, 2));
        assertEquals(
                new Counts(7, 7, 0, 0),
                decode(decoder, messages, out),
                decoder.faults().toString());
        assertArrayEquals(new int[] {0, 0, 0, 0, 0, 0, 1}, Arrays.copyOf(out.series(), 7));
        assertEquals(0, decoder.table().intern("m", tags("b", "2", "a", "1")));
        assertEquals(Map.of("a", "1"), decoder.table().tags(1));
        assertEquals(7, decoder.table().encodingsSize());
    }

    @Test
    void invalidMessagesAreRefusedAndNamed() {
        Object[][] cases = {
            {raw("m", 0, 2), "value", 4, Fault.TRUNCATED},
            {raw("m", 0), "time", 3, Fault.TRUNCATED},
            {raw("m"), "tags", 2, Fault.TRUNCATED},
            {raw(), "metric", 0, Fault.TRUNCATED},
            {raw(4, (int) 'm'), "metric", 0, Fault.TRUNCATED},
            {raw(1, 0, 2, 2), "metric", 0, Fault.LENGTH},
            {raw("\u00ff", 0, 2, 2), "metric", 0, Fault.UTF8},
            {raw("m", 2, "a", "\u00c3", 0, 2, 2), "tags", 5, Fault.UTF8},
            {raw("m", 3, 6, "a", "1", 0, 2, 2), "tags", 2, Fault.LENGTH},
            {raw("m", 1, 1, 0, 2, 2), "tags", 2, Fault.LENGTH},
            {raw("m", 1, 60, 0, 2, 2), "tags", 2, Fault.LENGTH},
            {raw("m", 0, 2, 2, 2), "end", 5, Fault.REMAINDER},
            {raw("m", 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2, 2), "time", 3, Fault.INTEGER_TOO_LONG
            },
            {raw("m", 0, 2, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2), "value", 4, Fault.INTEGER_TOO_LONG
            },
        };
        MeasurementDecoder decoder = decoder(LONGS);
        for (Object[] expected : cases) {
            // The second time too, when it could be remembered.
            for (int round = 0; round < 2; round++) {
                assertFalse(decoder.decode(ByteBuffer.wrap((byte[]) expected[0]), new Columns()));
                MessageFault fault = decoder.faults().get(0);
                assertEquals(
                        expected[1] + " " + expected[2] + " " + expected[3],
                        fault.field() + " " + fault.position() + " " + fault.fault());
            }
        }
        assertEquals(0, decoder.table().size());
        assertEquals(0, decoder.table().strings().size());
        byte[] many = copyOf(new MeasurementEncoder(LONGS).encode("m", manyTags(256), 0, 0));
        assertTrue(decoder.decode(ByteBuffer.wrap(many), new Columns()));
        byte[] tooMany = copyOf(new MeasurementEncoder(LONGS).encode("m", manyTags(257), 0, 0));
        assertFalse(decoder.decode(ByteBuffer.wrap(tooMany), new Columns()));
        assertEquals(Fault.ELEMENTS, decoder.faults().get(0).fault());
        byte[] tooLong = copyOf(new MeasurementEncoder(LONGS).encode("m".repeat((64 << 10) + 1), Map.of(), 0, 0));
        assertFalse(decoder.decode(ByteBuffer.wrap(tooLong), new Columns()));
        assertEquals(Fault.STRING_TOO_LONG, decoder.faults().get(0).fault());
        assertThrows(MeasurementException.class, () -> decoder.table().intern("m", manyTags(257)));
    }

    private static Map<String, String> manyTags(int count) {
        Map<String, String> tags = new LinkedHashMap<>();
        for (int index = count; index > 0; index--) {
            tags.put("key" + index, "value" + index);
        }
        return tags;
    }

    @Test
    void aFullTableDropsNewSeriesAndKeepsTheOldOnes() {
        SeriesTable table = new SeriesTable(3, SEED);
        MeasurementDecoder decoder = new MeasurementDecoder(LONGS, table);
        MeasurementEncoder encoder = new MeasurementEncoder(LONGS);
        List<byte[]> messages = new ArrayList<>();
        for (int number = 0; number < 10; number++) {
            messages.add(copyOf(encoder.encode("m" + number, Map.of(), 0, number)));
        }
        for (int round = 0; round < 2; round++) {
            Columns out = new Columns();
            assertEquals(new Counts(10, 3, 7, 0), decode(decoder, messages, out));
            assertArrayEquals(new int[] {0, 1, 2}, Arrays.copyOf(out.series(), 3));
        }
        assertEquals(3, table.strings().size());
        assertThrows(MeasurementException.class, () -> table.intern("m9", Map.of()));
        assertEquals(2, table.intern("m2", Map.of()));
        StringInterner strings = new StringInterner(2, 1000, SEED);
        assertEquals(0, strings.intern("a"));
        assertEquals(1, strings.intern(""));
        assertThrows(MeasurementException.class, () -> strings.intern("b"));
        assertEquals(0, strings.intern("a"));
        assertEquals("", strings.get(1));
        assertNull(strings.get(2));
        assertEquals(-1, strings.find(new byte[] {'b'}, 0, 1));
        assertThrows(MeasurementException.class, () -> new StringInterner(2, 1000, 1).intern(new byte[] {-1}, 0, 1));
        // The limit of bytes is reached before that of strings.
        StringInterner small = new StringInterner(100, 40, SEED);
        assertEquals(0, small.intern("12345678"));
        assertEquals(1, small.intern("87654321"));
        assertThrows(MeasurementException.class, () -> small.intern("abc"));
        assertThrows(IllegalArgumentException.class, () -> new StringInterner(0, 1, 1));
    }

    @Test
    void theRecordsOfABatchAreDecoded() {
        MeasurementEncoder encoder = new MeasurementEncoder(MeasurementShape.DEFAULT);
        for (Codec codec : new Codec[] {Codec.NONE, Codec.LZ4}) {
            BatchBuilder builder = new BatchBuilder(codec, Limits.DEFAULT);
            for (int record = 0; record < 1_000; record++) {
                // One record is longer than a block's memory.
                String metric = record == 500 ? "m".repeat(20_000) : "m" + record % 7;
                assertTrue(builder.add(encoder.encode(metric, tags("a", "b"), record, record / 2.0)));
            }
            assertTrue(builder.add(ByteBuffer.wrap(new byte[3])));
            Batch batch = Batch.parse(builder.finish(1, 0, 0), Limits.DEFAULT);
            MeasurementDecoder decoder = decoder(MeasurementShape.DEFAULT);
            Columns out = new Columns();
            assertEquals(new Counts(1_001, 1_000, 0, 1), decoder.decode(batch.records(), out));
            for (int row = 0; row < 1_000; row++) {
                assertEquals(row + " " + row / 2.0, out.timeMs()[row] + " " + out.value()[row]);
            }
            assertEquals("m6", decoder.table().metric(out.series()[6]));
            assertEquals(1_000, decoder.faults().get(0).number());
        }
    }

    @Test
    void allThreadsAssignTheSameIdToAString() throws InterruptedException {
        StringInterner strings = new StringInterner(5_000, 1 << 22, SEED);
        List<Thread> threads = new ArrayList<>();
        int[][] ids = new int[4][5_000];
        for (int thread = 0; thread < 4; thread++) {
            int number = thread;
            threads.add(new Thread(() -> {
                Random random = new Random(number);
                for (int round = 0; round < 50_000; round++) {
                    int at = random.nextInt(5_000);
                    String text = "string " + at + "x".repeat(at % 700);
                    int id = strings.intern(text);
                    ids[number][at] = id;
                    if (!text.equals(strings.get(id))) {
                        throw new AssertionError(text);
                    }
                }
                for (int at = 0; at < 5_000; at++) {
                    ids[number][at] = strings.intern("string " + at + "x".repeat(at % 700));
                }
            }));
        }
        threads.forEach(Thread::start);
        for (Thread thread : threads) {
            thread.join();
        }
        assertEquals(5_000, strings.size());
        for (int[] other : ids) {
            assertArrayEquals(ids[0], other);
        }
        assertEquals(5_000, Arrays.stream(ids[0]).distinct().count());
    }

    @Test
    void changedMessagesAreDecodedAsByTheForwardReader() {
        Random random = new Random(5);
        MeasurementEncoder encoder = new MeasurementEncoder(LONGS);
        MeasurementDecoder warm = decoder(LONGS);
        int rows = 0;
        for (int round = 0; round < 1_500; round++) {
            byte[] message = copyOf(encoder.encode(
                    "m" + random.nextInt(3),
                    random.nextBoolean() ? tags("a", "b", "c", "d") : Map.of(),
                    random.nextLong() >> random.nextInt(64),
                    random.nextLong() >> random.nextInt(64)));
            warm.decode(ByteBuffer.wrap(message), new Columns());
            message = Arrays.copyOf(message, Math.max(0, message.length + random.nextInt(3) - 1));
            for (int changes = random.nextInt(3); changes > 0 && message.length > 0; changes--) {
                message[random.nextInt(message.length)] = (byte) random.nextInt();
            }
            // A new decoder reads everything forward.
            MeasurementDecoder fresh = new MeasurementDecoder(LONGS, new SeriesTable(10, SEED));
            Columns expected = new Columns();
            Columns found = new Columns();
            boolean isRow = fresh.decode(ByteBuffer.wrap(message), expected);
            assertEquals(isRow, warm.decode(ByteBuffer.wrap(message), found));
            assertEquals(fresh.faults(), warm.faults());
            if (isRow) {
                rows++;
                assertEquals(expected.timeMs()[0], found.timeMs()[0]);
                assertEquals(expected.value()[0], found.value()[0]);
                assertEquals(fresh.table().metric(0), warm.table().metric(found.series()[0]));
                assertEquals(fresh.table().tags(0), warm.table().tags(found.series()[0]));
            }
        }
        assertTrue(rows > 200);
    }

    @Test
    void nothingIsAllocatedForAKnownSeries() {
        ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        MeasurementEncoder encoder = new MeasurementEncoder(MeasurementShape.DEFAULT);
        MeasurementDecoder decoder = decoder(MeasurementShape.DEFAULT);
        ByteArrayOutputStream block = new ByteArrayOutputStream();
        int[] lengths = new int[1_000];
        Identity[] identities = new Identity[10];
        for (int series = 0; series < identities.length; series++) {
            identities[series] = Identity.of(MeasurementShape.DEFAULT, "metric" + series, ARTICLE_TAGS);
        }
        for (int message = 0; message < lengths.length; message++) {
            byte[] bytes =
                    copyOf(encoder.encode(identities[message % 10], 1_600_000_000_000L + message, message / 3.0));
            block.writeBytes(bytes);
            lengths[message] = bytes.length;
        }
        byte[] bytes = block.toByteArray();
        Columns out = new Columns();
        long before = 0;
        int rounds = 200;
        for (int round = 0; round < 2 * rounds; round++) {
            if (round == rounds) {
                before = threads.getCurrentThreadAllocatedBytes();
            }
            out.clear();
            decoder.decode(bytes, 0, lengths, lengths.length, out);
            for (int message = 0; message < lengths.length; message++) {
                encoder.encode(identities[message % 10], message, 0.5);
            }
        }
        long allocated = threads.getCurrentThreadAllocatedBytes() - before;
        assertEquals(1_000, out.rows());
        // A call allocates its counts, a message nothing.
        assertTrue(allocated < 100L * rounds + 10_000, allocated + " bytes for " + rounds + " calls");
    }
}
