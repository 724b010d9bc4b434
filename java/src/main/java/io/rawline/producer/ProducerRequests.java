package io.rawline.producer;

import io.rawline.error.RawlineException;
import io.rawline.internal.http.Call;
import io.rawline.internal.request.Appends;
import io.rawline.internal.request.Endpoint;
import io.rawline.topic.Appended;
import java.util.function.Supplier;

/**
 * The requests of a producer: to which broker each goes, and in which order they arrive there.
 *
 * <p>When the client learns of another owner of the topic's journal, no request begins until all have ended: requests
 * to the owner directly could overtake those being forwarded. The first one that goes there is alone: if no
 * connection to the owner can be established, it continues elsewhere, and later ones follow it.
 *
 * <p>Not thread-safe, since a producer holds its lock. What {@link Sending} does needs no lock.
 */
final class ProducerRequests {
    private final Appends appends;
    private final String topic;
    private final int epoch;
    /** Whether small ones share a connection. */
    private final boolean areQueued;

    /** The start of requests. */
    private Endpoint endpoint;
    /** Whether requests there need not be alone. */
    private boolean hasConnected = true;

    /** Whether {@link #canBegin} has said no since a request ended. */
    private boolean holdsBack;

    private int inFlight;
    /** The request that was queued last, or null. */
    private Appends.Queued latest;

    /**
     * A request in flight.
     *
     * @param first its first attempt
     * @param again a further one
     */
    record Sending(Outbox.Due due, Supplier<Appended> first, Supplier<Appended> again) {}

    ProducerRequests(Appends appends, String topic, int epoch, int inFlightMax) {
        this.appends = appends;
        this.topic = topic;
        this.epoch = epoch;
        // One at a time is in order anyway.
        areQueued = inFlightMax > 1;
        endpoint = appends.configured();
    }

    /** Whether a request can begin now; if not, when one has ended. */
    boolean canBegin() {
        Endpoint known = appends.endpoint(topic);
        if (inFlight > 0) {
            boolean can = hasConnected && endpoint == known;
            holdsBack |= !can;
            return can;
        }
        if (endpoint != known) {
            endpoint = known;
            hasConnected = known == appends.configured();
        }
        return true;
    }

    /** Begins a request, after {@link #canBegin} has allowed it. */
    Sending begin(Call call, Outbox.Due due) {
        Endpoint begun = endpoint;
        Appends.Queued queued = queue(due);
        Supplier<Appended> first = queued == null ? () -> send(call, begun, due) : () -> appends.await(call, queued);
        // While others are in flight, it goes where they go; if that owner has failed, to any broker.
        Supplier<Appended> again =
                () -> send(call, appends.endpoint(topic) == begun ? begun : appends.configured(), due);
        inFlight++;
        return new Sending(due, first, again);
    }

    /** A request has ended. Whether further ones can begin now, which waited for that. */
    boolean end() {
        if (inFlight == 0) {
            throw new IllegalStateException("a request to " + topic + " has ended twice");
        }
        inFlight--;
        hasConnected = true;
        boolean heldBack = holdsBack;
        holdsBack = false;
        return heldBack && canBegin();
    }

    /**
     * Queues the due requests, so that the broker gets the requests of a partition in the order in which they were
     * taken, whichever thread runs first. Null if they are not small, one at a time anyway, or Kafka's.
     */
    private Appends.Queued queue(Outbox.Due due) {
        if (!areQueued || due.isKafka()) {
            return null;
        }
        try {
            Appends.Queued queued = appends.begin(latest, endpoint, epoch, topic, due.partition(), due.pieces());
            latest = queued == null ? latest : queued;
            return queued;
        } catch (RawlineException error) {
            // The thread gets the same error when it sends.
            return null;
        }
    }

    private Appended send(Call call, Endpoint to, Outbox.Due due) {
        return due.isKafka()
                ? appends.appendRecordBatches(call, to, topic, due.partition(), due.pieces())
                : appends.append(call, to, epoch, topic, due.partition(), due.pieces());
    }
}
