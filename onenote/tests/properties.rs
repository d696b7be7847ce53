//! Whatever HTML comes: requests that Notion takes, and the text complete and in order.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that cannot go on has failed"
)]

mod support;

use proptest::{prelude::*, sample::subsequence};
use spillway_onenote::{Known, Target, convert, generate, read, write};
use support::{BASE, converted, made, sent, upstream};

/// Markup of which nothing hides text or moves it.
const TAGS: &[&str] = &[
    "<p>",
    "</p>",
    "<p style='font-family:Consolas'>",
    "<p data-tag=to-do>",
    "<p/>",
    "<div>",
    "</div>",
    "<h1>",
    "</h1>",
    "<h5 style='color:#2e75b5'>",
    "</h5>",
    "<ul>",
    "</ul>",
    "<ol>",
    "</ol>",
    "<li>",
    "</li>",
    "<li data-tag='to-do:completed'>",
    "<span style='font-weight:bold;color:#c00000'>",
    "</span>",
    "<b>",
    "</b>",
    "<i>",
    "</i>",
    "<cite>",
    "</cite>",
    "<blockquote>",
    "</blockquote>",
    "<pre>",
    "</pre>",
    "<br>",
    "</br>",
    "<hr>",
    "<a href='https://a.example/?q=1'>",
    "<a href='onenote:#x&amp;page-id={12}&amp;end'>",
    "<a href='mailto:a@b.example'>",
    "</a>",
    "<body>",
    "</body>",
    "<html>",
    "<img src='https://graph.microsoft.com/v1.0/me/onenote/resources/1/$value' alt='A picture'>",
    "<img src=x>",
    "<img>",
    "<object data='https://graph.microsoft.com/v1.0/me/onenote/resources/2/$value' data-attachment='a.pdf'>",
    "</object>",
    "<iframe data-original-src='https://a.example/'>",
    "</iframe>",
    "<!-- InkNode is not supported -->",
    "<!-- c -->",
    "<math>",
    "</math>",
    "<mfrac>",
    "</mfrac>",
    "<mi>",
    "</mi>",
    "<msqrt>",
    "</msqrt>",
    "<font color=red>",
    "</font>",
    "<svg>",
    "</svg>",
    "<unknown x=y>",
    "</unknown>",
    "<meta name=created content=x>",
    "<sup>",
    "</sup>",
    "&nbsp;",
    " ",
    "\n",
];

/// Markup that puts text elsewhere: what cells cannot hold goes below, and containers stand where they say.
const MOVING: &[&str] = &[
    "<table>",
    "</table>",
    "<tr>",
    "</tr>",
    "<td>",
    "</td>",
    "<th colspan=3>",
    "</th>",
    "<tbody>",
    "<thead>",
    "<caption>",
    "<body>",
    "<div style='position:absolute;top:9px;left:1px'>",
    "<div style='position:absolute;top:-3pt'>",
];

