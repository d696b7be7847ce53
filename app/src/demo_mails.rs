//! The page of a demo's mails, at an address of its own.

use leptos::prelude::*;

use crate::overview::name;
use crate::plain::instant;

/// A mail that came.
#[derive(Clone, Debug)]
pub struct DemoMail {
    /// From 0 upwards.
    pub number: u64,
    /// When, RFC 3339.
    pub at: String,
    /// To whom.
    pub to: String,
    /// Its subject.
    pub subject: String,
    /// Its text.
    pub text: String,
    /// Whether it has a part for programs that show it.
    pub has_html: bool,
}

/// The document as text, the newest mail first.
#[must_use]
pub fn demo_mails(mails: Vec<DemoMail>) -> String {
    let owner = Owner::new_root(None);
    let page = owner.with(|| document(mails).to_html());
    owner.cleanup();
    page
}

fn document(mails: Vec<DemoMail>) -> impl IntoView {
    let nothing = mails.is_empty().then(|| {
        view! { <p>"No mail yet. The first comes when a list is disabled: within some minutes."</p> }
    });
    // Whoever waits for the first sees it; whoever reads is left alone.
    let again = mails
        .is_empty()
        .then(|| view! { <meta http-equiv="refresh" content="5"/> });
    let mails = mails.into_iter().map(mail).collect_view();
    view! {
        <!DOCTYPE html>
        <html lang="en">
            <head>
                <meta charset="utf-8"/>
                <meta name="viewport" content="width=device-width, initial-scale=1"/>
                {again}
                <link rel="stylesheet" href="/mailbox.css"/>
                <title>"Mail of the demo"</title>
            </head>
            <body>
                <main>
                    <h1>"Mail of the demo"</h1>
                    <p>"Nothing leaves this machine: what Spillway sends lands here, and is gone at the end."</p>
                    {nothing}
                    {mails}
                </main>
            </body>
        </html>
    }
}

fn mail(mail: DemoMail) -> impl IntoView {
    let title = ["As a mail program shows it: ", &mail.subject].concat();
    let shown = mail.has_html.then(|| {
        let src = format!("/mails/{}", mail.number);
        view! {
            <details>
                <summary>"As a mail program shows it"</summary>
                <iframe sandbox="" src=src title=name::in_words(&title)></iframe>
            </details>
        }
    });
    view! {
        <article>
            <h2><bdi>{name::visible(&mail.subject)}</bdi></h2>
            <small>{instant(mail.at)} " to " <bdi>{name::visible(&mail.to)}</bdi></small>
            <pre>{linked(&mail.text)}</pre>
            {shown}
        </article>
    }
    .into_any()
}

/// The text with its addresses of pages as links.
fn linked(text: &str) -> Vec<AnyView> {
    let words = text.split_inclusive(char::is_whitespace);
    words
        .map(|word| {
            let bare = word.trim();
            let is_page = bare.starts_with("http://") || bare.starts_with("https://");
            match is_page {
                true => {
                    let (href, shown, after) = (bare.to_owned(), bare.to_owned(), word.replace(bare, ""));
                    view! { <a href=href rel="noopener noreferrer" target="_blank">{shown}</a> {after} }
                        .into_any()
                }
                false => word.to_owned().into_any(),
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_can_be_followed_and_nothing_else_comes_alive() {
        let page = demo_mails(vec![DemoMail {
            number: 3,
            at: "2026-12-01T06:00:00Z".to_owned(),
            to: "a@example.org".to_owned(),
            subject: "<b>hi</b>\u{202e}".to_owned(),
            text: "Look: http://127.0.0.1:3000/x?a=1&b=2 <script>\njavascript:alert(1)".to_owned(),
            has_html: true,
        }]);
        for part in [
            "&lt;b&gt;hi&lt;/b&gt;\\u{202e}",
            r#"href="http://127.0.0.1:3000/x?a=1&amp;b=2""#,
            "&lt;script&gt;",
            r#"<iframe sandbox="" src="/mails/3""#,
        ] {
            assert!(page.contains(part), "{part}: {page}");
        }
        assert!(!page.contains("<script") && !page.contains(r#"href="javascript"#));
    }
}
