//! Web addresses as the configuration gives them: parsed once, whole.

use std::{fmt, net::IpAddr, str::FromStr};

use http::{Uri, uri::Authority};

/// An absolute `http` or `https` address without user, query or fragment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebAddress {
    secure: bool,
    authority: Authority,
    path: String,
}

/// Why a text is no such address. Never repeats the text, which may hold a password.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    /// Not an absolute address of either scheme.
    #[error("must be an absolute address like https://api.example.org/")]
    NotAbsolute,
    /// With a user or a password.
    #[error("must not hold a user or a password")]
    Credentials,
    /// With `?…` or `#…`.
    #[error("must not hold a query or a fragment")]
    Query,
    /// A path that a server may read in two ways.
    #[error("must not hold dot segments, empty segments or backslashes in its path")]
    Path,
}

impl WebAddress {
    /// Whether the scheme is `https`.
    pub fn is_secure(&self) -> bool {
        self.secure
    }

    /// `http` or `https`.
    pub fn scheme(&self) -> &'static str {
        if self.secure { "https" } else { "http" }
    }

    /// Host and, where given, port.
    pub fn authority(&self) -> &Authority {
        &self.authority
    }

    /// The port, given or the scheme's own.
    pub fn port(&self) -> u16 {
        let default = if self.secure { 443 } else { 80 };
        self.authority.port_u16().unwrap_or(default)
    }

    /// Whether it certainly is this machine: a loopback address, or `localhost`.
    pub fn is_loopback(&self) -> bool {
        let host = self.authority.host();
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        let address: Result<IpAddr, _> = bare.parse();
        address.map_or_else(
            |_| host.eq_ignore_ascii_case("localhost"),
            |address| address.to_canonical().is_loopback(),
        )
    }

    /// The path without the slash at its end: empty, or `/v1.0`.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The address of `segment` below this one.
    pub fn below(&self, segment: &str) -> Self {
        Self {
            path: format!("{}/{segment}", self.path),
            ..self.clone()
        }
    }
}

impl FromStr for WebAddress {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        if text.contains('#') {
            return Err(AddressError::Query);
        }
        let uri: Uri = text.parse().map_err(|_| AddressError::NotAbsolute)?;
        let secure = match uri.scheme_str() {
            Some("https") => true,
            Some("http") => false,
            _ => return Err(AddressError::NotAbsolute),
        };
        let authority = uri.authority().ok_or(AddressError::NotAbsolute)?.clone();
        if authority.as_str().contains('@') {
            return Err(AddressError::Credentials);
        }
        if authority.host().is_empty() || !port_is_sound(&authority) {
            return Err(AddressError::NotAbsolute);
        }
        if uri.query().is_some() {
            return Err(AddressError::Query);
        }
        let path = uri.path().strip_suffix('/').unwrap_or(uri.path());
        if !path_is_plain(path) {
            return Err(AddressError::Path);
        }
        Ok(Self {
            secure,
            authority,
            path: path.to_owned(),
        })
    }
}

impl fmt::Display for WebAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}{}", self.scheme(), self.authority, self.path)
    }
}

/// `http` lets `host:` and `host:99999` through.
fn port_is_sound(authority: &Authority) -> bool {
    let rest = &authority.as_str()[authority.host().len()..];
    rest.is_empty() || authority.port_u16().is_some_and(|port| port != 0)
}

fn path_is_plain(path: &str) -> bool {
    path.split('/')
        .skip(1)
        .all(|segment| !matches!(segment, "" | "." | "..") && !segment.contains('\\'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_is_told_from_others() {
        for (address, here) in [
            ("http://127.0.0.1:3002/", true),
            ("http://127.9.9.9", true),
            ("http://[::1]:1/x", true),
            ("http://[::ffff:127.0.0.1]", true),
            ("https://LocalHost", true),
            ("https://localhost.example", false),
            ("http://192.0.2.1", false),
            ("http://[2001:db8::1]", false),
            ("http://127.0.0.1.example", false),
        ] {
            let parsed: WebAddress = address.parse().unwrap();
            assert_eq!(parsed.is_loopback(), here, "{address}");
        }
    }

    #[test]
    fn an_address_is_taken_apart() {
        let address: WebAddress = "https://graph.microsoft.com/v1.0/".parse().unwrap();
        assert_eq!(address.scheme(), "https");
        assert_eq!(address.authority().as_str(), "graph.microsoft.com");
        assert_eq!((address.path(), address.port()), ("/v1.0", 443));
        assert_eq!(address.to_string(), "https://graph.microsoft.com/v1.0");
    }

    #[test]
    fn what_is_no_plain_web_address_is_refused() {
        use AddressError::*;
        for (text, why) in [
            ("", NotAbsolute),
            ("graph.microsoft.com", NotAbsolute),
            ("ftp://a/", NotAbsolute),
            ("https://", NotAbsolute),
            ("https://a:0/", NotAbsolute),
            ("https://a:99999/", NotAbsolute),
            ("https://me:secret@a/", Credentials),
            ("https://a/?x=1", Query),
            ("https://a/#x", Query),
            ("https://a/b/../c", Path),
            ("https://a//b", Path),
        ] {
            assert_eq!(text.parse::<WebAddress>(), Err(why), "{text}");
        }
    }
}
