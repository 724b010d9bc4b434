/* Measures the rows, a process for each row and case. */
package io.rawline.lab;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.regex.Pattern;
import org.openjdk.jmh.runner.CompilerHints;

/**
 * JMH starts a process for each benchmark. With time for each to warm up, a thousand of them would take more than an
 * hour. Here one process measures several operations of one row on one case, started with the options that JMH would
 * give it. The operations of a row see each other's types, as they do in an application, and no other row's. One
 * message, messages that grow, and all threads have separate processes. The interval is that of one process:
 * another may compile the same code a little better or worse.
 *
 * <p>Processes run one at a time: two at once slow each other by 15 to 35 %.
 */
final class Bench {
    private static final Set<Case> QUICK = Set.of(Case.PINGPONG, Case.ZEEK);
    // Measured at every size; of the others, enough to see how a cost grows.
    private static final Set<Case> EVERY_SIZE = Set.of(Case.PINGPONG, Case.ZEEK, Case.ORDER);
    private static final int CORES = Runtime.getRuntime().availableProcessors();
    // The measurements share the run's budget, minus the starts of the processes.
    private static final int START_MILLISECONDS = 700;
    private static final int SECONDS_FULL = 1300;
    private static final int SECONDS_QUICK = 42;
    // With few rows each has a lot of time; more than this changes no figure.
    private static final double SCALE_MAX = 3;

    private final Path lab;
    private final boolean quick;
    private final List<String> command = command();
    private int started;

    private Bench(Path lab, boolean quick) {
        this.lab = lab;
        this.quick = quick;
    }

    /** One process. */
    private record Job(RowKind kind, Case kase, Task task) {}

    static void run(Path lab, List<String> options) throws Exception {
        boolean quick = options.contains("--quick");
        if (quick == options.contains("--full")) {
            throw new IllegalArgumentException("say --quick or --full");
        }
        Pattern filter = Pattern.compile(option(options, "--filter", ""));
        List<Job> jobs = new ArrayList<>();
        for (RowKind kind : Rows.all()) {
            for (Case kase : Case.values()) {
                if (filter.matcher(kind.id() + " " + kase.title()).find()) {
                    List<Task> tasks = quick ? quick(kase) : full(kase);
                    tasks.stream().map(task -> task.only(kind.operations())).filter(task -> task.count() > 0)
                            .forEach(task -> jobs.add(new Job(kind, kase, task)));
                }
            }
        }
        new Bench(lab, quick).run(jobs,
                Integer.parseInt(option(options, "--seconds", Integer.toString(quick ? SECONDS_QUICK : SECONDS_FULL))));
    }

    private static String option(List<String> options, String name, String otherwise) {
        int at = options.indexOf(name);
        return at < 0 || at + 1 == options.size() ? otherwise : options.get(at + 1);
    }

    private static List<Task> quick(Case kase) {
        return QUICK.contains(kase)
                ? List.of(new Task(List.of("encode", "decode", "field"), List.of("base"), "varied", 1, 400, 150))
                : List.of();
    }

    /** Milliseconds are weights, to be scaled: what readers look at most gets the longest time. */
    private static List<Task> full(Case kase) {
        List<Task> tasks = new ArrayList<>();
        tasks.add(new Task(RowKind.OPERATIONS, List.of("base"), "varied", 1, 600, 500));
        List<String> grown = EVERY_SIZE.contains(kase) ? List.of("100", "1k", "10k", "100k", "1m")
                : List.of("10k", "1m");
        tasks.add(new Task(List.of("encode", "decode", "field"), grown, "varied", 1, 100, 200));
        if (QUICK.contains(kase)) {
            tasks.add(new Task(List.of("encode", "decode"), List.of("base"), "one", 1, 600, 300));
            // The compiler has no core to itself here, so it takes longer.
            tasks.add(new Task(List.of("encode", "decode"), List.of("base"), "varied", CORES, 600, 300));
        }
        return tasks;
    }

    private void run(List<Job> jobs, int seconds) throws IOException, InterruptedException {
        long weights = Math.max(1, jobs.stream().mapToLong(job -> job.task.milliseconds()).sum());
        double scale = Math.min(SCALE_MAX,
                Math.max(0.1, (seconds * 1000.0 - START_MILLISECONDS * jobs.size()) / weights));
        for (Job job : jobs) {
            measure(job, scale, jobs.size());
        }
    }

    /**
     * This JVM, a fixed heap so that its growth is not measured, and JMH's compiler blackholes, which JDK 17 is the
     * first to have.
     */
    private static List<String> command() {
        List<String> command =
                new ArrayList<>(List.of(Path.of(System.getProperty("java.home"), "bin", "java").toString(), "-Xms1g",
                "-Xmx1g",
                "-Djmh.ignoreLock=true", "--add-opens=java.base/jdk.internal.misc=ALL-UNNAMED"));
        CompilerHints.addCompilerHints(command);
        return command;
    }

    private void measure(Job job, double scale, int jobs) throws IOException, InterruptedException {
        Task task = job.task;
        String name = job.kind.id() + " " + job.kase.title();
        System.err.println("[" + ++started + "/" + jobs + "] " + name + " " + String.join(",", task.sizes()) + " "
                + task.messages()
                + (task.threads() > 1 ? ", " + task.threads() + " threads" : ""));
        List<String> words = new ArrayList<>(command);
        words.addAll(List.of("-Dlab=" + lab, "-cp", System.getProperty("java.class.path"), Fork.class.getName(),
                job.kind.id(), job.kase.title()));
        words.addAll(task.scaled(scale).words());
        Process process = new ProcessBuilder(words).redirectError(ProcessBuilder.Redirect.INHERIT).start();
        try (BufferedReader out =
                new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8))) {
            for (String line = out.readLine(); line != null; line = out.readLine()) {
                Outcome outcome = Outcome.ofLine(line);
                if (outcome != null) {
                    Results.append(lab, job.kind, job.kase, task, outcome, quick);
                }
            }
        } finally {
            process.destroy();
        }
        if (process.waitFor() != 0) {
            System.err.println(name + ": its process exited with " + process.exitValue()
                    + "; operations without a result have no figure");
        }
    }
}
