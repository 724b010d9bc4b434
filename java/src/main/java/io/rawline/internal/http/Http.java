package io.rawline.internal.http;

import io.rawline.error.AnswerException;
import io.rawline.error.ConfigException;
import io.rawline.error.ConnectionBrokenException;
import io.rawline.error.RawlineException;
import io.rawline.error.RefusedException;
import io.rawline.error.StoppedException;
import io.rawline.error.TlsException;
import io.rawline.error.UnreachableException;
import io.rawline.internal.http.ResponseParser.NotHttpException;
import io.rawline.internal.setting.Nanos;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.net.ConnectException;
import java.net.NoRouteToHostException;
import java.net.SocketTimeoutException;
import java.net.UnknownHostException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.time.Duration;
import java.util.Base64;
import java.util.Map;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLException;

/** The connections to a broker, or to one of several: sends requests, receives responses. */
public final class Http {
    /** The header that names the broker of the client's zone that serves such reads. */
    public static final String NEARER = "rawline-nearer";
    /** Maximum size of a JSON response in bytes: a page of topics has up to 8 MB. */
    private static final int TEXT_BYTES_MAX = 32 << 20;
    /** Maximum size of an error response that is read, in bytes. */
    private static final int REFUSAL_BYTES_MAX = 64 << 10;

    private static final int TEXT_PIECE_BYTES = 8 << 10;

    /**
     * Maximum time to connect to a broker that another one has named. The URL that it gives other brokers may lead
     * nowhere from here, and the request can continue elsewhere.
     */
    private static final long NAMED_CONNECT_NS_MAX = 1_000_000_000;

    /**
     * Number of short appends in flight that have their own connections; further ones share some. On its own, an
     * append is written and its response received by its caller: two changes of threads less, which is faster until
     * so many are in flight that a shared write pays for them.
     */
    private static final int ALONE_MAX = 4;

    /**
     * How long a broker may send nothing on a WebSocket, in addition to {@link Liveness#PATIENCE_NS}, before it is
     * checked: it sends a message or a ping every 15 s.
     */
    private static final long MESSAGE_PATIENCE_NS = 18_000_000_000L;

    private static final ThreadFactory QUESTIONS = Daemons.factory("rawline-question");

    private final HttpConfig config;
    private final Addresses addresses;
    /** The header lines of all requests; may be empty. */
    private final String common;
    /** Null if no connection is encrypted. */
    private final SSLContext sslContext;

    private final ScheduledThreadPoolExecutor timers;
    private final Pool pool;
    private final Pipelines pipelines = new Pipelines(() -> connect(new Call()));
    /** Number of short appends in flight, other than those that were queued by {@link #begin}. */
    private final AtomicInteger appends = new AtomicInteger();

    private volatile boolean closed;

    public Http(HttpConfig config) {
        this(config, timers(), null);
    }

    private Http(HttpConfig config, ScheduledThreadPoolExecutor timers, Addresses others) {
        this.config = config;
        this.timers = timers;
        this.addresses = Addresses.parse(config.broker(), others, this::liveness);
        this.common = authorization(config.apiKey()) + zone(config.zone());
        this.sslContext = addresses.hasEncrypted() ? sslContext(config.sslContext()) : null;
        pool = new Pool(config.connectionsIdleMax(), timers);
    }

    private static ScheduledThreadPoolExecutor timers() {
        ScheduledThreadPoolExecutor timers = new ScheduledThreadPoolExecutor(1, Daemons.factory("rawline-timer"));
        timers.setRemoveOnCancelPolicy(true);
        // So that a client that isn't closed leaks no thread.
        timers.setKeepAliveTime(10, TimeUnit.SECONDS);
        timers.allowCoreThreadTimeOut(true);
        return timers;
    }

