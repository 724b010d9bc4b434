/**
 * A real Rawline broker for tests with JUnit 5: it starts in milliseconds, on free ports, and stores in memory.
 *
 * <pre>{@code
 * @RawlineTest
 * class OrdersTest {
 *     @Test
 *     void ordersAreStored(RawlineBroker broker) {
 *         try (Client client = broker.client(); Producer producer = client.producer("orders")) {
 *             producer.send("one".getBytes());
 *         }
 *     }
 * }
 * }</pre>
 */
package io.rawline.junit5;
