//! ID tokens as a provider signs them, and as it does not.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use openidconnect::{
    JsonWebKeyId, JsonWebKeySet, PrivateSigningKey as _,
    core::{CoreEdDsaPrivateSigningKey, CoreJwsSigningAlgorithm},
};
use serde_json::{Value, json};

use super::*;
use crate::access::Role;

const NOW_S: i64 = 1_800_000_000;
const ISSUER: &str = "https://id.example";

/// A key of that name, made anew.
fn key(name: &str) -> CoreEdDsaPrivateSigningKey {
    let pair = rcgen::KeyPair::generate_for(&rcgen::PKCS_ED25519).unwrap();
    let name = JsonWebKeyId::new(name.to_owned());
    CoreEdDsaPrivateSigningKey::from_ed25519_pem(&pair.serialize_pem(), Some(name)).unwrap()
}

fn good() -> Value {
    json!({
        "iss": ISSUER, "aud": "spillway", "nonce": "n", "sub": "7",
        "iat": NOW_S, "exp": NOW_S + 300, "preferred_username": "ada@example.org",
        "roles": ["x", "ops", "admins"],
    })
}

/// The token of these claims under this header; the key signs where there is one.
fn token(header: &Value, claims: &Value, key: Option<&CoreEdDsaPrivateSigningKey>) -> String {
    let encode = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let text = format!("{}.{}", encode(header), encode(claims));
    let sign = |key: &CoreEdDsaPrivateSigningKey| {
        key.sign(&CoreJwsSigningAlgorithm::EdDsa, text.as_bytes())
    };
    let signature = key.map(|key| sign(key).unwrap()).unwrap_or_default();
    format!("{text}.{}", URL_SAFE_NO_PAD.encode(signature))
}

/// A provider of one key, `k`.
struct Fixture {
    key: CoreEdDsaPrivateSigningKey,
    known: Known,
}

impl Fixture {
    fn new() -> Self {
        let config = Oidc {
            issuer: ISSUER.to_owned(),
            address: ISSUER.parse().unwrap(),
            client_id: "spillway".to_owned(),
            client_secret: Some("secret".to_owned()),
            roles_claim: String::new(),
            roles: [].into(),
            name: String::new(),
        };
        let said = json!({
            "issuer": ISSUER, "authorization_endpoint": format!("{ISSUER}/authorize"),
            "token_endpoint": format!("{ISSUER}/token"), "jwks_uri": format!("{ISSUER}/keys"),
            "response_types_supported": ["code"], "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": ["none", "HS256", "EdDSA"],
        });
        let key = key("k");
        let said: CoreProviderMetadata = serde_json::from_value(said).unwrap();
        let said = said.set_jwks(JsonWebKeySet::new(vec![key.as_verification_key()]));
        let back = RedirectUrl::new("https://spillway.example/sign-in/callback".to_owned());
        Self {
            known: known(said, &config, back.unwrap()),
            key,
        }
    }

    fn told(&self, token: &str, roles_claim: &str) -> Result<Vouched, NotVouched> {
        let roles = [
            ("ops".to_owned(), Role::Operator),
            ("admins".to_owned(), Role::Admin),
        ];
        let expected = Expected {
            issuer: ISSUER,
            client_id: "spillway",
            nonce: &Nonce::new("n".to_owned()),
            now: Timestamp::from_second(NOW_S).unwrap(),
            roles_claim,
            roles: &roles.into(),
        };
        let token: IdToken = token.parse().map_err(|_| NotVouched::Unreadable)?;
        vouched(&token, &self.known, &expected)
    }

    fn signed(&self, claims: &Value) -> String {
        token(
            &json!({ "alg": "EdDSA", "kid": "k" }),
            claims,
            Some(&self.key),
        )
    }

    fn with(&self, name: &str, value: Value) -> Result<Vouched, NotVouched> {
        let mut claims = good();
        claims[name] = value;
        self.told(&self.signed(&claims), "roles")
    }
}

#[test]
fn a_good_token_vouches_with_the_highest_role() {
    let fixture = Fixture::new();
    let ada = fixture.told(&fixture.signed(&good()), "roles").unwrap();
    assert_eq!(ada.subject, "https://id.example\n7");
    assert_eq!(
        (ada.name.as_str(), ada.role),
        ("ada@example.org", Role::Admin)
    );
    let mut nested = good();
    nested["realm_access"] = json!({ "roles": ["ops"] });
    let nested = fixture.told(&fixture.signed(&nested), "realm_access.roles");
    assert_eq!(nested.unwrap().role, Role::Operator);
    let one = fixture.with("roles", json!("ops")).unwrap();
    assert_eq!(one.role, Role::Operator);
    let mut standard = good();
    standard["email"] = json!("ops");
    let standard = fixture.told(&fixture.signed(&standard), "email");
    assert_eq!(
        standard.unwrap().role,
        Role::Operator,
        "a standard claim, too"
    );
    let both = json!(["spillway", "other"]);
    let without = fixture.with("aud", both.clone());
    assert_eq!(without, Err(NotVouched::Another("azp")));
    let mut asked = good();
    (asked["aud"], asked["azp"]) = (both, json!("spillway"));
    assert!(fixture.told(&fixture.signed(&asked), "roles").is_ok());
}

