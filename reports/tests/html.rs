//! The page, read back as HTML: well formed, self-contained, complete, and unimpressed by hostile text.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "in tests a failed step is a failed test")]

mod sample;

use countersign_reports::*;
use sample::{batch, sample};
use scraper::{ElementRef, Html, Selector};

fn read(page: &str) -> Html {
    let html = Html::parse_document(page);
    assert!(html.errors.is_empty(), "{:?}", html.errors);
    html
}

fn all<'a>(html: &'a Html, selector: &str) -> Vec<ElementRef<'a>> {
    html.select(&Selector::parse(selector).unwrap()).collect()
}

fn text(element: &ElementRef<'_>) -> String {
    element.text().collect::<Vec<_>>().join(" ").split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The page's tags, nested as they were written: a closing tag that doesn't fit the open one is an error that an HTML
/// parser mends in silence.
#[test]
fn tags_are_closed_in_their_order() {
    const VOID: [&str; 3] = ["meta", "br", "hr"];
    let page = to_html(&sample());
    let body = page.split_once("</style>").unwrap().1;
    let mut open = vec!["html", "head"];
    for tag in body.split('<').skip(1).map(|rest| rest.split(['>', ' ']).next().unwrap()) {
        match tag.strip_prefix('/') {
            Some(tag) => assert_eq!(open.pop(), Some(tag), "in {open:?}"),
            None if VOID.contains(&tag) => {}
            None => open.push(tag),
        }
    }
    assert_eq!(open, Vec::<&str>::new());
    assert!(!Html::parse_document("<!DOCTYPE html><p></b>").errors.is_empty(), "`read` must be able to fail");
}

#[test]
fn nothing_is_loaded_and_nothing_runs() {
    let page = to_html(&sample());
    let html = read(&page);
    for loader in [
        "script",
        "link",
        "img",
        "iframe",
        "object",
        "embed",
        "image",
        "use",
        "[src]",
        "[srcset]",
        "[onclick]",
    ] {
        assert!(all(&html, loader).is_empty(), "{loader}");
    }
    assert!(!page.contains("@import") && !page.contains("url(http") && !page.contains("javascript:"));
    // A link is there to be followed by a person; only the known entry's own is.
    let links: Vec<&str> = all(&html, "[href]").iter().map(|link| link.attr("href").unwrap()).collect();
    let (inner, outer): (Vec<&str>, Vec<&str>) = links.into_iter().partition(|link| link.starts_with('#'));
    assert_eq!(outer, ["https://example.org/1"]);
    for anchor in inner {
        assert_eq!(all(&html, anchor).len(), 1, "{anchor}");
    }
}

#[test]
fn every_finding_is_there_and_news_is_open() {
    let mut report = sample();
    let template = report.findings[0].clone();
    report.findings.clear();
    for (status, count) in [(FindingStatus::New, 2), (FindingStatus::Returned, 1), (FindingStatus::Known, 40)]
    {
        for number in 0..count {
            let signature = format!("{status:?} {number}");
            let title = format!("title {}", number % 3);
            report.findings.push(FindingReport { signature, title, status, ..template.clone() });
        }
    }
    let page = to_html(&report);
    let html = read(&page);
    for finding in &report.findings {
        assert!(page.contains(&format!("<code>{}</code>", finding.signature)), "{}", finding.signature);
    }
    assert_eq!(all(&html, "#findings details.finding").len(), 43);
    assert_eq!(all(&html, "#findings details.finding[open]").len(), 3);
    assert_eq!(all(&html, "#findings details.group[open]").len(), 0);
    assert_eq!(all(&html, "#findings details.group details.finding").len(), 40);
}

#[test]
fn hostile_text_stays_text() {
    let evil = r#"</pre></style><script>alert("1")</script>&lt;'<img src=x onerror=y>"#;
    let mut report = sample();
    let finding = &mut report.findings[0];
    finding.signature = evil.into();
    finding.title = evil.into();
    finding.detail = evil.into();
    finding.locus = evil.into();
    finding.effect = evil.into();
    finding.cause = Some(evil.into());
    finding.link = Some("javascript:alert(1)".into());
    finding.case_file = Some(evil.into());
    finding.file = Some(evil.into());
    finding.validators.dynamic = evil.into();
    let fault = finding.fault.as_mut().unwrap();
    fault.message = evil.into();
    fault.stack[0].function = evil.into();
    let batch = finding.batch.as_mut().unwrap();
    batch.payload = vec![evil.into()];
    batch.breaches[0].rule = evil.into();
    batch.sequences[0].remarks = vec![evil.into()];
    let kernel = &mut report.kernels[0];
    kernel.id = evil.into();
    kernel.variants[0].name = evil.into();
    kernel.variants[1].failure = Some(evil.into());
    kernel.source.as_mut().unwrap().lines[6] = evil.into();
    report.internal_errors[0].message = evil.into();
    report.summary.hits.slip.insert(evil.into(), 1);
    report.cases[0].name = evil.into();
    let html = read(&to_html(&report));
    assert_eq!(all(&html, "script, img").len(), 0);
    assert_eq!(all(&html, "a[href^=javascript]").len(), 0);
    let page = text(&html.root_element());
    assert!(page.matches(r#"<script>alert("1")</script>&lt;'"#).count() > 15);
}

#[test]
fn the_picture_marks_what_is_wrong() {
    let html = read(&to_html(&sample()));
    let bad: Vec<String> = all(&html, ".batch .bad").iter().map(text).collect();
    assert_eq!(bad, ["10 !", "6 !"]);
    let titles: Vec<_> = all(&html, ".batch .bad").iter().filter_map(|mark| mark.attr("title")).collect();
    assert_eq!(titles, ["breaks total-q-within-rows", "column 1 breaks page-index-in-range"]);
    // Sequence 1 owns rows 3 to 9 of a q of 8, of which 4 and 5 came out wrong; it needs a third page.
    let rows: Vec<String> = all(&html, ".sequences tbody tr").iter().map(text).collect();
    assert_eq!(
        rows,
        [
            "0 0:3 3 3 4 -9 prefill ✗ 1 wrong row",
            "1 3:10 7 9 2 6 ! 1 more needed ! chunked prefill ✗ 2 wrong rows",
            "2 1000 0 0 past num_seqs"
        ]
    );
    assert_eq!(all(&html, ".strip .beyond").len(), 1);
    assert_eq!(all(&html, ".strip rect.wrong").len(), 2);
    let spoken = all(&html, ".strip")[0].attr("aria-label").unwrap();
    assert_eq!(
        spoken,
        "8 rows of q: sequence 0 from 0 to 3, sequence 1 from 3 to 10; wrong rows 1 to 1, 4 to 5"
    );
}

#[test]
fn any_metadata_is_drawn() {
    let extremes = [i32::MIN, -1, 0, 7, i32::MAX];
    let mut report = sample();
    for first in extremes {
        for second in extremes {
            for num_seqs in extremes {
                let mut batch = batch();
                batch.cu_q_lens = vec![first, second, first, second];
                batch.num_seqs = num_seqs;
                for sequence in &mut batch.sequences {
                    sequence.kv_len = second;
                    sequence.pages = vec![first, second];
                }
                report.findings[0].batch = Some(batch);
                let html = read(&to_html(&report));
                let strip = all(&html, ".strip")[0];
                let numbers = strip.descendent_elements().flat_map(|element| {
                    ["x", "x1", "x2", "width"].into_iter().filter_map(move |name| element.attr(name))
                });
                for number in numbers {
                    let number: f64 = number.parse().unwrap();
                    assert!((0.0..=1000.0).contains(&number), "{first} {second} {num_seqs}: {number}");
                }
            }
        }
    }
    for batch in [BatchReport::default(), BatchReport { num_seqs: 3, columns: 9, ..BatchReport::default() }] {
        report.findings[0].batch = Some(batch);
        read(&to_html(&report));
    }
}

#[test]
fn what_was_clipped_is_counted() {
    let mut report = sample();
    let batch = report.findings[0].batch.as_mut().unwrap();
    (batch.table_rows, batch.columns) = (300, 70);
    let html = read(&to_html(&report));
    let picture = text(&all(&html, ".batch")[0]);
    assert!(picture.contains("and 297 more rows of the page table, not drawn"), "{picture}");
    assert!(picture.contains("and 68 more columns"), "{picture}");
}

#[test]
fn zeros_show_and_what_cannot_be_is_told_apart() {
    let html = read(&to_html(&sample()));
    let tables = all(&html, ".matrix");
    let rows = |table: &ElementRef<'_>| -> Vec<String> {
        table.select(&Selector::parse("tbody tr").unwrap()).map(|row| text(&row)).collect()
    };
    // all; window none, set; cap none
    assert_eq!(rows(&tables[0]), ["kv-len-page 4 4 – 4", "q-len-0 0 0 0 0"]);
    // window by cap: a variant that was never drawn, and pairs without a variant
    assert_eq!(rows(&tables[1]), ["window none 10 –", "set 0 –"]);
}

#[test]
fn uncovered_lines_are_listed_with_their_text() {
    let html = read(&to_html(&sample()));
    let rows: Vec<String> = all(&html, ".lines tbody tr").iter().map(text).collect();
    let never = "kernel.py:7 the branch's false side, a copy of the last block line_7 < 2";
    assert_eq!(rows, ["◐ kernel.py:8 1 of 2 line_8 < 2", "✗ kernel.py:9 0 of 1 line_9 < 2", never]);
    let marks: Vec<String> = all(&html, ".listing td.mark").iter().map(text).collect();
    assert_eq!(marks, ["✓", "◐", "✗"]);
    assert_eq!(all(&html, ".listing tr").len(), 9);
}

#[test]
fn a_fault_names_the_line_of_the_source() {
    let html = read(&to_html(&sample()));
    let stacks: Vec<String> = all(&html, ".stack").iter().map(text).collect();
    assert_eq!(stacks, ["kernel.py:7 in wait line_7 < 2", "kernel.py:8 line_8 < 2"]);
}

#[test]
fn a_fault_says_what_was_accessed_and_what_led_there() {
    let page = text(&all(&read(&to_html(&sample())), "body")[0]);
    for part in [
        "It is semaphores 2, semaphores [2] in semaphore memory.",
        "The index was applied:",
        "Sequence 1 has kv_len 9.",
        "memref.load of kv_lens[1] = 9",
        "may not compile v: VMEM: about 17.0 MiB of 16.0 MiB on v4",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
}

#[test]
fn a_finding_is_replayed_as_it_was_found() {
    let commands = |profile: Option<&str>| {
        let report = Report { profile: profile.map(str::to_owned), ..sample() };
        text(&all(&read(&to_html(&report)), ".commands")[0])
    };
    let show = "countersign show findings/a.toml --trace";
    assert_eq!(commands(Some("v5e@1")), format!("countersign replay findings/a.toml --profile v5e@1 {show}"));
    for usual in [Some("exact@1"), None] {
        assert_eq!(commands(usual), format!("countersign replay findings/a.toml {show}"));
    }
}

#[test]
fn the_verdict_follows_the_exit_code() {
    let verdict = |exit_code, new, stale| {
        let mut report = sample();
        report.exit_code = exit_code;
        (report.summary.findings_new, report.summary.findings_stale) = (new, stale);
        text(&all(&read(&to_html(&report)), "h1")[0])
    };
    assert_eq!(verdict(0, 0, 0), "Nothing new in jax-rpa");
    assert_eq!(verdict(1, 1, 0), "1 new finding in jax-rpa");
    assert_eq!(verdict(1, 0, 2), "2 expectations no longer met in jax-rpa");
    assert_eq!(verdict(2, 3, 0), "No verdict: countersign itself failed");
    assert_eq!(verdict(3, 0, 0), "Incomplete: nothing new so far in jax-rpa");
}

#[test]
fn an_empty_report_is_a_page_too() {
    let report = Report {
        summary: Summary::default(),
        campaign: None,
        kernels: Vec::new(),
        findings: Vec::new(),
        rules: Default::default(),
        slips: Default::default(),
        cases: Vec::new(),
        internal_errors: Vec::new(),
        ..sample()
    };
    let html = read(&to_html(&report));
    assert_eq!(all(&html, "section").len(), 0);
}

#[test]
fn the_same_report_gives_the_same_bytes_also_when_it_was_read_back() {
    let mut report = sample();
    // The first is read back wrongly by a parser that doesn't round to the nearest.
    for r in [1.0961650139999999, 1.0 / 3.0, 0.1 + 0.2] {
        (report.summary.largest_r, report.timing.seconds) = (r, r);
        let text = to_json(&report).unwrap();
        let read_back = from_json(&text).unwrap();
        assert_eq!(to_json(&read_back).unwrap(), text);
        assert_eq!(to_html(&report), to_html(&read_back));
    }
}

#[test]
fn headings_are_nested_and_tables_have_headers() {
    let html = read(&to_html(&sample()));
    let mut outline = String::new();
    let mut last = 0;
    for heading in all(&html, "h1, h2, h3, h4, h5") {
        let level = usize::from(heading.value().name().as_bytes()[1] - b'0');
        assert!(level <= last + 1, "h{level} after h{last}: {}", text(&heading));
        last = level;
        outline += &format!("{}{}\n", "  ".repeat(level - 1), text(&heading));
    }
    for table in all(&html, "table") {
        assert!(table.select(&Selector::parse("th[scope]").unwrap()).next().is_some(), "{}", text(&table));
    }
    for picture in all(&html, "svg:not(.defs)") {
        assert!(picture.attr("aria-label").is_some_and(|label| !label.is_empty()));
    }
    insta::assert_snapshot!(outline);
}
