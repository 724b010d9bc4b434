package io.rawline.value;

/** Searches sorted containers; hashes values in accordance with their order. */
final class Lookup {
    private Lookup() {}

    static boolean isKey(byte[] bytes, long key, Field field) {
        return Nodes.tag(key) == Wire.STRING && field.is(bytes, Nodes.link(key), Order.stringLength(bytes, key));
    }

    /** The index of the pair, counted from a slot, whose key is this string; negative if not found. */
    static int find(byte[] bytes, long[] nodes, int first, int pairs, byte[] name, int start, int length) {
        int low = 0;
        int high = pairs - 1;
        while (low <= high) {
            int middle = low + high >>> 1;
            long key = nodes[first + 2 * middle];
            int order = Integer.compare(Nodes.tag(key), Wire.STRING);
            if (order == 0) {
                order = Wire.compareBytes(bytes, Nodes.link(key), Order.stringLength(bytes, key), name, start, length);
            }
            if (order == 0) {
                return middle;
            }
            low = order < 0 ? middle + 1 : low;
            high = order < 0 ? high : middle - 1;
        }
        return -1;
    }

    /** The index of the entry of {@code width} nodes whose first is this value; negative if not found. */
    static int find(ValueView container, int width, ValueView value) {
        int low = 0;
        int high = container.children() / width - 1;
        while (low <= high) {
            int middle = low + high >>> 1;
            int order = container.child(middle * width).compareTo(value);
            if (order == 0) {
                return middle;
            }
            low = order < 0 ? middle + 1 : low;
            high = order < 0 ? high : middle - 1;
        }
        return -1;
    }

    /** Equal for equal values. */
    static int hash(ValueView view) {
        int tag = Nodes.tag(view.node);
        int hash = tag;
        if (tag >= Wire.SET) {
            for (int index = 0; index < view.children(); index++) {
                hash = 31 * hash + view.child(index).hashCode();
            }
            return hash;
        }
        if (tag == Wire.REAL) {
            return 31 * hash + Long.hashCode(Order.realKey(view.asReal()));
        }
        if (tag == Wire.BOOLEAN) {
            return 31 * hash + Boolean.hashCode(view.asBoolean());
        }
        int at = tag == Wire.STRING || tag == Wire.ENUM ? Nodes.link(view.node) : Nodes.position(view.node) + 1;
        for (int end = view.end(); at < end; at++) {
            hash = 31 * hash + view.bytes[at];
        }
        return hash;
    }
}
