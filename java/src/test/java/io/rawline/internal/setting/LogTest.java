package io.rawline.internal.setting;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rawline.error.ConnectionBrokenException;
import io.rawline.error.RetryPolicy;
import io.rawline.internal.request.Attempts;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import java.util.logging.Handler;
import java.util.logging.Level;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** The client's lines, as a program receives them that has chosen nothing: by java.util.logging. */
class LogTest {
    private final Logger logger = Logger.getLogger("io.rawline");
    private final List<String> lines = new ArrayList<>();
    private final Handler handler = new Handler() {
        @Override
        public void publish(LogRecord line) {
            lines.add(line.getLevel() + " " + line.getMessage());
        }

        @Override
        public void flush() {}

        @Override
        public void close() {}
    };

    @BeforeEach
    void listen() {
        handler.setLevel(Level.ALL);
        logger.setLevel(Level.ALL);
        logger.addHandler(handler);
        logger.setUseParentHandlers(false);
    }

    @AfterEach
    void stopListening() {
        logger.removeHandler(handler);
        logger.setLevel(null);
        logger.setUseParentHandlers(true);
    }

    @Test
    void theFirstLineOfAMinuteIsAWarning() {
        AtomicLong nowNs = new AtomicLong(Long.MAX_VALUE - 1);
        Log log = new Log(nowNs::get);
        log.warn(() -> "one");
        nowNs.addAndGet(59_000_000_000L);
        log.warn(() -> "two");
        nowNs.addAndGet(1_000_000_000L);
        log.warn(() -> "three");
        assertEquals(List.of("WARNING one", "FINE two", "WARNING three"), lines);
    }

    @Test
    void aRetryIsLoggedWithItsReason() {
        new Attempts(RetryPolicy.DEFAULT).waitAfter(new ConnectionBrokenException("the connection broke", null), 0);
        assertEquals(1, lines.size());
        assertTrue(lines.get(0).endsWith("is retried for another 30000 ms: the connection broke"), lines.get(0));
    }

    @Test
    void aTextIsMadeOnlyIfItIsPrinted() {
        logger.setLevel(Level.OFF);
        new Log().warn(() -> {
            throw new AssertionError("it isn't printed");
        });
    }
}
