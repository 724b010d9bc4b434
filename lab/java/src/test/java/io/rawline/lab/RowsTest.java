/* Every row on every case reads what it writes, and all ways of reading agree. */
package io.rawline.lab;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.fasterxml.jackson.databind.json.JsonMapper;
import io.rawline.lab.message.Difference;
import io.rawline.lab.message.Message;
import java.nio.charset.CharsetEncoder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

class RowsTest {
    // Enough to meet every optional field present and absent; all of them would only take longer.
    private static final int MESSAGES_MAX = 100;

    // In text that isn't ASCII, strings and bytes have different lengths, and so different checks.
    private static final CharsetEncoder ASCII = StandardCharsets.US_ASCII.newEncoder();

    private final JsonMapper json = new JsonMapper();

    static Stream<Arguments> rowsAndCases() {
        return Rows.all().stream().flatMap(row -> Stream.of(Case.values()).map(kase -> Arguments.of(row.id(), kase)));
    }

    @ParameterizedTest(name = "{0} {1}")
    @MethodSource("rowsAndCases")
    void readsWhatItWrote(String id, Case kase) throws Exception {
        Row<Object, Object> row = Rows.of(id).open(kase);
        for (String size : List.of("base", "100", "1k")) {
            List<Message> messages = kase.messages(Lab.folder(), size);
            List<byte[]> written = new ArrayList<>();
            for (Message message : messages.subList(0, MESSAGES_MAX)) {
                written.add(row.bytes(row.encode(row.prepare(message))).clone());
            }
            // After all are written, so that a wrongly reused buffer shows.
            for (int i = 0; i < written.size(); i++) {
                Message message = messages.get(i);
                assertEquals("", Difference.of(message, row.restore(row.decode(written.get(i)))), size + " " + i);
                if (ASCII.canEncode(json.writeValueAsString(message))) {
                    // A row with its own objects computes the check from them.
                    Message same = row.decode(written.get(i)) instanceof Message decoded ? decoded : message;
                    assertEquals(message.checkField(), row.field(written.get(i)), "field of " + size + " " + i);
                    assertEquals(same.checkFields(), row.fields(written.get(i)), "fields of " + size + " " + i);
                }
            }
        }
    }
}
