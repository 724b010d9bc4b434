package io.rawline.http;

import java.io.EOFException;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.time.Duration;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLException;

/**
 * One HTTP/1.1 connection: bytes out of the caller's memory, bytes into the caller's memory.
 *
 * <p>Not the JDK's HttpClient: that one receives in pieces of 16 KiB on other threads, and costs 1.2 seconds of CPU a
 * GB of answers where this costs 0.2, and reads at a sixth of the speed.
 */
final class Connection {
    /**
     * What is received in one piece before it is known where to: the head of an answer and what little comes with it.
     */
    private static final int HEAD_BYTES = 16 << 10;
    /** Most that is sent at once of what the system can't send in place: it is copied first, best within the caches. */
    private static final int COPIED_BYTES = 128 << 10;

    private final SocketChannel channel;
    /** What was received and not yet taken, from position to limit. */
    private final ByteBuffer received = ByteBuffer.allocateDirect(HEAD_BYTES).limit(0);

    /** Null where the bytes go in the clear. */
    private Tls tls;

    private Connection(SocketChannel channel) {
        this.channel = channel;
    }

    /**
     * Connects to the first address of the host that answers, with {@code context} through TLS. SSLException: it
     * answers, but not in a way that can be trusted.
     */
    static Connection open(Address address, SSLContext context, Duration timeout, Call call) throws IOException {
        IOException failed = null;
        InetAddress[] ips = InetAddress.getAllByName(address.host());
        // Each has its part, so that one which swallows what it is sent leaves time for the others.
        long partNs = Nanos.of(timeout) / Math.max(1, ips.length);
        for (InetAddress ip : ips) {
            long deadlineNs = System.nanoTime() + partNs;
            Connection connection = new Connection(SocketChannel.open());
            if (!call.use(connection)) {
                throw new EOFException("the call was ended");
            }
            try {
                connection.channel.setOption(StandardSocketOptions.TCP_NODELAY, true);
                Socket socket = connection.channel.socket();
                socket.connect(new InetSocketAddress(ip, address.port()), millisUntil(deadlineNs));
                if (context != null) {
                    connection.tls = new Tls(context, socket, address, millisUntil(deadlineNs));
                }
                return connection;
            } catch (SSLException error) {
                connection.close();
                throw error;
            } catch (SocketTimeoutException error) {
                failed = new IOException(String.format("no answer within %.1f s", partNs / 1e9), error);
            } catch (IOException error) {
                failed = error;
            }
            connection.close();
        }
        throw failed == null ? new IOException("the name has no address") : failed;
    }

    private static int millisUntil(long deadlineNs) {
        long left = (deadlineNs - System.nanoTime()) / 1_000_000;
        return (int) Math.max(1, Math.min(left, Integer.MAX_VALUE));
    }

    /** Whether it can carry a request, as far as is known without waiting. */
    boolean isOpen() {
        if (received.hasRemaining()) {
            // More came than the answer was long: nobody knows what the next one begins with.
            return false;
        }
        try {
            channel.configureBlocking(false);
            int read = channel.read(received.clear());
            channel.configureBlocking(true);
            received.limit(0);
            return read == 0;
        } catch (IOException error) {
            return false;
        }
    }

    /** Sends the buffers one after the other, never joined; those in direct memory are not copied either. */
    void send(ByteBuffer[] buffers) throws IOException {
        if (tls != null) {
            tls.send(buffers);
            return;
        }
        ByteBuffer[] pieces = cut(buffers);
        int first = 0;
        while (first < pieces.length) {
            int count = 1;
            int copied = pieces[first].isDirect() ? 0 : pieces[first].remaining();
            while (first + count < pieces.length && copied <= COPIED_BYTES) {
                copied += pieces[first + count].isDirect() ? 0 : pieces[first + count].remaining();
                count++;
            }
            channel.write(pieces, first, count);
            while (first < pieces.length && !pieces[first].hasRemaining()) {
                first++;
            }
        }
    }

    /** Long buffers outside of direct memory in shorter ones. */
    private static ByteBuffer[] cut(ByteBuffer[] buffers) {
        int count = 0;
        for (ByteBuffer buffer : buffers) {
            count += piecesOf(buffer);
        }
        if (count == buffers.length) {
            return buffers;
        }
        ByteBuffer[] pieces = new ByteBuffer[count];
        int at = 0;
        for (ByteBuffer buffer : buffers) {
            int ofThis = piecesOf(buffer);
            for (int i = 0; i < ofThis; i++) {
                int start = buffer.position() + i * COPIED_BYTES;
                int end = i == ofThis - 1 ? buffer.limit() : start + COPIED_BYTES;
                pieces[at++] = buffer.duplicate().limit(end).position(start);
            }
        }
        return pieces;
    }

    private static int piecesOf(ByteBuffer buffer) {
        return buffer.isDirect() ? 1 : Math.max(1, (buffer.remaining() + COPIED_BYTES - 1) / COPIED_BYTES);
    }

    /** The next byte; -1 if the connection was closed. */
    int readByte() throws IOException {
        while (!received.hasRemaining()) {
            received.clear();
            int read = receive(received);
            received.flip();
            if (read < 0) {
                return -1;
            }
        }
        return received.get() & 0xff;
    }

    /** Receives what is there, at least one byte and no more than {@code to} has room for; -1 if it was closed. */
    int read(ByteBuffer to) throws IOException {
        if (!received.hasRemaining()) {
            return receive(to);
        }
        int count = Math.min(received.remaining(), to.remaining());
        to.put(received.slice().limit(count));
        received.position(received.position() + count);
        return count;
    }

    private int receive(ByteBuffer to) throws IOException {
        return tls == null ? channel.read(to) : tls.read(to);
    }

    /** Ends it, also for a thread that waits in it. */
    void close() {
        try {
            channel.close();
        } catch (IOException error) {
            // Nobody has a use for it any more, however it ends.
        }
    }
}
