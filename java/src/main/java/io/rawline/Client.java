package io.rawline;

import io.rawline.batch.SealedBatch;
import io.rawline.consumer.Consumer;
import io.rawline.consumer.ConsumerConfig;
import io.rawline.consumer.GroupConfig;
import io.rawline.consumer.GroupConsumer;
import io.rawline.error.ConfigException;
import io.rawline.error.InterruptedCallException;
import io.rawline.error.RawlineException;
import io.rawline.error.RefusedException;
import io.rawline.error.StoppedException;
import io.rawline.error.TopicNotFoundException;
import io.rawline.group.GroupInfo;
import io.rawline.group.GroupSummary;
import io.rawline.internal.group.GroupRequests;
import io.rawline.internal.http.Call;
import io.rawline.internal.request.Appends;
import io.rawline.internal.request.ProducerInstance;
import io.rawline.internal.request.Received;
import io.rawline.internal.request.Requests;
import io.rawline.internal.request.TopicRequests;
import io.rawline.internal.request.TopicSettings;
import io.rawline.internal.setting.Settings;
import io.rawline.producer.Producer;
import io.rawline.producer.ProducerConfig;
import io.rawline.record.Fetched;
import io.rawline.record.ReadOptions;
import io.rawline.subscription.Subscription;
import io.rawline.subscription.SubscriptionConfig;
import io.rawline.topic.Appended;
import io.rawline.topic.CleanupPolicy;
import io.rawline.topic.Payload;
import io.rawline.topic.Retention;
import io.rawline.topic.TopicInfo;
import io.rawline.topic.TopicPartition;
import io.rawline.topic.Trimmed;
import java.nio.ByteBuffer;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;

/**
 * Sends requests to one broker. Where several share a storage, appends go directly to the one that stores them, as soon
 * as a response has named it. Small appends that are in flight at the same time share connections, up to 64 on each;
 * every other request in flight has its own. Idle connections are kept for the next requests. Any number of threads may
 * use a client at once, virtual ones too; a method returns when the response is complete.
 *
 * <p>All errors are {@link RawlineException}s. A method that names a topic throws {@link TopicNotFoundException} if the
 * topic doesn't exist. A thread that is interrupted while it waits gets an {@link InterruptedCallException}, and every
 * method throws {@link StoppedException} after {@link #close}.
 */
public final class Client implements AutoCloseable {
    private final ClientConfig config;
    private final Requests requests;
    private final TopicRequests topics;
    private final GroupRequests groups;

    /**
     * A client with the default settings; connects with the first request.
     *
     * @param broker the broker's URL, such as {@code http://127.0.0.1:51313}; several, separated by commas
     */
    public Client(String broker) {
        this(new ClientConfig(broker));
    }

    /**
     * A client; connects with the first request.
     *
     * @param config the settings, which are copied
     * @throws ConfigException the broker's URL or the API key is invalid
     */
    public Client(ClientConfig config) {
        this.config = new ClientConfig(Settings.notNull("config", config));
        requests =
                new Requests(this.config.http(), this.config.limits, this.config.answerBytesMax, this.config.executor);
        topics = requests.topics();
        groups = new GroupRequests(requests.http(), requests.responses());
    }

    /**
     * Closes the client and its idle connections. Requests in flight complete; further ones, those of its producers and
     * consumers included, throw {@link StoppedException}. So close producers and consumers first.
     */
    @Override
    public void close() {
        requests.close();
    }

    /**
     * A producer with the default settings.
     *
     * @param topic the topic it appends to
     * @return the producer, to be closed by the caller
     */
    public Producer producer(String topic) {
        return producer(topic, new ProducerConfig());
    }

    /**
     * A producer. Sends no record by itself. With a {@linkplain ProducerConfig#name name}, waits until the producer has
     * taken over.
     *
     * @param topic the topic it appends to
     * @param config the settings, which are copied
     * @return the producer, to be closed by the caller before the client
     * @throws ConfigException the batches' size is over the client's limits
     * @throws RawlineException a producer with a name can't take over: the storage has several journals
     */
    public Producer producer(String topic, ProducerConfig config) {
        return new Producer(requests, topic, config);
    }

    /**
     * A consumer with the default settings: from the oldest record on, without an end.
     *
     * @param topic the topic it reads
     * @return the consumer, to be closed by the caller
     */
    public Consumer consumer(String topic) {
        return consumer(topic, new ConsumerConfig());
    }

