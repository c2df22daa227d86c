//! The standard's numbers and names, as the header has them: for Fortran and for the runtime.

use super::HANDLES;

/// A number of the header.
pub(crate) struct Constant<'a> {
    pub(crate) name: &'a str,
    /// The handle's type, if it is one.
    pub(crate) handle: Option<&'a str>,
    pub(crate) value: i64,
    /// What stands behind it.
    comment: &'a str,
}

/// The header's numbers, in its order; addresses are none.
pub(crate) fn constants(header: &str) -> impl Iterator<Item = Constant<'_>> {
    header.lines().filter_map(|line| {
        let (line, comment) = line.split_once(" /* ").unwrap_or((line, ""));
        let (line, comment) = (line.trim().trim_end_matches(','), comment.trim_end_matches(" */"));
        let (name, value) = match line.strip_prefix("#define ") {
            Some(rest) => rest.split_once(' ')?,
            None => line.split_once(" = ")?,
        };
        let value = value.trim_matches(['(', ')']);
        let (cast, value) = match value.rsplit_once(')') {
            Some((cast, value)) => (Some(cast), value),
            None => (None, value),
        };
        let value = match value.strip_prefix("0x") {
            Some(hex) => i64::from_str_radix(hex, 16).ok()?,
            None => value.parse().ok()?,
        };
        let is_one = name.starts_with("MPI_") && !name.contains('(');
        let is_address = cast.is_some_and(|it| it.ends_with('*'));
        let handle = cast.and_then(|it| it.strip_prefix("MPI_"));
        (is_one && !is_address).then_some(Constant { name, handle, value, comment })
    })
}

/// The runtime's constants, and the names of datatypes and operators.
pub(crate) fn runtime(header: &str) -> String {
    let mut text = String::new();
    for Constant { name, handle, value, .. } in constants(header) {
        let bare = name.trim_start_matches("MPI_");
        let ty = match handle {
            Some(handle) if HANDLES.contains(&handle) => "Handle",
            None if bare.starts_with("MAX_") => "usize",
            None => "c_int",
            Some(_) => continue,
        };
        // (A few names of datatypes begin with a digit.)
        if bare.starts_with(|it: char| it.is_ascii_alphabetic()) && i32::try_from(value).is_ok() {
            text += &format!("/// {name}.\npub const {bare}: {ty} = {value};\n");
        }
    }
    for (list, of) in [("DATATYPES", "Datatype"), ("OPERATORS", "Op")] {
        let all = constants(header).filter(|it| it.handle == Some(of));
        let rows: String = all.map(|it| format!("({}, \"{}\"),\n", it.value, it.name)).collect();
        text += &format!("/// Names.\npub static {list}: &[(Handle, &str)] = &[\n{rows}];\n");
    }
    let mut words = String::new();
    text += "/// The standard's error classes.\n#[derive(Clone, Copy, Debug, PartialEq, Eq)]\n\
             #[expect(missing_docs, reason = \"the standard's names\")]\npub enum Class {\n";
    for it in constants(header).filter(|it| it.handle.is_none() && !it.comment.is_empty()) {
        let name = it.name.trim_start_matches("MPI_").trim_start_matches("ERR_").split('_');
        let name: String = name.map(|it| it[..1].to_owned() + &it[1..].to_lowercase()).collect();
        text += &format!("{name} = {},\n", it.value);
        words += &format!("\"{}\",\n", it.comment);
    }
    text + &format!("}}\n/// Their words.\npub static CLASS_TEXTS: &[&str] = &[\n{words}];\n")
}

/// The predefined datatypes, of which the comments say elements and bytes.
pub(crate) fn basics(header: &str) -> String {
    let mut text = String::from(
        "/// By handle, from `FIRST` on.\nconst BASICS: [Option<Basic>; 256] = {\n\
         use Element::*;\nlet mut all = [None; 256];\n",
    );
    for it in constants(header).filter(|it| it.handle == Some("Datatype")) {
        if let Some((element, bytes)) = it.comment.split_once(", ") {
            let (size, extent) = bytes.split_once(" of ").unwrap_or((bytes, bytes));
            text += &format!(
                "all[{}] = Some(Basic {{ element: {element}, size: {size}, extent: {extent} }});\n",
                it.value - 0x200
            );
        }
    }
    text + "all\n};\n"
}
