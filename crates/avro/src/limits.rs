//! Limits on the work that one message can cause.

/// Limits for one message, regardless of what its bytes claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Maximum nesting of records, arrays, maps and unions. JSON and serde read a decoded message recursively, so a
    /// thread's stack sets the bound.
    pub depth_max: u32,
    /// Maximum number of array elements, map entries and record fields together. Elements may take no bytes, so the
    /// message's length doesn't bound them.
    pub elements_max: u32,
}

impl Limits {
    /// 64 levels, more than real schemas nest; 2^20 elements, which take 24 to 48 MiB in a row buffer.
    pub const DEFAULT: Self = Self { depth_max: 64, elements_max: 1 << 20 };
}

impl Default for Limits {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// Maximum nesting of a schema's types: more than its JSON can have.
pub(crate) const SCHEMA_DEPTH_MAX: u32 = 256;

/// Maximum number of steps of a plan: a schema of 1 MB makes about 50,000.
pub(crate) const PLAN_STEPS_MAX: usize = 1 << 20;

/// Maximum work for one plan, in types compared, fields and symbols looked up, and bytes of defaults copied: ten times
/// what a schema of 1 MB needs.
pub(crate) const PLAN_WORK_MAX: u32 = 1 << 22;
const _: () = assert!(PLAN_WORK_MAX as usize > PLAN_STEPS_MAX);