    /**
     * A consumer. Finds the offsets to start at; reads nothing yet.
     *
     * @param topic the topic it reads
     * @param config the settings, which are copied
     * @return the consumer, to be closed by the caller
     * @throws TopicNotFoundException the topic doesn't exist; if the start is an offset, {@link Consumer#next()} throws
     *     this
     * @throws RefusedException with the code {@code partition_not_found}: the topic doesn't have one of the partitions;
     *     if the start is an offset, {@link Consumer#next()} throws this
     */
    public Consumer consumer(String topic, ConsumerConfig config) {
        return new Consumer(requests, topic, config);
    }

    /**
     * A member of a group with the default settings.
     *
     * @param group the group's name
     * @param topics the topics that it reads, one or more
     * @return the consumer, to be closed by the caller
     */
    public GroupConsumer groupConsumer(String group, String... topics) {
        return groupConsumer(group, List.of(topics), new GroupConfig());
    }

    /**
     * A member of a group, which joins with the first call of {@link GroupConsumer#next()}.
     *
     * @param group the group's name
     * @param topics the topics that it reads, one or more
     * @param config the settings, which are copied
     * @return the consumer, to be closed by the caller
     */
    public GroupConsumer groupConsumer(String group, List<String> topics, GroupConfig config) {
        return new GroupConsumer(requests, group, topics, config);
    }

    /**
     * Opens a subscription: records appended after this returns are received.
     *
     * @param config topics, prefixes and the rest
     * @return the subscription, to be closed by the caller
     * @throws TopicNotFoundException a topic doesn't exist
     */
    public Subscription subscribe(SubscriptionConfig config) {
        return new Subscription(requests, config);
    }

    /** Checks that the broker responds and is healthy: returns, or throws the error. */
    public void health() {
        requests.health(config.retries);
    }

    /**
     * Appends batches to partition 0; all or none become part of the topic.
     *
     * <p>An append is not retried: when the connection breaks or the request times out, the records may have been
     * appended, and a retry would append them again.
     *
     * @param topic the topic
     * @param pieces the batches' bytes back to back, in any number of pieces; not copied where they are direct, and
     *     their positions are not changed
     * @return the records' offsets
     */
    public Appended append(String topic, ByteBuffer... pieces) {
        return append(topic, 0, pieces);
    }

    /**
     * As {@link #append(String, ByteBuffer...)}, to any partition.
     *
     * @param topic the topic
     * @param partition its partition, from 0
     * @param pieces the batches' bytes
     * @return the records' offsets
     * @throws RefusedException with the code {@code partition_not_found} if the topic doesn't have the partition
     */
    public Appended append(String topic, int partition, ByteBuffer... pieces) {
        Appends appends = requests.appends();
        return appends.append(new Call(), appends.endpoint(topic), ProducerInstance.NO_EPOCH, topic, partition, pieces);
    }

    /**
     * As {@link #append(String, int, ByteBuffer...)}, of Kafka's batches, which are stored as they are. Those of a
     * producer with an id are appended exactly once.
     *
     * @param topic the topic
     * @param partition its partition, from 0
     * @param pieces the batches' bytes
     * @return the records' offsets
     */
    public Appended appendRecordBatches(String topic, int partition, ByteBuffer... pieces) {
        Appends appends = requests.appends();
        return appends.appendRecordBatches(new Call(), appends.endpoint(topic), topic, partition, pieces);
    }

    /**
     * Appends records that lie back to back in {@code data} to partition 0, as one uncompressed batch. As
     * {@link #append}, it is not retried.
     *
     * @param topic the topic
     * @param sizes the records' lengths in bytes
     * @param data the records; not copied where it is direct, and its position is not changed
     * @return the records' offsets
     */
    public Appended appendRecords(String topic, int[] sizes, ByteBuffer data) {
        return appendRecords(topic, 0, sizes, data);
    }

    /**
     * As {@link #appendRecords(String, int[], ByteBuffer)}, to any partition.
     *
     * @param topic the topic
     * @param partition its partition, from 0
     * @param sizes the records' lengths in bytes
     * @param data the records
     * @return the records' offsets
     */
    public Appended appendRecords(String topic, int partition, int[] sizes, ByteBuffer data) {
        Settings.notNull("sizes", sizes);
        Settings.notNull("data", data);
        return append(
                topic,
                partition,
                SealedBatch.of(sizes, data, Requests.nowUs(), config.limits).pieces());
    }

    /**
     * As {@link #append(String, ByteBuffer...)}, without waiting.
     *
     * @param topic the topic
     * @param pieces the batches' bytes; not to be changed before the future completes
     * @return the records' offsets, or the {@link RawlineException}
     */
    public CompletableFuture<Appended> appendAsync(String topic, ByteBuffer... pieces) {
        return appendAsync(topic, 0, pieces);
    }