#[derive(Clone, Debug)]
enum Piece {
    Word,
    Tag(&'static str),
}

fn soup(tags: Vec<&'static str>) -> impl Strategy<Value = (String, Vec<String>)> {
    let piece = prop_oneof![
        Just(Piece::Word),
        prop::sample::select(tags).prop_map(Piece::Tag),
    ];
    prop::collection::vec(piece, 0..120).prop_map(|pieces| {
        let (mut html, mut words) = (String::new(), Vec::new());
        for piece in pieces {
            match piece {
                Piece::Tag(tag) => html.push_str(tag),
                Piece::Word => {
                    let word = format!("w{}ü", words.len());
                    html.push_str(&format!(" {word} "));
                    words.push(word);
                }
            }
        }
        (html, words)
    })
}

/// Whether the words are in the text, each once and in this order.
fn in_order(words: &[String], text: &str) -> Result<(), String> {
    let mut rest = text;
    for word in words {
        let Some((_, after)) = rest.split_once(word.as_str()) else {
            return Err(format!("{word} is not, or not where it should be"));
        };
        rest = after;
        if after.contains(word.as_str()) {
            return Err(format!("{word} is there again"));
        }
    }
    Ok(())
}

/// What is sent makes the very blocks that were written, and sending is the same each time.
fn kept(html: &str) -> Result<String, TestCaseError> {
    let once = converted(html);
    let page = sent(&once.plan);
    prop_assert_eq!(&once.plan, &converted(html).plan);
    let mut written = write(read(html, &upstream()), &());
    let whole = spillway_onenote::plan::Plan::new(written.title.clone(), Vec::new());
    prop_assert_eq!(whole.requests.len(), 1);
    fill(&mut written.blocks);
    let blocks = serde_json::to_value(&written.blocks).unwrap();
    let expected: Vec<_> = blocks.as_array().unwrap().iter().map(made).collect();
    prop_assert_eq!(format!("{:?}", page.children), format!("{expected:?}"));
    prop_assert_eq!(
        once.plan.blocks(),
        page.children.iter().map(count).sum::<usize>()
    );
    let title = serde_json::to_value(&written.title).unwrap();
    let title = title
        .as_array()
        .unwrap()
        .iter()
        .map(|run| run["text"]["content"].as_str().unwrap().to_owned());
    Ok(format!("{}\n{}", title.collect::<String>(), page.text()))
}

fn count(made: &support::Made) -> usize {
    1 + made.children.iter().map(count).sum::<usize>()
}

fn fill(blocks: &mut [spillway_onenote::notion::Block]) {
    use spillway_onenote::notion::{Body, FileId};
    for block in blocks {
        if let Body::Upload {
            file: file @ FileId::Wanted(_),
            ..
        } = &mut block.body
        {
            let FileId::Wanted(place) = *file else {
                unreachable!()
            };
            *file = FileId::Uploaded(format!("00000000-0000-0000-0000-{place:012}"));
        }
        fill(&mut block.children);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn any_markup_keeps_its_text_in_order((html, words) in soup(TAGS.to_vec())) {
        let text = kept(&html)?;
        prop_assert_eq!(in_order(&words, &text), Ok(()), "{}", text);
    }

    #[test]
    fn tables_and_containers_keep_all_text((html, words) in soup([TAGS, MOVING, MOVING, MOVING].concat())) {
        let text = kept(&html)?;
        for word in &words {
            prop_assert_eq!(text.matches(word.as_str()).count(), 1, "{} in {}", word, text);
        }
    }

    #[test]
    fn generated_pages_keep_their_words_and_files(seed in any::<u64>(), number in 0..5_000_u32) {
        let page = generate::page(seed, number, 5_000, BASE);
        let text = kept(&page.html)?;
        prop_assert_eq!(in_order(&page.words, &text), Ok(()), "{}", text);
        let files = converted(&page.html).files;
        let found: Vec<_> = files.iter().map(|file| file.resource.id.as_str()).collect();
        for resource in &page.resources {
            prop_assert!(found.contains(&resource.id.as_str()), "{}", resource.id);
        }
        prop_assert_eq!(found.len(), page.resources.len());
    }

    #[test]
    fn mutilated_pages_keep_what_is_still_text(
        seed in any::<u64>(),
        cuts in prop::collection::vec((0.0..1.0, 0..40_usize, "[<>/\"'=&; a-z]{0,6}"), 1..12),
    ) {
        let page = generate::page(seed, 1, 10, BASE);
        let mut html: Vec<char> = page.html.chars().collect();
        for (place, length, instead) in cuts {
            let from = (html.len() as f64 * place) as usize;
            let to = (from + length).min(html.len());
            html.splice(from..to, instead.chars());
        }
        let html: String = html.into_iter().collect();
        let text = kept(&html)?;
        for word in left(&html) {
            prop_assert!(text.contains(&word), "{} is not in {}", word, text);
        }
    }

    #[test]
    fn any_characters_are_a_page(html in "\\PC{0,400}", cut in subsequence(vec!["<", "table", "<td", "&", "]]>", "<!--"], 0..6)) {
        kept(&format!("{}{html}", cut.concat()))?;
    }

    #[test]
    fn links_lead_where_they_should_once_all_is_there(seed in any::<u64>(), number in 0..20_u32) {
        let page = generate::page(seed, number, 20, BASE);
        let known = |target: &Target| Some(format!("{}-x", target.page.as_ref()?));
        let links = |text: &str| text.matches("https://www.notion.so/").count();
        let at_once = convert(&page.html, &upstream(), &known);
        prop_assert!(at_once.plan.sites().is_empty());
        let expected: usize = at_once.plan.requests.iter().map(|it| links(&format!("{:?}", it.children))).sum();
        let mut later = 0;
        for site in convert(&page.html, &upstream(), &()).plan.sites() {
            prop_assert!(site.update(&()).is_none());
            let body = site.update(&known).unwrap();
            let violations = spillway_onenote::rules::update(&body);
            prop_assert!(violations.is_empty(), "{}", violations[0]);
            prop_assert!(site.missing(&known).is_empty() && !site.missing(&()).is_empty());
            later += links(&body.to_string());
        }
        prop_assert_eq!(later, expected);
        let target = Target::of(&generate::client_url(seed, number)).unwrap();
        prop_assert!(known.page(&target).is_some());
    }
}

/// Words of letters and digits that a tokenizer still sees as text, wherever they are.
fn left(html: &str) -> Vec<String> {
    use html5ever::tokenizer::{BufferQueue, Token, TokenSink, TokenSinkResult, Tokenizer};
    use std::cell::RefCell;

    #[derive(Default)]
    struct Words(RefCell<Vec<String>>);

    impl TokenSink for Words {
        type Handle = ();
        fn process_token(&self, token: Token, _line: u64) -> TokenSinkResult<()> {
            if let Token::CharacterTokens(text) = token {
                let words = text
                    .split(|c: char| !c.is_alphanumeric())
                    .filter(|word| !word.is_empty());
                self.0.borrow_mut().extend(words.map(str::to_owned));
            }
            TokenSinkResult::Continue
        }
    }

    // Whose content is not text to see, or text in which tags are none.
    if [
        "<script",
        "<style",
        "<template",
        "<title",
        "<textarea",
        "<xmp",
        "<annotation",
    ]
    .iter()
    .any(|tag| html.to_ascii_lowercase().matches(tag).count() > usize::from(*tag == "<title"))
        || !html.contains("</title>")
    {
        return Vec::new();
    }
    let input = BufferQueue::default();
    input.push_back(html5ever::tendril::StrTendril::from_slice(html));
    let tokenizer = Tokenizer::new(
        Words::default(),
        html5ever::tokenizer::TokenizerOpts::default(),
    );
    let _ = tokenizer.feed(&input);
    tokenizer.end();
    tokenizer.sink.0.into_inner()
}
