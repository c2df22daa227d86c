//! The Fortran module's constants, types and interfaces, and the macros that pass a line.

use super::table::{Function, Item, Parameter, functions, value};
use super::text::{filled, listed};
use std::collections::BTreeSet;

/// The kind of a number in Fortran.
fn number(c: &str) -> Option<&'static str> {
    Some(match c.trim_start_matches("const ") {
        "int" | "phx_err" => "integer(c_int)",
        "size_t" => "integer(c_size_t)",
        "int64_t" | "phx_type" | "phx_op" | "phx_request" => "integer(c_int64_t)",
        "double" => "real(c_double)",
        _ => return None,
    })
}

/// A parameter's declaration: the part before the name, and the name.
fn declared(it: &Parameter) -> (String, String) {
    let (c, name) = (it.c.trim_end(), &it.name);
    let is_read = it.is_array && c.starts_with("const ") || c.ends_with("const");
    let intent = if is_read { ", intent(in)" } else { "" };
    let pointed = c.strip_suffix('*').map(str::trim_end);
    if it.is_optional {
        return ("type(c_ptr), value".into(), name.clone());
    }
    if c.ends_with("_fn") {
        return ("type(c_funptr), value".into(), name.clone());
    }
    if c.ends_with("char") || c.ends_with("char *") {
        let intent = if c.starts_with("const") { ", intent(in)" } else { "" };
        return (format!("character(kind=c_char){intent}"), format!("{name}(*)"));
    }
    if let Some(kind) = number(c) {
        return match it.is_array {
            true => (format!("{kind}{intent}"), format!("{name}(*)")),
            false => (format!("{kind}, value"), name.clone()),
        };
    }
    if let Some(kind) = pointed.filter(|it| !it.starts_with("const ")).and_then(number) {
        return (kind.into(), name.clone());
    }
    if c == "phx_status *" {
        return ("type(phx_status)".into(), name.clone());
    }
    match (it.is_array, pointed.is_some_and(|it| it.ends_with('*'))) {
        (true, _) => (format!("type(c_ptr){intent}"), format!("{name}(*)")),
        (false, true) => ("type(c_ptr)".into(), name.clone()),
        (false, false) => ("type(c_ptr), value".into(), name.clone()),
    }
}

/// Functions of which the module has another by this name, which calls them, or had: theirs ends in
/// _c.
const RENAMED: [&str; 5] =
    ["phx_version", "phx_error_name", "phx_last_error", "phx_run", "phx_external"];

fn interface(function: &Function) -> String {
    let mut lines: Vec<(String, Vec<String>)> = Vec::new();
    for (declared, name) in function.all().iter().map(declared) {
        match lines.iter_mut().find(|(it, _)| *it == declared) {
            Some((_, names)) => names.push(name),
            None => lines.push((declared, vec![name])),
        }
    }
    lines.push((number(&function.returns).unwrap_or("type(c_ptr)").into(), vec!["res".into()]));
    let all: String = lines.iter().map(|(declared, _)| declared.as_str()).collect();
    let known = ["c_char", "c_double", "c_funptr", "c_int", "c_int64_t", "c_ptr", "c_size_t"];
    let mut imports: BTreeSet<&str> = BTreeSet::new();
    let words = all.split(|c: char| !c.is_alphanumeric() && c != '_');
    imports.extend(words.filter(|it| known.contains(it) || *it == "phx_status"));
    let imports: Vec<&str> = imports.into_iter().collect();
    let names: Vec<String> = function.all().into_iter().map(|it| it.name).collect();
    let symbol = function.symbol();
    let (name, bound) = match RENAMED.contains(&symbol.as_str()) {
        true => (format!("{symbol}_c"), format!("bind(C, name=\"{symbol}\")")),
        false => (symbol, "bind(C)".into()),
    };
    let head = format!("        function {name}(");
    let mut text = listed(&head, &names, &format!(") result(res) {bound}"), " &");
    text += &format!("            import :: {}\n", imports.join(", "));
    for (declared, names) in lines {
        text += &listed(&format!("            {declared} :: "), &names, "", " &");
    }
    text + "        end function\n"
}

pub(crate) fn interfaces(items: &[Item]) -> String {
    functions(items).map(interface).collect()
}

pub(crate) fn constants(items: &[Item]) -> String {
    let mut text = String::new();
    for item in items {
        if let Item::Constants(ty, all) = item {
            let kind = number(ty).expect("a number");
            let one =
                |[name, it, ..]: &[String; 4]| format!("{} = {}", name.to_lowercase(), value(it));
            let all: Vec<String> = all.iter().map(one).collect();
            text += &listed(&format!("    {kind}, parameter :: "), &all, "", " &");
        }
    }
    text
}

/// The structs, of zeros as long as nothing else is stored. (Those of pairs have the names of
/// constants, as Fortran knows no case.)
pub(crate) fn structs(items: &[Item]) -> String {
    let mut text = String::new();
    for item in items {
        if let Item::Struct(name, docs, fields) = item
            && !name.ends_with("_at")
        {
            text += &format!("{}    type, bind(C) :: {name}\n", filled(docs, "    ! "));
            for (it, _) in fields {
                let field = match number(&it.c) {
                    Some(kind) => format!("{kind} :: {} = 0", it.name),
                    None => format!("type(c_ptr) :: {} = c_null_ptr", it.name),
                };
                text += &format!("        {field}\n");
            }
            text += "    end type\n";
        }
    }
    text
}

/// The macros, with letters for the parameters, as lines of Fortran are short.
pub(crate) fn macros(items: &[Item]) -> String {
    let mut text = String::new();
    for function in functions(items) {
        for (name, parameters) in function.macros() {
            let mut letters = 'a'..='z';
            let (mut own, mut passed) = (Vec::new(), Vec::new());
            for (_, given) in &parameters {
                if given.is_none() {
                    own.push(letters.next().expect("a letter").to_string());
                }
                passed.push(given.map_or_else(|| own[own.len() - 1].clone(), |it| it[1].into()));
            }
            let head = format!("#define {name}({})", own.join(","));
            let call = format!("{}({},PHX_HERE)", function.symbol(), passed.join(","));
            let between = if head.len() + 1 + call.len() <= 100 { " " } else { " \\\n    " };
            text += &format!("{head}{between}{call}\n");
        }
    }
    text
}
