import io.rawline.Client;
import io.rawline.consumer.Consumer;
import io.rawline.consumer.ConsumerConfig;
import io.rawline.producer.Producer;
import io.rawline.producer.Route;
import io.rawline.record.ConsumedRecord;
import io.rawline.topic.Payload;
import io.rawline.topic.Retention;

/** Appends records to a topic of four partitions by key, and reads all of them. */
public class Partitions {
    public static void main(String[] args) {
        String broker = args.length > 0 ? args[0] : "http://127.0.0.1:51313";
        try (Client client = new Client(broker)) {
            client.createTopic("logins", Payload.BYTES, Retention.UNLIMITED, 4);
            try (Producer producer = client.producer("logins")) {
                for (String user : new String[] {"ada", "grace", "ada"}) {
                    producer.send(user + " logged in", Route.key(user));
                }
            }
            ConsumerConfig untilNow = new ConsumerConfig().endAt(client.topic("logins"));
            try (Consumer consumer = client.consumer("logins", untilNow)) {
                for (ConsumedRecord record : consumer) {
                    System.out.println(record.partition() + "/" + record.offset() + "  " + record.text());
                }
            }
        }
    }
}
