package io.rawline;

import java.util.random.RandomGenerator;

/**
 * The identity of a producer at the broker.
 *
 * @param id for the headers of its batches; 0 if its appends are not exactly once
 * @param epoch grows with every instance of a named producer; {@link #NO_EPOCH} if its appends are not exactly once
 */
record ProducerInstance(long id, int epoch) {
    static final int NO_EPOCH = -1;

    /** The one of a producer with these settings. With a name, fences the instances before it. */
    static ProducerInstance open(Client client, ProducerConfig config, RandomGenerator random) {
        if (config.name != null) {
            return client.openProducer(config.retries, config.name);
        }
        // An id that is new has no earlier instance. The ids of names are smaller.
        return config.exactlyOnce
                ? new ProducerInstance(random.nextLong(1L << 62, Long.MAX_VALUE), 0)
                : new ProducerInstance(0, NO_EPOCH);
    }
}
