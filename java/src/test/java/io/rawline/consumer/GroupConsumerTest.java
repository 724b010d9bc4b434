package io.rawline.consumer;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rawline.Client;
import io.rawline.ClientConfig;
import io.rawline.batch.Codec;
import io.rawline.error.ConfigException;
import io.rawline.error.FencedException;
import io.rawline.error.RefusedException;
import io.rawline.error.StoppedException;
import io.rawline.group.GroupInfo;
import io.rawline.group.GroupMember;
import io.rawline.group.GroupOffset;
import io.rawline.group.GroupState;
import io.rawline.group.GroupSummary;
import io.rawline.record.ConsumedRecord;
import io.rawline.record.Fetched;
import io.rawline.record.Start;
import io.rawline.testkit.Background;
import io.rawline.testkit.Batches;
import io.rawline.testkit.Broker;
import io.rawline.testkit.Scripted;
import io.rawline.topic.Payload;
import io.rawline.topic.Retention;
import io.rawline.topic.TopicPartition;
import java.io.IOException;
import java.net.Socket;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.function.BooleanSupplier;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/** Members of groups against a real broker. The tests wait for most of their time, so they run at the same time. */
@Timeout(60)
@Execution(ExecutionMode.CONCURRENT)
class GroupConsumerTest {
    private static final Duration SOON = Duration.ofMillis(20);

    private static Broker broker;
    private static Client client;

    @BeforeAll
    static void start() {
        broker = Broker.start();
        client = broker.client();
    }

    @AfterAll
    static void stop() throws IOException {
        client.close();
        broker.close();
    }

    /** Heartbeats are frequent. */
    private static GroupConfig config() {
        return new GroupConfig().sessionTimeout(Duration.ofSeconds(6));
    }

    private static GroupConfig uncommitted() {
        return config().commitInterval(null);
    }

    private static GroupConsumer member(Client client, String topic, GroupConfig config) {
        return client.groupConsumer(topic + "-group", List.of(topic), config);
    }

    private static void create(String topic, int partitions) {
        client.createTopic(topic, Payload.BYTES, Retention.UNLIMITED, partitions);
    }

    /** Appends records such as 0/17 to each partition. */
    private static void append(Client client, String topic, int partitions, int from, int to) {
        for (int partition = 0; partition < partitions; partition++) {
            String prefix = partition + "/";
            List<String> records =
                    IntStream.range(from, to).mapToObj(i -> prefix + i).toList();
            client.append(topic, partition, Batches.build(Codec.NONE, records));
        }
    }

    private static void waitUntil(BooleanSupplier condition) {
        while (!condition.getAsBoolean()) {
            try {
                Thread.sleep(5);
            } catch (InterruptedException error) {
                throw new AssertionError(error);
            }
        }
    }

    /** Joins, and reads nothing yet. */
    private static void join(GroupConsumer consumer) {
        waitUntil(() -> {
            assertTrue(consumer.next(SOON).isEmpty());
            return !consumer.offsets().isEmpty();
        });
    }

    private static Map<Integer, Long> committed(String group) {
        return client.group(group).offsets().stream()
                .collect(Collectors.toMap(each -> each.partition().partition(), GroupOffset::offset));
    }

    private static RefusedException refused(Runnable request, String code) {
        RefusedException error = assertThrows(RefusedException.class, request::run);
        assertEquals(code, error.code());
        return error;
    }

    /** A program that reads until it is stopped. */
    private static final class Reader implements AutoCloseable {
        private final GroupConsumer consumer;
        private final ConcurrentLinkedQueue<String> records = new ConcurrentLinkedQueue<>();
        private volatile boolean isStopped;
        private final CompletableFuture<Void> ended;

        Reader(GroupConsumer consumer) {
            this.consumer = consumer;
            ended = CompletableFuture.runAsync(this::read);
        }

        private void read() {
            try (consumer) {
                // Returned records count as processed when no more records arrive.
                for (boolean isIdle = false; !isStopped || !isIdle; ) {
                    Fetched fetched = consumer.next(SOON);
                    isIdle = fetched.isEmpty();
                    fetched.forEach(record -> records.add(record.text()));
                }
            }
        }

        Set<Integer> partitions() {
            return records.stream()
                    .map(record -> Integer.parseInt(record.substring(0, record.indexOf('/'))))
                    .collect(Collectors.toCollection(TreeSet::new));
        }

        @Override
        public void close() {
            isStopped = true;
            ended.join();
        }
    }

