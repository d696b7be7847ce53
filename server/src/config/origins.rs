//! `cors_origins`: the sites whose scripts may call the gateway.

use http::HeaderValue;

use super::{AddressError, Error, WebAddress};

/// Sites, each as a browser names it in `Origin`: scheme, host, and the port where it is not
/// the scheme's own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origins(Vec<HeaderValue>);

impl Origins {
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether `origin` is one of them.
    pub fn contains(&self, origin: &HeaderValue) -> bool {
        self.0.contains(origin)
    }
}

pub(super) fn check(texts: Option<Vec<String>>) -> Result<Origins, Error> {
    let origins = texts.unwrap_or_default();
    let origins = origins.iter().enumerate().map(|(n, text)| {
        origin(text).map_err(|problem| Error::invalid(format!("server.cors_origins[{n}]"), problem))
    });
    origins.collect::<Result<_, _>>().map(Origins)
}

fn origin(text: &str) -> Result<HeaderValue, String> {
    if text.contains('*') || text == "null" {
        return Err(
            "must name one site: a wildcard would let every page spend the limits".to_owned(),
        );
    }
    let address: WebAddress = text
        .parse()
        .map_err(|error: AddressError| error.to_string())?;
    if !address.path().is_empty() || text.ends_with('/') {
        return Err("must be a site like https://app.example.org, without a path".to_owned());
    }
    let default = if address.is_secure() { 443 } else { 80 };
    let host = address.authority().host().to_ascii_lowercase();
    let port = match address.port() {
        port if port == default => String::new(),
        port => format!(":{port}"),
    };
    let origin = format!("{}://{host}{port}", address.scheme());
    HeaderValue::try_from(origin).map_err(|_| AddressError::NotAbsolute.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_site_is_written_as_browsers_write_it() {
        for (text, written) in [
            ("https://App.Example.org", "https://app.example.org"),
            ("https://app.example.org:443", "https://app.example.org"),
            ("http://localhost:80", "http://localhost"),
            ("http://localhost:5173", "http://localhost:5173"),
            ("http://[::1]:8080", "http://[::1]:8080"),
        ] {
            assert_eq!(
                origin(text).as_ref().map(|it| it.to_str().unwrap()),
                Ok(written)
            );
        }
        for text in ["*", "https://*.example.org", "null", "app.example.org"] {
            assert!(origin(text).is_err(), "{text}");
        }
        for text in [
            "https://a.example/",
            "https://a.example/x",
            "https://a.example?x",
        ] {
            assert!(origin(text).is_err(), "{text}");
        }
    }
}
