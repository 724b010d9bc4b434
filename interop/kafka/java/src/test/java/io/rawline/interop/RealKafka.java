package io.rawline.interop;

import java.io.IOException;
import java.io.PrintStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import kafka.server.KafkaConfig;
import kafka.server.KafkaRaftServer;
import kafka.tools.StorageTool;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.utils.Time;

/** Kafka's own broker in this process, in KRaft mode, with its defaults except where a single broker needs others. */
final class RealKafka implements AutoCloseable {
    private final KafkaRaftServer server;
    private final int port;

    private RealKafka(KafkaRaftServer server, int port) {
        this.server = server;
        this.port = port;
    }

    static RealKafka start(Path folder) throws IOException {
        var ports = freePorts(2);
        var settings = new Properties();
        settings.put("process.roles", "broker,controller");
        // The number that Rawline has.
        settings.put("node.id", "1");
        settings.put("controller.quorum.voters", "1@127.0.0.1:" + ports.get(1));
        settings.put("controller.listener.names", "CONTROLLER");
        settings.put("listeners", "PLAINTEXT://127.0.0.1:" + ports.get(0) + ",CONTROLLER://127.0.0.1:" + ports.get(1));
        settings.put("log.dirs", folder.resolve("logs").toString());
        // A single broker, and quick starts: internal topics with one replica and one partition, no wait for members.
        for (var topic : List.of("offsets.topic", "transaction.state.log", "share.coordinator.state.topic")) {
            settings.put(topic + ".replication.factor", "1");
            settings.put(topic + ".num.partitions", "1");
        }
        settings.put("transaction.state.log.min.isr", "1");
        settings.put("share.coordinator.state.topic.min.isr", "1");
        settings.put("group.initial.rebalance.delay.ms", "0");
        format(folder, settings);
        var server = new KafkaRaftServer(KafkaConfig.fromProps(settings, false), Time.SYSTEM);
        server.startup();
        return new RealKafka(server, ports.get(0));
    }

    String address() {
        return "127.0.0.1:" + port;
    }

    @Override
    public void close() {
        server.shutdown();
    }

    private static void format(Path folder, Properties settings) throws IOException {
        var file = folder.resolve("server.properties");
        try (var out = Files.newBufferedWriter(file)) {
            settings.store(out, null);
        }
        String[] arguments = {"format", "--cluster-id", Uuid.randomUuid().toString(), "--config", file.toString()};
        int status = StorageTool.execute(arguments, new PrintStream(PrintStream.nullOutputStream()));
        if (status != 0) {
            throw new IllegalStateException("kafka-storage format: " + status);
        }
    }

    private static List<Integer> freePorts(int count) throws IOException {
        var sockets = new ArrayList<ServerSocket>();
        var ports = new ArrayList<Integer>();
        for (int number = 0; number < count; number++) {
            sockets.add(new ServerSocket(0, 1, InetAddress.getLoopbackAddress()));
            ports.add(sockets.get(number).getLocalPort());
        }
        for (var socket : sockets) {
            socket.close();
        }
        return ports;
    }
}
