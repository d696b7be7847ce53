//! Whose budget: keys, as values and as they are compared.

use crate::call::{Call, Scope};

/// Whose budget it is: the scope and as many keys as the scope needs, the others empty.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Key {
    /// The workload's position.
    pub workload: usize,
    /// App, tenant or user.
    pub scope: Scope,
    /// The application's key.
    pub app: String,
    /// The tenant's key.
    pub tenant: String,
    /// The user's key.
    pub user: String,
}

/// A key without its own copy of the names; ordered as [`Key`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct KeyRef<'a> {
    pub(crate) workload: usize,
    pub(crate) scope: Scope,
    pub(crate) app: &'a str,
    pub(crate) tenant: &'a str,
    pub(crate) user: &'a str,
}

impl Key {
    /// The key that `call` is charged to at `scope` of its workload.
    #[must_use]
    pub fn of(call: &Call, scope: Scope) -> Self {
        KeyRef::of(call, call.workload, scope).to_key()
    }

    pub(crate) fn as_ref(&self) -> KeyRef<'_> {
        KeyRef {
            workload: self.workload,
            scope: self.scope,
            app: &self.app,
            tenant: &self.tenant,
            user: &self.user,
        }
    }
}

impl<'a> KeyRef<'a> {
    pub(crate) fn of(call: &'a Call, workload: usize, scope: Scope) -> Self {
        Self {
            workload,
            scope,
            app: &call.app,
            tenant: if scope == Scope::App {
                ""
            } else {
                &call.tenant
            },
            user: if scope == Scope::User { &call.user } else { "" },
        }
    }

    /// The key of this user's, tenant's or app's at a wider scope, perhaps in another workload.
    pub(crate) const fn widened(self, workload: usize, scope: Scope) -> Self {
        Self {
            workload,
            scope,
            app: self.app,
            tenant: if matches!(scope, Scope::App) {
                ""
            } else {
                self.tenant
            },
            user: if matches!(scope, Scope::User) {
                self.user
            } else {
                ""
            },
        }
    }

    pub(crate) fn to_key(self) -> Key {
        Key {
            workload: self.workload,
            scope: self.scope,
            app: self.app.to_owned(),
            tenant: self.tenant.to_owned(),
            user: self.user.to_owned(),
        }
    }
}
