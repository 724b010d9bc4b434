/* A row whose library writes and makes the case's plain objects. */
package io.rawline.lab;

import io.rawline.lab.message.Message;

/** Reads one field, or all, from the decoded object, unless the library can do better. */
public interface PlainRow<M extends Message> extends Row<M, M> {
    @SuppressWarnings("unchecked")
    @Override
    default M prepare(Object message) {
        return (M) message;
    }

    @Override
    default Object restore(M decoded) {
        return decoded;
    }

    @Override
    default long field(byte[] bytes) throws Exception {
        return decode(bytes).checkField();
    }

    @Override
    default long fields(byte[] bytes) throws Exception {
        return decode(bytes).checkFields();
    }
}
