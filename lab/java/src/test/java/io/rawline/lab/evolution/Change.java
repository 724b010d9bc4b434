// A change of a schema, with the messages written before and after it.
package io.rawline.lab.evolution;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * A change.
 *
 * @param name what changes
 * @param oldMessage the fields that are written before it, by name
 * @param newMessage the fields that are written after it
 * @param oldName a renamed field's name before the change, else null
 * @param newName and after it
 * @param onlyNewBytes the change shows only in new bytes
 */
record Change(
        String name,
        Map<String, Object> oldMessage,
        Map<String, Object> newMessage,
        String oldName,
        String newName,
        boolean onlyNewBytes) {
    static final List<Change> ALL = List.of(
            of("field added, with a default", message(), message("grade", 9)),
            of("field added, without a default", message(), message("grade", 9)),
            of("field removed", message("count", 1234), message()),
            new Change("field renamed", message("count", 1234), message("quantity", 1234), "count", "quantity", false),
            of("i32 widened to i64", message("count", -1234), message("count", -1234L)),
            of("i64 changed to f64", message("count", 1234L), message("count", 12.5)),
            of("fields reordered", message("width", 30, "height", 40), message("width", 30, "height", 40)),
            of("optional made required", message(), message("note", 3)),
            of("enum symbol added", message("kind", "DESK"), message("kind", "CHAIR")),
            new Change("i32 widened to i64, value beyond i32", message(), message("count", 5_000_000_000L), null, null,
                    true));

    private static Change of(String name, Map<String, Object> oldMessage, Map<String, Object> newMessage) {
        return new Change(name, oldMessage, newMessage, null, null, false);
    }

    private static Map<String, Object> message(Object... fields) {
        Map<String, Object> message = new LinkedHashMap<>();
        message.put("id", 7L);
        for (int i = 0; i < fields.length; i += 2) {
            message.put((String) fields[i], fields[i + 1]);
        }
        message.put("name", "lamp");
        return message;
    }
}
