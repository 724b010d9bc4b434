package orders;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.rawline.Client;
import io.rawline.junit5.RawlineBroker;
import io.rawline.junit5.RawlineTest;
import io.rawline.junit5.Scope;
import io.rawline.producer.Producer;
import org.junit.jupiter.api.Test;

/** Each test has its own broker, except where it says otherwise. */
@RawlineTest
class OrdersTest {
    private static void send(RawlineBroker broker) {
        try (Client client = broker.client();
                Producer producer = client.producer("orders")) {
            producer.send("one");
        }
    }

    @Test
    void ordersAreStored(RawlineBroker broker) {
        send(broker);
        assertEquals(1, broker.client().topic("orders").records());
    }

    @Test
    @RawlineTest(storage = RawlineBroker.DIRECTORY)
    void ordersSurviveACrash(RawlineBroker broker) {
        send(broker);
        broker.kill();
        broker.restart();
        assertEquals(1, broker.client().topic("orders").records());
    }

    @Test
    @RawlineTest(scope = Scope.SESSION)
    void sharesABroker(RawlineBroker broker) {
        send(broker);
    }
}
