/* What JMH measures: the four operations of one row, on one case's messages. */
package io.rawline.lab;

import io.rawline.lab.message.Message;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;

/**
 * A process measures one row on one case, so the row's interface has one implementation there and calls through it are
 * inlined as if it did not exist. Results go into JMH's compiler blackhole, which costs nothing and keeps them from
 * being optimized away.
 */
@State(Scope.Thread)
public class Operations {
    /** The measurements of this process; set before JMH is started. */
    static volatile RowKind kind;

    static volatile Case kase;

    @Param("base")
    public String size;

    /** "varied": the file's messages in turn; "one": the first one repeated. */
    @Param("varied")
    public String messages;

    // JMH creates a new state to warm up and to measure. The row is kept, since a library's first use differs from
    // later ones.
    private static final Queue<Opened> IDLE = new ConcurrentLinkedQueue<>();

    private Opened opened;
    private Row<Object, Object> row;
    private Object[] prepared;
    private byte[][] encoded;
    private int next;

    /** A row with its messages: the library's objects, and their bytes. */
    private record Opened(String key, Row<Object, Object> row, Object[] prepared, byte[][] encoded) {}

    /** Each thread has its own row, buffers and messages. */
    @Setup
    public void open() throws Exception {
        opened = idle(size + messages);
        if (opened == null) {
            List<Message> all = kase.messages(Lab.folder(), size);
            int count = messages.equals("one") ? 1 : all.size();
            opened = new Opened(size + messages, kind.open(kase), new Object[count], new byte[count][]);
            for (int i = 0; i < count; i++) {
                opened.prepared[i] = opened.row.prepare(all.get(i));
                opened.encoded[i] = opened.row.bytes(opened.row.encode(opened.prepared[i]));
            }
        }
        row = opened.row;
        prepared = opened.prepared;
        encoded = opened.encoded;
    }

    @TearDown
    public void close() {
        IDLE.add(opened);
    }

    private static Opened idle(String key) {
        for (Opened opened : IDLE) {
            if (opened.key.equals(key) && IDLE.remove(opened)) {
                return opened;
            }
        }
        return null;
    }

    private int next() {
        int now = next;
        next = now + 1 == encoded.length ? 0 : now + 1;
        return now;
    }

    @Benchmark
    public Object encode() throws Exception {
        return row.encode(prepared[next()]);
    }

    @Benchmark
    public Object decode() throws Exception {
        return row.decode(encoded[next()]);
    }

    @Benchmark
    public long field() throws Exception {
        return row.field(encoded[next()]);
    }

    @Benchmark
    public long fields() throws Exception {
        return row.fields(encoded[next()]);
    }
}
