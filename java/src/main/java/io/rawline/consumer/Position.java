package io.rawline.consumer;

import java.util.concurrent.atomic.AtomicLong;

/** A group member's position in a partition. All numbers are offsets of a next record. */
final class Position {
    /** What {@link #committed} is if the group has committed nothing in the partition. */
    private static final long NOTHING = -1;

    /** After the records that the caller got; only the caller's thread uses it. */
    private long returned;
    /** After those of them that the caller has processed; only the caller's thread changes it. */
    private final AtomicLong processed;
    /** Guarded by the lock of {@link Commits}. */
    private long committed = NOTHING;

    private volatile boolean isGone;

    /** At an offset that the group has committed. */
    static Position committed(long offset) {
        Position position = new Position(offset);
        position.committed = offset;
        return position;
    }

    /** At an offset that the group has not committed. */
    Position(long offset) {
        returned = offset;
        processed = new AtomicLong(offset);
    }

    long returned() {
        return returned;
    }

    /** The caller gets the records before an offset. */
    void returned(long offset) {
        returned = offset;
    }

    /** The caller has processed the returned records. */
    void processAll() {
        processed.setRelease(returned);
    }

    long processed() {
        return processed.getAcquire();
    }

    /** Whether there is something to commit: also where the partition began, so that others begin there as well. */
    boolean isUncommitted() {
        return !isGone && processed() != committed;
    }

    /** The group has committed an offset. */
    void setCommitted(long offset) {
        committed = offset;
    }

    boolean isGone() {
        return isGone;
    }

    /** The partition doesn't exist any more. */
    void gone() {
        isGone = true;
    }
}
