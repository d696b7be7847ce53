//! What a megabyte of OneNote's HTML takes to become requests, beside what html5ever takes to read it and do nothing. Both in
//! one run, turn by turn; the ratio is what can be compared. See docs/BENCHMARKS.md.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a benchmark prints its result, and ends if it cannot go on"
)]

use std::{
    cell::Cell,
    hint::black_box,
    time::{Duration, Instant},
};

use html5ever::{
    tendril::StrTendril,
    tokenizer::{BufferQueue, Token, TokenSink, TokenSinkResult, Tokenizer, TokenizerOpts},
};
use spillway_onenote::{Upstream, convert, generate};

const BYTES: usize = 1_000_000;
const ROUNDS: usize = 31;
const BASE: &str = "https://graph.microsoft.com";

/// What issue 7 promises.
const MOST: Duration = Duration::from_millis(50);

fn main() {
    let html = page();
    let upstream = Upstream::new(BASE).expect("it is one");
    let (mut reads, mut converts) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        reads.push(time(|| tokens(black_box(&html))));
        converts.push(time(|| {
            convert(black_box(&html), &upstream, &())
                .plan
                .requests
                .len()
        }));
    }
    let blocks = convert(&html, &upstream, &()).plan.blocks();
    println!(
        "\n| {} bytes of HTML, {blocks} blocks | ms | ratio |\n|---|---|---|",
        html.len()
    );
    let ratios = reads
        .iter()
        .zip(&converts)
        .map(|(read, convert)| convert.as_secs_f64() / read.as_secs_f64());
    let mut ratios: Vec<_> = ratios.collect();
    ratios.sort_by(f64::total_cmp);
    let (read, converted) = (median(reads), median(converts));
    println!("| html5ever's tokens alone | {:.1} | 1.00 |", ms(read));
    let ratio = ratios.get(ROUNDS / 2).copied().unwrap_or_default();
    println!(
        "| HTML to requests, at most {} ms | {:.1} | {ratio:.2} |",
        MOST.as_millis(),
        ms(converted)
    );
    assert!(converted <= MOST, "it took longer than {MOST:?}");
}

/// One page of a megabyte: the containers of many, below each other.
fn page() -> String {
    let mut html =
        String::from("<html><head><title>Long</title></head><body data-absolute-enabled=\"true\">");
    for number in 0.. {
        let page = generate::page(7, number, 5_000, BASE).html;
        let (_, body) = page.split_once("<body").expect("it has one");
        let (_, body) = body.split_once('>').expect("it is a tag");
        html.push_str(body.split("</body>").next().expect("there is always one"));
        if html.len() >= BYTES {
            break;
        }
    }
    html.push_str("</body></html>");
    html
}

fn time<T>(run: impl FnOnce() -> T) -> Duration {
    let began = Instant::now();
    black_box(run());
    began.elapsed()
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

#[derive(Default)]
struct Count(Cell<usize>);

impl TokenSink for Count {
    type Handle = ();

    fn process_token(&self, token: Token, _line: u64) -> TokenSinkResult<()> {
        black_box(token);
        self.0.set(self.0.get() + 1);
        TokenSinkResult::Continue
    }
}

fn tokens(html: &str) -> usize {
    let input = BufferQueue::default();
    input.push_back(StrTendril::from_slice(html));
    let tokenizer = Tokenizer::new(Count::default(), TokenizerOpts::default());
    let _ = tokenizer.feed(&input);
    tokenizer.end();
    tokenizer.sink.0.get()
}
