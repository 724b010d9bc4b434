package io.rawline.error;

/**
 * A newer instance of the named producer was opened, or its name was forgotten: the broker's error
 * {@code producer_fenced}. What the producer had in flight may be stored.
 */
public final class FencedException extends RefusedException {
    private static final long serialVersionUID = 1;

    /**
     * A producer is fenced.
     *
     * @param refused the broker's error response
     */
    public FencedException(RefusedException refused) {
        super(refused.status(), refused.code(), null, refused.getMessage(), refused);
    }

    @Override
    public FencedException copy() {
        return new FencedException(this);
    }
}
