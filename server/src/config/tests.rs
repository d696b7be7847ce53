use std::time::Duration;

use super::*;

const MINIMAL: &str =
    "[upstreams.graph]\nbase_url = 'https://graph.microsoft.com/'\npresets = ['onenote']\n";

fn with(rest: &str) -> Result<Config, Error> {
    Config::parse(&format!("{rest}\n{MINIMAL}"))
}

fn graph(rest: &str) -> Result<Config, Error> {
    Config::parse(&format!("{MINIMAL}{rest}"))
}

fn own_workload(rest: &str) -> Result<Config, Error> {
    graph(&format!(
        "[[upstreams.graph.workloads]]\nname = 'search'\npaths = ['/v1.0/search']\n{rest}"
    ))
}

/// A limit that there is nothing to say against.
const LAYERS: &str = "layers = [{ scope = 'user', dimension = 'concurrency', limit = 5 }]";

#[test]
fn what_is_left_out_has_its_documented_default() {
    let Config {
        server,
        upstreams,
        telemetry,
        mail,
        alerts,
        oidc,
    } = with("").unwrap();
    assert!(mail.is_none() && oidc.is_none());
    assert_eq!(alerts, Alerts::default());
    assert_eq!(alerts.tell_after, Duration::from_secs(300));
    assert_eq!(telemetry.otlp_endpoint, None);
    assert_eq!(server.listen.to_string(), "127.0.0.1:3000");
    assert_eq!(server.gateway_listen.to_string(), "127.0.0.1:3001");
    assert_eq!(server.database_url, "sqlite://spillway.db");
    assert_eq!(server.state_dir, Path::new("."));
    assert_eq!(server.users_max, 200_000);
    assert_eq!((server.public_url, server.allowed_hosts), (None, None));
    let [graph] = &upstreams[..] else {
        panic!("one upstream")
    };
    assert_eq!(
        (graph.name.as_str(), graph.app.as_str()),
        ("graph", "graph")
    );
    assert_eq!(graph.user_from, UserFrom::Token);
    assert_eq!(graph.hold_max, Duration::from_secs(30));
    assert!(graph.rewrite_links && graph.split_batches);
    assert_eq!(graph.workloads[0].policy.layers().len(), 6);
}

#[test]
fn batches_are_split_unless_the_vendor_has_none_or_it_is_said() {
    for (upstream, split) in [
        ("presets = ['notion']", false),
        ("presets = ['notion']\nsplit_batches = true", true),
        ("presets = ['onenote']\nsplit_batches = false", false),
        (
            "workloads = [{ name = 'x', paths = ['/'], layers = [{ scope = 'user', dimension = 'concurrency', limit = 1 }] }]",
            true,
        ),
    ] {
        let config = Config::parse(&format!(
            "[upstreams.a]\nbase_url = 'http://a/'\n{upstream}\n"
        ));
        assert_eq!(
            config.unwrap().upstreams[0].split_batches,
            split,
            "{upstream}"
        );
    }
}

#[test]
fn own_workloads_have_layers_and_come_before_presets() {
    let config = own_workload(
        "background_share_permille = 250
         layers = [{ scope = 'user', dimension = 'rate', window_ms = 60000, limit = 120 },
                   { scope = 'app', dimension = 'concurrency', limit = 20 }]",
    )
    .unwrap();
    let workloads = &config.upstreams[0].workloads;
    assert_eq!(workloads[0].name, "search");
    assert_eq!(workloads[0].policy.background_share().permille(), 250);
    let claims = |n: usize, path| workloads[n].claims("GET", path);
    assert!(claims(0, "/v1.0/Search/query") && !claims(0, "/v1.0/me/onenote"));
    assert!(claims(1, "/v1.0/me/%6FneNote/pages") && !claims(1, "/v1.0/me"));
}

