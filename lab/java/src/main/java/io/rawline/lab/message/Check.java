/* Numbers that depend on what was read, cheap compared with reading. */
package io.rawline.lab.message;

import java.nio.ByteBuffer;
import java.util.List;
import java.util.Map;

/** Checks of values, to be added up; absent fields count 0. An ASCII string has the same check as its bytes. */
public final class Check {
    private Check() {}

    public static long of(boolean value) {
        return value ? 1 : 0;
    }

    public static long of(double value) {
        return Double.doubleToRawLongBits(value);
    }

    public static long of(Double value) {
        return value == null ? 0 : of(value.doubleValue());
    }

    /** Length and last character: creating the string has read the others. */
    public static long of(CharSequence text) {
        if (text == null || text.isEmpty()) {
            return 0;
        }
        int length = text.length();
        return 31L * length + text.charAt(length - 1);
    }

    /** A string as bytes, from the buffer's position to its limit. */
    public static long of(ByteBuffer text) {
        return text == null || !text.hasRemaining() ? 0 : ofBytes(text.remaining(), text.get(text.limit() - 1));
    }

    /** A string as bytes, by length and last byte. */
    public static long ofBytes(int length, byte last) {
        return 31L * length + (last & 0xff);
    }

    /** A list of strings or boxed numbers. */
    public static long of(List<?> list) {
        long check = 0;
        for (Object element : list) {
            check += ofAny(element);
        }
        return check;
    }

    public static long of(Map<? extends CharSequence, ? extends CharSequence> map) {
        long check = 0;
        for (Map.Entry<? extends CharSequence, ? extends CharSequence> entry : map.entrySet()) {
            check += of(entry.getKey()) + of(entry.getValue());
        }
        return check;
    }

    public static long of(int[] list) {
        long check = 0;
        for (int element : list) {
            check += element;
        }
        return check;
    }

    public static long of(double[] list) {
        long check = 0;
        for (double element : list) {
            check += of(element);
        }
        return check;
    }

    private static long ofAny(Object element) {
        if (element instanceof CharSequence text) {
            return of(text);
        }
        return element instanceof Double real ? of(real.doubleValue()) : ((Number) element).longValue();
    }
}
