//! The methods of the C++ classes, but those that are written by hand.

use super::c::spaced;
use super::table::{Function, Item, Kind, Length, Parameter, by_counts, functions};
use super::text::{filled, first_sentence, listed};

/// The use that a method makes of the parameters of C's function.
#[derive(Default)]
struct Method {
    template: bool,
    /// Its own parameters.
    own: Vec<String>,
    /// The looks at lengths before the call.
    checks: Vec<String>,
    passed: Vec<String>,
    /// Its result: the type, the line that declares it, and the value.
    result: Option<[String; 3]>,
}

/// None if a parameter is nothing that all methods treat alike.
fn method(function: &Function, name: &str, parameters: &[Parameter]) -> Option<Method> {
    let mut it = Method::default();
    let has_own = |n: &str| {
        parameters.iter().find(|it| it.length == Some(Length::Of(n.into()))).map(|it| &it.name)
    };
    let first = parameters.iter().find(|it| it.is_buffer()).map_or("", |it| it.name.as_str());
    let is_varied =
        parameters.iter().any(|it| matches!(it.length, Some(Length::Own(_) | Length::Sum(_))));
    let each = |counts: &str| if counts == "counts" { "each".into() } else { counts.to_owned() };
    let block = match has_own("n") {
        Some(own) => format!("{own}.size()"),
        None => "block".into(),
    };
    if parameters.iter().any(|it| it.length == Some(Length::OfEach)) && block == "block" {
        let ranks = "static_cast<std::size_t>(size())";
        it.checks.push(format!("const std::size_t block = {first}.size() / {ranks};"));
    }
    let mut own_checks = Vec::new();
    for (i, p) in parameters.iter().enumerate() {
        let Parameter { name: p_name, c, .. } = p;
        let is_const = c.starts_with("const ");
        match &p.length {
            _ if i == 0 => {
                it.passed.push(if p_name == "scope" { "scope_".into() } else { "it_".into() })
            }
            Some(length) => {
                it.template |= p.is_buffer();
                let of = if p.is_buffer() { "T" } else { c.trim_start_matches("const ") };
                it.own.push(format!("span<{}{of}> {p_name}", if is_const { "const " } else { "" }));
                it.passed.push(format!("{p_name}.data()"));
                match length {
                    // A number that the object knows.
                    Length::Of(n) if !function.has(n) || n == p_name => {
                        let known =
                            if n == "dimensions" { "dimensions_" } else { &format!("this->{n}()") };
                        it.checks
                            .push(format!("detail::size(\"{name}\", {p_name}.size(), {known});"));
                    }
                    Length::Of(n) if has_own(n) == Some(p_name) => {}
                    Length::Of(n) => {
                        let other = has_own(n)?;
                        let sizes = format!("{p_name}.size(), {other}.size()");
                        it.checks.push(format!("detail::size(\"{name}\", {sizes});"));
                    }
                    Length::OfEach => {
                        let look = format!(
                            "detail::blocks(\"{name}\", {p_name}.size(), {block}, size());"
                        );
                        match p.at_root {
                            true => it.checks.push(format!(
                                "if (rank() == root) {{\n            {look}\n        }}"
                            )),
                            false => it.checks.push(look),
                        }
                    }
                    Length::Own(counts) => own_checks.push(format!(
                        "detail::own(\"{name}\", {}, rank(), {p_name}.size());",
                        each(counts)
                    )),
                    Length::Sum(counts) => {
                        let counts = each(counts);
                        let size = match p.at_root {
                            true => format!("rank() == root ? {p_name}.size() : {counts}.sum()"),
                            false => format!("{p_name}.size()"),
                        };
                        it.checks
                            .push(format!("detail::sums(\"{name}\", {counts}, size(), {size});"));
                    }
                }
            }
            None if p.is_optional && !is_varied => it.passed.push("nullptr".into()),
            None if p.is_array && !p.is_counts() && c != "size_t" => return None,
            None if p.is_counts() => {
                it.own.push(format!("counts {}", each(p_name)));
                it.passed.push(format!("{}.data()", each(p_name)));
            }
            None => match (c.as_str(), p_name.as_str()) {
                ("phx_type", _) => it.passed.push("type_of<T>()".into()),
                ("phx_op", _) => {
                    it.own.push("const op &by".into());
                    it.passed.push("by.get()".into());
                }
                ("size_t", "n") if is_varied => it.passed.push("std::size_t(-1)".into()),
                ("size_t", "n") => it.passed.push(block.clone()),
                ("size_t", n) if has_own(n).is_some() => {
                    it.passed.push(format!("{}.size()", has_own(n).expect("looked at")));
                }
                ("phx_status *" | "phx_comm **" | "double *" | "size_t *" | "int *", _)
                    if it.result.is_none() =>
                {
                    let (returns, first, made) = match c.as_str() {
                        "phx_status *" => ("phx_status", "{}", p_name.clone()),
                        "double *" => ("double", "0", p_name.clone()),
                        "size_t *" => ("std::size_t", "0", p_name.clone()),
                        "int *" => ("bool", "0", format!("{p_name} != 0")),
                        _ => ("comm", "nullptr", format!("comm::adopt({p_name})")),
                    };
                    let line = format!("{}{p_name} = {first};", spaced(&c[..c.len() - 1]));
                    it.result = Some([returns.into(), line, made]);
                    it.passed.push(format!("&{p_name}"));
                }
                ("phx_status *", _) => it.passed.push("nullptr".into()),
                // Elements of all ranks, and in the next parameter how many are of each.
                ("void **", _) => it.passed.push(format!("&{p_name}")),
                ("size_t", _) if p.is_array => {
                    let (all, each) = (&parameters[i - 1].name, each(p_name));
                    it.own.push(format!("std::vector<std::size_t> &{each}"));
                    it.checks.push(format!("{each}.assign(static_cast<std::size_t>(size()), 0);"));
                    it.passed.push(format!("{each}.data()"));
                    let n = format!("{all} == nullptr ? 0 : counts({each}).sum()");
                    let (line, made) = (
                        format!("void *{all} = nullptr;"),
                        format!("detail::taken<T>({all}, {n})"),
                    );
                    it.result = Some(["std::vector<T>".into(), line, made]);
                }
                ("int" | "size_t" | "phx_request", _) => {
                    it.own.push(format!("{} {p_name}", c.replace("size_t", "std::size_t")));
                    it.passed.push(p_name.clone());
                }
                _ => return None,
            },
        }
    }
    it.checks.extend(own_checks);
    if function.kind == Kind::Start {
        it.own.push("bool set_up = false".into());
        it.passed.extend(["set_up".into(), "&it".into()]);
        it.result = Some(["phx_request".into(), "phx_request it = 0;".into(), "it".into()]);
    }
    if it.passed.iter().any(|it| it == "&data") {
        return None; // Of a length that no parameter says.
    }
    it.own.push("here at = here()".into());
    it.passed.extend(["at.file".into(), "at.line".into()]);
    Some(it)
}

