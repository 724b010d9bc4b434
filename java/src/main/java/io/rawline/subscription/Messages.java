package io.rawline.subscription;

import io.rawline.batch.BatchChecker;
import io.rawline.batch.RecordBatchChecker;
import io.rawline.batch.Selection;
import io.rawline.internal.request.Received;
import io.rawline.internal.request.Responses;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.OptionalLong;

/** Reads a subscription's binary messages; an invalid one is an {@code AnswerException}. */
final class Messages {
    /** Length of the head before the topic's name. */
    private static final int FRONT_BYTES = 32;

    private static final int VERSION = 1;
    private static final int BATCHES = 1;
    private static final int RECORD_BATCHES = 2;
    private static final int SELECTION = 3;

    private final Responses responses;

    Messages(Responses responses) {
        this.responses = responses;
    }

    /** Reads a message, whose records continue at the positions. */
    void receive(Received.Source source, Cursor positions, Received into) throws IOException {
        ByteBuffer front = whole(source, FRONT_BYTES);
        int kind = front.get(1);
        if (front.get(0) != VERSION || kind < BATCHES || kind > SELECTION) {
            throw unexpected("a message of version " + front.get(0) + " and kind " + kind);
        }
        int nameBytes = front.getShort(2) & 0xffff;
        int partition = front.getInt(4);
        long firstOffset = front.getLong(8);
        long endOffset = front.getLong(16);
        long timeUs = front.getLong(24);
        String topic = topic(whole(source, (nameBytes + 7) & ~7), nameBytes);
        if (partition < 0 || firstOffset < 0 || endOffset <= firstOffset) {
            throw unexpected("records " + firstOffset + ".." + endOffset + " of partition " + partition);
        }
        // Nothing is known of a partition whose topic is new.
        OptionalLong position = positions.nextOffset(topic, partition);
        long asked = position.orElse(firstOffset);
        boolean hasGap = firstOffset > asked && kind != SELECTION;
        if (hasGap || endOffset <= asked) {
            throw unexpected("records " + firstOffset + ".." + endOffset + " for a subscriber at " + asked);
        }
        into.begin(topic, partition, asked, Long.MAX_VALUE);
        boolean isEnded;
        if (kind == BATCHES) {
            BatchChecker checker = new BatchChecker(responses.limits());
            int bytes = responses.receive(source, into, checker);
            isEnded = into.end(bytes, firstOffset, endOffset, checker.finish(into.room(bytes, bytes), bytes));
        } else if (kind == RECORD_BATCHES) {
            RecordBatchChecker checker = new RecordBatchChecker(responses.limits());
            int bytes = responses.receive(source, into, checker);
            isEnded = into.endKafka(bytes, firstOffset, endOffset, checker.finish(into.room(bytes, bytes), bytes));
        } else {
            int bytes = responses.receive(source, into, null);
            isEnded = into.endSelected(
                    bytes, firstOffset, endOffset, selection(into, bytes, firstOffset, endOffset, timeUs));
        }
        if (!isEnded || into.nextOffset() != endOffset) {
            throw unexpected("batches that end before " + into.nextOffset() + ", in a message of " + firstOffset + ".."
                    + endOffset);
        }
    }

    private Selection selection(Received into, int bytes, long firstOffset, long endOffset, long timeUs) {
        try {
            return Selection.parse(into.room(bytes, bytes), bytes, firstOffset, endOffset, timeUs);
        } catch (IllegalArgumentException error) {
            throw unexpected(error.getMessage());
        }
    }

    /** The name at the beginning of these bytes, which zeros follow. */
    private String topic(ByteBuffer padded, int nameBytes) {
        for (int i = nameBytes; i < padded.limit(); i++) {
            if (padded.get(i) != 0) {
                throw unexpected("a message whose padding isn't zero");
            }
        }
        try {
            String topic = StandardCharsets.UTF_8
                    .newDecoder()
                    .decode(padded.limit(nameBytes))
                    .toString();
            if (!topic.isEmpty()) {
                return topic;
            }
        } catch (CharacterCodingException error) {
            // Reported below.
        }
        throw unexpected("a message whose topic has an invalid name");
    }

    /** The next bytes of the message. */
    private ByteBuffer whole(Received.Source source, int bytes) throws IOException {
        ByteBuffer buffer = ByteBuffer.allocate(bytes).order(ByteOrder.LITTLE_ENDIAN);
        while (buffer.hasRemaining()) {
            if (source.read(buffer) < 0) {
                throw unexpected("a message that ends within its head");
            }
        }
        return buffer.flip();
    }

    private RuntimeException unexpected(String reason) {
        return responses.unexpected(reason, null);
    }
}
