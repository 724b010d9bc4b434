/* The order's fields in MessagePack. */
package io.rawline.lab.format;

import io.rawline.lab.message.Order;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.msgpack.core.MessagePacker;
import org.msgpack.core.MessageUnpacker;

final class MsgPackOrder extends MsgPackFields<Order> {
    @Override
    void write(Order m, MessagePacker out) throws IOException {
        out.packMapHeader(6 + (m.shipping == null ? 0 : 1) + (m.note == null ? 0 : 1));
        out.packString("id");
        out.packLong(m.id);
        out.packString("placed_at");
        out.packLong(m.placed_at);
        out.packString("currency");
        out.packString(m.currency);
        out.packString("customer");
        writeCustomer(m.customer, out);
        if (m.shipping != null) {
            out.packString("shipping");
            writeShipping(m.shipping, out);
        }
        out.packString("lines");
        out.packArrayHeader(m.lines.size());
        for (Order.Line element : m.lines) {
            writeLine(element, out);
        }
        if (m.note != null) {
            out.packString("note");
            out.packString(m.note);
        }
        out.packString("total_cents");
        out.packLong(m.total_cents);
    }

    @Override
    Order read(MessageUnpacker in) throws IOException {
        Order m = new Order();
        for (int left = in.unpackMapHeader(); left > 0; left--) {
            switch (in.unpackString()) {
                case "id" -> m.id = in.unpackLong();
                case "placed_at" -> m.placed_at = in.unpackLong();
                case "currency" -> m.currency = in.unpackString();
                case "customer" -> m.customer = readCustomer(in);
                case "shipping" -> m.shipping = readShipping(in);
                case "lines" -> m.lines = readLines(in);
                case "note" -> m.note = in.unpackString();
                case "total_cents" -> m.total_cents = in.unpackLong();
                default -> in.skipValue();
            }
        }
        return m;
    }

    private static void writeCustomer(Order.Customer m, MessagePacker out) throws IOException {
        out.packMapHeader(2 + (m.email == null ? 0 : 1));
        out.packString("id");
        out.packLong(m.id);
        out.packString("name");
        out.packString(m.name);
        if (m.email != null) {
            out.packString("email");
            out.packString(m.email);
        }
    }

    private static Order.Customer readCustomer(MessageUnpacker in) throws IOException {
        Order.Customer m = new Order.Customer();
        for (int left = in.unpackMapHeader(); left > 0; left--) {
            switch (in.unpackString()) {
                case "id" -> m.id = in.unpackLong();
                case "name" -> m.name = in.unpackString();
                case "email" -> m.email = in.unpackString();
                default -> in.skipValue();
            }
        }
        return m;
    }

    private static void writeShipping(Order.Shipping m, MessagePacker out) throws IOException {
        out.packMapHeader(4);
        out.packString("street");
        out.packString(m.street);
        out.packString("city");
        out.packString(m.city);
        out.packString("postcode");
        out.packString(m.postcode);
        out.packString("country");
        out.packString(m.country);
    }

    private static Order.Shipping readShipping(MessageUnpacker in) throws IOException {
        Order.Shipping m = new Order.Shipping();
        for (int left = in.unpackMapHeader(); left > 0; left--) {
            switch (in.unpackString()) {
                case "street" -> m.street = in.unpackString();
                case "city" -> m.city = in.unpackString();
                case "postcode" -> m.postcode = in.unpackString();
                case "country" -> m.country = in.unpackString();
                default -> in.skipValue();
            }
        }
        return m;
    }

    private static void writeLine(Order.Line m, MessagePacker out) throws IOException {
        out.packMapHeader(3 + (m.description == null ? 0 : 1) + (m.discount == null ? 0 : 1));
        out.packString("sku");
        out.packString(m.sku);
        if (m.description != null) {
            out.packString("description");
            out.packString(m.description);
        }
        out.packString("quantity");
        out.packInt(m.quantity);
        out.packString("unit_price_cents");
        out.packLong(m.unit_price_cents);
        if (m.discount != null) {
            out.packString("discount");
            out.packDouble(m.discount);
        }
    }

    private static Order.Line readLine(MessageUnpacker in) throws IOException {
        Order.Line m = new Order.Line();
        for (int left = in.unpackMapHeader(); left > 0; left--) {
            switch (in.unpackString()) {
                case "sku" -> m.sku = in.unpackString();
                case "description" -> m.description = in.unpackString();
                case "quantity" -> m.quantity = in.unpackInt();
                case "unit_price_cents" -> m.unit_price_cents = in.unpackLong();
                case "discount" -> m.discount = in.unpackDouble();
                default -> in.skipValue();
            }
        }
        return m;
    }

    private static List<Order.Line> readLines(MessageUnpacker in) throws IOException {
        int size = in.unpackArrayHeader();
        List<Order.Line> lines = new ArrayList<>(size);
        for (int i = 0; i < size; i++) {
            lines.add(readLine(in));
        }
        return lines;
    }
}
