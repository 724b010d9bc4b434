//! `#[derive(ToValue, FromValue)]` for `rawline-value`, which exports both with its feature `derive`.
//!
//! `docs/values.md` describes the mapping and the attributes. A field whose type can't be encoded or decoded is an
//! error at that type:
//!
//! ```compile_fail,E0277
//! #[derive(rawline_value::ToValue)]
//! struct Running {
//!     thread: std::thread::JoinHandle<()>,
//! }
//! ```
//!
//! ```compile_fail,E0277
//! #[derive(rawline_value::FromValue)]
//! struct Started {
//!     at: std::time::Instant,
//! }
//! ```

#![forbid(unsafe_code)]

mod attributes;
mod bounds;
mod case;
mod from_value;
mod model;
mod to_value;

use proc_macro::TokenStream;

/// Implements `rawline_value::ToValue`.
#[proc_macro_derive(ToValue, attributes(value))]
pub fn derive_to_value(input: TokenStream) -> TokenStream {
    expand(input.into(), to_value::expand)
}

/// Implements `rawline_value::FromValue`.
#[proc_macro_derive(FromValue, attributes(value))]
pub fn derive_from_value(input: TokenStream) -> TokenStream {
    expand(input.into(), from_value::expand)
}

fn expand(input: proc_macro2::TokenStream, expand: fn(&model::Type) -> proc_macro2::TokenStream) -> TokenStream {
    let expanded = syn::parse2(input).and_then(|input| model::Type::new(&input)).map(|model| expand(&model));
    expanded.unwrap_or_else(syn::Error::into_compile_error).into()
}

#[cfg(test)]
mod tests;

/// The example of the documentation.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/values.md")]
struct Documentation;