fn text(function: &Function, v: &str, parameters: &[Parameter]) -> Option<String> {
    let name = match function.kind {
        Kind::Start => format!("{}{v}", function.name.trim_start_matches("start_")),
        // (It is the class's, too.)
        _ => function.name.trim_start_matches("plan_").trim_start_matches("cart_").to_owned(),
    };
    let it = method(function, &name, parameters)?;
    let starts = format!("Starts `phx_{name}`.");
    let docs = if v.is_empty() { first_sentence(&function.docs) } else { &starts };
    let mut text = filled(docs, "    /// ");
    let template = if it.template { "template <class T> " } else { "" };
    let returns = it.result.as_ref().map_or("void", |it| &it[0]);
    let one = format!("    {template}{returns} {name}(");
    if it.template && one.len() + it.own.join(", ").len() + 3 > 100 {
        text += "    template <class T>\n";
        text += &listed(&format!("    {returns} {name}("), &it.own, ") {", "");
    } else {
        text += &listed(&one, &it.own, ") {", "");
    }
    if let Some([_, line, _]) = &it.result {
        text += &format!("        {line}\n");
    }
    for check in &it.checks {
        text += &format!("        {check}\n");
    }
    let head = format!("        detail::check({}(", function.symbol());
    text += &listed(&head, &it.passed, "));", "");
    if let Some([.., made]) = &it.result {
        text += &format!("        return {made};\n");
    }
    Some(text + "    }\n")
}

/// The methods of the class of `handle` that `by_hand`, the rest of it, does not have.
pub(crate) fn methods(items: &[Item], handle: &str, by_hand: &str) -> String {
    let mut all = String::new();
    for it in functions(items).filter(|it| it.kind != Kind::Plain && it.handle() == handle) {
        if ["void", "bool"].iter().any(|word| by_hand.contains(&format!("{word} {}(", it.name))) {
            continue;
        }
        all.extend(text(it, "", &it.parameters));
        if it.parameters.iter().any(|it| it.is_optional) {
            all.extend(text(it, "v", &by_counts(&it.parameters)));
        }
    }
    all
}
