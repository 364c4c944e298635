//! `signoff` from the command line, on one variant and a corpus of one case.
//!
//! Invariant: with so small a corpus no open gap is shown, so the verdict is refused for its waivers, and for nothing else.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use countersign::compile::{self, KnownRefusals};
use countersign::corpus::builtin;
use countersign::known::KnownFile;
use countersign::signoff::claims::{Evidence, Measure, judge};
use countersign::signoff::policy::Policy;
use countersign::signoff::verify::{contradictions, hashes};
use countersign_kernels::catalogue::Catalogue;
use countersign_kernels::compile::{Compilation, Stage};
use countersign_kernels::export::Refusal;
use countersign_kernels::{Generation, Variant};
use countersign_reports::{
    COMPILED_VERSION, CompileReport, CompileVerdict, CompiledCell, CompiledRow, Signoff, Standing,
    VariantReport, Verdict, signoff_from_json, signoff_to_json,
};

const VARIANT: &str = "bf16-q4-kv4";

fn countersign(folder: &Path, arguments: &[&str]) -> Output {
    crate::real();
    Command::new(env!("CARGO_BIN_EXE_countersign")).current_dir(folder).args(arguments).output().unwrap()
}

fn text(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// A folder with a policy, whose misses need no reason, and a corpus.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("policy.toml"), include_str!("signoff.policy.toml")).unwrap();
    fs::create_dir(folder.path().join("corpus")).unwrap();
    let (_, case) = builtin().iter().find(|(name, _)| name.ends_with("seeds/decode-only.toml")).unwrap();
    fs::write(folder.path().join("corpus/decode-only.toml"), case).unwrap();
    folder
}

fn sign(folder: &Path, out: &str, more: &[&str]) -> (Output, Signoff) {
    let arguments =
        ["signoff", "--variant", VARIANT, "--policy", "policy.toml", "--corpus", "corpus", "--out", out];
    let output = countersign(folder, &[&arguments, more].concat());
    let json = fs::read_to_string(folder.join(out).join("signoff.json"));
    let json = json.unwrap_or_else(|error| panic!("{error}: {}", text(&output)));
    (output, signoff_from_json(&json).unwrap())
}

fn standing(signoff: &Signoff, id: &str) -> Standing {
    signoff.claims.iter().find(|claim| claim.id == id).unwrap().standing
}

#[test]
fn it_is_signed_again_from_what_was_stored_and_verified() {
    let folder = folder();
    let (output, first) = sign(folder.path(), "out", &["--jobs", "1"]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output));
    for met in ["regressions", "findings", "precision", "controls", "relations", "complete"] {
        assert_eq!(standing(&first, met), Standing::Met, "{met}: {}", text(&output));
    }
    assert!(first.refused.contains(&"waivers".to_owned()), "{}", text(&output));
    assert_eq!(first.mutation, None, "refused already");

    let (output, again) = sign(folder.path(), "out", &["--jobs", "2"]);
    assert!(text(&output).contains("campaign: as it was made before"), "{}", text(&output));
    assert_eq!(again.campaign, first.campaign);
    let (_, fresh) = sign(folder.path(), "fresh", &["--jobs", "2"]);
    assert_eq!(Signoff { timing: first.timing.clone(), ..fresh }, first);

    let verify = ["signoff", "verify", "out/signoff.json", "--corpus", "corpus"];
    let output = countersign(folder.path(), &verify);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
    assert!(text(&output).contains("verified (it says refused)"), "{}", text(&output));

    let path = folder.path().join("out/signoff.json");
    let json = fs::read_to_string(&path).unwrap();
    let changed = json.replacen("\"kept\": ", "\"kept\": 1", 1);
    assert_ne!(changed, json);
    fs::write(&path, changed).unwrap();
    let output = countersign(folder.path(), &verify);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output));
    assert!(text(&output).contains("isn't what its hash says"), "{}", text(&output));
}

#[test]
fn a_planted_fault_is_refused_for_what_it_shows() {
    let folder = folder();
    // A predicate of the kernel's waits turned round.
    let mutant = format!("{VARIANT}:negate:132:0");
    let (output, signoff) = sign(folder.path(), "out", &["--mutant", &mutant]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output));
    assert_eq!((signoff.verdict, &signoff.mutant), (Verdict::Refused, &Some(mutant)));
    for failed in ["findings", "controls"] {
        assert_eq!(standing(&signoff, failed), Standing::Failed, "{}", text(&output));
    }
    assert!(!signoff.campaign.report.findings.is_empty());
}

