//! The table of recorded runs: where a function reaches other ranks, or completes such a call, its
//! entry begins and ends an event around the usual entry. The event's contents are read
//! off the parameters, by their types and names (those of the standard).

use super::Function;
use super::calls::{BEFORE, Parameter, parameters};

fn is_collective(function: &Function) -> bool {
    function.is("data") || function.is("collective")
}

fn is_partner(it: &Parameter<'_>) -> bool {
    it.c == "int" && matches!(it.name, "dest" | "source" | "target_rank")
}

fn is_request(it: &Parameter<'_>) -> bool {
    it.c.starts_with("MPI_Request") || it.c.starts_with("MPI_Message")
}

/// Whether it reaches other ranks, or completes a call that does.
fn is_recorded(function: &Function, all: &[Parameter<'_>]) -> bool {
    let is_one = is_collective(function) || function.is("recorded");
    function.is_there
        && function.returns == "int"
        && (is_one || all.iter().any(|it| is_partner(it) || is_request(it)))
}

/// The object of the call.
fn on(all: &[Parameter<'_>]) -> String {
    let first = |c: &str| all.iter().find(|it| it.c == c).map(|it| it.name);
    let alone = |c: &str| first(c).filter(|_| all.len() == 1);
    if let Some(comm) = first("MPI_Comm") {
        format!("On::Comm({comm})")
    } else if let Some(win) = first("MPI_Win") {
        format!("On::Win({win})")
    } else if let Some([count, list]) = all.windows(2).find(|it| it[1].c == "MPI_Request []") {
        format!("On::Requests({}, usize::try_from({}).unwrap_or(0))", list.name, count.name)
    } else if let Some(request) = all.first().filter(|it| it.c == "MPI_Request *") {
        format!("On::Requests({}, 1)", request.name)
    } else if let Some(request) = first("MPI_Request") {
        format!("On::Requests(&raw const {request}, 1)")
    } else if let Some(comm) = alone("MPI_Comm *") {
        format!("On::Comm(*{comm})")
    } else if let Some(win) = alone("MPI_Win *") {
        format!("On::Win(*{win})")
    } else {
        "On::All".to_owned()
    }
}

/// Root or partner: of a call that sends and receives at once, the rank for which it waits.
fn peer(all: &[Parameter<'_>]) -> String {
    let names = ["source", "dest", "root", "target_rank"];
    let named = |name: &&str| all.iter().find(|it| it.c == "int" && it.name == *name);
    let of_window = all.last().filter(|it| it.c == "MPI_Win");
    let rank =
        all.iter().find(|it| it.c == "int" && it.name == "rank").filter(|_| of_window.is_some());
    match names.iter().find_map(named).or(rank) {
        Some(it) => format!("Some({})", it.name),
        None => "None".to_owned(),
    }
}

/// The bytes of this rank's vector or block: of the first buffer that has some; of scattered data,
/// of the last.
fn bytes(function: &Function, all: &[Parameter<'_>]) -> String {
    let is_neighbours = function.name.to_lowercase().contains("neighbor_");
    let mut found = Vec::new();
    for (at, it) in all.iter().enumerate().skip(1) {
        let types = |more: usize| all.get(at + more).is_some_and(|it| it.c == "MPI_Datatype");
        let (buffer, count) = (all[..at].iter().rev().find(|it| it.c.ends_with("void *")), it.name);
        let Some(buffer) = buffer.map(|it| it.name) else { continue };
        let is_list = matches!(it.c.as_str(), "const int []" | "const MPI_Count []");
        let ty = |more: usize| all[at + more].name;
        if matches!(it.c.as_str(), "int" | "MPI_Count") && types(1) {
            found.push(format!("sized(&*own, {buffer}, {count}.into(), {})", ty(1)));
        } else if is_list && !is_neighbours && all.iter().any(|it| it.c == "MPI_Comm") {
            let ty = match () {
                () if types(1) => ty(1),
                () if types(2) => ty(2),
                () => continue,
            };
            let comm = all.iter().find(|it| it.c == "MPI_Comm").unwrap().name;
            found.push(format!("sized(&*own, {buffer}, total(&*own, {comm}, {count}), {ty})"));
        }
    }
    let low = function.base.to_lowercase();
    if low.contains("scatter") && !low.contains("reduce") {
        found.reverse();
    }
    match found.split_first() {
        Some((first, rest)) => {
            let rest: String = rest.iter().map(|it| format!(".or_else(|| {it})")).collect();
            format!("{first}{rest}.unwrap_or(0)")
        }
        None => "0".to_owned(),
    }
}

/// A recorded function's entry.
fn entry(function: &Function, place: usize, all: &[Parameter<'_>]) -> String {
    let Function { name, .. } = function;
    let taken: String = all.iter().map(|it| format!(", {}: {}", it.name, it.rust())).collect();
    let given: String = all.iter().map(|it| format!(", {}", it.name)).collect();
    let (is_collective, is_poll) = (is_collective(function), function.is("polls"));
    let (mut before, mut after) = (String::new(), String::from("code"));
    if let Some(it) = all.iter().find(|it| it.c == "MPI_Status *") {
        let status = it.name;
        if !is_poll {
            // It names the sender, whether the program asks for that or not.
            before += &format!(
                "let mut kept = Status::default(); \
                 let {status} = if {status}.is_null() {{ &raw mut kept }} else {{ {status} }}; "
            );
        }
        after += &format!(", status: {status}");
    }
    let is_on_requests = on(all).starts_with("On::Requests");
    let last = all.last().filter(|it| it.c == "MPI_Request *" && !is_on_requests);
    if let Some(it) = last {
        after += &format!(", started: {}", it.name);
    }
    let is_started_collective = last.is_some() && is_collective;
    if function.is("receives") {
        after.push_str(", is_receive: true");
    }
    if function.base == "Waitany" {
        after.push_str(", index");
    }
    if let Some(it) = all.iter().find(|it| is_poll && matches!(it.name, "flag" | "outcount")) {
        after += &format!(", flag: {}", it.name);
    }
    let starts = if is_started_collective { "it.starts(); " } else { "" };
    let (on, peer, bytes) = (on(all), peer(all), bytes(function, all));
    format!(
        "unsafe extern \"C\" fn {name}(own: *const Rank, from: usize{taken}) -> c_int {{\n\
         let site = Site::new({place}, from);\n\
         // SAFETY: as in the entry that is called.\n\
         unsafe {{ {before}\
         let facts = Facts {{ on: {on}, peer: {peer}, bytes: {bytes}, \
         is_collective: {is_collective}, is_poll: {is_poll} }}; \
         let it = Recording::begin(own, site, facts); {starts}\
         let code = super::table::{name}(own, from{given}); \
         it.end(After {{ {after}, ..After::NOTHING }}); code }}\n}}\n"
    )
}

/// The entries, and the table of them. A function that is not recorded has the usual entry.
pub(crate) fn table(functions: &[Function]) -> String {
    let mut entries = String::new();
    let mut names = String::new();
    for (index, function) in functions.iter().enumerate() {
        let all = parameters(function);
        if is_recorded(function, &all) {
            entries.push_str(&entry(function, BEFORE.len() + index, &all));
            names += &format!("({index}, Entry({} as *const ())),\n", function.name);
        }
    }
    format!(
        "{entries}\n/// The functions that have another entry in a recorded run, by their places.\n\
         pub(super) static RECORDED: &[(usize, Entry)] = &[\n{names}];\n"
    )
}
