//! `phalanx bench --type T` from outside, by the program of the type.

use std::process::{Command, Stdio};

/// The rows of a table, which must come out well.
fn rows(program: &str, args: &str) -> Vec<String> {
    let mut command = Command::new(program);
    let command = command.args(args.split_whitespace()).stdin(Stdio::null());
    let out = command.env("PHALANX_PROFILE", "").output().unwrap();
    let stderr = String::from_utf8_lossy(&out.stderr);
    assert!(out.status.success(), "{args}: {stderr}");
    String::from_utf8(out.stdout).unwrap().lines().skip(1).map(String::from).collect()
}

#[test]
fn types_and_operators_are_right() {
    for (program, ty, redop) in [
        (env!("CARGO_BIN_EXE_phalanx-bench-u8"), "u8", "sum"),
        (env!("CARGO_BIN_EXE_phalanx-bench-i32"), "i32", "min"),
        (env!("CARGO_BIN_EXE_phalanx-bench-u8"), "u8", "bxor"),
        (env!("CARGO_BIN_EXE_phalanx-bench-i32"), "i32", "lxor"),
        (env!("CARGO_BIN_EXE_phalanx-bench-u8"), "u8", "band"),
        (env!("CARGO_BIN_EXE_phalanx-bench-i32"), "i32", "bit-or"),
        (env!("CARGO_BIN_EXE_phalanx-bench-u8"), "u8", "and"),
        (env!("CARGO_BIN_EXE_phalanx-bench-i32"), "i32", "lor"),
        (env!("CARGO_BIN_EXE_phalanx-bench-f32"), "f32", "prod"),
        (env!("CARGO_BIN_EXE_phalanx-bench-i32"), "i32", "prod"),
    ] {
        let what = format!("bench -p 3 -t {ty} -r {redop} -b 72 -e 72 -n 2 --root all");
        let all = rows(program, &format!("{what} --format tsv"));
        assert!(all.len() > 10, "{ty} {redop}: {all:?}");
        for row in all.iter().filter(|row| !row.starts_with("barrier")) {
            let cells: Vec<&str> = row.split('\t').collect();
            assert_eq!((cells[2], cells[14]), (ty, "0"), "{redop}: {row}");
        }
    }
}

#[test]
fn what_is_of_another_program_is_refused() {
    for args in [&["bench", "-t", "f64"][..], &["machine"]] {
        let out =
            Command::new(env!("CARGO_BIN_EXE_phalanx-bench-i32")).args(args).output().unwrap();
        let stderr = String::from_utf8(out.stderr).unwrap();
        assert_eq!(out.status.code(), Some(2), "{stderr}");
        assert!(
            stderr.contains("bench --type i32 only") && stderr.lines().count() == 1,
            "{stderr}"
        );
    }
}
