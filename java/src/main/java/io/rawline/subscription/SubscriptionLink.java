package io.rawline.subscription;

import io.rawline.error.ConfigException;
import io.rawline.error.ConnectionBrokenException;
import io.rawline.error.RawlineException;
import io.rawline.error.RefusedException;
import io.rawline.error.RetryPolicy;
import io.rawline.error.StoppedException;
import io.rawline.error.TopicNotFoundException;
import io.rawline.internal.http.Address;
import io.rawline.internal.http.Call;
import io.rawline.internal.http.Request;
import io.rawline.internal.http.WebSocket;
import io.rawline.internal.request.Attempts;
import io.rawline.internal.request.Endpoint;
import io.rawline.internal.request.Owners;
import io.rawline.internal.request.Received;
import io.rawline.internal.request.Requests;
import io.rawline.record.Start;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * The connection of a subscription: receives a message at a time, and connects again at the positions of what was
 * received. One thread at a time uses it, except for {@link #close}.
 */
final class SubscriptionLink {
    /** Maximum silence of the broker, which sends a message or a ping every 15 s. */
    private static final Duration SILENCE_MAX = Duration.ofSeconds(60);
    /** Maximum length of a control message: twice that of a cursor. */
    private static final int TEXT_BYTES_MAX = 2 * Cursor.BYTES_MAX;
    /** How often it follows the name of a broker in its zone: brokers that see different ones could send it around. */
    private static final int MOVES_MAX = 2;

    private final Requests client;
    private final SubscriptionConfig config;
    private final Messages messages;
    /** The topics that are left. */
    private final Set<String> topics;
    /** The position at which another connection continues; null before the first. */
    private Cursor cursor;
    /**
     * The positions after received messages, against which messages are checked. The broker's cursors leave out
     * partitions without records since their time; this doesn't.
     */
    private Cursor positions = new Cursor();
    /** Notices to report before the next message is received. */
    private final Deque<Event> reports = new ArrayDeque<>();

    private volatile WebSocket socket;
    /** The broker at the other end of the socket. */
    private Endpoint endpoint;
    /** Whether a broker of the client's zone was named and can't be reached: at this time, it is looked for again. */
    private boolean isAway;

    private long lookAtNs;
    private volatile boolean isClosed;

    /** The received message. */
    sealed interface Event {}

    /** Records, or none if a filter has selected none. */
    record Records(Received fetched) implements Event {}

    /** Something other than records. */
    record Noticed(Notice notice) implements Event {}

    /** The position of the subscription after everything before. */
    record At(Cursor cursor) implements Event {}

    /** Another broker of the client's zone serves the subscription from now on. */
    private record Moved() implements Event {}

    /** The records that follow are of the topic with this id. If it isn't the one of before, it begins. */
    record Identified(String topic, String id) implements Event {}

    /**
     * A subscription at one broker.
     *
     * @param begin where it begins
     * @param nearer the URL of a broker of the client's zone; null if this one is as good
     */
    private record Opened(Cursor begin, String nearer) {}

    SubscriptionLink(Requests client, SubscriptionConfig config) {
        this.client = client;
        this.config = config;
        messages = new Messages(client.responses());
        topics = new LinkedHashSet<>(config.topics);
    }

    /** Opens the subscription, with retries; returns where it begins. */
    Cursor open(Call call) {
        Cursor given = config.cursor == null ? null : Cursor.parse(config.cursor);
        Cursor begin;
        try {
            begin = Attempts.retry(call, config.retries, () -> connect(call, given));
        } catch (RefusedException error) {
            List<String> missing = error.code().equals("topic_not_found") ? gone(call) : List.of();
            throw missing.isEmpty() ? error : new TopicNotFoundException(missing.get(0), error);
        }
        // Unless the caller has set it: then the broker reports skipped records.
        cursor = given == null ? begin : given;
        positions = cursor.copy();
        return cursor.copy();
    }

    /** The next message, over a new connection if the last one broke; retries until something arrives. */
    Event receive(Call call, Received into) {
        Attempts attempts = new Attempts(config.retries);
        while (true) {
            long beganNs = System.nanoTime();
            try {
                if (isAway && System.nanoTime() - lookAtNs >= 0) {
                    disconnect();
                }
                if (socket == null) {
                    reconnect(call);
                }
                beganNs = System.nanoTime();
                Event event = reports.isEmpty() ? next(call, into) : reports.poll();
                if (event instanceof Moved) {
                    disconnect();
                } else if (event != null) {
                    note(event);
                    return event;
                }
            } catch (RawlineException error) {
                disconnect();
                // Long-lived connections aren't failures, even without a message.
                if (System.nanoTime() - beganNs >= config.retries.waitMax().toNanos()) {
                    attempts = new Attempts(config.retries);
                }
                // A limit that the user has set is final. Without one, the subscriber was idle for a while.
                boolean isFinal = Subscription.isSlow(error) && config.lagMax >= 0;
                long wait = isFinal ? Attempts.GIVE_UP : attempts.waitAfter(error, System.nanoTime());
                if (wait == Attempts.GIVE_UP) {
                    throw error;
                }
                call.sleep(wait);
            }
        }
    }

    /** Closes the connection. */
    void close() {
        isClosed = true;
        disconnect();
    }

    private void disconnect() {
        WebSocket closed = socket;
        socket = null;
        if (closed != null) {
            closed.close();
        }
    }

    /** Records the positions of the caller's records. */
    private void note(Event event) {
        if (event instanceof Records records) {
            Received fetched = records.fetched();
            advance(fetched.topic(), fetched.partition(), fetched.nextOffset());
        } else if (event instanceof At at) {
            cursor = at.cursor().copy();
            positions.merge(cursor);
        } else if (event instanceof Identified identified) {
            cursor.identify(identified.topic(), identified.id());
            positions.identify(identified.topic(), identified.id());
        } else if (event instanceof Noticed noticed) {
            if (noticed.notice() instanceof Notice.Skipped skipped) {
                advance(skipped.topic(), skipped.partition(), skipped.nextOffset());
            } else if (noticed.notice() instanceof Notice.Deleted deleted) {
                topics.remove(deleted.topic());
                cursor.forget(deleted.topic());
                positions.forget(deleted.topic());
            }
        }
    }

    private void advance(String topic, int partition, long offset) {
        cursor.set(topic, partition, offset);
        positions.set(topic, partition, offset);
    }

    /** Connects again. Topics that were deleted meanwhile are reported and left out, if others are left. */
    private void reconnect(Call call) {
        while (true) {
            if (topics.isEmpty() && config.prefixes.isEmpty()) {
                throw new RefusedException(
                        404,
                        "topic_not_found",
                        "all topics of the subscription were deleted; subscribe to others",
                        null);
            }
            try {
                connect(call, cursor);
                return;
            } catch (RefusedException error) {
                List<String> gone = error.code().equals("topic_not_found") ? gone(call) : List.of();
                if (gone.isEmpty() || gone.size() == topics.size() && config.prefixes.isEmpty()) {
                    throw error;
                }
                gone.forEach(topic -> reports.add(new Noticed(new Notice.Deleted(topic))));
                gone.forEach(topics::remove);
            }
        }
    }

    private List<String> gone(Call call) {
        List<String> gone = new ArrayList<>();
        for (String topic : topics) {
            try {
                client.topics().topic(call, RetryPolicy.NONE, topic);
            } catch (TopicNotFoundException error) {
                gone.add(topic);
            }
        }
        return gone;
    }

    /**
     * Connects, without retries: to the broker of the client's zone that serves it, if that can be reached. Returns
     * where the subscription begins.
     */
    private Cursor connect(Call call, Cursor from) {
        String read = request(null).target();
        Cursor start = from;
        int moves = 0;
        while (true) {
            Request request = request(start);
            Opened opened = client.nearer().send(read, client.nearer().of(read), to -> connect(call, request, to));
            boolean isMoved = moves++ < MOVES_MAX && client.nearer().learn(read, opened.nearer());
            if (!isMoved) {
                isAway = opened.nearer() != null;
                lookAtNs = System.nanoTime() + Owners.AVOIDED_NS;
                return opened.begin();
            }
            disconnect();
            // It begins where the first broker has said: the other one may not have seen the newest records yet.
            start = start == null ? opened.begin() : start;
        }
    }

    private Opened connect(Call call, Request request, Endpoint to) {
        WebSocket opened = to.http().webSocket(call, request);
        boolean isOpen = false;
        try {
            Cursor begin = to.http().receive(call, opened, SILENCE_MAX, this::subscribed);
            endpoint = to;
            socket = opened;
            isOpen = true;
            if (isClosed) {
                disconnect();
                throw new StoppedException("the subscription is closed; create a new one", null);
            }
            return new Opened(begin, opened.nearer());
        } finally {
            if (!isOpen) {
                opened.close();
            }
        }
    }

    private Request request(Cursor from) {
        StringBuilder query = new StringBuilder();
        topics.forEach(topic -> query.append("&topic-name=").append(Address.queryValue(topic)));
        config.prefixes.forEach(prefix -> query.append("&topic-prefix=").append(Address.queryValue(prefix)));
        if (config.partition >= 0) {
            query.append("&partition=").append(config.partition);
        }
        if (config.start instanceof Start.Earliest) {
            query.append("&from=first");
        } else if (config.start instanceof Start.Offset at) {
            query.append("&from=").append(at.offset());
        } else if (config.start instanceof Start.Time at) {
            query.append("&from=").append(Address.queryValue(at.time().toString()));
        }
        if (config.where != null) {
            query.append("&where=").append(Address.queryValue(config.where));
        }
        if (config.slow == Slow.SKIP) {
            query.append("&slow=skip");
        }
        if (config.lagMax >= 0) {
            query.append("&max-lag=").append(config.lagMax);
        }
        String headers = "sec-websocket-protocol: rawline.subscribe.v1\r\n";
        if (from != null) {
            String text = from.toString();
            if (text.length() > Cursor.BYTES_MAX) {
                throw new ConfigException(
                        "the subscription's cursor has " + text.length() + " bytes, the maximum is " + Cursor.BYTES_MAX
                                + "; subscribe to fewer topics",
                        null);
            }
            headers += "last-event-id: " + text + "\r\n";
        }
        return new Request("GET", "/subscribe?" + query.substring(1), headers);
    }

    /** The first message. */
    private Cursor subscribed(WebSocket opened) throws IOException {
        while (true) {
            switch (opened.next()) {
                case TEXT -> {
                    Map<?, ?> message = parse(opened);
                    if ("end".equals(message.get("type"))) {
                        throw ended(message);
                    }
                    if (!"subscribed".equals(message.get("type"))) {
                        throw unexpected("\"" + message.get("type") + "\", where a subscription begins");
                    }
                    if (!message.containsKey("cursor")) {
                        throw unexpected("no cursor, since it is too long: subscribe to fewer topics");
                    }
                    return cursor(message);
                }
                case BINARY -> throw unexpected("records, where a subscription begins");
                case CLOSED -> throw closed();
                default -> {
                    // A ping.
                }
            }
        }
    }

    /** The next message; null if there was only a sign of life. */
    private Event next(Call call, Received into) {
        WebSocket open = socket;
        if (open == null) {
            throw closed();
        }
        return endpoint.http().receive(call, open, SILENCE_MAX, connection -> switch (connection.next()) {
            case TEXT -> control(parse(connection));
            case BINARY -> {
                messages.receive(source(connection), positions, into);
                yield new Records(into);
            }
            case ALIVE -> null;
            case CLOSED -> throw closed();
        });
    }

    private static Received.Source source(WebSocket connection) {
        return new Received.Source() {
            @Override
            public int read(ByteBuffer to) throws IOException {
                return connection.read(to);
            }

            @Override
            public boolean hasEnded() {
                return connection.hasEnded();
            }

            @Override
            public long announcedBytes() {
                return connection.announcedBytes();
            }
        };
    }

    /** A control message; null if it is unknown. */
    private Event control(Map<?, ?> message) {
        return switch (String.valueOf(message.get("type"))) {
            case "skipped" -> {
                long partition = client.responses().number(message, "partition");
                long records = client.responses().number(message, "records");
                long nextOffset = client.responses().number(message, "next_offset");
                if (partition < 0 || partition > Integer.MAX_VALUE || records < 0 || nextOffset < 0) {
                    throw unexpected("skipped records of partition " + partition + " before " + nextOffset);
                }
                yield new Noticed(new Notice.Skipped(text(message, "topic"), (int) partition, records, nextOffset));
            }
            case "deleted" -> new Noticed(new Notice.Deleted(text(message, "topic")));
            case "cursor" -> new At(cursor(message));
            case "topic" -> {
                String id = text(message, "id");
                if (!Cursor.isId(id)) {
                    throw unexpected("\"" + id + "\" as the id of a topic");
                }
                yield new Identified(text(message, "topic"), id);
            }
            case "end" -> {
                if ("broker_nearer".equals(message.get("code"))) {
                    yield new Moved();
                }
                throw ended(message);
            }
            default -> null;
        };
    }

    private Cursor cursor(Map<?, ?> message) {
        try {
            return Cursor.parse(text(message, "cursor"));
        } catch (IllegalArgumentException error) {
            throw unexpected(error.getMessage());
        }
    }

    private RefusedException ended(Map<?, ?> message) {
        String code = text(message, "code");
        int status =
                switch (code) {
                    case "topic_not_found" -> 404;
                    case "subscriber_slow" -> 408;
                    // Unknown messages of newer brokers are ignored.
                    default -> 503;
                };
        return new RefusedException(status, code, text(message, "error"), null);
    }

    private String text(Map<?, ?> message, String name) {
        if (message.get(name) instanceof String text) {
            return text;
        }
        throw unexpected(name + " is missing or not a text");
    }

    private Map<?, ?> parse(WebSocket opened) throws IOException {
        return client.responses().parse(opened.text(TEXT_BYTES_MAX).getBytes(StandardCharsets.UTF_8));
    }

    private RawlineException unexpected(String reason) {
        return client.responses().unexpected(reason, null);
    }

    private RawlineException closed() {
        return new ConnectionBrokenException(
                "the broker has closed the connection of a subscription; check that it is still running, then retry",
                null);
    }
}
