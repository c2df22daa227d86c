//! Programs as build systems make them: by a plain compiler, and by the wrappers.

use crate::common::{
    CC, CXX, FORT, RUN, compile, directory, fail_to_run, has, say_skipped, source, succeed, text,
};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A command that must end well; gives its output.
fn must(command: &mut Command) -> String {
    let output = command.output().expect("it runs");
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{command:?}: {out}{err}");
    out + &err
}

fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

fn show(wrapper: &str, option: &str) -> String {
    must(Command::new(wrapper).arg(option)).trim().to_owned()
}

/// A folder with the programs by the names of other MPIs, as `install` makes it.
fn plain_names(name: &str) -> PathBuf {
    let at = directory(name);
    std::fs::create_dir_all(at.join("bin")).expect("ours");
    for (name, program) in
        [("mpicc", CC), ("mpicxx", CXX), ("mpic++", CXX), ("mpif90", FORT), ("mpiexec", RUN)]
    {
        let link = at.join("bin").join(name);
        let _ = std::fs::remove_file(&link);
        std::os::unix::fs::symlink(program, &link).expect("ours");
    }
    at
}

/// By itself, and on three ranks: the program of builds/main.c.
fn runs_c(program: &Path) {
    let name = program.display();
    for (ranks, options) in [(1, &["-n", "5"][..]), (3, &["-a", "-b", "-n", "9"])] {
        let out = succeed(ranks, program, options);
        for rank in 0..ranks {
            let option = options.last().expect("one");
            let line = format!("rank {rank} of {ranks}: 4 words, option {option}, private");
            assert!(out.lines().any(|it| it == line), "{name}: {line}: {out}");
        }
    }
    let alone = must(Command::new(program).args(["-n", "4"]));
    assert_eq!(alone, "rank 0 of 1: 4 words, option 4, private\n", "{name}");
}

fn runs_cxx(program: &Path) {
    let out = succeed(3, program, &[]);
    for line in ["rank 0 has 7, all have 24", "rank 2 has 9, all have 24"] {
        assert!(out.lines().any(|it| it == line), "{}: {line}: {out}", program.display());
    }
    assert_eq!(must(&mut Command::new(program)), "rank 0 has 7, all have 7\n");
}

fn runs_fortran(program: &Path) {
    let out = succeed(3, program, &[]);
    for line in ["rank 0 has 24 and 24", "rank 2 has 24 and 24"] {
        assert!(out.lines().any(|it| it == line), "{}: {line}: {out}", program.display());
    }
    assert_eq!(must(&mut Command::new(program)), "rank 0 has 7 and 7\n");
}

/// With each linker: a plain compiler makes an executable and a library, the wrapper a program.
#[test]
fn each_linker_links_programs() {
    if !has("cc") {
        return;
    }
    for linker in ["bfd", "gold", "lld", "mold"] {
        if !has(&format!("ld.{linker}")) {
            continue;
        }
        let at = directory(&format!("linker-{linker}"));
        let (own, link) = (format!("-fuse-ld={linker}"), words(&show(CC, "-showme:link")));
        let include = show(CC, "-showme:incdirs");
        let count = source("builds/count.c");
        for (compiler, pic, libraries) in [("cc", "-O1", &link[..]), (CC, "-O1", &[])] {
            let is_plain = compiler == "cc";
            let shared = at.join("libshared.so");
            must(
                Command::new(compiler)
                    .args(["-shared", "-fPIC", "-DCOUNT=shared_count", &own, "-I", &include])
                    .arg(&count)
                    .args(libraries)
                    .arg("-o")
                    .arg(&shared),
            );
            let object = at.join("fixed.o");
            must(
                Command::new(compiler)
                    .args(["-c", pic, "-DCOUNT=fixed_count", "-I", &include])
                    .arg(&count)
                    .arg("-o")
                    .arg(&object),
            );
            let program = at.join(if is_plain { "plain" } else { "wrapped" });
            must(
                Command::new(compiler)
                    .args(["-g", pic, &own, "-I", &include])
                    .args([&source("builds/main.c"), &object, &shared])
                    .arg(format!("-Wl,-rpath,{}", at.display()))
                    .args(libraries)
                    .args(["-lpthread", "-o"])
                    .arg(&program),
            );
            runs_c(&program);
        }
    }
}

