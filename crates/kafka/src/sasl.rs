//! Clients' messages for authentication in SaslAuthenticate: the one of PLAIN (RFC 4616), or the two of SCRAM (RFC
//! 5802). Salts and proofs stay in base64.

/// Why a message isn't one of its mechanism.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SaslError {
    /// Not UTF-8, or with a control character.
    #[error("a message of {mechanism} that isn't text")]
    NotText {
        /// PLAIN or SCRAM.
        mechanism: &'static str,
    },
    /// A field is missing or in another place.
    #[error("a message of {mechanism} without {field} in its place")]
    Field {
        /// PLAIN or SCRAM.
        mechanism: &'static str,
        /// The expected attribute.
        field: &'static str,
    },
    /// The client insists on channel binding.
    #[error("the client asks for channel binding, which this broker doesn't have")]
    ChannelBinding,
    /// The client insists on an extension.
    #[error("the client asks for an extension of SCRAM that this broker doesn't have")]
    Extension,
    /// The client authenticates with a token in place of a password.
    #[error("the client has a delegation token, and this broker has none; use an API key as the password")]
    Token,
}

const PLAIN: &str = "PLAIN";
const SCRAM: &str = "SCRAM";

fn missing(mechanism: &'static str, field: &'static str) -> SaslError {
    SaslError::Field { mechanism, field }
}

/// PLAIN's only message: `[authorization] NUL user NUL password`.
#[derive(Debug, PartialEq, Eq)]
pub struct PlainMessage<'a> {
    /// The authorization identity; mostly empty.
    pub authorization: &'a str,
    /// The user name.
    pub user: &'a str,
    /// The password.
    pub password: &'a str,
}

impl<'a> PlainMessage<'a> {
    /// Reads the message.
    pub fn read(bytes: &'a [u8]) -> Result<Self, SaslError> {
        let text = std::str::from_utf8(bytes).map_err(|_| SaslError::NotText { mechanism: PLAIN })?;
        let mut fields = text.split('\0');
        let authorization = fields.next().unwrap_or_default();
        let user = fields.next().filter(|user| !user.is_empty()).ok_or(missing(PLAIN, "a user"))?;
        let password = fields.next().filter(|password| !password.is_empty()).ok_or(missing(PLAIN, "a password"))?;
        match fields.next() {
            None => Ok(PlainMessage { authorization, user, password }),
            Some(_) => Err(missing(PLAIN, "its end")),
        }
    }
}

/// SCRAM's first message: `n,[a=authorization],n=user,r=nonce[,extensions]`.
#[derive(Debug, PartialEq, Eq)]
pub struct ScramFirst<'a> {
    /// The part before `bare`, with its commas.
    pub header: &'a str,
    /// The message from the user on.
    pub bare: &'a str,
    /// The authorization identity, escaped as it was sent.
    pub authorization: Option<&'a str>,
    /// The user name, escaped as it was sent.
    pub user: &'a str,
    /// The client's part of the nonce.
    pub nonce: &'a str,
}

impl<'a> ScramFirst<'a> {
    /// Reads the message.
    pub fn read(bytes: &'a [u8]) -> Result<Self, SaslError> {
        let text = text(bytes)?;
        let (binding, rest) = text.split_once(',').ok_or(missing(SCRAM, "a header"))?;
        match binding {
            // `y` is of a client that can bind and believes that the broker can't, which is true.
            "n" | "y" => {}
            _ if binding.starts_with("p=") => return Err(SaslError::ChannelBinding),
            _ => return Err(missing(SCRAM, "a header")),
        }
        let (authorization, bare) = rest.split_once(',').ok_or(missing(SCRAM, "a header"))?;
        let authorization = match authorization {
            "" => None,
            name => Some(value(name, "a=").filter(|name| is_name(name)).ok_or(missing(SCRAM, "an authorization"))?),
        };
        let header = text.strip_suffix(bare).ok_or(missing(SCRAM, "a header"))?;
        let mut fields = bare.split(',');
        let user = fields.next().unwrap_or_default();
        if user.starts_with("m=") {
            return Err(SaslError::Extension);
        }
        let user = value(user, "n=").filter(|name| is_name(name)).ok_or(missing(SCRAM, "a user"))?;
        let nonce = fields.next().and_then(|nonce| value(nonce, "r=")).ok_or(missing(SCRAM, "a nonce"))?;
        for extension in fields {
            match extension.split_once('=') {
                Some(("tokenauth", "true")) => return Err(SaslError::Token),
                Some(("m", _)) => return Err(SaslError::Extension),
                Some(_) => {}
                None => return Err(missing(SCRAM, "an extension's value")),
            }
        }
        Ok(ScramFirst { header, bare, authorization, user, nonce })
    }
}

