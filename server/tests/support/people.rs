//! People with accounts, and their browsers.

use bytes::Bytes;
use http::{Method, Request, StatusCode, header, request::Builder};
use http_body_util::Full;
use spillway_server::{
    access::{
        Hasher, Role,
        password::Password,
        person::{self, ACCOUNTS_MAX},
    },
    audit::By,
};

use super::{Reply, TestApp, send};

/// Everybody's.
pub const PASSWORD: &str = "correct horse battery";

impl TestApp {
    /// Makes an account beside the running server, as the command line does.
    pub async fn account(&self, name: &str, role: Role) {
        let hasher = Hasher::default();
        let hash = hasher
            .hash(Password::offered(PASSWORD.to_owned()))
            .await
            .unwrap();
        let account = person::draft(name.to_owned(), role, Some(hash), 0);
        let store = self.store().await;
        let by = By::system("a test");
        store
            .add_account(&account, ACCOUNTS_MAX, &by)
            .await
            .unwrap();
        store.close().await;
    }

    /// Makes an account and signs in with it: what its browser's cookie says.
    pub async fn signed_in(&self, name: &str, role: Role) -> String {
        self.account(name, role).await;
        let reply = self.sign_in(name, PASSWORD).await;
        assert_eq!(reply.status, StatusCode::SEE_OTHER, "{}", reply.text());
        cookie(&reply)
    }

    /// Sends the form of the sign-in page.
    pub async fn sign_in(&self, name: &str, password: &str) -> Reply {
        let fields = [("name", name), ("password", password), ("to", "/")];
        self.form("/sign-in", &fields, None).await
    }

    /// Sends a form, from a page of the dashboard's own.
    pub async fn form(&self, path: &str, fields: &[(&str, &str)], cookie: Option<&str>) -> Reply {
        let body = form(fields);
        let request = Request::post(path)
            .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded")
            .header("sec-fetch-site", "same-origin");
        self.browse_with(request, cookie, body).await
    }

    /// Looks at a page or a route of the API.
    pub async fn browse(&self, path: &str, cookie: Option<&str>) -> Reply {
        let request = Request::builder().method(Method::GET).uri(path);
        self.browse_with(request, cookie, String::new()).await
    }

    async fn browse_with(&self, request: Builder, cookie: Option<&str>, body: String) -> Reply {
        let request = match cookie {
            Some(cookie) => request.header(header::COOKIE, cookie),
            None => request,
        };
        let body = Full::new(Bytes::from(body));
        send(self.dashboard, request.body(body).unwrap()).await
    }
}

/// What the browser sends back of the one cookie that an answer sets.
pub fn cookie(reply: &Reply) -> String {
    let set: Vec<_> = reply.headers.get_all(header::SET_COOKIE).iter().collect();
    let [set] = set.as_slice() else {
        panic!("one cookie: {set:?}");
    };
    set.to_str().unwrap().split(';').next().unwrap().to_owned()
}

/// A form as a browser writes it.
pub fn form(fields: &[(&str, &str)]) -> String {
    let mut form = url::form_urlencoded::Serializer::new(String::new());
    form.extend_pairs(fields);
    form.finish()
}
