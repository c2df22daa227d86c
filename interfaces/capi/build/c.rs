//! The header's functions, and the macros that pass a line.

use super::table::{Function, Item, functions};
use super::text::{filled, listed};

fn commented(docs: &str, safety: &str, indent: &str) -> String {
    let one = format!("{indent}/* {docs} */\n");
    if safety.is_empty() && one.len() <= 100 {
        return one;
    }
    let line = format!("{indent} * ");
    let mut text = format!("{indent}/*\n{}", filled(docs, &line));
    if !safety.is_empty() {
        text += &format!("{indent} *\n{}", filled(&format!("Safety: {safety}"), &line));
    }
    text + indent + " */\n"
}

fn declared(function: &Function) -> Vec<String> {
    let all: Vec<String> = function.all().iter().map(|it| it.declared()).collect();
    if all.is_empty() { vec!["void".into()] } else { all }
}

pub(crate) fn spaced(c: &str) -> String {
    if c.ends_with('*') { c.to_owned() } else { format!("{c} ") }
}

fn item(item: &Item) -> String {
    match item {
        Item::Group(title) => format!("/* {title} */\n"),
        Item::Handle(name, docs) => {
            commented(docs, "", "") + &format!("typedef struct {name} {name};\n")
        }
        Item::Number(name, c, docs) => commented(docs, "", "") + &format!("typedef {c} {name};\n"),
        Item::Constants(_, all) => {
            let one = |[name, value, _, docs]: &[String; 4]| {
                let value = match value.split_once(" | ") {
                    Some((left, right)) => format!("(({left}) | {right})"),
                    None if value.contains(' ') => format!("({value})"),
                    None => value.clone(),
                };
                commented(docs, "", "") + &format!("#define {name} {value}\n")
            };
            all.iter().map(one).collect()
        }
        Item::Struct(name, docs, fields) => {
            let mut text = commented(docs, "", "") + &format!("typedef struct {name} {{\n");
            for (field, docs) in fields {
                text += &commented(docs, "", "    ");
                text += &format!("    {};\n", field.declared());
            }
            text + &format!("}} {name};\n")
        }
        Item::Callback(it) => {
            let head = format!("typedef void (*{})(", it.name);
            commented(&it.docs, "", "") + &listed(&head, &declared(it), ");", "")
        }
        Item::Function(it) => {
            let head = format!("{}{}(", spaced(&it.returns), it.symbol());
            commented(&it.docs, &it.safety, "") + &listed(&head, &declared(it), ");", "")
        }
    }
}

/// The part between the first lines and the last ones of phalanx_functions.h.
pub(crate) fn header(items: &[Item]) -> String {
    let begin = "#ifdef __cplusplus\nextern \"C\" {\n#endif\n";
    let end = "#ifdef __cplusplus\n}\n#endif\n";
    // Numbers and constants first, as functions are of them.
    let first = items.iter().position(|it| matches!(it, Item::Function(_))).unwrap_or(0) - 1;
    let all = |items: &[Item]| items.iter().map(item).collect::<Vec<String>>().join("\n");
    format!("{}\n{begin}\n{}\n{end}", all(&items[..first]), all(&items[first..]))
}

/// The macros, with C's names of the parameters.
pub(crate) fn macros(items: &[Item]) -> String {
    let mut text = String::new();
    for function in functions(items) {
        for (name, parameters) in function.macros() {
            let own = parameters.iter().filter(|it| it.1.is_none()).map(|it| it.0.clone());
            let own: Vec<String> = own.collect();
            let passed = parameters.iter().map(|(name, given)| given.map_or(&**name, |it| it[0]));
            let passed = passed.chain(["PHX_HERE"]).map(str::to_owned).collect::<Vec<String>>();
            let head = format!("#define {name}({}) ", own.join(", "));
            let call = format!("{}({})", function.symbol(), passed.join(", "));
            if head.len() + call.len() <= 100 {
                text += &format!("{head}{call}\n");
                continue;
            }
            let head = listed(head.split_inclusive('(').next().unwrap_or(""), &own, ")", " \\");
            text += &format!("{} \\\n", head.trim_end());
            text += &listed(&format!("    {}(", function.symbol()), &passed, ")", " \\");
        }
    }
    text
}
