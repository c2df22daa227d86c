//! The names of the interface for Rust, and the functions that C calls, each with its body's call.

use super::table::{Function, Item, Kind, Length, Parameter, functions};

/// The usual element types of the functions that solvers call all the time, and the operators: of
/// each pair there is a body that has all that a small call does. The first pair's is in the
/// exported function itself. (interfaces/capi/README.md, "Cost", has the instructions.)
const USUAL: [(&str, &str); 3] = [("PHX_F64", "f64"), ("PHX_I32", "i32"), ("PHX_I64", "i64")];
const OPERATORS: [(&str, &str); 3] =
    [("PHX_SUM", "op::Sum"), ("PHX_MIN", "op::Min"), ("PHX_MAX", "op::Max")];

fn ty(c: &str, is_array: bool) -> String {
    let (c, mut is_const) = match c.strip_prefix("const ") {
        Some(rest) => (rest, true),
        None => (c, false),
    };
    let end = c.find([' ', '*']).unwrap_or(c.len());
    let mut ty = match &c[..end] {
        "void" => "c_void".to_owned(),
        "char" => "c_char".to_owned(),
        "int" => "c_int".to_owned(),
        "double" => "f64".to_owned(),
        "size_t" => "usize".to_owned(),
        "int64_t" => "i64".to_owned(),
        "uint64_t" => "u64".to_owned(),
        other => other.to_owned(),
    };
    let stars = format!("{}{}", &c[end..], if is_array { "*" } else { "" });
    for star in stars.split('*').skip(1) {
        ty = format!("*{} {ty}", if is_const { "const" } else { "mut" });
        is_const = star.contains("const");
    }
    ty
}

fn declared(all: &[Parameter]) -> String {
    all.iter().map(|it| format!("{}: {}, ", it.name, ty(&it.c, it.is_array))).collect()
}

fn given(all: &[Parameter]) -> String {
    all.iter().map(|it| format!("{}, ", it.name)).collect()
}

fn documented(docs: &str) -> String {
    format!("/// {docs}\n")
}

/// The types and constants.
pub(crate) fn names(items: &[Item]) -> String {
    let mut text = String::new();
    let plain = "#[allow(non_camel_case_types)]\n";
    for item in items {
        match item {
            Item::Handle(name, docs) => {
                text += &documented(&format!("{docs} Pointers to it are no addresses."));
                text += &format!("{plain}#[derive(Debug)]\n#[repr(C)]\n");
                text += &format!("pub struct {name} {{ _nothing: [u8; 0] }}\n");
            }
            Item::Number(name, c, docs) => {
                text += &documented(docs);
                text += &format!("{plain}pub type {name} = {};\n", ty(c, false));
            }
            Item::Constants(of, all) => {
                let mut words = String::new();
                for [name, value, word, docs] in all {
                    text += &documented(docs);
                    text += &format!("pub const {name}: {} = {value};\n", ty(of, false));
                    if !word.is_empty() {
                        words += &format!("{name} => c\"{word}\",\n");
                    }
                }
                if !words.is_empty() {
                    text += &documented("A code in a few words.");
                    text += "pub(crate) fn words(code: phx_err) -> &'static std::ffi::CStr {\n";
                    text += &format!("match code {{\n{words}_ => c\"unknown error\",\n}}\n}}\n");
                }
            }
            Item::Struct(name, docs, fields) => {
                text += &documented(docs);
                text += "#[repr(C)]\n#[derive(Clone, Copy, Debug, PartialEq)]\n";
                text += plain;
                text += &format!("pub struct {name} {{\n");
                for (it, docs) in fields {
                    text += &documented(docs);
                    text += &format!("pub {}: {},\n", it.name, ty(&it.c, false));
                }
                text += &format!(
                    "}}\nimpl Default for {name} {{\nfn default() -> Self {{\n\
                     // SAFETY: numbers and pointers, of which zeros are values.\n\
                     unsafe {{ std::mem::zeroed() }}\n}}\n}}\n"
                );
            }
            Item::Callback(it) => {
                text += &documented(&it.docs);
                let parameters = declared(&it.parameters);
                text += &format!(
                    "{plain}pub type {} = Option<unsafe extern \"C-unwind\" fn({parameters})>;\n",
                    it.name
                );
            }
            Item::Group(_) | Item::Function(_) => {}
        }
    }
    text
}

