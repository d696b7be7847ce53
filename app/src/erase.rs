//! Views without their types, where that helps.
//!
//! On the server the nested type of a whole page overflows the compiler's recursion and
//! takes minutes to build, so components erase theirs. In the browser an erased view
//! drags in code that is never called, at three times the page's own size, and the types
//! are small enough to stay.

use leptos::prelude::*;

/// Erases a view's type on the server.
pub trait Erase: IntoView + Sized {
    /// The view; on the server without its type.
    #[cfg(feature = "ssr")]
    fn erase(self) -> AnyView
    where
        Self: IntoAny,
    {
        self.into_any()
    }

    /// The view; on the server without its type.
    #[cfg(not(feature = "ssr"))]
    fn erase(self) -> Self {
        self
    }
}

impl<T: IntoView> Erase for T {}
