/* CBOR: Jackson's format. */
package io.rawline.lab.format;

import com.fasterxml.jackson.dataformat.cbor.databind.CBORMapper;
import io.rawline.lab.RowKind;
import io.rawline.lab.Versions;
import java.util.List;

public final class Cbor {
    private Cbor() {}

    public static List<RowKind> rows() {
        return List.of(new RowKind("cbor", "jackson-dataformat-cbor", Versions.of("jackson"), "",
                kase -> new Jackson(new CBORMapper(), kase)));
    }
}
