//! Makes, from functions.txt, the header mpi.h, the shim libmpi_abi.so.0 and the runtime's table,
//! and compiles the C parts: the launcher's frame, and the parts linked into each program.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

#[path = "build/calls.rs"]
mod calls;
#[path = "build/f08.rs"]
mod f08;
#[path = "build/recorded.rs"]
mod recorded;
#[path = "build/standard.rs"]
mod standard;

/// The last entries of the table: the shim's part for ordinary programs (c/team.c).
const TEAMS: [&str; 8] =
    ["count", "message", "run", "create", "invoke", "destroy", "start", "join"];

/// What may stand behind a function: the head of functions.txt says what each means.
const MARKS: &str = "any-time leaves-early heeds-early within data collective recorded polls \
                     receives requested answers answers-twice by-handle no-fortran not-f08";

/// Types of the interface that are handles: numbers in Fortran.
const HANDLES: [&str; 10] = [
    "Comm",
    "Datatype",
    "Op",
    "Group",
    "Request",
    "Errhandler",
    "Info",
    "Message",
    "Win",
    "Session",
];

/// Types of the list, in the function without and in the one with _c; where none differs, there is
/// one function.
const WIDTHS: [(&str, &str, &str); 7] = [
    ("COUNT", "int", "MPI_Count"),
    ("DISPL", "int", "MPI_Aint"),
    ("WIDE", "MPI_Aint", "MPI_Count"),
    ("NEAR", "int", "int"),
    ("FAR", "MPI_Count", "MPI_Count"),
    ("BROAD", "MPI_Count", "MPI_Count"),
    ("LOGICAL", "int", "int"),
];

struct Function {
    is_there: bool,
    returns: String,
    name: String,
    /// The name without _c, and whether it is the one with.
    base: String,
    is_large: bool,
    /// As the list has them, and as they are declared.
    listed: String,
    parameters: String,
    /// The names alone.
    arguments: Vec<String>,
    marks: Vec<String>,
}

impl Function {
    fn is(&self, mark: &str) -> bool {
        self.marks.iter().any(|it| it == mark)
    }
}

/// The functions of a line.
fn parse(line: &str) -> Option<Vec<Function>> {
    let (mark, rest) = line.split_at_checked(2)?;
    let is_there = match mark {
        "+ " => true,
        "- " => false,
        _ => return None,
    };
    let (returns, rest) = rest.split_once(' ')?;
    let (declared, marks) = rest.rsplit_once(')')?;
    let (base, listed) = declared.split_once('(')?;
    let marks: Vec<String> = marks.split_whitespace().map(str::to_owned).collect();
    let is_known =
        |it: &String| it.starts_with("as:") || MARKS.split_whitespace().any(|known| known == it);
    if !marks.iter().all(is_known) {
        return None;
    }
    let mut arguments = Vec::new();
    if listed != "void" {
        for parameter in listed.split(", ").filter(|it| *it != "...") {
            let bare = parameter.split('[').next()?;
            arguments.push(bare.rsplit([' ', '*']).next()?.to_owned());
        }
    }
    let one = |is_large: bool| {
        let declared = |text: String, it: &(&str, &str, &str)| {
            text.replace(&format!("{} ", it.0), &format!("{} ", if is_large { it.2 } else { it.1 }))
        };
        Function {
            is_there,
            returns: returns.to_owned(),
            name: format!("{base}{}", if is_large { "_c" } else { "" }),
            base: base.to_owned(),
            is_large,
            listed: listed.to_owned(),
            parameters: WIDTHS.iter().fold(listed.to_owned(), declared),
            arguments: arguments.clone(),
            marks: marks.clone(),
        }
    };
    let is_listed = |it: &(&str, &str, &str)| listed.contains(&format!("{} ", it.0));
    let is_pair = WIDTHS.iter().filter(|it| it.1 != it.2).any(is_listed);
    Some(if is_pair { vec![one(false), one(true)] } else { vec![one(false)] })
}

