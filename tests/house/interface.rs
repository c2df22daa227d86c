//! Checks that what is tracked of C's interface is made from capi/interface.txt, and that the
//! package has as few lines by hand as was promised.

#[allow(dead_code)] // Rust's part is made by the package's build.
#[path = "../../capi/build/mod.rs"]
mod faces;

use super::style::{files, read};
use std::path::Path;

#[test]
fn what_users_of_c_get_is_made_from_the_table() {
    let folder = Path::new("capi");
    if !folder.exists() {
        return eprintln!("SKIPPED: not in the repository");
    }
    let made = faces::tracked_files(folder);
    assert_eq!(made.len(), 6);
    for (name, text) in made {
        let is_made = read(folder.join(&name)) == text;
        assert!(is_made, "capi/{name} is not made from capi/interface.txt: run capi/generate");
    }
}
