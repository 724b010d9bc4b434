/* The JDK's own serialization. */
package io.rawline.lab.format;

import io.rawline.lab.PlainRow;
import io.rawline.lab.RowKind;
import io.rawline.lab.message.Message;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.util.List;

public final class Jdk {
    private Jdk() {}

    public static List<RowKind> rows() {
        return List.of(new RowKind("jdk", "java.io", System.getProperty("java.version"), "", kase -> new Streams()));
    }

    /**
     * A stream a message: a stream remembers every object it has written, and would write a second message as a
     * reference.
     */
    private static final class Streams implements PlainRow<Message> {
        @Override
        public Object encode(Message message) throws IOException {
            ByteArrayOutputStream bytes = new ByteArrayOutputStream();
            try (ObjectOutputStream out = new ObjectOutputStream(bytes)) {
                out.writeObject(message);
            }
            return bytes.toByteArray();
        }

        @Override
        public Message decode(byte[] bytes) throws IOException, ClassNotFoundException {
            try (ObjectInputStream in = new ObjectInputStream(new ByteArrayInputStream(bytes))) {
                return (Message) in.readObject();
            }
        }
    }
}
