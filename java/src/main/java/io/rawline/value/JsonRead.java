package io.rawline.value;

import java.util.function.Consumer;

/** Reads one JSON text into a writer: wholly, as one value within the limits, or not at all. */
final class JsonRead {
    private JsonRead() {}

    static void into(String json, ValueWriter out, Consumer<JsonText> read) {
        long[] mark = out.mark();
        int begin = out.length();
        try {
            JsonText text = new JsonText(json);
            read.accept(text);
            text.finish();
            new ValueDecoder().decode(out.memory(), begin, out.length() - begin);
        } catch (ValueException error) {
            out.back(mark);
            throw error;
        }
    }
}
