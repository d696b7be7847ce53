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

/// All of them.
pub const ALL: [&str; 9] = [
    SERVER_START,
    TOKEN_CREATE,
    TOKEN_REVOKE,
    BREAKER_OPEN,
    BREAKER_CLOSE,
    BREAKER_RESET,
    LANE_PAUSE,
    LANE_RESUME,
    POLICY_SEED,
];
