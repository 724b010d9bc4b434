package io.rawline.batch;

/**
 * Decompresses an LZ4 block that may refer to what is before it, which the library's decompressor can't. Each sequence
 * is a token of two lengths, literals, and a copy of earlier bytes; the last one ends with its literals.
 */
final class Lz4Block {
    /** A length of a token that more bytes follow. */
    private static final int LONG = 15;

    private static final int MATCH_BYTES_MIN = 4;
    /** What {@link #decompress} returns if there isn't enough room. */
    static final int NO_ROOM = -1;

    private final byte[] in;
    private final int end;
    private int at;

    private Lz4Block(byte[] in, int from, int end) {
        this.in = in;
        this.at = from;
        this.end = end;
    }

    /**
     * Decompresses the block from {@code from} to before {@code end}. Returns where it ends in {@code out}, or
     * {@link #NO_ROOM}.
     *
     * @param out gets the content from {@code start} to before {@code limit}
     * @param windowStart where that begins which the block can refer to
     */
    static int decompress(byte[] in, int from, int end, byte[] out, int start, int limit, int windowStart) {
        return new Lz4Block(in, from, end).decompress(out, start, limit, windowStart);
    }

    private int decompress(byte[] out, int start, int limit, int windowStart) {
        int to = start;
        while (true) {
            int token = next();
            int literals = length(token >> 4);
            if (literals > end - at) {
                throw BatchException.decompress("an LZ4 block ends within its literals", null);
            }
            if (literals > limit - to) {
                return NO_ROOM;
            }
            System.arraycopy(in, at, out, to, literals);
            at += literals;
            to += literals;
            if (at == end) {
                return to;
            }
            int distance = next() | next() << 8;
            if (distance == 0 || distance > to - windowStart) {
                throw BatchException.decompress("an LZ4 block refers to what is not there", null);
            }
            int match = length(token & LONG) + MATCH_BYTES_MIN;
            if (match > limit - to) {
                return NO_ROOM;
            }
            copy(out, to, distance, match);
            to += match;
        }
    }

    /** Appends {@code count} bytes that begin {@code distance} bytes before: they may repeat themselves. */
    private static void copy(byte[] out, int to, int distance, int count) {
        int from = to - distance;
        int copied = 0;
        while (copied < count) {
            // Copied bytes lie before the target too, so each step can take twice as much.
            int piece = Math.min(count - copied, distance + copied);
            System.arraycopy(out, from, out, to + copied, piece);
            copied += piece;
        }
    }

    private int length(int nibble) {
        if (nibble < LONG) {
            return nibble;
        }
        int length = LONG;
        int more = 0xff;
        while (more == 0xff) {
            more = next();
            length += more;
            if (length < 0) {
                throw BatchException.decompress("a length in an LZ4 block has no end", null);
            }
        }
        return length;
    }

    private int next() {
        if (at == end) {
            throw BatchException.decompress("an LZ4 block is truncated", null);
        }
        return in[at++] & 0xff;
    }
}
