package io.rawline.value;

/** Sorts the elements of the set or table that was written last. */
final class Sorted {
    private final ValueDecoder decoder = new ValueDecoder(Limits.FORMAT);

    /** The container is the bytes from {@code begin} to {@code end}. */
    void sort(byte[] bytes, int begin, int end) {
        ValueView container = decoder.decode(bytes, begin, end - begin);
        int children = container.children();
        if (children == 0 || container.kind() == Kind.VECTOR) {
            return;
        }
        boolean isAscending = true;
        for (int index = 1; index < children; index++) {
            isAscending &=
                    Nodes.position(container.child(index - 1).node) < Nodes.position(container.child(index).node);
        }
        if (isAscending) {
            return;
        }
        int length = 0;
        for (int index = 0; index < children; index++) {
            ValueView child = container.child(index);
            length += child.end() - Nodes.position(child.node);
        }
        byte[] sorted = new byte[length];
        int at = 0;
        for (int index = 0; index < children; index++) {
            ValueView child = container.child(index);
            int size = child.end() - Nodes.position(child.node);
            System.arraycopy(bytes, Nodes.position(child.node), sorted, at, size);
            at += size;
        }
        System.arraycopy(sorted, 0, bytes, end - length, length);
    }
}