#[test]
fn what_is_for_another_sign_in_vouches_for_nobody() {
    let fixture = Fixture::new();
    let another = NotVouched::Another;
    let no_role = || NotVouched::NoRole("roles".to_owned());
    for (name, value, not) in [
        ("iss", json!("https://id.example/"), another("iss")),
        ("aud", json!("other"), another("aud")),
        ("aud", json!([]), another("aud")),
        ("aud", Value::Null, NotVouched::Unreadable),
        ("azp", json!("other"), another("azp")),
        ("nonce", json!("m"), another("nonce")),
        ("nonce", Value::Null, another("nonce")),
        ("exp", json!(NOW_S - 60), NotVouched::NotNow),
        ("exp", Value::Null, NotVouched::Unreadable),
        ("iat", json!(NOW_S + 61), NotVouched::NotNow),
        ("sub", json!(""), NotVouched::Unreadable),
        ("roles", json!(["x"]), no_role()),
        ("roles", Value::Null, no_role()),
    ] {
        assert_eq!(
            fixture.with(name, value.clone()),
            Err(not),
            "{name} {value}"
        );
    }
    let late = fixture.with("exp", json!(NOW_S - 59));
    assert!(late.is_ok(), "clocks differ");
    let early = fixture.with("iat", json!(NOW_S + 60));
    assert!(early.is_ok(), "clocks differ");
}

#[test]
fn who_did_not_sign_it_vouches_for_nobody() {
    let fixture = Fixture::new();
    let told = |header: Value, key: Option<&CoreEdDsaPrivateSigningKey>| {
        fixture.told(&token(&header, &good(), key), "roles")
    };
    let another = key("k");
    for (header, key, not) in [
        (
            json!({ "alg": "EdDSA", "kid": "k" }),
            Some(&another),
            NotVouched::Unsigned,
        ),
        (
            json!({ "alg": "EdDSA" }),
            Some(&another),
            NotVouched::Unsigned,
        ),
        (
            json!({ "alg": "EdDSA", "kid": "l" }),
            Some(&another),
            NotVouched::UnknownKey,
        ),
        (
            json!({ "alg": "EdDSA", "kid": "k" }),
            None,
            NotVouched::Unsigned,
        ),
        (json!({ "alg": "none" }), None, NotVouched::Unsigned),
        (
            json!({ "alg": "none" }),
            Some(&fixture.key),
            NotVouched::Unsigned,
        ),
        (
            json!({ "alg": "HS256", "kid": "k" }),
            Some(&fixture.key),
            NotVouched::Unsigned,
        ),
        (
            json!({ "alg": "RS256", "kid": "k" }),
            Some(&fixture.key),
            NotVouched::UnknownKey,
        ),
    ] {
        assert_eq!(told(header.clone(), key), Err(not), "{header}");
    }
    // Good but for claims that were changed behind the signature.
    let good_one = fixture.signed(&good());
    let mut changed = good();
    changed["sub"] = json!("8");
    let changed = URL_SAFE_NO_PAD.encode(changed.to_string());
    let parts: Vec<_> = good_one.split('.').collect();
    let forged = format!("{}.{changed}.{}", parts[0], parts[2]);
    assert_eq!(fixture.told(&forged, "roles"), Err(NotVouched::Unsigned));
}

#[test]
fn names_are_made_to_fit() {
    let fixture = Fixture::new();
    let called = |value: Value| fixture.with("preferred_username", value).unwrap().name;
    assert_eq!(called(json!(" a\r\nb ")), "ab");
    assert_eq!(called(json!("x".repeat(100))).len(), claims::NAME_CHARS_MAX);
    assert_eq!(called(json!(" ")), "7", "the subject at last");
}

#[test]
fn what_is_no_token_is_none() {
    let fixture = Fixture::new();
    for text in ["", "a.b", "a.b.c.d", "a.!.c", "a.W10.c", "e30.e30.c2ln"] {
        assert_eq!(
            fixture.told(text, "roles"),
            Err(NotVouched::Unreadable),
            "{text}"
        );
    }
}