    @Test
    void membersShareATopicAndTakeOverFromEachOther() {
        create("shared", 4);
        append(client, "shared", 4, 0, 50);
        Reader one = new Reader(member(client, "shared", config()));
        waitUntil(() -> one.records.size() == 200);
        assertEquals(Set.of(0, 1, 2, 3), one.partitions());
        Reader two = new Reader(member(client, "shared", config()));
        waitUntil(() -> {
            GroupInfo group = client.group("shared-group");
            return group.state() == GroupState.STABLE && group.members().size() == 2;
        });
        append(client, "shared", 4, 50, 100);
        waitUntil(() -> one.records.size() + two.records.size() == 400);
        assertEquals(2, two.partitions().size());
        two.close();
        append(client, "shared", 4, 100, 150);
        waitUntil(() -> one.records.size() + two.records.size() == 600);
        one.close();
        Set<String> all = new TreeSet<>(one.records);
        all.addAll(two.records);
        assertEquals(600, all.size());
        GroupInfo group = client.group("shared-group");
        assertEquals(List.of(), group.members());
        assertEquals(Map.of(0, 150L, 1, 150L, 2, 150L, 3, 150L), committed("shared-group"));
        assertEquals(0, group.lag());
    }

    @Test
    void aNewMemberContinuesWhereTheCallerHasCommitted() {
        create("explicit", 1);
        append(client, "explicit", 1, 0, 10);
        try (GroupConsumer consumer = member(client, "explicit", uncommitted())) {
            consumer.commit();
            consumer.next();
            assertEquals(Map.of(new TopicPartition("explicit", 0), 10L), consumer.offsets());
            assertThrows(RefusedException.class, () -> client.group("none"));
            append(client, "explicit", 1, 10, 20);
            consumer.commit();
            assertEquals(10, consumer.next().firstOffset());
        }
        try (GroupConsumer consumer = member(client, "explicit", uncommitted())) {
            assertEquals("0/10", consumer.next().iterator().next().text());
            consumer.commit(Map.of(new TopicPartition("explicit", 0), 15L));
        }
        try (GroupConsumer consumer = member(client, "explicit", uncommitted())) {
            ConsumedRecord record = consumer.iterator().next();
            assertEquals(List.of("explicit", "0/15"), List.of(record.topic(), record.text()));
        }
        assertEquals(Map.of(0, 15L), committed("explicit-group"));
    }

    @Test
    void aRecordIsProcessedWhenTheLoopAsksForTheNext() {
        create("looped", 1);
        append(client, "looped", 1, 0, 10);
        try (GroupConsumer consumer = member(client, "looped", config())) {
            for (ConsumedRecord record : consumer) {
                if (record.offset() == 2) {
                    break;
                }
            }
            consumer.commit();
            assertEquals(Map.of(0, 3L), committed("looped-group"));
            // Another loop continues.
            assertEquals("0/3", consumer.iterator().next().text());
            // The rest is one result.
            Fetched rest = consumer.next();
            assertEquals(6, rest.count());
            assertEquals("0/4", rest.iterator().next().text());
        }
        assertEquals(Map.of(0, 4L), committed("looped-group"));
        try (GroupConsumer consumer = member(client, "looped", config())) {
            for (ConsumedRecord record : consumer) {
                if (record.offset() == 6) {
                    break;
                }
            }
        }
        assertEquals(Map.of(0, 6L), committed("looped-group"));
    }

    @Test
    void offsetsAreCommittedWhileTheCallerWaits() {
        create("background", 1);
        append(client, "background", 1, 0, 10);
        GroupConsumer consumer = member(client, "background", config().commitInterval(Duration.ofMillis(30)));
        assertEquals(10, consumer.next().count());
        CompletableFuture<Fetched> waiting = CompletableFuture.supplyAsync(consumer::next);
        waitUntil(() -> committed("background-group").equals(Map.of(0, 10L)));
        consumer.close();
        assertEquals(
                StoppedException.class,
                assertThrows(CompletionException.class, waiting::join)
                        .getCause()
                        .getClass());
        assertThrows(StoppedException.class, consumer::next);
    }

