package io.rawline.measurement;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.util.concurrent.locks.ReentrantLock;

/**
 * A shared table from byte strings to numbers, which only grows, within limits set when it is created.
 *
 * <ul>
 *   <li><b>Hits take no lock and write nothing</b>: slots are read with acquire, and the entries' bytes never change.
 *   <li><b>The same bytes have the same number in all threads</b>: an insertion searches again under the lock.
 *   <li><b>Insertions are atomic</b>: an entry is written and counted before its slot is stored with release.
 *   <li><b>A full table still works</b>: entries, bytes and probes are limited, and all known bytes are still found.
 *   <li><b>Collisions are harmless</b>: a hash only proposes an entry; all bytes are compared. The hash is seeded, so
 *       that colliding strings can't be chosen without the seed.
 * </ul>
 *
 * <p>A slot is 0 while empty, else the upper half of the hash and the entry's position in units of 8 bytes. An entry is
 * its number (4 bytes), its length (4 bytes) and its bytes, padded to a multiple of 8.
 */
final class ByteTable {
    /** No entry. */
    static final int NONE = -1;
    /** No room. */
    static final int FULL = -2;

    private static final int ENTRIES_MAX = 1 << 29;
    private static final int CHUNK_BYTES = 1 << 20;
    private static final int CHUNK_UNITS_SHIFT = 17;
    private static final int HEADER_BYTES = 8;

    /** Maximum distance of an entry from its hash's slot; at half load, only chosen collisions reach it. */
    private static final int PROBES_MAX = 256;

