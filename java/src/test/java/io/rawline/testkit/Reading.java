package io.rawline.testkit;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.rawline.Client;
import io.rawline.batch.Records;
import io.rawline.record.ConsumedRecord;
import io.rawline.record.Fetched;
import io.rawline.record.ReadOptions;
import java.util.ArrayList;
import java.util.List;

/** Reads topics for tests. */
public final class Reading {
    private Reading() {}

    /** Reads a whole topic, with the iterator and with the cursor. */
    public static List<String> all(Client client, String topic) {
        List<String> all = new ArrayList<>();
        Fetched fetched = null;
        long offset = 0;
        while (true) {
            fetched = client.read(topic, ReadOptions.from(offset), fetched);
            if (fetched.isEmpty()) {
                return all;
            }
            long next = offset;
            for (ConsumedRecord record : fetched) {
                assertEquals(next++, record.offset());
                all.add(record.text());
            }
            for (Records records = fetched.records(); records.next(); offset++) {
                assertEquals(offset, records.offset());
                assertEquals(all.get((int) offset), records.text());
            }
            assertEquals(fetched.nextOffset(), offset);
            assertEquals(next, offset);
        }
    }
}
