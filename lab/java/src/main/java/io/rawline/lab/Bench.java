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
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.regex.Pattern;
import org.openjdk.jmh.runner.CompilerHints;

/**
 * JMH starts a process for each benchmark. With time for each to warm up, a thousand of them would take an hour, so here a process measures several
 * operations of one row on one case; it is started with the options that JMH would give it. The operations of a row see each other's types, as they
 * do in an application, and no other row's. One message, messages that grow, and all threads have processes of their own. The interval is that of one
 * process: another may compile the same code a little better or worse.
 *
 * <p>What one thread does is measured in as many processes at a time as leave each a second core, for its compiler and garbage collector; what all
 * threads do is measured alone.
 */
final class Bench {
    private static final Set<Case> QUICK = Set.of(Case.PINGPONG, Case.ZEEK);
    // Measured at every size; of the others, enough to see how a cost grows.
    private static final Set<Case> EVERY_SIZE = Set.of(Case.PINGPONG, Case.ZEEK, Case.ORDER);
    private static final int CORES = Runtime.getRuntime().availableProcessors();
    // So that the run ends within its budget, the measurements share what the processes' starts leave.
    private static final int START_MILLISECONDS = 700;
    private static final int SECONDS_FULL = 780;
    private static final int SECONDS_QUICK = 42;
    // A run of few rows has much time for each; more than this changes no figure.
    private static final double SCALE_MAX = 3;

    private final Path lab;
    private final boolean quick;
    private final int side = Math.max(1, CORES / 2);
    private final List<String> command = command();
    private final AtomicInteger started = new AtomicInteger();

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
                    (quick ? quick(kase) : full(kase)).stream().map(task -> task.only(kind.operations())).filter(task -> task.count() > 0)
                            .forEach(task -> jobs.add(new Job(kind, kase, task)));
                }
            }
        }
        new Bench(lab, quick).run(jobs, Integer.parseInt(option(options, "--seconds", Integer.toString(quick ? SECONDS_QUICK : SECONDS_FULL))));
    }

    private static String option(List<String> options, String name, String otherwise) {
        int at = options.indexOf(name);
        return at < 0 || at + 1 == options.size() ? otherwise : options.get(at + 1);
    }

    private static List<Task> quick(Case kase) {
        return QUICK.contains(kase) ? List.of(new Task(List.of("encode", "decode", "field"), List.of("base"), "varied", 1, 400, 150)) : List.of();
    }

    /** Milliseconds are weights, to be scaled: what is looked at most gets most. */
    private static List<Task> full(Case kase) {
        List<Task> tasks = new ArrayList<>();
        tasks.add(new Task(RowKind.OPERATIONS, List.of("base"), "varied", 1, 600, 500));
        List<String> grown = EVERY_SIZE.contains(kase) ? List.of("100", "1k", "10k", "100k", "1m") : List.of("10k", "1m");
        tasks.add(new Task(List.of("encode", "decode", "field"), grown, "varied", 1, 100, 200));
        if (QUICK.contains(kase)) {
            tasks.add(new Task(List.of("encode", "decode"), List.of("base"), "one", 1, 600, 300));
            // The compiler has no core of its own here, so that it takes longer until it is done.
            tasks.add(new Task(List.of("encode", "decode"), List.of("base"), "varied", CORES, 600, 300));
        }
        return tasks;
    }

    private void run(List<Job> jobs, int seconds) throws Exception {
        List<Job> alone = jobs.stream().filter(job -> job.task.threads() > 1).toList();
        List<Job> beside = jobs.stream().filter(job -> job.task.threads() == 1).toList();
        double scale = scale(seconds, beside, alone);
        ExecutorService processes = Executors.newFixedThreadPool(side);
        try {
            List<Future<?>> running = new ArrayList<>();
            for (Job job : beside) {
                running.add(processes.submit(() -> measure(job, scale, side, jobs.size())));
            }
            for (Future<?> process : running) {
                process.get();
            }
        } catch (ExecutionException e) {
            throw new IOException("a process could not be run: " + e.getCause().getMessage(), e);
        } finally {
            processes.shutdownNow();
        }
        for (Job job : alone) {
            measure(job, scale, 1, jobs.size());
        }
    }

    private double scale(int seconds, List<Job> beside, List<Job> alone) {
        double weights = beside.stream().mapToLong(job -> job.task.milliseconds()).sum() / (double) side
                + alone.stream().mapToLong(job -> job.task.milliseconds()).sum();
        double starts = START_MILLISECONDS * (beside.size() / (double) side + alone.size());
        return Math.min(SCALE_MAX, Math.max(0.1, (seconds * 1000.0 - starts) / Math.max(1, weights)));
    }

    /** This JVM, a fixed heap so that its growth is not measured, and JMH's compiler blackholes, which JDK 17 is the first to have. */
    private static List<String> command() {
        List<String> command = new ArrayList<>(List.of(Path.of(System.getProperty("java.home"), "bin", "java").toString(), "-Xms1g", "-Xmx1g",
                "-Djmh.ignoreLock=true", "--add-opens=java.base/jdk.internal.misc=ALL-UNNAMED"));
        CompilerHints.addCompilerHints(command);
        return command;
    }

    private Void measure(Job job, double scale, int side, int jobs) throws IOException, InterruptedException {
        Task task = job.task;
        String name = job.kind.id() + " " + job.kase.title();
        System.err.println("[" + started.incrementAndGet() + "/" + jobs + "] " + name + " " + String.join(",", task.sizes()) + " " + task.messages()
                + (task.threads() > 1 ? ", " + task.threads() + " threads" : ""));
        List<String> words = new ArrayList<>(command);
        words.addAll(List.of("-Dlab=" + lab, "-cp", System.getProperty("java.class.path"), Fork.class.getName(), job.kind.id(), job.kase.title()));
        words.addAll(task.scaled(scale).words());
        Process process = new ProcessBuilder(words).redirectError(ProcessBuilder.Redirect.INHERIT).start();
        try (BufferedReader out = new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8))) {
            for (String line = out.readLine(); line != null; line = out.readLine()) {
                Outcome outcome = Outcome.ofLine(line);
                if (outcome != null) {
                    Results.append(lab, job.kind, job.kase, task, outcome, side, quick);
                }
            }
        } finally {
            process.destroy();
        }
        if (process.waitFor() != 0) {
            System.err.println(name + ": its process ended with " + process.exitValue() + "; what is missing has no figure");
        }
        return null;
    }
}
