//! Signing in by an identity provider: a lookalike of one that keeps to OpenID Connect's words.

use std::sync::{Arc, Mutex};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use http::{Request, Response, StatusCode, header};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use openidconnect::{
    JsonWebKeyId, PrivateSigningKey as _,
    core::{CoreEdDsaPrivateSigningKey, CoreJwsSigningAlgorithm},
};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use spillway_server::{access::Role, audit::By, store::AccountChange};

use crate::support::peer::{Peer, PeerBody, ok};
use crate::support::{NOBODY, Reply, TestApp};

/// What the provider says next, and what it was asked.
struct Says {
    /// What it signs with, and what it says that it signs with.
    keys: [Arc<CoreEdDsaPrivateSigningKey>; 2],
    header: Value,
    /// Members that are otherwise than in a good token.
    otherwise: Vec<(&'static str, Value)>,
    nonce: String,
    challenge: String,
    asked: Vec<String>,
}

impl Default for Says {
    fn default() -> Self {
        let key = key("first");
        Self {
            keys: [Arc::clone(&key), key],
            header: json!({ "alg": "EdDSA", "kid": "first" }),
            otherwise: vec![],
            nonce: String::new(),
            challenge: String::new(),
            asked: vec![],
        }
    }
}

/// A key of that name, made anew.
fn key(name: &str) -> Arc<CoreEdDsaPrivateSigningKey> {
    let pair = rcgen::KeyPair::generate_for(&rcgen::PKCS_ED25519).unwrap();
    let name = JsonWebKeyId::new(name.to_owned());
    let key = CoreEdDsaPrivateSigningKey::from_ed25519_pem(&pair.serialize_pem(), Some(name));
    Arc::new(key.unwrap())
}

impl Says {
    /// Signs, unless it says that it does not.
    fn signed(&self, claims: &Value) -> String {
        let encode = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let text = format!("{}.{}", encode(&self.header), encode(claims));
        let signature = match self.header["alg"].as_str() {
            Some("none") => vec![],
            _ => self.keys[0]
                .sign(&CoreJwsSigningAlgorithm::EdDsa, text.as_bytes())
                .unwrap(),
        };
        format!("{text}.{}", URL_SAFE_NO_PAD.encode(signature))
    }
}

struct Fixture {
    app: TestApp,
    says: Arc<Mutex<Says>>,
    issuer: String,
    _peer: Peer,
}

/// What the query of an address holds.
fn query(address: &str, name: &str) -> String {
    let url = url::Url::parse(address).unwrap();
    let mut pairs = url.query_pairs();
    let found = pairs.find(|(it, _)| it == name);
    found
        .unwrap_or_else(|| panic!("{name} is not in {address}"))
        .1
        .into_owned()
}

fn cookie(reply: &Reply, name: &str) -> String {
    let cookies = reply.headers.get_all(header::SET_COOKIE).iter();
    let mut cookies = cookies.map(|it| it.to_str().unwrap().split(';').next().unwrap());
    let begin = format!("{name}=");
    let found = cookies.find(|it| it.starts_with(&begin));
    found
        .unwrap_or_else(|| panic!("{name}: {:?}", reply.headers))
        .to_owned()
}

async fn answer(says: Arc<Mutex<Says>>, request: Request<Incoming>) -> Response<PeerBody> {
    let host = request.headers()[header::HOST].to_str().unwrap().to_owned();
    let issuer = format!("http://{host}");
    if request.uri().path().ends_with("openid-configuration") {
        let known = json!({
            "issuer": issuer,
            "authorization_endpoint": format!("{issuer}/authorize"),
            "token_endpoint": format!("{issuer}/token"),
            "jwks_uri": format!("{issuer}/keys"),
            "response_types_supported": ["code"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": ["EdDSA", "none"],
        });
        return ok(known.to_string());
    }
    if request.uri().path() == "/keys" {
        let key = says.lock().unwrap().keys[1].as_verification_key();
        return ok(json!({ "keys": [key] }).to_string());
    }
    let body = request.into_body().collect().await.unwrap().to_bytes();
    let form = String::from_utf8(body.to_vec()).unwrap();
    let now_s = jiff::Timestamp::now().as_second();
    let mut says = says.lock().unwrap();
    // The proof is of the challenge that the browser brought (RFC 7636, 4.6).
    let verifier = form
        .split("code_verifier=")
        .nth(1)
        .unwrap()
        .split('&')
        .next()
        .unwrap();
    let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(verifier));
    assert_eq!(challenge, says.challenge);
    says.asked.push(form);
    let mut claims = json!({
        "iss": issuer, "aud": "spillway", "sub": "7", "nonce": says.nonce,
        "iat": now_s, "exp": now_s + 300, "preferred_username": "ada@example.org",
        "roles": ["admins"],
    });
    for (name, value) in says.otherwise.clone() {
        claims[name] = value;
    }
    let id_token = says.signed(&claims);
    ok(json!({ "id_token": id_token, "access_token": "a", "token_type": "Bearer" }).to_string())
}

impl Fixture {
    async fn new() -> Self {
        let says = Arc::<Mutex<Says>>::default();
        let told = Arc::clone(&says);
        let peer = Peer::start(move |request| answer(Arc::clone(&told), request)).await;
        let issuer = format!("http://{}", peer.address);
        let oidc = format!(
            "{NOBODY}[oidc]\nissuer = '{issuer}'\nclient_id = 'spillway'\nname = 'Example ID'\n\
             [oidc.roles]\nadmins = 'admin'\nops = 'operator'\n"
        );
        Self {
            app: TestApp::closed(&oidc).await,
            says,
            issuer,
            _peer: peer,
        }
    }

