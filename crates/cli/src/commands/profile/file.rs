//! The file of profiles, `config.toml`: named brokers with keys and certificates.

use crate::commands::CommandError;
use crate::environment;
use std::io::Write;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use toml_edit::{DocumentMut, Item, Table, value};

const CURRENT: &str = "current";
const PROFILES: &str = "profiles";

/// The settings of a profile.
const FIELDS: [&str; 7] = ["broker", "api_key", "api_key_file", "zone", "ca", "client_cert", "client_key"];

/// Permissions of files with keys: only their owner may read them.
const SECRET_MODE: u32 = 0o600;

/// A broker, and how to connect to it.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Profile {
    pub broker: String,
    /// The key itself.
    pub api_key: Option<String>,
    /// The file that the key is read from.
    pub api_key_file: Option<PathBuf>,
    pub zone: Option<String>,
    pub ca: Option<PathBuf>,
    pub client_cert: Option<PathBuf>,
    pub client_key: Option<PathBuf>,
}

/// Without its key.
impl std::fmt::Debug for Profile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Profile").field("broker", &self.broker).finish_non_exhaustive()
    }
}

impl Profile {
    fn parse(name: &str, table: &Table) -> Result<Profile, String> {
        if let Some((field, _)) = table.iter().find(|(field, _)| !FIELDS.contains(field)) {
            return Err(format!("profile {name:?} has the unknown field {field:?}; it can have {}", FIELDS.join(", ")));
        }
        let text = |field: &str| match table.get(field).map(Item::as_str) {
            None => Ok(None),
            Some(Some(text)) => Ok(Some(text.to_owned())),
            Some(None) => Err(format!("{field} of profile {name:?} isn't a text; put it in quotes")),
        };
        let path = |field: &str| text(field).map(|text| text.map(PathBuf::from));
        let profile = Profile {
            broker: text("broker")?
                .ok_or_else(|| format!("profile {name:?} has no broker; add broker = \"http://HOST:PORT\""))?,
            api_key: text("api_key")?,
            api_key_file: path("api_key_file")?,
            zone: text("zone")?,
            ca: path("ca")?,
            client_cert: path("client_cert")?,
            client_key: path("client_key")?,
        };
        if profile.api_key.is_some() && profile.api_key_file.is_some() {
            return Err(format!("profile {name:?} has api_key and api_key_file; remove one of them"));
        }
        if profile.client_cert.is_some() != profile.client_key.is_some() {
            return Err(format!("profile {name:?} has one of client_cert and client_key; add the other one"));
        }
        Ok(profile)
    }

    fn table(&self) -> Table {
        let path = |path: &Option<PathBuf>| path.as_ref().map(|path| path.display().to_string());
        let fields = [
            Some(self.broker.clone()),
            self.api_key.clone(),
            path(&self.api_key_file),
            self.zone.clone(),
            path(&self.ca),
            path(&self.client_cert),
            path(&self.client_key),
        ];
        FIELDS.into_iter().zip(fields).filter_map(|(name, text)| Some((name, value(text?)))).collect()
    }

    /// The key, which may be in a file.
    pub fn key(&self) -> Result<Option<String>, CommandError> {
        let Some(file) = &self.api_key_file else { return Ok(self.api_key.clone()) };
        check_secret(file)?;
        let text = std::fs::read_to_string(file);
        let text = text.map_err(|error| CommandError::Failed(format!("can't read {}: {error}", file.display())))?;
        let key = text.trim();
        if key.is_empty() {
            return Err(CommandError::Failed(format!("{} has no key; write the API key to it", file.display())));
        }
        Ok(Some(key.to_owned()))
    }
}

/// The profiles and the current one, as text that keeps its comments and its order.
#[derive(Default)]
pub struct ProfileFile {
    document: DocumentMut,
    profiles: Vec<(String, Profile)>,
}

/// Without its text, which has keys.
impl std::fmt::Debug for ProfileFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ProfileFile").field("profiles", &self.profiles).finish_non_exhaustive()
    }
}