    private static final VarHandle SLOT = MethodHandles.arrayElementVarHandle(long[].class);
    private static final VarHandle LONG = MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);
    private static final VarHandle INT = MethodHandles.byteArrayViewVarHandle(int[].class, ByteOrder.LITTLE_ENDIAN);

    private final long[] slots;
    /** Entries' positions in the order of insertion, as unsigned units. */
    private final int[] places;
    /** Chunks of memory, allocated as they are filled; written under the lock. */
    private final byte[][] chunks;

    private final long unitsMax;
    private final ReentrantLock lock = new ReentrantLock();
    private final long seed;
    private final long secret;
    private long unitsUsed = 1;
    private volatile int count;

    ByteTable(int entriesMax, long bytesMax, long seed) {
        if (entriesMax < 1 || entriesMax > ENTRIES_MAX || bytesMax < 0 || bytesMax > 32L << 30) {
            throw new IllegalArgumentException("a table of " + entriesMax + " entries in " + bytesMax
                    + " bytes is out of range; use 1 to " + ENTRIES_MAX + " entries and up to 32 GiB");
        }
        slots = new long[Integer.highestOneBit(2 * entriesMax - 1) << 1];
        places = new int[entriesMax];
        unitsMax = (bytesMax + 7) / 8 + 1;
        chunks = new byte[(int) ((unitsMax - 1 >>> CHUNK_UNITS_SHIFT) + 1)][];
        this.seed = scramble(seed);
        secret = scramble(seed + 0x9e37_79b9_7f4a_7c15L) | 1;
    }

    private static long scramble(long word) {
        word = (word ^ word >>> 30) * 0xbf58_476d_1ce4_e5b9L;
        word = (word ^ word >>> 27) * 0x94d0_49bb_1331_11ebL;
        return word ^ word >>> 31;
    }

    long hash(byte[] bytes, int at, int length) {
        long hash = seed ^ length;
        int end = at + length;
        for (; end - at > 16; at += 16) {
            hash = mix(getLong(bytes, at) ^ secret, getLong(bytes, at + 8) ^ hash);
        }
        int left = end - at;
        long first;
        long second = 0;
        if (left >= 8) {
            first = getLong(bytes, at);
            second = getLong(bytes, end - 8);
        } else if (left >= 4) {
            first = (int) INT.get(bytes, at) & 0xffff_ffffL | (long) (int) INT.get(bytes, end - 4) << 32;
        } else if (left > 0) {
            first = bytes[at] & 0xff | (bytes[at + left / 2] & 0xff) << 8 | (bytes[end - 1] & 0xff) << 16;
        } else {
            first = 0;
        }
        hash = mix(first ^ secret, second ^ hash);
        return mix(hash ^ seed, secret);
    }

    /** The exclusive or of both halves of the product of two words. */
    private static long mix(long left, long right) {
        return left * right ^ Math.multiplyHigh(left, right);
    }

    static long getLong(byte[] bytes, int at) {
        return (long) LONG.get(bytes, at);
    }

    // Prefetching: loads memory into the cache before it is needed. The results are meaningless, but must be used.

    /** Prefetches the hash's first slot. */
    long touchSlot(long hash) {
        return slots[(int) hash & slots.length - 1];
    }

    /** Prefetches that slot's entry, up to 128 bytes. */
    long touchEntry(long hash) {
        int place = (int) (long) SLOT.getAcquire(slots, (int) hash & slots.length - 1);
        if (place == 0) {
            return 0;
        }
        byte[] chunk = chunks[place >>> CHUNK_UNITS_SHIFT];
        int entry = place << 3 & CHUNK_BYTES - 1;
        return chunk[entry] + chunk[Math.min(entry + 64, CHUNK_BYTES - 1)];
    }

    /** The number of these bytes with this hash; {@link #NONE} if not found. */
    int find(long hash, byte[] bytes, int at, int length) {
        int mask = slots.length - 1;
        for (int step = 0; step < PROBES_MAX; step++) {
            long slot = (long) SLOT.getAcquire(slots, (int) hash + step & mask);
            if (slot == 0) {
                return NONE;
            }
            if ((slot ^ hash) >>> 32 == 0) {
                int place = (int) slot;
                byte[] chunk = chunks[place >>> CHUNK_UNITS_SHIFT];
                int entry = place << 3 & CHUNK_BYTES - 1;
                if ((int) INT.get(chunk, entry + 4) == length && same(chunk, entry + HEADER_BYTES, bytes, at, length)) {
                    return (int) INT.get(chunk, entry);
                }
            }
        }
        return NONE;
    }

    private static boolean same(byte[] left, int leftAt, byte[] right, int rightAt, int length) {
        if (length < 8) {
            return java.util.Arrays.equals(left, leftAt, leftAt + length, right, rightAt, rightAt + length);
        }
        for (int index = 0; index < length - 8; index += 8) {
            if (getLong(left, leftAt + index) != getLong(right, rightAt + index)) {
                return false;
            }
        }
        return getLong(left, leftAt + length - 8) == getLong(right, rightAt + length - 8);
    }

    /** As {@link #insert}; a new entry's number is the number of entries before it. */
    int insertNext(long hash, byte[] bytes, int at, int length) {
        return insert(hash, bytes, at, length, NONE);
    }

    /**
     * The number of these bytes, which are inserted with {@code number} if they are new; {@link #FULL} if there is no
     * room.
     */
    int insert(long hash, byte[] bytes, int at, int length, int number) {
        lock.lock();
        try {
            int known = find(hash, bytes, at, length);
            if (known != NONE || isFullFor(length)) {
                return known != NONE ? known : FULL;
            }
            int slot = vacantSlot(hash);
            if (slot < 0) {
                return FULL;
            }
            int index = count;
            long place = placeFor(length);
            byte[] chunk = chunks[(int) (place >>> CHUNK_UNITS_SHIFT)];
            if (chunk == null) {
                // Before anything else changes, since the allocation may fail.
                chunk = new byte[CHUNK_BYTES];
                chunks[(int) (place >>> CHUNK_UNITS_SHIFT)] = chunk;
            }
            int entry = (int) (place << 3) & CHUNK_BYTES - 1;
            INT.set(chunk, entry, number == NONE ? index : number);
            INT.set(chunk, entry + 4, length);
            System.arraycopy(bytes, at, chunk, entry + HEADER_BYTES, length);
            unitsUsed = place + units(length);
            places[index] = (int) place;
            count = index + 1;
            SLOT.setRelease(slots, slot, hash >>> 32 << 32 | place);
            return number == NONE ? index : number;
        } finally {
            lock.unlock();
        }
    }

    private int vacantSlot(long hash) {
        int mask = slots.length - 1;
        for (int step = 0; step < PROBES_MAX; step++) {
            if (slots[(int) hash + step & mask] == 0) {
                return (int) hash + step & mask;
            }
        }
        return -1;
    }

    private static long units(int length) {
        return (HEADER_BYTES + (long) length + 7) / 8;
    }

    /** Where the next entry of this length starts: no entry spans two chunks. */
    private long placeFor(int length) {
        long end = unitsUsed + units(length) - 1;
        return unitsUsed >>> CHUNK_UNITS_SHIFT == end >>> CHUNK_UNITS_SHIFT
                ? unitsUsed
                : end >>> CHUNK_UNITS_SHIFT << CHUNK_UNITS_SHIFT;
    }

    /** Whether there is no room for new bytes of this length; without the lock the result is a guess. */
    boolean isFullFor(int length) {
        return count >= places.length
                || units(length) > 1L << CHUNK_UNITS_SHIFT
                || placeFor(length) + units(length) > unitsMax;
    }

    int size() {
        return count;
    }

    /** The bytes of the entry inserted as the {@code index}th; null if not found. */
    byte[] get(int index) {
        if (index < 0 || index >= count) {
            return null;
        }
        int place = places[index];
        byte[] chunk = chunks[place >>> CHUNK_UNITS_SHIFT];
        int entry = place << 3 & CHUNK_BYTES - 1;
        int length = (int) INT.get(chunk, entry + 4);
        return java.util.Arrays.copyOfRange(chunk, entry + HEADER_BYTES, entry + HEADER_BYTES + length);
    }
}