#[test]
fn own_workloads_say_breakers_overrides_and_what_only_counts_as_policies_do() {
    let config = own_workload(
        "layers = [{ scope = 'user', dimension = 'rate', window_ms = 60000, limit = 120 },
                   { scope = 'app', dimension = 'concurrency', limit = 20, shadow = true }]
         breakers = { soft_permille = 700, cool_down_ms_max = 60000 }
         overrides = [{ scope = 'user', app = 'crawler', tenant = 'contoso', user = 'ana',
                        limits = [{ dimension = 'rate', window_ms = 60000, limit = 300 }] }]",
    )
    .unwrap();
    let policy = &config.upstreams[0].workloads[0].policy;
    let shadows: Vec<_> = policy.layers().iter().map(|it| it.is_shadow()).collect();
    assert_eq!(shadows, [false, true]);
    let rules = policy.breakers();
    assert_eq!((rules.soft_permille, rules.cool_down_ms_max), (700, 60_000));
    assert_eq!(rules.outage_failures, 5, "what is left out is as ever");
    assert_eq!(policy.overrides()[0].limits()[0].limit, 300);

    let global = graph(
        "[upstreams.graph.global]
         layers = [{ scope = 'app', dimension = 'concurrency', limit = 9, shadow = true }]
         [[upstreams.graph.global.overrides]]
         scope = 'app'
         app = 'crawler'
         limits = [{ dimension = 'concurrency', limit = 3 }]",
    );
    let global = global.unwrap().upstreams.remove(0).global.unwrap().policy;
    assert!(global.layers()[0].is_shadow());
    assert_eq!(global.overrides()[0].limits()[0].limit, 3);
}

#[test]
fn a_preset_s_name_may_bring_several_workloads() {
    let text = "[upstreams.graph]\nbase_url = 'http://b'\npresets = ['sharepoint', 'teams']";
    let upstream = &Config::parse(text).unwrap().upstreams[0];
    let names: Vec<_> = upstream
        .workloads
        .iter()
        .map(|workload| workload.name.as_str())
        .collect();
    assert_eq!(names.len(), 7);
    let of = |method, path| {
        let claimed = |workload: &&Workload| workload.claims(method, path);
        upstream.workloads.iter().find(claimed).unwrap()
    };
    let messages = "/v1.0/teams/t/channels/c/messages";
    assert_eq!(of("POST", messages).name, "teams-channel-messages-post");
    assert_eq!(of("GET", messages).name, "teams-conversations");
    let drive = of("GET", "/v1.0/me/dr%69ve");
    assert_eq!(drive.name, "sharepoint");
    assert_eq!(
        drive.weight("GET", "/v1.0/me/dr%69ve", "$expand=%70ermissions"),
        5
    );
    assert_eq!(of("GET", messages).weight("GET", messages, ""), 1);
}

#[test]
fn a_vendor_s_global_limit_holds_beside_the_workloads_unless_another_is_given() {
    let limits = |upstream: &Upstream| {
        let global = upstream.limited().nth(upstream.global_at()?)?;
        assert_eq!(global.name, GLOBAL);
        assert!(!global.claims("GET", "/v1.0/me"));
        let layers = global.policy.layers().iter();
        Some(
            layers
                .map(|layer| (layer.dimension(), layer.limit()))
                .collect::<Vec<_>>(),
        )
    };
    let rate = |window_ms, limit| (spillway::Dimension::Rate { window_ms }, limit);
    let upstream = &with("").unwrap().upstreams[0];
    assert_eq!(limits(upstream), Some(vec![rate(10_000, 130_000)]));
    assert_eq!(upstream.limited().count(), 2);
    let given = "[upstreams.graph.global]
        layers = [{ scope = 'app', dimension = 'rate', window_ms = 1000, limit = 2000 }]";
    assert_eq!(
        limits(&graph(given).unwrap().upstreams[0]),
        Some(vec![rate(1_000, 2_000)])
    );
    let notion = "[upstreams.notion]\nbase_url = 'http://b'\npresets = ['notion']";
    assert_eq!(limits(&Config::parse(notion).unwrap().upstreams[0]), None);
}

