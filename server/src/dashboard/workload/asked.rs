//! What the address of a workload's page asks for.

use spillway_app::Show;

use crate::history::Range;

/// The longest text that is looked for, in bytes, as keys are at most.
const FIND_BYTES_MAX: usize = 256;

/// What is asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Asked {
    /// What keys have in them.
    pub(super) find: String,
    /// In which trouble users are.
    pub(super) show: Show,
    /// Where the page before ended.
    pub(super) after: Option<String>,
    /// How far back charts look.
    pub(super) range: Range,
    /// Whether the page asks again by itself.
    pub(super) refreshes: bool,
    /// What of it cannot be understood: the page shows what it can, and says this.
    pub(super) wrong: Option<String>,
}

impl Asked {
    /// Reads a raw query.
    pub(super) fn read(query: &str) -> Self {
        let mut asked = Self::default();
        match serde_urlencoded::from_str::<Vec<(String, String)>>(query) {
            Ok(pairs) => {
                for (name, value) in pairs {
                    if let Err(wrong) = asked.take(&name, value) {
                        asked.wrong = Some(wrong);
                    }
                }
            }
            Err(_) => asked.wrong = Some("The address cannot be read.".to_owned()),
        }
        asked
    }

    fn take(&mut self, name: &str, value: String) -> Result<(), String> {
        match name {
            "find" if value.len() > FIND_BYTES_MAX => {
                return Err(format!("No key is longer than {FIND_BYTES_MAX} bytes."));
            }
            "find" => self.find = value.trim().to_owned(),
            "show" => {
                self.show = Show::named(&value).ok_or("There is no such filter; all are shown.")?;
            }
            "after" => self.after = Some(value).filter(|value| !value.is_empty()),
            "range" => {
                let none = "There is no such time; the last hour is shown.";
                self.range = Range::named(&value).ok_or(none)?;
            }
            "refresh" => self.refreshes = value == "on",
            _ => {
                return Err(
                    "The address asks for something that this page does not have.".to_owned(),
                );
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_read_and_what_cannot_be_is_said() {
        let asked = Asked::read("find=+ana%40x%3C+&show=near&after=abc&range=30d&refresh=on");
        let expected = Asked {
            find: "ana@x<".to_owned(),
            show: Show::Near,
            after: Some("abc".to_owned()),
            range: Range::Month,
            refreshes: true,
            wrong: None,
        };
        assert_eq!(asked, expected);
        assert_eq!(Asked::read("find=&after="), Asked::default());
        for query in [
            "show=x",
            "range=1y",
            "colour=red",
            &format!("find={}", "a".repeat(257)),
        ] {
            let asked = Asked::read(query);
            assert!(asked.wrong.is_some(), "{query}");
            assert_eq!(
                Asked {
                    wrong: None,
                    ..asked
                },
                Asked::default(),
                "{query}"
            );
        }
    }
}