/// The types of a function's parameters, for the cast of the table's entry.
fn types(function: &Function) -> String {
    if function.parameters == "void" {
        return String::new();
    }
    let all = function.parameters.split(", ").filter(|it| *it != "...");
    all.map(|it| format!(", {it}")).collect()
}

/// A number for the table's order: a shim and a runtime of different ones must not meet.
fn mark(list: &str) -> u64 {
    // FNV-1a.
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    list.bytes().fold(0xcbf2_9ce4_8422_2325, step)
}

fn shim(functions: &[Function], mark: u64) -> String {
    let mut text = String::from(
        "#define _GNU_SOURCE\n#include <mpi.h>\n#include <stdlib.h>\n#include <unistd.h>\n\
         static const void *const *phx_table;\nstatic const void *phx_rank;\n\
         __attribute__((visibility(\"default\")))\n\
         void phalanx_bind(const void *const *t, const void *r)\n\
         { phx_table = t; phx_rank = r; }\n",
    );
    text += &format!(
        "__attribute__((visibility(\"default\")))\n\
         const unsigned long long phalanx_table = {mark}ull;\n\
         #define PHX_TEAMS {}\n",
        functions.len()
    );
    text.push_str(include_str!("c/team.c"));
    text.push_str(include_str!("c/convert.c"));
    for (index, f) in functions.iter().enumerate() {
        let Function { returns, name, parameters, .. } = f;
        let given: String = f.arguments.iter().map(|it| format!(", {it}")).collect();
        let types = types(f);
        text += &format!(
            "{returns} PMPI_{name}({parameters}) {{ \
             if (__builtin_expect(!phx_table, 0)) unbound(); \
             return (({returns}(*)(const void *, void *{types}))phx_table[{index}])(phx_rank, \
             __builtin_return_address(0){given}); }}\n\
             {returns} MPI_{name}({parameters}) __attribute__((weak, alias(\"PMPI_{name}\")));\n",
        );
    }
    text.push_str(include_str!("c/fortran.c"));
    text.push_str("#define MPI_PHX(x) ((void *)(intptr_t)(x))\n");
    for (index, f) in functions.iter().enumerate() {
        // One is variadic, one has lists of handles without a length, others are told functions
        // that are called as C's; large counts are `use mpi_f08`'s alone, which is not there.
        if !f.is_large && !f.name.ends_with("_c") && !f.is("no-fortran") {
            text.push_str(&fortran(index, f));
        }
    }
    text.push_str(&f08::shim());
    text
}

