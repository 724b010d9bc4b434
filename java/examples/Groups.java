import io.rawline.Client;
import io.rawline.consumer.GroupConsumer;
import io.rawline.producer.Producer;
import io.rawline.record.ConsumedRecord;

/** Appends three orders, and processes three as a member of a group: a run continues where the last one stopped. */
public class Groups {
    public static void main(String[] args) {
        String broker = args.length > 0 ? args[0] : "http://127.0.0.1:51313";
        try (Client client = new Client(broker)) {
            try (Producer producer = client.producer("orders")) {
                for (String item : new String[] {"tea", "bread", "cheese"}) {
                    producer.send(item);
                }
            }
            try (GroupConsumer consumer = client.groupConsumer("kitchen", "orders")) {
                int left = 3;
                for (ConsumedRecord order : consumer) {
                    System.out.println(
                            order.topic() + "/" + order.partition() + "/" + order.offset() + "  " + order.text());
                    if (--left == 0) {
                        break;
                    }
                }
                consumer.commit();
            }
            System.out.println("lag: " + client.group("kitchen").lag());
        }
    }
}
