use super::*;

/// 2026-12-01T06:00:00Z.
const SIX: i64 = 1_796_104_800_000;
const MINUTE: i64 = 60_000;

fn hour() -> Span {
    Span::new(SIX, SIX + 60 * MINUTE).unwrap()
}

fn series(paint: Paint, style: Style, values: &[Option<f64>]) -> Series {
    let at = (SIX..).step_by(600_000);
    let point = |(at_ms, value): (i64, &Option<f64>)| Point {
        at_ms,
        value: *value,
    };
    Series {
        paint,
        style,
        points: at.zip(values).map(point).collect(),
    }
}

fn drawn(unit: Unit, series: Vec<Series>, gaps: Vec<Span>) -> String {
    lines(&Lines {
        title: "Of the app's limits",
        description: "Highest 80 %.",
        span: hour(),
        unit,
        series,
        gaps,
    })
    .unwrap()
}

fn count(drawing: &str, part: &str) -> usize {
    drawing.matches(part).count()
}

#[test]
fn a_drawing_has_the_page_s_colours_a_name_and_no_style() {
    let values = [Some(10.0), Some(80.0), Some(40.0)];
    let drawing = drawn(
        Unit::Percent,
        vec![series(Paint::Fore, Style::Area, &values)],
        vec![],
    );
    assert!(drawing.starts_with("<svg class=\"chart\" viewBox=\"0 0 840 330\" role=\"img\">"));
    assert!(drawing.contains("<title>Of the app's limits</title><desc>Highest 80 %.</desc>"));
    assert!(drawing.ends_with("</svg>"), "{drawing}");
    assert!(drawing.contains("stroke=\"var(--fore)\""), "{drawing}");
    assert!(drawing.contains("fill=\"var(--soft-ink)\""));
    assert!(
        !drawing.contains("style=") && !drawing.contains("\"#"),
        "{drawing}"
    );
    for label in ["0\u{a0}%", "100\u{a0}%", "06:00", "06:30"] {
        assert!(
            drawing.contains(&format!("\n{label}\n")),
            "{label}: {drawing}"
        );
    }
}

#[test]
fn what_is_not_known_breaks_the_line_and_is_shaded() {
    let values = [
        Some(1.0),
        Some(2.0),
        None,
        Some(3.0),
        Some(4.0),
        None,
        Some(5.0),
    ];
    let broken = |gaps| {
        let line = series(Paint::Near, Style::Line, &values);
        drawn(Unit::Count, vec![line], gaps)
    };
    let drawing = broken(vec![]);
    assert_eq!(
        count(
            &drawing,
            "<polyline fill=\"none\" opacity=\"1\" stroke=\"var(--near)\""
        ),
        2
    );
    // The last value stands alone.
    assert_eq!(count(&drawing, "<circle"), 1);
    assert_eq!(count(&drawing, "fill=\"var(--track)\""), 0);
    let outside = Span::new(0, SIX).unwrap();
    let gap = Span::new(SIX + 15 * MINUTE, SIX + 25 * MINUTE).unwrap();
    let shaded = broken(vec![gap, outside]);
    assert_eq!(count(&shaded, "fill=\"var(--track)\""), 1);
}

#[test]
fn whatever_the_values_are_something_is_drawn() {
    for values in [
        vec![],
        vec![None],
        vec![Some(f64::NAN), Some(f64::INFINITY)],
        vec![Some(0.0)],
        vec![Some(1e12), Some(0.0)],
    ] {
        for style in [Style::Line, Style::Thin, Style::Area, Style::Dots] {
            for unit in [Unit::Percent, Unit::Count] {
                let drawing = drawn(unit, vec![series(Paint::Fore, style, &values)], vec![]);
                assert!(!drawing.contains("NaN"), "{values:?}: {drawing}");
            }
        }
    }
}

#[test]
fn hostile_names_are_texts() {
    let name = "</title><script>alert(1)</script>\"#000001\"&";
    let row = Row {
        name: name.to_owned(),
        stretches: vec![],
    };
    let drawing = timeline(&Timeline {
        title: name,
        description: name,
        span: hour(),
        rows: vec![row],
    })
    .unwrap();
    assert!(!drawing.contains("<script"), "{drawing}");
    assert_eq!(count(&drawing, "&lt;script&gt;"), 3);
    assert_eq!(count(&drawing, "&quot;#000001&quot;"), 3);
}

#[test]
fn states_are_told_by_height_and_colour_and_are_never_too_short_to_be_seen() {
    let stretch = |from, until, paint, height_permille| Stretch {
        span: Span::new(SIX + from, SIX + until).unwrap(),
        paint,
        height_permille,
    };
    let row = |name: &str, stretches| Row {
        name: name.to_owned(),
        stretches,
    };
    let app = vec![
        stretch(0, 30 * MINUTE, Paint::Clear, 250),
        stretch(30 * MINUTE, 30 * MINUTE + 1, Paint::Full, 1_000),
        stretch(-MINUTE, -1, Paint::Near, 500),
    ];
    let drawing = timeline(&Timeline {
        title: "Breakers",
        description: "",
        span: hour(),
        rows: vec![row("App", app), row("User", vec![])],
    })
    .unwrap();
    assert!(drawing.contains("viewBox=\"0 0 840 130\""), "{drawing}");
    assert!(
        drawing.contains("width=\"353\" height=\"8\" opacity=\"1\" fill=\"var(--clear)\""),
        "{drawing}"
    );
    assert!(
        drawing.contains("width=\"2\" height=\"34\" opacity=\"1\" fill=\"var(--full)\""),
        "{drawing}"
    );
    assert!(!drawing.contains("--near"));
    // Where nothing was recorded there is the track.
    assert_eq!(count(&drawing, "fill=\"var(--track)\""), 2);
}

#[test]
fn bars_stand_upon_one_another_as_high_as_their_numbers() {
    let stack = |paint, values: [f64; 3]| Stack {
        paint,
        values: values.to_vec(),
    };
    let drawing = bars(&Bars {
        title: "Strikes",
        description: "Three days.",
        span: hour(),
        stacks: vec![
            stack(Paint::Fore, [4.0, 0.0, 8.0]),
            stack(Paint::Near, [0.0, f64::NAN, 4.0]),
        ],
    })
    .unwrap();
    let heights = |paint: &str| -> Vec<f64> {
        let rects = drawing.split("<rect ").skip(1);
        let filled = rects.filter(|it| it.contains(&format!("fill=\"var({paint})\"")));
        let height = |it: &str| {
            it.split("height=\"")
                .nth(1)?
                .split('"')
                .next()?
                .parse()
                .ok()
        };
        filled.filter_map(height).collect()
    };
    let [fore, near] = ["--fore", "--near"].map(heights);
    assert_eq!((fore.len(), near.len()), (2, 1), "{drawing}");
    assert!((fore[1] - 2.0 * fore[0]).abs() <= 2.0, "{fore:?}");
    assert!((near[0] - fore[0]).abs() <= 2.0, "{near:?} {fore:?}");
    assert!(drawing.contains("<title>Strikes</title><desc>Three days.</desc>"));
}

#[test]
fn no_bar_at_all_is_an_empty_drawing() {
    let drawing = bars(&Bars {
        title: "Strikes",
        description: "None.",
        span: hour(),
        stacks: Vec::new(),
    });
    assert!(drawing.unwrap().contains("<desc>None.</desc>"));
}
