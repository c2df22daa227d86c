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

/// The objects of a handle's kind.
fn objects(module: &str, handle: &str) -> String {
    format!("crate::{module}::{}S", handle.to_uppercase())
}

/// The expression that does the function's work.
fn body(function: &Function) -> String {
    let Function { name, module, parameters, .. } = function;
    let from = format!("From {{ function: \"phx_{name}\", file, line }}");
    let (handle, looks) = (function.handle(), looked_at(function));
    match (function.kind, handle) {
        (Kind::Plain, "cart" | "plan" | "window") if name.ends_with("_free") => {
            format!("code_of({}.free_own({handle}))", objects(module, handle))
        }
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
                        "let (comm, on) = match {}.on({handle}) {{\n\
                         Ok(found) => found,\nErr(code) => return code,\n}};\n",
                        objects(module, handle)
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
                    let keep = match place.c.as_str() {
                        "phx_comm **" => "crate::call::keep".into(),
                        // (They are named as their handles.)
                        _ => format!("|comm, it| {}.keep(comm, it)", objects(module, &place.name)),
                    };
                    format!("{found}code_of(make(comm, {from}, {}, {keep}, {body}))", place.name)
                }
                None => format!("{found}call(comm, {from}, {body})"),
            }
        }
        (Kind::Start, _) => {
            let looks = looks.replace("comm.", "scope.comm().");
            let body = match function.operation.is_empty() {
                false => format!(
                    "let call = crate::collective::prepared(scope.comm(), {})?;\n\
                     Starting {{ open: (scope, state, at), persistent, request }}.go(None, call);\n\
                     Ok(())",
                    collective(function)
                ),
                true => format!(
                    "let it = Starting {{ open: (scope, state, at), persistent, request }};\n\
                     crate::{module}::{}(it, {})",
                    name.trim_start_matches("start_"),
                    gathered(function)
                ),
            };
            format!("within(scope, {from}, |(scope, state, at)| {{\n{looks}{body}\n}})")
        }
    }
}

/// The whole of a small call: one look sees if anything can be wrong, and the Rust call stands in
/// C's function. Where something is odd, `checked_NAME` does all of it, and says the fault.
fn quick_call(function: &Function, number: usize) -> String {
    let Function { name, parameters, .. } = function;
    let buffers: Vec<&Parameter> = parameters.iter().filter(|it| it.is_buffer()).collect();
    let (ranks, it, mut is_usual, into) = match buffers[..] {
        [] => ("|_| 0", "_", "true".to_owned(), ""),
        [one] => ("|_| 0", "_", format!("is_usual::<T>({}, n)", one.name), ""),
        [from, to] => {
            let both = format!("are_usual::<T>({}, {}, n, ranks)", from.name, to.name);
            ("Comm::size", "ranks", both, "_into")
        }
        _ => panic!("no quick function: {name}"),
    };
    let (mut slices, mut arguments) = (String::new(), String::new());
    for it in buffers {
        let way = if it.c.starts_with("const") { "" } else { "_mut" };
        let n = if it.length == Some(Length::OfEach) { "n * ranks" } else { "n" };
        let (name, at) = (&it.name, format!("{}.cast::<T>()", it.name));
        slices += &format!("let {name} = std::slice::from_raw_parts{way}({at}, {n});\n");
        arguments += &format!("{name}, ");
    }
    if function.has("root") {
        is_usual += " && root >= 0";
        arguments += "root as usize";
    }
    if function.has("op") {
        arguments += "O::default()";
    }
    let all = given(&function.all());
    format!(
        "let is_usual = move |{it}: usize| {is_usual};\n\
         let body = move |comm: &mut Comm, {it}: usize, at| {{\n{slices}\
         comm.run(engine::made_at(call::{name}{into}({arguments}), at));\n}};\n\
         let from = From {{ function: \"phx_{name}\", file, line }};\n\
         let odd = move || checked_{name}({all});\n\
         crate::call::quick_call::<{number}>(comm, from, {ranks}, is_usual, body, odd)"
    )
}

/// The function of that number that is called all the time: the first usual pair, the others, and
/// all the rest.
fn quick(function: &Function, number: usize) -> String {
    let Function { name, .. } = function;
    let all = function.all();
    let (parameters, arguments) = (declared(&all), given(&all));
    let one = |head: &str, body: &str| {
        format!(
            "{head}({parameters}) -> phx_err {{\n\
             // SAFETY: by the contract.\nunsafe {{ {body} }}\n}}\n"
        )
    };
    let way = format!("#[cold]\n#[inline(never)]\nunsafe extern \"C\" fn checked_{name}");
    let mut text = one(&way, &body(function));
    let quick = quick_call(function, number);
    if !function.has("ty") {
        return text + &exported(function, &quick);
    }
    let has_op = function.has("op");
    let bounds = if has_op { "T: Element, O: Operator<T> + Default" } else { "T: Element" };
    let way = format!("#[inline(always)]\nunsafe extern \"C\" fn typed_{name}<{bounds}>");
    text += &one(&way, &quick);
    let usual = USUAL.iter().flat_map(|(ty, of)| match has_op {
        true => OPERATORS.map(|(op, by)| (format!("({ty}, {op})"), format!("{of}, {by}"))).to_vec(),
        false => vec![((*ty).to_owned(), (*of).to_owned())],
    });
    let usual: Vec<(String, String)> = usual.collect();
    let arm = |(is, of): &(String, String)| format!("{is} => typed_{name}::<{of}>,\n");
    let arms: String = usual[1..].iter().map(arm).collect();
    let by = if has_op { "(ty, op)" } else { "ty" };
    let jump =
        format!("let jump = match {by} {{\n{arms}_ => checked_{name},\n}};\njump({arguments})");
    text += &one(&format!("#[inline(never)]\nunsafe extern \"C\" fn select_{name}"), &jump);
    let (is, of) = &usual[0];
    let quick = format!("if {by} == {is} {{ typed_{name}::<{of}>({arguments}) }}");
    text + &exported(function, &format!("{quick} else {{ select_{name}({arguments}) }}"))
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
    let mut quick_ones = 0..;
    let one = |it: &Function| match it.is_quick {
        true => quick(it, quick_ones.next().expect("a number")),
        false => exported(it, &body(it)),
    };
    functions(items).map(one).collect()
}
