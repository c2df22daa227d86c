//! Makes, from functions.txt, the header mpi.h, the shim libmpi_abi.so.0 and the runtime's table, and
//! compiles the C parts: the launcher's frame, and what each program is linked with.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

struct Function<'a> {
    is_there: bool,
    returns: &'a str,
    name: &'a str,
    /// As declared, and the names alone.
    parameters: &'a str,
    arguments: Vec<&'a str>,
}

fn parse(line: &str) -> Option<Function<'_>> {
    let (mark, rest) = line.split_at_checked(2)?;
    let is_there = match mark {
        "+ " => true,
        "- " => false,
        _ => return None,
    };
    let (returns, rest) = rest.split_once(' ')?;
    let (name, parameters) = rest.trim_end().strip_suffix(')')?.split_once('(')?;
    let mut arguments = Vec::new();
    if parameters != "void" {
        for parameter in parameters.split(", ").filter(|it| *it != "...") {
            let bare = parameter.split('[').next()?;
            arguments.push(bare.rsplit([' ', '*']).next()?);
        }
    }
    Some(Function { is_there, returns, name, parameters, arguments })
}

/// The types of a function's parameters, for the cast of the table's entry.
fn types(function: &Function<'_>) -> String {
    if function.parameters == "void" {
        return String::new();
    }
    let all = function.parameters.split(", ").filter(|it| *it != "...");
    all.map(|it| format!(", {it}")).collect()
}

fn shim(functions: &[Function<'_>]) -> String {
    let mut text = String::from(
        "#include <mpi.h>\n#include <stdlib.h>\n#include <unistd.h>\n\
         static const void *const *phx_table;\nstatic const void *phx_rank;\n\
         __attribute__((visibility(\"default\"))) void phalanx_bind(const void *const *t, const void *r)\n\
         { phx_table = t; phx_rank = r; }\n\
         static __attribute__((noreturn, cold, noinline)) void unbound(void) {\n\
         static const char text[] = \"phalanx: an MPI function was called outside a program that \"\n\
         \"phalanx-mpirun started\\n\";\n\
         ssize_t n = write(2, text, sizeof text - 1); (void)n; _Exit(1); }\n",
    );
    for (index, f) in functions.iter().enumerate() {
        let Function { returns, name, parameters, .. } = f;
        let given: String = f.arguments.iter().map(|it| format!(", {it}")).collect();
        let types = types(f);
        let line = format!(
            "{returns} PMPI_{name}({parameters}) {{ if (__builtin_expect(!phx_table, 0)) unbound(); \
             return (({returns}(*)(const void *, void *{types}))phx_table[{index}])(phx_rank, \
             __builtin_return_address(0){given}); }}\n\
             {returns} MPI_{name}({parameters}) __attribute__((weak, alias(\"PMPI_{name}\")));\n",
        );
        text.push_str(&line);
    }
    text
}

fn run(command: &mut Command) {
    let status = command.status().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(status.success(), "{command:?}: {status}");
}

fn write(path: &Path, text: &str) {
    fs::write(path, text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
}

fn main() {
    for watched in ["build.rs", "functions.txt", "include", "c"] {
        println!("cargo:rerun-if-changed={watched}");
    }
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("Cargo sets OUT_DIR"));
    let list = fs::read_to_string("functions.txt").expect("functions.txt is part of the package");
    let functions: Vec<Function<'_>> = list
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .map(|line| parse(line).unwrap_or_else(|| panic!("functions.txt: {line}")))
        .collect();

    let (mut declared, mut table) = (String::new(), String::new());
    for f in &functions {
        for prefix in ["MPI_", "PMPI_"] {
            let Function { returns, name, parameters, .. } = f;
            writeln!(declared, "{returns} {prefix}{name}({parameters});").expect("a String grows");
        }
        if f.is_there {
            writeln!(table, "Entry(api::{} as *const ()),", f.name).expect("a String grows");
        } else {
            writeln!(table, "Entry(absent!(\"{}\")),", f.name).expect("a String grows");
        }
    }
    let include = out.join("include");
    fs::create_dir_all(&include).expect("OUT_DIR can be written");
    let header = fs::read_to_string("include/mpi.h.in").expect("part of the package");
    write(&include.join("mpi.h"), &header.replace("/* @FUNCTIONS@ */", &declared));
    write(&out.join("shim.c"), &shim(&functions));
    write(&out.join("table.rs"), &format!("[\n{table}]"));

    cc::Build::new().file("c/frame.c").compile("phalanx_frame");
    // The program's own libraries find the launcher's `exit` before the C library's.
    println!("cargo:rustc-link-arg-bins=-Wl,--export-dynamic-symbol=exit");

    let compiler = cc::Build::new().get_compiler();
    let compile = || {
        let mut command = compiler.to_command();
        command.args(["-O2", "-g", "-fPIC", "-Wall", "-I"]).arg(&include);
        command
    };
    run(compile()
        .args(["-shared", "-Wl,-soname,libmpi_abi.so.0", "-o"])
        .arg(out.join("libmpi_abi.so.0"))
        .arg(out.join("shim.c")));
    let link = out.join("libmpi_abi.so");
    let _ = fs::remove_file(&link);
    std::os::unix::fs::symlink("libmpi_abi.so.0", &link).expect("OUT_DIR can be written");
    for part in ["entry", "priv"] {
        let source = format!("c/{part}.c");
        run(compile().arg("-c").arg(source).arg("-o").arg(out.join(format!("{part}.o"))));
    }
}
