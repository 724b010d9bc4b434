package io.rawline.topic;

import io.rawline.internal.setting.Settings;

/**
 * A partition of a topic.
 *
 * @param topic the topic's name
 * @param partition the partition's number, from 0
 */
public record TopicPartition(String topic, int partition) implements Comparable<TopicPartition> {
    /**
     * A partition of a topic.
     *
     * @param topic the topic's name
     * @param partition the partition's number
     * @throws io.rawline.error.ConfigException no topic has that partition
     */
    public TopicPartition {
        Settings.notNull("topic", topic);
        Settings.partition(partition);
    }

    /** By topic, then by number. */
    @Override
    public int compareTo(TopicPartition other) {
        int byTopic = topic.compareTo(other.topic);
        return byTopic != 0 ? byTopic : Integer.compare(partition, other.partition);
    }

    /**
     * A human-readable description.
     *
     * @return topic and number, such as {@code orders/3}
     */
    @Override
    public String toString() {
        return topic + "/" + partition;
    }
}
