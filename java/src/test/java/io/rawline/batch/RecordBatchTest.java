package io.rawline.batch;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.github.luben.zstd.Zstd;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.OptionalLong;
import java.util.Random;
import java.util.zip.CRC32C;
import java.util.zip.GZIPOutputStream;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.common.record.internal.DefaultRecordBatch;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.MemoryRecordsBuilder;
import org.apache.kafka.common.record.internal.MutableRecordBatch;
import org.apache.kafka.common.record.internal.Record;
import org.apache.kafka.common.record.internal.SimpleRecord;
import org.junit.jupiter.api.Test;
import org.xerial.snappy.Snappy;

/** Kafka's batches: those of Kafka's own library are read, ours are read by it, and no bytes do harm. */
class RecordBatchTest {
    private static final long BASE_MS = 1_700_000_000_000L;
    private static final String TEXT = "event ".repeat(40_000);

    private static final List<Compression> CODECS = List.of(
            Compression.NONE,
            Compression.gzip().build(),
            Compression.snappy().build(),
            Compression.lz4().build(),
            Compression.zstd().build(),
            // A window of 128 MiB.
            Compression.zstd().level(22).build());

    private static byte[] bytes(String text) {
        return text == null ? null : text.getBytes(StandardCharsets.UTF_8);
    }

    /** As Kafka's Java client writes it: offsets from 50 on. */
    private static ByteBuffer kafkaBatch(Compression codec, String text) {
        Header[] headers = {
            new org.apache.kafka.common.header.internals.RecordHeader("h", bytes("v")),
            new org.apache.kafka.common.header.internals.RecordHeader("n", (byte[]) null)
        };
        return MemoryRecords.withIdempotentRecords(
                        (byte) 2,
                        50,
                        codec,
                        7,
                        (short) 3,
                        1000,
                        0,
                        new SimpleRecord(BASE_MS, bytes("k1"), bytes("hello"), headers),
                        new SimpleRecord(BASE_MS - 1, null, bytes("")),
                        new SimpleRecord(BASE_MS + 300, bytes(""), null),
                        new SimpleRecord(BASE_MS + 1, null, bytes(text)))
                .buffer();
    }

    private static List<RecordBatch> check(ByteBuffer bytes, Limits limits) {
        RecordBatchChecker checker = new RecordBatchChecker(limits);
        // In two pieces.
        checker.advance(bytes, bytes.limit() / 2);
        checker.advance(bytes, bytes.limit());
        return checker.finish(bytes, bytes.limit());
    }

    private static List<String> read(ByteBuffer bytes, Limits limits) {
        List<String> found = new ArrayList<>();
        for (RecordBatch batch : check(bytes, limits)) {
            Records records = batch.records();
            while (records.next()) {
                found.add(records.text());
                records.headers();
                records.key();
            }
        }
        return found;
    }

    @Test
    void batchesOfKafkasLibraryAreRead() {
        for (Compression codec : CODECS) {
            RecordBatch batch = check(kafkaBatch(codec, TEXT), Limits.DEFAULT).get(0);
            assertEquals(codec.type().id, batch.header().codec().number());
            assertEquals(7, batch.header().producerId());
            assertEquals(4, batch.count());
            Records records = batch.records();
            assertTrue(records.next() && records.isKafka());
            assertEquals(50, records.offset());
            assertEquals("hello", records.text());
            assertArrayEquals(bytes("k1"), records.key());
            assertEquals(List.of(new RecordHeader("h", bytes("v")), new RecordHeader("n", null)), records.headers());
            assertEquals(OptionalLong.of(BASE_MS), records.timestampMs());
            assertEquals(1000 * BASE_MS, records.createdUs());
            assertTrue(records.next() && records.key() == null && records.length() == 0 && !records.isNull());
            assertEquals(OptionalLong.of(BASE_MS - 1), records.timestampMs());
            assertTrue(records.next() && records.key().length == 0 && records.isNull());
            assertTrue(records.next());
            assertEquals(TEXT, records.text());
            assertEquals(List.of(), records.headers());
            assertFalse(records.next());
            // From the middle, before the end.
            Records some = new Records(List.of(batch, batch), 50, 52, 55, null);
            int count = 0;
            for (; some.next(); count++) {
                assertEquals(52 + count, some.offset());
            }
            assertEquals(3, count);
        }
    }

