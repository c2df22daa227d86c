//! The work of `phalanx-mpicc`, `-mpicxx` and `-mpifort`: they call the compiler with more options.
//!
//! A program is linked as a shared object with an entry point (DESIGN.md, "MPI programs on
//! threads"), of position-independent code; so options for executables are dropped, and `-static`
//! is refused.

use crate::home;
use std::env;
use std::ffi::OsString;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;

/// The languages that have a wrapper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// C.
    C,
    /// C++.
    Cxx,
    /// Fortran.
    Fortran,
}

impl Language {
    /// The wrapper's name, the compiler, and the variable that names another.
    fn names(self) -> [&'static str; 3] {
        match self {
            Language::C => ["phalanx-mpicc", "cc", "PHALANX_MPICC"],
            Language::Cxx => ["phalanx-mpicxx", "c++", "PHALANX_MPICXX"],
            Language::Fortran => ["phalanx-mpifort", "gfortran", "PHALANX_MPIFC"],
        }
    }
}

/// The output that the options ask the compiler to make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Makes {
    /// Nothing to link: objects, assembly, preprocessed text, or answers.
    Objects,
    /// A shared library.
    Library,
    /// A program.
    Program,
    /// A program as a plain compiler links it, an executable: with a linker that makes no shared
    /// object that can be executed, too.
    Executable,
    /// An ordinary executable (`--plain`), for ranks inside it: see phalanx_mpi.h.
    Plain,
}

/// The option for an ordinary executable.
const PLAIN: &str = "--plain";

/// The output of these options.
pub fn makes(arguments: &[String]) -> Makes {
    let has = |options: &[&str]| arguments.iter().any(|it| options.contains(&it.as_str()));
    let inputs = inputs(arguments);
    if has(&["-c", "-S", "-E", "-M", "-MM", "-fsyntax-only", "-r"]) || inputs == 0 {
        Makes::Objects
    } else if has(&["-shared"]) {
        Makes::Library
    } else if has(&[PLAIN]) {
        Makes::Plain
    } else if has(&["-fuse-ld=mold"]) {
        Makes::Executable
    } else {
        Makes::Program
    }
}

/// Files and libraries among the options: without any, there is nothing to link.
fn inputs(arguments: &[String]) -> usize {
    const WITH_VALUE: [&str; 12] = [
        "-o", "-I", "-L", "-D", "-U", "-include", "-isystem", "-MF", "-MT", "-MQ", "-x", "-Xlinker",
    ];
    let mut count = 0;
    let mut at = 0;
    while let Some(argument) = arguments.get(at) {
        if WITH_VALUE.contains(&argument.as_str()) {
            at += 1;
        } else if !argument.starts_with('-') || argument == "-" || argument.starts_with("-l") {
            count += 1;
        }
        at += 1;
    }
    count
}

/// Whether `-x` names the language of the files that follow: it does so until the next `-x`.
fn names_language(arguments: &[String]) -> bool {
    arguments.iter().any(|it| it.starts_with("-x"))
}

/// A name for a library that is given none: the loader makes private copies by names.
fn soname(arguments: &[String]) -> Option<String> {
    let at = arguments.iter().position(|it| it == "-o")?;
    let name = Path::new(arguments.get(at + 1)?).file_name()?.to_string_lossy();
    Some(format!("-Wl,-soname,{name}"))
}

/// The options that stand before and after the user's.
pub fn flags(language: Language, makes: Makes) -> (Vec<String>, Vec<String>) {
    let mut compile = vec![format!("-I{}", home::headers().display()), "-fPIC".to_owned()];
    if language == Language::Cxx {
        // Unique symbols would be all copies'.
        compile.push("-fno-gnu-unique".to_owned());
    }
    if language == Language::Fortran {
        // A buffer may be of any type: calls of one procedure differ in their arguments.
        compile.push("-fallow-argument-mismatch".to_owned());
    }
    let libraries = home::libraries();
    let at = libraries.display();
    let mut link = Vec::new();
    if makes == Makes::Program {
        // Options that each linker knows: GNU's two, LLVM's, mold.
        for option in ["-Bsymbolic", "-e,ph_entry", "--no-undefined", "-u,main"] {
            link.push(format!("-Wl,{option}"));
        }
        link.insert(0, "-shared".to_owned());
        link.extend([format!("{at}/entry.o"), format!("{at}/priv.o")]);
        let streams = libraries.join("stream.o");
        if language == Language::Cxx && streams.exists() {
            link.push(streams.display().to_string());
        }
    }
    if makes == Makes::Executable {
        link.push("-pie".to_owned());
    }
    if matches!(makes, Makes::Program | Makes::Library | Makes::Plain) {
        // The library itself: without its companion for executables.
        link.extend([
            format!("-L{at}"),
            format!("-Wl,-rpath,{at}"),
            "-l:libmpi_abi.so.0".to_owned(),
        ]);
    }
    if makes == Makes::Executable {
        link.extend(for_plain_compilers());
    }
    (compile, link)
}

/// The options with which a plain compiler links executables and libraries: the first reaches
/// linkers through CMake, too, which keeps `-Wl,` and takes the library by its path.
fn for_plain_compilers() -> Vec<String> {
    let libraries = home::libraries();
    let at = libraries.display();
    vec![format!("-Wl,-rpath,{at},-L{at}"), format!("-L{at}"), "-lmpi_abi".to_owned()]
}

