//! A diagnosis for a person: the likely mistake first, then the rules, the checks, the kernel.
//!
//! Invariant: a label and a text a line; sentences wrap at [`WIDTH`] columns, arrays and code don't; colour only where it is asked
//! for, and never as the only sign.

use super::{BrokenRule, CauseReport, Diagnosis, Slice};

/// Columns of a wrapped line.
const WIDTH: usize = 110;
/// Columns before the text.
const INDENT: usize = 12;
/// Rules that are listed with their places.
const MAX_RULES: usize = 6;

/// The diagnosis as text; `colour` for terminals.
pub fn diagnosis_to_text(diagnosis: &Diagnosis, colour: bool) -> String {
    let mut page = Page { out: String::new(), colour };
    page.title(diagnosis);
    for (index, cause) in diagnosis.causes.iter().enumerate() {
        page.cause(index, cause);
    }
    page.rules(diagnosis);
    page.line("static", &diagnosis.validators.r#static);
    page.line("dynamic", &diagnosis.validators.dynamic);
    match &diagnosis.run {
        Some(run) => {
            page.line("ran", &run.ran);
            page.line("kernel", &run.kernel);
        }
        None if diagnosis.broken.iter().any(|rule| rule.effect.is_some()) => {
            let text = "not run: its effects were measured on batches that break that rule alone; --run runs this one";
            page.line("kernel", text);
        }
        None => {}
    }
    page.fix(diagnosis);
    if let Some(saved) = &diagnosis.saved {
        page.line("saved", saved);
    }
    for note in &diagnosis.notes {
        page.line("note", note);
    }
    page.line("read", &read(diagnosis));
    page.out
}

/// What a rule wants that is about values.
const VALUES: &str = "values";

/// Operands whose shape is wanted.
fn wanted(diagnosis: &Diagnosis) -> Vec<&str> {
    let mut wanted: Vec<&str> = Vec::new();
    for rule in diagnosis.unjudged.iter().filter(|rule| rule.wants != VALUES) {
        if !wanted.contains(&rule.wants.as_str()) {
            wanted.push(&rule.wants);
        }
    }
    wanted
}

fn read(diagnosis: &Diagnosis) -> String {
    let dump = &diagnosis.dump;
    let headers: Vec<&str> =
        dump.arrays.iter().filter(|array| !array.values).map(|array| array.name.as_str()).collect();
    let mut text =
        format!("{}{}: {}", if dump.compressed { "compressed " } else { "" }, dump.format, dump.batch);
    if !headers.is_empty() {
        text += &format!("; of {} the header alone", headers.join(" and "));
    }
    if !dump.unused.is_empty() {
        text += &format!("; not looked at: {}", dump.unused.join(", "));
    }
    text
}

struct Page {
    out: String,
    colour: bool,
}

impl Page {
    fn paint(&self, code: &str, text: &str) -> String {
        if self.colour { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }

    fn title(&mut self, diagnosis: &Diagnosis) {
        let (code, text) = match (diagnosis.contract.as_str(), diagnosis.causes.len()) {
            ("kept", _) if wanted(diagnosis).is_empty() => ("1;32", "the batch is right".to_owned()),
            ("kept", _) => ("1;32", "nothing is wrong with the batch, as far as it is known".to_owned()),
            ("disputed", _) => {
                ("1;33", "the batch is of a kind that upstream accepts and its kernel mishandles".to_owned())
            }
            (_, 1) => ("1;31", "the batch is broken".to_owned()),
            (_, causes) => ("1;31", format!("the batch is broken, in {causes} ways")),
        };
        self.out += &self.paint(code, &text);
        self.out += "\n\n";
    }

    /// A label and a text, wrapped.
    fn line(&mut self, label: &str, text: &str) {
        self.styled(label, text, "");
    }

    fn styled(&mut self, label: &str, text: &str, code: &str) {
        let mut label = format!("  {label:<width$}", width = INDENT - 2);
        for line in wrap(text, WIDTH - INDENT) {
            let line = if code.is_empty() { line } else { self.paint(code, &line) };
            self.out += &format!("{label}{line}\n");
            label = " ".repeat(INDENT);
        }
    }

    /// A label and a text that is left as it is.
    fn verbatim(&mut self, label: &str, text: &str) {
        self.out += format!("  {label:<width$}{text}", width = INDENT - 2).trim_end();
        self.out += "\n";
    }

    fn cause(&mut self, index: usize, cause: &CauseReport) {
        self.styled(if index == 0 { "likely" } else { "and" }, &cause.sentence, "1");
        self.line("why", &cause.why);
        let corrected = if cause.unsure.is_some() { "perhaps" } else { "correct" };
        for slice in &cause.found {
            let same =
                cause.correct.iter().find(|other| other.array == slice.array && other.start == slice.start);
            self.slices(slice, same, corrected);
        }
        let unpaired = |slice: &&Slice| {
            !cause.found.iter().any(|other| other.array == slice.array && other.start == slice.start)
        };
        let rest: Vec<&Slice> = cause.correct.iter().filter(unpaired).collect();
        for slice in rest {
            let name = label_of(slice);
            let values: Vec<String> = slice.values.iter().map(i32::to_string).collect();
            self.verbatim(
                corrected,
                &format!("{name}  {}{}", values.join("  "), if slice.more { "  …" } else { "" }),
            );
        }
        if !cause.advice.is_empty() {
            self.verbatim("write", &cause.advice);
        }
        if let Some(unsure) = &cause.unsure {
            self.line("unsure", unsure);
        }
        for other in &cause.others {
            self.line("or", &format!("{} ({})", other.sentence, other.behind));
        }
        self.out += "\n";
    }

    /// An array where it is wrong, its marks, and the same entries corrected: column under column.
    fn slices(&mut self, found: &Slice, correct: Option<&Slice>, label: &str) {
        let name = label_of(found);
        let corrected = correct.map(|slice| slice.values.as_slice()).unwrap_or_default();
        let columns = found.values.len().max(corrected.len());
        let text = |values: &[i32], column: usize| values.get(column).map(i32::to_string).unwrap_or_default();
        let width = |column: usize| text(&found.values, column).len().max(text(corrected, column).len());
        let row = |values: &[i32], more: bool| {
            let cells: Vec<String> = (0..columns)
                .map(|column| format!("{:>w$}", text(values, column), w = width(column)))
                .collect();
            format!("{}{}", cells.join("  "), if more { "  …" } else { "" })
        };
        self.verbatim("found", &format!("{name}  {}", row(&found.values, found.more)));
        if !found.marked.is_empty() {
            let mark = |column: usize| {
                let cell = if found.marked.contains(&column) {
                    "^".repeat(text(&found.values, column).len())
                } else {
                    String::new()
                };
                format!("{cell:>w$}", w = width(column))
            };
            let marks: Vec<String> = (0..columns).map(mark).collect();
            let marks = self.paint("1;31", marks.join("  ").trim_end());
            self.verbatim("", &format!("{:w$}  {marks}", "", w = name.chars().count()));
        }
        if let Some(slice) = correct {
            let line = self.paint("32", &row(&slice.values, slice.more));
            self.verbatim(label, &format!("{name}  {line}"));
        }
    }

    fn rules(&mut self, diagnosis: &Diagnosis) {
        let broken = diagnosis.broken.len();
        let mut parts = vec![format!("{broken} broken, {} kept", diagnosis.kept)];
        let count = |wants: &str| diagnosis.unjudged.iter().filter(|rule| rule.wants == wants).count();
        for operand in wanted(diagnosis) {
            parts.push(format!("{} need the shape of {operand}", count(operand)));
        }
        if count(VALUES) > 0 {
            parts.push(format!("{} are about values, which --run and --save look at", count(VALUES)));
        }
        self.line("rules", &parts.join("; "));
        for rule in diagnosis.broken.iter().take(MAX_RULES) {
            self.rule(rule);
        }
        if broken > MAX_RULES {
            self.line("", &format!("… and {} more rules", broken - MAX_RULES));
        }
    }

    fn rule(&mut self, rule: &BrokenRule) {
        let first = rule.places.first().map_or("", String::as_str);
        let more = if rule.count > 1 { format!("; {} more times", rule.count - 1) } else { String::new() };
        let more = more.replace("; 1 more times", "; once more");
        self.line("broken", &format!("{} ({}): {first}{more}", rule.id, rule.standing));
        if let Some(effect) = &rule.effect {
            self.line("", &format!("effect: {effect}"));
        }
    }

    fn fix(&mut self, diagnosis: &Diagnosis) {
        if diagnosis.causes.is_empty() {
            return;
        }
        let fix = &diagnosis.fix;
        let text = match (&fix.written, &fix.reason, fix.unambiguous) {
            (Some(path), _, _) => format!("written to {path}"),
            (None, Some(reason), _)
                if diagnosis.causes.iter().any(|cause| cause.unsure.as_ref() == Some(reason)) =>
            {
                "--fix refuses, for the reason above".to_owned()
            }
            (None, Some(reason), _) => format!("--fix refuses: {reason}"),
            (None, None, _) => "--fix OUT.npz writes the corrected batch".to_owned(),
        };
        self.line("fix", &text);
    }
}

/// `cu_q_lens`, `cu_q_lens[12:]`, `page_indices[3, 0:]`.
fn label_of(slice: &Slice) -> String {
    match slice.start.as_slice() {
        [] | [0] => slice.array.clone(),
        [rows @ .., start] => {
            let rows: String = rows.iter().map(|row| format!("{row}, ")).collect();
            format!("{}[{rows}{start}:]", slice.array)
        }
    }
}

/// Words in lines of at most `width` columns.
fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let last = lines.len() - 1;
        let line = &mut lines[last];
        if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > width {
            lines.push(word.to_owned());
        } else {
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    lines
}
