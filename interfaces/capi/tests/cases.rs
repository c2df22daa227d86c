//! Prints the calls, and their results, that `oracle.c` makes on 1 to so many ranks.

#[path = "../../../tests/common/cases.rs"]
mod cases;

fn main() {
    let most = std::env::args().nth(1).map_or(16, |it| it.parse().expect("a number of ranks"));
    print!("{}", cases::cases(1..=most));
}
