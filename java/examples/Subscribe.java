import io.rawline.Client;
import io.rawline.producer.Producer;
import io.rawline.record.ConsumedRecord;
import io.rawline.subscription.Subscription;
import io.rawline.subscription.SubscriptionConfig;

/** Receives the records of all topics whose names begin with sensors., as they are stored. */
public class Subscribe {
    public static void main(String[] args) {
        String broker = args.length > 0 ? args[0] : "http://127.0.0.1:51313";
        SubscriptionConfig sensors = new SubscriptionConfig().prefixes("sensors.");
        try (Client client = new Client(broker);
                Subscription subscription = client.subscribe(sensors)) {
            send(client, "sensors.attic", "21.5 degrees");
            send(client, "sensors.cellar", "12.0 degrees", "12.1 degrees");

            int left = 3;
            for (ConsumedRecord record : subscription) {
                System.out.println(record.topic() + "/" + record.offset() + "  " + record.text());
                left--;
                if (left == 0) {
                    break;
                }
            }
        }
    }

    private static void send(Client client, String topic, String... records) {
        try (Producer producer = client.producer(topic)) {
            for (String record : records) {
                producer.send(record);
            }
        }
    }
}
