package io.rawline.measurement;

import java.util.Arrays;

/** Positions of a metric and its tags in a message: reused by the forward reader. */
final class Scratch {
    final Cursor cursor = new Cursor();
    /** The field that is being read. */
    String field = "";

    int identityAt;
    int identityEnd;
    int metricAt;
    int metricLength;
    /** Number of tags, and the order by key of those that count. */
    int tags;

    final int[] order = new int[SeriesTable.TAGS_MAX];
    final int[] keyAt = new int[SeriesTable.TAGS_MAX];
    final int[] keyLength = new int[SeriesTable.TAGS_MAX];
    final int[] valueAt = new int[SeriesTable.TAGS_MAX];
    final int[] valueLength = new int[SeriesTable.TAGS_MAX];
    /** The series' key: the ids of the metric and of each tag's key and value. */
    final byte[] key = new byte[4 + 8 * SeriesTable.TAGS_MAX];

    /** Reads a metric and a map of tags at the cursor, with all checks. */
    void readIdentity() {
        field = "metric";
        identityAt = cursor.at;
        metricLength = cursor.readString();
        metricAt = cursor.at - metricLength;
        field = "tags";
        tags = 0;
        while (true) {
            int begin = cursor.at;
            long count = cursor.readBlock();
            int blockEnd = cursor.blockEnd;
            if (count == 0) {
                break;
            }
            for (; count > 0; count--) {
                if (tags == SeriesTable.TAGS_MAX) {
                    throw new FaultException(Fault.ELEMENTS, cursor.at);
                }
                keyLength[tags] = cursor.readString();
                keyAt[tags] = cursor.at - keyLength[tags];
                valueLength[tags] = cursor.readString();
                valueAt[tags] = cursor.at - valueLength[tags];
                tags++;
            }
            if (blockEnd >= 0 && blockEnd != cursor.at) {
                throw new FaultException(Fault.LENGTH, begin);
            }
        }
        identityEnd = cursor.at;
    }

    /** Sorts the tags by key; of duplicate keys the last one counts. */
    void sort() {
        int sorted = 0;
        for (int tag = 0; tag < tags; tag++) {
            int low = 0;
            int high = sorted;
            while (low < high) {
                int middle = low + high >>> 1;
                if (compare(order[middle], tag) < 0) {
                    low = middle + 1;
                } else {
                    high = middle;
                }
            }
            if (low < sorted && compare(order[low], tag) == 0) {
                order[low] = tag;
                continue;
            }
            System.arraycopy(order, low, order, low + 1, sorted - low);
            order[low] = tag;
            sorted++;
        }
        tags = sorted;
    }

    private int compare(int left, int right) {
        return Arrays.compareUnsigned(
                cursor.bytes,
                keyAt[left],
                keyAt[left] + keyLength[left],
                cursor.bytes,
                keyAt[right],
                keyAt[right] + keyLength[right]);
    }
}
