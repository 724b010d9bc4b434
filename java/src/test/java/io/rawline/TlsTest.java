package io.rawline;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rawline.batch.Batch;
import io.rawline.consumer.Consumer;
import io.rawline.error.ErrorKind;
import io.rawline.error.RawlineException;
import io.rawline.error.RequestTimeoutException;
import io.rawline.error.RetryPolicy;
import io.rawline.error.TlsException;
import io.rawline.error.UnreachableException;
import io.rawline.producer.Producer;
import io.rawline.record.Fetched;
import io.rawline.record.ReadOptions;
import io.rawline.subscription.Subscription;
import io.rawline.subscription.SubscriptionConfig;
import io.rawline.testkit.Background;
import io.rawline.testkit.Broker;
import io.rawline.topic.Payload;
import io.rawline.topic.TopicInfo;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.URI;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.cert.CertificateFactory;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A real broker with a TLS proxy. */
class TlsTest {
    private static final char[] PASSWORD = "password".toCharArray();

    @TempDir
    static Path directory;

    private static SSLContext context;

    @BeforeAll
    static void makeCertificate() throws Exception {
        context = context("named", "ip:127.0.0.1");
    }

    /** A context with a certificate for this name, which trusts only that certificate. */
    private static SSLContext context(String file, String name) throws Exception {
        Path path = directory.resolve(file);
        Process keytool = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "keytool")
                                .toString(),
                        "-genkeypair",
                        "-keyalg",
                        "EC",
                        "-alias",
                        "broker",
                        "-dname",
                        "CN=broker",
                        "-ext",
                        "san=" + name,
                        "-storetype",
                        "PKCS12",
                        "-storepass",
                        new String(PASSWORD),
                        "-keystore",
                        path.toString())
                .start();
        assertEquals(0, keytool.waitFor());
        KeyStore keys = KeyStore.getInstance("PKCS12");
        try (InputStream in = Files.newInputStream(path)) {
            keys.load(in, PASSWORD);
        }
        return context(keys);
    }

    private static SSLContext context(KeyStore keys) throws GeneralSecurityException, IOException {
        KeyManagerFactory keyManagers = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
        keyManagers.init(keys, PASSWORD);
        KeyStore trusted = KeyStore.getInstance("PKCS12");
        trusted.load(null, null);
        trusted.setCertificateEntry("broker", keys.getCertificate("broker"));
        TrustManagerFactory trustManagers = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
        trustManagers.init(trusted);
        SSLContext context = SSLContext.getInstance("TLS");
        context.init(keyManagers.getKeyManagers(), trustManagers.getTrustManagers(), null);
        return context;
    }

    /** A proxy that terminates TLS, until its socket is closed. */
    private static ServerSocket proxy(SSLContext context, Broker broker) throws IOException {
        ServerSocket server =
                context.getServerSocketFactory().createServerSocket(0, 50, InetAddress.getByName("127.0.0.1"));
        URI url = URI.create(broker.url());
        Background.start(() -> {
            while (true) {
                Socket outside = server.accept();
                Socket inside = new Socket(url.getHost(), url.getPort());
                pump(outside, inside);
                pump(inside, outside);
            }
        });
        return server;
    }

    private static void pump(Socket from, Socket to) {
        Background.start(() -> {
            try (from;
                    to) {
                from.getInputStream().transferTo(to.getOutputStream());
            }
        });
    }

    private static ClientConfig config(ServerSocket proxy, SSLContext trusted) {
        return new ClientConfig("https://127.0.0.1:" + proxy.getLocalPort())
                .sslContext(trusted)
                .retries(RetryPolicy.NONE);
    }

    @Test
    void allRequestsWorkOverTls() throws Exception {
        try (Broker broker = Broker.start("--api-key", "secret");
                ServerSocket proxy = proxy(context, broker);
                Client client = new Client(config(proxy, context).apiKey("secret"))) {
            byte[] data = new byte[5 << 20];
            new Random(4).nextBytes(data);
            for (int i = 0; i < 3; i++) {
                client.appendRecords("t", new int[] {data.length}, ByteBuffer.wrap(data));
            }
            Fetched fetched = client.read("t", ReadOptions.from(1));
            assertEquals(2, fetched.count());
            for (Batch batch : fetched.batches()) {
                assertEquals(ByteBuffer.wrap(data), batch.record(0));
            }
            client.setPayload("s", Payload.BYTES);
            try (Producer producer = client.producer("s");
                    Consumer consumer = client.consumer("s")) {
                assertTrue(consumer.next(Duration.ofMillis(1)).isEmpty());
                producer.send("hello");
                assertEquals("hello", consumer.next().iterator().next().text());
            }
        }
    }

    @Test
    void concurrentAppendsWorkOverTls() throws Exception {
        try (Broker broker = Broker.start();
                ServerSocket proxy = proxy(context, broker);
                Client client = new Client(config(proxy, context))) {
            ConcurrentAppendsTest.appendAndCompare(client, 8, 50);
        }
    }

    @Test
    void untrustedServersAreRefused() throws Exception {
        try (Broker broker = Broker.start();
                ServerSocket proxy = proxy(context, broker)) {
            try (Client client = new Client(config(proxy, null))) {
                TlsException error = assertThrows(TlsException.class, client::health);
                assertEquals(ErrorKind.TELL_HUMAN, error.kind());
                assertTrue(error.getMessage().contains("keytool"), error.getMessage());
            }
        }
        SSLContext another = context("another", "dns:elsewhere.example");
        try (Broker broker = Broker.start();
                ServerSocket proxy = proxy(another, broker);
                Client client = new Client(config(proxy, another))) {
            assertThrows(TlsException.class, client::health);
        }
        // A server without TLS.
        try (Broker broker = Broker.start();
                Client client = new Client(
                        new ClientConfig(broker.url().replace("http:", "https:")).retries(RetryPolicy.NONE))) {
            TlsException error = assertThrows(TlsException.class, client::health);
            assertTrue(error.getMessage().contains("http://"), error.getMessage());
        }
    }

    /** The certificate of a key store, or its key, in PEM. */
    private static String pem(String store, String... options) throws Exception {
        Path path = directory.resolve(store + options[0] + ".pem");
        List<String> command = new ArrayList<>(List.of("openssl", "pkcs12", "-nodes"));
        command.addAll(List.of("-in", directory.resolve(store).toString(), "-passin", "pass:" + new String(PASSWORD)));
        command.addAll(List.of(options));
        command.addAll(List.of("-out", path.toString()));
        assertEquals(0, new ProcessBuilder(command).start().waitFor());
        if (options[0].equals("-nocerts")) {
            // Java stores keys without their public part, which the broker needs.
            List<String> whole = List.of("openssl", "ec", "-in", path.toString(), "-out", path + ".whole");
            assertEquals(0, new ProcessBuilder(whole).start().waitFor());
            return path + ".whole";
        }
        return path.toString();
    }

    @Test
    void aBrokerSpeaksTlsAndAsksForCertificates() throws Exception {
        String certificate = pem("named", "-nokeys");
        String key = pem("named", "-nocerts");
        String[] flags = {"--tls-cert", certificate, "--tls-key", key, "--tls-client-ca", certificate};
        try (Broker broker = Broker.start(flags)) {
            ClientConfig config =
                    new ClientConfig(broker.url()).sslContext(context).retries(RetryPolicy.NONE);
            try (Client client = new Client(config);
                    Subscription subscription = client.subscribe(new SubscriptionConfig().prefixes("large"))) {
                ConcurrentAppendsTest.appendAndCompare(client, 4, 20);
                byte[] data = new byte[5 << 20];
                new Random(4).nextBytes(data);
                client.appendRecords("large", new int[] {data.length}, ByteBuffer.wrap(data));
                for (Batch batch : subscription.next().batches()) {
                    assertEquals(ByteBuffer.wrap(data), batch.record(0));
                }
            }
            SSLContext withoutCertificate = SSLContext.getInstance("TLS");
            KeyStore trusted = KeyStore.getInstance("PKCS12");
            trusted.load(null, null);
            try (InputStream in = Files.newInputStream(Path.of(certificate))) {
                trusted.setCertificateEntry(
                        "broker", CertificateFactory.getInstance("X.509").generateCertificate(in));
            }
            TrustManagerFactory trustManagers =
                    TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
            trustManagers.init(trusted);
            withoutCertificate.init(null, trustManagers.getTrustManagers(), null);
            try (Client client = new Client(config.sslContext(withoutCertificate))) {
                RawlineException error = assertThrows(RawlineException.class, client::health);
                assertTrue(error.getMessage().contains("certificate"), error.getMessage());
            }
        }
    }

    @Test
    void waitsEndOverTlsToo() throws Exception {
        try (Broker broker = Broker.start();
                ServerSocket proxy = proxy(context, broker);
                Client client = new Client(config(proxy, context).requestTimeout(Duration.ofMillis(300)))) {
            Client patient = new Client(config(proxy, context));
            patient.setPayload("t", Payload.BYTES);
            Consumer consumer = patient.consumer("t");
            assertTrue(consumer.next(Duration.ofMillis(50)).isEmpty());
            CompletableFuture<Fetched> waiting = CompletableFuture.supplyAsync(consumer::next);
            consumer.close();
            assertThrows(CompletionException.class, waiting::join);
            broker.pause();
            assertThrows(RequestTimeoutException.class, client::health);
            broker.resume();
            assertEquals(
                    List.of("t"), patient.topics().stream().map(TopicInfo::name).toList());
            patient.close();
        }
        // A server that never responds to the handshake.
        try (ServerSocket silent = new ServerSocket(0);
                Client client = new Client(config(silent, context).connectTimeout(Duration.ofMillis(200)))) {
            assertThrows(UnreachableException.class, client::health);
        }
    }
}