    @Test
    void whatAMemberKeepsIsNotReadAgain() {
        create("kept", 2);
        append(client, "kept", 2, 0, 10);
        try (GroupConsumer one = member(client, "kept", uncommitted())) {
            assertEquals(10, one.next().count());
            assertEquals(10, one.next().count());
            try (Reader two = new Reader(member(client, "kept", uncommitted()))) {
                waitUntil(() -> {
                    assertTrue(one.next(SOON).isEmpty());
                    return one.offsets().size() == 1;
                });
                assertEquals(List.of(10L), List.copyOf(one.offsets().values()));
                // Of the other one, nothing was committed.
                waitUntil(() -> two.records.size() == 10);
                append(client, "kept", 2, 10, 11);
                assertEquals(10, one.next().firstOffset());
                waitUntil(() -> two.records.size() == 11);
            }
        }
    }

    @Test
    void aMemberThatDelaysOthersCanCommit() {
        create("delayed", 1);
        append(client, "delayed", 1, 0, 10);
        try (GroupConsumer one = member(client, "delayed", uncommitted())) {
            assertEquals(10, one.next().count());
            try (Reader two = new Reader(member(client, "delayed", uncommitted()))) {
                waitUntil(() -> client.group("delayed-group").state() == GroupState.JOINING);
                one.commit();
                append(client, "delayed", 1, 10, 11);
                List<String> read = new ArrayList<>();
                waitUntil(() -> {
                    one.next(SOON).forEach(record -> read.add(record.text()));
                    return client.group("delayed-group").state() == GroupState.STABLE
                            && read.size() + two.records.size() > 0;
                });
                read.addAll(two.records);
                assertEquals(Set.of("0/10"), Set.copyOf(read));
            }
        }
    }

    @Test
    void heartbeatsAreRetriedUntilTheSessionIsOver() throws Exception {
        try (Broker slow = Broker.start();
                Client near = slow.client();
                Client impatient = new Client(new ClientConfig(slow.url()).requestTimeout(Duration.ofMillis(300)));
                GroupConsumer consumer = member(impatient, "t", config())) {
            append(near, "t", 1, 0, 10);
            assertEquals(10, consumer.next().count());
            List<GroupMember> members = near.group("t-group").members();
            slow.pause();
            // Until a heartbeat was sent, and has timed out.
            assertTrue(consumer.next(Duration.ofMillis(1200)).isEmpty());
            slow.resume();
            consumer.commit();
            assertEquals(members, near.group("t-group").members());
        }
    }

    @Test
    void aStalledMemberLosesItsPartitionsAndComesBack() {
        create("stalled", 2);
        append(client, "stalled", 2, 0, 10);
        GroupConfig impatient = config().pollIntervalMax(Duration.ofMillis(100));
        try (GroupConsumer stalled = member(client, "stalled", impatient)) {
            stalled.next();
            try (Reader other = new Reader(member(client, "stalled", config()))) {
                waitUntil(() -> other.records.size() == 20);
                refused(stalled::commit, "member_not_found");
                waitUntil(() -> {
                    assertTrue(stalled.next(SOON).isEmpty());
                    return stalled.offsets().size() == 1;
                });
                append(client, "stalled", 2, 10, 11);
                assertEquals(1, stalled.next().count());
                waitUntil(() -> other.records.size() == 21);
            }
        }
    }

    @Test
    void membersJoinAgainAfterARestartOfTheBroker() throws IOException {
        try (Broker mortal = Broker.start();
                Client near = mortal.client();
                GroupConsumer consumer = member(near, "t", uncommitted())) {
            append(near, "t", 1, 0, 10);
            assertEquals(10, consumer.next().count());
            consumer.commit();
            mortal.kill();
            mortal.startAgain();
            append(near, "t", 1, 10, 20);
            assertEquals("0/10", consumer.next().iterator().next().text());
            waitUntil(() -> {
                // Until it has joined, it may read on; then it starts at the committed offset.
                consumer.next(SOON);
                return near.groups().stream().anyMatch(group -> group.members() == 1);
            });
            // Nothing within a moment may mean that the records are still to come again.
            waitUntil(() -> {
                consumer.next(SOON);
                return consumer.offsets().equals(Map.of(new TopicPartition("t", 0), 20L));
            });
            consumer.commit();
            assertEquals(20, near.group("t-group").offsets().get(0).offset());
        }
    }

    @Test
    void aGroupThatStartsAtTheEndMissesNothingFromThenOn() {
        create("latest", 1);
        append(client, "latest", 1, 0, 5);
        GroupConfig latest = config().start(Start.latest());
        try (GroupConsumer consumer = member(client, "latest", latest)) {
            join(consumer);
        }
        // Where it began is committed.
        append(client, "latest", 1, 5, 6);
        try (GroupConsumer consumer = member(client, "latest", latest)) {
            assertEquals("0/5", consumer.next().iterator().next().text());
        }
    }

