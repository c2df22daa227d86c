//! The names of the interface for Rust, and the functions that C calls, each with its body's call.

use super::table::{Function, Item, Kind, Length, Parameter, functions};

/// The usual element types of the functions that solvers call all the time, and the operators: of
/// each pair there is a body that has all that a small call does. The first pair's is in the
/// exported function itself. (capi/README.md, "Cost", has the instructions.)
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
                // (A pointer has no default.)
                let has_pointer = fields.iter().any(|(it, _)| it.c.ends_with('*'));
                let default = if has_pointer { "" } else { ", Default" };
                text += &format!("#[repr(C)]\n#[derive(Clone, Copy, Debug, PartialEq{default})]\n");
                text += plain;
                text += &format!("pub struct {name} {{\n");
                for (it, docs) in fields {
                    text += &documented(docs);
                    text += &format!("pub {}: {},\n", it.name, ty(&it.c, false));
                }
                text += "}\n";
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

/// What is done with the parameters before the body has them.
fn looked_at(function: &Function, ranks: &str) -> String {
    let mut text = String::new();
    if function.has("ty") {
        text += "let ty = Type::of(ty)?;\n";
    }
    if function.has("root") {
        text += "let root = rank_number(\"root\", root)?;\n";
    }
    if function.has("by") {
        text += &format!("let by = distance(by, {ranks});\n");
    }
    text
}

/// The parameters of a collective that has no body of its own.
fn collective(function: &Function, operation: &str) -> String {
    let buffers: Vec<&Parameter> = function.parameters.iter().filter(|it| it.is_buffer()).collect();
    let counts: Vec<&str> =
        function.parameters.iter().filter(|it| it.is_counts()).map(|it| it.name.as_str()).collect();
    let or = |name: &str, other: &str| {
        if function.has(name) { name.to_owned() } else { other.to_owned() }
    };
    let (from, to) = match buffers[..] {
        [one] => (format!("{}.cast_const()", one.name), &one.name),
        [from, to] => (from.name.clone(), &to.name),
        _ => panic!("one buffer or two: {}", function.name),
    };
    let lengths = match (function.has("n"), &counts[..]) {
        (true, []) => "Each(n)".to_owned(),
        (true, [counts]) => format!("Either(n, {counts})"),
        (false, [counts]) => format!("Counts({counts})"),
        (false, [to, from]) => format!("Pairs({to}, {from})"),
        _ => panic!("no lengths: {}", function.name),
    };
    let op = if function.has("op") { "Some(op)" } else { "None" };
    let parameter = or("root", &or("by", "0"));
    format!(
        "Asked {{ operation: Operation::{operation}, ty, op: {op}, from: {from}, to: {to}, \
         lengths: Lengths::{lengths}, parameter: {parameter} }}"
    )
}

/// What a body gets: buffers of a length that the function is told with it and the type.
fn gathered(function: &Function) -> String {
    let length_of = |it: &Parameter| match &it.length {
        Some(Length::Of(n)) if it.is_buffer() && function.has("ty") => Some(n.clone()),
        _ => None,
    };
    let lengths: Vec<String> = function.parameters.iter().filter_map(length_of).collect();
    let one = |it: &Parameter| match length_of(it) {
        Some(n) => format!("Elements::new({}, {n}, ty), ", it.name),
        None if lengths.contains(&it.name) || it.name == "ty" && !lengths.is_empty() => {
            String::new()
        }
        None => format!("{}, ", it.name),
    };
    function.parameters.iter().skip(1).map(one).collect()
}

/// The expression that does what the function is for.
fn body(function: &Function) -> String {
    let Function { name, module, parameters, .. } = function;
    let from = format!("From {{ function: \"phx_{name}\", file, line }}");
    let rest = match function.kind {
        Kind::Call | Kind::Start => gathered(function),
        Kind::Entry | Kind::Plain => given(parameters.get(1..).unwrap_or(&[])),
    };
    match (function.kind, function.handle()) {
        (Kind::Plain, _) if function.returns == "phx_err" => {
            format!("code_of(crate::{module}::{name}({}))", given(parameters))
        }
        (Kind::Plain, _) => format!("crate::{module}::{name}({})", given(parameters)),
        (Kind::Entry, handle) => {
            format!("code_of(crate::{module}::{name}({handle}, {from}, {rest}))")
        }
        (Kind::Call, "comm") => {
            let look = looked_at(function, "comm.size()");
            let body = match &function.operation {
                Some(it) => format!("crate::{module}::waits(comm, {})", collective(function, it)),
                None => format!("crate::{module}::{name}(comm, {rest})"),
            };
            format!("call(comm, {from}, |comm| {{\n{look}{body}\n}})")
        }
        (Kind::Call, _) => {
            format!("within(scope, {from}, |open| crate::{module}::{name}(open, {rest}))")
        }
        (Kind::Start, _) => {
            let look = looked_at(function, "scope.comm().size()");
            let body = match &function.operation {
                Some(it) => format!(
                    "let call = crate::collective::prepared(scope.comm(), {})?;\n\
                     launch((scope, state), call, (persistent, request), at);\nOk(())",
                    collective(function, it)
                ),
                None => format!(
                    "crate::{module}::{name}((scope, state, at), {rest}(persistent, request))"
                ),
            };
            format!("within(scope, {from}, |(scope, state, at)| {{\n{look}{body}\n}})")
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
    let at = "(file, line)";
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
