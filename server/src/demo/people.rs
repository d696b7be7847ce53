//! Who the demo's users are.

use super::settings::APP;

/// Users who look into their notebooks; more than these get a number behind their name.
const SCANNING: [(&str, &str); 24] = [
    ("ana", "contoso"),
    ("li.wei", "fabrikam"),
    ("tomasz", "adatum"),
    ("amara", "contoso"),
    ("jonas", "fabrikam"),
    ("priya", "adatum"),
    ("noor", "contoso"),
    ("mateo", "contoso"),
    ("sofia", "fabrikam"),
    ("hiro", "adatum"),
    ("elif", "fabrikam"),
    ("daniel", "contoso"),
    ("zanele", "adatum"),
    ("ingrid", "fabrikam"),
    ("omar", "contoso"),
    ("chloe", "adatum"),
    ("rafael", "fabrikam"),
    ("yuki", "contoso"),
    ("maeve", "adatum"),
    ("kwame", "fabrikam"),
    ("leila", "contoso"),
    ("pavel", "adatum"),
    ("nina", "fabrikam"),
    ("arjun", "contoso"),
];

/// Users whose notebooks are crawled, likewise.
const CRAWLED: [(&str, &str); 4] = [
    ("marta", "contoso"),
    ("kenji", "adatum"),
    ("ines", "fabrikam"),
    ("oleg", "contoso"),
];

const SATURATING: (&str, &str) = ("viktor", "fabrikam");

/// One user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Person {
    /// The user's key, an address: `ana@contoso.example`.
    pub user: String,
    /// The key of the tenant: `contoso`.
    pub tenant: &'static str,
}

impl Person {
    /// The first `count` of those who look into their notebooks.
    pub fn scanning(count: u32) -> impl Iterator<Item = Self> {
        (0..count).map(|n| Self::nth(&SCANNING, n))
    }

    /// The first `count` of those whose notebooks are crawled.
    pub fn crawled(count: u32) -> impl Iterator<Item = Self> {
        (0..count).map(|n| Self::nth(&CRAWLED, n))
    }

    /// The one who always asks for more.
    pub fn saturating() -> Self {
        Self::nth(&[SATURATING], 0)
    }

    /// The credential this user sends; one that the simulator understands.
    pub(super) fn bearer(&self) -> String {
        spillway_simulator::bearer(&self.user, self.tenant, APP)
    }

    fn nth(known: &[(&str, &'static str)], n: u32) -> Self {
        let (round, place) = (n as usize / known.len(), n as usize % known.len());
        let (name, tenant) = known[place];
        let number = if round == 0 {
            String::new()
        } else {
            (round + 1).to_string()
        };
        Self {
            user: format!("{name}{number}@{tenant}.example"),
            tenant,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn no_two_are_the_same() {
        let all: Vec<_> = Person::scanning(200)
            .chain(Person::crawled(20))
            .chain([Person::saturating()])
            .map(|p| p.user)
            .collect();
        let different: BTreeSet<_> = all.iter().collect();
        assert_eq!(different.len(), 221);
        assert_eq!(
            (all[0].as_str(), all[24].as_str()),
            ("ana@contoso.example", "ana2@contoso.example")
        );
    }
}
