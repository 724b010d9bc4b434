package io.rawline.measurement;

/**
 * A message that was refused.
 *
 * @param number the message's place among those of the call, from 0
 * @param field the field: {@code frame}, {@code metric}, {@code tags}, {@code time}, {@code value}, the writer's own
 *     name of a field that no measurement has, or {@code end} for what follows
 * @param position the byte of the message where the bad value begins
 * @param fault what is wrong there
 */
public record MessageFault(long number, String field, int position, Fault fault) {
    @Override
    public String toString() {
        return "message " + number + ", field " + field + ": at byte " + position + ": " + fault.text();
    }
}