/// The checks of the parameters before the body has them.
fn looked_at(function: &Function) -> String {
    let looks = function.parameters.iter().filter_map(|it| Some((&it.name, it.looked_at?)));
    looks.map(|(name, look)| format!("let {name} = {look};\n")).collect()
}

/// The parameters of a collective that has no body of its own.
fn collective(function: &Function) -> String {
    let buffers: Vec<&Parameter> =
        function.parameters.iter().filter(|it| it.length.is_some()).collect();
    let counts: Vec<&str> =
        function.parameters.iter().filter(|it| it.is_counts()).map(|it| it.name.as_str()).collect();
    let (from, to) = match buffers[..] {
        [one] => (format!("{}.cast_const().cast()", one.name), format!("{}.cast()", one.name)),
        [from, to] => (from.name.clone(), to.name.clone()),
        _ => panic!("one buffer or two: {}", function.name),
    };
    let lengths = match (function.has("n"), &counts[..]) {
        (true, []) => "Each(n)".to_owned(),
        (true, [counts]) => format!("Either(n, {counts})"),
        (false, [counts]) => format!("Counts({counts})"),
        (false, [to, from]) => format!("Pairs({to}, {from})"),
        _ => panic!("no lengths: {}", function.name),
    };
    let (operation, ty, op) = match &function.operation[..] {
        [operation, ty, op] => (operation, format!("ty: Type::of({ty})?"), format!("Some({op})")),
        [operation] if function.has("op") => (operation, "ty".into(), "Some(op)".into()),
        [operation] => (operation, "ty".into(), "None".into()),
        _ => panic!("no operation, or more: {}", function.name),
    };
    let parameter = ["root", "by"].into_iter().find(|it| function.has(it)).unwrap_or("0");
    format!(
        "Asked {{ operation: Operation::{operation}, {ty}, op: {op}, from: {from}, to: {to}, \
         lengths: Lengths::{lengths}, parameter: {parameter} }}"
    )
}

/// The buffers and lists of which the lengths are known before the body: each with its length.
fn sized(function: &Function) -> Vec<(&Parameter, String)> {
    let length = |it: &Parameter| match it.length.as_ref()? {
        Length::Of(n) if function.has(n) && *n != it.name => Some(n.clone()),
        // A number that the object knows.
        Length::Of(n) if n == "dimensions" => Some("on.dims().len()".into()),
        Length::Of(n) if function.handle() == "plan" => Some(format!("on.{n}()")),
        _ => None,
    };
    function.parameters.iter().filter_map(|it| Some((it, length(it)?))).collect()
}

/// The arguments of a body: for pointers and lengths the slices of both.
fn gathered(function: &Function) -> String {
    let sized = sized(function);
    let is_said = |it: &Parameter| {
        sized.iter().any(|(of, n)| *n == it.name || it.name == "ty" && of.is_buffer())
    };
    let one = |it: &Parameter| match sized.iter().find(|(of, _)| of.name == it.name) {
        Some((_, n)) if it.is_buffer() => format!("Elements::new({}, {n}, ty), ", it.name),
        Some((_, n)) => format!("list(\"the list of {0}\", {0}, {n})?, ", it.name),
        None if is_said(it) || it.is_object() => String::new(),
        None => format!("{}, ", it.name),
    };
    function.parameters.iter().skip(1).map(one).collect()
}

