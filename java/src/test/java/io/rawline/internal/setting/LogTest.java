package io.rawline.internal.setting;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rawline.error.ConnectionBrokenException;
import io.rawline.error.RetryPolicy;
import io.rawline.internal.request.Attempts;
import io.rawline.testkit.LogLines;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import java.util.logging.Level;
import org.junit.jupiter.api.Test;

/** Which lines are warnings, and that retries are logged. */
class LogTest {
    @Test
    void theFirstLineOfAMinuteIsAWarning() {
        AtomicLong nowNs = new AtomicLong(Long.MAX_VALUE - 1);
        Log log = new Log(nowNs::get);
        try (LogLines logged = new LogLines(Level.ALL)) {
            log.warn(() -> "one");
            nowNs.addAndGet(59_000_000_000L);
            log.warn(() -> "two");
            nowNs.addAndGet(1_000_000_000L);
            log.warn(() -> "three");
            assertEquals(List.of("WARNING one", "FINE two", "WARNING three"), logged.lines());
        }
    }

    @Test
    void aRetryIsLoggedWithItsReason() {
        try (LogLines logged = new LogLines(Level.ALL)) {
            new Attempts(RetryPolicy.DEFAULT).waitAfter(new ConnectionBrokenException("the connection broke", null), 0);
            assertEquals(1, logged.lines().size());
            String line = logged.lines().get(0);
            assertTrue(line.endsWith("is retried for another 30000 ms: the connection broke"), line);
        }
    }

    @Test
    void aTextIsMadeOnlyIfItIsPrinted() {
        try (LogLines logged = new LogLines(Level.OFF)) {
            new Log().warn(() -> {
                throw new AssertionError("it isn't printed");
            });
            assertEquals(List.of(), logged.lines());
        }
    }
}
