package io.rawline.internal.group;

import java.time.Duration;
import java.util.List;

/**
 * What a member says of itself when it joins its group.
 *
 * @param topics the topics that it reads
 * @param instance the name with which it gets its partitions back after a restart, or null
 * @param client name of its program
 * @param sessionTimeout how long the broker waits for its heartbeats
 * @param rebalanceTimeout how long the broker waits for it to join again
 */
public record Joining(
        List<String> topics, String instance, String client, Duration sessionTimeout, Duration rebalanceTimeout) {}
