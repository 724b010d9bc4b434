//! The rules that the model's tests can switch off one at a time, to show that each is needed. Outside tests all hold,
//! and the compiler removes the questions.

/// Which rules hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(crate) struct Rules {
    #[cfg(test)]
    pub broken: Option<Broken>,
}

/// A rule that doesn't hold.
#[cfg(test)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Broken {
    /// Every object counts, whatever it names as its predecessor.
    VoidObjects,
    /// An object is acknowledged when its own PUT is confirmed.
    AcknowledgeInOrder,
    /// "Already exists" counts as success, even if another writer made the object.
    LoseRaces,
    /// A number is given up without putting anything there.
    Settle,
    /// A writer acknowledges however old its knowledge of the chain's end is.
    AcknowledgeWithin,
    /// A reader trusts its findings however old its view of the chain is.
    BelieveWithin,
    /// An object shows a reader where the chain ended when it was read, not when it was stored.
    AgeOfObjects,
    /// Appends that may already be stored are appended again without a check of the producer's sequence.
    Sequences,
    /// A merge ends although it was abandoned.
    ClosedMerges,
    /// A merged object that nothing refers to is deleted although its merge is open.
    OpenMerges,
    /// A merged object that nothing refers to is deleted although its merge may have begun since.
    UnknownMerges,
    /// A merge ends before its data is certain to be stored.
    StoredMerges,
    /// An instance of a named producer appends although a newer one was opened.
    Names,
    /// A group's offset is committed whatever version its members have.
    GroupFences,
    /// The sources of a merge are deleted before the merge has ended.
    EndedMerges,
    /// A PUT that was sent twice has lost a race if one of its requests was refused, whatever object exists.
    HedgeReadsId,
    /// A PUT that was sent twice is stored if one of its requests was refused, whatever object exists.
    HedgeComparesId,
    /// A PUT that was sent twice has lost a race if another object exists.
    HedgeDoubts,
}

macro_rules! rules {
    ($($name:ident: $broken:ident,)*) => {
        impl Rules {
            $(pub fn $name(self) -> bool {
                #[cfg(test)]
                return self.broken != Some(Broken::$broken);
                #[cfg(not(test))]
                true
            })*
        }
    };
}

rules! {
    void_objects: VoidObjects,
    acknowledge_in_order: AcknowledgeInOrder,
    lose_races: LoseRaces,
    settle: Settle,
    acknowledge_within: AcknowledgeWithin,
    believe_within: BelieveWithin,
    age_of_objects: AgeOfObjects,
    sequences: Sequences,
    names: Names,
    group_fences: GroupFences,
    closed_merges: ClosedMerges,
    open_merges: OpenMerges,
    unknown_merges: UnknownMerges,
}