#[test]
fn cmake_finds_mpi_in_each_usual_way() {
    if !has("cmake") || !has("c++") || !has("gfortran") || !has("make") {
        return;
    }
    let named = plain_names("names");
    let set = |name: &str, value: &str| format!("-D{name}={value}");
    let in_folder = named.join("bin/mpiexec").display().to_string();
    let by_variables = [
        set("MPI_C_COMPILER", CC),
        set("MPI_CXX_COMPILER", CXX),
        set("MPI_Fortran_COMPILER", FORT),
        set("MPIEXEC_EXECUTABLE", RUN),
    ];
    let wrapped = [
        set("CMAKE_C_COMPILER", CC),
        set("CMAKE_CXX_COMPILER", CXX),
        set("CMAKE_Fortran_COMPILER", FORT),
        set("MPI_HOME", &named.display().to_string()),
    ];
    let home = [set("MPI_HOME", &named.display().to_string())];
    for (way, options, launcher) in [
        ("variables", &by_variables[..], RUN),
        ("wrappers", &wrapped, &in_folder),
        ("home", &home, &in_folder),
    ] {
        for code in ["OFF", "ON"] {
            let at = directory(&format!("cmake-{way}-{code}"));
            let _ = std::fs::remove_dir_all(&at);
            let told = must(
                Command::new("cmake")
                    .arg("-S")
                    .arg(source("builds"))
                    .arg("-B")
                    .arg(&at)
                    .args(options)
                    .arg(format!("-DCMAKE_POSITION_INDEPENDENT_CODE={code}"))
                    .env_remove("MPI_HOME"),
            );
            assert!(told.contains(&format!("mpiexec: {launcher}")), "{way}: {told}");
            must(Command::new("make").arg("-C").arg(&at));
            runs_c(&at.join("main_c"));
            runs_cxx(&at.join("main_cxx"));
            runs_fortran(&at.join("main_fortran"));
        }
    }
}

#[test]
fn meson_finds_mpi() {
    if !has("meson") || !has("ninja") || !has("c++") {
        return;
    }
    let home = show(CC, "-showme:libdirs");
    let packages = format!("{home}/pkgconfig");
    let (names, path) = (plain_names("names"), std::env::var("PATH").unwrap_or_default());
    let path = format!("{}:{path}", names.join("bin").display());
    for (way, option) in [
        ("pkg-config", &["-Dmpi=phalanx-mpi"][..]),
        ("open-mpi", &["-Dmpi=mpi"]),
        ("tool", &["-Dmpi=mpi", "-Dmethod=config-tool"]),
    ] {
        if way != "tool" && !has("pkg-config") {
            continue;
        }
        let at = directory(&format!("meson-{way}"));
        let _ = std::fs::remove_dir_all(&at);
        must(
            Command::new("meson")
                .args(["setup"])
                .args(option)
                .arg(&at)
                .arg(source("builds"))
                .env("PKG_CONFIG_PATH", &packages)
                .envs([("MPICC", "mpicc"), ("PATH", &path)]),
        );
        must(Command::new("ninja").arg("-C").arg(&at));
        runs_c(&at.join("main_c"));
        runs_cxx(&at.join("main_cxx"));
    }
}

#[test]
fn configure_finds_mpi() {
    if !has("autoconf") || !has("make") || !has("cc") {
        return;
    }
    let include = format!("-I{}", show(CC, "-showme:incdirs"));
    let link = show(CC, "-showme:link");
    let by_flags =
        [format!("CPPFLAGS={include}"), format!("LDFLAGS={}", link.replace(" -lmpi_abi", ""))];
    for (way, variables) in [("wrapper", &[format!("CC={CC}")][..]), ("flags", &by_flags)] {
        let at = directory(&format!("configure-{way}"));
        let _ = std::fs::remove_dir_all(&at);
        std::fs::create_dir_all(at.join("build")).expect("ours");
        for file in ["configure.ac", "Makefile.in", "main.c", "count.c"] {
            std::fs::copy(source("builds").join(file), at.join(file)).expect("ours");
        }
        must(Command::new("autoconf").current_dir(&at));
        let build = at.join("build");
        must(Command::new("../configure").args(variables).current_dir(&build));
        must(Command::new("make").current_dir(&build));
        runs_c(&build.join("main_c"));
    }
}