    /**
     * As {@link #append(String, int, ByteBuffer...)}, without waiting.
     *
     * @param topic the topic
     * @param partition its partition, from 0
     * @param pieces the batches' bytes; not to be changed before the future completes
     * @return the records' offsets, or the {@link RawlineException}
     */
    public CompletableFuture<Appended> appendAsync(String topic, int partition, ByteBuffer... pieces) {
        return CompletableFuture.supplyAsync(() -> append(topic, partition, pieces), requests.executor());
    }

    /**
     * Reads records; the result is empty if there were none in time. The checksum of every batch has been verified when
     * this returns.
     *
     * @param topic the topic
     * @param options the range and limits
     * @return the records
     */
    public Fetched read(String topic, ReadOptions options) {
        return read(topic, options, null);
    }

    /**
     * As {@link #read(String, ReadOptions)}, into existing memory.
     *
     * @param topic the topic
     * @param options the range and limits
     * @param into the result of an earlier read, which is overwritten; null for new memory
     * @return {@code into}, or the new memory
     */
    public Fetched read(String topic, ReadOptions options, Fetched into) {
        Settings.notNull("options", options);
        return requests.read(new Call(), config.retries, topic, options, Long.MAX_VALUE, Received.of(into));
    }

    /**
     * As {@link #read(String, ReadOptions)}, without waiting.
     *
     * @param topic the topic
     * @param options the range and limits
     * @return the records, or the {@link RawlineException}
     */
    public CompletableFuture<Fetched> readAsync(String topic, ReadOptions options) {
        return CompletableFuture.supplyAsync(() -> read(topic, options), requests.executor());
    }

    /**
     * Describes a topic.
     *
     * @param topic its name
     * @return its description
     * @throws TopicNotFoundException there is no such topic
     */
    public TopicInfo topic(String topic) {
        return topics.topic(new Call(), config.retries, topic);
    }

    /**
     * Creates a topic that keeps all its records, which are any bytes.
     *
     * @param topic its name
     * @return the topic
     * @throws RefusedException with the code {@code topic_exists} if it exists
     */
    public TopicInfo createTopic(String topic) {
        return createTopic(topic, Payload.BYTES, Retention.UNLIMITED);
    }

    /**
     * Creates a topic.
     *
     * @param topic its name
     * @param payload type of its records
     * @param retention which of them are kept
     * @return the topic
     * @throws RefusedException with the code {@code topic_exists} if it exists; also if a retry finds that an earlier
     *     try whose response was lost has created it
     */
    public TopicInfo createTopic(String topic, Payload payload, Retention retention) {
        return createTopic(topic, payload, retention, 1);
    }

    /**
     * As {@link #createTopic(String, Payload, Retention)}, with a number of partitions; without one, there is one.
     *
     * @param topic its name
     * @param payload type of its records
     * @param retention which of them are kept
     * @param partitions its number of partitions, 1 to 1024
     * @return the topic
     * @throws RefusedException with the code {@code topic_exists} if it exists
     */
    public TopicInfo createTopic(String topic, Payload payload, Retention retention, int partitions) {
        return createTopic(topic, payload, retention, partitions, CleanupPolicy.DELETE);
    }

    /**
     * As {@link #createTopic(String, Payload, Retention, int)}, with a cleanup policy; without one, records beyond the
     * limits are deleted.
     *
     * @param topic its name
     * @param payload type of its records
     * @param retention which of them are kept
     * @param partitions its number of partitions, 1 to 1024
     * @param policy cleanup of old records
     * @return the topic
     * @throws RefusedException with the code {@code topic_exists} if it exists
     */
    public TopicInfo createTopic(
            String topic, Payload payload, Retention retention, int partitions, CleanupPolicy policy) {
        return topics.create(config.retries, topic, TopicSettings.all(payload, retention, partitions, policy));
    }

    /**
     * Deletes a topic with all its records, permanently. The deletion is durable when this returns. A topic that is
     * created with the same name later begins at offset 0.
     *
     * @param topic its name
     * @throws TopicNotFoundException there is no such topic
     */
    public void deleteTopic(String topic) {
        topics.delete(config.retries, topic);
    }

    /**
     * Sets the type of a topic's records. Creates the topic if it doesn't exist, unless the broker is configured not to
     * create topics.
     *
     * @param topic its name
     * @param payload the type
     * @return the topic, with the new setting
     */
    public TopicInfo setPayload(String topic, Payload payload) {
        return topics.set(config.retries, topic, TopicSettings.payload(payload));
    }

