package io.rawline.internal.request;

import io.rawline.error.AnswerException;
import io.rawline.error.InterruptedCallException;
import io.rawline.error.RawlineException;
import io.rawline.error.RefusedException;
import io.rawline.error.StoppedException;
import io.rawline.error.TlsException;
import io.rawline.error.UnreachableException;
import io.rawline.internal.http.Http;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Function;
import java.util.function.LongSupplier;

/**
 * The owners of topics' journals, as far as responses have named them. A broker that doesn't own a topic's journal
 * forwards appends to the one that does, and names it in its response: so the next appends go there directly. In the
 * same way, the response to a read names the broker of the client's zone that has the partition in its cache: to the
 * client's reads, that is the partition's owner. Thread-safe.
 */
public final class Owners {
    /** Maximum number of topics whose owners are known, about a megabyte. */
    static final int TOPICS_MAX = 10_000;
    /** Maximum number of owners, each of which has connections. */
    static final int OWNERS_MAX = 64;
    /**
     * Time without attempts to connect to an owner after one has failed: the URL that it advertises to other brokers
     * may be unreachable from here.
     */
    public static final long AVOIDED_NS = 30_000_000_000L;

    private final Endpoint configured;
    /** As {@link System#nanoTime}. */
    private final LongSupplier clock;

    /** By topic. Changed with the lock held, read without it. */
    private final Map<String, Endpoint> ofTopics = new ConcurrentHashMap<>();

    private final ReentrantLock lock = new ReentrantLock();
    // All below is guarded by the lock.
    /** By URL. */
    private final Map<String, Endpoint> owners = new HashMap<>();
    /** The time before which a URL isn't retried. */
    private final Map<String, Long> avoided = new HashMap<>();

    private boolean closed;

    /**
     * None is known yet.
     *
     * @param configured the brokers that the client was given, which forward appends and serve all reads
     */
    Owners(Endpoint configured, LongSupplier clock) {
        this.configured = configured;
        this.clock = clock;
    }

    /** The target of requests for a topic: its owner, or, while that isn't known, any broker. */
    public Endpoint of(String topic) {
        return ofTopics.getOrDefault(topic, configured);
    }

    /** Sends a request to the owner of a topic, or, if nothing could be sent there, to any broker. */
    public <T> T send(String topic, Endpoint endpoint, Function<Endpoint, T> request) {
        if (endpoint != configured) {
            try {
                return request.apply(endpoint);
            } catch (RawlineException error) {
                failed(topic, endpoint, error);
                if (!isUnsent(error)) {
                    throw error;
                }
            }
        }
        return request.apply(configured);
    }

    /** A response has named a topic's owner, or null. Returns whether the next requests go there, and not before. */
    public boolean learn(String topic, String url) {
        if (url == null || of(topic).url().equals(url)) {
            return false;
        }
        lock.lock();
        try {
            Endpoint owner = owner(url);
            if (owner == null) {
                ofTopics.remove(topic);
                return false;
            }
            if (ofTopics.size() >= TOPICS_MAX) {
                ofTopics.clear();
            }
            ofTopics.put(topic, owner);
            return true;
        } finally {
            lock.unlock();
        }
    }

    /** A request for a topic that went to an owner has failed: the next one goes to any broker, if that can help. */
    void failed(String topic, Endpoint owner, RawlineException error) {
        if (saysNothing(error)) {
            return;
        }
        lock.lock();
        try {
            if (isUnsent(error) || isForeign(error) || owner.http().isSilent()) {
                avoid(owner.url());
                ofTopics.values().removeIf(other -> other == owner);
                owners.remove(owner.url(), owner);
                owner.http().closeIdle();
            } else {
                ofTopics.remove(topic, owner);
            }
        } finally {
            lock.unlock();
        }
    }

    /** Whether nothing was sent, so that it can be sent elsewhere. */
    private static boolean isUnsent(RawlineException error) {
        return error instanceof UnreachableException || error instanceof TlsException;
    }

    /** Whether the caller ended the request, or the owner has refused it. */
    private static boolean saysNothing(RawlineException error) {
        return error instanceof StoppedException
                || error instanceof InterruptedCallException
                || error instanceof RefusedException refused && refused.status() < 500 && !isForeign(refused);
    }

    /** Whether what responds isn't a broker: the URL may lead to something else from here. */
    private static boolean isForeign(RawlineException error) {
        return error instanceof AnswerException
                || error instanceof RefusedException refused && refused.code().startsWith("status_");
    }

    /** Closes the connections to owners, and from now on learns none. */
    void close() {
        lock.lock();
        try {
            closed = true;
            ofTopics.clear();
            owners.values().forEach(owner -> owner.http().close());
            owners.clear();
        } finally {
            lock.unlock();
        }
    }

    private boolean isAvoided(String url) {
        Long untilNs = avoided.get(url);
        return untilNs != null && untilNs - clock.getAsLong() > 0;
    }

    private void avoid(String url) {
        long nowNs = clock.getAsLong();
        avoided.values().removeIf(untilNs -> untilNs - nowNs <= 0);
        if (avoided.size() >= OWNERS_MAX) {
            avoided.clear();
        }
        avoided.put(url, nowNs + AVOIDED_NS);
    }

    /** Null if requests don't go there directly. */
    private Endpoint owner(String url) {
        if (closed || isAvoided(url) || configured.http().isAt(url)) {
            return null;
        }
        Endpoint known = owners.get(url);
        if (known != null) {
            return known;
        }
        Http http = configured.http().named(url);
        if (http == null) {
            avoid(url);
            return null;
        }
        if (owners.size() >= OWNERS_MAX) {
            ofTopics.clear();
            owners.values().forEach(owner -> owner.http().closeIdle());
            owners.clear();
        }
        Endpoint added = new Endpoint(url, http, configured.responses().of(http));
        owners.put(url, added);
        return added;
    }
}