    /** As in a compacted topic: records at the offsets 53, 54 and 59; then none up to 65. */
    @Test
    void offsetsWithoutRecordsAreSkipped() {
        for (Compression codec : CODECS) {
            MemoryRecordsBuilder builder =
                    MemoryRecords.builder(ByteBuffer.allocate(1000), (byte) 2, codec, TimestampType.CREATE_TIME, 50);
            for (long offset : new long[] {53, 54, 59}) {
                builder.appendWithOffset(offset, BASE_MS + offset, bytes("k"), bytes("record " + offset));
            }
            ByteBuffer some = builder.build().buffer();
            ByteBuffer none = ByteBuffer.allocate(RecordBatchHeader.BYTES);
            DefaultRecordBatch.writeEmptyHeader(
                    none, (byte) 2, -1, (short) -1, -1, 60, 65, 0, TimestampType.CREATE_TIME, -1, false, false);
            none.flip();
            ByteBuffer both = ByteBuffer.allocate(some.limit() + none.limit());
            both.put(some.duplicate()).put(none).flip();
            List<RecordBatch> batches = check(both, Limits.DEFAULT);
            assertEquals(List.of(3, 0), batches.stream().map(RecordBatch::count).toList());
            assertEquals(
                    List.of(10, 6),
                    batches.stream().map(batch -> batch.header().offsets()).toList());
            for (long first = 50; first <= 66; first++) {
                for (long end = first; end <= 67; end++) {
                    List<String> expected = new ArrayList<>();
                    for (long offset : new long[] {53, 54, 59}) {
                        if (first <= offset && offset < end) {
                            expected.add("record " + offset);
                        }
                    }
                    Records records = new Records(batches, 50, first, end, null);
                    List<String> found = new ArrayList<>();
                    while (records.next()) {
                        found.add(records.text());
                        assertEquals("record " + records.offset(), records.text());
                    }
                    assertEquals(expected, found, first + " to " + end);
                    assertFalse(records.next());
                }
            }
        }
    }

    @Test
    void kafkasLibraryReadsOurs() {
        Random random = new Random(7);
        byte[] noise = new byte[100_000];
        random.nextBytes(noise);
        for (Codec codec : Codec.values()) {
            RecordBatchBuilder builder =
                    new RecordBatchBuilder(codec, Limits.DEFAULT, new Buffers(1 << 20), new Buffers(1 << 20));
            // The second one uses the memory of the first.
            for (long sequence : new long[] {5, (1L << 31) + 6}) {
                List<RecordHeader> headers = List.of(new RecordHeader("é", bytes("v")), new RecordHeader("n", null));
                assertTrue(builder.add(BASE_MS, bytes("k"), ByteBuffer.wrap(bytes("one")), headers));
                assertTrue(builder.add(BASE_MS - 5, null, null, List.of()));
                assertTrue(builder.add(Long.MAX_VALUE, null, ByteBuffer.wrap(noise), List.of()));
                assertFalse(builder.add(Long.MIN_VALUE, null, null, List.of()));
                assertTrue(builder.add(0, null, ByteBuffer.wrap(bytes(TEXT)), List.of()));
                SealedBatch sealed = builder.seal(9, 2, sequence);
                ByteBuffer whole = ByteBuffer.allocate(sealed.bytes());
                Arrays.stream(sealed.pieces()).forEach(whole::put);
                assertEquals(List.of("one", "", new String(noise, StandardCharsets.UTF_8), TEXT), read(whole.flip()));

                MutableRecordBatch batch = MemoryRecords.readableRecords(whole)
                        .batches()
                        .iterator()
                        .next();
                batch.ensureValid();
                assertEquals(codec.toString(), batch.compressionType().name);
                assertEquals(9, batch.producerId());
                assertEquals(2, batch.producerEpoch());
                assertEquals(sequence & 0x7fff_ffff, batch.baseSequence());
                assertEquals(Long.MAX_VALUE, batch.maxTimestamp());
                List<Record> read = new ArrayList<>();
                batch.forEach(read::add);
                assertEquals(ByteBuffer.wrap(bytes("k")), read.get(0).key());
                assertEquals(
                        new RecordHeaders(List.of(
                                new org.apache.kafka.common.header.internals.RecordHeader("é", bytes("v")),
                                new org.apache.kafka.common.header.internals.RecordHeader("n", (byte[]) null))),
                        new RecordHeaders(read.get(0).headers()));
                assertFalse(read.get(1).hasKey() || read.get(1).hasValue());
                assertEquals(BASE_MS - 5, read.get(1).timestamp());
                assertEquals(ByteBuffer.wrap(noise), read.get(2).value());
                assertEquals(ByteBuffer.wrap(bytes(TEXT)), read.get(3).value());
            }
        }
    }