/// Five faults put into the IR and a release with bugs that were mended since, judged by the policy that comes with the program over all
/// small variants.
#[test]
#[ignore = "a quarter of an hour, and an environment of jax 0.6.0"]
fn mutants_and_a_release_with_bugs_are_refused_by_name_of_the_claim() {
    let folder = tempfile::tempdir().unwrap();
    let mutants = [
        "bf16-f8e4m3fn-q32-kv32:side:25:0",
        "bf16-i4-q8-kv4-scales-window-cap:and-or:1657:0",
        "f32-q8-kv4:narrow:486:0",
        "f32-q3-kv1-long:negate:602:0",
        "bf16-q4-kv4:negate:132:0",
    ];
    let called =
        mutants.map(|mutant| ["--mutant", mutant]).into_iter().chain([["--kernel", "jax-rpa@0.6.0"]]);
    for (place, arguments) in called.enumerate() {
        let out = place.to_string();
        let output = countersign(folder.path(), &[&["signoff", "--out", &out][..], &arguments].concat());
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {}", text(&output));
        let json = fs::read_to_string(folder.path().join(&out).join("signoff.json")).unwrap();
        let signoff = signoff_from_json(&json).unwrap();
        assert_eq!(signoff.verdict, Verdict::Refused, "{arguments:?}");
        assert!(signoff.refused.contains(&"findings".to_owned()), "{arguments:?}: {:?}", signoff.refused);
        let said = text(&output);
        let verdict = said.lines().find(|line| line.contains(": refused for ")).unwrap_or_default();
        println!("{arguments:?} {verdict}");
        assert!(signoff.refused.iter().all(|claim| verdict.contains(claim)), "{arguments:?}: {said}");
    }
}

#[test]
fn wrong_words_are_errors() {
    let folder = folder();
    for (arguments, word) in [
        (&["signoff", "--mutant", "nonsense"][..], "VARIANT:OPERATOR:OP:PLACE"),
        (&["signoff", "--policy", "corpus/decode-only.toml"][..], "decode-only.toml: line"),
        (&["signoff", "verify", "policy.toml"][..], "policy.toml"),
        (&["signoff", "verify", "nowhere.json"][..], "nowhere.json"),
    ] {
        let output = countersign(folder.path(), arguments);
        assert_eq!(output.status.code(), Some(2), "{}", text(&output));
        assert!(text(&output).contains(word), "{}", text(&output));
    }
}

#[test]
fn the_published_one_is_whole() {
    let json = include_str!("../../../reports/published/jax-rpa-0.10.2-signoff.json");
    let signoff = signoff_from_json(json).unwrap();
    assert_eq!(signoff_to_json(&signoff).unwrap(), json);
    assert_eq!(hashes(&signoff).unwrap(), signoff.hashes);
    assert_eq!((signoff.verdict, signoff.refused.len()), (Verdict::SignedWithWaivers, 0));
    assert!(signoff.mutation.as_ref().unwrap().score >= 0.95);

    // Any byte of the evidence counts: one in each part, and the verdict.
    let (policy, known) = (Policy::parse(&signoff.policy).unwrap(), KnownFile::builtin().unwrap());
    let (kernel, date) = (signoff.kernel.as_str(), signoff.timing.date.as_str());
    let refusals = KnownRefusals::builtin().unwrap();
    let measure = Measure { policy: &policy, known: &known, refusals: &refusals, kernel, date };
    for (from, to) in [
        ("\"outcome\": \"met\"", "\"outcome\": \"net\""),
        ("\"count\": 1", "\"count\": 2"),
        ("\"neither_ended\": 0", "\"neither_ended\": 1"),
        ("\"fate\": \"killed\"", "\"fate\": \"billed\""),
        ("\"vacuous\": ", "\"vacuous\": 1"),
    ] {
        let changed = json.replacen(from, to, 1);
        assert_ne!(changed, json, "{from}");
        let read = signoff_from_json(&changed).unwrap();
        let found = contradictions(&changed, &read, &measure).unwrap().join("\n");
        assert!(found.contains("isn't what its hash says"), "{from}: {found}");
    }
    let changed = json.replacen("\"verdict\": \"signed with waivers\"", "\"verdict\": \"signed\"", 1);
    let read = signoff_from_json(&changed).unwrap();
    let found = contradictions(&changed, &read, &measure).unwrap().join("\n");
    assert!(found.contains("verdict doesn't follow"), "{found}");
}

