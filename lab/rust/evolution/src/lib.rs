//! Old and new shapes of a message, the formats that take them from one to the other, and the outcomes.

pub mod formats;
pub mod outcome;
pub mod shapes;