    @Test
    void topicsComeAndGo() {
        create("first", 1);
        try (GroupConsumer consumer = client.groupConsumer("two", List.of("first", "second"), config())) {
            append(client, "first", 1, 0, 1);
            assertEquals("first", consumer.next().topic());
            append(client, "second", 1, 0, 1);
            assertEquals("second", consumer.next().topic());
            assertEquals(
                    Set.of(new TopicPartition("first", 0), new TopicPartition("second", 0)),
                    consumer.offsets().keySet());
            client.deleteTopic("first");
            waitUntil(() -> {
                assertTrue(consumer.next(SOON).isEmpty());
                return consumer.offsets().size() == 1;
            });
            append(client, "first", 1, 0, 1);
            assertEquals("first", consumer.next().topic());
        }
    }

    @Test
    void aTopicThatIsDeletedAndCreatedAgainIsReadFromItsBeginning() {
        create("again", 1);
        append(client, "again", 1, 0, 5);
        // Without a heartbeat in between.
        GroupConfig patient = new GroupConfig().sessionTimeout(Duration.ofMinutes(30));
        try (GroupConsumer consumer = member(client, "again", patient)) {
            assertEquals(5, consumer.next().count());
            assertTrue(consumer.next(SOON).isEmpty());
            client.deleteTopic("again");
            append(client, "again", 1, 0, 1);
            assertEquals("0/0", consumer.next().iterator().next().text());
        }
        assertEquals(Map.of(0, 0L), committed("again-group"));
    }

    @Test
    void deletedRecordsAreSkipped() {
        create("trimmed", 1);
        append(client, "trimmed", 1, 0, 5);
        append(client, "trimmed", 1, 5, 10);
        client.trim("trimmed", 5);
        client.setGroupOffsets("trimmed-group", Map.of(new TopicPartition("trimmed", 0), 2L));
        try (GroupConsumer consumer = member(client, "trimmed", config())) {
            assertEquals("0/5", consumer.next().iterator().next().text());
        }
    }

    @Test
    void manyPartitionsTakeTurns() {
        create("many", 40);
        append(client, "many", 40, 0, 2);
        try (GroupConsumer consumer = member(client, "many", config())) {
            Set<String> read = new TreeSet<>();
            while (read.size() < 80) {
                consumer.next().forEach(record -> read.add(record.text()));
            }
            append(client, "many", 40, 2, 3);
            while (read.size() < 120) {
                consumer.next().forEach(record -> read.add(record.text()));
            }
        }
    }

    @Test
    void aMemberWithAnInstanceKeepsItsPlace() {
        create("static", 2);
        GroupConsumer one = member(client, "static", config().instance("one"));
        GroupConsumer two = member(client, "static", config().instance("two"));
        waitUntil(() -> {
            one.next(SOON);
            two.next(SOON);
            return one.offsets().size() == 1 && two.offsets().size() == 1;
        });
        Set<TopicPartition> place = one.offsets().keySet();
        one.close();
        assertEquals(2, client.group("static-group").members().size());
        try (GroupConsumer again = member(client, "static", config().instance("one"))) {
            join(again);
            assertEquals(place, again.offsets().keySet());
            try (GroupConsumer newer = member(client, "static", config().instance("one"))) {
                join(newer);
                assertEquals(place, newer.offsets().keySet());
                // Its heartbeat is refused.
                FencedException fenced = assertThrows(FencedException.class, again::next);
                assertEquals("member_fenced", fenced.code());
                assertThrows(FencedException.class, again::next);
            }
            assertEquals(2, client.group("static-group").members().size());
        }
        two.close();
    }

    @Test
    void aConsumerThatIsClosedWhileItJoinsLeavesNoMember() {
        create("hasty", 1);
        GroupConfig patient = config().sessionTimeout(Duration.ofMinutes(30));
        GroupConsumer consumer = member(client, "hasty", patient);
        assertTrue(consumer.next(Duration.ofMillis(1)).isEmpty());
        waitUntil(() -> client.groups().stream().anyMatch(group -> group.name().equals("hasty-group")));
        consumer.close();
        waitUntil(() -> client.groups().stream().noneMatch(group -> group.name().equals("hasty-group")));
    }

