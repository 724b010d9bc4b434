package io.rawline.value;

import java.time.DateTimeException;
import java.time.LocalDate;

/** Formats and parses scalars: numbers, addresses, times, durations. */
final class Texts {
    private static final long SECOND = 1_000_000_000L;

    private Texts() {}

    /** The decimal number between two positions, up to {@code max}; -1 if not found. */
    static int wholeNumber(String text, int begin, int end, int max) {
        if (begin >= end || end - begin > 9 && text.charAt(begin) != '0') {
            return -1;
        }
        long number = 0;
        for (int at = begin; at < end; at++) {
            int digit = text.charAt(at) - '0';
            if (digit < 0 || digit > 9) {
                return -1;
            }
            number = number * 10 + digit;
            if (number > max) {
                return -1;
            }
        }
        return (int) number;
    }

    /** Parses an address; null if it isn't one. */
    static Address address(String text) {
        if (text.indexOf(':') < 0) {
            long bits = ipv4(text, 0);
            return bits < 0 ? null : Address.ofIpv4((int) bits);
        }
        int[] groups = new int[8];
        int count = 0;
        int gap = -1;
        int at = 0;
        if (text.startsWith("::")) {
            gap = 0;
            at = 2;
        }
        while (at < text.length()) {
            if (count <= 6 && text.indexOf('.', at) >= 0 && text.indexOf(':', at) < 0) {
                long bits = ipv4(text, at);
                if (bits < 0) {
                    return null;
                }
                groups[count++] = (int) (bits >>> 16);
                groups[count++] = (int) bits & 0xffff;
                at = text.length();
                break;
            }
            int begin = at;
            int group = 0;
            while (at < text.length() && at < begin + 4 && digit(text.charAt(at)) >= 0) {
                group = group << 4 | digit(text.charAt(at++));
            }
            if (at == begin || count == 8) {
                return null;
            }
            groups[count++] = group;
            if (at == text.length()) {
                break;
            }
            if (text.charAt(at++) != ':') {
                return null;
            }
            if (at < text.length() && text.charAt(at) == ':') {
                if (gap >= 0) {
                    return null;
                }
                gap = count;
                at++;
            } else if (at == text.length()) {
                return null;
            }
        }
        if (gap < 0 ? count != 8 : count > 7) {
            return null;
        }
        if (gap >= 0) {
            int moved = count - gap;
            System.arraycopy(groups, gap, groups, 8 - moved, moved);
            java.util.Arrays.fill(groups, gap, 8 - moved, 0);
        }
        return Address.of(word(groups, 0), word(groups, 4));
    }

    private static long word(int[] groups, int first) {
        return (long) groups[first] << 48
                | (long) groups[first + 1] << 32
                | (long) groups[first + 2] << 16
                | groups[first + 3];
    }

    private static int digit(char character) {
        return character < 0x80 ? Character.digit(character, 16) : -1;
    }

    /** The dotted quad from a position to the text's end; -1 if it isn't one. */
    private static long ipv4(String text, int at) {
        long bits = 0;
        for (int part = 0; part < 4; part++) {
            int end = part == 3 ? text.length() : text.indexOf('.', at);
            // No leading zeros: some programs read them as octal.
            if (end < 0 || end - at > 1 && text.charAt(at) == '0') {
                return -1;
            }
            int number = wholeNumber(text, at, end, 255);
            if (number < 0) {
                return -1;
            }
            bits = bits << 8 | number;
            at = end + 1;
        }
        return bits;
    }

    /** Appends an address as a dotted quad, or as in RFC 5952. */
    static void writeAddress(long high, long low, StringBuilder out) {
        if (high == 0 && low >>> 32 == 0xffff) {
            out.append(low >>> 24 & 0xff).append('.').append(low >>> 16 & 0xff).append('.');
            out.append(low >>> 8 & 0xff).append('.').append(low & 0xff);
            return;
        }
        // The longest run of two or more zeros is omitted, the first one of equal runs.
        int gap = -1;
        int gapLength = 1;
        for (int begin = 0; begin < 8; begin++) {
            int length = 0;
            while (begin + length < 8 && group(high, low, begin + length) == 0) {
                length++;
            }
            if (length > gapLength) {
                gap = begin;
                gapLength = length;
            }
        }
        for (int index = 0; index < 8; index++) {
            if (index == gap) {
                out.append("::");
                index += gapLength - 1;
                continue;
            }
            if (index > 0 && index != gap + gapLength || index > 0 && gap < 0) {
                out.append(':');
            }
            out.append(Integer.toHexString(group(high, low, index)));
        }
    }

