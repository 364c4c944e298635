//! The same campaign on one and on two threads, under two device profiles.

use countersign::campaign::{Plan, run};
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
