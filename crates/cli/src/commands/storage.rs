//! The name of a storage on the command line: a directory, unless it is a URL.

/// The schemes of storages.
const SCHEMES: [&str; 4] = ["s3", "gs", "az", "memory"];

/// Fails if the name of a directory is probably a URL that was misspelled, such as `s3:/bucket` or `memory`: a broker
/// would create a directory, and store records where they are not looked for.
pub fn check_directory(storage: &str, flag: &str) -> Result<(), String> {
    let is_scheme =
        |text: &&str| text.len() > 1 && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte));
    let scheme = storage.split_once(':').map(|(scheme, _)| scheme).filter(is_scheme);
    let Some(scheme) = scheme.or_else(|| SCHEMES.into_iter().find(|scheme| *scheme == storage)) else { return Ok(()) };
    Err(format!(
        "{storage:?} looks like a URL with {scheme}, but isn't one; give {flag} s3://BUCKET/PREFIX, \
         gs://BUCKET/PREFIX, az://CONTAINER/PREFIX, memory:, or a directory, such as ./{storage}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_are_told_from_misspelled_urls() {
        for directory in ["data", "./memory", "/var/lib/rawline", "./s3:/x", "a/b:c", "C:", "data.s3", "../az"] {
            assert_eq!(check_directory(directory, "--storage"), Ok(()), "{directory}");
        }
        for wrong in ["s3:/bucket", "s3:bucket", "memory", "s3", "az", "gs:", "http://x", "file:///x", "memory:x"] {
            let error = check_directory(wrong, "--storage").unwrap_err();
            assert!(error.contains(wrong) && error.contains("./"), "{error}");
        }
    }
}