    private static List<String> read(ByteBuffer bytes) {
        return read(bytes, Limits.DEFAULT);
    }

    /** A batch with the header of an uncompressed one. */
    private static ByteBuffer withSection(ByteBuffer batch, int codec, byte[] section) {
        ByteBuffer other = ByteBuffer.allocate(RecordBatchHeader.BYTES + section.length);
        other.put(batch.slice(0, RecordBatchHeader.BYTES)).put(section).flip();
        other.putInt(8, other.limit() - 12).putShort(21, (short) codec);
        return withChecksum(other);
    }

    private static ByteBuffer withChecksum(ByteBuffer batch) {
        CRC32C crc = new CRC32C();
        crc.update(batch.duplicate().position(RecordBatchHeader.CHECKED_POSITION));
        return batch.putInt(17, (int) crc.getValue());
    }

    private static byte[] section(ByteBuffer batch) {
        byte[] section = new byte[batch.limit() - RecordBatchHeader.BYTES];
        batch.get(RecordBatchHeader.BYTES, section);
        return section;
    }

    private static byte[] gzip(byte[] bytes) throws IOException {
        ByteArrayOutputStream packed = new ByteArrayOutputStream();
        try (GZIPOutputStream gzip = new GZIPOutputStream(packed)) {
            gzip.write(bytes);
        }
        return packed.toByteArray();
    }

    private static byte[] concat(byte[]... parts) {
        ByteArrayOutputStream whole = new ByteArrayOutputStream();
        for (byte[] part : parts) {
            whole.writeBytes(part);
        }
        return whole.toByteArray();
    }

    /** Bytes that Kafka's Java client doesn't write, but other clients do. */
    @Test
    void otherFramingsAreRead() throws IOException {
        ByteBuffer plain = kafkaBatch(Compression.NONE, TEXT);
        byte[] section = section(plain);
        byte[] front = Arrays.copyOf(section, 1000);
        byte[] rest = Arrays.copyOfRange(section, 1000, section.length);
        List<String> records = List.of("hello", "", "", TEXT);
        assertEquals(records, read(withSection(plain, 2, Snappy.compress(section))));
        assertEquals(records, read(withSection(plain, 1, concat(gzip(front), gzip(rest)))));
        byte[] skippable = {0x5f, 0x2a, 0x4d, 0x18, 2, 0, 0, 0, 9, 9};
        byte[] frames = concat(Zstd.compress(front), skippable, Zstd.compress(rest));
        assertEquals(records, read(withSection(plain, 4, frames)));
        // A frame whose second block refers to the first: all but the last five bytes are "event " again and again.
        ByteBuffer linked = ByteBuffer.allocate(2000).order(ByteOrder.LITTLE_ENDIAN);
        byte[] descriptor = {0x40, 0x70};
        linked.putInt(0x184d_2204).put(descriptor).put((byte) (XxHash32.of(descriptor, 0, 2) >> 8));
        linked.putInt(front.length | 1 << 31).put(front);
        byte[] tail = Arrays.copyOfRange(section, section.length - 5, section.length);
        int match = rest.length - tail.length;
        int more = match - 4 - 15;
        linked.putInt(3 + more / 255 + 1 + 1 + tail.length).put((byte) 0x0f).putShort((short) 6);
        for (; more >= 255; more -= 255) {
            linked.put((byte) 255);
        }
        linked.put((byte) more).put((byte) (tail.length << 4)).put(tail).putInt(0);
        assertEquals(records, read(withSection(plain, 3, Arrays.copyOf(linked.array(), linked.position()))));
    }

