import io.rawline.Client;
import io.rawline.consumer.GroupConsumer;
import io.rawline.producer.Producer;
import io.rawline.producer.ProducerRecord;
import io.rawline.record.ConsumedRecord;
import io.rawline.topic.Payload;
import io.rawline.topic.Retention;
import java.util.Map;
import java.util.TreeMap;

/** Appends payments of customers, and adds them up as a member of a group. */
public class Payments {
    public static void main(String[] args) {
        String broker = args.length > 0 ? args[0] : "http://127.0.0.1:51313";
        try (Client client = new Client(broker)) {
            client.createTopic("payments", Payload.BYTES, Retention.UNLIMITED, 3);
            try (Producer producer = client.producer("payments")) {
                for (int cents = 1; cents <= 1000; cents++) {
                    String customer = "customer-" + cents % 4;
                    producer.send(ProducerRecord.of(Integer.toString(cents))
                            .key(customer)
                            .header("currency", "EUR"));
                }
            }
            Map<String, Integer> sums = new TreeMap<>();
            try (GroupConsumer consumer = client.groupConsumer("accounting", "payments")) {
                int left = 1000;
                for (ConsumedRecord payment : consumer) {
                    sums.merge(payment.keyText(), Integer.parseInt(payment.text()), Integer::sum);
                    if (--left == 0) {
                        break;
                    }
                }
                consumer.commit();
            }
            System.out.println(sums + ", lag " + client.group("accounting").lag());
        }
    }
}
