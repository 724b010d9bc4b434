package io.rawline.value;

/** The format's order of values: by type, then within their type. */
final class Order {
    private Order() {}

    /** Whether two adjacent values are in ascending order and aren't duplicates. */
    static boolean ascend(byte[] bytes, long[] nodes, long left, long right) {
        if (Nodes.tag(left) == Wire.STRING && Nodes.tag(right) == Wire.STRING) {
            return strings(bytes, left, bytes, right) < 0;
        }
        return compare(bytes, nodes, left, bytes, nodes, right, false) < 0
                && compare(bytes, nodes, left, bytes, nodes, right, true) != 0;
    }

    /**
     * Compares two values by their nodes; recurses as deep as they are. If {@code loosely}, a NaN equals every real,
     * which is the format's rule for duplicates; else it equals a NaN and sorts last.
     */
    static int compare(
            byte[] leftBytes,
            long[] leftNodes,
            long left,
            byte[] rightBytes,
            long[] rightNodes,
            long right,
            boolean loosely) {
        int tag = Nodes.tag(left);
        if (tag != Nodes.tag(right)) {
            return Integer.compare(tag, Nodes.tag(right));
        }
        int leftAt = Nodes.position(left) + 1;
        int rightAt = Nodes.position(right) + 1;
        switch (tag) {
            case Wire.NONE:
                return 0;
            case Wire.BOOLEAN:
                return Boolean.compare(leftBytes[leftAt] != 0, rightBytes[rightAt] != 0);
            case Wire.COUNT:
                return Long.compareUnsigned(Wire.getLong(leftBytes, leftAt), Wire.getLong(rightBytes, rightAt));
            case Wire.INTEGER, Wire.TIMESTAMP, Wire.TIMESPAN:
                return Long.compare(Wire.getLong(leftBytes, leftAt), Wire.getLong(rightBytes, rightAt));
            case Wire.REAL:
                return reals(
                        Wire.unpackReal(Wire.getLong(leftBytes, leftAt)),
                        Wire.unpackReal(Wire.getLong(rightBytes, rightAt)),
                        loosely);
            case Wire.STRING, Wire.ENUM:
                return strings(leftBytes, left, rightBytes, right);
            case Wire.ADDRESS:
                return Wire.compareBytes(leftBytes, leftAt, 16, rightBytes, rightAt, 16);
            case Wire.SUBNET:
                return Wire.compareBytes(leftBytes, leftAt, 17, rightBytes, rightAt, 17);
            case Wire.PORT:
                return Wire.compareBytes(leftBytes, leftAt, 3, rightBytes, rightAt, 3);
            default:
                return children(leftBytes, leftNodes, left, rightBytes, rightNodes, right, loosely);
        }
    }

    private static int children(
            byte[] leftBytes,
            long[] leftNodes,
            long left,
            byte[] rightBytes,
            long[] rightNodes,
            long right,
            boolean loosely) {
        int leftSlot = Nodes.link(left);
        int rightSlot = Nodes.link(right);
        int leftCount = Nodes.children(leftNodes[leftSlot]);
        int rightCount = Nodes.children(rightNodes[rightSlot]);
        for (int index = 1; index <= Math.min(leftCount, rightCount); index++) {
            int order = compare(
                    leftBytes,
                    leftNodes,
                    leftNodes[leftSlot + index],
                    rightBytes,
                    rightNodes,
                    rightNodes[rightSlot + index],
                    loosely);
            if (order != 0) {
                return order;
            }
        }
        return Integer.compare(leftCount, rightCount);
    }

    /** Compares reals as numbers. */
    static int reals(double left, double right, boolean loosely) {
        if (left < right) {
            return -1;
        }
        if (left > right) {
            return 1;
        }
        return left == right || loosely ? 0 : Boolean.compare(Double.isNaN(left), Double.isNaN(right));
    }

    /** Equal for equal reals. */
    static long realKey(double real) {
        // Adding positive zero makes a negative zero positive and changes no other number.
        return Double.doubleToLongBits(real + 0.0);
    }

    private static int strings(byte[] leftBytes, long left, byte[] rightBytes, long right) {
        return Wire.compareBytes(
                leftBytes,
                Nodes.link(left),
                stringLength(leftBytes, left),
                rightBytes,
                Nodes.link(right),
                stringLength(rightBytes, right));
    }

    /** The length of an indexed string or name, from the size before its bytes. */
    static int stringLength(byte[] bytes, long node) {
        int at = Nodes.position(node) + 1;
        int length = bytes[at];
        return length >= 0 ? length : (int) Wire.sizeOf(Wire.size(bytes, at, Nodes.link(node), at));
    }
}
