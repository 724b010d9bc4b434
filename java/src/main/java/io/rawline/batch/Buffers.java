package io.rawline.batch;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;

/**
 * Direct memory that is used again: new one is slow to come by, and is given back only when the collector runs. Not for
 * more than one thread at a time.
 */
public final class Buffers {
    private static final int BUFFERS_MAX = 64;

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
     * @return the buffer, to be given back with {@link #give}
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
        return taken.clear();
    }

    /**
     * Gives a buffer back that nobody uses any more.
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
     * The same bytes in a longer buffer: twice as long, if that is enough, so that filling one copies each byte twice
     * at most.
     */
    ByteBuffer grow(ByteBuffer buffer, int bytes) {
        long twice = Math.min(2L * buffer.capacity(), Integer.MAX_VALUE - 8);
        ByteBuffer longer = take((int) Math.max(twice, bytes));
        longer.put(buffer.flip());
        give(buffer);
        return longer;
    }
}
