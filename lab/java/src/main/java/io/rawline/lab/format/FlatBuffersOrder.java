/* The order in FlatBuffers. */
package io.rawline.lab.format;

import io.rawline.lab.flat.Customer;
import io.rawline.lab.flat.Line;
import io.rawline.lab.flat.Shipping;
import io.rawline.lab.message.Check;
import io.rawline.lab.message.Order;
import java.nio.ByteBuffer;
import java.util.ArrayList;

final class FlatBuffersOrder extends FlatBuffers.Tables<Order> {
    @Override
    int write(Order m) {
        int currency = builder.createString(m.currency);
        int name = builder.createString(m.customer.name);
        // An offset of 0 is not written: the field is absent.
        int email = text(m.customer.email);
        int customer = Customer.createCustomer(builder, m.customer.id, name, email);
        int shipping = m.shipping == null ? 0 : write(m.shipping);
        int[] offsets = new int[m.lines.size()];
        for (int i = 0; i < offsets.length; i++) {
            offsets[i] = write(m.lines.get(i));
        }
        int lines = builder.createVectorOfTables(offsets);
        int note = text(m.note);
        return io.rawline.lab.flat.Order.createOrder(builder, m.id, m.placed_at, currency, customer, shipping, lines, note, m.total_cents);
    }

    private int text(String text) {
        return text == null ? 0 : builder.createString(text);
    }

    private int write(Order.Shipping shipping) {
        int street = builder.createString(shipping.street);
        int city = builder.createString(shipping.city);
        int postcode = builder.createString(shipping.postcode);
        int country = builder.createString(shipping.country);
        return Shipping.createShipping(builder, street, city, postcode, country);
    }

    private int write(Order.Line line) {
        int sku = builder.createString(line.sku);
        int description = text(line.description);
        Line.startLine(builder);
        Line.addSku(builder, sku);
        Line.addDescription(builder, description);
        Line.addQuantity(builder, line.quantity);
        Line.addUnitPriceCents(builder, line.unit_price_cents);
        if (line.discount != null) {
            Line.addDiscount(builder, line.discount);
        }
        return Line.endLine(builder);
    }

    private static io.rawline.lab.flat.Order open(byte[] bytes) {
        return io.rawline.lab.flat.Order.getRootAsOrder(ByteBuffer.wrap(bytes));
    }

    @Override
    public Order decode(byte[] bytes) {
        io.rawline.lab.flat.Order t = open(bytes);
        Order m = new Order();
        m.id = t.id();
        m.placed_at = t.placedAt();
        m.currency = t.currency();
        Customer customer = t.customer();
        m.customer = new Order.Customer();
        m.customer.id = customer.id();
        m.customer.name = customer.name();
        m.customer.email = customer.email();
        Shipping shipping = t.shipping();
        if (shipping != null) {
            m.shipping = new Order.Shipping();
            m.shipping.street = shipping.street();
            m.shipping.city = shipping.city();
            m.shipping.postcode = shipping.postcode();
            m.shipping.country = shipping.country();
        }
        int length = t.linesLength();
        m.lines = new ArrayList<>(length);
        Line from = new Line();
        for (int i = 0; i < length; i++) {
            t.lines(from, i);
            Order.Line line = new Order.Line();
            line.sku = from.sku();
            line.description = from.description();
            line.quantity = from.quantity();
            line.unit_price_cents = from.unitPriceCents();
            line.discount = from.hasDiscount() ? from.discount() : null;
            m.lines.add(line);
        }
        m.note = t.note();
        m.total_cents = t.totalCents();
        return m;
    }

    @Override
    public long field(byte[] bytes) {
        return Check.of(open(bytes).customer().nameAsByteBuffer());
    }

    @Override
    public long fields(byte[] bytes) {
        io.rawline.lab.flat.Order t = open(bytes);
        Customer customer = t.customer();
        long check = t.id() + t.placedAt() + Check.of(t.currencyAsByteBuffer()) + customer.id() + Check.of(customer.nameAsByteBuffer())
                + Check.of(customer.emailAsByteBuffer()) + Check.of(t.noteAsByteBuffer()) + t.totalCents();
        Shipping shipping = t.shipping();
        if (shipping != null) {
            check += Check.of(shipping.streetAsByteBuffer()) + Check.of(shipping.cityAsByteBuffer()) + Check.of(shipping.postcodeAsByteBuffer())
                    + Check.of(shipping.countryAsByteBuffer());
        }
        Line line = new Line();
        for (int i = 0, length = t.linesLength(); i < length; i++) {
            t.lines(line, i);
            check += Check.of(line.skuAsByteBuffer()) + Check.of(line.descriptionAsByteBuffer()) + line.quantity() + line.unitPriceCents()
                    + (line.hasDiscount() ? Check.of(line.discount()) : 0);
        }
        return check;
    }
}
