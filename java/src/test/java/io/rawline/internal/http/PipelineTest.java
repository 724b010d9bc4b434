package io.rawline.internal.http;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** The order and the limits of requests on one connection, without a connection. */
class PipelineTest {
    private static List<QueuedRequest> add(Pipeline pipeline, int count, int bytes) {
        List<QueuedRequest> added = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            added.add(new QueuedRequest(null, new byte[bytes], 0));
            pipeline.add(added.get(i));
        }
        return added;
    }

    @Test
    void allThatWaitIsWrittenTogetherAndAnsweredInOrder() {
        Pipeline pipeline = new Pipeline();
        List<QueuedRequest> added = add(pipeline, 10, 100);
        assertTrue(pipeline.hasDue());
        assertEquals(added, pipeline.take(0));
        assertFalse(pipeline.hasDue());
        for (QueuedRequest each : added) {
            assertSame(each, pipeline.oldest());
            assertSame(each, pipeline.answered());
        }
        assertTrue(pipeline.isEmpty());
        assertNull(pipeline.answered());
    }

    @Test
    void requestsInFlightAreLimitedInNumber() {
        Pipeline pipeline = new Pipeline();
        assertTrue(pipeline.hasRoom(100, 0));
        List<QueuedRequest> added = add(pipeline, Pipeline.REQUESTS_MAX + 2, 100);
        assertFalse(pipeline.hasRoom(100, 0));
        assertEquals(added.subList(0, Pipeline.REQUESTS_MAX), pipeline.take(0));
        assertFalse(pipeline.hasDue());
        assertEquals(List.of(), pipeline.take(0));
        pipeline.answered();
        assertTrue(pipeline.hasDue());
        assertEquals(List.of(added.get(Pipeline.REQUESTS_MAX)), pipeline.take(0));
    }

    @Test
    void requestsInFlightAreLimitedInBytes() {
        Pipeline pipeline = new Pipeline();
        int bytes = 8000;
        add(pipeline, 20, bytes);
        assertFalse(pipeline.hasRoom(bytes, 0));
        assertEquals(Pipeline.BYTES_MAX / bytes, pipeline.take(0).size());
        assertEquals(0, pipeline.take(0).size());
        pipeline.answered();
        assertEquals(1, pipeline.take(0).size());
    }

    @Test
    void noCallerJoinsARequestThatIsSlow() {
        Pipeline pipeline = new Pipeline();
        add(pipeline, 1, 100);
        pipeline.take(5);
        assertTrue(pipeline.hasRoom(100, 5 + Pipeline.WAIT_NS_MAX));
        assertFalse(pipeline.hasRoom(100, 6 + Pipeline.WAIT_NS_MAX));
        pipeline.answered();
        assertTrue(pipeline.hasRoom(100, 6 + Pipeline.WAIT_NS_MAX));
    }

    @Test
    void aRequestThatWaitsCanBeDroppedAndOneThatWasSentCanNot() {
        Pipeline pipeline = new Pipeline();
        List<QueuedRequest> sent = add(pipeline, 1, 100);
        pipeline.take(0);
        List<QueuedRequest> waiting = add(pipeline, 2, 100);
        assertFalse(pipeline.remove(sent.get(0)));
        assertTrue(pipeline.remove(waiting.get(0)));
        assertEquals(waiting.subList(1, 2), pipeline.take(0));
    }

    @Test
    void whatWaitsIsLeftForAnotherConnectionAtTheEnd() {
        Pipeline pipeline = new Pipeline();
        List<QueuedRequest> sent = add(pipeline, 3, 100);
        pipeline.take(0);
        List<QueuedRequest> waiting = add(pipeline, 2, 100);
        assertThrows(IllegalStateException.class, pipeline::unanswered);
        assertEquals(waiting, pipeline.end());
        assertFalse(pipeline.hasRoom(1, 0));
        assertThrows(IllegalStateException.class, () -> add(pipeline, 1, 100));
        // Responses may still arrive.
        assertSame(sent.get(0), pipeline.answered());
        assertEquals(sent.subList(1, 3), pipeline.unanswered());
        assertTrue(pipeline.isEmpty());
    }
}
