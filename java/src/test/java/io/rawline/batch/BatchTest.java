package io.rawline.batch;

import static io.rawline.testkit.Batches.build;
import static io.rawline.testkit.Batches.compressible;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.management.ManagementFactory;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.ReadOnlyBufferException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** Batches: they round-trip, and any damage is an error. */
class BatchTest {
    static List<String> texts(Batch batch) {
        List<String> texts = new ArrayList<>();
        for (Records records = batch.records(); records.next(); ) {
            texts.add(records.text());
        }
        return texts;
    }

    @Test
    void recordsRoundTrip() {
        for (Codec codec : Codec.values()) {
            for (int count : new int[] {1, 2, 3, 100, 5000}) {
                List<String> given = compressible(count);
                Batch batch = Batch.parse(build(codec, given), Limits.DEFAULT);
                assertEquals(given, texts(batch));
                if (count >= 100) {
                    assertEquals(codec, batch.header().codec());
                    assertEquals(
                            codec != Codec.NONE,
                            batch.header().dataBytes() < batch.header().rawBytes());
                }
            }
        }
    }

    @Test
    void dataThatDoesNotShrinkIsStoredUncompressed() {
        for (Codec codec : Codec.values()) {
            for (String given : List.of("", "a", "q8#Kz!0v")) {
                assertEquals(build(Codec.NONE, List.of(given)), build(codec, List.of(given)));
            }
        }
    }

    @Test
    void aBuilderStartsOverAfterEachBatch() {
        for (Codec codec : Codec.values()) {
            BatchBuilder builder = new BatchBuilder(codec, Limits.DEFAULT);
            assertEquals(
                    "batch_empty",
                    assertThrows(BatchException.class, () -> builder.finish(0, 0, 0))
                            .code());
            for (int count = 20; count < 23; count++) {
                assertEquals(0, builder.count());
                assertEquals(64, builder.bytes());
                for (String record : compressible(count)) {
                    builder.add(ByteBuffer.wrap(record.getBytes()));
                }
                assertEquals(build(codec, compressible(count)), builder.finish(1_700_000_000_123_456L, 7, 1000));
            }
        }
    }

    @Test
    void aBuilderFillsABatchUpToItsLimits() {
        // 64 + 3 × (4 + 12) = 112.
        Limits[] limits = {
            new Limits(112, 1 << 20, 1 << 20),
            new Limits(111, 1 << 20, 1 << 20),
            new Limits(1 << 20, 3, 1 << 20),
            new Limits(1 << 20, 1 << 20, 36),
            new Limits(1 << 20, 1 << 20, 35),
            new Limits(79, 1 << 20, 1 << 20)
        };
        int[] counts = {3, 2, 3, 3, 2, 0};
        for (int i = 0; i < limits.length; i++) {
            BatchBuilder builder = new BatchBuilder(Codec.NONE, limits[i]);
            while (builder.add(ByteBuffer.wrap("twelve bytes".getBytes()))) {
                continue;
            }
            assertEquals(counts[i], builder.count(), limits[i].toString());
            if (counts[i] > 0) {
                long bytes = builder.bytes();
                ByteBuffer batch = builder.finish(0, 0, 0);
                assertEquals(bytes, batch.remaining());
                assertEquals(counts[i], Batch.parse(batch, limits[i]).count());
            }
        }
    }

    @Test
    void recordsAreReadOnlyViewsOfTheReceivedBytes() {
        ByteBuffer bytes = ByteBuffer.allocateDirect(1000);
        bytes.put(build(Codec.NONE, List.of("one", "two"))).flip();
        Batch batch = Batch.parse(bytes, Limits.DEFAULT);
        Records records = batch.records();
        assertTrue(records.next());
        ByteBuffer view = records.bytes();
        assertThrows(ReadOnlyBufferException.class, () -> view.put(0, (byte) 0));
        assertThrows(ReadOnlyBufferException.class, () -> records.buffer().put(0, (byte) 0));
        assertThrows(ReadOnlyBufferException.class, () -> batch.record(1).put(0, (byte) 0));
        // A change of the bytes is visible, so nothing was copied.
        bytes.put(records.position(), (byte) 'O');
        assertEquals('O', view.get(0));
        assertEquals('O', batch.record(0).get(0));
        ByteBuffer buffer = records.buffer();
        assertTrue(records.next());
        assertSame(buffer, records.buffer());
        assertFalse(records.next());
        assertThrows(IndexOutOfBoundsException.class, () -> batch.record(2));
    }

