/* What Jackson's formats share: one mapper. */
package io.rawline.lab.format;

import com.fasterxml.jackson.annotation.JsonInclude;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.rawline.lab.Case;
import io.rawline.lab.PlainRow;
import io.rawline.lab.message.Check;
import io.rawline.lab.message.Message;
import java.io.IOException;

/**
 * Databind as documented: one mapper for all, writeValueAsBytes and readValue; one field with the streaming parser
 * below it.
 */
final class Jackson implements PlainRow<Message> {
    private final ObjectMapper mapper;
    private final Case kase;

    Jackson(ObjectMapper mapper, Case kase) {
        this.mapper = mapper.setSerializationInclusion(JsonInclude.Include.NON_NULL);
        this.kase = kase;
    }

    @Override
    public Object encode(Message message) throws IOException {
        return mapper.writeValueAsBytes(message);
    }

    @Override
    public Message decode(byte[] bytes) throws IOException {
        return mapper.readValue(bytes, kase.type);
    }

    @Override
    public long field(byte[] bytes) throws IOException {
        try (JsonParser parser = mapper.getFactory().createParser(bytes)) {
            parser.nextToken();
            for (String name : kase.fieldPath) {
                find(parser, name);
            }
            // In XML a number is text.
            return kase == Case.DOUBLES ? Check.of(parser.getValueAsDouble()) : ofText(parser);
        }
    }

    /** From the start of an object to the value of its field. */
    private static void find(JsonParser parser, String name) throws IOException {
        for (String found = parser.nextFieldName(); found != null; found = parser.nextFieldName()) {
            parser.nextToken();
            if (found.equals(name)) {
                return;
            }
            parser.skipChildren();
        }
        throw new IOException("the message has no field " + name);
    }

    private static long ofText(JsonParser parser) throws IOException {
        int length = parser.getTextLength();
        return length == 0 ? 0 : 31L * length + parser.getTextCharacters()[parser.getTextOffset() + length - 1];
    }
}
