//! What the address of the page of floods asks for.

use spillway::flood::Component;
use spillway_app::FloodAsked;

use crate::floods::{Search, Wanted};

/// How many rows a page has.
pub(super) const ROWS: usize = 50;

/// The last page: who looks for more narrows the search.
pub(super) const PAGES_MAX: usize = 200;

/// The longest key, in bytes.
const KEY_BYTES_MAX: usize = 256;

/// Reads a raw query: what is asked for, and whether the parts that move are meant alone.
pub(super) fn read(query: &str) -> (FloodAsked, bool) {
    let (mut asked, mut is_part) = (FloodAsked::default(), false);
    let Ok(pairs) = serde_urlencoded::from_str::<Vec<(String, String)>>(query) else {
        asked.wrong = Some("The address cannot be read.".to_owned());
        return (asked, false);
    };
    for (name, value) in pairs {
        match name.as_str() {
            "part" => is_part = value == "live",
            // What a form has come to, said elsewhere.
            "told" => {}
            _ => {
                if let Err(wrong) = take(&mut asked, &name, value.trim()) {
                    asked.wrong = Some(wrong.to_owned());
                }
            }
        }
    }
    (asked, is_part)
}

fn take(asked: &mut FloodAsked, name: &str, value: &str) -> Result<(), &'static str> {
    if value.len() > KEY_BYTES_MAX {
        return Err("No key is longer than 256 bytes.");
    }
    match name {
        "find" => value.clone_into(&mut asked.find),
        "region" => value.clone_into(&mut asked.region),
        "site" => value.clone_into(&mut asked.site),
        "state" => {
            wanted(value).ok_or("There is no such state; all are shown.")?;
            value.clone_into(&mut asked.state);
        }
        "component" => {
            let known = value.is_empty() || component(value).is_some();
            known
                .then_some(())
                .ok_or("There is no such component; all are shown.")?;
            value.clone_into(&mut asked.component);
        }
        "page" => {
            let page = value.parse().ok();
            let page = page.filter(|page| (1..=PAGES_MAX).contains(page));
            asked.page = page.ok_or("There is no such page; this is the first.")?;
        }
        "refresh" => asked.refreshes = value == "on",
        _ => return Err("The address asks for something that this page does not have."),
    }
    Ok(())
}

fn wanted(state: &str) -> Option<Wanted> {
    match state {
        "" => Some(Wanted::All),
        "trouble" => Some(Wanted::Trouble),
        "disabled" => Some(Wanted::Disabled),
        "stopping" => Some(Wanted::Stopping),
        "paused" => Some(Wanted::Paused),
        _ => None,
    }
}

/// The component of this name.
pub(super) fn component(name: &str) -> Option<Component> {
    Component::ALL.into_iter().find(|it| it.name() == name)
}

/// The same as a search.
pub(super) fn search(asked: &FloodAsked) -> Search {
    Search {
        text: asked.find.clone(),
        wanted: wanted(&asked.state).unwrap_or_default(),
        region: asked.region.clone(),
        site: asked.site.clone(),
        component: component(&asked.component),
        skip: (asked.page.max(1) - 1) * ROWS,
        max: ROWS,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_read_and_what_cannot_be_is_said() {
        let (asked, is_part) =
            read("find=+%3Cb%3E+&state=paused&region=eu&site=s&component=item_id&page=3&part=live");
        assert!(is_part && asked.wrong.is_none());
        assert_eq!(asked.find, "<b>");
        let search = search(&asked);
        assert_eq!((search.skip, search.max), (100, 50));
        assert_eq!(search.wanted, Wanted::Paused);
        assert_eq!(search.component, Some(Component::ItemId));
        for query in [
            "state=x",
            "component=x",
            "page=0",
            "page=201",
            "page=x",
            "colour=red",
            &format!("find={}", "a".repeat(257)),
        ] {
            let (asked, _) = read(query);
            assert!(asked.wrong.is_some(), "{query}");
            let wrong = None;
            assert_eq!(FloodAsked { wrong, ..asked }, FloodAsked::default());
        }
    }
}
