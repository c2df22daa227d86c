//! The runtime's table: for each function an entry with C's arguments, which makes of them what the
//! functions of `src/rt/api` take, keeps a new object, and reports an error.
//!
//! | in C | in Rust |
//! |---|---|
//! | address, count, datatype | `Buffer` |
//! | address, counts, displacements, datatype | `Blocks`; with a datatype each, `TypedBlocks` |
//! | two addresses, count (or counts), datatype, operator | `Operands` |
//! | `dest` or `source`, and a tag | `Peer` |
//! | room for a text, and its length | `TextOut` |
//! | communicator, group, datatype | the object, looked up |
//! | a handle's address, as the last of several arguments | the object that the function gives |
//! | other pointers | `Out`, `List`, `StatusOut` |

use super::Function;
use std::fmt::Write as _;

/// What may be called before MPI_Init and after MPI_Finalize. These take handles as they are.
const AT_ANY_TIME: [&str; 15] = [
    "Init",
    "Init_thread",
    "Initialized",
    "Finalized",
    "Abort",
    "Get_processor_name",
    "Get_version",
    "Get_library_version",
    "Error_string",
    "Error_class",
    "Pcontrol",
    "Get_address",
    "Address",
    "Alloc_mem",
    "Free_mem",
];

/// A parameter: its type in C, and its name.
struct Parameter<'a> {
    c: String,
    name: &'a str,
}

impl Parameter<'_> {
    /// Its type at the border.
    fn rust(&self) -> &'static str {
        match self.c.as_str() {
            "int" | "const int" => "c_int",
            "MPI_Aint" => "isize",
            "int *" | "int []" => "*mut c_int",
            "const int []" => "*const c_int",
            "MPI_Aint *" | "MPI_Aint []" => "*mut isize",
            "const MPI_Aint []" => "*const isize",
            "int [][3]" => "*const [c_int; 3]",
            "const MPI_Datatype []" => "*const Handle",
            "MPI_Status *" | "MPI_Status []" => "*mut Status",
            "const MPI_Status *" => "*const Status",
            "void *" => "*mut c_void",
            "const void *" => "*const c_void",
            "char *" => "*mut c_char",
            "const char *" => "*const c_char",
            "char ***" => "*mut *mut *mut c_char",
            "MPI_User_function *" => "UserFunction",
            // Some of these are numbers, not functions.
            "MPI_Comm_copy_attr_function *" | "MPI_Comm_delete_attr_function *" => "*const c_void",
            "MPI_Comm_errhandler_function *" => "ErrorFunction",
            other if other.ends_with(['*', ']']) => "*mut Handle",
            _ => "Handle",
        }
    }

    /// What the function takes for it, if it stands alone.
    fn argument(&self, is_raw: bool) -> String {
        let name = self.name;
        match self.rust() {
            "c_int" | "isize" | "UserFunction" | "ErrorFunction" | "*mut c_void"
            | "*const c_void" => name.to_owned(),
            "*const Status" => format!("&*{name}"),
            "*mut Status" => format!("StatusOut::new({name})"),
            "*const c_char" => format!("&text({name})"),
            "*mut c_char" => format!("RawText::new({name})"),
            rust if rust.starts_with("*mut") => format!("Out::new({name})"),
            rust if rust.starts_with("*const") => format!("List::new({name})"),
            _ => match self.c.as_str() {
                "MPI_Comm" if !is_raw => format!("caller.comm({name})?.as_ref()"),
                "MPI_Group" if !is_raw => format!("caller.group({name})?.as_ref()"),
                "MPI_Datatype" if !is_raw => format!("caller.ty({name})?.as_ref()"),
                _ => name.to_owned(),
            },
        }
    }
}

fn parameters<'a>(function: &Function<'a>) -> Vec<Parameter<'a>> {
    let all = function.parameters.split(", ").filter(|it| !matches!(*it, "void" | "..."));
    let one = |(text, name): (&str, &&'a str)| {
        let at = text.rfind(name).expect("a parameter has its name");
        let (before, after) = (text[..at].trim(), &text[at + name.len()..]);
        let c = if after.is_empty() { before.to_owned() } else { format!("{before} {after}") };
        Parameter { c, name }
    };
    all.zip(&function.arguments).map(one).collect()
}