    /**
     * Sets which records of a topic are kept. Creates the topic if it doesn't exist, unless the broker is configured
     * not to create topics.
     *
     * @param topic its name
     * @param retention both limits
     * @return the topic, with the new setting
     */
    public TopicInfo setRetention(String topic, Retention retention) {
        return topics.set(config.retries, topic, TopicSettings.retention(retention));
    }

    /**
     * Sets the cleanup of a topic's old records. Creates the topic if it doesn't exist, unless the broker is
     * configured not to create topics.
     *
     * @param topic its name
     * @param policy the cleanup
     * @return the topic, with the new setting
     */
    public TopicInfo setCleanupPolicy(String topic, CleanupPolicy policy) {
        return topics.set(config.retries, topic, TopicSettings.cleanupPolicy(policy));
    }

    /**
     * Sets a topic's number of partitions, which can only grow. From then on, a key may belong to another partition:
     * producers learn of the new number within 5 minutes. Creates the topic if it doesn't exist, unless the broker is
     * configured not to create topics.
     *
     * @param topic its name
     * @param partitions its number of partitions, 1 to 1024
     * @return the topic, with the new setting
     * @throws RefusedException with the code {@code partitions_fewer} if it has more
     */
    public TopicInfo setPartitions(String topic, int partitions) {
        return topics.set(config.retries, topic, TopicSettings.partitions(partitions));
    }

    /**
     * Permanently deletes the records of partition 0 before an offset. Offsets don't change. An offset below the first
     * one changes nothing; one above the next offset is refused.
     *
     * @param topic the topic
     * @param before offset that becomes the first one
     * @return the partition's extent
     */
    public Trimmed trim(String topic, long before) {
        return trim(topic, 0, before);
    }

    /**
     * As {@link #trim(String, long)}, of any partition.
     *
     * @param topic the topic
     * @param partition its partition, from 0
     * @param before offset that becomes the partition's first one
     * @return the partition's extent
     */
    public Trimmed trim(String topic, int partition, long before) {
        return topics.trim(config.retries, topic, partition, before);
    }

    /**
     * Describes all topics. The offsets are those of partition 0.
     *
     * @return in the broker's order
     */
    public List<TopicInfo> topics() {
        return topics.topics(config.retries);
    }

    /**
     * Finds the first record of partition 0 appended at or after a time, by the broker's clock.
     *
     * @param topic the topic
     * @param time the time
     * @return the record's offset, or the partition's next offset if there is no such record
     */
    public long offsetAt(String topic, Instant time) {
        return offsetAt(topic, 0, time);
    }

    /**
     * As {@link #offsetAt(String, Instant)}, of any partition.
     *
     * @param topic the topic
     * @param partition its partition, from 0
     * @param time the time
     * @return the record's offset, or the partition's next offset if there is no such record
     */
    public long offsetAt(String topic, int partition, Instant time) {
        return topics.offsetAt(new Call(), config.retries, topic, partition, time);
    }

    /**
     * Lists the groups of consumers.
     *
     * @return by name
     */
    public List<GroupSummary> groups() {
        return groups.groups(config.retries);
    }

    /**
     * Describes a group of consumers: its members, and how far it has come.
     *
     * @param group its name
     * @return the group
     * @throws RefusedException with the code {@code group_not_found} if it has neither members nor offsets
     */
    public GroupInfo group(String group) {
        return groups.group(config.retries, group);
    }

    /**
     * Sets offsets of a group that has no members. Creates the group if it doesn't exist.
     *
     * @param group its name
     * @param offsets where the group continues, by partition: the offset of the next record
     * @throws RefusedException with the code {@code group_not_empty} if it has members
     */
    public void setGroupOffsets(String group, Map<TopicPartition, Long> offsets) {
        groups.commit(new Call(), config.retries, group, null, null, Settings.notNull("offsets", offsets));
    }

    /**
     * Deletes a group that has no members: all its offsets.
     *
     * @param group its name
     * @throws RefusedException with the code {@code group_not_empty} if it has members, {@code group_not_found} if it
     *     doesn't exist
     */
    public void deleteGroup(String group) {
        groups.delete(config.retries, group);
    }

    /**
     * Deletes the offset of a group that has no members in one partition.
     *
     * @param group its name
     * @param partition the partition
     * @throws RefusedException with the code {@code group_not_empty} if it has members, {@code group_not_found} if it
     *     has no offset there
     */
    public void deleteGroupOffset(String group, TopicPartition partition) {
        groups.delete(config.retries, group, partition);
    }

    /**
     * A human-readable description.
     *
     * @return the broker's URL, without the key
     */
    @Override
    public String toString() {
        return "client of " + config.broker;
    }
}
