//! OneNote's HTML, piece by piece.

use super::{
    page::{Resource, client_url},
    random::Random,
};

/// What a container holds.
pub(super) struct Made {
    pub(super) html: String,
    pub(super) words: Vec<String>,
    pub(super) resources: Vec<Resource>,
}

pub(super) struct Markup<'a> {
    random: Random,
    html: String,
    words: Vec<String>,
    /// Words that a converter puts below the table that is being made.
    below: Vec<String>,
    resources: Vec<Resource>,
    named: usize,
    place: (u64, u32, u32),
    base: &'a str,
}

impl<'a> Markup<'a> {
    /// `named`: how many words the page has already; `place`: seed, number and the pages that there are.
    pub(super) fn new(random: Random, named: usize, place: (u64, u32, u32), base: &'a str) -> Self {
        Self {
            random,
            html: String::new(),
            words: Vec::new(),
            below: Vec::new(),
            resources: Vec::new(),
            named,
            place,
            base,
        }
    }

    pub(super) fn end(self) -> Made {
        Made {
            html: self.html,
            words: self.words,
            resources: self.resources,
        }
    }

    fn put(&mut self, html: &str) {
        self.html.push_str(html);
    }

    fn word(&mut self) {
        self.named += 1;
        let ending = self.random.pick(&["", "", "ä", "語", "é", "x", "ing"]);
        let word = format!("w{}q{}z{ending}", self.place.1, self.named);
        self.put(&word);
        self.words.push(word);
    }

    fn words(&mut self, most: u64) {
        for n in 0..self.random.between(1, most) {
            if n > 0 {
                self.put(" ");
            }
            self.word();
        }
    }

    /// Something that stands by itself.
    pub(super) fn piece(&mut self) {
        self.put("\t\t\t");
        match self.random.below(20) {
            0 => self.heading(),
            1..4 => self.list(0),
            4 => self.boxed(),
            5 | 6 => self.table(0),
            7 => self.picture(),
            8 if self.random.chance(40) => self.file(),
            9 => self.code(),
            10 if self.random.chance(30) => self.put("<!-- InkNode is not supported -->"),
            11 => self.quote(),
            12 => self.formula(),
            13 if self.random.chance(30) => {
                self.put("<iframe width=\"340\" data-original-src=\"https://www.youtube.com/watch?v=x\"></iframe>");
            }
            14 if self.random.chance(10) => self.long(),
            15 => self.put("<br />"),
            _ => self.paragraph(),
        }
        self.put("\n");
    }

    fn paragraph(&mut self) {
        self.put("<p style=\"margin-top:0pt;margin-bottom:0pt\">");
        self.line();
        self.put("</p>");
    }

    fn line(&mut self) {
        for _ in 0..self.random.between(1, 4) {
            self.run();
            self.put(" ");
        }
    }

    fn run(&mut self) {
        let style = self.random.pick(&[
            "font-weight:bold",
            "font-style:italic",
            "text-decoration:underline",
            "color:#c00000",
            "background-color:yellow",
            "font-family:Consolas",
        ]);
        match self.random.below(10) {
            0 => self.link(),
            1..4 => {
                self.put(&format!("<span style=\"{style}\">"));
                self.words(3);
                self.put("</span>");
            }
            _ => self.words(12),
        }
    }

    fn link(&mut self) {
        let (seed, number, pages) = self.place;
        let address = if self.random.chance(50) && pages > 0 {
            let other = u32::try_from(self.random.below(u64::from(pages))).unwrap_or(number);
            client_url(seed, other).replace('&', "&amp;")
        } else {
            format!("https://a.example/{number}?q={}", self.named)
        };
        self.put(&format!("<a href=\"{address}\">"));
        self.words(3);
        self.put("</a>");
    }

    fn heading(&mut self) {
        let level = self.random.between(1, 6);
        self.put(&format!(
            "<h{level} style=\"font-size:14pt;color:#2e75b5\">"
        ));
        self.words(5);
        self.put(&format!("</h{level}>"));
    }

    fn list(&mut self, depth: u64) {
        let kind = self.random.pick(&["ul", "ol"]);
        self.put(&format!("<{kind}>"));
        for _ in 0..self.random.between(1, 4) {
            self.put("<li>");
            if self.random.chance(50) {
                self.paragraph();
            } else {
                self.line();
            }
            if depth < 5 && self.random.chance(35) {
                self.list(depth + 1);
            }
            self.put("</li>");
        }
        self.put(&format!("</{kind}>"));
    }

    fn boxed(&mut self) {
        let tag = self
            .random
            .pick(&["to-do", "to-do:completed", "important", "to-do,question"]);
        self.put(&format!("<p data-tag=\"{tag}\">"));
        self.line();
        self.put("</p>");
    }

    /// A table within another stands below it once it is converted, whatever cells follow.
    fn table(&mut self, depth: u64) {
        let (rows, columns) = (self.random.between(1, 5), self.random.between(1, 4));
        self.put("<table style=\"border:1px solid;border-collapse:collapse\">");
        for _ in 0..rows {
            self.put("<tr>");
            for _ in 0..columns {
                self.put("<td style=\"border:1px solid\">");
                self.cell(depth);
                self.put("</td>");
            }
            self.put("</tr>");
        }
        self.put("</table>");
        if depth == 0 {
            let below = std::mem::take(&mut self.below);
            self.words.extend(below);
        }
    }

    fn cell(&mut self, depth: u64) {
        match self.random.below(10) {
            0 => {}
            1 if depth == 0 => {
                let before = std::mem::take(&mut self.words);
                self.table(1);
                let within = std::mem::replace(&mut self.words, before);
                self.below.extend(within);
            }
            2 => self.list(4),
            _ => self.line(),
        }
    }

    fn address(&mut self, media_type: &'static str) -> String {
        let id = format!("1-{:016x}!1-{}", self.random.next(), self.place.1);
        let address = format!("{}/v1.0/me/onenote/resources/{id}/$value", self.base);
        self.resources.push(Resource { id, media_type });
        address
    }

    fn picture(&mut self) {
        let address = self.address("image/png");
        self.put(&format!(
            "<img width=\"480\" height=\"320\" src=\"{address}\" data-src-type=\"image/png\" \
             data-fullres-src=\"{address}\" data-fullres-src-type=\"image/png\" />"
        ));
    }

    fn file(&mut self) {
        let media_type = "application/pdf";
        let address = self.address(media_type);
        let name = self.named;
        self.put(&format!("<object data-attachment=\"file-{name}.pdf\" type=\"{media_type}\" data=\"{address}\"></object>"));
    }

    fn code(&mut self) {
        for _ in 0..self.random.between(1, 4) {
            self.put("<p style=\"font-family:Consolas\">&nbsp;&nbsp;");
            self.words(5);
            self.put("</p>");
        }
    }

    fn quote(&mut self) {
        self.put("<cite style=\"font-size:9pt;color:#595959\">");
        self.words(12);
        self.put("</cite><br />");
    }

    fn formula(&mut self) {
        self.put("<p><math xmlns=\"http://www.w3.org/1998/Math/MathML\"><mfrac><mi>");
        self.word();
        self.put("</mi><mn>");
        self.word();
        self.put("</mn></mfrac></math></p>");
    }

    /// More than one block, or one request, can hold.
    fn long(&mut self) {
        if self.random.chance(50) {
            self.put("<p>");
            self.words(1_500);
            self.put("</p>");
        } else {
            self.put("<ul>");
            for _ in 0..self.random.between(90, 230) {
                self.put("<li>");
                self.words(2);
                self.put("</li>");
            }
            self.put("</ul>");
        }
    }
}