/// The arguments of the function, of these parameters.
fn arguments(mut rest: &[Parameter<'_>], is_raw: bool) -> String {
    let mut text = String::from("caller");
    while let Some(first) = rest.first() {
        let kinds: Vec<&str> = rest.iter().map(|it| it.c.as_str()).collect();
        let names: Vec<&str> = rest.iter().map(|it| it.name).collect();
        let (argument, taken) = match (kinds.as_slice(), names.as_slice()) {
            (
                ["const void *", "void *", "int", "MPI_Datatype", "MPI_Op", ..],
                [a, b, n, t, o, ..],
            ) => (format!("Operands::new({a}, {b}, {n}, {t}, {o})"), 5),
            (
                ["const void *", "void *", "const int []", "MPI_Datatype", "MPI_Op", ..],
                [a, b, n, t, o, ..],
            ) => (format!("Operands::new({a}, {b}, List::new({n}), {t}, {o})"), 5),
            (["const void *" | "void *", "int", "MPI_Datatype", ..], [at, n, t, ..]) => {
                (format!("Buffer::new({at}, {n}, {t})"), 3)
            }
            (
                ["const void *" | "void *", "const int []", "const int []", "MPI_Datatype", ..],
                [at, n, d, t, ..],
            ) => (format!("Blocks::new({at}, {n}, {d}, {t})"), 4),
            (
                [
                    "const void *" | "void *",
                    "const int []",
                    "const int []",
                    "const MPI_Datatype []",
                    ..,
                ],
                [at, n, d, t, ..],
            ) => (format!("TypedBlocks::new({at}, {n}, {d}, {t})"), 4),
            (["int", "int", ..], [peer @ ("dest" | "source"), tag, ..]) if tag.ends_with("tag") => {
                (format!("Peer::new({peer}, {tag})"), 2)
            }
            (["char *", "int *"], [at, length @ "resultlen"]) => {
                (format!("TextOut::new({at}, {length})"), 2)
            }
            _ => (first.argument(is_raw), 1),
        };
        write!(text, ", {argument}").expect("a String grows");
        rest = &rest[taken..];
    }
    text
}

/// A function's entry, and its line in the table.
fn entry(function: &Function<'_>, entries: &mut String) -> String {
    let Function { name, returns, .. } = function;
    if !function.is_there {
        return format!("Entry(absent!(\"{name}\")),\n");
    }
    let all = parameters(function);
    let taken: String = all.iter().map(|it| format!(", {}: {}", it.name, it.rust())).collect();
    let is_raw = AT_ANY_TIME.contains(name);
    let low = name.to_lowercase();
    let made = all.split_last().filter(|(last, before)| {
        last.rust() == "*mut Handle" && last.c.ends_with('*') && !before.is_empty()
    });
    let body = if *returns == "double" {
        format!("functions::{low}(Caller::new(own, site))")
    } else {
        let run = match made {
            Some((last, before)) => format!(
                "let made = functions::{low}({})?; Out::new({}).set(made.keep(caller)); Ok(())",
                arguments(before, is_raw),
                last.name,
            ),
            None => format!("functions::{low}({})", arguments(&all, is_raw)),
        };
        let comm = all.iter().find(|it| it.c == "MPI_Comm").map(|it| it.name.to_owned());
        let at = all.iter().find(|it| it.c == "MPI_Comm *").map(|it| format!("*{}", it.name));
        let comm = match made {
            Some(_) => comm,
            None => comm.or(at),
        };
        match comm.filter(|_| !is_raw) {
            _ if is_raw => format!("always(own, site, |caller| {{ {run} }})"),
            Some(comm) => format!("call(own, site, {comm}, |caller| {{ {run} }})"),
            None => format!("call(own, site, fixed::COMM_WORLD, |caller| {{ {run} }})"),
        }
    };
    let gives = if *returns == "double" { "f64" } else { "c_int" };
    write!(
        entries,
        "unsafe extern \"C\" fn {name}(own: *const Rank, from: usize{taken}) -> {gives} {{\n\
         const CALL: &ForeignCall =\n\
         &ForeignCall {{ function: \"MPI_{name}\", file: \"\", line: 0 }};\n\
         let site = Site {{ call: CALL, address: from }};\n\
         // SAFETY: the shim gives this rank's state, the program what the standard asks for.\n\
         unsafe {{ {body} }}\n}}\n",
    )
    .expect("a String grows");
    format!("Entry({name} as *const ()),\n")
}

/// The entries, and the table of them.
pub(crate) fn table(functions: &[Function<'_>], teams: &[&str]) -> String {
    let mut entries = String::new();
    let mut lines: String = functions.iter().map(|it| entry(it, &mut entries)).collect();
    lines.extend(teams.iter().map(|it| format!("Entry(crate::embed::{it} as *const ()),\n")));
    format!("{entries}\n/// The shim's table.\npub static TABLE: &[Entry] = &[\n{lines}];\n")
}
