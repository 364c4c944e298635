//! The same campaign on one and on two threads.

use countersign::campaign::{Plan, run};
use countersign::known::KnownFile;

use crate::{Deaf, Kernel};

#[test]
fn a_campaign_is_the_same_on_any_number_of_threads() {
    let (kernel, known) = (Kernel::unedited(), KnownFile::builtin().unwrap());
    let [one, two] = [1, 2].map(|jobs| {
        let plan = Plan { seed: 11, cases: Some(300), jobs, only: None, known: &known };
        run(&kernel, &plan, &|| true, &mut Deaf)
    });
    assert_eq!(one.cases, 300);
    assert_eq!(one, two);
}
