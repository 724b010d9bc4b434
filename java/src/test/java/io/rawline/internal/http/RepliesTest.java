package io.rawline.internal.http;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rawline.internal.http.ResponseParser.NotHttpException;
import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** Responses in pieces of any size, valid and damaged. */
class RepliesTest {
    private static final int SEED = 11;

    /** A response as bytes, and what it says. */
    private record Sample(String bytes, int status, String body, boolean closes) {}

    private static Sample sample(Random random) {
        String body = "x".repeat(random.nextInt(4) == 0 ? random.nextInt(5000) : random.nextInt(60)) + "\r\n\r\n";
        int status = random.nextBoolean() ? 201 : 409;
        String head = "HTTP/1.1 " + status + " some reason\r\ndate: today\r\n";
        return switch (random.nextInt(5)) {
            case 0 ->
                new Sample(head + "Transfer-Encoding: Chunked\r\n\r\n" + chunks(random, body), status, body, false);
            case 1 -> new Sample("HTTP/1.1 204 x\r\n\r\n", 204, "", false);
            case 2 -> new Sample("HTTP/1.1 100 Continue\r\nx: y\r\n\r\n" + sized(head, body), status, body, false);
            case 3 -> new Sample(sized(head + "Connection: close\r\n", body), status, body, true);
            default -> new Sample(sized(head, body), status, body, false);
        };
    }

    private static String sized(String head, String body) {
        return head + "Content-Length: " + body.length() + "\r\n\r\n" + body;
    }

    private static String chunks(Random random, String body) {
        StringBuilder chunks = new StringBuilder();
        for (int at = 0; at < body.length(); ) {
            int end = Math.min(body.length(), at + 1 + random.nextInt(50));
            chunks.append(Integer.toHexString(end - at)).append(random.nextBoolean() ? "\r\n" : ";a=b\r\n");
            chunks.append(body, at, end).append("\r\n");
            at = end;
        }
        return chunks + "0\r\n" + (random.nextBoolean() ? "" : "trailer: z\r\n") + "\r\n";
    }

    private static byte[] latin(String text) {
        return text.getBytes(StandardCharsets.ISO_8859_1);
    }

    /** Responses in pieces of random length. */
    private static List<Replies.Reply> parse(Replies replies, byte[] bytes, Random random) throws IOException {
        List<Replies.Reply> found = new ArrayList<>();
        for (int at = 0; at < bytes.length; ) {
            int length = Math.min(bytes.length - at, 1 + random.nextInt(random.nextBoolean() ? 3 : 500));
            ByteBuffer piece = ByteBuffer.wrap(bytes, at, length);
            for (Replies.Reply reply = replies.next(piece); reply != null; reply = replies.next(piece)) {
                found.add(reply);
            }
            assertEquals(0, piece.remaining());
            at += length;
        }
        return found;
    }

    @Test
    void responsesAreTheSameHoweverTheyArrive() throws IOException {
        Random random = new Random(SEED);
        for (int round = 0; round < 500; round++) {
            List<Sample> sent = new ArrayList<>();
            StringBuilder bytes = new StringBuilder();
            for (int count = random.nextInt(8); count >= 0; count--) {
                sent.add(sample(random));
                bytes.append(sent.get(sent.size() - 1).bytes);
            }
            Replies replies = new Replies();
            List<Replies.Reply> found = parse(replies, latin(bytes.toString()), random);
            assertEquals(sent.size(), found.size(), bytes.toString());
            for (int i = 0; i < found.size(); i++) {
                ResponseParser head = found.get(i).head();
                assertEquals(sent.get(i).status, head.status());
                assertEquals(sent.get(i).closes, head.closes());
                assertArrayEquals(latin(sent.get(i).body), found.get(i).body());
            }
            assertNull(replies.end());
        }
    }

    @Test
    void damagedResponsesAreSplitOrRefused() {
        Random random = new Random(SEED);
        int refused = 0;
        int split = 0;
        for (int round = 0; round < 20_000; round++) {
            byte[] bytes = latin(sample(random).bytes + sample(random).bytes);
            for (int changes = random.nextInt(4); changes > 0; changes--) {
                int at = random.nextInt(Math.min(bytes.length, 150));
                bytes[at] = random.nextBoolean()
                        ? (byte) random.nextInt()
                        : (byte) "0123456789-+ \r\n:;".charAt(random.nextInt(17));
            }
            Replies replies = new Replies();
            try {
                parse(replies, bytes, random);
                replies.end();
                split++;
            } catch (NotHttpException | EOFException error) {
                refused++;
            } catch (IOException error) {
                throw new AssertionError("another error in round " + round, error);
            }
        }
        assertTrue(split > 1000 && refused > 1000, split + " split, " + refused + " refused");
    }

    @Test
    void aResponseCanEndWithItsConnection() throws IOException {
        Replies replies = new Replies();
        assertEquals(List.of(), parse(replies, latin("HTTP/1.1 200 OK\r\n\r\nall the rest"), new Random(SEED)));
        Replies.Reply reply = replies.end();
        assertFalse(reply.head().isReusable());
        assertArrayEquals(latin("all the rest"), reply.body());
        assertNull(replies.end());
    }

    @Test
    void aTruncatedResponseIsNone() throws IOException {
        String whole = sized("HTTP/1.1 200 OK\r\n", "body");
        for (int length = 1; length < whole.length(); length++) {
            Replies replies = new Replies();
            assertEquals(List.of(), parse(replies, latin(whole.substring(0, length)), new Random(SEED)));
            assertThrows(EOFException.class, replies::end, "after " + length + " bytes");
        }
    }

    @Test
    void aLongResponseIsRefused() throws IOException {
        String longest = "y".repeat(Replies.BODY_BYTES_MAX);
        Random random = new Random(SEED);
        String head = "HTTP/1.1 200 OK\r\n";
        assertEquals(
                1, parse(new Replies(), latin(sized(head, longest)), random).size());
        for (String body : List.of(
                sized(head, longest + "y"),
                head + "\r\n" + longest + "y",
                head + "transfer-encoding: chunked\r\n\r\n" + chunks(random, longest + "y"))) {
            NotHttpException error =
                    assertThrows(NotHttpException.class, () -> parse(new Replies(), latin(body), new Random(SEED)));
            assertEquals("more than 65536 bytes", error.getMessage());
        }
        String endless = head + "x: " + "h".repeat(64 << 10);
        assertThrows(NotHttpException.class, () -> parse(new Replies(), latin(endless), random));
    }
}
