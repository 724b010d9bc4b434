package io.rawline.internal.setting;

import java.lang.System.Logger.Level;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongSupplier;
import java.util.function.Supplier;

/**
 * Lines of the logger {@code io.rawline} about one kind of event, which results and errors don't show. Whatever the
 * program has chosen for {@link System.Logger} prints them. The first line of a minute is a warning, and the others are
 * for debugging: a failure that repeats doesn't fill the log. Thread-safe.
 */
public final class Log {
    private static final System.Logger LOGGER = System.getLogger("io.rawline");
    private static final long PAUSE_NS = 60_000_000_000L;

    private final LongSupplier nowNs;
    private final AtomicLong nextNs;

    /** Lines that no others of this kind surround. */
    public Log() {
        this(System::nanoTime);
    }

    Log(LongSupplier nowNs) {
        this.nowNs = nowNs;
        this.nextNs = new AtomicLong(nowNs.getAsLong());
    }

    /** A line, whose text is made only if it is printed. */
    public void warn(Supplier<String> text) {
        long now = nowNs.getAsLong();
        long next = nextNs.get();
        boolean isFirst = now - next >= 0 && nextNs.compareAndSet(next, now + PAUSE_NS);
        LOGGER.log(isFirst ? Level.WARNING : Level.DEBUG, text);
    }
}