    @Test
    void decompressionIsBounded() throws IOException {
        byte[] zeros = new byte[(64 << 20) + 1];
        ByteBuffer plain = kafkaBatch(Compression.NONE, "");
        for (Compression codec : CODECS.subList(1, CODECS.size())) {
            ByteBuffer small = kafkaBatch(codec, TEXT);
            Limits limits = new Limits(1 << 20, 1 << 20, TEXT.length());
            assertEquals("batch_limit", code(() -> read(small, limits)), codec.type().name);
        }
        List<ByteBuffer> bombs = List.of(
                withSection(plain, 1, gzip(zeros)),
                withSection(plain, 2, Snappy.compress(zeros)),
                withSection(plain, 4, Zstd.compress(zeros)));
        for (ByteBuffer bomb : bombs) {
            assertEquals("batch_limit", code(() -> read(bomb)));
        }
        // 2 GiB announced by six bytes.
        byte[] lie = {-1, -1, -1, -1, 7, 0};
        assertEquals("batch_decompress", code(() -> read(withSection(plain, 2, lie))));
    }

    private static String code(Runnable run) {
        return assertThrows(BatchException.class, run::run).code();
    }

    @Test
    void damageIsNoticed() {
        ByteBuffer batch = kafkaBatch(Compression.NONE, "");
        assertEquals("record_batch_damaged", code(() -> read(batch.put(70, (byte) (batch.get(70) + 1)))));
        ByteBuffer good = kafkaBatch(Compression.NONE, "");
        assertEquals("batch_truncated", code(() -> read(good.slice(0, good.limit() - 1))));
        assertEquals("batch_truncated", code(() -> read(good.slice(0, 60))));
        assertEquals("batch_empty", code(() -> read(good.slice(0, 0))));
        // Each call has the same error: the batch isn't skipped.
        Records records = check(withSection(good, 1, new byte[] {1, 2, 3}), Limits.DEFAULT)
                .get(0)
                .records();
        assertEquals("batch_decompress", code(records::next));
        assertEquals("batch_decompress", code(records::next));
        byte[] section = section(good);
        for (int length = 0; length < section.length; length++) {
            byte[] cut = Arrays.copyOf(section, length);
            assertEquals("record_batch_invalid", code(() -> read(withSection(good, 0, cut))), "of " + length);
        }
        byte[] longer = Arrays.copyOf(section, section.length + 1);
        assertEquals("record_batch_invalid", code(() -> read(withSection(good, 0, longer))));
    }

    /** Whatever the bytes are: records, or a {@link BatchException}. */
    @Test
    void changedBytesDoNoHarm() {
        Random random = new Random(42);
        int read = 0;
        for (Compression codec : CODECS) {
            ByteBuffer good = kafkaBatch(codec, TEXT.substring(0, 600));
            for (int run = 0; run < 1000; run++) {
                ByteBuffer bad =
                        ByteBuffer.allocate(good.limit()).put(good.duplicate()).flip();
                for (int change = random.nextInt(3); change >= 0; change--) {
                    int at = random.nextInt(10) == 0
                            ? 16 + random.nextInt(RecordBatchHeader.BYTES - 16)
                            : RecordBatchHeader.BYTES + random.nextInt(bad.limit() - RecordBatchHeader.BYTES);
                    bad.put(at, (byte) random.nextInt());
                }
                try {
                    read(withChecksum(bad));
                    read++;
                } catch (BatchException error) {
                    assertTrue(error.getMessage().length() > 10);
                }
            }
        }
        assertTrue(read > 30, read + " were read all the same");
    }
}
