//! The table of recorded runs: where a function reaches other ranks, or completes such a call, its
//! entry begins and ends an event around the usual entry. The event's contents are read
//! off the parameters, by their types and names (those of the standard).

use super::Function;
use super::calls::{BEFORE, Parameter, parameters};
use std::fmt::Write as _;

/// Collectives on data; each has a started form (`I..`), and those of neighbours a prefix.
pub(crate) const ON_DATA: [&str; 17] = [
    "barrier",
    "bcast",
    "gather",
    "gatherv",
    "scatter",
    "scatterv",
    "allgather",
    "allgatherv",
    "alltoall",
    "alltoallv",
    "alltoallw",
    "reduce",
    "allreduce",
    "reduce_scatter",
    "reduce_scatter_block",
    "scan",
    "exscan",
];

/// Other collectives.
const COLLECTIVE: [&str; 21] = [
    "Finalize",
    "Comm_dup",
    "Comm_dup_with_info",
    "Comm_idup",
    "Comm_idup_with_info",
    "Comm_split",
    "Comm_split_type",
    "Comm_create",
    "Cart_create",
    "Cart_sub",
    "Graph_create",
    "Dist_graph_create",
    "Dist_graph_create_adjacent",
    "Intercomm_create",
    "Intercomm_merge",
    "Win_create",
    "Win_allocate",
    "Win_allocate_shared",
    "Win_create_dynamic",
    "Win_free",
    "Win_fence",
];

/// The other recorded functions, beside messages, requests and access to windows.
const OTHERS: [&str; 23] = [
    "Init",
    "Init_thread",
    "Abort",
    "Comm_free",
    "Comm_disconnect",
    "Comm_create_group",
    "Comm_create_from_group",
    "Intercomm_create_from_groups",
    "Win_start",
    "Win_complete",
    "Win_post",
    "Win_wait",
    "Win_test",
    "Win_lock",
    "Win_unlock",
    "Win_lock_all",
    "Win_unlock_all",
    "Win_flush",
    "Win_flush_all",
    "Win_flush_local",
    "Win_flush_local_all",
    "Win_sync",
    "Buffer_detach",
];

/// Functions that may end without finding a message.
const POLLS: [&str; 8] = [
    "Test",
    "Testall",
    "Testany",
    "Testsome",
    "Iprobe",
    "Improbe",
    "Request_get_status",
    "Win_test",
];

/// A function's name without the mark of its form with large counts.
fn base(function: &Function) -> &str {
    &function.base
}

fn is_collective(base: &str) -> bool {
    let low = base.to_lowercase();
    let low = low.strip_prefix('i').filter(|it| ON_DATA.contains(it)).unwrap_or(&low);
    let low = low.strip_prefix("ineighbor_").unwrap_or(low);
    let low = low.strip_prefix("neighbor_").unwrap_or(low);
    ON_DATA.contains(&low) || COLLECTIVE.contains(&base)
}

fn is_partner(it: &Parameter<'_>) -> bool {
    it.c == "int" && matches!(it.name, "dest" | "source" | "target_rank")
}

fn is_request(it: &Parameter<'_>) -> bool {
    it.c.starts_with("MPI_Request") || it.c.starts_with("MPI_Message")
}

/// Whether it reaches other ranks, or completes a call that does.
fn is_recorded(function: &Function, all: &[Parameter<'_>]) -> bool {
    let base = base(function);
    let is_one = is_collective(base) || OTHERS.contains(&base);
    function.is_there
        && function.returns == "int"
        && (is_one || all.iter().any(|it| is_partner(it) || is_request(it)))
}

/// The object of the call.
fn on(all: &[Parameter<'_>]) -> String {
    let first = |c: &str| all.iter().find(|it| it.c == c).map(|it| it.name);
    let list = all.iter().position(|it| it.c == "MPI_Request []");
    match () {
        () if first("MPI_Comm").is_some() => format!("On::Comm({})", first("MPI_Comm").unwrap()),
        () if first("MPI_Win").is_some() => format!("On::Win({})", first("MPI_Win").unwrap()),
        () if list.is_some_and(|it| it > 0) => {
            let at = list.unwrap();
            let (count, list) = (all[at - 1].name, all[at].name);
            format!("On::Requests({list}, usize::try_from({count}).unwrap_or(0))")
        }
        () if all.first().is_some_and(|it| it.c == "MPI_Request *") => {
            format!("On::Requests({}, 1)", all[0].name)
        }
        () if first("MPI_Request").is_some() => {
            format!("On::Requests(&raw const {}, 1)", first("MPI_Request").unwrap())
        }
        () if first("MPI_Comm *").is_some() && all.len() == 1 => {
            format!("On::Comm(*{})", all[0].name)
        }
        () if first("MPI_Win *").is_some() && all.len() == 1 => {
            format!("On::Win(*{})", all[0].name)
        }
        () => "On::All".to_owned(),
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
    if base(function).to_lowercase().contains("scatter") && !function.name.contains("educe") {
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
    let base = base(function);
    let (is_collective, is_poll) = (is_collective(base), POLLS.contains(&base));
    let (mut before, mut after) = (String::new(), String::from("code"));
    if let Some(it) = all.iter().find(|it| it.c == "MPI_Status *") {
        let status = it.name;
        if !is_poll {
            // It names the sender, whether the program asks for that or not.
            write!(
                before,
                "let mut kept = Status::default(); \
                 let {status} = if {status}.is_null() {{ &raw mut kept }} else {{ {status} }}; "
            )
            .expect("a String grows");
        }
        write!(after, ", status: {status}").expect("a String grows");
    }
    let is_on_requests = on(all).starts_with("On::Requests");
    let last = all.last().filter(|it| it.c == "MPI_Request *" && !is_on_requests);
    if let Some(it) = last {
        write!(after, ", started: {}", it.name).expect("a String grows");
    }
    let is_started_collective = last.is_some() && is_collective;
    let is_receive =
        matches!(base, "Recv" | "Mrecv" | "Irecv" | "Imrecv" | "Recv_init" | "Probe" | "Mprobe");
    if is_receive {
        after.push_str(", is_receive: true");
    }
    if base == "Waitany" {
        after.push_str(", index");
    }
    if let Some(it) = all.iter().find(|it| is_poll && matches!(it.name, "flag" | "outcount")) {
        write!(after, ", flag: {}", it.name).expect("a String grows");
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
            writeln!(names, "({index}, Entry({} as *const ())),", function.name)
                .expect("a String grows");
        }
    }
    format!(
        "{entries}\n/// The functions that have another entry in a recorded run, by their places.\n\
         pub(super) static RECORDED: &[(usize, Entry)] = &[\n{names}];\n"
    )
}
