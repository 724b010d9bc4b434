/* Where two messages differ. */
package io.rawline.lab.message;

import java.lang.reflect.Array;
import java.lang.reflect.Field;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/**
 * Compares field by field: floating-point numbers by their bits, maps in any order, an absent field equal to an absent
 * one only.
 */
public final class Difference {
    private Difference() {}

    /** The first difference in words, or "" if they are equal. */
    public static String of(Object expected, Object actual) {
        return of("", expected, actual);
    }

    private static String of(String at, Object expected, Object actual) {
        if (expected == null || actual == null) {
            return expected == actual ? "" : different(at, expected, actual);
        } else if (expected instanceof Double a && actual instanceof Double b) {
            return Double.doubleToRawLongBits(a) == Double.doubleToRawLongBits(b) ? ""
                    : different(at, expected, actual);
        } else if (expected instanceof List<?> a && actual instanceof List<?> b) {
            return ofElements(at, a.toArray(), b.toArray());
        } else if (expected instanceof Map<?, ?> && actual instanceof Map<?, ?>) {
            return expected.equals(actual) ? "" : different(at, expected, actual);
        } else if (expected.getClass() != actual.getClass()) {
            return different(at, expected, actual);
        } else if (expected.getClass().isArray()) {
            return ofElements(at, expected, actual);
        } else if (expected.getClass().getPackage() == Difference.class.getPackage()) {
            return ofFields(at, expected, actual);
        }
        return Objects.equals(expected, actual) ? "" : different(at, expected, actual);
    }

    private static String ofElements(String at, Object expected, Object actual) {
        int length = Array.getLength(expected);
        if (length != Array.getLength(actual)) {
            return at + ": " + length + " elements expected, found " + Array.getLength(actual);
        }
        for (int i = 0; i < length; i++) {
            String difference = of(at + "[" + i + "]", Array.get(expected, i), Array.get(actual, i));
            if (!difference.isEmpty()) {
                return difference;
            }
        }
        return "";
    }

    private static String ofFields(String at, Object expected, Object actual) {
        for (Field field : expected.getClass().getFields()) {
            try {
                String difference = of(at + "." + field.getName(), field.get(expected), field.get(actual));
                if (!difference.isEmpty()) {
                    return difference;
                }
            } catch (IllegalAccessException e) {
                throw new IllegalStateException(field + " can't be read", e);
            }
        }
        return "";
    }

    private static String different(String at, Object expected, Object actual) {
        return at + ": expected " + expected + ", got " + actual;
    }
}
