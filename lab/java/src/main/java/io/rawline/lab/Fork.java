/* The process that measures one row on one case: JMH without forks. */
package io.rawline.lab;

import java.util.Arrays;
import java.util.Collection;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.profile.GCProfiler;
import org.openjdk.jmh.results.Result;
import org.openjdk.jmh.results.RunResult;
import org.openjdk.jmh.runner.Runner;
import org.openjdk.jmh.runner.RunnerException;
import org.openjdk.jmh.runner.options.Options;
import org.openjdk.jmh.runner.options.OptionsBuilder;
import org.openjdk.jmh.runner.options.TimeValue;
import org.openjdk.jmh.runner.options.VerboseMode;
import org.openjdk.jmh.runner.options.WarmupMode;

final class Fork {
    static final double CONFIDENCE = 0.95;
    // Short iterations: a disturbance affects one of them, and the more there are, the less it widens the interval.
    private static final int ITERATIONS = 8;

    private Fork() {}

    /** Arguments: the row's id, the case, the task's words. Writes one outcome per line. */
    public static void main(String[] arguments) throws Exception {
        Operations.kind = Rows.of(arguments[0]);
        Operations.kase = Case.of(arguments[1]);
        Task task = Task.of(Arrays.asList(arguments).subList(2, arguments.length));
        Collection<RunResult> results = measure(task);
        for (RunResult result : results) {
            System.out.println(outcome(result, task.threads()).toLine());
        }
        if (results.size() < task.count()) {
            System.err.println(arguments[0] + " " + arguments[1] + ": " + (task.count() - results.size())
                    + " operations failed; run `conform` for the reasons");
        }
    }

    /**
     * All are warmed up before any is measured, since the compiler is still busy with one while the next runs; then
     * each again.
     */
    private static Collection<RunResult> measure(Task task) throws RunnerException {
        String operations = "^" + Operations.class.getName().replace(".", "\\.") + "\\.("
                + String.join("|", task.operations()) + ")$";
        Options options = new OptionsBuilder()
                .include(operations)
                .param("size", task.sizes().toArray(String[]::new))
                .param("messages", task.messages())
                .forks(0)
                .threads(task.threads())
                .mode(Mode.AverageTime)
                .timeUnit(TimeUnit.NANOSECONDS)
                .warmupMode(WarmupMode.BULK_INDI)
                .warmupIterations(1)
                .warmupTime(TimeValue.milliseconds(Math.max(1, task.warm())))
                .measurementIterations(ITERATIONS)
                .measurementTime(TimeValue.milliseconds(Math.max(1, task.measured() / ITERATIONS)))
                .addProfiler(GCProfiler.class)
                .shouldFailOnError(false)
                .verbosity(VerboseMode.SILENT)
                .build();
        return new Runner(options).run();
    }

    private static Outcome outcome(RunResult result, int threads) {
        Result<?> primary = result.getPrimaryResult();
        double[] interval = primary.getStatistics().getConfidenceIntervalAt(CONFIDENCE);
        // JMH reports the time that one thread takes for an operation; in it, each thread does one.
        double share = 1.0 / threads;
        double ns = primary.getScore() * share;
        return new Outcome(primary.getLabel(), result.getParams().getParam("size"), ns, interval[0] * share,
                interval[1] * share, allocated(result));
    }

    /** JMH's API uses raw types. */
    @SuppressWarnings("rawtypes")
    private static double allocated(RunResult result) {
        for (Map.Entry<String, Result> entry : result.getSecondaryResults().entrySet()) {
            if (entry.getKey().endsWith("gc.alloc.rate.norm")) {
                return entry.getValue().getScore();
            }
        }
        return Double.NaN;
    }
}
