//! The document around the dashboard, and the policy that it is served under.

use leptos::config::LeptosOptions;
use leptos::hydration::AutoReload;
use leptos::nonce::use_nonce;
use leptos::prelude::*;

use crate::overview::name;
use crate::{App, Asked};

/// How often a page without JavaScript asks again.
const REFRESH_SECONDS: &str = "5";

/// How long a busy browser may put off making a page live, in milliseconds.
const WAIT_MS: u32 = 2_000;

/// The document.
pub fn shell(options: LeptosOptions) -> impl IntoView {
    let title = match use_context() {
        Some(Asked::Overview) => "Overview".to_owned(),
        Some(Asked::User(user)) => name::in_words(&user.user),
        None => "No such page".to_owned(),
    };
    let title = format!("{title} · Spillway");
    let style = format!("/{}/{}.css", options.site_pkg_dir, options.output_name);
    view! {
        <!DOCTYPE html>
        <html lang="en">
            <head>
                <meta charset="utf-8"/>
                <meta name="viewport" content="width=device-width, initial-scale=1"/>
                <meta name="color-scheme" content="light dark"/>
                <link rel="icon" href="/favicon.svg" type="image/svg+xml"/>
                <link rel="stylesheet" href=style/>
                <title>{title}</title>
                <noscript>
                    <meta http-equiv="refresh" content=REFRESH_SECONDS/>
                </noscript>
                <AutoReload options=options.clone()/>
                {hydration(&options)}
            </head>
            <body>
                <App/>
                <noscript>
                    <p class="no-script">
                        {format!("JavaScript is off: this page asks again every {REFRESH_SECONDS} s.")}
                    </p>
                </noscript>
            </body>
        </html>
    }
}

/// The script that makes the page live, once it is painted.
///
/// Leptos' own `HydrationScripts` preloads the module: a browser on few cores then unpacks and compiles
/// 700 kB before it lays out what the server has rendered already, and is a quarter later with its first paint.
fn hydration(options: &LeptosOptions) -> impl IntoView + use<> {
    let module = format!("/{}/{}", options.site_pkg_dir, options.output_name);
    let script = format!(
        "const live = async () => {{ \
           const module = await import({js:?}); \
           await module.default({{ module_or_path: {wasm:?} }}); \
           module.hydrate(); \
         }}; \
         if (window.requestIdleCallback) requestIdleCallback(live, {{ timeout: {WAIT_MS} }}); \
         else setTimeout(live);",
        js = format!("{module}.js"),
        wasm = format!("{module}_bg.wasm"),
    );
    view! {
        <script type="module" nonce=use_nonce()>
            {script}
        </script>
    }
}

/// The value of the `Content-Security-Policy` header for a page rendered with `nonce`
/// (`leptos::nonce::use_nonce()` within the response's context): scripts only by nonce and
/// what those load, styles only from the server's own files, nothing from elsewhere, no
/// frame around it.
#[must_use]
pub fn content_security_policy(nonce: &str) -> String {
    format!(
        "default-src 'none'; \
         script-src 'strict-dynamic' 'nonce-{nonce}' 'wasm-unsafe-eval'; \
         style-src 'self'; img-src 'self'; font-src 'self'; connect-src 'self'; \
         manifest-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_inline_runs_without_the_nonce() {
        let policy = content_security_policy("r4nd0m");
        assert!(policy.contains("'nonce-r4nd0m'"));
        assert!(!policy.contains("unsafe-inline") && !policy.contains("'unsafe-eval'"));
    }
}
