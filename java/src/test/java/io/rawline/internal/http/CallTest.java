package io.rawline.internal.http;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rawline.internal.setting.Nanos;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** Timeouts of a call's attempts. */
class CallTest {
    @Test
    void aLateTimerEndsNoOtherAttempt() {
        List<Runnable> timers = new ArrayList<>();
        ScheduledThreadPoolExecutor noted = new ScheduledThreadPoolExecutor(1) {
            @Override
            public ScheduledFuture<?> schedule(Runnable work, long delay, TimeUnit unit) {
                timers.add(work);
                return super.schedule(work, delay, unit);
            }
        };
        Call call = new Call();
        call.begin(Nanos.MAX, noted);
        call.end();
        call.begin(Nanos.MAX, noted);
        timers.get(0).run();
        assertTrue(call.release());
        timers.get(1).run();
        assertFalse(call.release());
        call.end();
        noted.shutdownNow();
    }
}
