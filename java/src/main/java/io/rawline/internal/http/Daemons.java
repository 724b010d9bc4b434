package io.rawline.internal.http;

import java.util.concurrent.ThreadFactory;
import java.util.concurrent.atomic.AtomicInteger;

/** Threads that don't prevent the Java virtual machine from exiting. */
public final class Daemons {
    private static final AtomicInteger THREADS = new AtomicInteger();

    private Daemons() {}

    /** Makes threads with this name and a number. */
    public static ThreadFactory factory(String name) {
        return work -> {
            Thread thread = new Thread(work, name + "-" + THREADS.incrementAndGet());
            thread.setDaemon(true);
            return thread;
        };
    }
}
