/* XML: Jackson over Woodstox. */
package io.rawline.lab.format;

import com.fasterxml.jackson.dataformat.xml.XmlFactory;
import com.fasterxml.jackson.dataformat.xml.XmlMapper;
import com.ctc.wstx.stax.WstxInputFactory;
import com.ctc.wstx.stax.WstxOutputFactory;
import io.rawline.lab.RowKind;
import io.rawline.lab.Versions;
import java.util.List;

public final class Xml {
    private Xml() {}

    public static List<RowKind> rows() {
        return List.of(
                new RowKind("xml", "jackson-dataformat-xml", Versions.of("jackson"), "",
                        kase -> new Jackson(new XmlMapper(new XmlFactory(new WstxInputFactory(),
                                new WstxOutputFactory())), kase)));
    }
}
