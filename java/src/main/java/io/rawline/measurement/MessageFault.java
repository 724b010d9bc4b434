package io.rawline.measurement;

/**
 * A message that was refused.
 *
 * @param number the message's index in the call, from 0
 * @param field the field: {@code frame}, {@code metric}, {@code tags}, {@code time}, {@code value}, the writer's name
 *     of another field, or {@code end} for bytes after the last field
 * @param position the byte of the message where the invalid value starts
 * @param fault the error
 */
public record MessageFault(long number, String field, int position, Fault fault) {
    @Override
    public String toString() {
        return "message " + number + ", field " + field + ": at byte " + position + ": " + fault.text();
    }
}
