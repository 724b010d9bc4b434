package io.rawline.testkit;

import java.io.IOException;

/** Work on sockets in a background thread, which ends when the peer closes. */
public final class Background {
    /** Reads and writes sockets. */
    public interface Work {
        void run() throws IOException;
    }

    private Background() {}

    public static void start(Work work) {
        Thread thread = new Thread(() -> {
            try {
                work.run();
            } catch (IOException error) {
                // The peer closed the connection, which ends the work.
            }
        });
        thread.setDaemon(true);
        thread.start();
    }
}
