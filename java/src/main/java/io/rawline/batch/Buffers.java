package io.rawline.batch;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;

/**
 * A pool of direct memory: allocating it is slow, and it is freed only by the garbage collector. Not thread-safe.
 */
public final class Buffers {
    /** One for each partition of a topic: a producer may have a batch open for each. */
    private static final int BUFFERS_MAX = 1024;

    private final long bytesMax;
    private final List<ByteBuffer> free = new ArrayList<>();
    private long freeBytes;

    /**
     * An empty pool.
     *
     * @param bytesMax maximum number of free bytes that it keeps
     */
    public Buffers(long bytesMax) {
        this.bytesMax = bytesMax;
    }

    /**
     * An empty little-endian buffer: the smallest free one that is long enough, or a new one of exactly that length.
     *
     * @param bytes minimum capacity
     * @return the buffer, to be returned with {@link #give}
     */
    public ByteBuffer take(int bytes) {
        int best = -1;
        for (int i = 0; i < free.size(); i++) {
            int capacity = free.get(i).capacity();
            if (capacity >= bytes && (best < 0 || capacity < free.get(best).capacity())) {
                best = i;
            }
        }
        if (best < 0) {
            return ByteBuffer.allocateDirect(bytes).order(ByteOrder.LITTLE_ENDIAN);
        }
        ByteBuffer taken = free.remove(best);
        freeBytes -= taken.capacity();
        if (freeBytes < 0) {
            throw new IllegalStateException("a pool with " + freeBytes + " free bytes");
        }
        return taken.clear();
    }

    /**
     * Returns a buffer that is no longer used to the pool.
     *
     * @param buffer the buffer
     */
    public void give(ByteBuffer buffer) {
        if (free.size() < BUFFERS_MAX && freeBytes + buffer.capacity() <= bytesMax) {
            free.add(buffer);
            freeBytes += buffer.capacity();
        }
    }

    /**
     * The same bytes in a longer buffer: at least twice as long, so that filling it copies each byte at most twice.
     */
    ByteBuffer grow(ByteBuffer buffer, int bytes) {
        long twice = Math.min(2L * buffer.capacity(), Integer.MAX_VALUE - 8);
        ByteBuffer longer = take((int) Math.max(twice, bytes));
        longer.put(buffer.flip());
        give(buffer);
        return longer;
    }
}
