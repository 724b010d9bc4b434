package io.rawline.interop;

import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.flink.api.common.functions.RichMapFunction;
import org.apache.flink.api.common.state.CheckpointListener;

/** Passes records on, slowly at first: one of the tasks fails some records after its second checkpoint. */
final class FailsOnce extends RichMapFunction<String, String> implements CheckpointListener {
    private static final long serialVersionUID = 1;
    private static final int CHECKPOINTS = 2;
    private static final int RECORDS_AFTER = 100;
    /** In this process, and so in all attempts. */
    private static final AtomicBoolean HAS_FAILED = new AtomicBoolean();

    private int checkpoints;
    private int recordsAfter;

    @Override
    public String map(String record) throws InterruptedException {
        if (!HAS_FAILED.get()) {
            Thread.sleep(1);
            if (checkpoints >= CHECKPOINTS && ++recordsAfter > RECORDS_AFTER && HAS_FAILED.compareAndSet(false, true)) {
                System.out.println("fails after " + checkpoints + " checkpoints");
                throw new IllegalStateException("the failure of the test");
            }
        }
        return record;
    }

    @Override
    public void notifyCheckpointComplete(long checkpoint) {
        checkpoints++;
    }
}