impl ProfileFile {
    /// Reads the file of this user, if it exists.
    pub fn load() -> Result<ProfileFile, CommandError> {
        let Some(path) = path() else { return Ok(ProfileFile::default()) };
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(ProfileFile::default()),
            Err(error) => return Err(CommandError::Failed(format!("can't read {}: {error}", path.display()))),
        };
        let file = ProfileFile::parse(&text);
        let file = file.map_err(|reason| CommandError::Usage(format!("{}: {reason}", path.display())))?;
        if file.profiles.iter().any(|(_, profile)| profile.api_key.is_some()) {
            check_secret(&path)?;
        }
        Ok(file)
    }

    /// Reads a file's text.
    pub fn parse(text: &str) -> Result<ProfileFile, String> {
        // The error's text shows the line, which may have a key.
        let document: DocumentMut = text.parse().map_err(|error: toml_edit::TomlError| {
            let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or(text);
            let line = before.bytes().filter(|byte| *byte == b'\n').count() + 1;
            format!("line {line} is not TOML: {}", error.message())
        })?;
        if let Some((name, _)) = document.iter().find(|(name, _)| ![CURRENT, PROFILES].contains(name)) {
            return Err(format!("unknown name {name:?}; the file has {CURRENT} and tables [{PROFILES}.NAME]"));
        }
        let profiles = match document.get(PROFILES) {
            None => Vec::new(),
            Some(item) => {
                let tables = item.as_table().ok_or_else(|| format!("{PROFILES} isn't a table"))?;
                let profile = |(name, item): (&str, &Item)| {
                    let table = item.as_table().ok_or_else(|| format!("profile {name:?} isn't a table"))?;
                    Ok((name.to_owned(), Profile::parse(name, table)?))
                };
                tables.iter().map(profile).collect::<Result<_, String>>()?
            }
        };
        let file = ProfileFile { document, profiles };
        match file.document.get(CURRENT).map(Item::as_str) {
            None => {}
            Some(Some(name)) if file.profiles.iter().any(|(found, _)| found == name) => {}
            Some(_) => return Err(format!("{CURRENT} isn't the name of a profile; `rawline profile use` sets it")),
        }
        Ok(file)
    }

    /// The name of the profile that is used without --profile.
    pub fn current(&self) -> Option<&str> {
        self.document.get(CURRENT).and_then(Item::as_str)
    }

    pub fn profiles(&self) -> &[(String, Profile)] {
        &self.profiles
    }

    /// The profile with this name.
    pub fn get(&self, name: &str) -> Result<(&str, &Profile), CommandError> {
        let found = self.profiles.iter().find(|(found, _)| found == name);
        found.map(|(name, profile)| (name.as_str(), profile)).ok_or_else(|| {
            let names: Vec<&str> = self.profiles.iter().map(|(name, _)| name.as_str()).collect();
            let advice = match names.as_slice() {
                [] => "`rawline profile add` adds one".to_owned(),
                names => format!("the profiles are {}", names.join(", ")),
            };
            CommandError::Usage(format!("there is no profile {name:?}; {advice}"))
        })
    }

    /// Adds a profile.
    pub fn add(&mut self, name: &str, profile: &Profile) -> Result<(), CommandError> {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
        if name.is_empty() || !name.bytes().all(is_plain) {
            let message = format!("{name:?} can't be a profile's name; use letters, digits, '-', '_' and '.'");
            return Err(CommandError::Usage(message));
        }
        if self.get(name).is_ok() {
            return Err(CommandError::Usage(format!("there is a profile {name:?} already; remove it first")));
        }
        let tables = self.document.entry(PROFILES).or_insert_with(|| {
            let mut table = Table::new();
            table.set_implicit(true);
            Item::Table(table)
        });
        let Some(tables) = tables.as_table_mut() else { unreachable!("the file was checked") };
        tables.insert(name, Item::Table(profile.table()));
        self.profiles.push((name.to_owned(), profile.clone()));
        Ok(())
    }

    /// Uses this profile from now on, or none.
    pub fn set_current(&mut self, name: Option<&str>) -> Result<(), CommandError> {
        let Some(name) = name else {
            self.document.remove(CURRENT);
            return Ok(());
        };
        self.get(name)?;
        // A comment on it stays.
        match self.document.get_mut(CURRENT) {
            Some(item) => *item = value(name),
            None => _ = self.document.insert(CURRENT, value(name)),
        }
        Ok(())
    }

    /// Removes a profile. If it is the current one, none is used from now on.
    pub fn remove(&mut self, name: &str) -> Result<(), CommandError> {
        self.get(name)?;
        if self.current() == Some(name) {
            self.document.remove(CURRENT);
        }
        if let Some(tables) = self.document.get_mut(PROFILES).and_then(Item::as_table_mut) {
            tables.remove(name);
        }
        self.profiles.retain(|(found, _)| found != name);
        Ok(())
    }

    /// Replaces the file. A crash leaves it as it was.
    pub fn save(&self) -> Result<PathBuf, CommandError> {
        let Some(path) = path() else {
            let message = "no directory for config.toml: set HOME or XDG_CONFIG_HOME";
            return Err(CommandError::Failed(message.to_owned()));
        };
        let replaced = replace(&path, &self.document.to_string());
        replaced.map_err(|error| CommandError::Failed(format!("can't write {}: {error}", path.display())))?;
        Ok(path)
    }
}

