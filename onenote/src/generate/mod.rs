//! Invents notebooks and their pages: for the simulator, and for tests. The same seed always gives the same.
//!
//! A page is made when it is asked for, so a notebook of 5,000 pages takes no memory. Each tells beside its HTML what
//! a converter must find: its words in reading order, and its pictures and files.

mod markup;
mod notebook;
mod page;
mod random;

pub use notebook::{Group, Notebook, PAGES_MAX, Section, notebook};
pub use page::{Page, Resource, client_url, page};
