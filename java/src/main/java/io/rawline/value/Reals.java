package io.rawline.value;

import java.math.BigDecimal;
import java.math.MathContext;
import java.math.RoundingMode;

/**
 * Reals as JSON: the fewest digits that parse to the same real, always with a point or an exponent; identical in all
 * languages of the project.
 */
final class Reals {
    /** Any decimal of this many digits survives a round trip; some reals need one or two more. */
    private static final int DIGITS_SAFE = 15;

    private static final int DIGITS_MAX = 17;

    private Reals() {}

    /** Appends a real; infinities and NaN as the strings {@code "inf"}, {@code "-inf"} and {@code "nan"}. */
    static void write(double real, StringBuilder out) {
        if (Double.isNaN(real)) {
            out.append("\"nan\"");
            return;
        }
        if (Double.isInfinite(real)) {
            out.append(real > 0 ? "\"inf\"" : "\"-inf\"");
            return;
        }
        if (real < 0 || 1 / real < 0) {
            out.append('-');
        }
        if (real == 0) {
            out.append("0.0");
            return;
        }
        BigDecimal shortest = shortest(Math.abs(real)).stripTrailingZeros();
        writeDigits(shortest.unscaledValue().toString(), -shortest.scale(), out);
    }

    /** The real that {@link #write} writes as this text; null if not found. */
    static Double special(String text) {
        return switch (text) {
            case "nan" -> Double.NaN;
            case "inf" -> Double.POSITIVE_INFINITY;
            case "-inf" -> Double.NEGATIVE_INFINITY;
            default -> null;
        };
    }

    /** Of the shortest decimals that parse to this real, the nearest to it. */
    private static BigDecimal shortest(double real) {
        // Java 17's text is correct but may have more digits than needed.
        BigDecimal text = new BigDecimal(Double.toString(real)).stripTrailingZeros();
        if (text.precision() <= DIGITS_SAFE) {
            return text;
        }
        BigDecimal exact = new BigDecimal(real);
        for (int digits = DIGITS_SAFE; digits < DIGITS_MAX; digits++) {
            BigDecimal best = null;
            for (RoundingMode mode : new RoundingMode[] {RoundingMode.HALF_EVEN, RoundingMode.UP, RoundingMode.DOWN}) {
                BigDecimal rounded = exact.round(new MathContext(digits, mode));
                if (best == null && rounded.doubleValue() == real) {
                    best = rounded;
                }
            }
            if (best != null) {
                return best;
            }
        }
        return exact.round(new MathContext(DIGITS_MAX, RoundingMode.HALF_EVEN));
    }

    /** Digits times a power of ten: without an exponent from 0.00001 up to 16 digits before the point. */
    private static void writeDigits(String digits, int power, StringBuilder out) {
        int point = digits.length() + power;
        if (point > 16 || point <= -5) {
            out.append(digits, 0, 1);
            if (digits.length() > 1) {
                out.append('.').append(digits, 1, digits.length());
            }
            out.append(point > 0 ? "e+" : "e").append(point - 1);
        } else if (point <= 0) {
            out.append("0.").append("0".repeat(-point)).append(digits);
        } else if (power >= 0) {
            out.append(digits).append("0".repeat(power)).append(".0");
        } else {
            out.append(digits, 0, point).append('.').append(digits, point, digits.length());
        }
    }
}