#[test]
fn what_is_wrong_is_named() {
    let table: &[(Result<Config, Error>, &str)] = &[
        (
            with("[server]\nlisen = '127.0.0.1:1'"),
            "server.lisen: unknown key; did you mean `listen`?",
        ),
        (
            with("[servr]\nlisten = '127.0.0.1:1'"),
            "servr: unknown key; did you mean `server`?",
        ),
        (
            with("[server]\nlisten = 'localhost'"),
            "server.listen: must be an IP address and a port",
        ),
        (
            with("[server]\nlisten = 3000"),
            "server.listen: invalid type: integer `3000`, expected a string",
        ),
        (
            with("[server]\nlisten = '127.0.0.1:3001'"),
            "server.gateway_listen: must differ",
        ),
        (
            with("[server]\npublic_url = 'here'"),
            "server.public_url: must be an absolute address",
        ),
        (
            with("[server]\npublic_url = 'http://a/b'"),
            "server.public_url: must not hold a path",
        ),
        (
            with("[server]\nallowed_hosts = []"),
            "server.allowed_hosts: must hold at least one",
        ),
        (
            with("[server]\nallowed_hosts = ['a', 'a/b']"),
            "server.allowed_hosts[1]: must be a host",
        ),
        (
            with("[server]\ndatabase_url = 'postgres://x'"),
            "server.database_url: PostgreSQL is not supported yet",
        ),
        (
            with("[server]\ndatabase_url = 'sqlite::memory:'"),
            "server.database_url: must be a file",
        ),
        (
            with("[server]\ndatabase_url = 'spillway.db'"),
            "server.database_url: must be an address",
        ),
        (
            with("[server]\nredis_url = 'redis://x'"),
            "server.redis_url: not supported yet",
        ),
        (
            with("[server]\ntls_cert = 'x.pem'"),
            "server.tls_key: is needed where server.tls_cert is given",
        ),
        (
            with("[server]\ntls_key = 'x.key'"),
            "server.tls_cert: is needed where server.tls_key is given",
        ),
        (
            with("[server]\ntls_cert = 'x'\ntls_key = 'y'\npublic_url = 'http://a.example'"),
            "server.public_url: must begin with https://",
        ),
        (
            with("[server]\ntls_cert = 'x'\ntls_key = 'y'\ngateway_url = 'http://a.example'"),
            "server.gateway_url: must begin with https://",
        ),
        (
            with("[server]\ntrusted_proxies = ['10.0.0.1/8']"),
            "server.trusted_proxies[0]: 10.0.0.1/8 is an address in a network; the network is 10.0.0.0/8",
        ),
        (
            with("[server]\ntrusted_proxies = ['10.0.0.1', 'proxy.example']"),
            "server.trusted_proxies[1]: must be a network or an address, like 10.1.0.0/16",
        ),
        (
            with("[server]\ntrusted_proxies = ['0.0.0.0/0']"),
            "server.trusted_proxies[0]: must not be everybody",
        ),
        (
            with("[server]\ncors_origins = ['https://a.example', '*']"),
            "server.cors_origins[1]: must name one site",
        ),
        (
            with("[server]\npolicy_source = 'git'"),
            "server.policy_source: must be \"database\" or \"file\"",
        ),
        (
            with("[server]\nmax_users = 0"),
            "server.max_users: must be from 1 to 4294967295",
        ),
        (
            with("[server]\nmax_waiters_per_token = 0"),
            "server.max_waiters_per_token: must be from 1 to 4294967295",
        ),
        (
            with("[server]\nmax_users = 'many'"),
            "server.max_users: invalid type: string \"many\", expected a whole number",
        ),
        (
            with("[server]\nallowed_hosts = ['*']"),
            "server.allowed_hosts[0]: must name one host: wildcards are not supported",
        ),
        (
            with("[server]\nallowed_hosts = ['a', '*.example.org:443']"),
            "server.allowed_hosts[1]: must name one host: wildcards are not supported",
        ),
        (with("[mail]"), "mail.smtp_url: is missing"),
        (
            with("[mail]\nsmtp_url = 'x'"),
            "mail.smtp_url: must be an address like smtp://mail.example.org:25 or \
             smtps://user:password@mail.example.org",
        ),
        (
            with("[mail]\nsmtp_url = 'smtp://127.0.0.1'"),
            "mail.from: is missing",
        ),
        (
            with(
                "[mail]\nsmtp_url = 'smtp://127.0.0.1'\nfrom = 'a@b.example'\nto = ['c@d.example', 'e']",
            ),
            "mail.to[1]: must be an address like spillway@example.org or Spillway \
             <spillway@example.org>",
        ),
        (
            with("[alerts]\nover_after_s = 0"),
            "alerts.over_after_s: must be from 1 to 86400",
        ),
        (
            with(
                "[alerts]\nwebhooks = [{ name = 'a', url = 'http://127.0.0.1:1/', secret_file = 'x' }]",
            ),
            "alerts.webhooks[0].url: must be https; http is for programs on this machine, with \
             `private = true`",
        ),
        (
            with(
                "[alerts]\nwebhooks = [{ name = 'a', url = 'http://10.0.0.1/', secret_file = 'x', private = true }]",
            ),
            "alerts.webhooks[0].url: must be https; http is for programs on this machine, with \
             `private = true`",
        ),
        (
            with("[alerts]\nwebhooks = [{ name = 'a', url = 'https://a/?key=1' }]"),
            "alerts.webhooks[0].secret_file: is missing: a file that holds what requests are \
             signed with",
        ),
        (
            with(
                "[alerts]\nwebhooks = [{ name = 'a', url = 'https://a/', secret_file = 'x' }, { name = 'a', url = 'https://b', secret_file = 'y' }]",
            ),
            "alerts.webhooks[1].name: is there twice",
        ),
        (Config::parse(""), "upstreams: none is given"),
        (
            Config::parse("[upstreams.graph]"),
            "upstreams.graph.base_url: is missing",
        ),
        (
            Config::parse("[upstreams.Graph]"),
            "upstreams.Graph: an upstream's name",
        ),
        (
            Config::parse("[upstreams.a]\nbase_url = 'a.b'"),
            "upstreams.a.base_url: must be an absolute",
        ),
        (
            Config::parse("[upstreams.a]\nbase_url = 'http://b'"),
            "upstreams.a.presets: must name a preset",
        ),
        (
            graph("hold_max_ms = 0"),
            "upstreams.graph.hold_max_ms: must be from 1 to 600000",
        ),
        (
            graph("hold_max_ms = -1"),
            "upstreams.graph.hold_max_ms: must be from 1 to 600000",
        ),
        (
            graph("hold_max_ms = 1.5"),
            "upstreams.graph.hold_max_ms: invalid type: floating point `1.5`, expected a whole number",
        ),
        (
            graph("user_from = 'cookie'"),
            "upstreams.graph.user_from: unknown variant `cookie`",
        ),
        (graph("app = ''"), "upstreams.graph.app: must be 1 to 64"),
        (
            graph("clients = [{ app = 'a' }]"),
            "upstreams.graph.clients[0].cidr: is missing",
        ),
        (
            graph("clients = [{ cidr = '::/0' }]"),
            "upstreams.graph.clients[0].cidr: must not be everybody",
        ),
        (
            graph("clients = [{ cidr = '::ffff:10.0.0.0/104' }]"),
            "upstreams.graph.clients[0].cidr: must be written as the IPv4 network",
        ),
        (
            graph("clients = [{ cidr = '10.0.0.0/8' }, { cidr = '10.0.0.0/8' }]"),
            "upstreams.graph.clients[1].cidr: 10.0.0.0/8 is given twice",
        ),
        (
            graph("clients = [{ cidr = '10.0.0.0/8', app = 'a b' }]"),
            "upstreams.graph.clients[0].app: must be 1 to 64 visible",
        ),
        (
            graph("clients = [{ cidr = '10.0.0.0/8', lane = 'middle' }]"),
            "upstreams.graph.clients[0].lane: unknown variant `middle`",
        ),
        (
            own_workload(""),
            "upstreams.graph.workloads[0].layers: a policy needs at least one layer",
        ),
        (
            own_workload(
                "layers = [{ scope = 'user', dimension = 'concurrency', limit = 5 },
                                    { scope = 'app', dimension = 'concurrency', limit = 0 }]",
            ),
            "upstreams.graph.workloads[0].layers[1].limit: a limit of 0 is illegal",
        ),
        (
            own_workload("layers = [{ scope = 'user', dimension = 'rate', limit = 5 }]"),
            "upstreams.graph.workloads[0].layers[0].window_ms: is missing",
        ),
        (
            own_workload("layers = [{ scope = 'usr', dimension = 'rate', limit = 5 }]"),
            "upstreams.graph.workloads[0].layers[0].scope: unknown variant `usr`",
        ),
        (
            graph(
                "[upstreams.graph.global]
                 layers = [{ scope = 'app', dimension = 'concurrency', limit = 9 },
                           { scope = 'user', dimension = 'concurrency', limit = 5 }]",
            ),
            "upstreams.graph.global.layers[1].scope: must be app",
        ),
        (
            graph("[upstreams.graph.global]"),
            "upstreams.graph.global.layers: a policy needs at least one layer",
        ),
        (
            graph("[[upstreams.graph.workloads]]\nname = '_global'"),
            "upstreams.graph.workloads[0].name: must be of lower-case letters",
        ),
        (
            own_workload("background_share_permille = 0"),
            "upstreams.graph.workloads[0].background_share_permille: 0 is outside 1 to 1000 per mille",
        ),
        (
            own_workload("background_share_permille = 100000"),
            "upstreams.graph.workloads[0].background_share_permille: 100000 is outside 1 to 1000",
        ),
        (
            own_workload("layers = [{ scope = 'user', dimension = 'concurrency', limit = -5 }]"),
            "upstreams.graph.workloads[0].layers[0].limit: -5 is outside 1 to 1000000000",
        ),
        (
            own_workload(
                "layers = [{ scope = 'user', dimension = 'rate', window_ms = -1, limit = 5 }]",
            ),
            "upstreams.graph.workloads[0].layers[0].window_ms: -1 is outside 100 to 2678400000 ms",
        ),
        (
            own_workload(&format!("{LAYERS}\nbreakers = {{ soft_permille = 1001 }}")),
            "upstreams.graph.workloads[0].breakers.soft_permille: 1001 is outside 1 to 1000",
        ),
        (
            own_workload(&format!("{LAYERS}\nbreakers = {{ soft_permile = 900 }}")),
            "upstreams.graph.workloads[0].breakers.soft_permile: unknown key; did you mean `soft_permille`?",
        ),
        (
            own_workload(
                "layers = [{ scope = 'user', dimension = 'concurrency', limit = 5, shadow = 1 }]",
            ),
            "upstreams.graph.workloads[0].layers[0].shadow: invalid type: integer `1`, expected a boolean",
        ),
        (
            own_workload(&format!(
                "{LAYERS}\noverrides = [{{ scope = 'user', app = 'a', user = 'u',
                   limits = [{{ dimension = 'concurrency', limit = 0 }}] }}]"
            )),
            "upstreams.graph.workloads[0].overrides[0].limits[0].limit: a limit of 0 is illegal",
        ),
        (
            graph(
                "[upstreams.graph.global]
                 layers = [{ scope = 'app', dimension = 'concurrency', limit = 9 }]
                 overrides = [{ scope = 'user', app = 'a', user = 'u',
                                limits = [{ dimension = 'concurrency', limit = 3 }] }]",
            ),
            "upstreams.graph.global.overrides[0].scope: must be app",
        ),
    ];
    for (result, expected) in table {
        let error = result.as_ref().unwrap_err().to_string();
        assert!(error.starts_with(expected), "{error}\nis not\n{expected}");
        assert_eq!(error.lines().count(), 1, "{error}");
    }
}

