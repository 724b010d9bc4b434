package io.rawline.consumer;

import io.rawline.error.RawlineException;
import io.rawline.error.RefusedException;
import io.rawline.error.TopicNotFoundException;
import io.rawline.internal.group.GroupRequests;
import io.rawline.internal.group.Membership;
import io.rawline.internal.http.Call;
import io.rawline.internal.request.Arrivals;
import io.rawline.internal.request.Received;
import io.rawline.internal.request.Requests;
import io.rawline.internal.request.Responses;
import io.rawline.internal.setting.Nanos;
import io.rawline.internal.setting.Settings;
import io.rawline.record.ConsumedRecord;
import io.rawline.record.Fetched;
import io.rawline.record.ReadOptions;
import io.rawline.topic.TopicInfo;
import io.rawline.topic.TopicPartition;
import java.time.Duration;
import java.util.Collections;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * Reads topics as a member of a group: the members share the partitions, and each partition is read by one of them, in
 * order.
 *
 * <pre>{@code
 * for (ConsumedRecord record : consumer) {
 *     System.out.println(record.topic() + " " + record.partition() + " " + record.offset() + " " + record.text());
 * }
 * }</pre>
 *
 * <p><b>At least once.</b> What {@link #next()} has returned counts as processed when it is called again, and a record
 * of the loop when the loop requests the next one. The offsets of processed records are committed in the background
 * ({@link GroupConfig#commitInterval}), before another member gets a partition, and by {@link #close}.
 * {@link #commit()} also commits the records returned last. After a crash, the records since the last commit are read
 * again.
 *
 * <p><b>Members come and go</b>, and topics get partitions: then all members stop reading, commit, and divide the
 * partitions anew. This happens within {@link #next()}: a caller that processes records for long delays the other
 * members, and after {@link GroupConfig#rebalanceTimeout} or {@link GroupConfig#pollIntervalMax} it loses its
 * partitions, until it requests records again.
 *
 * <p>Topics need not exist yet. Records that were deleted before the group read them are skipped. As with a
 * {@link Consumer}, a result is valid until the next call.
 *
 * <p>Not thread-safe, except for {@link #close}, which ends a {@code next} that waits.
 */
public final class GroupConsumer implements Iterable<ConsumedRecord>, AutoCloseable {
    /** Keys of arrivals that are not reads. */
    private static final int JOINED = -1;

    private static final int CHANGED = -2;

    /**
     * Wait before the member joins again because a topic of the group is gone: usually its leader learns of it
     * sooner, but not of one that was deleted and created again.
     */
    private static final long LOOK_NS = 1_000_000_000;

    private final Requests client;
    private final String group;
    private final GroupConfig config;
    private final Member member;
    private final Commits commits;
    /** Reads have numbers that are never used again: results of reads of an earlier share are recognized by theirs. */
    private final Arrivals<Reads.Result> arrivals;

    private final Reads reads;
    private Turns turns = new Turns(Nanos.MAX);
    private Assignment assignment = Assignment.NONE;
    /** The partitions that are read, by their numbers. */
    private final Map<Integer, TopicPartition> numbers = new HashMap<>();

    /** When it last looked whether topics that were deleted exist again. */
    private long goneNs;

    private int nextNumber;
    private boolean isJoining;
    /** The number of the request for the offsets of all partitions; -1 if none is in flight. */
    private int describing = -1;

    private final Loop loop = new Loop();
    private final AtomicBoolean isClosed = new AtomicBoolean();

    /** The member has joined. */
    private record Joined(Assignment assignment) implements Reads.Result {}

    /** Descriptions of the topics. */
    private record Described(Map<String, TopicInfo> topics) implements Reads.Result {}

    /**
     * A client's {@code groupConsumer} makes one. Joins with the first call of {@link #next()}; sends nothing yet.
     *
     * @param client the client's requests
     * @param group the group's name
     * @param topics the topics that it reads, one or more
     * @param config the settings, which are copied
     * @hidden
     */
    @SuppressWarnings("exports")
    public GroupConsumer(Requests client, String group, List<String> topics, GroupConfig config) {
        this.client = client;
        this.group = Settings.notNull("group", group);
        this.config = new GroupConfig(Settings.notNull("config", config));
        Set<String> distinct = new TreeSet<>(Settings.notNull("topics", topics));
        Settings.atLeast("the number of topics to read", 1, distinct.size());
        GroupRequests requests = new GroupRequests(client.http(), client.responses());
        arrivals = new Arrivals<>(client.executor());
        reads = new Reads(arrivals, turns, this.config.bytesMax, this.config.waitMax, numbers::get, this::read);
        Hosted hosted = new Hosted();
        member = new Member(client.executor(), requests, group, List.copyOf(distinct), this.config, hosted);
        commits = new Commits(client.executor(), requests, group, this.config, hosted);
    }

    /** The interface between membership, commits and the consumer. */
    private final class Hosted implements Member.Host, Commits.Host {
        @Override
        public void changed() {
            arrivals.post(CHANGED, null);
        }

        @Override
        public void leaves() {
            commits.commitProcessed(new Call());
        }

        @Override
        public boolean isMember() {
            Member.State state = member.state();
            return state == Member.State.IN || state == Member.State.REBALANCING;
        }

        @Override
        public void refused(Membership membership, RefusedException error) {
            member.refused(membership, error);
        }

        @Override
        public void failed() {
            changed();
        }
    }

    /**
     * The position in its partitions: the offset of the next record of each.
     *
     * @return by partition, in order; empty until it has joined
     */
    public Map<TopicPartition, Long> offsets() {
        Map<TopicPartition, Long> offsets = new TreeMap<>();
        assignment.positions().forEach((partition, position) -> offsets.put(partition, position.returned()));
        return Collections.unmodifiableMap(offsets);
    }

    /**
     * Returns the next records of a partition, at least one; waits for them. Records returned before count as
     * processed.
     *
     * <p>After an error, the next call continues where this one started. A member whose instance was taken over by a
     * newer member keeps failing with a {@link io.rawline.error.FencedException}.
     *
     * @return the records, valid until the next call
     */
    public Fetched next() {
        return take(Long.MAX_VALUE);
    }

    /**
     * As {@link #next()}, with a timeout: empty if there were no records in time. Nothing is lost then; a member that
     * joins keeps doing so.
     *
     * @param wait the timeout
     * @return the records, valid until the next call
     */
    public Fetched next(Duration wait) {
        return take(Nanos.of(Settings.notNull("wait", wait)));
    }

    private Received take(long waitNs) {
        member.asked(true);
        try {
            Received rest = loop.end();
            if (rest != null) {
                return rest;
            }
            assignment.processAll();
            return await(waitNs);
        } finally {
            member.asked(false);
        }
    }

    /**
     * The next records, without an end; waits for them. Throws as {@link #next()} does. A further loop, or
     * {@link #next()}, continues after the last record of the one before.
     *
     * @return an iterator, before the next record
     */
    @Override
    public Iterator<ConsumedRecord> iterator() {
        return loop;
    }

    /** The records of one result after the other. */
    private final class Loop implements Iterator<ConsumedRecord> {
        private Iterator<ConsumedRecord> records = Collections.emptyIterator();
        /** The partition of the records; null before the first, and once the caller has asked for another result. */
        private Received fetched;
        /** The caller's position in their partition. */
        private Position position;

        @Override
        public boolean hasNext() {
            while (!records.hasNext()) {
                if (fetched != null) {
                    position.returned(fetched.nextOffset());
                    fetched = null;
                }
                Received next = GroupConsumer.this.take(Long.MAX_VALUE);
                fetched = next;
                records = next.iterator();
                position = assignment.positions().get(new TopicPartition(next.topic(), next.partition()));
                position.returned(next.askedOffset());
            }
            return true;
        }

        @Override
        public ConsumedRecord next() {
            hasNext();
            // The record before it is processed.
            position.processAll();
            ConsumedRecord record = records.next();
            position.returned(record.offset() + 1);
            return record;
        }

        /** The caller requests the next result: returns the rest of this one, or null. */
        Received end() {
            if (fetched == null) {
                return null;
            }
            position.processAll();
            Received rest = null;
            if (position.returned() < fetched.nextOffset()) {
                rest = fetched;
                rest.skipTo(position.returned());
                position.returned(rest.nextOffset());
            }
            fetched = null;
            records = Collections.emptyIterator();
            return rest;
        }
    }

    /**
     * Commits the offsets after all records that were returned, and waits for it.
     *
     * @throws RefusedException with the code {@code group_rebalancing}, {@code member_not_found} or
     *     {@code member_fenced}: others have the partitions by now, and read the records again
     */
    public void commit() {
        assignment.processAll();
        commits.commit(new Call(), null);
    }

    /**
     * Commits these offsets, and waits for it.
     *
     * @param offsets by partition: the offset of the next record that the group wants
     * @throws RefusedException as {@link #commit()}
     */
    public void commit(Map<TopicPartition, Long> offsets) {
        commits.commit(new Call(), new TreeMap<>(Settings.notNull("offsets", offsets)));
    }

    /**
     * Commits the processed records, unless only the caller commits, and leaves the group, so that others get the
     * partitions at once. The records returned last don't count as processed: if they are, call {@link #commit()}
     * before. A {@code next} that waits throws {@link io.rawline.error.StoppedException}.
     *
     * @throws RawlineException the commit failed; the consumer is closed nevertheless
     */
    @Override
    public void close() {
        if (isClosed.getAndSet(true)) {
            return;
        }
        arrivals.close();
        commits.stop();
        try {
            if (member.state() == Member.State.IN || member.state() == Member.State.REBALANCING) {
                commits.commitLast();
            }
        } finally {
            member.close();
        }
    }

    /**
     * A human-readable description.
     *
     * @return the group and the offsets
     */
    @Override
    public String toString() {
        return "consumer of the group " + group + " at the offsets " + offsets();
    }

    private Received await(long waitNs) {
        long beganNs = System.nanoTime();
        while (true) {
            commits.check();
            long dueInNs = advance();
            long leftNs = waitNs == Long.MAX_VALUE ? waitNs : Math.max(0, waitNs - (System.nanoTime() - beganNs));
            Arrivals.Arrival<Reads.Result> arrival = arrivals.await(Math.min(leftNs, dueInNs));
            if (arrival == null) {
                if (leftNs <= dueInNs) {
                    return new Received();
                }
                continue;
            }
            Received fetched = take(arrival);
            if (fetched != null) {
                return fetched;
            }
        }
    }

    /** Starts the due work; returns the nanoseconds until more is due. */
    private long advance() {
        if (isJoining) {
            return Long.MAX_VALUE;
        }
        long lookInNs = lookInNs();
        if (lookInNs <= 0) {
            member.joinAgain();
        }
        Member.State state = member.state();
        if (state == Member.State.IN) {
            return Math.min(startReads(), lookInNs);
        }
        stopReads();
        member.check();
        if (state == Member.State.OUT) {
            // Others may have read the partitions meanwhile, and commit their processed records.
            assign(Assignment.NONE);
        }
        Assignment before = assignment;
        arrivals.start(JOINED, call -> new Joined(join(call, before)));
        isJoining = true;
        return Long.MAX_VALUE;
    }

    /** In how many nanoseconds it looks whether topics that were deleted exist again. */
    private long lookInNs() {
        return assignment.hasGone() ? goneNs + LOOK_NS - System.nanoTime() : Long.MAX_VALUE;
    }

    private void assign(Assignment assignment) {
        this.assignment = assignment;
        commits.of(assignment);
    }

    private void stopReads() {
        arrivals.cancel();
        numbers.clear();
        describing = -1;
        turns = new Turns(Nanos.MAX);
        reads.turns(turns);
    }

    private long startReads() {
        try {
            reads.start();
            long inNs = describing >= 0 ? Long.MAX_VALUE : turns.describeInNs(System.nanoTime());
            if (inNs > 0) {
                return inNs;
            }
            Set<String> topics = new TreeSet<>();
            numbers.values().forEach(partition -> topics.add(partition.topic()));
            int number = nextNumber++;
            arrivals.start(number, call -> new Described(describe(call, topics)));
            describing = number;
        } catch (RawlineException | OutOfMemoryError error) {
            if (turns.reading() == 0 && describing < 0) {
                throw error;
            }
        }
        return Long.MAX_VALUE;
    }

    /** Takes the result of a request; returns records, or null. */
    private Received take(Arrivals.Arrival<Reads.Result> arrival) {
        int number = arrival.key();
        if (number == JOINED) {
            joined(arrival);
        } else if (number == describing) {
            described(arrival);
        } else if (!turns.has(number)) {
            // Of an earlier share, or only to wake the caller up.
            reads.drop(arrival);
        } else if (arrival.error() != null) {
            failed(number, arrival.known());
        } else {
            return taken(number, reads.take(arrival));
        }
        return null;
    }

    private void joined(Arrivals.Arrival<Reads.Result> arrival) {
        isJoining = false;
        boolean isJoined = false;
        try {
            if (arrival.error() != null) {
                throw arrival.known();
            }
            assign(((Joined) arrival.result()).assignment());
            isJoined = true;
        } finally {
            if (!isJoined) {
                member.joinAgain();
            }
        }
        assignment.positions().forEach((partition, position) -> {
            if (!position.isGone()) {
                numbers.put(nextNumber, partition);
                turns.add(nextNumber++, position.returned(), Long.MAX_VALUE, true);
            }
        });
        goneNs = System.nanoTime();
        turns.described(goneNs);
    }

    private void described(Arrivals.Arrival<Reads.Result> arrival) {
        describing = -1;
        if (arrival.error() != null && !turns.readsWait()) {
            throw arrival.known();
        }
        if (arrival.result() instanceof Described found) {
            numbers.forEach((number, partition) -> {
                TopicInfo topic = found.topics().get(partition.topic());
                if (topic != null && partition.partition() < topic.offsets().size()) {
                    turns.hasUpTo(
                            number, topic.offsets().get(partition.partition()).nextOffset());
                }
            });
        }
        turns.described(System.nanoTime());
    }

    private void failed(int number, RawlineException error) {
        if (!isGone(error)) {
            turns.failed(number);
            throw error;
        }
        turns.gone(number);
        goneNs = System.nanoTime();
        assignment.positions().get(numbers.get(number)).gone();
    }

    private static boolean isGone(RawlineException error) {
        return error instanceof RefusedException refused
                && (refused.code().equals("topic_not_found") || refused.code().equals("partition_not_found"));
    }

    private Received taken(int number, Received fetched) {
        if (fetched == null) {
            return null;
        }
        assignment.positions().get(numbers.get(number)).returned(fetched.nextOffset());
        try {
            reads.start();
        } catch (RawlineException | OutOfMemoryError error) {
            // The next call starts the reads, and throws this if it can't: the records at hand must not be lost.
            return fetched;
        }
        return fetched;
    }

    // The rest runs on other threads.

    /** Joins the group, and finds where to start in the partitions that the member gets. */
    private Assignment join(Call call, Assignment before) {
        if (before.membership() != null) {
            commits.commitProcessed(call);
        }
        Membership joined = member.join(call);
        boolean keeps = before.membership() != null && joined.follows(before.membership());
        Map<String, TopicInfo> topics = new HashMap<>();
        Map<TopicPartition, Position> positions = new TreeMap<>();
        joined.partitions().forEach((partition, committed) -> {
            Position kept = keeps ? before.positions().get(partition) : null;
            positions.put(partition, kept != null && !kept.isGone() ? kept : begin(call, partition, committed, topics));
        });
        return new Assignment(joined, positions);
    }

    /** The start of a partition that the member didn't have before. */
    private Position begin(Call call, TopicPartition partition, OptionalLong committed, Map<String, TopicInfo> topics) {
        if (committed.isPresent()) {
            return Position.committed(committed.getAsLong());
        }
        try {
            String name = partition.topic();
            if (!topics.containsKey(name)) {
                topics.put(name, client.topics().topic(call, config.retries, name));
            }
            TopicInfo topic = topics.get(name);
            checkHas(topic, partition.partition());
            return new Position(
                    client.topics().startOffset(call, config.retries, topic, partition.partition(), config.start));
        } catch (RefusedException error) {
            if (!isGone(error)) {
                throw error;
            }
            Position gone = new Position(0);
            gone.gone();
            return gone;
        }
    }

    private static void checkHas(TopicInfo topic, int partition) {
        if (partition >= topic.offsets().size()) {
            throw Responses.noPartition(topic.name(), partition, topic.offsets().size());
        }
    }

    private Received read(Call call, String topic, ReadOptions options, long endOffset, Received into) {
        try {
            return client.read(call, config.retries, topic, options, endOffset, into);
        } catch (RefusedException error) {
            if (!error.code().equals("offset_out_of_bounds")) {
                throw error;
            }
            TopicInfo found = client.topics().topic(call, config.retries, topic);
            checkHas(found, options.partition());
            long firstOffset = found.offsets().get(options.partition()).firstOffset();
            if (firstOffset <= options.offset()) {
                throw error;
            }
            // The records up to there were deleted before the group came to them.
            return client.read(call, config.retries, topic, options.offset(firstOffset), endOffset, into);
        }
    }

    private Map<String, TopicInfo> describe(Call call, Set<String> topics) {
        Map<String, TopicInfo> found = new HashMap<>();
        for (String topic : topics) {
            try {
                found.put(topic, client.topics().topic(call, config.retries, topic));
            } catch (TopicNotFoundException error) {
                // A read of one of its partitions finds out as well.
                continue;
            }
        }
        return found;
    }
}
