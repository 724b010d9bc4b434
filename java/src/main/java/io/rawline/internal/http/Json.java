package io.rawline.internal.http;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Parses the JSON of a broker's responses (RFC 8259): objects as maps, arrays as lists, strings, whole numbers as
 * {@code Long} and others as {@code Double}, true, false, null. Not a general parser. Quotes the strings of requests.
 */
public final class Json {
    /** Maximum depth of nesting. */
    private static final int DEPTH_MAX = 32;

    private final String text;
    private int at;

    private Json(String text) {
        this.text = text;
    }

    /** A string as JSON, in quotes. */
    public static String quote(String text) {
        StringBuilder quoted = new StringBuilder("\"");
        for (int i = 0; i < text.length(); i++) {
            char next = text.charAt(i);
            if (next < ' ') {
                quoted.append(String.format("\\u%04x", (int) next));
            } else {
                quoted.append(next == '"' || next == '\\' ? "\\" : "").append(next);
            }
        }
        return quoted.append('"').toString();
    }

    /** The value; null if the text isn't JSON. */
    static Object parseOrNull(String text) {
        try {
            return parse(text);
        } catch (IllegalArgumentException error) {
            return null;
        }
    }

    /** The value; IllegalArgumentException with a reason if the text isn't JSON. */
    public static Object parse(String text) {
        Json json = new Json(text);
        Object value = json.value(0);
        json.skipSpace();
        if (json.at != text.length()) {
            throw json.wrong("trailing characters");
        }
        return value;
    }

    private Object value(int depth) {
        if (depth > DEPTH_MAX) {
            throw wrong("nested too deeply");
        }
        skipSpace();
        char next = peek();
        switch (next) {
            case '{':
                return object(depth);
            case '[':
                return array(depth);
            case '"':
                return string();
            case 't':
                return word("true", true);
            case 'f':
                return word("false", false);
            case 'n':
                return word("null", null);
            default:
                return number();
        }
    }

    private Map<String, Object> object(int depth) {
        Map<String, Object> object = new LinkedHashMap<>();
        at++;
        if (nextIs('}')) {
            return object;
        }
        do {
            skipSpace();
            String name = string();
            if (!nextIs(':')) {
                throw wrong("missing colon");
            }
            object.put(name, value(depth + 1));
        } while (nextIs(','));
        if (!nextIs('}')) {
            throw wrong("unterminated object");
        }
        return object;
    }

    private List<Object> array(int depth) {
        List<Object> array = new ArrayList<>();
        at++;
        if (nextIs(']')) {
            return array;
        }
        do {
            array.add(value(depth + 1));
        } while (nextIs(','));
        if (!nextIs(']')) {
            throw wrong("unterminated array");
        }
        return array;
    }

    private String string() {
        if (peek() != '"') {
            throw wrong("missing string");
        }
        at++;
        StringBuilder string = new StringBuilder();
        for (char next = peek(); next != '"'; next = peek()) {
            at++;
            string.append(next == '\\' ? escaped() : next);
        }
        at++;
        return string.toString();
    }

    private char escaped() {
        char letter = peek();
        at++;
        switch (letter) {
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
                if (at + 4 > text.length()) {
                    throw wrong("unterminated escape");
                }
                at += 4;
                return (char) Integer.parseInt(text.substring(at - 4, at), 16);
            default:
                return letter;
        }
    }

    private Object number() {
        int start = at;
        while (at < text.length() && "+-.0123456789eE".indexOf(text.charAt(at)) >= 0) {
            at++;
        }
        String number = text.substring(start, at);
        try {
            return number.chars().allMatch(c -> c >= '0' && c <= '9')
                    ? (Object) Long.parseLong(number)
                    : (Object) Double.parseDouble(number);
        } catch (NumberFormatException error) {
            throw wrong("\"" + number + "\" isn't a number");
        }
    }

    private Object word(String word, Object value) {
        if (!text.startsWith(word, at)) {
            throw wrong("unknown literal");
        }
        at += word.length();
        return value;
    }

    private boolean nextIs(char wanted) {
        skipSpace();
        if (at < text.length() && text.charAt(at) == wanted) {
            at++;
            return true;
        }
        return false;
    }

    private char peek() {
        if (at >= text.length()) {
            throw wrong("truncated");
        }
        return text.charAt(at);
    }

    private void skipSpace() {
        while (at < text.length() && " \t\r\n".indexOf(text.charAt(at)) >= 0) {
            at++;
        }
    }

    private IllegalArgumentException wrong(String what) {
        return new IllegalArgumentException("not JSON at character " + at + ": " + what);
    }
}
