//! Programs as build systems make them: by a plain compiler, and by the wrappers.

use crate::common::*;

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

/// By itself, and on three ranks: a program that says these lines.
fn says(program: &Path, lines: &[&str], alone: &str) {
    let out = succeed(3, program, &[]);
    for line in lines {
        assert!(out.lines().any(|it| it == *line), "{}: {line}: {out}", program.display());
    }
    assert_eq!(must(&mut Command::new(program)).trim_end(), alone);
}

fn runs_cxx(program: &Path) {
    let lines = ["rank 0 has 7, all have 24", "rank 2 has 9, all have 24"];
    says(program, &lines, "rank 0 has 7, all have 7");
}

fn runs_fortran(program: &Path) {
    says(program, &["rank 0 has 24 and 24", "rank 2 has 24 and 24"], "rank 0 has 7 and 7");
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
        let with = format!("-fuse-ld={linker} -I {}", show(CC, "-showme:incdirs"));
        for (compiler, name, libraries) in
            [("cc", "plain", show(CC, "-showme:link")), (CC, "wrapped", String::new())]
        {
            let make = |line: &str| link(compiler, &at, &format!("{with} {line} {libraries}"));
            make("-shared -fPIC -DCOUNT=shared_count @builds/count.c -o libshared.so");
            make("-c -O1 -DCOUNT=fixed_count @builds/count.c -o fixed.o");
            let inputs = "@builds/main.c fixed.o $AT/libshared.so -Wl,-rpath,$AT -lpthread";
            make(&format!("-g -O1 {inputs} -o {name}"));
            runs_c(&at.join(name));
        }
    }
}

#[test]
fn cmake_finds_mpi_in_each_usual_way() {
    if !["cmake", "c++", "gfortran", "make"].into_iter().all(has) {
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
    let Some(at) = directory_with(&["cc"], "wrongly") else { return };
    let (include, library) = (show(CC, "-showme:incdirs"), show(CC, "-showme:link"));
    let home = show(CC, "-showme:libdirs");
    let write = |name: &str, text: &str| std::fs::write(at.join(name), text).expect("ours");
    let refused = |name: &str, words: &[&str]| {
        fail_with(&mut launcher(3, &at.join(name)), 1, words);
    };
    let program = |name: &str, before: &str, options: &str| {
        let body = "int main(int c, char **v) { MPI_Init(&c, &v); USE; MPI_Finalize(); return 0; }";
        write(&format!("{name}.c"), &format!("#include <mpi.h>\n{before}\n{body}\n"));
        link("cc", &at, &format!("{name}.c -I {include} {options} -o {name}"));
    };
    // At one address only.
    program("fixed", "", &format!("-no-pie -fno-pie -DUSE=(void)0 {library}"));
    refused("fixed", &["fixed: an executable that can lie at one address only", "phalanx-mpicc"]);
    // Without the library's companion for executables.
    program("bare", "", &format!("-DUSE=(void)0 -L{home} -l:libmpi_abi.so.0"));
    refused("bare", &["it has no beginning for a rank", "-lmpi_abi"]);
    // More thread-local variables than the launcher has room for.
    program("large", "__thread char here[1 << 20];", &format!("-DUSE=here[c]=1 {library}"));
    refused("large", &["bytes of thread-local variables", "-fPIC"]);
    // A variable of a library that the executable has for itself.
    write("variable.c", "int of_library = 3;\n");
    let make = |line: &str| link("cc", &at, &format!("-shared -fPIC -w {line}"));
    make("variable.c -Wl,-soname,libvariable.so -o libvariable.so");
    let found = "-L. -lvariable -Wl,-rpath,$AT";
    let options = format!("-fPIE -pie -DUSE=of_library++ {found} {library}");
    program("copied", "extern int of_library;", &options);
    refused("copied", &["a variable of libvariable.so for itself, of_library", "-fPIC"]);
    // Another MPI's library: of the program, and of one of its libraries.
    write("other.c", "int other;\nint MPI_Other(void) { return other; }\n");
    make("other.c -Wl,-soname,libmpi.so.40 -o libmpi.so.40");
    write("user.c", "extern int MPI_Other(void); int uses(void) { return MPI_Other(); }\n");
    make("user.c libmpi.so.40 -Wl,-soname,libuser.so -o libuser.so");
    for (function, library) in [("MPI_Other", "libmpi.so.40"), ("uses", "libuser.so")] {
        let body = format!("int {function}(void); int main(void) {{ return {function}(); }}\n");
        write(&format!("{function}.c"), &body);
        let undefined = "-Wl,-rpath,$AT -Wl,--allow-shlib-undefined";
        link("cc", &at, &format!("{function}.c {library} {undefined} -o {function}"));
        refused(function, &["is linked with libmpi.so.40, of Open MPI", "phalanx-mpicc"]);
    }
}

/// The dynamic linker knows a copy by a number; the text has the file's name.
#[test]
fn a_missing_symbol_names_the_library() {
    let Some(at) = directory_with(&["cc"], "missing") else { return };
    let write = |name: &str, text: &str| std::fs::write(at.join(name), text).expect("ours");
    write("lacks.c", "extern int nowhere(void); int lacks(void) { return nowhere(); }\n");
    link(CC, &at, "-shared -o liblacks.so lacks.c");
    let body = "#include <mpi.h>\nint lacks(void);\nint main(int c, char **v) \
                { MPI_Init(&c, &v); if (c > 5) lacks(); MPI_Finalize(); return 0; }\n";
    write("main.c", body);
    let found = "-L. -llacks -Wl,-rpath,. -Wl,--allow-shlib-undefined";
    link(CC, &at, &format!("main.c {found} -o main"));
    let Ended { code, err, .. } = end(launcher(2, &at.join("main")).current_dir(&at));
    assert!(code != Some(0), "{err}");
    assert!(err.contains("liblacks.so: undefined symbol: nowhere"), "{err}");
    assert!(!err.contains("/proc/"), "{err}");
}

/// Rank by rank the same: linked as a shared object, and as an executable.
#[test]
fn an_executable_has_what_a_wrappers_program_has() {
    if !has("c++") {
        return;
    }
    let (include, library) = (show(CXX, "-showme:incdirs"), show(CXX, "-showme:link"));
    let at = directory("as_wrapped");
    for (file, compiler, words) in [("unique.cc", "c++", "private\n"), ("omp.c", "cc", "0 wrong\n")]
    {
        let name = file.replace('.', "_");
        link(compiler, &at, &format!("-g -O1 -fopenmp -I {include} @{file} {library} -o {name}"));
        assert_eq!(succeed(3, &at.join(name), &[]), words);
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
    let at = directory("rustc");
    let home = show(CC, "-showme:libdirs");
    let line = "--edition 2024 -O -l mpi_abi @builds/main.rs -o main";
    link("rustc", &at, &format!("{line} -L {home}"));
    let out = succeed(3, &at.join("main"), &[]);
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
        let mut process = Command::new("cargo");
        process
            .args([command, "--manifest-path"])
            .arg(at.join("Cargo.toml"))
            .env("MPICC", CC)
            .env("CARGO_TARGET_DIR", at.join("target"));
        end(&mut process)
    };
    let brought = cargo("fetch");
    if brought.code != Some(0) {
        let last = brought.err.lines().last().unwrap_or("");
        say_skipped(&format!("rsmpi cannot be brought: {last}"));
        return;
    }
    let built = cargo("build");
    if built.err.contains("Unable to find libclang") {
        say_skipped("rsmpi: libclang is not installed");
        return;
    }
    assert_eq!(built.code, Some(0), "{}", built.err);
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