    /**
     * The connections to another broker of the same storage, with the same settings. Null if its URL isn't that of a
     * broker, or has another scheme than those of this one: encrypted data, including the key, stays encrypted.
     */
    public Http named(String url) {
        Address address;
        try {
            address = Address.parse(url);
        } catch (ConfigException error) {
            return null;
        }
        // A comma would make it a list of addresses.
        if (url.indexOf(',') >= 0 || !addresses.allHaveSchemeOf(address)) {
            return null;
        }
        // Half of the request's time, so that this fails first.
        long connectNs = Math.min(NAMED_CONNECT_NS_MAX, Nanos.of(config.requestTimeout()) / 2);
        HttpConfig named = new HttpConfig(
                url,
                config.apiKey(),
                config.zone(),
                Duration.ofNanos(Math.min(connectNs, Nanos.of(config.connectTimeout()))),
                config.requestTimeout(),
                config.connectionsIdleMax(),
                config.sslContext());
        return new Http(named, timers, addresses);
    }

    /** Whether this is the URL of the broker that was used last. */
    public boolean isAt(String url) {
        try {
            return addresses.current().isSame(Address.parse(url));
        } catch (ConfigException error) {
            return false;
        }
    }

    private static String authorization(String key) {
        if (key == null) {
            return "";
        }
        if (!key.chars().allMatch(c -> c > ' ' && c < 0x7f)) {
            throw new ConfigException(
                    "the API key has characters that an HTTP header can't carry; use printable ASCII without spaces",
                    null);
        }
        return "authorization: Bearer " + key + "\r\n";
    }

    private static String zone(String zone) {
        if (zone == null) {
            return "";
        }
        if (zone.chars().anyMatch(c -> c < ' ' || c == 0x7f)) {
            throw new ConfigException(
                    "the zone has control characters, which an HTTP header can't carry; use the name of a broker's"
                            + " --zone",
                    null);
        }
        // Requests are written with one byte for each character.
        String bytes = new String(zone.getBytes(StandardCharsets.UTF_8), StandardCharsets.ISO_8859_1);
        return "rawline-zone: " + bytes + "\r\n";
    }

    private static SSLContext sslContext(SSLContext given) {
        try {
            return given != null ? given : SSLContext.getDefault();
        } catch (NoSuchAlgorithmException error) {
            throw new ConfigException(
                    "Java can't load its trusted certificates (" + error.getMessage()
                            + "); check javax.net.ssl.trustStore",
                    error);
        }
    }

    /** Reads a successful response; the connection is reused if it reads the body to its end. */
    public interface Reader<T> {
        T read(Exchange exchange) throws IOException;
    }

    /**
     * Sends a request, without retries, and reads the response; throws if that is an error. The request's timeout is
     * extended by {@code wait}.
     */
    public <T> T send(Call call, Request request, Duration wait, Reader<T> reader) {
        return send(call, request, Math.min(Nanos.of(config.requestTimeout()) + Nanos.of(wait), Nanos.MAX), reader);
    }

    private <T> T send(Call call, Request request, long limitNs, Reader<T> reader) {
        checkOpen();
        call.begin(limitNs, timers);
        try {
            Exchange exchange = open(call, request, limitNs - Nanos.of(config.requestTimeout()));
            try {
                if (exchange.status() >= 300) {
                    if (!request.isGet()) {
                        // Part of the refused request may be unsent.
                        exchange.endConnection();
                    }
                    throw refused(exchange);
                }
                return reader.read(exchange);
            } catch (IOException error) {
                throw broken(call, error);
            } finally {
                keep(call, exchange);
            }
        } finally {
            call.end();
        }
    }

    /** As {@link #send}, for a short response. */
    public byte[] text(Call call, Request request) {
        return text(call, request, Duration.ZERO);
    }

    /** As {@link #text(Call, Request)}; the request's timeout is extended by {@code wait}. */
    public byte[] text(Call call, Request request, Duration wait) {
        return send(call, request, wait, this::text);
    }

    /** As {@link #text(Call, Request)}; the request times out after {@code limitNs} if that is sooner. */
    public byte[] textWithin(Call call, Request request, long limitNs) {
        return send(call, request, Math.min(limitNs, Nanos.of(config.requestTimeout())), this::text);
    }

    private byte[] text(Exchange exchange) throws IOException {
        byte[] text = text(exchange, TEXT_BYTES_MAX);
        if (text == null) {
            throw unexpected("more than " + TEXT_BYTES_MAX + " bytes", null);
        }
        return text;
    }

