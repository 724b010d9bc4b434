package io.rawline.interop;

import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.streaming.Trigger;

/** A query that copies the topic `events` to `copies`, in this process, from where its checkpoint says. */
final class Copy {
    private Copy() {}

    /** With a broker's address, the folder of the checkpoint, and `now` to stop at the topic's end. */
    public static void main(String[] arguments) throws Exception {
        var broker = arguments[0];
        var checkpoint = arguments[1];
        var trigger = "now".equals(arguments[2]) ? Trigger.AvailableNow() : Trigger.ProcessingTime(0);
        var session = SparkSession.builder()
                .master("local[2]")
                .config("spark.ui.enabled", false)
                .config("spark.driver.host", "127.0.0.1")
                .getOrCreate();
        var events = session.readStream()
                .format("kafka")
                .option("kafka.bootstrap.servers", broker)
                .option("subscribe", "events")
                .option("startingOffsets", "earliest")
                .option("maxOffsetsPerTrigger", 500)
                .load();
        events.selectExpr("key", "value")
                .writeStream()
                .format("kafka")
                .option("kafka.bootstrap.servers", broker)
                .option("topic", "copies")
                .option("checkpointLocation", checkpoint)
                .trigger(trigger)
                .start()
                .awaitTermination();
        session.stop();
    }
}