    @Test
    void iterationAllocatesNothingPerRecord() {
        var threads = (com.sun.management.ThreadMXBean) ManagementFactory.getThreadMXBean();
        Batch batch = Batch.parse(build(Codec.NONE, Collections.nCopies(100_000, "x")), Limits.DEFAULT);
        // Loads the classes, and creates the table for access by index.
        assertEquals(2 * 100_000 * 'x', sumByCursor(batch) + sumByIndex(batch));
        long before = threads.getCurrentThreadAllocatedBytes();
        long sum = sumByCursor(batch) + sumByIndex(batch);
        long allocated = threads.getCurrentThreadAllocatedBytes() - before;
        assertEquals(2 * 100_000 * 'x', sum);
        assertTrue(allocated < 4000, allocated + " bytes");
    }

    private static long sumByCursor(Batch batch) {
        long sum = 0;
        for (Records records = batch.records(); records.next(); ) {
            sum += records.buffer().get(records.position() + records.length() - 1);
        }
        return sum;
    }

    private static long sumByIndex(Batch batch) {
        long sum = 0;
        for (int i = 0; i < batch.count(); i++) {
            sum += batch.unpacked().get(batch.recordPosition(i) + batch.recordBytes(i) - 1);
        }
        return sum;
    }

    @Test
    void damageIsAlwaysDetected() {
        Random random = new Random(1);
        for (Codec codec : Codec.values()) {
            byte[] good = build(codec, compressible(20)).array();
            for (int at = 0; at < good.length; at++) {
                byte[] bad = good.clone();
                bad[at] ^= (byte) (1 << random.nextInt(8));
                assertThrows(BatchException.class, () -> Batch.parse(ByteBuffer.wrap(bad), Limits.FORMAT));
                ByteBuffer cut = ByteBuffer.wrap(good, 0, at);
                assertEquals(
                        "batch_truncated",
                        assertThrows(BatchException.class, () -> Batch.parse(cut, Limits.FORMAT))
                                .code());
            }
        }
    }

    @Test
    void inconsistentCompressedDataIsDecompressedOrRefused() {
        Random random = new Random(2);
        for (Codec codec : new Codec[] {Codec.LZ4, Codec.ZSTD}) {
            Batch good = Batch.parse(build(codec, compressible(50)), Limits.DEFAULT);
            byte[] data = new byte[good.data().remaining()];
            good.data().get(data);
            int refused = 0;
            for (int i = 0; i < 20_000; i++) {
                int length = random.nextBoolean() ? data.length : random.nextInt(data.length);
                byte[] bad = Arrays.copyOf(data, length);
                for (int changes = random.nextInt(4); changes >= 0 && bad.length > 0; changes--) {
                    bad[random.nextInt(bad.length)] = (byte) random.nextInt();
                }
                try {
                    ByteBuffer out = Compression.unpack(
                            codec, ByteBuffer.wrap(bad), good.header().rawBytes(), null);
                    assertEquals(good.header().rawBytes(), out.remaining());
                } catch (BatchException error) {
                    assertEquals("batch_decompress", error.code());
                    refused++;
                }
            }
            assertTrue(refused > 10_000, codec + ": " + refused);
        }
    }

    @Test
    void aMatchBeforeTheDataIsRefusedAndExposesNoMemory() {
        byte[] secret = new byte[17];
        Arrays.fill(secret, (byte) 'S');
        // Four literals, eight bytes from 0, 9 or 1 bytes back, five literals.
        for (int back : new int[] {0, 9, 1}) {
            byte[] block = {0x44, 'a', 'b', 'c', 'd', (byte) back, 0, 0x50, 'v', 'w', 'x', 'y', 'z'};
            ByteBuffer scratch = ByteBuffer.wrap(secret.clone());
            if (back == 1) {
                assertEquals(
                        ByteBuffer.wrap("abcdddddddddvwxyz".getBytes()),
                        Compression.unpack(Codec.LZ4, ByteBuffer.wrap(block), 17, scratch));
            } else {
                assertEquals(
                        "batch_decompress",
                        assertThrows(
                                        BatchException.class,
                                        () -> Compression.unpack(Codec.LZ4, ByteBuffer.wrap(block), 17, scratch))
                                .code());
            }
        }
    }

