package io.rawline.value;

/** A JSON parser; every error says where it is. */
final class JsonText {
    /** Maximum depth of nesting: reading recurses. */
    static final int DEPTH_MAX = 128;

    private final String text;
    private int at;

    JsonText(String text) {
        this.text = text;
    }

    int position() {
        return at;
    }

    void goTo(int position) {
        at = position;
    }

    ValueException error(String message) {
        int line = 1;
        int lineBegin = 0;
        for (int index = 0; index < at; index++) {
            if (text.charAt(index) == '\n') {
                line++;
                lineBegin = index + 1;
            }
        }
        return ValueException.json(at, message + " at line " + line + " column " + (at - lineBegin + 1));
    }

    void checkDepth(int depth) {
        if (depth > DEPTH_MAX) {
            throw error("values are nested deeper than " + DEPTH_MAX + "; nest them less");
        }
    }

    /** The next character that isn't white space, without consuming it; 0 at the end. */
    char peek() {
        while (at < text.length()) {
            char next = text.charAt(at);
            if (next != ' ' && next != '\n' && next != '\r' && next != '\t') {
                return next;
            }
            at++;
        }
        return 0;
    }

    /** Consumes this character if it is next. */
    boolean take(char expected) {
        if (peek() != expected || at == text.length()) {
            return false;
        }
        at++;
        return true;
    }

    void expect(char expected, String what) {
        if (!take(expected)) {
            throw error("expected " + what);
        }
    }

    /** Consumes a separator of elements; returns whether another element follows. */
    boolean next(boolean isFirst, char close) {
        if (take(close)) {
            return false;
        }
        if (!isFirst) {
            expect(',', "a comma or '" + close + "'");
        }
        return true;
    }

    /** Consumes an object's key and the colon after it. */
    String key() {
        if (peek() != '"') {
            throw error("expected a field's name in quotes");
        }
        String key = string();
        expect(':', "a colon");
        return key;
    }

    /** Checks that only white space is left. */
    void finish() {
        peek();
        if (at < text.length()) {
            throw error("expected the end of the text; pass exactly one value");
        }
    }

    /** Consumes one of the literals true, false and null; returns null if none is next. */
    String word() {
        char first = peek();
        String word = first == 't' ? "true" : first == 'f' ? "false" : first == 'n' ? "null" : "";
        if (word.isEmpty() || !text.startsWith(word, at)) {
            return null;
        }
        at += word.length();
        return word;
    }

    boolean isNumber() {
        char next = peek();
        return next == '-' || isDigit(next);
    }

    /** Consumes a number and returns its text. */
    String number() {
        int begin = at;
        if (text.charAt(at) == '-') {
            at++;
        }
        int whole = at;
        digits();
        if (text.charAt(whole) == '0' && at > whole + 1) {
            at = whole + 1;
            throw error("a number starts with a zero; remove it");
        }
        if (at < text.length() && text.charAt(at) == '.') {
            at++;
            digits();
        }
        if (at < text.length() && (text.charAt(at) | 0x20) == 'e') {
            at++;
            if (at < text.length() && (text.charAt(at) == '+' || text.charAt(at) == '-')) {
                at++;
            }
            digits();
        }
        return text.substring(begin, at);
    }

    private void digits() {
        int begin = at;
        while (at < text.length() && isDigit(text.charAt(at))) {
            at++;
        }
        if (at == begin) {
            throw error("expected a digit");
        }
    }

    private static boolean isDigit(char character) {
        return character >= '0' && character <= '9';
    }

    /** The number as a real. */
    double real(String number) {
        double real = Double.parseDouble(number);
        if (Double.isInfinite(real)) {
            throw error("the number " + number + " is out of a real's range; use a smaller one");
        }
        return real;
    }

    /** Whether a number is whole and fits into 64 bits, signed or unsigned; negative zero is a real. */
    static boolean isWhole(String number) {
        if (number.indexOf('.') >= 0 || number.indexOf('e') >= 0 || number.indexOf('E') >= 0 || number.equals("-0")) {
            return false;
        }
        try {
            if (number.startsWith("-")) {
                Long.parseLong(number);
            } else {
                Long.parseUnsignedLong(number);
            }
            return true;
        } catch (NumberFormatException error) {
            return false;
        }
    }