    private static int group(long high, long low, int index) {
        return (int) ((index < 4 ? high : low) >>> 48 - 16 * (index & 3)) & 0xffff;
    }

    /** Appends a time in UTC without a zone, with {@code digits} digits of a second. */
    static void writeTime(long nanoseconds, int digits, StringBuilder out) {
        long seconds = Math.floorDiv(nanoseconds, SECOND);
        LocalDate date = LocalDate.ofEpochDay(Math.floorDiv(seconds, 86_400));
        int second = (int) Math.floorMod(seconds, 86_400L);
        pad(date.getYear(), 4, out);
        pad(date.getMonthValue(), 2, out.append('-'));
        pad(date.getDayOfMonth(), 2, out.append('-'));
        pad(second / 3600, 2, out.append('T'));
        pad(second / 60 % 60, 2, out.append(':'));
        pad(second % 60, 2, out.append(':'));
        long fraction = Math.floorMod(nanoseconds, SECOND);
        for (int dropped = digits; dropped < 9; dropped++) {
            fraction /= 10;
        }
        pad((int) fraction, digits, out.append('.'));
    }

    /** Three, six or nine: the fewest digits of a second that lose nothing. */
    static int timeDigits(long nanoseconds) {
        return nanoseconds % 1_000_000 == 0 ? 3 : nanoseconds % 1_000 == 0 ? 6 : 9;
    }

    private static void pad(int number, int digits, StringBuilder out) {
        String text = Integer.toString(number);
        for (int missing = digits - text.length(); missing > 0; missing--) {
            out.append('0');
        }
        out.append(text);
    }

    private static final String TIME_EXPECTED =
            "a timestamp from 1677-09-21 to 2262-04-11; write it as 2022-04-10T07:00:00.123456789Z";

    /**
     * Parses a date, {@code T}, a time of day, up to nine digits, then {@code Z}, an offset or nothing (UTC).
     */
    static long readTime(String text) {
        int second = text.length() < 19 ? -1 : number(text, 17, 2);
        boolean isShaped = second >= 0
                && text.charAt(4) == '-'
                && text.charAt(7) == '-'
                && text.charAt(10) == 'T'
                && text.charAt(13) == ':'
                && text.charAt(16) == ':';
        int year = isShaped ? number(text, 0, 4) : -1;
        int hour = isShaped ? number(text, 11, 2) : -1;
        int minute = isShaped ? number(text, 14, 2) : -1;
        if (year < 0 || hour < 0 || hour > 23 || minute < 0 || minute > 59 || second > 59) {
            throw ValueException.text(text, TIME_EXPECTED);
        }
        int at = 19;
        long fraction = 0;
        if (at < text.length() && text.charAt(at) == '.') {
            int begin = ++at;
            while (at < text.length() && at < begin + 9 && isDigit(text.charAt(at))) {
                fraction = fraction * 10 + text.charAt(at++) - '0';
            }
            if (at == begin) {
                throw ValueException.text(text, TIME_EXPECTED);
            }
            for (int missing = 9 - (at - begin); missing > 0; missing--) {
                fraction *= 10;
            }
        }
        try {
            long day =
                    LocalDate.of(year, number(text, 5, 2), number(text, 8, 2)).toEpochDay();
            long seconds = day * 86_400 + hour * 3600L + minute * 60L + second - offset(text, at);
            if (seconds < 0 && fraction > 0) {
                // The product alone may overflow where the sum doesn't.
                return Math.addExact(Math.multiplyExact(seconds + 1, SECOND), fraction - SECOND);
            }
            return Math.addExact(Math.multiplyExact(seconds, SECOND), fraction);
        } catch (DateTimeException | ArithmeticException error) {
            throw ValueException.text(text, TIME_EXPECTED);
        }
    }

