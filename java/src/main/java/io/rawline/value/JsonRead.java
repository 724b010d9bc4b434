package io.rawline.value;

import java.util.function.Consumer;

/** Reads a JSON text into a writer, all or nothing: after an error the writer is unchanged. */
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
