/**
 * The client of the Rawline event broker in plain Java. {@code io.rawline} has the class to begin with, {@code Client}:
 * it makes the objects of {@code producer}, {@code consumer} and {@code subscription}. {@code topic}, {@code record},
 * {@code group} and {@code error} have the values that these take and return. {@code batch}, {@code value} and
 * {@code measurement} are formats.
 *
 * <p>No package uses one that uses it; {@code PackagesTest} says which uses which.
 */
module io.rawline.client {
    requires aircompressor;
    // For the processor only, which is in a separate jar.
    requires static java.compiler;

    exports io.rawline;
    exports io.rawline.batch;
    exports io.rawline.consumer;
    exports io.rawline.error;
    exports io.rawline.group;
    exports io.rawline.measurement;
    exports io.rawline.producer;
    exports io.rawline.record;
    exports io.rawline.subscription;
    exports io.rawline.topic;
    exports io.rawline.value;
}
