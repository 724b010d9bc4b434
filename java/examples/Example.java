import io.rawline.Client;
import io.rawline.consumer.Consumer;
import io.rawline.consumer.ConsumerConfig;
import io.rawline.producer.Producer;
import io.rawline.record.ConsumedRecord;

/** Appends three records to a topic and reads the topic from its beginning to its end. */
public class Example {
    public static void main(String[] args) {
        String broker = args.length > 0 ? args[0] : "http://127.0.0.1:51313";
        try (Client client = new Client(broker)) {
            try (Producer producer = client.producer("greetings")) {
                for (String name : new String[] {"Ada", "Grace", "Edsger"}) {
                    producer.send("Hello, " + name + "!");
                }
            }
            long end = client.topic("greetings").nextOffset();
            ConsumerConfig untilNow = new ConsumerConfig().endOffset(end);
            try (Consumer consumer = client.consumer("greetings", untilNow)) {
                for (ConsumedRecord record : consumer) {
                    System.out.println(record.offset() + "  " + record.text());
                }
            }
        }
    }
}
