package io.rawline.batch;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;

/** xxHash of 32 bits with seed 0, the checksum of LZ4's frames. */
final class XxHash32 {
    private static final VarHandle INT = MethodHandles.byteArrayViewVarHandle(int[].class, ByteOrder.LITTLE_ENDIAN);
    private static final int PRIME_1 = 0x9e3779b1;
    private static final int PRIME_2 = 0x85ebca77;
    private static final int PRIME_3 = 0xc2b2ae3d;
    private static final int PRIME_4 = 0x27d4eb2f;
    private static final int PRIME_5 = 0x165667b1;

    private XxHash32() {}

    /** The hash of the bytes from {@code from} to before {@code to}. */
    static int of(byte[] bytes, int from, int to) {
        int at = from;
        int hash = PRIME_5;
        if (to - from >= 16) {
            int first = PRIME_1 + PRIME_2;
            int second = PRIME_2;
            int third = 0;
            int fourth = -PRIME_1;
            for (; to - at >= 16; at += 16) {
                first = round(first, (int) INT.get(bytes, at));
                second = round(second, (int) INT.get(bytes, at + 4));
                third = round(third, (int) INT.get(bytes, at + 8));
                fourth = round(fourth, (int) INT.get(bytes, at + 12));
            }
            hash = Integer.rotateLeft(first, 1)
                    + Integer.rotateLeft(second, 7)
                    + Integer.rotateLeft(third, 12)
                    + Integer.rotateLeft(fourth, 18);
        }
        hash += to - from;
        for (; to - at >= 4; at += 4) {
            hash = Integer.rotateLeft(hash + (int) INT.get(bytes, at) * PRIME_3, 17) * PRIME_4;
        }
        for (; at < to; at++) {
            hash = Integer.rotateLeft(hash + (bytes[at] & 0xff) * PRIME_5, 11) * PRIME_1;
        }
        hash = (hash ^ hash >>> 15) * PRIME_2;
        hash = (hash ^ hash >>> 13) * PRIME_3;
        return hash ^ hash >>> 16;
    }

    private static int round(int lane, int word) {
        return Integer.rotateLeft(lane + word * PRIME_2, 13) * PRIME_1;
    }
}
