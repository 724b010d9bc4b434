package io.rawline.internal.http;

import io.rawline.error.ConfigException;
import io.rawline.internal.setting.Log;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;

/**
 * The addresses of the brokers that a client may use: one, or several that share a storage. All are equally good; a
 * client stays where it is until it can't connect there, or the broker there doesn't respond to anything.
 */
final class Addresses {
    private static final Log LOG = new Log();

    private final List<Address> all;
    /** Of the broker at each address; null where no other one can take its place. */
    private final List<Liveness> livenesses = new ArrayList<>();
    /** The place in {@code all} of the one that is tried first. */
    private final AtomicInteger current = new AtomicInteger();

    private Addresses(List<Address> all, Function<Address, Liveness> watch) {
        this.all = all;
        all.forEach(address -> livenesses.add(watch == null ? null : watch.apply(address)));
    }

    /**
     * The brokers in a list of URLs, separated by commas.
     *
     * @param others null, or other brokers that requests can go to. A broker in both lists has one state, so that a
     *     failed one is waited for only once.
     * @param watch to find out whether the broker at an address lives
     */
    static Addresses parse(String urls, Addresses others, Function<Address, Liveness> watch) {
        List<Address> all = Arrays.stream(urls.split(",", -1))
                .map(url -> Address.parse(url.strip()))
                .toList();
        String path = all.get(0).path();
        for (Address address : all) {
            if (!address.path().equals(path)) {
                throw new ConfigException(
                        "the paths of the brokers' URLs differ: \"" + path + "\" and \"" + address.path() + "\"", null);
            }
        }
        if (others == null) {
            return new Addresses(all, all.size() > 1 ? watch : null);
        }
        return new Addresses(all, address -> {
            Liveness known = others.liveness(address);
            return known == null ? watch.apply(address) : known;
        });
    }

    /** The first one, whose name is in the requests to all. */
    Address first() {
        return all.get(0);
    }

    /** The one that was used last. */
    Address current() {
        return all.get(current.get());
    }

    /** Whether there is one with TLS. */
    boolean hasEncrypted() {
        return all.stream().anyMatch(Address::encrypted);
    }

    /** Whether all have the same scheme as this one. */
    boolean allHaveSchemeOf(Address address) {
        return all.stream().allMatch(each -> each.encrypted() == address.encrypted());
    }

    /** Opens a connection to a broker. */
    interface Opener {
        Connection open(Address address, Peer peer) throws IOException;
    }

    /** An address could not be connected to. */
    static final class NotConnectedException extends Exception {
        private static final long serialVersionUID = 1;

        /** The reason. */
        final transient IOException reason;
        /** The address. */
        final transient Address address;

        private NotConnectedException(Address address, IOException reason) {
            super(reason);
            this.address = address;
            this.reason = reason;
        }
    }

    /**
     * Connects to the broker that was used last, or to the next one that can be reached. Brokers that have not
     * responded lately come last.
     *
     * @throws NotConnectedException no broker is reachable; has the reason for the one that was used last
     */
    Connection connect(Opener opener) throws NotConnectedException {
        NotConnectedException failed = null;
        for (int place : places()) {
            Address address = all.get(place);
            try {
                Connection connection = opener.open(address, Peer.of(livenesses.get(place)));
                if (current.getAndSet(place) != place && failed != null) {
                    NotConnectedException before = failed;
                    LOG.warn(() -> "can't connect to " + before.address.url() + " (" + before.reason.getMessage()
                            + "), continues at " + address.url());
                }
                return connection;
            } catch (IOException error) {
                failed = failed == null ? new NotConnectedException(address, error) : failed;
            }
        }
        throw failed;
    }

    private List<Integer> places() {
        int start = current.get();
        List<Integer> places = new ArrayList<>();
        List<Integer> avoided = new ArrayList<>();
        for (int i = 0; i < all.size(); i++) {
            int place = (start + i) % all.size();
            (isAvoided(livenesses.get(place)) ? avoided : places).add(place);
        }
        places.addAll(avoided);
        return places;
    }

    /** That of the broker at an address; null if it isn't one of these, or no other one can take its place. */
    Liveness liveness(Address address) {
        for (int i = 0; i < all.size(); i++) {
            if (all.get(i).isSame(address)) {
                return livenesses.get(i);
            }
        }
        return null;
    }

    /** Whether all have not responded lately. */
    boolean areAvoided() {
        return livenesses.stream().allMatch(Addresses::isAvoided);
    }

    private static boolean isAvoided(Liveness liveness) {
        return liveness != null && liveness.isAvoided();
    }
}