/// The file of this user.
pub fn path() -> Option<PathBuf> {
    Some(environment::config_directory()?.join("rawline/config.toml"))
}

fn replace(path: &Path, text: &str) -> std::io::Result<()> {
    if let Some(directory) = path.parent() {
        std::fs::create_dir_all(directory)?;
    }
    let new = path.with_added_extension("tmp");
    // A file that an earlier crash left may have other permissions.
    let _ = std::fs::remove_file(&new);
    let mut file = std::fs::OpenOptions::new().write(true).create_new(true).mode(SECRET_MODE).open(&new)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    std::fs::rename(&new, path)
}

/// Fails if other users can read a file with a key.
pub fn check_secret(path: &Path) -> Result<(), CommandError> {
    let shown = path.display();
    let metadata = std::fs::metadata(path);
    let metadata = metadata.map_err(|error| CommandError::Failed(format!("can't read {shown}: {error}")))?;
    if metadata.permissions().mode() & 0o077 != 0 {
        let message = format!("{shown} has an API key, and other users can read it; run `chmod 600 {shown}`");
        return Err(CommandError::Failed(message));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# mine\ncurrent = \"a\"\n\n[profiles.a]\nbroker = \"http://a:1\" # the first\nzone = \"z\"\n";

    #[test]
    fn changes_keep_the_rest_of_the_file() {
        let mut file = ProfileFile::parse(TEXT).unwrap();
        let profile =
            Profile { broker: "https://b:1".to_owned(), api_key: Some("secret".to_owned()), ..Profile::default() };
        file.add("b", &profile).unwrap();
        file.set_current(Some("b")).unwrap();
        let text = file.document.to_string();
        assert_eq!(
            text,
            TEXT.replace("current = \"a\"", "current = \"b\"")
                + "\n[profiles.b]\nbroker = \"https://b:1\"\napi_key = \"secret\"\n"
        );
        let mut file = ProfileFile::parse(&text).unwrap();
        assert_eq!((file.current(), file.get("b").unwrap().1), (Some("b"), &profile));
        assert!(!format!("{file:?} {profile:?}").contains("secret"));
        file.remove("b").unwrap();
        assert_eq!(file.document.to_string(), TEXT.replace("current = \"a\"\n", "").replace("# mine\n", ""));
        let mut empty = ProfileFile::default();
        empty.add("b", &profile).unwrap();
        assert_eq!(empty.document.to_string(), "[profiles.b]\nbroker = \"https://b:1\"\napi_key = \"secret\"\n");
    }

    #[test]
    fn a_wrong_file_is_an_error_that_names_the_place() {
        for (text, reason) in [
            ("\n[profiles.a]\napi_key = \"secret", "line 3 is not TOML"),
            ("colour = 1", "unknown name \"colour\""),
            ("current = \"a\"", "isn't the name of a profile"),
            ("[profiles.a]", "profile \"a\" has no broker"),
            ("[profiles.a]\nbroker = 1", "broker of profile \"a\" isn't a text"),
            ("[profiles.a]\nbroker = \"x\"\nkey = \"y\"", "unknown field \"key\""),
            ("[profiles.a]\nbroker = \"x\"\napi_key = \"y\"\napi_key_file = \"z\"", "remove one of them"),
            ("[profiles.a]\nbroker = \"x\"\nclient_cert = \"y\"", "add the other one"),
            ("profiles = 1", "isn't a table"),
        ] {
            let error = ProfileFile::parse(text).unwrap_err();
            assert!(error.contains(reason) && !error.contains("secret"), "{text}: {error}");
        }
    }
}
