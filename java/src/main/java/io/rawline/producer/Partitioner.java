package io.rawline.producer;

import io.rawline.internal.setting.Settings;

/** The partition that a key belongs to: the one in which Kafka's clients put it. */
public final class Partitioner {
    private static final int SEED = 0x9747b28c;
    private static final int MULTIPLIER = 0x5bd1e995;

    private Partitioner() {}

    /**
     * The partition of a key.
     *
     * @param key the key's bytes
     * @param partitions the topic's number of partitions
     * @return from 0 to {@code partitions} - 1
     * @throws io.rawline.error.ConfigException the number of partitions is not from 1 to 1024
     */
    public static int partition(byte[] key, int partitions) {
        Settings.range("partitions", 1, Settings.PARTITIONS_MAX, partitions);
        return ofHash(positiveHash(key), partitions);
    }

    /** The partition of a key with this {@link #positiveHash}. */
    static int ofHash(int positiveHash, int partitions) {
        if (positiveHash < 0 || partitions < 1) {
            throw new IllegalStateException("a key of hash " + positiveHash + " for " + partitions + " partitions");
        }
        return positiveHash % partitions;
    }

    /** The hash of a key without its sign. */
    static int positiveHash(byte[] key) {
        return murmur2(Settings.notNull("key", key)) & 0x7fff_ffff;
    }

    /** Austin Appleby's MurmurHash2 with Kafka's seed. */
    static int murmur2(byte[] key) {
        int wordsEnd = key.length & ~3;
        int hash = SEED ^ key.length;
        for (int at = 0; at < wordsEnd; at += 4) {
            int word = littleEndian(key, at, 4) * MULTIPLIER;
            word = (word ^ word >>> 24) * MULTIPLIER;
            hash = hash * MULTIPLIER ^ word;
        }
        if (wordsEnd < key.length) {
            hash = (hash ^ littleEndian(key, wordsEnd, key.length - wordsEnd)) * MULTIPLIER;
        }
        hash = (hash ^ hash >>> 13) * MULTIPLIER;
        return hash ^ hash >>> 15;
    }

    private static int littleEndian(byte[] bytes, int at, int count) {
        int word = 0;
        for (int i = 0; i < count; i++) {
            word |= (bytes[at + i] & 0xff) << 8 * i;
        }
        return word;
    }
}
