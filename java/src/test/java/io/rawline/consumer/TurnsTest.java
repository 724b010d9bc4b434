package io.rawline.consumer;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** How a consumer interleaves partitions, without threads, a clock or a broker. */
class TurnsTest {
    private static final long FOREVER = Long.MAX_VALUE;
    private static final long AGE_NS_MAX = 1_000_000_000_000L;

    private static List<Integer> startAll(Turns turns) {
        List<Integer> started = new ArrayList<>();
        for (int partition = turns.next(); partition >= 0; partition = turns.next()) {
            started.add(partition);
        }
        return started;
    }

    @Test
    void fewPartitionsHaveAnOpenReadEach() {
        Turns turns = new Turns(AGE_NS_MAX);
        assertFalse(turns.atEnd());
        assertEquals(0, turns.describeInNs(-7));
        for (int partition = 0; partition < 4; partition++) {
            turns.add(partition, 10, FOREVER, false);
        }
        turns.described(-7);
        assertEquals(AGE_NS_MAX - 7, turns.describeInNs(0));
        assertTrue(turns.readsWait());
        assertEquals(List.of(0, 1, 2, 3), startAll(turns));
        assertEquals(4, turns.reading());
        turns.empty(2);
        turns.taken(1, 15, false);
        turns.failed(0);
        assertEquals(List.of(2, 1, 0), startAll(turns));
        assertEquals(Map.of(0, 10L, 1, 15L, 2, 10L, 3, 10L), turns.offsets());
        assertThrows(IllegalStateException.class, () -> turns.taken(1, 15, false));
        assertThrows(IllegalStateException.class, () -> turns.add(1, 0, 1, false));
    }

    @Test
    void aPartitionThatIsGoneIsReadNoMore() {
        Turns turns = new Turns(AGE_NS_MAX);
        turns.add(0, 0, FOREVER, true);
        turns.add(1, 0, FOREVER, true);
        assertEquals(List.of(0, 1), startAll(turns));
        turns.gone(0);
        turns.empty(1);
        assertEquals(List.of(1), startAll(turns));
        assertEquals(1, turns.reading());
    }

    @Test
    void endsAreKeptByPartition() {
        Turns turns = new Turns(AGE_NS_MAX);
        turns.add(0, 0, 5, true);
        turns.add(1, 3, 3, false);
        turns.add(2, 0, 1, true);
        assertEquals(List.of(0, 2), startAll(turns));
        turns.taken(0, 4, true);
        turns.taken(2, 8, true);
        assertFalse(turns.atEnd());
        assertEquals(List.of(0), startAll(turns));
        turns.taken(0, 5, false);
        assertTrue(turns.atEnd());
        assertEquals(List.of(), startAll(turns));
    }

    @Test
    void noPartitionIsStarvedByOneThatAlwaysHasMore() {
        Turns turns = new Turns(AGE_NS_MAX);
        for (int partition = 0; partition < 1024; partition++) {
            turns.add(partition, 0, FOREVER, true);
        }
        turns.described(0);
        assertFalse(turns.readsWait());
        int[] reads = new int[1024];
        List<Integer> inFlight = startAll(turns);
        assertEquals(Turns.READS_MAX, inFlight.size());
        for (int i = 0; i < 10_240; i++) {
            int partition = inFlight.remove(i % inFlight.size());
            turns.taken(partition, ++reads[partition], true);
            inFlight.addAll(startAll(turns));
            assertEquals(Turns.READS_MAX, inFlight.size());
        }
        for (int partition = 0; partition < 1024; partition++) {
            assertTrue(Math.abs(reads[partition] - 10) <= 2, partition + ": " + reads[partition]);
        }
    }

    @Test
    void manyPartitionsAreReadOnlyWhereRecordsAre() {
        Turns turns = new Turns(AGE_NS_MAX);
        for (int partition = 0; partition < 100; partition++) {
            turns.add(partition, 7, FOREVER, partition == 50);
        }
        turns.described(0);
        // The first few were added while there was a read for each.
        List<Integer> first = startAll(turns);
        assertTrue(first.contains(50) || first.size() == Turns.READS_MAX, first.toString());
        first.stream().filter(partition -> partition != 50).forEach(turns::empty);
        startAll(turns);
        turns.taken(50, 9, false);
        assertEquals(List.of(), startAll(turns));
        // Looks sooner at first, then twice a second.
        long nowNs = 0;
        long lookedNs = 0;
        for (int look = 0; look < 20; look++) {
            nowNs = lookedNs + turns.describeInNs(lookedNs);
            long waitedNs = nowNs - lookedNs;
            assertTrue(waitedNs >= Turns.LOOK_NS_MIN || look == 0, look + ": " + waitedNs);
            assertTrue(waitedNs <= Turns.LOOK_NS_MAX, look + ": " + waitedNs);
            turns.described(nowNs);
            lookedNs = nowNs;
        }
        assertEquals(Turns.LOOK_NS_MAX, turns.describeInNs(nowNs));
        turns.hasUpTo(3, 7);
        turns.hasUpTo(4, 8);
        turns.described(nowNs);
        assertEquals(List.of(4), startAll(turns));
        // Also while a partition is busy.
        turns.taken(4, 8, true);
        assertEquals(List.of(4), startAll(turns));
        assertEquals(Turns.LOOK_NS_MAX, turns.describeInNs(nowNs));
        turns.taken(4, 9, false);
        assertEquals(Turns.LOOK_NS_MIN, turns.describeInNs(nowNs));
    }

    @Test
    void theLastPartitionsOfManyAreReadWithOpenRequests() {
        Turns turns = new Turns(AGE_NS_MAX);
        for (int partition = 0; partition < 20; partition++) {
            turns.add(partition, 0, partition < 8 ? 1 : FOREVER, true);
        }
        turns.described(0);
        startAll(turns);
        for (int partition = 15; partition >= 8; partition--) {
            turns.taken(partition, 1, false);
        }
        assertEquals(List.of(16, 17, 18, 19), startAll(turns));
        for (int partition = 0; partition < 4; partition++) {
            assertFalse(turns.readsWait());
            turns.taken(partition, 1, false);
        }
        assertTrue(turns.readsWait());
        assertEquals(
                List.of(8, 9, 10, 11, 12, 13, 14, 15),
                startAll(turns).stream().sorted().toList());
    }
}