    /**
     * Sends an append, without retries, and reads the response. If it is small and others are in flight, it shares a
     * connection with them.
     */
    public AppendResponse append(Call call, Request request) {
        if (request.isLong()) {
            return appendAlone(call, request);
        }
        boolean isAlone = appends.getAndIncrement() < ALONE_MAX;
        try {
            QueuedRequest queued = isAlone ? null : begin(request, null);
            return queued == null ? appendAlone(call, request) : await(call, queued);
        } finally {
            appends.decrementAndGet();
        }
    }

    /** As {@link #append}; shares no connection. */
    public AppendResponse appendAlone(Call call, Request request) {
        return send(
                call,
                request,
                Duration.ZERO,
                exchange -> new AppendResponse(text(exchange), exchange.header(AppendResponse.OWNER)));
    }

    /**
     * Queues an append on a connection that it shares with others; doesn't wait. Null if it is not small enough.
     *
     * @param after null, or an append that it is sent after: they arrive in this order unless the connection breaks
     */
    public QueuedRequest begin(Request request, QueuedRequest after) {
        checkOpen();
        if (Thread.currentThread().isInterrupted()) {
            throw Call.interrupted(null);
        }
        byte[] bytes = request.small(addresses.first(), common);
        return bytes == null ? null : pipelines.begin(bytes, Nanos.of(config.requestTimeout()), after);
    }

    /** Waits for the response to a queued append; throws if that is an error. */
    public AppendResponse await(Call call, QueuedRequest queued) {
        call.begin(Nanos.of(config.requestTimeout()));
        if (!call.use(queued)) {
            throw broken(call, null);
        }
        Replies.Reply reply;
        try {
            reply = queued.await(call);
        } catch (IOException error) {
            throw broken(call, error);
        } finally {
            call.release();
        }
        if (reply.head().status() >= 300) {
            throw refused(reply.head(), reply.body());
        }
        return new AppendResponse(reply.body(), reply.head().header(AppendResponse.OWNER));
    }

    /**
     * Opens a WebSocket, on its own connection and without retries. The request's headers are extended by those that
     * ask for it.
     */
    public WebSocket webSocket(Call call, Request request) {
        checkOpen();
        byte[] random = new byte[16];
        ThreadLocalRandom.current().nextBytes(random);
        String key = Base64.getEncoder().encodeToString(random);
        Request upgrade = new Request(
                request.method(),
                request.target(),
                request.headers() + "connection: Upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\n"
                        + "sec-websocket-key: " + key + "\r\n");
        call.begin(Nanos.of(config.requestTimeout()), timers);
        try {
            if (Thread.currentThread().isInterrupted()) {
                throw Call.interrupted(null);
            }
            Connection connection = connect(call);
            boolean opened = false;
            try {
                connection.expect(0);
                Exchange exchange = exchange(connection, upgrade);
                if (exchange.status() >= 300) {
                    throw refused(exchange);
                }
                if (exchange.status() != ResponseParser.SWITCHING_PROTOCOLS
                        || !acceptOf(key).equals(exchange.header("sec-websocket-accept"))) {
                    throw unexpected("status " + exchange.status() + " for a request that opens a WebSocket", null);
                }
                opened = call.release();
                if (!opened) {
                    throw broken(call, null);
                }
                connection.expectNothing();
                return new WebSocket(connection, exchange.header(NEARER));
            } catch (IOException error) {
                throw broken(call, error);
            } finally {
                if (!opened) {
                    forget(call, connection);
                }
            }
        } finally {
            call.end();
        }
    }