/// A function's Fortran binding (gfortran's names): all arguments by address, handles as integers,
/// places in lists from one, the error last.
fn fortran(index: usize, f: &Function) -> String {
    let low = f.name.to_lowercase();
    let weak = |arguments: &str, returns: &str| {
        format!(
            "{returns} mpi_{low}_({arguments}) __attribute__((weak, alias(\"pmpi_{low}_\")));\n"
        )
    };
    let table = "if (__builtin_expect(!phx_table, 0)) unbound(); ";
    let site = "phx_rank, __builtin_return_address(0)";
    if !f.is_there {
        return format!(
            "void pmpi_{low}_(void) {{ {table}((void(*)(const void *, void *))phx_table[{index}])\
             ({site}); }}\n{}",
            weak("void", "void"),
        );
    }
    if f.returns != "int" {
        let (returns, types) = (&f.returns, types(f));
        let takes: Vec<_> = f.arguments.iter().map(|it| format!("MPI_Aint *f_{it}")).collect();
        let takes = if takes.is_empty() { "void".to_owned() } else { takes.join(", ") };
        let gives: String = f.arguments.iter().map(|it| format!(", *f_{it}")).collect();
        return format!(
            "{returns} pmpi_{low}_({takes}) {{ {table}return (({returns}(*)(const void *, void *\
             {types}))phx_table[{index}])({site}{gives}); }}\n{}",
            weak(&takes, returns),
        );
    }
    let (mut all, mut list) = (Vec::new(), "1".to_owned());
    if f.parameters != "void" {
        for (parameter, name) in f.parameters.split(", ").zip(&f.arguments) {
            all.push(bound(f, parameter, name, &list));
            let is_number = !parameter.contains(['[', '*']);
            if is_number && (name.ends_with("count") || *name == "max_datatypes") {
                list = format!("*f_{name}");
            }
        }
    }
    let part = |of: fn(&Bound) -> &str| all.iter().map(of).filter(|it| !it.is_empty());
    let takes = part(|it| &it.takes).chain(["int *ierr"]).chain(part(|it| &it.length));
    let (takes, types) = (takes.collect::<Vec<_>>().join(", "), types(f));
    let gives: String = part(|it| &it.gives).map(|it| format!(", {it}")).collect();
    let [before, after] = [part(|it| &it.before), part(|it| &it.after)].map(String::from_iter);
    format!(
        "void pmpi_{low}_({takes}) {{ {table}{before}int code = ((int(*)(const void *, void *\
         {types}))phx_table[{index}])({site}{gives}); {after}if (ierr) *ierr = code; }}\n{}",
        weak(&takes, "void"),
    )
}

/// A parameter of a Fortran binding: as it is declared there (a text with a length behind all), the
/// code before the call, what C is given, and the code after the call.
#[derive(Default)]
struct Bound {
    takes: String,
    length: String,
    before: String,
    gives: String,
    after: String,
}