    /// Goes to the provider, and notes what it would know then.
    async fn begin(&self, to: &str) -> (String, String) {
        let away = self
            .app
            .browse(&format!("/sign-in/provider?to={to}"), None)
            .await;
        assert_eq!(away.status, StatusCode::SEE_OTHER, "{}", away.text());
        let location = away.header("location").to_owned();
        assert!(
            location.starts_with(&format!("{}/authorize?", self.issuer)),
            "{location}"
        );
        let mut says = self.says.lock().unwrap();
        says.nonce = query(&location, "nonce");
        says.challenge = query(&location, "code_challenge");
        (cookie(&away, "spillway_there"), query(&location, "state"))
    }

    async fn back(&self, cookie: &str, query: &str) -> Reply {
        let path = format!("/sign-in/callback?{query}");
        self.app.browse(&path, Some(cookie)).await
    }

    /// There and back, where the provider says this otherwise.
    async fn round(&self, otherwise: Vec<(&'static str, Value)>) -> Reply {
        let (cookie, state) = self.begin("%2Faudit").await;
        self.says.lock().unwrap().otherwise = otherwise;
        self.back(&cookie, &format!("code=c&state={state}")).await
    }

    async fn accounts(&self) -> Vec<(String, String)> {
        let store = self.app.store().await;
        let accounts = store.accounts().await.unwrap();
        store.close().await;
        accounts.into_iter().map(|it| (it.name, it.role)).collect()
    }
}

#[tokio::test]
async fn whom_the_provider_vouches_for_is_let_in_with_the_role_it_gives() {
    let fixture = Fixture::new().await;
    let door = fixture.app.browse("/sign-in", None).await.text();
    assert!(
        door.contains("Sign in with <bdi>Example ID</bdi>"),
        "{door}"
    );
    let back = fixture.round(vec![]).await;
    assert_eq!(back.header("location"), "/audit", "{}", back.text());
    let ada = cookie(&back, "spillway_session");
    let settings = fixture.app.browse("/settings", Some(&ada)).await.text();
    assert!(settings.contains("ada@example.org, admin"), "{settings}");
    assert_eq!(
        fixture.accounts().await,
        [("ada@example.org".to_owned(), "admin".to_owned())]
    );
    let asked = fixture.says.lock().unwrap().asked.clone();
    assert!(
        asked[0].contains("code=c") && asked[0].contains("code_verifier="),
        "{asked:?}"
    );

    // Somebody else of the same name, and a role that is another the next time.
    fixture.app.account("eve", Role::Admin).await;
    let other = fixture
        .round(vec![("sub", json!("8")), ("roles", json!("ops"))])
        .await;
    assert_eq!(other.status, StatusCode::SEE_OTHER, "{}", other.text());
    let again = fixture.round(vec![("roles", json!(["ops"]))]).await;
    assert_eq!(again.status, StatusCode::SEE_OTHER, "{}", again.text());
    let accounts = fixture.accounts().await;
    let named = |name: &str| {
        accounts
            .iter()
            .find(|it| it.0 == name)
            .map(|it| it.1.as_str())
    };
    assert_eq!(named("ada@example.org"), Some("operator"));
    assert_eq!(named("ada@example.org (by SSO)"), Some("operator"));
    let before = fixture.app.browse("/settings", Some(&ada)).await;
    assert!(
        before.header("location").starts_with("/sign-in"),
        "another role ends sessions"
    );
    fixture.app.stop().await;
}

#[tokio::test]
async fn what_is_not_for_this_sign_in_lets_nobody_in() {
    let fixture = Fixture::new().await;
    for (otherwise, wrong) in [
        (("iss", json!("http://evil.example")), "its iss is another"),
        (("aud", json!("other")), "its aud is another"),
        (("nonce", json!("another")), "its nonce is another"),
        (("exp", json!(1)), "is not good now"),
        (("roles", json!(["nothing"])), "gives you no role here"),
    ] {
        let back = fixture.round(vec![otherwise]).await;
        assert_eq!(back.status, StatusCode::FORBIDDEN, "{wrong}");
        assert!(
            back.text().contains(wrong),
            "{wrong} is not in {}",
            back.text()
        );
        assert!(
            !back
                .headers
                .iter()
                .any(|(_, it)| it.to_str().unwrap().contains("spillway_session"))
        );
    }
    let (cookie, state) = fixture.begin("/").await;
    for (cookie, query) in [
        ("spillway_there=0", format!("code=c&state={state}")),
        (cookie.as_str(), "code=c&state=0".to_owned()),
        // A wrong state was its last chance.
        (cookie.as_str(), format!("code=c&state={state}")),
    ] {
        let back = fixture.back(cookie, &query).await;
        assert_eq!(back.status, StatusCode::GONE, "{query}");
        assert!(
            back.text().contains("This sign-in is over"),
            "{}",
            back.text()
        );
    }
    let (cookie, state) = fixture.begin("/").await;
    let refused = fixture
        .back(
            &cookie,
            &format!("error=access_denied%3Cb%3E&state={state}"),
        )
        .await;
    assert_eq!(refused.status, StatusCode::FORBIDDEN);
    assert!(
        refused.text().contains("access_denied&lt;b&gt;"),
        "{}",
        refused.text()
    );
    assert_eq!(fixture.accounts().await, []);
    fixture.app.stop().await;
}

#[tokio::test]
async fn a_token_that_the_provider_did_not_sign_lets_nobody_in() {
    let fixture = Fixture::new().await;
    let (eddsa, none) = (
        json!({ "alg": "EdDSA", "kid": "first" }),
        json!({ "alg": "none" }),
    );
    let not_signed = "is not signed as it has to be";
    for (header, wrong) in [
        (eddsa.clone(), not_signed),
        (none, not_signed),
        (
            json!({ "alg": "EdDSA", "kid": "third" }),
            "is not signed by one of its own keys",
        ),
    ] {
        {
            let mut says = fixture.says.lock().unwrap();
            says.keys[0] = key("first");
            says.header = header.clone();
        }
        let back = fixture.round(vec![]).await;
        assert_eq!(back.status, StatusCode::FORBIDDEN, "{header}");
        assert!(back.text().contains(wrong), "{header}: {}", back.text());
    }
    assert_eq!(fixture.accounts().await, []);
    fixture.app.stop().await;
}

#[tokio::test]
async fn a_provider_may_change_its_keys() {
    let fixture = Fixture::new().await;
    let before = fixture.round(vec![]).await;
    assert_eq!(before.header("location"), "/audit", "{}", before.text());
    {
        let mut says = fixture.says.lock().unwrap();
        let key = key("second");
        says.keys = [Arc::clone(&key), key];
        says.header = json!({ "alg": "EdDSA", "kid": "second" });
    }
    let after = fixture.round(vec![]).await;
    assert_eq!(after.header("location"), "/audit", "{}", after.text());
    fixture.app.stop().await;
}

#[tokio::test]
async fn nobody_is_sent_elsewhere_and_removed_accounts_stay_out() {
    let fixture = Fixture::new().await;
    fixture.app.account("eve", Role::Admin).await;
    let (there, state) = fixture.begin("%2F%2Fevil.example").await;
    fixture.says.lock().unwrap().otherwise = vec![];
    let back = fixture.back(&there, &format!("code=c&state={state}")).await;
    assert_eq!(back.header("location"), "/");
    let store = fixture.app.store().await;
    for change in [AccountChange::Disable, AccountChange::Remove] {
        let by = By::system("a test");
        let changed = store
            .change_account("ada@example.org", change, 1, &by)
            .await;
        assert!(changed.unwrap().is_some());
        let back = fixture.round(vec![]).await;
        assert_eq!(back.status, StatusCode::FORBIDDEN, "{}", back.text());
        assert!(
            back.text().contains("is disabled, or was removed"),
            "{}",
            back.text()
        );
    }
    store.close().await;
    fixture.app.stop().await;
}

#[tokio::test]
async fn a_provider_that_is_not_there_is_said_and_passwords_go_on() {
    let oidc = format!(
        "{NOBODY}[oidc]\nissuer = 'http://127.0.0.1:9'\nclient_id = 'spillway'\nroles = {{ a = 'admin' }}\n"
    );
    let app = TestApp::closed(&oidc).await;
    let away = app.browse("/sign-in/provider", None).await;
    assert_eq!(away.status, StatusCode::BAD_GATEWAY);
    assert!(
        away.text().contains("does not answer as it should"),
        "{}",
        away.text()
    );
    app.signed_in("ada", Role::Viewer).await;
    app.stop().await;
    let without = TestApp::closed(NOBODY).await;
    for path in ["/sign-in/provider", "/sign-in/callback?code=c"] {
        let reply = without.browse(path, None).await;
        assert_ne!(reply.status, StatusCode::OK, "{path}");
    }
    assert!(
        !without
            .browse("/sign-in", None)
            .await
            .text()
            .contains("/sign-in/provider")
    );
    without.stop().await;
}