    /** The offset from UTC in seconds: nothing, {@code Z}, {@code +02}, {@code +0200}, {@code +02:00}; up to 23:59. */
    private static int offset(String text, int at) {
        int left = text.length() - at;
        if (left == 0 || left == 1 && text.charAt(at) == 'Z') {
            return 0;
        }
        int sign = text.charAt(at) == '-' ? -1 : text.charAt(at) == '+' ? 1 : 0;
        int hours = left >= 3 ? number(text, at + 1, 2) : -1;
        boolean hasColon = left == 6 && text.charAt(at + 3) == ':';
        int minutes = left == 3 ? 0 : hasColon ? number(text, at + 4, 2) : left == 5 ? number(text, at + 3, 2) : -1;
        if (sign == 0 || hours < 0 || hours > 23 || minutes < 0 || minutes > 59) {
            throw ValueException.text(text, TIME_EXPECTED);
        }
        return sign * (hours * 3600 + minutes * 60);
    }

    private static int number(String text, int at, int digits) {
        return at + digits <= text.length() ? wholeNumber(text, at, at + digits, 9999) : -1;
    }

    private static boolean isDigit(char character) {
        return character >= '0' && character <= '9';
    }

    /** Appends a duration as a whole number of the largest of s, ms, us and ns that loses nothing: {@code 1500ms}. */
    static void writeSpan(long nanoseconds, StringBuilder out) {
        if (nanoseconds % SECOND == 0) {
            out.append(nanoseconds / SECOND).append("s");
        } else if (nanoseconds % 1_000_000 == 0) {
            out.append(nanoseconds / 1_000_000).append("ms");
        } else if (nanoseconds % 1_000 == 0) {
            out.append(nanoseconds / 1_000).append("us");
        } else {
            out.append(nanoseconds).append("ns");
        }
    }

    /** Appends a duration in seconds, with the fewest digits that lose nothing: {@code -0.000000001s}. */
    static void writeSeconds(long nanoseconds, StringBuilder out) {
        if (nanoseconds < 0) {
            out.append('-');
        }
        out.append(Math.abs(nanoseconds / SECOND));
        int fraction = (int) Math.abs(nanoseconds % SECOND);
        if (fraction != 0) {
            pad(fraction, 9, out.append('.'));
            while (out.charAt(out.length() - 1) == '0') {
                out.setLength(out.length() - 1);
            }
        }
        out.append('s');
    }

    private static final String SPAN_EXPECTED =
            "a timespan that 64 bits of nanoseconds hold exactly; write a number and ns, us, ms, s, min or h";

    /** Parses a number with a unit; a fraction is accepted if it is a whole number of nanoseconds. */
    static long readSpan(String text) {
        int unitAt = 0;
        while (unitAt < text.length() && !Character.isLetter(text.charAt(unitAt))) {
            unitAt++;
        }
        long unit =
                switch (text.substring(unitAt)) {
                    case "ns" -> 1;
                    case "us" -> 1_000;
                    case "ms" -> 1_000_000;
                    case "s" -> SECOND;
                    case "min" -> 60 * SECOND;
                    case "h" -> 3600 * SECOND;
                    default -> throw ValueException.text(text, SPAN_EXPECTED);
                };
        int begin = text.startsWith("-") ? 1 : 0;
        int point = text.indexOf('.');
        int wholeEnd = point < 0 ? unitAt : point;
        // Longer numbers would be out of range, or finer than a nanosecond even in hours.
        if (!isDigits(text, begin, wholeEnd) || point >= 0 && !isDigits(text, point + 1, unitAt)) {
            throw ValueException.text(text, SPAN_EXPECTED);
        }
        try {
            return new java.math.BigDecimal(text.substring(0, unitAt))
                    .multiply(java.math.BigDecimal.valueOf(unit))
                    .longValueExact();
        } catch (ArithmeticException error) {
            throw ValueException.text(text, SPAN_EXPECTED);
        }
    }

    private static boolean isDigits(String text, int begin, int end) {
        for (int at = begin; at < end; at++) {
            if (!isDigit(text.charAt(at))) {
                return false;
            }
        }
        return begin < end && end - begin <= 19;
    }
}
