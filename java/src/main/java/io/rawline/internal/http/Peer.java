package io.rawline.internal.http;

/**
 * The broker at the other end of a connection.
 *
 * @param liveness its liveness; null if no other broker can replace it, so that it isn't checked
 * @param silences how often it had been found silent before the connection was opened
 */
record Peer(Liveness liveness, long silences) {
    /** Why a request to a broker that was found silent has no response. */
    static final String SILENCE = "it didn't respond, and not to /health on another connection either";

    /** The broker to which a connection is about to be opened. */
    static Peer of(Liveness liveness) {
        return new Peer(liveness, liveness == null ? 0 : liveness.silences());
    }

    /** Whether the broker was found silent after the connection was opened. */
    boolean isSilent() {
        return liveness != null && liveness.silences() > silences;
    }

    /** Something waits for the broker from now on. */
    void add(Liveness.Waiting added) {
        if (liveness != null) {
            liveness.add(added, silences);
        }
    }

    /** It waits no longer. */
    void remove(Liveness.Waiting removed) {
        if (liveness != null) {
            liveness.remove(removed);
        }
    }
}
