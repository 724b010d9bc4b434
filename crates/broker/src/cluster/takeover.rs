//! When a broker acts as the owner: once it has looked at the journal's end since it last took another for the owner.
//! No I/O, no clock.

/// A look at the journal's end that has begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Look(u64);

/// Whether a broker acts as the owner.
#[derive(Debug, Default)]
pub(super) struct Takeover {
    is_others: bool,
    /// How often another broker was seen to be the owner.
    others: u64,
    is_acting: bool,
}

impl Takeover {
    /// Notes whether another broker is the owner. Returns whether this one has acted and doesn't any more.
    pub fn note(&mut self, is_others: bool) -> bool {
        self.is_others = is_others;
        self.others += u64::from(is_others);
        is_others && std::mem::take(&mut self.is_acting)
    }

    /// The look that begins now, if this broker needs one before it acts.
    pub fn look(&self) -> Option<Look> {
        (!self.is_others && !self.is_acting).then_some(Look(self.others))
    }

    /// A look has ended. Returns whether this broker acts: what another owner has stored since the look began may be
    /// missing from it.
    pub fn looked(&mut self, look: Look) -> bool {
        self.is_acting |= !self.is_others && look == Look(self.others);
        self.is_acting
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_look_that_began_before_another_broker_was_the_owner_is_not_enough() {
        let mut takeover = Takeover::default();
        let early = takeover.look().unwrap();
        assert!(!takeover.note(true));
        assert_eq!(takeover.look(), None);
        assert!(!takeover.looked(early), "another owns the journal");
        assert!(!takeover.note(false));
        assert!(!takeover.looked(early), "another has owned it since");
        let look = takeover.look().unwrap();
        assert!(takeover.looked(look));
        assert_eq!(takeover.look(), None, "it acts");
        assert!(takeover.note(true));
        assert!(!takeover.looked(look));
    }
}
