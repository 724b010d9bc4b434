package io.rawline.subscription;

import java.util.Map;
import java.util.OptionalLong;
import java.util.TreeMap;

/**
 * The position of a subscription: the offset of the next record of partitions, and a time for all others. As text:
 * {@code T0;TOPIC~ID/PARTITION=NEXT,PARTITION=NEXT;TOPIC~ID/PARTITION=NEXT…}. The ids, which may be left out, tell
 * apart topics that have the same name one after the other. Not thread-safe.
 */
final class Cursor {
    /** Maximum length of the text: it fits the head of a request. */
    static final int BYTES_MAX = 32 << 10;

    /** Microseconds since the Unix epoch. */
    private String since = "0";

    private final Map<String, InTopic> topics = new TreeMap<>();

    private static final class InTopic {
        /** Null if it is unknown. */
        private String id;

        private final Map<Integer, Long> positions = new TreeMap<>();
    }

    /** Without positions, since 1970. */
    Cursor() {}

    /**
     * Reads the text.
     *
     * @throws IllegalArgumentException it isn't a cursor
     */
    static Cursor parse(String text) {
        if (text.length() > BYTES_MAX) {
            throw new IllegalArgumentException(
                    "a cursor of " + text.length() + " characters; the maximum is " + BYTES_MAX);
        }
        String[] parts = text.split(";", -1);
        Cursor cursor = new Cursor();
        cursor.since = Long.toUnsignedString(number(parts[0], text));
        for (int i = 1; i < parts.length; i++) {
            int slash = parts[i].indexOf('/');
            if (slash <= 0) {
                throw wrong(parts[i]);
            }
            String topic = parts[i].substring(0, slash);
            int tilde = topic.indexOf('~');
            if (tilde >= 0) {
                String id = topic.substring(tilde + 1);
                topic = topic.substring(0, tilde);
                if (topic.isEmpty() || !isId(id)) {
                    throw wrong(parts[i]);
                }
                cursor.identify(topic, id);
            }
            for (String pair : parts[i].substring(slash + 1).split(",", -1)) {
                int equals = pair.indexOf('=');
                if (equals < 0) {
                    throw wrong(parts[i]);
                }
                long partition = number(pair.substring(0, equals), parts[i]);
                if (partition < 0 || partition > Integer.MAX_VALUE) {
                    throw wrong(parts[i]);
                }
                if (cursor.nextOffset(topic, (int) partition).isPresent()) {
                    throw wrong(parts[i]);
                }
                cursor.set(topic, (int) partition, number(pair.substring(equals + 1), parts[i]));
            }
        }
        return cursor;
    }

    private static long number(String digits, String part) {
        if (digits.isEmpty() || !digits.chars().allMatch(c -> c >= '0' && c <= '9')) {
            throw wrong(part);
        }
        try {
            return Long.parseUnsignedLong(digits);
        } catch (NumberFormatException error) {
            throw wrong(part);
        }
    }

    private static IllegalArgumentException wrong(String part) {
        String shown = part.length() > 100 ? part.substring(0, 100) : part;
        return new IllegalArgumentException("\"" + shown + "\" isn't, or isn't in, a subscription's cursor");
    }

    OptionalLong nextOffset(String topic, int partition) {
        InTopic known = topics.get(topic);
        Long offset = known == null ? null : known.positions.get(partition);
        return offset == null ? OptionalLong.empty() : OptionalLong.of(offset);
    }

    void set(String topic, int partition, long offset) {
        topics.computeIfAbsent(topic, name -> new InTopic()).positions.put(partition, offset);
    }

    /** The topic of this name has this id. If it had another one, that was another topic: forgets its positions. */
    void identify(String topic, String id) {
        InTopic known = topics.computeIfAbsent(topic, name -> new InTopic());
        if (known.id != null && !known.id.equals(id)) {
            known.positions.clear();
        }
        known.id = id;
    }

    /** Whether this is a topic's id in a cursor. */
    static boolean isId(String text) {
        return text.length() == 8 && text.chars().allMatch(c -> c >= '0' && c <= '9' || c >= 'a' && c <= 'f');
    }

    /** A topic was deleted: in another one of its name, offsets begin at 0 again. */
    void forget(String topic) {
        topics.remove(topic);
    }

    /** Takes over what another one has, and keeps the rest. */
    void merge(Cursor other) {
        other.topics.forEach((topic, there) -> {
            if (there.id != null) {
                identify(topic, there.id);
            }
            there.positions.forEach((number, offset) -> set(topic, number, offset));
        });
    }

    Cursor copy() {
        Cursor copy = new Cursor();
        copy.since = since;
        copy.merge(this);
        return copy;
    }

    @Override
    public String toString() {
        StringBuilder text = new StringBuilder(since);
        topics.forEach((topic, there) -> {
            char separator = '/';
            for (Map.Entry<Integer, Long> at : there.positions.entrySet()) {
                if (separator == '/') {
                    text.append(';').append(topic).append(there.id == null ? "" : "~" + there.id);
                }
                text.append(separator);
                text.append(at.getKey()).append('=').append(Long.toUnsignedString(at.getValue()));
                separator = ',';
            }
        });
        return text.toString();
    }
}