/// SCRAM's second message: `c=header,r=nonce[,extensions],p=proof`.
#[derive(Debug, PartialEq, Eq)]
pub struct ScramFinal<'a> {
    /// The first message's header, in base64.
    pub binding: &'a str,
    /// The client's part and the broker's.
    pub nonce: &'a str,
    /// The message up to the proof, without the comma between.
    pub without_proof: &'a str,
    /// The proof that the client knows the password, in base64.
    pub proof: &'a str,
}

impl<'a> ScramFinal<'a> {
    /// Reads the message.
    pub fn read(bytes: &'a [u8]) -> Result<Self, SaslError> {
        let (without_proof, proof) = text(bytes)?.rsplit_once(',').ok_or(missing(SCRAM, "a proof"))?;
        let proof = value(proof, "p=").ok_or(missing(SCRAM, "a proof"))?;
        let mut fields = without_proof.split(',');
        let binding = fields.next().and_then(|binding| value(binding, "c=")).ok_or(missing(SCRAM, "a binding"))?;
        let nonce = fields.next().and_then(|nonce| value(nonce, "r=")).ok_or(missing(SCRAM, "a nonce"))?;
        if fields.any(|extension| extension.starts_with("m=")) {
            return Err(SaslError::Extension);
        }
        Ok(ScramFinal { binding, nonce, without_proof, proof })
    }
}

fn text(bytes: &[u8]) -> Result<&str, SaslError> {
    let text = std::str::from_utf8(bytes).ok().filter(|text| !text.contains(char::is_control));
    text.ok_or(SaslError::NotText { mechanism: SCRAM })
}

/// The rest after this prefix; never empty.
fn value<'a>(field: &'a str, prefix: &str) -> Option<&'a str> {
    field.strip_prefix(prefix).filter(|value| !value.is_empty())
}

/// Whether all commas and equals signs are escaped.
fn is_name(name: &str) -> bool {
    name.split('=').skip(1).all(|after| after.starts_with("2C") || after.starts_with("3D"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_read() {
        let plain = PlainMessage::read(b"\0me\0secret").unwrap();
        assert_eq!(plain, PlainMessage { authorization: "", user: "me", password: "secret" });
        let first = ScramFirst::read(b"n,,n=user,r=fyko+d2lbbFgONRv9qkxdawL").unwrap();
        let bare = "n=user,r=fyko+d2lbbFgONRv9qkxdawL";
        let expected =
            ScramFirst { header: "n,,", bare, authorization: None, user: "user", nonce: "fyko+d2lbbFgONRv9qkxdawL" };
        assert_eq!(first, expected);
        let first = ScramFirst::read(b"y,a=a=2Cb,n=a=2Cb,r=1,x=y").unwrap();
        assert_eq!((first.header, first.authorization, first.user), ("y,a=a=2Cb,", Some("a=2Cb"), "a=2Cb"));
        let last = ScramFinal::read(b"c=biws,r=12,x=y,p=v0X8v3Bz2T0CJGbJQyF0X+HI4Ts=").unwrap();
        let without_proof = "c=biws,r=12,x=y";
        let proof = "v0X8v3Bz2T0CJGbJQyF0X+HI4Ts=";
        assert_eq!(last, ScramFinal { binding: "biws", nonce: "12", without_proof, proof });
    }

    #[test]
    fn other_messages_are_refused() {
        for bytes in [&b""[..], b"\0", b"\0user", b"\0user\0", b"\0\0secret", b"\0user\0secret\0", b"\0user\0\xff"] {
            PlainMessage::read(bytes).unwrap_err();
        }
        for text in ["", "n", "n,", "n,,", "n,,n=", "n,,n=user", "n,,n=user,r=", "n,,n=a=b,r=1", "n,x,n=a,r=1"] {
            ScramFirst::read(text.as_bytes()).unwrap_err();
        }
        for (text, error) in [
            ("p=tls-unique,,n=user,r=1", SaslError::ChannelBinding),
            ("n,,m=x,n=user,r=1", SaslError::Extension),
            ("n,,n=user,r=1,m=x", SaslError::Extension),
            ("n,,n=user,r=1,tokenauth=true", SaslError::Token),
            ("n,,n=user,r=1\0", SaslError::NotText { mechanism: SCRAM }),
        ] {
            assert_eq!(ScramFirst::read(text.as_bytes()), Err(error), "{text}");
        }
        for text in ["", "c=biws", "c=biws,r=1", "c=biws,p=x", "c=biws,r=1,p=", "r=1,c=biws,p=x", "c=biws,r=1,m=2,p=x"]
        {
            ScramFinal::read(text.as_bytes()).unwrap_err();
        }
    }
}
