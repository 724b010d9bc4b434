package io.rawline.consumer;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.rawline.error.ConfigException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.RejectedExecutionException;
import org.junit.jupiter.api.Test;

/** Repeated work, whose threads are here tasks that the test runs. */
class RepeatedTest {
    private final List<Runnable> tasks = new ArrayList<>();
    private int runs;

    private void runAll() {
        while (!tasks.isEmpty()) {
            tasks.remove(0).run();
        }
    }

    @Test
    void itRunsUntilItIsOverAndCanStartAgain() {
        Repeated thrice = new Repeated(tasks::add, 0, call -> ++runs % 3 == 0 ? Repeated.OVER : 0);
        thrice.start();
        thrice.start();
        assertEquals(1, tasks.size());
        runAll();
        // The second start came while the first was running.
        assertEquals(6, runs);
        thrice.start();
        runAll();
        assertEquals(9, runs);
    }

    @Test
    void stopEndsItAndAFailureDoesToo() {
        Repeated[] itself = new Repeated[1];
        itself[0] = new Repeated(tasks::add, 0, call -> {
            itself[0].stop();
            return ++runs;
        });
        itself[0].start();
        runAll();
        assertEquals(1, runs);
        Repeated failing = new Repeated(tasks::add, 0, call -> {
            throw new IllegalStateException("run " + ++runs);
        });
        for (int run = 2; run < 4; run++) {
            failing.start();
            assertThrows(IllegalStateException.class, this::runAll);
            assertEquals(run, runs);
        }
    }

    @Test
    void anExecutorThatRejectsTasksIsNamed() {
        Repeated rejected = new Repeated(
                task -> {
                    throw new RejectedExecutionException();
                },
                0,
                call -> Repeated.OVER);
        assertThrows(ConfigException.class, rejected::start);
        assertThrows(ConfigException.class, rejected::start);
    }
}
