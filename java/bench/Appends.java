import io.rawline.Client;
import io.rawline.ClientConfig;
import io.rawline.error.RetryPolicy;
import io.rawline.record.ReadOptions;
import io.rawline.topic.Appended;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Measures small appends of threads that share a client, or of futures: requests per second, their times, and the CPU
 * time of client and broker for each.
 *
 * <p>{@code java -cp java/target/rawline-client-0.1.0.jar java/bench/Appends.java URL [name=value ...]}, where
 * {@code pid=} is the broker's.
 */
public final class Appends {
    /** The unit of the times in {@code /proc}, in nanoseconds. */
    private static final long TICK_NS = 10_000_000;

    private final Client client;
    private int runs = 3;
    private int workers = 16;
    private int requests = 100_000;
    private int records = 1;
    private int recordBytes = 100;
    private boolean async;
    private long pid;

    private Appends(String url) {
        // A request that needs a retry is a failure here, not a slow success.
        client = new Client(new ClientConfig(url).retries(RetryPolicy.NONE));
    }

    public static void main(String[] args) throws Exception {
        if (args.length < 1) {
            System.err.println("usage: Appends.java URL [runs= workers= requests= records= bytes= async= pid=]");
            System.exit(2);
        }
        Appends bench = new Appends(args[0]);
        for (String setting : Arrays.asList(args).subList(1, args.length)) {
            bench.set(setting.split("=", 2)[0], setting.split("=", 2)[1]);
        }
        // The first run is the warm-up of the JIT compiler: it is printed and does not count.
        for (int run = 0; run <= bench.runs; run++) {
            bench.run(run);
        }
        bench.client.close();
    }

    private void set(String name, String value) {
        switch (name) {
            case "runs" -> runs = Integer.parseInt(value);
            case "workers" -> workers = Integer.parseInt(value);
            case "requests" -> requests = Integer.parseInt(value);
            case "records" -> records = Integer.parseInt(value);
            case "bytes" -> recordBytes = Integer.parseInt(value);
            case "async" -> async = Boolean.parseBoolean(value);
            case "pid" -> pid = Long.parseLong(value);
            default -> throw new IllegalArgumentException("no setting " + name);
        }
    }

    private void run(int run) throws Exception {
        String topic = "bench-java-appends-" + System.currentTimeMillis() + "-" + run;
        long[] tookNs = new long[requests];
        long[] offsets = new long[requests];
        long clientNs = clientNs();
        long brokerNs = brokerNs();
        long beganNs = System.nanoTime();
        if (async) {
            inFutures(topic, tookNs, offsets);
        } else {
            inThreads(topic, tookNs, offsets);
        }
        double seconds = (System.nanoTime() - beganNs) / 1e9;
        clientNs = clientNs() - clientNs;
        brokerNs = brokerNs() - brokerNs;
        check(offsets);
        client.deleteTopic(topic);
        Arrays.sort(tookNs);
        System.out.printf(
                "java appends %s: %d %s, %.0f requests/s, p50 %.0f us, p99 %.0f us,"
                        + " CPU us/request: client %.1f, broker %.1f%n",
                run == 0 ? "warm-up" : "run " + run,
                workers,
                async ? "futures" : "threads",
                requests / seconds,
                tookNs[requests / 2] / 1e3,
                tookNs[requests * 99 / 100] / 1e3,
                clientNs / 1e3 / requests,
                brokerNs / 1e3 / requests);
    }

    private void inThreads(String topic, long[] tookNs, long[] offsets) throws Exception {
        AtomicInteger next = new AtomicInteger();
        ExecutorService pool = Executors.newFixedThreadPool(workers);
        List<Future<?>> ends = new ArrayList<>();
        for (int i = 0; i < workers; i++) {
            ends.add(pool.submit(() -> {
                ByteBuffer data = data();
                int[] sizes = sizes();
                for (int number = next.getAndIncrement(); number < requests; number = next.getAndIncrement()) {
                    long sentNs = System.nanoTime();
                    offsets[number] = checked(client.appendRecords(topic, sizes, data));
                    tookNs[number] = System.nanoTime() - sentNs;
                }
            }));
        }
        for (Future<?> end : ends) {
            end.get();
        }
        pool.shutdown();
    }

    private void inFutures(String topic, long[] tookNs, long[] offsets) throws Exception {
        // A batch as any producer makes it: read back what one append has stored.
        client.appendRecords(topic + "-batch", sizes(), data());
        ByteBuffer batch = client.read(topic + "-batch", ReadOptions.from(0)).bytes();
        client.deleteTopic(topic + "-batch");
        Semaphore room = new Semaphore(workers);
        CompletableFuture<?>[] all = new CompletableFuture<?>[requests];
        for (int i = 0; i < requests; i++) {
            int number = i;
            room.acquire();
            long sentNs = System.nanoTime();
            all[number] = client.appendAsync(topic, batch).thenAccept(appended -> {
                offsets[number] = checked(appended);
                tookNs[number] = System.nanoTime() - sentNs;
                room.release();
            });
        }
        CompletableFuture.allOf(all).get();
    }

    private ByteBuffer data() {
        return ByteBuffer.allocateDirect(records * recordBytes);
    }

    private int[] sizes() {
        int[] sizes = new int[records];
        Arrays.fill(sizes, recordBytes);
        return sizes;
    }

    private long checked(Appended appended) {
        if (appended.nextOffset() - appended.firstOffset() != records) {
            throw new IllegalStateException("the broker's answer is wrong: " + appended);
        }
        return appended.firstOffset();
    }

    /** Each offset once: a broker that assigns one twice or a client that mixes up responses has lost a record. */
    private void check(long[] offsets) {
        BitSet seen = new BitSet(requests);
        for (long offset : offsets) {
            seen.set((int) (offset / records));
        }
        if (seen.cardinality() != requests || seen.length() != requests) {
            throw new IllegalStateException(seen.cardinality() + " offsets of " + requests + " requests");
        }
    }

    private static long clientNs() {
        return ((com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean())
                .getProcessCpuTime();
    }

    /** CPU time of the broker, user and system; 0 if its process isn't known. */
    private long brokerNs() throws IOException {
        if (pid == 0) {
            return 0;
        }
        String stat = Files.readString(Path.of("/proc", "" + pid, "stat"), StandardCharsets.UTF_8);
        // After the name, which may contain any character; the first of these is field 3.
        String[] fields = stat.substring(stat.lastIndexOf(')') + 2).split(" ");
        return (Long.parseLong(fields[11]) + Long.parseLong(fields[12])) * TICK_NS;
    }
}