/// The call of the method of the function's name, and the place of its result.
fn method(function: &Function) -> String {
    let (mut before, mut looks) = (String::new(), String::new());
    let (mut arguments, mut places) = (Vec::new(), Vec::new());
    let sized = sized(function);
    let has_type = function.has("ty");
    let (ty, element) = if has_type { ("ty", "T") } else { ("Type::of(PHX_F64)?", "f64") };
    let elements = |name: &str, n: &str| format!("Elements::new({name}.cast(), {n}, {ty})");
    let exchanged = match &sized[..] {
        [(from, n), (to, m)] if to.c == "void *" => {
            let (from, to) = (&from.name, &to.name);
            let (one, other) = (elements(from, n), elements(to, m));
            looks += &format!("let ({from}, {to}) = apart_of::<{element}>({one}, {other})?;\n");
            true
        }
        _ => false,
    };
    for it in &function.parameters[1..] {
        let name = &it.name;
        let is_length = sized.iter().any(|(_, n)| n == name);
        let of = sized.iter().find(|(of, _)| of.name == *name);
        match &it.length {
            _ if is_length || name == "ty" => continue,
            _ if it.is_place() => {
                if matches!(it.c.as_str(), "void **" | "double *") {
                    before += &format!("place({name})?;\n");
                }
                places.push(name.as_str());
                continue;
            }
            _ if it.is_counts() => {
                before += &format!("let {name} = &counts_of(comm, {name}, ty)?;\n");
            }
            Some(Length::Sum(counts)) => {
                let all = format!("input(\"the buffer\", {name}, sum({counts}, ty)?)?");
                looks += &format!("let {name}: &[T] = {all};\n");
            }
            Some(_) if !exchanged => {
                let (_, n) = of.expect("so many");
                let way = if it.c.starts_with("const") { "input" } else { "output" };
                let what = match sized.len() {
                    1 => "the buffer".to_owned(),
                    _ => format!("the buffer {name}"),
                };
                let given = format!("{}.{way}::<{element}>(\"{what}\")?", elements(name, n));
                looks += &format!("let {name} = {given};\n");
            }
            _ => {}
        }
        arguments.push(name.as_str());
    }
    // (No slice says the type of `recv_vec`'s result.)
    let of = if has_type && places == ["data", "status"] { "::<T>" } else { "" };
    let parts = if has_type { "ty.parts()" } else { "1" };
    let leave = match places[..] {
        [] => String::new(),
        [one] => format!(".leave({one}, {parts})"),
        _ => format!(".leave(({}), {parts})", places.join(", ")),
    };
    let call = format!("{looks}comm.{}{of}({}){leave};", function.name, arguments.join(", "));
    match has_type {
        true => format!("{before}with_type!(ty, T => {{\n{call}\n}});\nOk(())"),
        false => format!("{before}{call}\nOk(())"),
    }
}

/// The expression that does the function's work.
fn body(function: &Function) -> String {
    let Function { name, module, parameters, .. } = function;
    let from = format!("From {{ function: \"phx_{name}\", file, line }}");
    let (handle, looks) = (function.handle(), looked_at(function));
    match (function.kind, handle) {
        (Kind::Plain, _) => {
            let call = format!("crate::{module}::{name}({})", given(parameters));
            if function.returns == "phx_err" { format!("code_of({call})") } else { call }
        }
        (Kind::Entry, _) => {
            let rest = given(&parameters[1..]);
            format!("code_of(crate::{module}::{name}({handle}, {from}, {rest}))")
        }
        (Kind::Call, "scope") => {
            let rest = gathered(function);
            format!("within(scope, {from}, |open| crate::{module}::{name}(open, {rest}))")
        }
        (Kind::Call, _) => {
            // Of a grid or plan: it, of `CARTS` or `PLANS`, and its communicator's handle.
            let (found, on) = match handle {
                "comm" => (String::new(), ""),
                _ => (
                    format!(
                        "let (comm, on) = match crate::{module}::{}S.on({handle}) {{\n\
                         Ok(found) => found,\nErr(code) => return code,\n}};\n",
                        handle.to_uppercase()
                    ),
                    "on, ",
                ),
            };
            let body = match (function.operation.is_empty(), module.as_str()) {
                (false, _) => format!("crate::{module}::waits(comm, {})", collective(function)),
                (true, "") => method(function),
                (true, _) => format!("crate::{module}::{name}(comm, {on}{})", gathered(function)),
            };
            let body = format!("|comm| {{\n{looks}{body}\n}}");
            match parameters.iter().find(|it| it.is_object()) {
                Some(place) => {
                    format!("{found}code_of(make(comm, {from}, {}, {body}))", place.name)
                }
                None => format!("{found}call(comm, {from}, {body})"),
            }
        }
        (Kind::Start, _) => {
            let looks = looks.replace("comm.", "scope.comm().");
            let body = match function.operation.is_empty() {
                false => format!(
                    "let call = crate::collective::prepared(scope.comm(), {})?;\n\
                     launch((scope, state), call, (persistent, request), at);\nOk(())",
                    collective(function)
                ),
                true => format!(
                    "crate::{module}::{name}((scope, state, at), {}(persistent, request))",
                    gathered(function)
                ),
            };
            format!("within(scope, {from}, |(scope, state, at)| {{\n{looks}{body}\n}})")
        }
    }
}

