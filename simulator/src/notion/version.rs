//! `Notion-Version`, which every call must name.

use axum::http::HeaderMap;

use super::errors::Error;

/// The versions that are known, the oldest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Version {
    V20220628,
    V20250903,
    /// `after` became `position`, `archived` became `in_trash`.
    V20260311,
}

impl Version {
    /// What the call names.
    pub(super) fn of(headers: &HeaderMap) -> Result<Self, Error> {
        let named = headers.get("notion-version");
        let named = named.ok_or_else(Error::missing_version)?;
        match named.as_bytes() {
            b"2022-06-28" => Ok(Self::V20220628),
            b"2025-09-03" => Ok(Self::V20250903),
            b"2026-03-11" => Ok(Self::V20260311),
            other => Err(Error::unknown_version(&String::from_utf8_lossy(other))),
        }
    }

    /// Whether what is in the trash is called `archived` as well.
    pub(super) fn says_archived(self) -> bool {
        self < Self::V20260311
    }
}
