package io.rawline.processor;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;

/** Names in values, from the names that Java has. */
final class Names {
    private Names() {}

    /** A name in the case with this constant's name of {@code NameCase}; unchanged if it is empty. */
    static String in(String nameCase, String name) {
        return switch (nameCase) {
            case "SNAKE_CASE" -> String.join("_", words(name));
            case "SCREAMING_SNAKE_CASE" -> String.join("_", words(name)).toUpperCase(Locale.ROOT);
            case "KEBAB_CASE" -> String.join("-", words(name));
            case "SCREAMING_KEBAB_CASE" -> String.join("-", words(name)).toUpperCase(Locale.ROOT);
            case "CAMEL_CASE" -> {
                String pascal = pascal(name);
                yield pascal.isEmpty() ? "" : pascal.substring(0, 1).toLowerCase(Locale.ROOT) + pascal.substring(1);
            }
            case "PASCAL_CASE" -> pascal(name);
            default -> name;
        };
    }

    private static String pascal(String name) {
        return words(name).stream()
                .map(word -> word.substring(0, 1).toUpperCase(Locale.ROOT) + word.substring(1))
                .collect(Collectors.joining());
    }

    /** The words of a name such as {@code firstName}, {@code HTTPServer} or {@code FIRST_NAME}, in lower case. */
    private static List<String> words(String name) {
        List<String> words = new ArrayList<>();
        int begin = 0;
        for (int at = 0; at <= name.length(); at++) {
            if (at == name.length() || name.charAt(at) == '_' || at > begin && isStart(name, at)) {
                if (at > begin) {
                    words.add(name.substring(begin, at).toLowerCase(Locale.ROOT));
                }
                begin = at < name.length() && name.charAt(at) == '_' ? at + 1 : at;
            }
        }
        return words;
    }

    /** Whether a word starts here: a capital after another letter, or the last capital before a small letter. */
    private static boolean isStart(String name, int at) {
        return Character.isUpperCase(name.charAt(at))
                && (!Character.isUpperCase(name.charAt(at - 1))
                        || at + 1 < name.length() && Character.isLowerCase(name.charAt(at + 1)));
    }
}
