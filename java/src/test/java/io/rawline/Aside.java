package io.rawline;

import java.io.IOException;

/** What a test does to sockets meanwhile: in a thread of its own, which ends when the other end is closed. */
final class Aside {
    /** Reads and writes sockets. */
    interface Work {
        void run() throws IOException;
    }

    private Aside() {
    }

    static void start(Work work) {
        Thread thread = new Thread(() -> {
            try {
                work.run();
            } catch (IOException error) {
                // The other end was closed, which ends the work.
            }
        });
        thread.setDaemon(true);
        thread.start();
    }
}
