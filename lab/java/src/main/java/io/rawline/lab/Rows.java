/* Every row of the Java side. */
package io.rawline.lab;

import io.rawline.lab.format.Avro;
import io.rawline.lab.format.Capnp;
import io.rawline.lab.format.Cbor;
import io.rawline.lab.format.FlatBuffers;
import io.rawline.lab.format.Jdk;
import io.rawline.lab.format.Json;
import io.rawline.lab.format.MsgPack;
import io.rawline.lab.format.Protobuf;
import io.rawline.lab.format.Sbe;
import io.rawline.lab.format.Values;
import io.rawline.lab.format.Xml;
import java.util.List;
import java.util.stream.Stream;

public final class Rows {
    private Rows() {}

    /** In the order in which they are run and reported. */
    public static List<RowKind> all() {
        return Stream.of(Json.rows(), MsgPack.rows(), Cbor.rows(), Avro.rows(), Protobuf.rows(), Sbe.rows(),
                FlatBuffers.rows(), Capnp.rows(), 
                Values.rows(), Jdk.rows(), Xml.rows()).flatMap(List::stream).toList();
    }

    /** @throws IllegalArgumentException if the row doesn't exist */
    public static RowKind of(String id) {
        return all().stream().filter(row -> row.id().equals(id)).findFirst()
                .orElseThrow(() ->
                        new IllegalArgumentException("no row " + id + "; there are "
                        + all().stream().map(RowKind::id).toList()));
    }
}
