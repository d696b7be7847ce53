//! A page: containers anywhere on it, and in each whatever OneNote has.

use super::{markup::Markup, random::Random};

/// A page that was made up, and what a converter must find in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    #[allow(missing_docs, reason = "said by its name")]
    pub title: String,
    /// How far it is indented below the one before it, from 0 to 2.
    pub level: u8,
    #[allow(missing_docs, reason = "said by its name")]
    pub html: String,
    /// Each of its words once, in reading order; what a table's cells cannot hold is below the table.
    pub words: Vec<String>,
    /// Its pictures and files.
    pub resources: Vec<Resource>,
}

/// A picture or a file of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resource {
    /// As it is in the address.
    pub id: String,
    #[allow(missing_docs, reason = "said by its name")]
    pub media_type: &'static str,
}

/// The page of a notebook by its number. `base`: the upstream's base URL, without a slash at its end; `pages`: how many
/// the notebook has, to which links may lead.
pub fn page(seed: u64, number: u32, pages: u32, base: &str) -> Page {
    let mut random = Random::new(seed, u64::from(number));
    let title = format!(
        "Page {number}: {}",
        random.pick(&["notes", "plan", "Überblick", "会議", "a < b & c", "=sum"])
    );
    let level = u8::try_from(random.below(3)).unwrap_or(0);
    let mut containers = Vec::new();
    let (mut words, mut resources) = (Vec::new(), Vec::new());
    let mut top = 115;
    for _ in 0..random.between(1, 3) {
        let mut markup = Markup::new(
            Random::new(random.next(), number.into()),
            words.len(),
            (seed, number, pages),
            base,
        );
        for _ in 0..random.between(2, 8) {
            markup.piece();
        }
        let made = markup.end();
        words.extend(made.words);
        resources.extend(made.resources);
        containers.push(format!(
            "\t\t<div style=\"position:absolute;left:{}px;top:{top}px;width:624px\">\n{}\t\t</div>\n",
            random.between(40, 300),
            made.html
        ));
        top += 400;
    }
    // OneNote does not send them in reading order.
    let first = usize::try_from(random.below(containers.len() as u64)).unwrap_or(0);
    containers.rotate_left(first);
    let html = format!(
        "<html lang=\"en-GB\">\n\t<head>\n\t\t<title>{}</title>\n\t\t<meta http-equiv=\"Content-Type\" \
         content=\"text/html; charset=utf-8\" />\n\t\t<meta name=\"created\" content=\"2026-04-18T22:31:00.0000000\" />\
         \n\t</head>\n\t<body data-absolute-enabled=\"true\" style=\"font-family:Calibri;font-size:11pt\">\n{}\t</body>\
         \n</html>\n",
        title.replace('&', "&amp;").replace('<', "&lt;"),
        containers.concat()
    );
    Page {
        title,
        level,
        html,
        words,
        resources,
    }
}

/// The page's own address, as Graph has it in `links.oneNoteClientUrl`.
pub fn client_url(seed: u64, number: u32) -> String {
    let mut random = Random::new(!seed, u64::from(number));
    let (section, page) = (random.guid(), random.guid());
    format!(
        "onenote:https://d.docs.live.example/n/Notebook.one#Page%20{number}&section-id={{{section}}}&page-id={{{page}}}&end"
    )
}
