//! The same campaign on one and on two threads, under two device profiles.

use countersign::campaign::{Plan, SHARD_VERSION, Shard, ShardFile, merge, run, run_shard};
use countersign::known::KnownFile;
use countersign_kernels::DeviceProfile;
use countersign_kernels::engine::Policy;

use crate::{Deaf, Kernel};

#[test]
fn a_campaign_is_the_same_on_any_number_of_threads() {
    let (kernel, known) = (Kernel::unedited(), KnownFile::builtin().unwrap());
    let profiles = ["exact", "v5e"].map(|name| DeviceProfile::named(name).unwrap());
    let [exact, v5e] = profiles.map(|profile| {
        let [one, two] = [1, 2].map(|jobs| {
            let policy = Policy::of(profile);
            let plan = Plan { seed: 11, cases: Some(200), jobs, only: None, policy, known: &known };
            run(&kernel, &plan, &|| true, &mut Deaf)
        });
        assert_eq!(one.cases, 200);
        assert_eq!(one, two);
        one
    });
    assert_ne!(exact.largest_right, v5e.largest_right, "a profile makes a difference");
}

/// Shards in any order, through their files, as one run.
#[test]
fn shards_merged_are_one_run() {
    let (kernel, known) = (Kernel::unedited(), KnownFile::builtin().unwrap());
    let plan =
        Plan { seed: 5, cases: Some(401), jobs: 2, only: None, policy: Policy::default(), known: &known };
    let whole = run(&kernel, &plan, &|| true, &mut Deaf);
    assert!(whole.findings.len() > 5 && whole.largest_right.is_some(), "nothing much is compared");
    let part = |index| {
        let shard = Shard::new(index, 3).unwrap();
        let totals = run_shard(&kernel, &plan, shard, &|| true, &mut Deaf);
        assert_eq!(totals.cases, shard.share(401));
        let file = ShardFile {
            version: SHARD_VERSION,
            tool: String::new(),
            shard,
            kernel: String::new(),
            source_hash: String::new(),
            variants: Vec::new(),
            seed: plan.seed,
            cases: 401,
            only: None,
            profile: String::new(),
            orders: false,
            known: String::new(),
            interrupted: false,
            seconds: 0.0,
            jobs: plan.jobs,
            findings: ShardFile::seen(&totals),
            totals,
        };
        serde_json::from_str(&serde_json::to_string(&file).unwrap()).unwrap()
    };
    let parts: Vec<ShardFile> = [2, 0, 1].map(part).into();
    assert_eq!(merge(&kernel, &plan, &parts).unwrap(), whole);
    assert_ne!(merge(&kernel, &plan, &parts[1..]).unwrap(), whole, "the comparison sees a missing shard");
}
