package io.rawline.processor;

/** Lines of Java, indented by the braces that they open and close. */
final class Source {
    private final StringBuilder text = new StringBuilder();
    private int depth;

    Source add(String... lines) {
        for (String line : lines) {
            if (line.startsWith("}")) {
                depth--;
            }
            text.append(line.isEmpty() ? "" : "    ".repeat(depth)).append(line).append('\n');
            if (line.endsWith("{")) {
                depth++;
            }
        }
        return this;
    }

    @Override
    public String toString() {
        return text.toString();
    }

    /** A string literal. */
    static String quote(String value) {
        StringBuilder out = new StringBuilder("\"");
        for (char character : value.toCharArray()) {
            if (character == '"' || character == '\\') {
                out.append('\\').append(character);
            } else if (character < ' ' || character > '~') {
                out.append(String.format("\\u%04x", (int) character));
            } else {
                out.append(character);
            }
        }
        return out.append('"').toString();
    }
}