/// A program that cannot run on threads is refused when it starts, with advice.
#[test]
fn what_is_linked_wrongly_is_refused_in_words() {
    if !has("cc") {
        return;
    }
    let at = directory("wrongly");
    let (include, link) = (show(CC, "-showme:incdirs"), words(&show(CC, "-showme:link")));
    let home = show(CC, "-showme:libdirs");
    let write = |name: &str, text: &str| {
        std::fs::write(at.join(name), text).expect("ours");
        at.join(name)
    };
    let head = "#include <mpi.h>\n";
    let body = "int main(int c, char **v) { MPI_Init(&c, &v); USE; MPI_Finalize(); return 0; }\n";
    let program = |name: &str, before: &str, options: &[&str], last: &[String]| {
        let file = write(&format!("{name}.c"), &format!("{head}{before}\n{body}"));
        let to = at.join(name);
        let mut compiler = Command::new("cc");
        compiler.arg(file).args(["-I", &include]).args(options).args(last).arg("-o").arg(&to);
        must(compiler.current_dir(&at));
        to
    };
    let use_nothing = "-DUSE=(void)0";
    // At one address only.
    let it = program("fixed", "", &["-no-pie", "-fno-pie", use_nothing], &link);
    fail_to_run(
        &it,
        1,
        &["fixed: an executable that can lie at one address only", "phalanx-mpicc"],
    );
    // Without the library's companion for executables.
    let bare = [format!("-L{home}"), "-l:libmpi_abi.so.0".to_owned()];
    let it = program("bare", "", &[use_nothing], &bare);
    fail_to_run(&it, 1, &["it has no beginning for a rank", "-lmpi_abi"]);
    // More thread-local variables than the launcher has room for.
    let it = program("large", "__thread char here[1 << 20];", &["-DUSE=here[c]=1"], &link);
    fail_to_run(&it, 1, &["bytes of thread-local variables", "-fPIC"]);
    // A variable of a library that the executable has for itself.
    let file = write("variable.c", "int of_library = 3;\n");
    must(
        Command::new("cc")
            .args(["-shared", "-fPIC", "-Wl,-soname,libvariable.so", "-o", "libvariable.so"])
            .arg(file)
            .current_dir(&at),
    );
    let own = format!("-Wl,-rpath,{}", at.display());
    let last: Vec<String> = words(&format!("-L. -lvariable {own} {}", link.join(" ")));
    let plain = ["-fPIE", "-pie", "-DUSE=of_library++"];
    let it = program("copied", "extern int of_library;", &plain, &last);
    fail_to_run(&it, 1, &["a variable of libvariable.so for itself, of_library", "-fPIC"]);
    // Another MPI's library: of the program, and of one of its libraries.
    let empty = write("other.c", "int other;\nint MPI_Other(void) { return other; }\n");
    let make = |options: &[&str]| {
        let mut compiler = Command::new("cc");
        compiler.args(["-shared", "-fPIC", "-w"]).args(options).current_dir(&at);
        must(&mut compiler);
    };
    let empty = empty.display().to_string();
    make(&[&empty, "-Wl,-soname,libmpi.so.40", "-o", "libmpi.so.40"]);
    let user = "extern int MPI_Other(void); int uses(void) { return MPI_Other(); }\n";
    let user = write("user.c", user).display().to_string();
    make(&[&user, "libmpi.so.40", "-Wl,-soname,libuser.so", "-o", "libuser.so"]);
    for (name, library) in [("other", "libmpi.so.40"), ("second", "libuser.so")] {
        let body = "int MPI_Other(void), uses(void);\nint main(void) {\n#ifdef SECOND\n\
                    return uses();\n#else\nreturn MPI_Other();\n#endif\n}\n";
        let file = write(&format!("{name}_main.c"), body);
        let to = at.join(name);
        let second = if name == "second" { "-DSECOND" } else { "-DFIRST" };
        must(
            Command::new("cc")
                .arg(file)
                .args([second, library, &own, "-Wl,--allow-shlib-undefined", "-o"])
                .arg(&to)
                .current_dir(&at),
        );
        fail_to_run(&to, 1, &["is linked with libmpi.so.40, of Open MPI", "phalanx-mpicc"]);
    }
}

/// The dynamic linker knows a copy by a number; the text has the file's name.
#[test]
fn a_missing_symbol_names_the_library() {
    if !has("cc") {
        return;
    }
    let at = directory("missing");
    let file = at.join("lacks.c");
    std::fs::write(&file, "extern int nowhere(void); int lacks(void) { return nowhere(); }\n")
        .expect("ours");
    must(Command::new(CC).args(["-shared", "-o", "liblacks.so"]).arg(&file).current_dir(&at));
    let main = at.join("main.c");
    let body = "#include <mpi.h>\nint lacks(void);\nint main(int c, char **v) \
                { MPI_Init(&c, &v); if (c > 5) lacks(); MPI_Finalize(); return 0; }\n";
    std::fs::write(&main, body).expect("ours");
    let program = at.join("main");
    must(
        Command::new(CC)
            .arg(&main)
            .args(["-L.", "-llacks", "-Wl,-rpath,.", "-Wl,--allow-shlib-undefined", "-o"])
            .arg(&program)
            .current_dir(&at),
    );
    let output = Command::new(RUN)
        .args(["-n", "2"])
        .arg(&program)
        .current_dir(&at)
        .output()
        .expect("the launcher runs");
    let err = text(&output.stderr);
    assert!(!output.status.success(), "{err}");
    assert!(err.contains("liblacks.so: undefined symbol: nowhere"), "{err}");
    assert!(!err.contains("/proc/"), "{err}");
}