/// A function that is called all the time: the first usual pair, the others, and all the rest.
fn quick(function: &Function) -> String {
    let Function { name, .. } = function;
    let all = function.all();
    let (parameters, arguments) = (declared(&all), given(&all));
    let symbol = function.symbol();
    let mut text = format!(
        "/// As [`{symbol}`], whatever is odd.\n///\n/// # Safety\n/// As there.\n\
         #[cold]\n#[inline(never)]\n\
         unsafe extern \"C\" fn checked_{name}({parameters}) -> phx_err {{\n\
         // SAFETY: by the contract.\nunsafe {{ {} }}\n}}\n",
        body(function)
    );
    let at = format!("From {{ function: \"phx_{name}\", file, line }}");
    let own = given(&function.parameters);
    let odd = format!("move || checked_{name}({arguments})");
    if !function.has("ty") {
        return text + &exported(function, &format!("quick::{name}({own}{at}, {odd})"));
    }
    let has_op = function.has("op");
    let (bounds, generics) = match has_op {
        true => ("T: Element, O: Operator<T> + Default", "T, O"),
        false => ("T: Element", "T"),
    };
    text += &format!(
        "/// [`{symbol}`] of a usual type.\n///\n/// # Safety\n/// As there.\n\
         unsafe extern \"C\" fn typed_{name}<{bounds}>({parameters}) -> phx_err {{\n\
         // SAFETY: by the contract.\n\
         unsafe {{ quick::{name}::<{generics}>({own}{at}, {odd}) }}\n}}\n",
    );
    let mut arms = String::new();
    for (i, (ty, rust)) in USUAL.iter().enumerate() {
        for (j, (op, operator)) in OPERATORS.iter().enumerate() {
            match (has_op, i + j) {
                (_, 0) => {}
                (true, _) => {
                    arms += &format!("({ty}, {op}) => typed_{name}::<{rust}, {operator}>,\n")
                }
                (false, _) if j == 0 => arms += &format!("{ty} => typed_{name}::<{rust}>,\n"),
                (false, _) => {}
            }
        }
    }
    let by = if has_op { "(ty, op)" } else { "ty" };
    text += &format!(
        "/// [`{symbol}`] of other types than the first.\n///\n/// # Safety\n/// As there.\n\
         #[inline(never)]\nunsafe extern \"C\" fn select_{name}({parameters}) -> phx_err {{\n\
         let jump = match {by} {{\n{arms}_ => checked_{name},\n}};\n\
         // SAFETY: by the contract.\nunsafe {{ jump({arguments}) }}\n}}\n",
    );
    let (test, first) = match has_op {
        true => ("ty == PHX_F64 && op == PHX_SUM", "f64, op::Sum"),
        false => ("ty == PHX_F64", "f64"),
    };
    text + &exported(
        function,
        &format!(
            "if {test} {{ quick::{name}::<{first}>({own}{at}, {odd}) }} else {{ \
             select_{name}({arguments}) }}"
        ),
    )
}

fn exported(function: &Function, body: &str) -> String {
    let returns = ty(&function.returns, false);
    let file =
        if function.kind == Kind::Plain { "" } else { "`file` is null or a string that stays." };
    format!(
        "/// {}\n///\n/// # Safety\n/// {} {file}\n#[unsafe(no_mangle)]\n\
         pub unsafe extern \"C\" fn {}({}) -> {returns} {{\n\
         // SAFETY: by the contract.\nunsafe {{ {body} }}\n}}\n",
        function.docs,
        function.safety,
        function.symbol(),
        declared(&function.all()),
    )
}

/// The functions.
pub(crate) fn shims(items: &[Item]) -> String {
    let one = |it: &Function| if it.is_quick { quick(it) } else { exported(it, &body(it)) };
    functions(items).map(one).collect()
}
