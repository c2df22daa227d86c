//! The runtime's table: for each function an entry with C's arguments, which makes of them those
//! of the functions of `src/rt/api`, keeps a new object, and reports an error.
//!
//! | in C | in Rust |
//! |---|---|
//! | address, count, datatype | `Buffer` |
//! | address, counts, displacements, datatype | `Blocks`; with a datatype each, `TypedBlocks` |
//! | two addresses, count (or counts), datatype, operator | `Operands` |
//! | `dest` or `source`, and a tag | `Peer` |
//! | room for a text, and its length | `TextOut` |
//! | `target_rank`, displacement, count, datatype | `Remote` |
//! | communicator, group, datatype, window | the object, looked up |
//! | a handle's address, as the last of several arguments | the object that the function gives |
//! | a list of counts or of displacements, `int` or wide | `Counts` |
//! | where a count is written, `int` or wide | `CountOut` |
//! | the last arguments, of functions with the mark `answers` | what the function gives |
//! | other pointers | `Out`, `List`, `StatusOut` |
//!
//! A function with large counts (`_c`) and the one without are one function there.

use super::Function;

/// A parameter: its type in C, the one of the list, and its name.
pub(crate) struct Parameter<'a> {
    pub(crate) c: String,
    listed: String,
    pub(crate) name: &'a str,
    is_large: bool,
}

impl Parameter<'_> {
    /// Its type at the border.
    pub(crate) fn rust(&self) -> &'static str {
        match self.c.as_str() {
            "int" | "const int" => "c_int",
            "MPI_Aint" => "isize",
            "MPI_Count" => "i64",
            "MPI_Count *" => "*mut i64",
            "int *" | "int []" => "*mut c_int",
            "const int []" => "*const c_int",
            "MPI_Count []" => "*mut i64",
            "const MPI_Count []" => "*const i64",
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
            "char * []" => "*mut *mut c_char",
            "MPI_User_function *" => "NearFunction",
            "MPI_User_function_c *" => "FarFunction",
            "MPI_Comm_errhandler_function *"
            | "MPI_Win_errhandler_function *"
            | "MPI_Session_errhandler_function *" => "ErrorFunction",
            "MPI_Grequest_query_function *" => "Option<QueryFunction>",
            "MPI_Grequest_free_function *" => "Option<FreeFunction>",
            "MPI_Grequest_cancel_function *" => "Option<CancelFunction>",
            // Some of these are numbers, not functions.
            other if other.ends_with("_function *") => "*const c_void",
            other if other.ends_with(['*', ']']) => "*mut Handle",
            _ => "Handle",
        }
    }

    /// The parameter's type in a function that has two widths.
    fn counted(&self) -> Option<String> {
        let Parameter { name, is_large, .. } = self;
        let width = if *is_large { "far" } else { "near" };
        // Addresses and MPI_Count are of one length.
        let cast = if *is_large { ".cast()" } else { "" };
        Some(match (self.listed.as_str(), is_large) {
            ("COUNT" | "DISPL", false) => format!("i64::from({name})"),
            ("COUNT", true) => (*name).to_owned(),
            ("DISPL", true) => format!("{name} as i64"),
            ("WIDE", false) => (*name).to_owned(),
            ("WIDE", true) => format!("{name} as isize"),
            ("COUNT *" | "DISPL *", _) => format!("CountOut::{width}({name}{cast})"),
            ("const COUNT []" | "const DISPL []", _) => format!("Counts::{width}({name}{cast})"),
            ("WIDE *", _) => format!("Out::<isize>::new({name}{cast})"),
            ("const WIDE []", _) => format!("List::<isize>::new({name}{cast})"),
            ("NEAR", _) => format!("i64::from({name})"),
            ("FAR", _) => (*name).to_owned(),
            ("const NEAR []", _) => format!("Counts::near({name})"),
            ("FAR *", _) => format!("CountOut::far({name})"),
            ("BROAD *", _) => format!("Out::<isize>::new({name}.cast())"),
            _ => return None,
        })
    }

    /// Its type, if it stands alone.
    fn argument(&self, is_raw: bool) -> String {
        let name = self.name;
        if let Some(counted) = self.counted() {
            return counted;
        }
        match self.rust() {
            "c_int" | "isize" | "i64" | "NearFunction" | "FarFunction" | "ErrorFunction"
            | "*mut c_void" | "*const c_void" => name.to_owned(),
            "*const Status" => format!("&*{name}"),
            "*mut Status" => format!("StatusOut::new({name})"),
            // Of infos alone.
            "*const c_char" if matches!(name, "key" | "value") => {
                format!("&InfoText::new({name})")
            }
            "*const c_char" => format!("&text({name})"),
            "*mut c_char" => format!("RawText::new({name})"),
            rust if rust.starts_with("Option<") => name.to_owned(),
            rust if rust.starts_with("*mut") => format!("Out::new({name})"),
            rust if rust.starts_with("*const") => format!("List::new({name})"),
            _ => match self.c.as_str() {
                // Only a leader's is a communicator.
                "MPI_Comm" if name == "peer_comm" => name.to_owned(),
                "MPI_Comm" if !is_raw => format!("caller.comm({name})?.as_ref()"),
                "MPI_Win" if !is_raw => format!("caller.win({name})?.as_ref()"),
                "MPI_Session" if !is_raw => format!("caller.session({name})?.as_ref()"),
                "MPI_Group" if !is_raw => format!("caller.group({name})?.as_ref()"),
                "MPI_Datatype" if !is_raw => format!("caller.ty({name})?.as_any()"),
                _ => name.to_owned(),
            },
        }
    }
}

