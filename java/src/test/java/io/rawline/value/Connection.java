package io.rawline.value;

import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/** The record of {@code vectors/value/records.json}, which the three languages write and read. */
@GenerateCodec(names = NameCase.SNAKE_CASE)
record Connection(
        String uid,
        Address client,
        Port port,
        Optional<Subnet> network,
        Instant started,
        Optional<Duration> duration,
        boolean isLocal,
        @ValueField(as = Kind.COUNT) long bytesSent,
        int delta,
        double rate,
        State state,
        Outcome outcome,
        byte[] payload,
        Map<String, Long> notes,
        Set<String> tags,
        List<Answer> answers,
        Value extra,
        @ValueField(as = Kind.ENUM) String log) {

    /** Constants without content. */
    @GenerateCodec(names = NameCase.PASCAL_CASE)
    enum State {
        OPEN,
        HALF_OPEN
    }

    /** Alternatives with and without content. */
    @GenerateCodec
    sealed interface Outcome {}

    /** With a number. */
    @GenerateCodec
    record Closed(int code) implements Outcome {}

    /** With text. */
    @GenerateCodec
    record Failed(String reason, Optional<Long> after) implements Outcome {}

    /** Without content. */
    record Unknown() implements Outcome {}

    /** A record within the record. */
    @GenerateCodec(names = NameCase.SNAKE_CASE)
    record Answer(Address address, @ValueField(name = "ttl") Duration timeToLive) {}
}
