//! The dashboard of Spillway: what it shows, and the live data it shows.

pub mod live;
