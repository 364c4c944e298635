//! The frame of every page: head, style, navigation, sections.
//!
//! Invariant: nothing is loaded and there is no script; sections without a body are left out.

use maud::{DOCTYPE, Markup, PreEscaped, html};

/// A section of a page, under a heading of level 2.
pub(crate) struct Section {
    /// Anchor.
    pub(crate) id: &'static str,
    /// Heading.
    pub(crate) title: &'static str,
    /// What stands under it.
    pub(crate) body: Markup,
}

/// A whole HTML document.
pub(crate) fn page(title: &str, header: &Markup, sections: &[Section], footer: &Markup) -> String {
    page_with_style(title, "", header, sections, footer)
}

/// [`page`] with rules of its own, which come after those of all pages.
pub(crate) fn page_with_style(
    title: &str,
    style: &str,
    header: &Markup,
    sections: &[Section],
    footer: &Markup,
) -> String {
    let shown = || sections.iter().filter(|section| !section.body.0.is_empty());
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) }
                style { (PreEscaped(include_str!("style.css"))) (PreEscaped(style)) }
            }
            body {
                header { (header) }
                nav aria-label="Sections" { @for Section { id, title, .. } in shown() { a href={ "#" (id) } { (title) } } }
                main {
                    @for Section { id, title, body } in shown() {
                        section id=(id) aria-labelledby={ (id) "-title" } {
                            h2 id={ (id) "-title" } { (title) }
                            (body)
                        }
                    }
                }
                (footer)
            }
        }
    };
    let mut text = page.into_string();
    text.push('\n');
    text
}
