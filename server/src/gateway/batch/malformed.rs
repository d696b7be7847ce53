//! Why a batch is refused whole.

use super::{super::path::PathError, request::PARTS_MAX};

/// Why a batch is refused whole; nothing has been sent or charged.
#[derive(Debug, thiserror::Error)]
pub enum Malformed {
    /// Not JSON, or without parts.
    #[error("Invalid batch payload format.")]
    Format,
    /// Too many.
    #[error("Number of batch request steps exceeds the maximum value of {PARTS_MAX}.")]
    TooMany,
    /// A part that is no object as it should be.
    #[error("Request at position {0} is not valid: {1}.")]
    Part(usize, String),
    /// Two parts of one id, which counts without regard to case.
    #[error("Request Id {0} has to be unique in a batch.")]
    DoubledId(String),
    /// A member of a part.
    #[error("Request {id}: {problem}.")]
    Member {
        /// Which part.
        id: String,
        /// What is wrong with it.
        problem: String,
    },
    /// A path that could be read in two ways.
    #[error("Request {id}: {error}.")]
    Path {
        /// Which part.
        id: String,
        /// What is wrong with it.
        error: PathError,
    },
    /// It depends on a part that there is not.
    #[error("Request {id}: dependsOn names {other}, which is no request of this batch.")]
    UnknownDependency {
        /// Which part.
        id: String,
        /// On what.
        other: String,
    },
    /// Parts wait for each other.
    #[error("The dependsOn of some requests form a cycle.")]
    Cycle,
}

impl Malformed {
    /// The code in the answer, as Graph's.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::TooMany => "MaximumValueExceeded",
            _ => "BadRequest",
        }
    }
}