    /** Passes requests on to the broker, but refuses commits itself. */
    private static Scripted refusingCommits() throws IOException {
        URI url = URI.create(broker.url());
        return new Scripted((number, peer) -> {
            try (Socket socket = new Socket(url.getHost(), url.getPort())) {
                Background.start(() -> socket.getInputStream().transferTo(peer.out()));
                for (Scripted.Peer.Received next = peer.receive(); next != null; next = peer.receive()) {
                    if (next.head().startsWith("PUT /group?")) {
                        String refusal = "{\"code\":\"bad_request\",\"error\":\"not these offsets\"}";
                        peer.answer(400, "content-type: application/json\r\n", refusal);
                    } else {
                        String request = next.head() + next.body();
                        socket.getOutputStream().write(request.getBytes(StandardCharsets.ISO_8859_1));
                    }
                }
            }
        });
    }

    @Test
    void aFailedCommitIsReported() throws IOException {
        append(client, "refused", 1, 0, 10);
        try (Scripted proxy = refusingCommits();
                Client near = new Client(proxy.url())) {
            GroupConfig busy = config().commitInterval(Duration.ofMillis(10));
            GroupConsumer consumer = member(near, "refused", busy);
            RefusedException error = refused(
                    () -> {
                        while (true) {
                            consumer.next();
                        }
                    },
                    "bad_request");
            assertTrue(error.getMessage().contains("not these offsets"), error.getMessage());
            refused(consumer::commit, "bad_request");
            refused(consumer::close, "bad_request");
            assertTrue(client.groups().stream().noneMatch(group -> group.name().equals("refused-group")));
        }
    }

    @Test
    void groupsAreDescribedResetAndDeleted() {
        create("managed", 2);
        append(client, "managed", 2, 0, 10);
        TopicPartition first = new TopicPartition("managed", 0);
        TopicPartition second = new TopicPartition("managed", 1);
        String name = "managed \"group\"/ä";
        GroupConfig named = uncommitted().client("\\ \"billing\"\n");
        try (GroupConsumer consumer = client.groupConsumer(name, List.of("managed"), named)) {
            consumer.next();
            consumer.commit();
            GroupInfo group = client.group(name);
            assertEquals(List.of(name, "range"), List.of(group.name(), group.strategy()));
            assertEquals(GroupState.STABLE, group.state());
            GroupMember member = group.members().get(0);
            assertEquals(List.of("\\ \"billing\"\n", "127.0.0.1"), List.of(member.client(), member.address()));
            assertEquals(List.of(first, second), member.partitions());
            assertFalse(member.instance().isPresent());
            assertEquals(10, group.lag());
            assertEquals(2, group.offsets().size());
            assertTrue(client.groups().contains(new GroupSummary(name, GroupState.STABLE, 1)));
            refused(() -> client.setGroupOffsets(name, Map.of(first, 0L)), "group_not_empty");
            refused(() -> client.deleteGroup(name), "group_not_empty");
        }
        client.setGroupOffsets(name, Map.of(first, 3L, second, 4L));
        assertEquals(
                List.of(new GroupOffset(first, 3, 10, 7, ""), new GroupOffset(second, 4, 10, 6, "")),
                client.group(name).offsets());
        client.deleteGroupOffset(name, second);
        refused(() -> client.deleteGroupOffset(name, second), "group_not_found");
        assertEquals(Map.of(0, 3L), committed(name));
        client.deleteGroup(name);
        refused(() -> client.deleteGroup(name), "group_not_found");
        refused(() -> client.group(name), "group_not_found");
        assertThrows(ConfigException.class, () -> client.setGroupOffsets(name, Map.of(first, -1L)));
    }

    @Test
    void invalidSettingsAreNamed() {
        assertThrows(ConfigException.class, () -> client.groupConsumer("g", List.of(), config()));
        assertThrows(ConfigException.class, () -> config().commitInterval(Duration.ZERO));
        assertThrows(ConfigException.class, () -> config().pollIntervalMax(Duration.ZERO));
        assertThrows(ConfigException.class, () -> config().waitMax(Duration.ZERO));
        assertThrows(ConfigException.class, () -> config().bytesMax(-1));
        GroupConfig brief = config().sessionTimeout(Duration.ofSeconds(1));
        List<RefusedException> errors = new ArrayList<>();
        try (GroupConsumer consumer = member(client, "t", brief)) {
            errors.add(refused(consumer::next, "group_invalid"));
            errors.add(refused(consumer::next, "group_invalid"));
        }
        errors.forEach(error -> assertTrue(error.getMessage().contains("session"), error.getMessage()));
    }
}
