package io.rawline.internal.http;

import io.rawline.internal.setting.Nanos;
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
 * One HTTP/1.1 connection: sends from and receives into the caller's memory. One thread may send while another
 * receives.
 *
 * <p>Not the JDK's HttpClient: it receives in pieces of 16 KiB on other threads, costs 1.2 seconds of CPU per GB of
 * responses where this costs 0.2, and reads at a sixth of the speed.
 */
final class Connection implements Call.Blocking, Liveness.Waiting {
    /**
     * Size of the receive buffer for heads of responses, and for the start of a body that arrives with them.
     */
    private static final int HEAD_BYTES = 16 << 10;
    /** Maximum size of heap memory per write: the JDK copies it first, which is fastest within the caches. */
    private static final int COPIED_BYTES = 128 << 10;

    private final SocketChannel channel;
    private final Peer peer;
    /** Bytes received and not yet consumed, from position to limit. */
    private final ByteBuffer received = ByteBuffer.allocateDirect(HEAD_BYTES).limit(0);

    /** Null for unencrypted connections. */
    private Tls tls;

    /** While something is expected of the broker: when to ask whether it lives, as {@link System#nanoTime}. */
    private volatile long askAtNs;

    private Connection(SocketChannel channel, Peer peer) {
        this.channel = channel;
        this.peer = peer;
    }

    /**
     * Connects to the host's first address that accepts the connection, with TLS if there is a {@code context}.
     *
     * @throws SSLException the TLS handshake failed
     */
    static Connection open(Address address, Peer peer, SSLContext context, Duration timeout, Call call)
            throws IOException {
        IOException failed = null;
        InetAddress[] ips = InetAddress.getAllByName(address.host());
        // Each address gets a share of the time, so that one that drops packets leaves time for the others.
        long partNs = Nanos.of(timeout) / Math.max(1, ips.length);
        for (InetAddress ip : ips) {
            long deadlineNs = System.nanoTime() + partNs;
            Connection connection = new Connection(SocketChannel.open(), peer);
            if (!call.use(connection)) {
                throw new EOFException("the call has ended");
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
                failed = new IOException(String.format("no response within %.1f s", partNs / 1e9), error);
            } catch (IOException error) {
                failed = error;
            }
            connection.close();
        }
        throw failed == null ? new IOException("the host name has no address") : failed;
    }

    private static int millisUntil(long deadlineNs) {
        long left = (deadlineNs - System.nanoTime()) / 1_000_000;
        return (int) Math.max(1, Math.min(left, Integer.MAX_VALUE));
    }

    /** Whether it can carry a request, as far as is known without blocking. */
    boolean isOpen() {
        if (peer.isSilent()) {
            return false;
        }
        if (received.hasRemaining()) {
            // More was received than the response's length: the next response's start is unknown.
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

    /** The broker at the other end. */
    Peer peer() {
        return peer;
    }

    /** From now on, something is expected of the broker, which may wait for so long before it responds. */
    void expect(long waitNs) {
        askAtNs = System.nanoTime() + Math.min(waitNs, Nanos.MAX) + Liveness.PATIENCE_NS;
        peer.add(this);
    }

    /** Nothing is expected any more. */
    void expectNothing() {
        peer.remove(this);
    }

    @Override
    public long askInNs(long nowNs) {
        return askAtNs - nowNs;
    }

    @Override
    public void foundSilent() {
        close();
    }

    /** The meaning of a failure. */
    private IOException explain(IOException failure) {
        return peer.isSilent() ? new IOException(Peer.SILENCE, failure) : failure;
    }

    /** Sends the buffers in order, without joining them; direct memory is not copied. */
    void send(ByteBuffer[] buffers) throws IOException {
        try {
            sendAll(buffers);
        } catch (IOException error) {
            throw explain(error);
        }
    }

    private void sendAll(ByteBuffer[] buffers) throws IOException {
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

    /** Splits long buffers of heap memory. */
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

    /** The received bytes that aren't consumed yet; the caller consumes from them. */
    ByteBuffer received() {
        return received;
    }

    /** Receives more, after all that was received has been consumed; false at the end of the stream. */
    boolean receive() throws IOException {
        if (received.hasRemaining()) {
            throw new IllegalStateException(received.remaining() + " received bytes were not consumed");
        }
        int read = receive(received.clear());
        received.flip();
        return read >= 0;
    }

    /** Receives what is available, at least one byte, up to {@code to}'s limit; -1 at the end of the stream. */
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
        try {
            int read = tls == null ? channel.read(to) : tls.read(to);
            // The rest of a response follows without a wait.
            askAtNs = System.nanoTime() + Liveness.PATIENCE_NS;
            return read;
        } catch (IOException error) {
            throw explain(error);
        }
    }

    @Override
    public void close() {
        try {
            channel.close();
        } catch (IOException error) {
            // The connection isn't used again, whatever its state.
        }
    }
}