/// `list`: the length of lists.
fn bound(f: &Function, parameter: &str, name: &str, list: &str) -> Bound {
    let ty = parameter.trim_start_matches("const ");
    let (is_list, is_pointer) = (parameter.contains('['), parameter.contains('*'));
    let is_text = ty.starts_with("char *") && !ty.starts_with("char ***");
    let handle = HANDLES.into_iter().find(|it| ty.starts_with(&format!("MPI_{it} ")));
    let bare = ty.split([' ', '*']).next().unwrap_or("int");
    let taken = |ty: &str| Bound {
        takes: format!("{ty} *f_{name}"),
        length: if is_text { format!("size_t l_{name}") } else { String::new() },
        ..Bound::default()
    };
    match handle {
        _ if ty.starts_with("char ***") || name == "argc" || name == "argv" => {
            Bound { gives: "0".to_owned(), ..Bound::default() }
        }
        _ if name.ends_with("weights") => {
            Bound { gives: format!("phx_weights(f_{name})"), ..taken("void") }
        }
        // Without the blanks at its end, and with C's zero.
        _ if is_text && parameter.starts_with("const ") => Bound {
            before: format!(
                "while (l_{name} && f_{name}[l_{name} - 1] == ' ') l_{name}--; \
                 char c_{name}[l_{name} + 1]; memcpy(c_{name}, f_{name}, l_{name}); \
                 c_{name}[l_{name}] = 0; "
            ),
            gives: format!("c_{name}"),
            ..taken("const char")
        },
        _ if is_text => Bound {
            before: "char text[MPI_MAX_LIBRARY_VERSION_STRING] = \"\"; int length = 0; ".to_owned(),
            gives: "text".to_owned(),
            after: format!("phx_blanks(f_{name}, l_{name}, text, (int)strlen(text)); "),
            ..taken("char")
        },
        _ if name == "resultlen" => Bound {
            gives: "&length".to_owned(),
            after: "*f_resultlen = length; ".to_owned(),
            ..taken("int")
        },
        Some(kind) if is_list => Bound {
            before: format!(
                "int n = {list}; if (n < 0) n = 0; MPI_{kind} handles[n + 1]; \
                 for (int i = 0; i < n; i++) handles[i] = MPI_PHX(f_{name}[i]); "
            ),
            gives: "handles".to_owned(),
            after: match parameter.starts_with("const") {
                true => String::new(),
                false => format!(
                    "for (int i = 0; i < n; i++) f_{name}[i] = (MPI_Fint)(intptr_t)handles[i]; "
                ),
            },
            ..taken("MPI_Fint")
        },
        Some(kind) if is_pointer => Bound {
            before: format!("MPI_{kind} c_{name} = MPI_PHX(*f_{name}); "),
            gives: format!("&c_{name}"),
            after: format!("*f_{name} = (MPI_Fint)(intptr_t)c_{name}; "),
            ..taken("MPI_Fint")
        },
        Some(_) => Bound { gives: format!("MPI_PHX(*f_{name})"), ..taken("MPI_Fint") },
        None if ty.starts_with("MPI_Status") => {
            Bound { gives: format!("phx_status(f_{name})"), ..taken("void") }
        }
        // An attribute's value is an integer in Fortran, and so are the predefined numbers.
        None if name == "attribute_val" => {
            let whole = if f.name.starts_with("Attr") { "MPI_Fint" } else { "MPI_Aint" };
            if !f.name.ends_with("get_attr") && f.name != "Attr_get" {
                return Bound { gives: format!("(void *)(intptr_t)*f_{name}"), ..taken(whole) };
            }
            let key = &f.arguments[1];
            Bound {
                before: "void *got = 0; ".to_owned(),
                gives: "&got".to_owned(),
                after: format!(
                    "if (*f_flag) *f_{name} = *f_{key} == MPI_WIN_SIZE \
                     ? ({whole})*(MPI_Aint *)got \
                     : *f_{key} < 0x400 && *f_{key} != MPI_WIN_BASE \
                     ? ({whole})*(int *)got : ({whole})(intptr_t)got; "
                ),
                ..taken(whole)
            }
        }
        None if ty.starts_with("void *") => {
            Bound { gives: format!("phx_buffer(f_{name})"), ..taken("void") }
        }
        None if ty.starts_with("MPI_User_function") => {
            Bound { gives: format!("f_{name}"), ..taken("MPI_User_function") }
        }
        None if is_list || is_pointer => Bound {
            gives: format!("(void *)f_{name}"),
            after: match name {
                "index" => "if (*f_index >= 0) ++*f_index; ".to_owned(),
                "array_of_indices" => {
                    format!("for (int i = 0; i < *f_outcount; i++) ++f_{name}[i]; ")
                }
                _ => String::new(),
            },
            ..taken(bare)
        },
        None => Bound { gives: format!("*f_{name}"), ..taken(bare) },
    }
}

