//! The files of the console, as `make console` has built them from the folder `console`.
//!
//! They are embedded uncompressed and compressed, so that a response takes no memory, whatever its client accepts.

/// A file of the console.
#[derive(Debug)]
pub struct File {
    /// Its name, without a folder. That of a script or a style sheet contains a hash of its content.
    pub name: &'static str,
    /// The value of `Content-Type`.
    pub content_type: &'static str,
    /// Its bytes.
    pub plain: &'static [u8],
    /// The same compressed by gzip.
    pub gzip: Option<&'static [u8]>,
}

/// All files, by name.
pub const FILES: &[File] = include!(concat!(env!("OUT_DIR"), "/files.rs"));

/// The page itself.
pub const INDEX: &str = "index.html";

/// The file with this name.
pub fn find(name: &str) -> Option<&'static File> {
    FILES.iter().find(|file| file.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_a_page_and_what_it_loads() {
        let page = std::str::from_utf8(find(INDEX).unwrap().plain).unwrap();
        for file in FILES.iter().filter(|file| file.name != INDEX) {
            assert!(page.contains(&format!("\"/console/{}\"", file.name)), "the page doesn't load {}", file.name);
            assert!(file.gzip.is_some_and(|gzip| gzip.len() < file.plain.len()), "{}", file.name);
        }
        assert_eq!(page.matches("\"/console/").count(), FILES.len() - 1, "the page loads what isn't there");
    }
}
