package io.rawline.producer;

import io.rawline.internal.setting.Settings;
import java.nio.charset.StandardCharsets;

/** Which partition of its topic a record goes to. */
public sealed interface Route {
    /** Any partition: all records of a batch go to one, those of the next batch to another. */
    record Any() implements Route {}

    /**
     * The partition of a key.
     *
     * @param hash the key's hash, 0 or more
     */
    record Key(int hash) implements Route {
        /**
         * The partition of a key.
         *
         * @param hash the key's hash
         * @throws io.rawline.error.ConfigException it is negative
         */
        public Key {
            Settings.atLeast("hash", 0, hash);
        }
    }

    /**
     * A partition.
     *
     * @param number its number, from 0
     */
    record Partition(int number) implements Route {
        /**
         * A partition.
         *
         * @param number its number
         * @throws io.rawline.error.ConfigException no topic has that partition
         */
        public Partition {
            Settings.partition(number);
        }
    }

    /**
     * Any partition: all records of a batch go to one, those of the next batch to another.
     *
     * @return the route
     */
    static Route any() {
        return new Any();
    }

    /**
     * The partition of a key, in which all records of the key are in order. It is the one where Kafka's clients put the
     * key; see {@link Partitioner}. The key itself is not stored: {@link ProducerRecord#key(byte[])} does both.
     *
     * @param key the key's bytes
     * @return the route
     */
    static Route key(byte[] key) {
        return new Key(Partitioner.positiveHash(key));
    }

    /**
     * As {@link #key(byte[])}, of a text in UTF-8.
     *
     * @param key the text
     * @return the route
     */
    static Route key(String key) {
        return key(Settings.notNull("key", key).getBytes(StandardCharsets.UTF_8));
    }

    /**
     * One partition.
     *
     * @param number its number, from 0
     * @return the route
     * @throws io.rawline.error.ConfigException no topic has that partition
     */
    static Route partition(int number) {
        return new Partition(number);
    }
}