/// mpif.h: the header's numbers as Fortran parameters, in columns that both source forms allow.
fn fortran_header(header: &str) -> String {
    let mut text = String::from(
        "! mpif.h of Phalanx's MPI interface: made from mpi.h, \
         whose head names source and licence.\n",
    );
    let mut one = |name: &str, value: i64| {
        text.push_str(&format!("      integer {name}\n      parameter ({name}={value})\n"));
    };
    for (name, value) in [
        ("MPI_STATUS_SIZE", 8),
        ("MPI_SOURCE", 1),
        ("MPI_TAG", 2),
        ("MPI_ERROR", 3),
        ("MPI_INTEGER_KIND", 4),
        ("MPI_ADDRESS_KIND", 8),
        ("MPI_OFFSET_KIND", 8),
        ("MPI_COUNT_KIND", 8),
    ] {
        one(name, value);
    }
    standard::constants(header).for_each(|it| one(it.name, it.value));
    text.push_str(
        "      integer MPI_BOTTOM, MPI_IN_PLACE\n\
         \x20     integer MPI_STATUS_IGNORE(8), MPI_STATUSES_IGNORE(8,1)\n\
         \x20     common /mpi_phx_bottom/ MPI_BOTTOM\n\
         \x20     common /mpi_phx_in_place/ MPI_IN_PLACE\n\
         \x20     common /mpi_phx_ignore/ MPI_STATUS_IGNORE\n\
         \x20     common /mpi_phx_ignores/ MPI_STATUSES_IGNORE\n\
         \x20     integer MPI_UNWEIGHTED(1), MPI_WEIGHTS_EMPTY(1)\n\
         \x20     common /mpi_phx_unweighted/ MPI_UNWEIGHTED\n\
         \x20     common /mpi_phx_no_weights/ MPI_WEIGHTS_EMPTY\n\
         \x20     integer(8) MPI_AINT_ADD, MPI_AINT_DIFF\n\
         \x20     external MPI_AINT_ADD, MPI_AINT_DIFF\n\
         \x20     double precision MPI_WTIME, MPI_WTICK\n\
         \x20     external MPI_WTIME, MPI_WTICK\n",
    );
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
    for watched in ["build.rs", "build", "functions.txt", "include", "c"] {
        println!("cargo:rerun-if-changed={watched}");
    }
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("Cargo sets OUT_DIR"));
    let list = fs::read_to_string("functions.txt").expect("functions.txt is part of the package");
    let functions: Vec<Function> = list
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .flat_map(|line| parse(line).unwrap_or_else(|| panic!("functions.txt: {line}")))
        .collect();

    let mut declared = String::new();
    for f in &functions {
        for prefix in ["MPI_", "PMPI_"] {
            let Function { returns, name, parameters, .. } = f;
            declared += &format!("{returns} {prefix}{name}({parameters});\n");
        }
    }
    let include = out.join("include");
    fs::create_dir_all(&include).expect("OUT_DIR can be written");
    let header = fs::read_to_string("include/mpi.h.in").expect("part of the package");
    write(&include.join("mpi.h"), &header.replace("/* @FUNCTIONS@ */", &declared));
    let teams = fs::read_to_string("include/phalanx_mpi.h").expect("part of the package");
    write(&include.join("phalanx_mpi.h"), &teams);
    write(&include.join("mpif.h"), &fortran_header(&header));
    write(&out.join("shim.c"), &shim(&functions, mark(&list)));
    let table = calls::table(&functions, &TEAMS);
    let of = mark(&list);
    let mark =
        format!("\n/// The table's number, as the shim has it.\npub const MARK: u64 = {of};\n");
    write(&out.join("table.rs"), &table);
    write(&out.join("calls.rs"), &(calls::names(&functions) + &mark));
    write(&out.join("recorded.rs"), &recorded::table(&functions));
    write(&out.join("standard.rs"), &standard::runtime(&header));
    write(&out.join("basics.rs"), &standard::basics(&header));

    // Its stack is walked where a rank ends in a library.
    let tables = "-fasynchronous-unwind-tables";
    cc::Build::new().flag(tables).file("c/frame.c").compile("phalanx_frame");
    cc::Build::new().file("c/long.c").compile("phalanx_long");
    // The program's own libraries find the launcher's `exit` before the C library's.
    for name in ["exit", "_exit", "_Exit", "quick_exit"] {
        println!("cargo:rustc-link-arg-bins=-Wl,--export-dynamic-symbol={name}");
    }
    println!("cargo:rustc-link-arg-bin=phalanx-mpirun=-Wl,--wrap=main");
    // Its threads, and the handlers of forks, may outlive a `dlclose`.
    println!("cargo:rustc-cdylib-link-arg=-Wl,-z,nodelete");
    // The launcher's functions instead of the C library's; last the room for thread-locals.
    for (part, position) in [("launcher", "-fPIC"), ("room", "-fPIE")] {
        let (from, to) = (format!("c/{part}.c"), out.join(format!("{part}.o")));
        let mut command = cc::Build::new().get_compiler().to_command();
        run(command.args(["-O2", "-g", position, "-Wall", "-c", &from, "-o"]).arg(&to));
        println!("cargo:rustc-link-arg-bin=phalanx-mpirun={}", to.display());
    }
    for name in [
        "pthread_create",
        "thrd_create",
        "dlopen",
        "dlerror",
        "phalanx_watch_plugins",
        "phalanx_settle_thread_locals",
        "phalanx_thread_local_room",
    ] {
        println!("cargo:rustc-link-arg-bin=phalanx-mpirun=-Wl,--export-dynamic-symbol={name}");
    }
    // By this the shim knows a launcher's process.
    println!("cargo:rustc-link-arg-bins=-Wl,--export-dynamic-symbol=phalanx_bar_exit");

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
    // A plain compiler links programs with this: the shim, and for executables a start.
    let link = out.join("libmpi_abi.so");
    let _ = fs::remove_file(&link);
    write(&link, "/* for linkers */ INPUT(libmpi_abi.so.0 libphalanx_start.a)\n");
    // For build systems that ask pkg-config: under its own name, and in this folder under those by
    // which Meson asks for Open MPI.
    let versions = env::var("CARGO_PKG_VERSION").expect("Cargo sets it");
    let folder = out.join("pkgconfig");
    fs::create_dir_all(&folder).expect("OUT_DIR can be written");
    for name in ["phalanx-mpi", "ompi-c", "ompi-cxx", "ompi-fort"] {
        let text = format!(
            "libdir=${{pcfiledir}}/..\nincludedir=${{libdir}}/include\n\
             Name: {name}\nDescription: MPI programs with ranks as threads (Phalanx)\n\
             Version: {versions}\nCflags: -I${{includedir}}\n\
             Libs: -Wl,-rpath,${{libdir}},-L${{libdir}} -L${{libdir}} -lmpi_abi\n"
        );
        write(&folder.join(format!("{name}.pc")), &text);
    }
    // The modules, by the Fortran compiler of this machine; without one, there is no `use mpi`.
    let (module, newer) = (include.join("mpi.f90"), include.join("mpi_f08.f90"));
    write(&module, "module mpi\n  implicit none\n  include 'mpif.h'\nend module mpi\n");
    write(&newer, &f08::module(&functions, &header, &fortran_header(&header)));
    let fortran = env::var("PHALANX_MPIFC").unwrap_or_else(|_| "gfortran".to_owned());
    let made = Command::new(&fortran)
        .args(["-fsyntax-only", "-ffree-line-length-none", "-J"])
        .args([&include, &module, &newer])
        .current_dir(&include)
        .status();
    if !made.is_ok_and(|it| it.success()) {
        println!(
            "cargo:warning={fortran} is not there: programs cannot say `use mpi`, `use mpi_f08`"
        );
    }
    for part in ["entry", "priv", "start"] {
        let source = format!("c/{part}.c");
        run(compile().arg("-c").arg(source).arg("-o").arg(out.join(format!("{part}.o"))));
    }
    // Without a C++ compiler of the GNU library, C++ programs share their streams.
    let stream = out.join("stream.o");
    let _ = fs::remove_file(&stream);
    let mut command = cc::Build::new().cpp(true).get_compiler().to_command();
    command.args(["-O2", "-g", "-fPIC", "-Wall", "-fno-gnu-unique", "-c", "c/stream.cc", "-o"]);
    if !command.arg(&stream).status().is_ok_and(|it| it.success()) {
        println!("cargo:warning=no C++ compiler with the GNU library: std::cout is all ranks'");
    }
    let archive = out.join("libphalanx_start.a");
    let _ = fs::remove_file(&archive);
    let parts = ["start", "priv", "stream"].map(|it| out.join(format!("{it}.o")));
    let archiver = cc::Build::new().get_archiver();
    run(Command::new(archiver.get_program())
        .arg("rcs")
        .arg(&archive)
        .args(parts.iter().filter(|it| it.exists())));
}