    /** The response of a server to a key (RFC 6455, section 4.2.2). */
    private static String acceptOf(String key) {
        try {
            byte[] text = (key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").getBytes(StandardCharsets.ISO_8859_1);
            return Base64.getEncoder()
                    .encodeToString(MessageDigest.getInstance("SHA-1").digest(text));
        } catch (NoSuchAlgorithmException error) {
            throw new IllegalStateException("every Java has SHA-1", error);
        }
    }

    /** Something that is received of a WebSocket. */
    public interface Receiver<T> {
        T receive(WebSocket socket) throws IOException;
    }

    /** Receives something of a WebSocket within a time. After an error, the socket is closed. */
    public <T> T receive(Call call, WebSocket socket, Duration limit, Receiver<T> receiver) {
        call.begin(Nanos.of(limit), timers);
        boolean received = false;
        try {
            if (Thread.currentThread().isInterrupted()) {
                throw Call.interrupted(null);
            }
            if (!call.use(socket.connection())) {
                throw broken(call, null);
            }
            socket.connection().expect(MESSAGE_PATIENCE_NS);
            T result = receiver.receive(socket);
            received = call.release();
            if (!received) {
                throw broken(call, null);
            }
            return result;
        } catch (IOException error) {
            throw broken(call, error);
        } finally {
            socket.connection().expectNothing();
            if (!received) {
                call.release();
                socket.close();
            }
            call.end();
        }
    }

    private void checkOpen() {
        if (closed) {
            throw new StoppedException("the client is closed; create a new one", null);
        }
    }

    /** The error for a response that a broker doesn't send. */
    public RawlineException unexpected(String reason, Throwable cause) {
        return new AnswerException(
                addresses.current().url() + " sent a response that a broker doesn't send (" + reason
                        + "); check that the URL is a broker's",
                cause);
    }

    /** Closes the idle connections. Requests in flight complete, further ones fail. */
    public void close() {
        closed = true;
        closeIdle();
    }

    /** Closes the idle connections, and from now on keeps none. */
    public void closeIdle() {
        pool.close();
        pipelines.close();
    }

    /**
     * Sends a request and reads the head of the response. A reused connection that the broker has closed meanwhile is
     * silently replaced, if the request can't have had an effect.
     *
     * @param waitNs how long the request lets the broker wait
     */
    private Exchange open(Call call, Request request, long waitNs) {
        if (Thread.currentThread().isInterrupted()) {
            // The interrupt would close any connection that the thread uses.
            throw Call.interrupted(null);
        }
        while (true) {
            Connection connection = pool.take();
            boolean fresh = connection == null;
            if (fresh) {
                connection = connect(call);
            } else if (!call.use(connection)) {
                throw broken(call, null);
            }
            try {
                connection.expect(Math.max(0, waitNs));
                return exchange(connection, request);
            } catch (NotHttpException error) {
                forget(call, connection);
                throw unexpected(error.getMessage(), error);
            } catch (IOException error) {
                boolean live = forget(call, connection);
                if (fresh || !live || !request.isGet()) {
                    throw broken(call, error);
                }
            }
        }
    }

    private Exchange exchange(Connection connection, Request request) throws IOException {
        try {
            connection.send(request.bytes(addresses.first(), common));
        } catch (IOException error) {
            // A broker that refuses a request may close before it has read the rest; its response may still arrive.
            try {
                return new Exchange(connection);
            } catch (IOException nothing) {
                throw error;
            }
        }
        return new Exchange(connection);
    }

    /** Advice for a failed handshake. */
    private static String tlsHint(SSLException error) {
        if (String.valueOf(error.getMessage()).contains("Unsupported or unrecognized SSL message")) {
            return "if the broker runs without TLS, use http:// in its address";
        }
        return "check its certificate, and make Java trust its issuer: with `keytool -importcert`,"
                + " javax.net.ssl.trustStore, or the client's sslContext";
    }

    private Connection connect(Call call) {
        try {
            return addresses.connect(
                    (address, peer) -> Connection.open(address, peer, tls(address), config.connectTimeout(), call));
        } catch (Addresses.NotConnectedException error) {
            throw call.explain(error.reason, error.address, notConnected(error.address, error.reason));
        }
    }

    private SSLContext tls(Address address) {
        return address.encrypted() ? sslContext : null;
    }

    /** Whether no broker has responded lately. */
    public boolean isSilent() {
        return addresses.areAvoided();
    }

    private Liveness liveness(Address address) {
        return new Liveness(
                () -> ask(address),
                question -> QUESTIONS.newThread(question).start(),
                tick -> timers.schedule(tick, Liveness.TICK_NS, TimeUnit.NANOSECONDS),
                System::nanoTime);
    }

    /** Asks a broker whether it lives, on a new connection. */
    private Liveness.Answer ask(Address address) {
        Call call = new Call();
        call.begin(Liveness.QUESTION_NS_MAX, timers);
        Connection connection = null;
        try {
            Duration wait = Duration.ofNanos(Liveness.QUESTION_NS_MAX);
            connection = Connection.open(address, Peer.of(null), tls(address), wait, call);
            connection.send(Request.get("/health").bytes(address, ""));
            new Exchange(connection);
            return Liveness.Answer.LIVES;
        } catch (NotHttpException error) {
            return Liveness.Answer.LIVES;
        } catch (IOException error) {
            boolean isLate = !call.release() || error.getCause() instanceof SocketTimeoutException;
            boolean isGone = error instanceof ConnectException || error instanceof NoRouteToHostException;
            // Other failures may be this machine's, or those of a server that has too many connections.
            return isLate || isGone ? Liveness.Answer.SILENT : Liveness.Answer.UNKNOWN;
        } finally {
            call.end();
            call.release();
            if (connection != null) {
                connection.close();
            }
        }
    }

    private static RawlineException notConnected(Address address, IOException error) {
        if (error instanceof SSLException failed) {
            return new TlsException(
                    "TLS handshake with " + address.url() + " failed (" + error.getMessage() + "); " + tlsHint(failed),
                    error);
        }
        String reason = error instanceof UnknownHostException
                ? "the host name \"" + address.host() + "\" is not known"
                : String.valueOf(error.getMessage());
        return new UnreachableException(
                "can't connect to " + address.url() + " (" + reason
                        + "); check that the broker is running: `rawline serve` starts one",
                error);
    }

    private boolean forget(Call call, Connection connection) {
        boolean live = call.release();
        connection.expectNothing();
        connection.close();
        return live;
    }

    private void keep(Call call, Exchange exchange) {
        exchange.connection().expectNothing();
        if (!call.release()) {
            return;
        }
        if (exchange.isReusable()) {
            pool.give(exchange.connection());
        } else {
            exchange.connection().close();
        }
    }

    private RawlineException broken(Call call, IOException error) {
        if (error instanceof NotHttpException) {
            return unexpected(error.getMessage(), error);
        }
        String reason = error == null ? "it was closed" : String.valueOf(error.getMessage());
        Address address = addresses.current();
        return call.explain(
                error,
                address,
                new ConnectionBrokenException(
                        "the connection to " + address.url() + " broke (" + reason
                                + "); check that the broker is still running, then retry",
                        error));
    }

    /** The whole body, or null if it is longer than {@code bytesMax}. */
    private static byte[] text(Exchange exchange, int bytesMax) throws IOException {
        ByteArrayOutputStream text = new ByteArrayOutputStream();
        ByteBuffer piece = ByteBuffer.allocate(TEXT_PIECE_BYTES);
        while (exchange.read(piece.clear()) >= 0) {
            text.write(piece.array(), 0, piece.position());
            if (text.size() > bytesMax) {
                return null;
            }
        }
        return text.toByteArray();
    }

    private static RawlineException refused(Exchange exchange) {
        byte[] text = null;
        try {
            text = text(exchange, REFUSAL_BYTES_MAX);
        } catch (IOException error) {
            // A broker that refuses a request may close before its message is read: the status is enough.
        }
        return refused(exchange.response(), text);
    }

    /**
     * The error of a response; without a broker's message, the status alone.
     *
     * @param text the body, or null if it was not read
     */
    private static RawlineException refused(ResponseParser response, byte[] text) {
        String message = text == null ? "" : new String(text, StandardCharsets.UTF_8);
        Duration retryAfter = retryAfter(response.header("retry-after"));
        if (Json.parseOrNull(message) instanceof Map<?, ?> refusal
                && refusal.get("code") instanceof String code
                && refusal.get("error") instanceof String sentence) {
            return new RefusedException(response.status(), code, sentence, retryAfter);
        }
        String type = response.header("content-type");
        boolean plain = type == null || type.startsWith("text/plain");
        String status = "status " + response.status();
        String sentence = plain && !message.isBlank() && message.length() <= 500 ? message.strip() : status;
        return new RefusedException(response.status(), status.replace(' ', '_'), sentence, retryAfter);
    }

    private static Duration retryAfter(String seconds) {
        try {
            return seconds == null ? null : Duration.ofSeconds(Math.max(0, Long.parseLong(seconds.trim())));
        } catch (NumberFormatException error) {
            return null;
        }
    }
}