    /** Consumes a string. */
    String string() {
        expect('"', "a string");
        int begin = at;
        while (at < text.length()) {
            char next = text.charAt(at);
            if (next == '"') {
                return text.substring(begin, at++);
            }
            if (next == '\\' || next < ' ' || Character.isSurrogate(next)) {
                break;
            }
            at++;
        }
        StringBuilder out = new StringBuilder(text.substring(begin, at));
        while (at < text.length()) {
            char next = text.charAt(at++);
            if (next == '"') {
                return out.toString();
            }
            if (next < ' ') {
                at--;
                throw error("a control character in a string; write it as \\u00" + (next < 16 ? "0" : "")
                        + Integer.toHexString(next));
            }
            next = next == '\\' ? escape() : next;
            out.append(next);
            if (Character.isSurrogate(next)) {
                char low = at < text.length() ? text.charAt(at++) : 0;
                low = low == '\\' && at < text.length() && text.charAt(at) == 'u' ? escape() : low;
                if (!Character.isSurrogatePair(next, low)) {
                    throw error("half a surrogate pair in a string; write both halves");
                }
                out.append(low);
            }
        }
        throw error("unterminated string; close it");
    }

    /** The character of an escape, after its backslash. */
    private char escape() {
        char letter = at < text.length() ? text.charAt(at++) : 0;
        switch (letter) {
            case '"', '\\', '/':
                return letter;
            case 'b':
                return '\b';
            case 'f':
                return '\f';
            case 'n':
                return '\n';
            case 'r':
                return '\r';
            case 't':
                return '\t';
            case 'u':
                int code = 0;
                for (int end = at + 4; at < end; at++) {
                    char character = at < text.length() ? text.charAt(at) : 0;
                    int digit = character < 0x80 ? Character.digit(character, 16) : -1;
                    if (digit < 0) {
                        throw error("expected four hexadecimal digits");
                    }
                    code = code << 4 | digit;
                }
                return (char) code;
            default:
                at--;
                throw error("unknown escape; use one of \\\" \\\\ \\/ \\b \\f \\n \\r \\t \\u");
        }
    }

    /** Consumes any value, without recursion. */
    void skip() {
        StringBuilder open = new StringBuilder();
        do {
            char next = peek();
            if (next == '{' || next == '[') {
                at++;
                char close = next == '{' ? '}' : ']';
                if (!take(close)) {
                    open.append(close);
                    if (close == '}') {
                        key();
                    }
                    continue;
                }
            } else if (next == '"') {
                string();
            } else if (isNumber()) {
                real(number());
            } else if (word() == null) {
                throw error("expected a value");
            }
            // After a value comes the end of every container that it completes, then a comma.
            while (!open.isEmpty()) {
                char close = open.charAt(open.length() - 1);
                if (!take(close)) {
                    expect(',', "a comma or '" + close + "'");
                    if (close == '}') {
                        key();
                    }
                    break;
                }
                open.setLength(open.length() - 1);
            }
        } while (!open.isEmpty());
    }

    /** Appends a string in quotes. */
    static void writeString(String string, StringBuilder out) {
        out.append('"');
        for (int index = 0; index < string.length(); index++) {
            char character = string.charAt(index);
            switch (character) {
                case '"' -> out.append("\\\"");
                case '\\' -> out.append("\\\\");
                case '\b' -> out.append("\\b");
                case '\f' -> out.append("\\f");
                case '\n' -> out.append("\\n");
                case '\r' -> out.append("\\r");
                case '\t' -> out.append("\\t");
                default -> {
                    if (character < ' ') {
                        out.append("\\u00").append(character < 16 ? "0" : "").append(Integer.toHexString(character));
                    } else {
                        out.append(character);
                    }
                }
            }
        }
        out.append('"');
    }
}