/// The user's options without those for executables.
///
/// # Errors
/// If one asks for something impossible.
pub fn kept(arguments: &[String]) -> Result<Vec<String>, String> {
    const DROPPED: [&str; 8] =
        ["-pie", "-no-pie", "-fpie", "-fPIE", "-fno-pie", "-fno-PIE", "-fno-pic", "-fno-PIC"];
    if let Some(bad) = arguments.iter().find(|it| {
        ["-static", "-static-pie", "-static-libgfortran", "-mcmodel=large"].contains(&it.as_str())
    }) {
        return Err(format!(
            "{bad}: a program on threads is linked as a shared object; leave it out"
        ));
    }
    let is_kept = |it: &&String| !DROPPED.contains(&it.as_str()) && *it != PLAIN;
    Ok(arguments.iter().filter(is_kept).cloned().collect())
}

/// Calls the compiler, or shows the command (`-show`, `-showme..`, `-compile_info`).
pub fn main(language: Language) -> ! {
    let [wrapper, usual, variable] = language.names();
    let compiler = env::var(variable).unwrap_or_else(|_| usual.to_owned());
    let mut words = compiler.split_whitespace();
    let program = words.next().unwrap_or(usual).to_owned();
    let mut all: Vec<String> = words.map(str::to_owned).collect();
    let arguments: Vec<String> = env::args_os()
        .skip(1)
        .map(OsString::into_string)
        .map(|it| it.unwrap_or_else(|bad| fail(wrapper, &format!("{bad:?} is not UTF-8"))))
        .collect();
    let is_show = |it: &String| {
        matches!(it.as_str(), "-show" | "--show" | "--showme" | "-showme")
            || matches!(
                it.as_str(),
                "-compile_info" | "-compile-info" | "-link_info" | "-link-info"
            )
            || it.starts_with("-showme:")
            || it.starts_with("--showme:")
    };
    let show = arguments.iter().find(|it| is_show(it)).cloned();
    let rest: Vec<String> = arguments.iter().filter(|it| !is_show(it)).cloned().collect();
    let made = makes(&rest);
    let rest = kept(&rest).unwrap_or_else(|error| fail(wrapper, &error));
    let kind = match made {
        Makes::Objects if show.is_some() && inputs(&rest) == 0 => Makes::Program,
        kind => kind,
    };
    let (compile, mut link) = flags(language, kind);
    if rest.iter().any(|it| it == "-stdlib=libc++") {
        // The streams are the GNU library's.
        link.retain(|it| !it.ends_with("/stream.o"));
    }
    if !link.is_empty() && names_language(&rest) {
        // The wrapper's own objects are not in the language that the user has named for sources.
        link.splice(0..0, ["-x", "none"].map(str::to_owned));
    }
    if let Some(show) = show {
        let text = match show.trim_start_matches('-') {
            "showme:compile" => compile.join(" "),
            "showme:link" => for_plain_compilers().join(" "),
            "showme:incdirs" => home::headers().display().to_string(),
            "showme:libdirs" => home::libraries().display().to_string(),
            "showme:libs" => "mpi_abi".to_owned(),
            "showme:command" => program,
            "showme:version" => format!("{wrapper} {}", env!("CARGO_PKG_VERSION")),
            // Build systems take options out of this line for a compiler of their own.
            "show" | "link_info" | "link-info" if inputs(&rest) == 0 => {
                let plain = for_plain_compilers();
                [vec![program], all, compile, rest, plain].concat().join(" ")
            }
            "compile_info" | "compile-info" if inputs(&rest) == 0 => {
                [vec![program], all, compile, rest].concat().join(" ")
            }
            _ => {
                let parts = [vec![program], all, compile, rest, link];
                parts.concat().join(" ")
            }
        };
        println!("{text}");
        std::process::exit(0);
    }
    all.extend(compile);
    if kind == Makes::Library && !rest.iter().any(|it| it.contains("soname")) {
        all.extend(soname(&rest));
    }
    all.extend(rest);
    all.extend(link);
    let error = Command::new(&program).args(all).exec();
    fail(wrapper, &format!("{program}: {error}"))
}

fn fail(wrapper: &str, text: &str) -> ! {
    eprintln!("{wrapper}: {text}");
    std::process::exit(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn what_is_made_follows_from_the_options() {
        assert_eq!(makes(&list("-c a.c -o a.o")), Makes::Objects);
        assert_eq!(makes(&list("--version")), Makes::Objects);
        assert_eq!(makes(&list("-o a -O2")), Makes::Objects);
        assert_eq!(makes(&list("a.o b.o -lm -o a")), Makes::Program);
        assert_eq!(makes(&list("-shared a.o -o liba.so")), Makes::Library);
        assert_eq!(makes(&list("--plain a.o -o a")), Makes::Plain);
        assert_eq!(kept(&list("--plain a.o")), Ok(list("a.o")));
    }

    #[test]
    fn options_for_executables_are_dropped_and_static_is_refused() {
        assert_eq!(kept(&list("-fPIE -pie a.c -O2")), Ok(list("a.c -O2")));
        assert!(kept(&list("a.c -static")).is_err());
    }
}
