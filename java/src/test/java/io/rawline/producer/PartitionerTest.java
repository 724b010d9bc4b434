package io.rawline.producer;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.rawline.consumer.ConsumerConfig;
import io.rawline.error.ConfigException;
import io.rawline.record.ReadOptions;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** The partitions of keys are those of Kafka's clients. */
class PartitionerTest {
    /** The vectors of Kafka's own test, and one more. */
    private static final Map<String, Integer> HASHES = Map.of(
            "21", -973932308,
            "foobar", -790332482,
            "a-little-bit-long-string", -985981536,
            "a-little-bit-longer-string", -1486304829,
            "lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971,
            "abc", 479470107);

    @Test
    void hashesAreKafkas() {
        HASHES.forEach(
                (key, hash) -> assertEquals(hash, Partitioner.murmur2(key.getBytes(StandardCharsets.UTF_8)), key));
    }

    @Test
    void aKeyHasTheSamePartitionInEveryForm() {
        HASHES.forEach((key, hash) -> {
            byte[] bytes = key.getBytes(StandardCharsets.UTF_8);
            for (int partitions : new int[] {1, 4, 1000, 1024}) {
                int partition = (hash & 0x7fff_ffff) % partitions;
                assertEquals(partition, Partitioner.partition(bytes, partitions));
                assertEquals(partition, Partitioner.ofHash(((Route.Key) Route.key(key)).hash(), partitions));
                assertEquals(Route.key(bytes), Route.key(key));
            }
        });
        assertEquals(275646681 & 0x7fff_ffff, Partitioner.positiveHash(new byte[0]));
    }

    @Test
    void invalidPartitionsAreNamed() {
        assertThrows(ConfigException.class, () -> Partitioner.partition(new byte[1], 0));
        assertThrows(ConfigException.class, () -> Partitioner.partition(new byte[1], 1025));
        for (int partition : new int[] {-1, 1024}) {
            ConfigException error = assertThrows(ConfigException.class, () -> Route.partition(partition));
            assertEquals("partition must be 0 to 1023, not " + partition, error.getMessage());
            assertThrows(ConfigException.class, () -> ReadOptions.from(0).partition(partition));
            assertThrows(ConfigException.class, () -> new ConsumerConfig().partitions(0, partition));
        }
        assertThrows(ConfigException.class, () -> new ConsumerConfig().partitions());
        assertThrows(ConfigException.class, () -> new Route.Key(-1));
    }
}
