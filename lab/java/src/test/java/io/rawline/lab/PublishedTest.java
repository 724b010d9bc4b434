/* The published comparison's first message has the published bytes. */
package io.rawline.lab;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.HexFormat;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class PublishedTest {
    private static final String AVRO =
            "02043c52616e646f6d206d657373616765202d2031363030303030"
                    + "30303030303001060c4a6f686e2d300c4a6f686e2d310c4a6f686e2d32000a022c9a05b845"
                    + "86e406000adcd8ec48f51df23f8ecef9298ee30040"
                    + "c1ff56b263830a40a52a12b81a7e104050de09eeee7e144000";
    private static final String PROTOBUF =
            "080110021a1e52616e646f6d206d657373616765202d2031363030303030"
                    + "30303030303020012a064a6f686e2d302a064a6f686e2d312a064a6f686e2d32"
                    + "32090116cd02dc2283b2033a28dcd8ec48f51df23f8ecef9298ee30040"
                    + "c1ff56b263830a40a52a12b81a7e104050de09eeee7e1440";

    @Test
    void pingPongHasThePublishedBytes() throws Exception {
        Map<String, String> published = Map.of("avro", AVRO, "protobuf", PROTOBUF);
        for (RowKind kind : Rows.all()) {
            if (published.containsKey(kind.format())) {
                assertEquals(published.get(kind.format()), HexFormat.of().formatHex(first(kind, Case.PINGPONG)),
                        kind.id());
            }
        }
    }

    @ParameterizedTest
    @CsvSource({"DOUBLES, 87", "STRINGS, 289", "PINGPONG, 115"})
    void protobufHasThePublishedSize(Case kase, int bytes) throws Exception {
        assertEquals(bytes, first(Rows.of("protobuf/protobuf-java"), kase).length);
    }

    private static byte[] first(RowKind kind, Case kase) throws Exception {
        Row<Object, Object> row = kind.open(kase);
        return row.bytes(row.encode(row.prepare(kase.messages(Lab.folder(), "base").get(0))));
    }
}
