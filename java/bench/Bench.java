import io.rawline.Client;
import io.rawline.ClientConfig;
import io.rawline.batch.Batch;
import io.rawline.batch.Records;
import io.rawline.error.RetryPolicy;
import io.rawline.record.Fetched;
import io.rawline.record.ReadOptions;
import io.rawline.topic.Appended;
import io.rawline.topic.TopicInfo;
import java.lang.management.ManagementFactory;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.zip.CRC32C;

/**
 * Does the work of {@code rawline bench write} and {@code rawline bench read} with the Java client.
 *
 * <p>{@code java -cp java/target/rawline-client-0.1.0.jar java/bench/Bench.java write|read URL [name=value …]}
 */
public final class Bench {
    /** Number of different batches that are sent in turn, as in the Rust benchmark. */
    private static final int DISTINCT = 16;

    private final Client client;
    private int runs = 3;
    private int workers = 16;
    private int batches = 4096;
    private int requests = 10_000;
    private int records = 1024;
    private int recordBytes = 1024;
    private String topic = "";

    private Bench(String url) {
        // A request that needs a retry is a failure here, not a slow success.
        client = new Client(new ClientConfig(url).retries(RetryPolicy.NONE));
    }

    public static void main(String[] args) throws Exception {
        if (args.length < 2) {
            System.err.println(
                    "usage: Bench.java write|read URL" + " [runs= workers= batches= requests= records= bytes= topic=]");
            System.exit(2);
        }
        Bench bench = new Bench(args[1]);
        for (String setting : Arrays.asList(args).subList(2, args.length)) {
            bench.set(setting.split("=", 2)[0], setting.split("=", 2)[1]);
        }
        // The first run is the warm-up of the JIT compiler: it is printed and does not count.
        for (int run = 0; run <= bench.runs; run++) {
            if (args[0].equals("write")) {
                bench.write(run);
            } else {
                bench.read(run);
            }
        }
        bench.client.close();
    }

    private void set(String name, String value) {
        switch (name) {
            case "runs" -> runs = Integer.parseInt(value);
            case "workers" -> workers = Integer.parseInt(value);
            case "batches" -> batches = Integer.parseInt(value);
            case "requests" -> requests = Integer.parseInt(value);
            case "records" -> records = Integer.parseInt(value);
            case "bytes" -> recordBytes = Integer.parseInt(value);
            case "topic" -> topic = value;
            default -> throw new IllegalArgumentException("no setting " + name);
        }
    }

    /** Appends prepared batches and waits for each response. Then reads all back and compares. */
    private void write(int run) throws Exception {
        SplittableRandom random = new SplittableRandom(1);
        ByteBuffer[] data = new ByteBuffer[DISTINCT];
        long[] crcs = new long[DISTINCT];
        for (int i = 0; i < DISTINCT; i++) {
            byte[] bytes = new byte[records * recordBytes];
            random.nextBytes(bytes);
            data[i] = ByteBuffer.allocateDirect(bytes.length).put(bytes).flip();
            crcs[i] = crc(data[i]);
        }
        int[] sizes = new int[records];
        Arrays.fill(sizes, recordBytes);
        String name = "bench-java-write-" + System.currentTimeMillis() + "-" + run;
        AtomicInteger next = new AtomicInteger();
        long[] numbers = new long[batches];
        measure("write", run, (long) batches * records * recordBytes, () -> {
            for (int number = next.getAndIncrement(); number < batches; number = next.getAndIncrement()) {
                Appended place = client.appendRecords(name, sizes, data[number % DISTINCT]);
                check(place.firstOffset() % records == 0 && place.nextOffset() == place.firstOffset() + records, place);
                // Each offset once: a broker that assigns one twice has lost a batch.
                numbers[(int) (place.firstOffset() / records)] += number + 1;
            }
        });
        long sum = Arrays.stream(numbers).sum();
        check(
                sum == (long) batches * (batches + 1) / 2
                        && Arrays.stream(numbers).noneMatch(n -> n == 0),
                "offsets");
        Fetched fetched = null;
        for (long offset = 0; offset < (long) batches * records; offset += records) {
            fetched = client.read(name, ReadOptions.from(offset).recordsMax(records), fetched);
            int number = (int) (numbers[(int) (offset / records)] - 1);
            long crc = crc(fetched.batches().get(0).data());
            check(fetched.count() == records && crc == crcs[number % DISTINCT], fetched);
        }
    }

    /** Reads records at random offsets of a topic; checks checksums, offsets, counts and sizes. */
    private void read(int run) throws Exception {
        TopicInfo info = client.topic(topic);
        SplittableRandom random = new SplittableRandom(run);
        long[] offsets = random.longs(requests, 0, info.nextOffset() - 1).toArray();
        AtomicInteger next = new AtomicInteger();
        AtomicLong bytes = new AtomicLong();
        AtomicLong wanted = new AtomicLong();
        for (long offset : offsets) {
            wanted.addAndGet(Math.min(records, info.nextOffset() - 1 - offset) * recordBytes);
        }
        measure("read", run, wanted.get(), () -> {
            Fetched fetched = null;
            for (int i = next.getAndIncrement(); i < requests; i = next.getAndIncrement()) {
                long count = Math.min(records, info.nextOffset() - 1 - offsets[i]);
                ReadOptions options = new ReadOptions(offsets[i], count, 0, Duration.ofSeconds(5));
                fetched = client.read(topic, options, fetched);
                check(fetched.firstOffset() == offsets[i] && fetched.nextOffset() == offsets[i] + count, fetched);
                long raw = 0;
                for (Batch batch : fetched.batches()) {
                    raw += batch.header().rawBytes();
                }
                long sum = 0;
                for (Records all = fetched.records(); all.next(); ) {
                    sum += all.length();
                }
                check(sum == raw, fetched);
                bytes.addAndGet(sum);
            }
        });
        check(bytes.get() == wanted.get(), bytes + " bytes of " + wanted + "; give bytes= of one record");
    }

    private void measure(String what, int run, long bytes, Runnable work) throws Exception {
        ExecutorService pool = Executors.newFixedThreadPool(workers);
        long cpuNs = cpuNs();
        long beganNs = System.nanoTime();
        List<Future<?>> ends = new ArrayList<>();
        for (int i = 0; i < workers; i++) {
            ends.add(pool.submit(work));
        }
        for (Future<?> end : ends) {
            end.get();
        }
        double seconds = (System.nanoTime() - beganNs) / 1e9;
        double cpu = (cpuNs() - cpuNs) / 1e9;
        pool.shutdown();
        System.out.printf(
                "java %s %s: %.3f s, %.1f MB/s, CPU s/GB, client %.3f%n",
                what, run == 0 ? "warm-up" : "run " + run, seconds, bytes / 1e6 / seconds, cpu / (bytes / 1e9));
    }

    private static long cpuNs() {
        return ((com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean())
                .getProcessCpuTime();
    }

    private static long crc(ByteBuffer data) {
        CRC32C crc = new CRC32C();
        crc.update(data.duplicate());
        return crc.getValue();
    }

    private static void check(boolean right, Object what) {
        if (!right) {
            throw new IllegalStateException("the broker's answer is wrong: " + what);
        }
    }
}
