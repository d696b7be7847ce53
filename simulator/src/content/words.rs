//! The words that titles and paragraphs are made of.

use crate::random::{hash, mix, pick};

pub(super) const NOTEBOOKS: &[&str] = &["Work", "Field notes", "Personal"];

pub(super) const SECTIONS: &[&str] = &[
    "Budget",
    "Customers",
    "Designs",
    "Experiments",
    "Hiring",
    "Ideas",
    "Meetings",
    "Minutes",
    "Reading",
    "Research",
    "Retrospectives",
    "Roadmap",
    "Training",
    "Travel",
];

const SUBJECTS: &[&str] = &[
    "Boiler",
    "Bridge",
    "Canal",
    "Dam",
    "Gauge",
    "Harbour",
    "Lock",
    "Pump",
    "Reservoir",
    "River",
    "Sluice",
    "Spillway",
    "Turbine",
    "Valve",
    "Weir",
];

const MATTERS: &[&str] = &[
    "inspection",
    "plan",
    "review",
    "report",
    "survey",
    "upkeep",
    "costs & terms",
    "test <draft>",
];

const WORDS: &[&str] = &[
    "water", "level", "rises", "slowly", "and", "the", "gate", "opens", "before", "it", "is",
    "full", "so", "nothing", "below", "floods", "while", "we", "measure", "again", "each", "hour",
];

/// A page's title, with its number so that no two pages of a section share one.
pub(super) fn title(random: u64, number: u32) -> String {
    let (subject, matter) = (pick(random, SUBJECTS), pick(mix(random), MATTERS));
    format!("{subject} {matter} {number}")
}

/// A sentence of `count` words.
pub(super) fn sentence(seed: u64, count: u64) -> String {
    let words = (0..count).map(|n| pick(hash(seed, &[&n.to_string()]), WORDS));
    words.collect::<Vec<_>>().join(" ")
}