pub(crate) fn parameters(function: &Function) -> Vec<Parameter<'_>> {
    let is_one = |it: &&str| !matches!(*it, "void" | "...");
    let declared = function.parameters.split(", ").filter(is_one);
    let listed = function.listed.split(", ").filter(is_one);
    let one = |((text, listed), name): ((&str, &str), &'_ String)| {
        let ty = |text: &str| {
            let at = text.rfind(name.as_str()).expect("a parameter has its name");
            let (before, after) = (text[..at].trim(), &text[at + name.len()..]);
            if after.is_empty() { before.to_owned() } else { format!("{before} {after}") }
        };
        (ty(text), ty(listed))
    };
    let types: Vec<_> = declared.zip(listed).zip(&function.arguments).map(one).collect();
    let is_large = function.is_large;
    let all = types.into_iter().zip(&function.arguments);
    all.map(|((c, listed), name)| Parameter { c, listed, name, is_large }).collect()
}

/// The arguments of the function, of these parameters.
fn arguments(mut rest: &[Parameter<'_>], is_raw: bool, by_handle: bool) -> String {
    let mut text = String::from("caller");
    while let Some(first) = rest.first() {
        let kinds: Vec<&str> = rest.iter().map(|it| it.listed.as_str()).collect();
        let names: Vec<&str> = rest.iter().map(|it| it.name).collect();
        let counted = |index: usize| {
            let it: &Parameter<'_> = &rest[index];
            match it.listed.as_str() {
                // Displacements that are addresses in both widths.
                "const MPI_Aint []" => format!("Counts::far({}.cast())", it.name),
                _ => it.counted().expect("a count, or a list of counts"),
            }
        };
        let (argument, taken) = match (kinds.as_slice(), names.as_slice()) {
            (
                [
                    "const void *",
                    "void *",
                    "COUNT" | "const COUNT []",
                    "MPI_Datatype",
                    "MPI_Op",
                    ..,
                ],
                [a, b, _, t, o, ..],
            ) => (format!("Operands::new({a}, {b}, {}, {t}, {o})", counted(2)), 5),
            (["const void *" | "void *", "COUNT", "MPI_Datatype", ..], [at, _, t, ..]) => {
                (format!("Buffer::new({at}, {}, {t})", counted(1)), 3)
            }
            (
                ["const void *" | "void *", "const COUNT []", "const DISPL []", "MPI_Datatype", ..],
                [at, _, _, t, ..],
            ) => (format!("Blocks::new({at}, {}, {}, {t})", counted(1), counted(2)), 4),
            (
                [
                    "const void *" | "void *",
                    "const COUNT []",
                    "const DISPL []" | "const MPI_Aint []",
                    "const MPI_Datatype []",
                    ..,
                ],
                [at, _, _, t, ..],
            ) => (format!("TypedBlocks::new({at}, {}, {}, {t})", counted(1), counted(2)), 4),
            (["int", "int", ..], [peer @ ("dest" | "source"), tag, ..]) if tag.ends_with("tag") => {
                (format!("Peer::new({peer}, {tag})"), 2)
            }
            (
                ["int", "MPI_Aint", "COUNT", "MPI_Datatype", ..],
                [r @ "target_rank", d, _, t, ..],
            ) => (format!("Remote::new({r}, {d}, {}, {t})", counted(2)), 4),
            (["char *", "int *"], [at, length @ "resultlen"]) => {
                (format!("TextOut::new({at}, {length})"), 2)
            }
            _ if by_handle && first.c == "MPI_Datatype" => (first.name.to_owned(), 1),
            _ => (first.argument(is_raw), 1),
        };
        text += &format!(", {argument}");
        rest = &rest[taken..];
    }
    text
}

/// The objects of a call that can be started many times: the program may free them meanwhile.
fn held(all: &[Parameter<'_>], base: &str) -> String {
    let is_one = |it: &&Parameter<'_>| matches!(it.c.as_str(), "MPI_Datatype" | "MPI_Op");
    let ones: Vec<&str> = all.iter().filter(is_one).map(|it| it.name).collect();
    let mut text = format!("let mut held = functions::held(caller, &[{}]);", ones.join(", "));
    for list in all.iter().filter(|it| it.c == "const MPI_Datatype []") {
        let count = match (base.starts_with("neighbor"), list.name.starts_with("send")) {
            (false, _) => "comm.peers().len()",
            (true, true) => "functions::targets(&comm)",
            (true, false) => "functions::sources(&comm)",
        };
        let list = format!("List::new({}).take({count} as i64)", list.name);
        text += &format!(" held.extend(functions::held(caller, {list}));");
    }
    // Most have no list.
    text.replacen("let mut", if text.contains("extend") { "let mut" } else { "let" }, 1)
}

/// The runtime's function of this name, or the one that it is.
fn found<'a>(functions: &'a [Function], low: &'a str) -> &'a str {
    let it = functions.iter().find(|it| it.base.to_lowercase() == low);
    let other = it.and_then(|it| it.marks.iter().find_map(|it| it.strip_prefix("as:")));
    other.unwrap_or(low)
}

/// A function's entry, and its line in the table.
fn entry(functions: &[Function], place: usize, entries: &mut String) -> String {
    let function = &functions[place - BEFORE.len()];
    let Function { name, base, returns, .. } = function;
    let (name, base, returns) = (name.as_str(), base.as_str(), returns.as_str());
    if !function.is_there {
        return format!("Entry(absent!({place})),\n");
    }
    let all = parameters(function);
    let taken: String = all.iter().map(|it| format!(", {}: {}", it.name, it.rust())).collect();
    let (is_raw, by_handle) = (function.is("any-time"), function.is("by-handle"));
    let low = base.to_lowercase();
    let run = |low: &str, taken: String| format!("functions::{}({taken})", found(functions, low));
    let has = |c: &str| all.iter().any(|it| it.c == c);
    let is_collective_again = base.ends_with("_init") && has("MPI_Info") && has("MPI_Comm");
    let made = all.split_last().filter(|(last, before)| {
        last.rust() == "*mut Handle" && last.c.ends_with('*') && !before.is_empty()
    });
    let body = if returns != "int" {
        format!("let caller = Caller::new(own, site); {}", run(&low, arguments(&all, true, false)))
    } else {
        let body = match made {
            // A call that can be started many times is told how it is started once.
            Some((last, before)) if is_collective_again => {
                let (before, base) = (&before[..before.len() - 1], low.replace("_init", ""));
                let taken =
                    arguments(before, is_raw, false).replace("caller.comm(comm)?.as_ref()", "own");
                format!(
                    "let (comm, _) = (caller.comm(comm)?, info); {} \
                     let start = move |caller: Caller<'_>, own: &_| {}; \
                     let made = functions::again(caller, &comm, held, start)?; \
                     Out::new({}).set(made.keep(caller)); Ok(())",
                    held(before, &base),
                    run(&format!("i{base}"), taken),
                    last.name,
                )
            }
            Some((last, before)) => {
                let (taken, to) = (arguments(before, is_raw, by_handle), last.name);
                // The value that an error leaves there.
                let first = match last.c.as_str() {
                    "MPI_Comm *" => format!("Out::new({to}).set(standard::COMM_NULL); "),
                    "MPI_Datatype *" => format!("Out::new({to}).set(standard::DATATYPE_NULL); "),
                    _ => String::new(),
                };
                let make = match low.strip_prefix('r').filter(|_| function.is("requested")) {
                    Some(plain) => format!(
                        "let caller = caller.requested(); {}?; let made = Arc::clone(&caller.sent)",
                        run(plain, taken)
                    ),
                    None => format!("let made = {}?", run(&low, taken)),
                };
                format!("{first}{make}; Out::new({to}).set(made.keep(caller)); Ok(())")
            }
            None if function.is("answers") => {
                let (last, before) = all.split_last().expect("where the answer goes");
                let (taken, to) = (arguments(before, is_raw, false), last.argument(is_raw));
                format!("{to}.set({}?); Ok(())", run(&low, taken))
            }
            None if function.is("answers-twice") => {
                let (before, last) = all.split_at(all.len() - 2);
                let (taken, to) =
                    (arguments(before, is_raw, false), |it: usize| last[it].argument(is_raw));
                format!(
                    "let (one, other) = {}?; {}.set(one); {}.set(other); Ok(())",
                    run(&low, taken),
                    to(0),
                    to(1),
                )
            }
            None if function.is("data") && !function.is("within") => {
                let taken = arguments(&all, is_raw, by_handle);
                let taken = taken.replace("caller.comm(comm)?.as_ref()", "comm.as_ref()");
                format!(
                    "let comm = caller.comm(comm)?; if comm.is_inter() {{ \
                     functions::await_started(caller, {}?) }} else {{ {} }}",
                    run(&format!("i{low}"), taken.clone()),
                    run(&low, taken)
                )
            }
            None => {
                let taken = arguments(&all, is_raw, by_handle);
                let is_note = low.ends_with("_attr") || low.ends_with("_name");
                let taken = match low.starts_with("type_") && is_note {
                    true => {
                        taken.replace("caller.ty(datatype)?.as_any()", "&caller.noted(datatype)?")
                    }
                    false => taken,
                };
                run(&low, taken)
            }
        };
        let body = match function.is("within") {
            true => body.replace("caller.comm(", "caller.within("),
            false => body,
        };
        // Constructors of datatypes note it.
        let body = match function.is_large {
            true => format!("let caller = caller.large(); {body}"),
            false => body,
        };
        let body = match () {
            () if function.is("heeds-early") => format!("caller.heed_early(); {body}"),
            () if is_raw || function.is("leaves-early") => body,
            () => format!("caller.publish(); {body}"),
        };
        let of = |c: &&str| all.iter().find(|it| it.c == *c).map(|it| it.name.to_owned());
        let comm = ["MPI_Comm", "MPI_Win", "MPI_Session"].iter().find_map(of);
        let at = all.iter().find(|it| matches!(it.c.as_str(), "MPI_Comm *" | "MPI_Win *"));
        let at = at.map(|it| format!("*{}", it.name));
        let comm = match made {
            Some(_) => comm,
            None => comm.or(at),
        };
        match comm.filter(|_| !is_raw) {
            _ if is_raw => format!("always(own, site, |caller| {{ {body} }})"),
            Some(comm) => format!("call(own, site, {comm}, |caller| {{ {body} }})"),
            None => format!("call(own, site, standard::COMM_WORLD, |caller| {{ {body} }})"),
        }
    };
    let gives = match returns {
        "double" => "f64",
        "MPI_Aint" => "isize",
        _ => "c_int",
    };
    *entries += &format!(
        "#[inline(never)]\npub(super) unsafe extern \"C\" \
         fn {name}(own: *const Rank, from: usize{taken}) -> {gives} {{\n\
         let site = Site::new({place}, from);\n\
         // SAFETY: the shim gives this rank's state, the program the standard's arguments.\n\
         unsafe {{ {body} }}\n}}\n",
    );
    format!("Entry({name} as *const ()),\n")
}

/// Before MPI's functions among those of sites: no function, and one that is not MPI's.
pub(crate) const BEFORE: [&str; 2] = ["", "exit"];

/// The functions of sites.
pub(crate) fn names(functions: &[Function]) -> String {
    let names = BEFORE.map(str::to_owned).into_iter();
    let names = names.chain(functions.iter().map(|it| format!("MPI_{}", it.name)));
    let call = |it| format!("ForeignCall {{ function: \"{it}\", file: \"\", line: 0 }},\n");
    let (count, calls) = (BEFORE.len() + functions.len(), names.map(call).collect::<String>());
    format!(
        "/// The functions of sites.\npub static CALLS: [ForeignCall; {count}] = [\n{calls}];\n"
    )
}

/// The entries, and the table of them.
pub(crate) fn table(functions: &[Function], teams: &[&str]) -> String {
    let mut entries = String::new();
    let one = |index| entry(functions, BEFORE.len() + index, &mut entries);
    let mut lines: String = (0..functions.len()).map(one).collect();
    lines.extend(teams.iter().map(|it| format!("Entry(crate::embed::{it} as *const ()),\n")));
    format!("{entries}\n/// The shim's table.\npub static TABLE: &[Entry] = &[\n{lines}];\n")
}