#[test]
fn what_the_tpu_compiler_refuses_is_waived_with_its_cause_or_refuses() {
    let json = include_str!("../../../reports/published/jax-rpa-0.10.2-signoff.json");
    let signoff = signoff_from_json(json).unwrap();
    let (policy, known) = (Policy::parse(&signoff.policy).unwrap(), KnownFile::builtin().unwrap());
    let refusals = KnownRefusals::builtin().unwrap();
    let (kernel, date) = (signoff.kernel.as_str(), signoff.timing.date.as_str());
    let measure = Measure { policy: &policy, known: &known, refusals: &refusals, kernel, date };
    let judged = |compiled: Option<&CompileReport>| {
        let evidence = Evidence {
            regressions: &signoff.regressions,
            campaign: &signoff.campaign,
            controls: &signoff.controls,
            relations: signoff.relations.as_ref(),
            mutation: signoff.mutation.as_ref(),
            compiled,
        };
        let judgement = judge(&measure, &evidence);
        let compile = judgement.claims.iter().find(|claim| claim.id == "compile").unwrap();
        let calls = judgement.waivers.iter().flat_map(|waiver| waiver.calls.clone());
        (compile.standing, judgement.verdict, calls.collect::<Vec<_>>())
    };

    let cell = |generation: Generation| CompiledCell {
        label: generation.name().to_owned(),
        verdict: CompileVerdict::Compiles,
        code_bytes: Some(1),
        overflow: None,
        message: None,
        cause: None,
    };
    let variants = &signoff.campaign.report.kernels[0].variants;
    let row = |variant: &VariantReport| CompiledRow {
        name: variant.name.clone(),
        cells: Generation::ALL.map(cell).to_vec(),
    };
    let whole = CompileReport {
        version: COMPILED_VERSION,
        tool: signoff.tool.clone(),
        kernel: signoff.kernel.clone(),
        packages: signoff.packages.clone(),
        compiler: "libtpu".to_owned(),
        generations: Generation::ALL.map(|generation| generation.name().to_owned()).to_vec(),
        variants: variants.iter().map(row).collect(),
        borders: Vec::new(),
    };
    let signed = Verdict::SignedWithWaivers;
    assert_eq!(judged(Some(&whole)), (Standing::Met, signed, Vec::new()));
    assert_eq!(judged(None), (Standing::NotMeasured, signed, Vec::new()));

    let mut partial = whole.clone();
    partial.variants.pop();
    assert_eq!(judged(Some(&partial)).0, Standing::NotMeasured);

    // A refusal with its explanation, with one that nobody gave, and with other words than those explained.
    let answer = Compilation::Refused {
        by: Stage::Compiler,
        refusal: Refusal {
            kind: "MosaicError".to_owned(),
            message: "Unsupported matmul RHS type on target".to_owned(),
            line: None,
            deliberate: false,
        },
        overflow: None,
    };
    let catalogue = Catalogue::builtin().unwrap();
    let entry = catalogue.kernel("jax-rpa").unwrap();
    let name = "f32-f8e4m3fn-q4-kv2-window";
    let variant = Variant { generation: Generation::V4, ..entry.variant(name).unwrap().clone() };
    let explained = compile::cell(entry, &variant, "v4", &answer, &refusals);
    let place = variants.iter().position(|variant| variant.name == name).unwrap();
    let with = |cell: CompiledCell| {
        let mut refused = whole.clone();
        refused.variants[place].cells[0] = cell;
        judged(Some(&refused))
    };
    assert_eq!(with(explained.clone()), (Standing::Met, signed, vec![format!("{name} on v4")]));
    for cell in [
        CompiledCell { cause: None, ..explained.clone() },
        CompiledCell { cause: Some("invented".to_owned()), ..explained.clone() },
        CompiledCell { message: Some("another".to_owned()), ..explained },
    ] {
        assert_eq!(with(cell), (Standing::Failed, Verdict::Refused, Vec::new()));
    }
}
