package io.rawline.value;

import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;

/**
 * Zeek's messages: vectors of a protocol version, a type and a content.
 *
 * <pre>
 * [count 1, count type, vector content]      content; anything after it is ignored:
 *   1 event              [string name, vector arguments] and optionally vector metadata: vectors [count id, value]
 *   2 log create         [enum stream, enum writer, writer info, fields]
 *   3 log write          [enum stream, enum writer, string path, string serial data]
 *   4 identifier update  [string name, value]
 *   5 batch              messages
 * </pre>
 */
public final class Zeek {
    /** The metadata id of the time when the sender's network saw the event; its value must be a timestamp. */
    public static final long METADATA_NETWORK_TIMESTAMP = 1;

    private static final long PROTOCOL_VERSION = 1;
    private static final int EVENT = 1;
    private static final int LOG_CREATE = 2;
    private static final int LOG_WRITE = 3;
    private static final int IDENTIFIER_UPDATE = 4;
    private static final int BATCH = 5;

    private Zeek() {}

    /** A message; its parts are views of the bytes that it was read from. */
    public sealed interface Message permits Event, LogCreate, LogWrite, IdentifierUpdate, Batch {}

    /**
     * An event with its arguments.
     *
     * @param name the event's name, a string
     * @param arguments its arguments, a vector
     * @param metadata metadata, a vector of vectors of an id and a value; not present if the event has no metadata
     */
    public record Event(ValueView name, ValueView arguments, ValueView metadata) implements Message {
        /**
         * The metadata with this id.
         *
         * @param id the id
         * @return its value; {@link ValueView#NONE} if not found
         */
        public ValueView metadataOf(long id) {
            for (ValueView entry : metadata.elements()) {
                if (entry.get(0).kind() == Kind.COUNT && entry.get(0).asCount() == id) {
                    return entry.get(1);
                }
            }
            return ValueView.NONE;
        }
    }

    /**
     * The start of a log stream.
     *
     * @param stream the stream's name, such as {@code Conn::LOG}
     * @param writer the writer's name, such as {@code Log::WRITER_ASCII}
     * @param writerInfo the writer's configuration
     * @param fields the log's fields
     */
    public record LogCreate(ValueView stream, ValueView writer, ValueView writerInfo, ValueView fields)
            implements Message {}

    /**
     * A line of a log.
     *
     * @param stream the stream's name, such as {@code Conn::LOG}
     * @param writer the writer's name, such as {@code Log::WRITER_ASCII}
     * @param path the log's path
     * @param serialData the line in Zeek's own serialization
     */
    public record LogWrite(ValueView stream, ValueView writer, ValueView path, ValueView serialData)
            implements Message {}

    /**
     * A new value of an identifier.
     *
     * @param name the identifier's name
     * @param value its value
     */
    public record IdentifierUpdate(ValueView name, ValueView value) implements Message {}

    /**
     * Several messages, each valid.
     *
     * @param messages the messages
     */
    public record Batch(List<Message> messages) implements Message {}

    /**
     * Reads a message. A batch is valid if all its messages are.
     *
     * @param value any value
     * @return the message; null if it is invalid
     */
    public static Message read(ValueView value) {
        ValueView content = value.get(2);
        if (value.kind() != Kind.VECTOR
                || value.get(0).asCount(0) != PROTOCOL_VERSION
                || content.kind() != Kind.VECTOR) {
            return null;
        }
        ValueView first = content.get(0);
        ValueView second = content.get(1);
        boolean isLog = first.kind() == Kind.ENUM && second.kind() == Kind.ENUM;
        long type = value.get(1).asCount(0);
        if (type == EVENT) {
            return readEvent(content);
        }
        if (type == LOG_CREATE && content.size() >= 4 && isLog) {
            return new LogCreate(first, second, content.get(2), content.get(3));
        }
        if (type == LOG_WRITE
                && isLog
                && content.get(2).kind() == Kind.STRING
                && content.get(3).kind() == Kind.STRING) {
            return new LogWrite(first, second, content.get(2), content.get(3));
        }
        if (type == IDENTIFIER_UPDATE && content.size() >= 2 && first.kind() == Kind.STRING) {
            return new IdentifierUpdate(first, second);
        }
        return type == BATCH ? readBatch(content) : null;
    }