/// Rank by rank the same: linked as a shared object, and as an executable.
#[test]
fn an_executable_has_what_a_wrappers_program_has() {
    if !has("c++") {
        return;
    }
    let (include, link) = (show(CXX, "-showme:incdirs"), words(&show(CXX, "-showme:link")));
    let at = directory("as_wrapped");
    for (file, compiler, words) in [("unique.cc", "c++", "private\n"), ("omp.c", "cc", "0 wrong\n")]
    {
        let program = at.join(file.replace('.', "_"));
        must(
            Command::new(compiler)
                .args(["-g", "-O1", "-fopenmp", "-I", &include])
                .arg(source(file))
                .args(&link)
                .arg("-o")
                .arg(&program),
        );
        assert_eq!(succeed(3, &program, &[]), words);
    }
    let wrapped = compile(CXX, "unique.cc", &[]);
    assert_eq!(succeed(3, &wrapped, &[]), "private\n");
}

/// `-x` names the language of the sources: the wrapper's own objects, after them, are in none.
#[test]
fn a_source_comes_by_standard_input_in_a_named_language() {
    if !has("c++") {
        return;
    }
    let at = directory("named_language");
    for (wrapper, file, named) in [
        (CC, "hello.c", &["-x", "c"][..]),
        (CC, "hello.c", &["-xc"]),
        (CXX, "unique.cc", &["-xc++"]),
    ] {
        let program = at.join(named.concat());
        let input = std::fs::File::open(source(file)).expect("ours");
        must(Command::new(wrapper).args(named).arg("-").arg("-o").arg(&program).stdin(input));
        let out = succeed(3, &program, &[]);
        assert!(out.contains("hello from 2 of 3") || out == "private\n", "{named:?}: {out}");
    }
}

/// Cargo hands on the library's name and its directory, and no other option of the link.
#[test]
fn rustc_links_programs() {
    if !has("rustc") {
        return;
    }
    let program = directory("rustc").join("main");
    must(
        Command::new("rustc")
            .args(["--edition", "2024", "-O", "-L", &show(CC, "-showme:libdirs"), "-l", "mpi_abi"])
            .arg(source("builds/main.rs"))
            .arg("-o")
            .arg(&program),
    );
    let out = succeed(3, &program, &[]);
    for line in ["rank 0 has 7, all have 24, a thread 7", "rank 2 has 9, all have 24, a thread 7"] {
        assert!(out.lines().any(|it| it == line), "{line}: {out}");
    }
}

/// rsmpi, the crate `mpi`, as a stranger builds it. It takes a minute or two: bindgen, libffi.
#[test]
#[ignore = "brings and builds other crates; by .ci/night"]
fn cargo_builds_a_program_of_rsmpi() {
    if !has("cc") || !has("cargo") {
        return;
    }
    let at = directory("rsmpi");
    let package = "[package]\nname = \"program\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\
        [workspace]\n[[bin]]\nname = \"program\"\npath = \"main.rs\"\n\
        [dependencies]\nmpi = { version = \"=0.8.2\", features = [\"derive\"] }\n";
    std::fs::write(at.join("Cargo.toml"), package).expect("ours");
    std::fs::copy(source("builds/rsmpi.rs"), at.join("main.rs")).expect("ours");
    let cargo = |command: &str| {
        Command::new("cargo")
            .args([command, "--manifest-path"])
            .arg(at.join("Cargo.toml"))
            .env("MPICC", CC)
            .env("CARGO_TARGET_DIR", at.join("target"))
            .output()
            .expect("cargo is there")
    };
    let brought = cargo("fetch");
    if !brought.status.success() {
        let why = text(&brought.stderr);
        say_skipped(&format!("rsmpi cannot be brought: {}", why.lines().last().unwrap_or("")));
        return;
    }
    let built = cargo("build");
    let why = text(&built.stderr);
    if why.contains("Unable to find libclang") {
        say_skipped("rsmpi: libclang is not installed");
        return;
    }
    assert!(built.status.success(), "{why}");
    let program = at.join("target/debug/program");
    for ranks in [1, 2, 3, 5] {
        let out = succeed(ranks, &program, &[]);
        let sum = ranks * 7 + ranks * (ranks - 1) / 2;
        for rank in 0..ranks {
            let half = (ranks + 1 - rank % 2) / 2;
            let line = format!(
                "rank {rank} has {}, all have {sum}, the largest {}, {half} in its half",
                rank + 7,
                ranks + 6
            );
            assert!(out.lines().any(|it| it == line), "{line}: {out}");
        }
    }
}