    @Test
    void aBatchThatCannotBeDecompressedIsNeverSkipped() {
        Batch good = Batch.parse(build(Codec.ZSTD, compressible(50)), Limits.DEFAULT);
        ByteBuffer front =
                ByteBuffer.allocate(68).order(java.nio.ByteOrder.LITTLE_ENDIAN).putInt(64, 100);
        BatchHeader header = new BatchHeader(Codec.ZSTD, false, 1, 8, 100, 0, 0, 0, 0);
        ByteBuffer bytes = ByteBuffer.allocate((int) header.batchBytes());
        for (ByteBuffer piece : SealedBatch.seal(header, front, ByteBuffer.wrap("not zstd".getBytes()))
                .pieces()) {
            bytes.put(piece);
        }
        Batch bad = Batch.parse(bytes.flip(), Limits.DEFAULT);
        Records records = new Records(List.of(good, bad, good), 0, 0, Long.MAX_VALUE, new Scratch());
        for (int i = 0; i < 50; i++) {
            assertTrue(records.next());
        }
        for (int i = 0; i < 3; i++) {
            assertEquals(
                    "batch_decompress",
                    assertThrows(BatchException.class, records::next).code());
        }
        // From the next batch on, it is not decompressed.
        records = new Records(List.of(good, bad, good), 0, 51, Long.MAX_VALUE, new Scratch());
        assertTrue(records.next());
        assertEquals(compressible(50).get(0), records.text());
        assertEquals(51, records.offset());
    }

    @Test
    void aWindowThatIsTooLargeIsNamed() {
        Batch good = Batch.parse(build(Codec.ZSTD, compressible(50)), Limits.DEFAULT);
        ByteBuffer frame = good.data();
        int descriptor = frame.get(4) & 0xff;
        boolean singleSegment = (descriptor & 0x20) != 0;
        int headerBytes = 5
                + (singleSegment
                        ? Math.max(1, new int[] {0, 2, 4, 8}[descriptor >> 6])
                        : 1 + new int[] {0, 2, 4, 8}[descriptor >> 6]);
        // The same blocks in a frame without a length, whose window is 8 or 16 MiB.
        for (int exponent = 13; exponent <= 14; exponent++) {
            ByteBuffer data = ByteBuffer.allocate(frame.limit()).put(frame.slice(0, 4));
            data.put((byte) (descriptor & 4)).put((byte) (exponent << 3));
            data.put(frame.slice(headerBytes, frame.limit() - headerBytes)).flip();
            long rawBytes = good.header().rawBytes();
            if (exponent == 13) {
                assertEquals(good.unpacked(), Compression.unpack(Codec.ZSTD, data, rawBytes, null));
            } else {
                BatchException error =
                        assertThrows(BatchException.class, () -> Compression.unpack(Codec.ZSTD, data, rawBytes, null));
                assertEquals("batch_decompress", error.code());
                assertTrue(error.getMessage().contains("window log of up to 23"), error.getMessage());
            }
        }
    }

    @Test
    void sizesThatDoNotMatchTheDataAreRefused() {
        Limits limits = new Limits(80, 2, 8);
        assertEquals("batch_empty", sealError(limits, "", new int[0]));
        assertEquals("batch_sizes_sum", sealError(limits, "x", new int[0]));
        assertEquals("batch_sizes_sum", sealError(limits, "four", 1, 2));
        assertEquals("batch_sizes_overflow", sealError(limits, "four", -1, 5));
        assertEquals("batch_limit", sealError(limits, "abc", 1, 1, 1));
        assertEquals("batch_limit", sealError(limits, "123456789", 9));
    }

    private static String sealError(Limits limits, String data, int... sizes) {
        return assertThrows(
                        BatchException.class, () -> SealedBatch.of(sizes, ByteBuffer.wrap(data.getBytes()), 0, limits))
                .code();
    }

    @Test
    void brokenInvariantsAreErrorsWithTheirValues() {
        ByteBuffer bytes = build(Codec.NONE, compressible(10)).order(ByteOrder.LITTLE_ENDIAN);
        BatchChecker checker = new BatchChecker(Limits.DEFAULT);
        checker.advance(bytes, 100);
        IllegalStateException shrunk = assertThrows(IllegalStateException.class, () -> checker.advance(bytes, 99));
        assertTrue(shrunk.getMessage().contains("100") && shrunk.getMessage().contains("99"), shrunk.getMessage());

        BatchHeader header = Batch.parse(bytes, Limits.DEFAULT).header();
        ByteBuffer front = ByteBuffer.allocate((int) header.dataPosition());
        ByteBuffer oneTooMany = ByteBuffer.allocate((int) header.dataBytes() + 1);
        assertThrows(IllegalStateException.class, () -> SealedBatch.seal(header, front, oneTooMany));

        for (long number : new long[] {-1, 1L << 32}) {
            assertThrows(
                    IllegalArgumentException.class, () -> new BatchHeader(Codec.NONE, false, number, 0, 0, 0, 0, 0, 0));
        }
    }
}