#[test]
fn a_preset_must_exist_and_be_named_once() {
    let presets = |names: &str| {
        let text = format!("[upstreams.graph]\nbase_url = 'http://b'\npresets = {names}");
        Config::parse(&text).unwrap_err().to_string()
    };
    let key = "upstreams.graph.presets";
    assert_eq!(
        presets("['evernote']"),
        format!(
            "{key}[0]: there is no preset \"evernote\"; known: onenote, sharepoint, outlook, teams, notion"
        )
    );
    // One of its workloads is no name of its own.
    assert!(presets("['teams-team']").starts_with(&format!("{key}[0]: there is no preset")));
    assert_eq!(
        presets("['onenote', 'notion']"),
        format!(
            "{key}[1]: `notion` is not of the vendor of `onenote`: it needs an upstream of its own"
        )
    );
    assert_eq!(
        presets("['onenote', 'onenote']"),
        format!("{key}[1]: `onenote` is given twice")
    );
}

#[test]
fn the_narrowest_network_comes_first() {
    let config = graph(
        "clients = [{ cidr = '10.0.0.0/8' }, { cidr = '10.0.0.7', app = 'a', lane = 'background' }]",
    );
    let clients = &config.unwrap().upstreams[0].clients;
    let names: Vec<_> = clients.iter().map(|client| client.name.as_str()).collect();
    assert_eq!(names, ["10.0.0.7/32", "10.0.0.0/8"]);
    assert_eq!(clients[0].app.as_deref(), Some("a"));
    assert_eq!(clients[0].lane, Some(spillway::Lane::Background));
}

#[test]
fn broken_toml_is_found_by_its_line() {
    let error = Config::parse("[server]\nlisten = \n")
        .unwrap_err()
        .to_string();
    assert!(error.starts_with("spillway.toml: line 2: "), "{error}");
}

#[test]
fn a_number_with_too_many_digits_is_found_by_its_line() {
    let beyond = "no number may be beyond 9223372036854775807";
    for (text, expected) in [
        ("hold_max_ms = 99999999999999999999", "hold_max_ms: "),
        ("hold_max_ms = -99999999999999999999", "hold_max_ms: "),
        ("hold_max_ms=9223372036854775808", "hold_max_ms: "),
        (
            "workloads = [{ layers = [{ limit = 99999999999999999999 }] }]",
            "limit: ",
        ),
        ("presets = [99999999999999999999]", ""),
    ] {
        let error = with(text).unwrap_err().to_string();
        assert_eq!(error, format!("spillway.toml: line 1: {expected}{beyond}"));
    }
}

#[test]
fn no_message_repeats_a_password() {
    let error = Config::parse("[upstreams.a]\nbase_url = 'https://me:secret@a/'").unwrap_err();
    assert!(!error.to_string().contains("secret"), "{error}");
}
