//! `--shard`: a part of a campaign, which part it is, and the file that it leaves behind.
//!
//! Invariant: a shard is only ever of a fixed number of cases, so that all shards together are that many cases and no other.

use std::fs;
use std::path::Path;

use countersign_kernels::Variant;
use countersign_kernels::catalogue::VariantText;
use sha2::{Digest, Sha256};

use super::console::{Failure, print};
use crate::campaign::{self, Plan, SHARD_VERSION, Shard, ShardFile, Subject as _, Totals};
use crate::known::KnownFile;
use crate::loaded::Loaded;

/// The file's name within a run's folder.
pub(super) const NAME: &str = "shard.json";

/// `--shard`, `--shards`.
#[derive(Debug, Clone, clap::Args)]
pub(super) struct ShardArgument {
    /// Run part I of N of the --cases only, counted from 0; `countersign merge` makes one report of all parts.
    #[arg(long, value_name = "I/N", conflicts_with_all = ["static_side", "json", "shards"], requires = "cases")]
    shard: Option<Shard>,
    /// Run one of N parts: which one is JOB_COMPLETION_INDEX, as Kubernetes sets it in the pods of an Indexed Job.
    #[arg(long, value_name = "N", env = "COUNTERSIGN_SHARDS", conflicts_with_all = ["static_side", "json"], requires = "cases")]
    shards: Option<u64>,
}

impl ShardArgument {
    /// The part to run, if it is one.
    pub(super) fn shard(&self) -> Result<Option<Shard>, Failure> {
        let Some(count) = self.shards else { return Ok(self.shard) };
        let help = "--shards reads the environment of a Kubernetes Indexed Job; elsewhere name the part: --shard 0/4";
        let index = std::env::var("JOB_COMPLETION_INDEX")
            .map_err(|_| Failure::new("--shards: JOB_COMPLETION_INDEX isn't set", help))?;
        let index = index.parse().map_err(|_| {
            Failure::new(format!("JOB_COMPLETION_INDEX is `{index}`, which is no number"), help)
        })?;
        Shard::new(index, count).map(Some).map_err(|why| Failure::new(why, help))
    }
}

/// By which two known files are the same.
pub(super) fn known_hash(known: &KnownFile) -> String {
    Sha256::digest(format!("{known:?}")).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// What a shard leaves behind; `variants` are as they were asked for.
pub(super) fn file(
    (shard, loaded, variants): (Shard, &Loaded, &[Variant]),
    plan: &Plan<'_>,
    totals: &Totals,
    interrupted: bool,
    seconds: f64,
) -> ShardFile {
    ShardFile {
        version: SHARD_VERSION,
        tool: campaign::tool(),
        shard,
        kernel: loaded.kernel().id.clone(),
        source_hash: loaded.report(&[]).source_hash,
        variants: variants.iter().map(VariantText::from).collect(),
        seed: plan.seed,
        cases: plan.cases.unwrap_or(totals.cases),
        only: plan.only.map(|keeping| keeping.name().to_owned()),
        profile: plan.policy.profile.name.to_owned(),
        orders: plan.policy.orders,
        known: known_hash(plan.known),
        interrupted,
        seconds,
        jobs: plan.jobs,
        totals: totals.clone(),
        findings: ShardFile::seen(totals),
    }
}

/// Writes it; 0, or 3 if the shard didn't come to its end. What it found is judged where the shards are merged.
pub(super) fn write(out: &Path, file: &ShardFile) -> Result<u8, Failure> {
    let path = out.join(NAME);
    let text =
        serde_json::to_string(file).map_err(|error| Failure::new(error.to_string(), "please report this"))?;
    campaign::write_whole(&path, text.as_bytes()).map_err(|error| Failure::file(&path, error))?;
    let end = if file.interrupted { "; interrupted, so it can't be merged: run it again" } else { "" };
    print(&format!(
        "shard {}: {} cases in {:.1} s, {} distinct findings{end}\n{}\n",
        file.shard,
        file.totals.cases,
        file.seconds,
        file.findings.len(),
        path.display()
    ))?;
    Ok(if file.interrupted { 3 } else { 0 })
}

/// Reads the file of a run's folder.
pub(super) fn read(folder: &Path) -> Result<ShardFile, Failure> {
    let path = folder.join(NAME);
    let text = fs::read_to_string(&path).map_err(|error| {
        Failure::new(
            format!("{}: {error}", path.display()),
            "merge takes the folders of `countersign fuzz --shard`",
        )
    })?;
    let file: ShardFile = serde_json::from_str(&text).map_err(|error| {
        Failure::new(format!("{}: {error}", path.display()), "run that shard again with this version")
    })?;
    if file.version == SHARD_VERSION {
        Ok(file)
    } else {
        let message =
            format!("{}: of form {}, and this program reads {SHARD_VERSION}", path.display(), file.version);
        Err(Failure::new(message, "merge with the version that ran the shards"))
    }
}
