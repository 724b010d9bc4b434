package io.rawline.testkit;

import io.rawline.batch.BatchBuilder;
import io.rawline.batch.Codec;
import io.rawline.batch.Limits;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;

/** Batches for tests. */
public final class Batches {
    private Batches() {}

    public static ByteBuffer build(Codec codec, List<String> records) {
        BatchBuilder builder = new BatchBuilder(codec, Limits.DEFAULT);
        for (String record : records) {
            if (!builder.add(ByteBuffer.wrap(record.getBytes()))) {
                throw new AssertionError("no room for a record of " + record.length() + " characters");
            }
        }
        return builder.finish(1_700_000_000_123_456L, 7, 1000);
    }

    public static List<String> compressible(int count) {
        List<String> records = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            records.add("{\"event\":" + i + ",\"kind\":\"reading\",\"ok\":true}");
        }
        return records;
    }
}
