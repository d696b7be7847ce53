//! `[oidc]`: an identity provider that vouches for people, by OpenID Connect.

use std::{collections::BTreeMap, fmt, path::PathBuf};

use serde::Deserialize;

use super::{AddressError, Error, WebAddress};
use crate::access::Role;

/// The claim that says what somebody may do, where none is named: Entra ID's app roles.
const ROLES_CLAIM_DEFAULT: &str = "roles";

/// What the way in is called where no name is given.
const NAME_DEFAULT: &str = "your organisation";

/// An identity provider.
#[derive(Clone, PartialEq, Eq)]
pub struct Oidc {
    /// Who issues, exactly as the provider says it.
    pub issuer: String,
    /// The same as an address.
    pub address: WebAddress,
    /// What Spillway is called there.
    pub client_id: String,
    /// What proves it; `None`: the code's own proof (PKCE) is enough there.
    pub client_secret: Option<String>,
    /// The claim of the ID token that says what somebody may do. Dots lead into objects.
    pub roles_claim: String,
    /// What its values mean; who has none of them is not let in.
    pub roles: BTreeMap<String, Role>,
    /// What the way in is called.
    pub name: String,
}

impl fmt::Debug for Oidc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Oidc");
        shown.field("issuer", &self.issuer).finish_non_exhaustive()
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Raw {
    issuer: Option<String>,
    client_id: Option<String>,
    client_secret_file: Option<PathBuf>,
    roles_claim: Option<String>,
    #[serde(default)]
    roles: BTreeMap<String, Role>,
    name: Option<String>,
}

impl Raw {
    pub(super) fn check(self) -> Result<Oidc, Error> {
        let missing = |key: &str| Error::invalid(format!("oidc.{key}"), "is missing");
        let issuer = self.issuer.ok_or_else(|| missing("issuer"))?;
        if self.roles.is_empty() {
            let problem = "is missing: nobody would be let in; map a value of the claim to a role, \
                like \"spillway-admins\" = \"admin\"";
            return Err(Error::invalid("oidc.roles", problem));
        }
        let text = |key: &str, text: Option<String>, default: Option<&str>| {
            let text = text.or_else(|| default.map(str::to_owned));
            let text = text.ok_or_else(|| missing(key))?;
            match text.trim() == text && !text.is_empty() && !text.chars().any(char::is_control) {
                true => Ok(text),
                false => Err(Error::invalid(
                    format!("oidc.{key}"),
                    "must be a plain text",
                )),
            }
        };
        Ok(Oidc {
            address: address(&issuer)?,
            issuer,
            client_id: text("client_id", self.client_id, None)?,
            client_secret: self.client_secret_file.map(secret).transpose()?,
            roles_claim: text("roles_claim", self.roles_claim, Some(ROLES_CLAIM_DEFAULT))?,
            roles: self.roles,
            name: text("name", self.name, Some(NAME_DEFAULT))?,
        })
    }
}

/// What it answers is believed because it is known by its certificate.
fn address(issuer: &str) -> Result<WebAddress, Error> {
    let key = "oidc.issuer";
    let parsed = issuer.parse::<WebAddress>();
    let address = parsed.map_err(|error: AddressError| Error::invalid(key, error.to_string()))?;
    if !address.is_secure() && !address.is_loopback() {
        let problem = "must be https: what the provider says is believed by its certificate";
        return Err(Error::invalid(key, problem));
    }
    Ok(address)
}

fn secret(path: PathBuf) -> Result<String, Error> {
    let text = std::fs::read_to_string(&path);
    let text = text.map_err(|source| Error::Unreadable { path, source })?;
    match text.trim() {
        "" => Err(Error::invalid("oidc.client_secret_file", "holds nothing")),
        text => Ok(text.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(text: &str) -> Result<Oidc, String> {
        let raw: Raw = toml::from_str(text).unwrap();
        raw.check().map_err(|error| error.to_string())
    }

    const ROLES: &str = "roles = { admins = 'admin' }";

    #[test]
    fn a_provider_has_an_issuer_a_client_and_roles() {
        let text =
            format!("issuer = 'https://id.example/realms/a'\nclient_id = 'spillway'\n{ROLES}");
        let oidc = checked(&text).unwrap();
        assert_eq!(oidc.issuer, "https://id.example/realms/a");
        assert_eq!(
            (oidc.roles_claim.as_str(), oidc.client_secret),
            ("roles", None)
        );
        assert_eq!(oidc.roles["admins"], Role::Admin);
    }

    #[test]
    fn what_is_missing_or_unsafe_is_named() {
        let https = "issuer = 'https://id.example'";
        for (text, wrong) in [
            (
                format!("client_id = 'a'\n{ROLES}"),
                "oidc.issuer: is missing",
            ),
            (format!("{https}\n{ROLES}"), "oidc.client_id: is missing"),
            (
                format!("{https}\nclient_id = 'a'"),
                "oidc.roles: is missing",
            ),
            (
                format!("{https}\nclient_id = ' '\n{ROLES}"),
                "oidc.client_id: must be a plain text",
            ),
            (
                format!("issuer = 'http://id.example'\nclient_id = 'a'\n{ROLES}"),
                "oidc.issuer: must be https",
            ),
            (
                format!("issuer = 'id.example'\nclient_id = 'a'\n{ROLES}"),
                "oidc.issuer: must be an absolute address",
            ),
        ] {
            let error = checked(&text).unwrap_err();
            assert!(error.starts_with(wrong), "{text}: {error}");
        }
    }
}
