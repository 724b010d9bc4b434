package io.rawline.error;

/**
 * A newer instance of the named producer was opened, or its name was forgotten: the broker's error
 * {@code producer_fenced}. The producer's records in flight may be stored. Of a member of a group that has an instance,
 * {@code member_fenced}: a newer member has joined with the same instance.
 */
public final class FencedException extends RefusedException {
    private static final long serialVersionUID = 1;

    /**
     * A producer or a member is fenced.
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
