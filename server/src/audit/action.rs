//! What is audited. These names stay the same: programs and saved filters know acts by them.

/// A process began to serve.
pub const SERVER_START: &str = "server.start";
/// A token was made.
pub const TOKEN_CREATE: &str = "token.create";
/// A token was revoked by name, or its name was given to another after it had expired.
pub const TOKEN_REVOKE: &str = "token.revoke";
/// A breaker was forced open.
pub const BREAKER_OPEN: &str = "breaker.open";
/// A breaker was forced closed.
pub const BREAKER_CLOSE: &str = "breaker.close";
/// What was forced on a breaker, and what it had learnt, was forgotten.
pub const BREAKER_RESET: &str = "breaker.reset";
/// Background calls were paused.
pub const LANE_PAUSE: &str = "lane.pause";
/// A pause was ended before its time.
pub const LANE_RESUME: &str = "lane.resume";
/// The first version of a policy was made from a preset or the configuration.
pub const POLICY_SEED: &str = "policy.seed";
/// A policy got another version because the configuration, which rules, says otherwise.
pub const POLICY_ADOPT: &str = "policy.adopt";
/// Limits were changed.
pub const POLICY_CHANGE: &str = "policy.change";
/// The limits of an old version were put in force again.
pub const POLICY_ROLLBACK: &str = "policy.rollback";

/// A list's component was disabled by its strikes.
pub const FLOOD_DISABLE: &str = "flood.disable";
/// A list's component was re-enabled.
pub const FLOOD_ENABLE: &str = "flood.enable";
/// A list's or a site's events were paused.
pub const FLOOD_PAUSE: &str = "flood.pause";
/// A pause of a list or a site was ended before its time.
pub const FLOOD_RESUME: &str = "flood.resume";
/// What is known of a site was set.
pub const SITE_PUT: &str = "site.put";

/// An account was made.
pub const ACCOUNT_CREATE: &str = "account.create";
/// An account got another password, and its sessions ended.
pub const ACCOUNT_PASSWORD: &str = "account.password";
/// An account got another role, and its sessions ended.
pub const ACCOUNT_ROLE: &str = "account.role";
/// An account lets nobody in for a while, and its sessions ended.
pub const ACCOUNT_DISABLE: &str = "account.disable";
/// An account lets its owner in again.
pub const ACCOUNT_ENABLE: &str = "account.enable";
/// A link was handed out by which an account's owner chooses a password.
pub const ACCOUNT_INVITE: &str = "account.invite";
/// An account was removed, and its sessions ended.
pub const ACCOUNT_REMOVE: &str = "account.remove";
/// Somebody signed in.
pub const SESSION_START: &str = "session.start";
/// Somebody tried to sign in with a wrong name or password, or too often.
pub const SESSION_REFUSE: &str = "session.refuse";
/// Somebody signed out, or ended another session of theirs.
pub const SESSION_END: &str = "session.end";

/// All of them.
pub const ALL: [&str; 27] = [
    FLOOD_DISABLE,
    FLOOD_ENABLE,
    FLOOD_PAUSE,
    FLOOD_RESUME,
    SITE_PUT,
    SERVER_START,
    TOKEN_CREATE,
    TOKEN_REVOKE,
    BREAKER_OPEN,
    BREAKER_CLOSE,
    BREAKER_RESET,
    LANE_PAUSE,
    LANE_RESUME,
    POLICY_SEED,
    ACCOUNT_CREATE,
    ACCOUNT_PASSWORD,
    ACCOUNT_ROLE,
    ACCOUNT_DISABLE,
    ACCOUNT_ENABLE,
    ACCOUNT_INVITE,
    ACCOUNT_REMOVE,
    SESSION_START,
    SESSION_REFUSE,
    SESSION_END,
    POLICY_ADOPT,
    POLICY_CHANGE,
    POLICY_ROLLBACK,
];