    private static Event readEvent(ValueView content) {
        ValueView metadata = content.get(2);
        if (content.get(0).kind() != Kind.STRING
                || content.get(1).kind() != Kind.VECTOR
                || metadata.isPresent() && metadata.kind() != Kind.VECTOR) {
            return null;
        }
        for (ValueView entry : metadata.elements()) {
            boolean isEntry = entry.kind() == Kind.VECTOR
                    && entry.size() == 2
                    && entry.get(0).kind() == Kind.COUNT;
            if (!isEntry
                    || entry.get(0).asCount() == METADATA_NETWORK_TIMESTAMP
                            && entry.get(1).kind() != Kind.TIMESTAMP) {
                return null;
            }
        }
        return new Event(content.get(0), content.get(1), metadata);
    }

    private static Batch readBatch(ValueView content) {
        List<Message> messages = new ArrayList<>(content.size());
        for (ValueView member : content.elements()) {
            Message message = read(member);
            if (message == null) {
                return null;
            }
            messages.add(message);
        }
        return new Batch(List.copyOf(messages));
    }

    /**
     * Adds an event.
     *
     * @param out the writer
     * @param name the event's name
     * @param arguments adds its arguments
     */
    public static void addEvent(ValueWriter out, String name, Consumer<ValueWriter> arguments) {
        beginEvent(out, name, arguments);
        out.end().end();
    }

    /**
     * Adds an event with the time when the sender's network saw it.
     *
     * @param out the writer
     * @param name the event's name
     * @param networkTimestamp nanoseconds since 1970
     * @param arguments adds its arguments
     */
    public static void addEvent(ValueWriter out, String name, long networkTimestamp, Consumer<ValueWriter> arguments) {
        beginEvent(out, name, arguments);
        out.beginList()
                .beginList()
                .addCount(METADATA_NETWORK_TIMESTAMP)
                .addTimestamp(networkTimestamp)
                .end()
                .end();
        out.end().end();
    }

    private static void beginEvent(ValueWriter out, String name, Consumer<ValueWriter> arguments) {
        beginMessage(out, EVENT).add(name).beginList();
        arguments.accept(out);
        out.end();
    }

    /**
     * Adds the start of a log stream.
     *
     * @param out the writer
     * @param stream the stream's name, such as {@code Conn::LOG}
     * @param writer the writer's name, such as {@code Log::WRITER_ASCII}
     * @param writerInfo adds the writer's configuration, one value
     * @param fields adds the log's fields, one value
     */
    public static void addLogCreate(
            ValueWriter out,
            String stream,
            String writer,
            Consumer<ValueWriter> writerInfo,
            Consumer<ValueWriter> fields) {
        beginMessage(out, LOG_CREATE).addEnum(stream).addEnum(writer);
        writerInfo.accept(out);
        fields.accept(out);
        out.end().end();
    }

    /**
     * Adds a line of a log.
     *
     * @param out the writer
     * @param stream the stream's name, such as {@code Conn::LOG}
     * @param writer the writer's name, such as {@code Log::WRITER_ASCII}
     * @param path the log's path
     * @param serialData the line in Zeek's own serialization
     */
    public static void addLogWrite(ValueWriter out, String stream, String writer, String path, byte[] serialData) {
        beginMessage(out, LOG_WRITE)
                .addEnum(stream)
                .addEnum(writer)
                .add(path)
                .addBytes(serialData)
                .end()
                .end();
    }

    /**
     * Adds a new value of an identifier.
     *
     * @param out the writer
     * @param name the identifier's name
     * @param value adds its value, one value
     */
    public static void addIdentifierUpdate(ValueWriter out, String name, Consumer<ValueWriter> value) {
        beginMessage(out, IDENTIFIER_UPDATE).add(name);
        value.accept(out);
        out.end().end();
    }

    /**
     * Adds a batch.
     *
     * @param out the writer
     * @param messages adds whole messages, with this class or as views
     */
    public static void addBatch(ValueWriter out, Consumer<ValueWriter> messages) {
        messages.accept(beginMessage(out, BATCH));
        out.end().end();
    }

    private static ValueWriter beginMessage(ValueWriter out, int type) {
        return out.beginList().addCount(PROTOCOL_VERSION).addCount(type).beginList();
    }
}
