package io.rawline.testkit;

import java.util.ArrayList;
import java.util.List;
import java.util.logging.Handler;
import java.util.logging.Level;
import java.util.logging.LogRecord;
import java.util.logging.Logger;

/** What the client logs on this thread, as a program receives it that has chosen nothing: by java.util.logging. */
public final class LogLines extends Handler implements AutoCloseable {
    private final Logger logger = Logger.getLogger("io.rawline");
    private final Thread self = Thread.currentThread();
    private final List<String> lines = new ArrayList<>();

    /** From this level on, until it is closed. */
    public LogLines(Level level) {
        setLevel(Level.ALL);
        logger.setLevel(level);
        logger.addHandler(this);
        logger.setUseParentHandlers(false);
    }

    /** Level and text of each. */
    public List<String> lines() {
        return lines;
    }

    @Override
    public void publish(LogRecord line) {
        if (Thread.currentThread() == self) {
            lines.add(line.getLevel() + " " + line.getMessage());
        }
    }

    @Override
    public void flush() {}

    @Override
    public void close() {
        logger.removeHandler(this);
        logger.setLevel(null);
        logger.setUseParentHandlers(true);
    }
}
