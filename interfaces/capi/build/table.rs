//! The table, read: interface.txt says at its head the meaning of its lines.

use super::text::first_sentence;

/// The way in which a function is made.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Call,
    Start,
    Entry,
    Plain,
}

/// How many elements a buffer has.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum Length {
    /// As many as this parameter says.
    Of(String),
    /// `n` for each rank.
    OfEach,
    /// The rank's own count of these.
    Own(String),
    /// All that these sum to.
    Sum(String),
}

#[derive(Clone)]
pub(crate) struct Parameter {
    pub(crate) name: String,
    /// Its type in C.
    pub(crate) c: String,
    /// Many of them, behind a pointer that C's type does not have yet.
    pub(crate) is_array: bool,
    pub(crate) length: Option<Length>,
    /// It is looked at on the root only.
    pub(crate) at_root: bool,
    /// It may be null, in which case `n` counts.
    pub(crate) is_optional: bool,
    /// Its form in Rust, an expression that may end the call by an error.
    pub(crate) looked_at: Option<&'static str>,
}

/// Parameters that are handles, by their names.
const HANDLES: [&str; 6] = ["comm", "team", "cart", "scope", "plan", "window"];

/// Short for other parameters: C's type, the name, and the check before the body has it.
const SHORT: [(&str, &str, &str, Option<&str>); 10] = [
    ("type", "phx_type", "ty", Some("Type::of(ty)?")),
    ("op", "phx_op", "op", None),
    ("n", "size_t", "n", None),
    ("root", "int", "root", Some("rank_number(\"root\", root)?")),
    ("by", "int", "by", Some("distance(by, comm.size())")),
    ("to", "int", "to", Some("rank_number(\"rank\", to)?")),
    ("source", "int", "source", Some("rank_number(\"source\", source)?")),
    ("any source", "int", "source", Some("sender(source)?")),
    ("tag", "int", "tag", Some("given_tag(tag)?")),
    ("any tag", "int", "tag", Some("tag_of(tag)?")),
];

impl Parameter {
    fn read(text: &str) -> Parameter {
        let (text, at_root) = match text.strip_suffix(" at root") {
            Some(text) => (text, true),
            None => (text, false),
        };
        let (text, is_optional) = match text.strip_suffix('?') {
            Some(text) => (text, true),
            None => (text, false),
        };
        let (bare, length) = match text.strip_suffix(']').and_then(|text| text.split_once('[')) {
            Some((bare, length)) => (bare, Some(length)),
            None => (text, None),
        };
        let handle = bare.trim_start_matches("const ");
        let (c, name, looked_at) = match SHORT.iter().find(|it| it.0 == bare) {
            Some((_, c, name, look)) => ((*c).to_owned(), *name, *look),
            None if HANDLES.contains(&handle) => {
                let c = bare.replace(handle, &format!("phx_{handle} *"));
                (c.replace("scope", "requests"), handle, None)
            }
            None if bare.ends_with("counts") && !bare.contains(' ') => {
                ("const size_t".into(), bare, None)
            }
            None => {
                let at = bare.rfind([' ', '*']).unwrap_or_else(|| panic!("no type: {bare}")) + 1;
                let c = match bare[..at].trim_end() {
                    "in" => "const void *",
                    "out" | "inout" => "void *",
                    c => c,
                };
                (c.into(), &bare[at..], None)
            }
        };
        let is_buffer = c.ends_with("void *") && length.is_some() && !c.contains("*const");
        let is_array = c == "const size_t" || length.is_some() && !is_buffer;
        let length = length.filter(|it| !it.is_empty()).map(|it| match it.split_once(' ') {
            None => Length::Of(it.into()),
            Some(("n", "* size")) => Length::OfEach,
            Some(("own", counts)) => Length::Own(counts.into()),
            Some(("sum", counts)) => Length::Sum(counts.into()),
            Some(_) => panic!("no length: {it}"),
        });
        Parameter { name: name.to_owned(), c, is_array, length, at_root, is_optional, looked_at }
    }

    pub(crate) fn is_buffer(&self) -> bool {
        self.length.is_some() && !self.is_array
    }

    pub(crate) fn is_counts(&self) -> bool {
        self.c == "const size_t" && self.length.is_none() && self.name.ends_with("counts")
    }

    /// Of a call that is a method: a place for its result.
    pub(crate) fn is_place(&self) -> bool {
        self.c.ends_with('*') && self.length.is_none() || self.is_array && self.c == "size_t"
    }

    /// Where the handle goes of an object that is made.
    pub(crate) fn is_object(&self) -> bool {
        self.c.starts_with("phx_") && self.c.ends_with("**")
    }

    /// Its declaration in C.
    pub(crate) fn declared(&self) -> String {
        // A list that may be null is no array for anybody.
        let star = if self.is_array { " *" } else { "" };
        let star = if self.c.ends_with('*') { star.trim_start() } else { star };
        let space = if self.c.ends_with('*') || self.is_array { "" } else { " " };
        format!("{}{star}{space}{}", self.c, self.name)
    }
}

#[derive(Clone)]
pub(crate) struct Function {
    pub(crate) kind: Kind,
    /// Without `phx_`.
    pub(crate) name: String,
    /// Of its Rust body.
    pub(crate) module: String,
    /// Without those that every function of the kind has.
    pub(crate) parameters: Vec<Parameter>,
    pub(crate) returns: String,
    /// Which does the whole of it, and the type and operator, if they are not parameters.
    pub(crate) operation: Vec<String>,
    pub(crate) is_quick: bool,
    /// There is one by counts, too, and one that starts it.
    is_varied: bool,
    starts: bool,
    pub(crate) docs: String,
    /// The promises of the caller.
    pub(crate) safety: String,
}

impl Function {
    /// The name that a program links.
    pub(crate) fn symbol(&self) -> String {
        let at = if self.kind == Kind::Plain { "" } else { "_at" };
        format!("phx_{}{at}", self.name)
    }

    /// The function by counts.
    fn varied(&self) -> Function {
        let mut it = self.as_said(1);
        it.name += "v";
        it.parameters = by_counts(&it.parameters);
        it.parameters.retain(|it| it.name != "n");
        it.insert_counts("counts");
        it
    }

    /// The function that starts the call: of one by counts, too, if it takes them.
    fn started(&self) -> Function {
        let mut it = self.as_said(0);
        let does = first_sentence(&it.docs).trim_end_matches('.');
        let (first, rest) = does.split_at(1);
        it.docs = format!(
            "Starts `phx_{}`, which {}{rest}. If `persistent`, sets it up.",
            self.name,
            first.to_lowercase()
        );
        if self.is_varied {
            it.docs +=
                " If `counts` is not null, it is copied, and blocks are of `counts[r]` elements.";
            it.insert_counts("counts?");
        }
        (it.kind, it.is_quick) = (Kind::Start, false);
        it.name = format!("start_{}", self.name);
        it.parameters[0] = Parameter::read("scope");
        it.module = "requests".into();
        it
    }

    fn insert_counts(&mut self, counts: &str) {
        let at = self.parameters.iter().position(|it| it.name == "ty").expect("blocks have a type");
        self.parameters.insert(at, Parameter::read(counts));
    }

    /// The promises of the caller: of each parameter, and those that the table adds.
    fn promises(&self) -> String {
        let is_started = self.kind == Kind::Start;
        let meanwhile = if is_started { "until the call was waited for" } else { "meanwhile" };
        let promise = |it: &Parameter| {
            let Parameter { name, c, .. } = it;
            let elements = if it.is_buffer() { "elements of `ty`" } else { "elements" };
            let is = match &it.length {
                Some(Length::Of(n)) if self.has(n) && n != name => format!("has `{n}` {elements}"),
                Some(Length::Of(n)) => {
                    format!("has as many {elements} as the {} has {n}", self.handle())
                }
                Some(Length::OfEach) => format!("has `n` {elements} for each rank"),
                Some(Length::Own(counts)) => {
                    format!("has as many {elements} as the rank's of `{counts}`")
                }
                Some(Length::Sum(counts)) => format!("has as many {elements} as `{counts}` sum to"),
                None if it.is_optional => "is null or has one number for each rank".into(),
                None if it.is_array && c == "size_t" => {
                    "is null or has room for one number for each rank".into()
                }
                None if it.is_counts() => "has one number for each rank".into(),
                None if c == "const char *" => "is null or a string".into(),
                None if c.ends_with("**") => "is null or valid".into(),
                None if c == "void *" || it.is_array || !c.ends_with('*') => return None,
                None if HANDLES.contains(&name.as_str()) => return None,
                None => "is null or valid".into(),
            };
            let is_const = c.starts_with("const");
            let others = match it.length {
                Some(_) if !is_const => format!(", which nobody else uses {meanwhile}"),
                Some(_) if it.is_buffer() => format!(", which nobody changes {meanwhile}"),
                _ => String::new(),
            };
            let root = if it.at_root { "on the root, " } else { "" };
            Some(format!("{root}`{name}` {is}{others}"))
        };
        let all = self.all();
        // (The meaning of `file` stands in the header once.)
        let all = all.iter().filter(|it| it.name != "file").filter_map(promise);
        let mut all: Vec<String> = all.collect();
        if self.parameters.iter().filter(|it| it.is_buffer()).count() > 1 {
            all.push("the buffers do not overlap".into());
        }
        let all = all.join("; ");
        let (first, rest) = all.split_at(usize::from(!all.is_empty()));
        let dot = if all.is_empty() { "" } else { ". " };
        format!("{}{rest}{dot}{}", first.to_uppercase(), self.safety).trim().to_owned()
    }

    /// With this one of each two texts of the documentation.
    fn as_said(&self, which: usize) -> Function {
        let said = |text: &str| {
            let mut parts = text.split(['{', '}']);
            let mut all = parts.next().unwrap_or_default().to_owned();
            while let (Some(either), Some(rest)) = (parts.next(), parts.next()) {
                all += either.split('|').nth(which).expect("a text for each");
                all += rest;
            }
            all.trim().to_owned()
        };
        let (is_quick, is_varied, starts) = (self.is_quick && which == 0, false, false);
        Function { docs: said(&self.docs), is_quick, is_varied, starts, ..self.clone() }
    }

    /// All parameters.
    pub(crate) fn all(&self) -> Vec<Parameter> {
        let mut all = self.parameters.clone();
        if self.kind == Kind::Start {
            all.extend(["int persistent", "phx_request *request"].map(Parameter::read));
        }
        if self.kind != Kind::Plain {
            all.extend(["const char *file", "int line"].map(Parameter::read));
        }
        all
    }

    /// Its first parameter, on which it is called.
    pub(crate) fn handle(&self) -> &str {
        self.parameters.first().map_or("", |it| &it.name)
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.parameters.iter().any(|it| it.name == name)
    }

    /// The macros that call it: their names, and of each parameter the name, and the value that C
    /// and Fortran pass for it by themselves, if they do.
    pub(crate) fn macros(&self) -> Vec<Macro> {
        let is_varied = self.parameters.iter().any(|it| it.is_optional);
        let mut all = Vec::new();
        let ways = [("start", ["0", "0_c_int"]), ("persistent", ["1", "1_c_int"])];
        for (v, (way, number)) in [("", ways[0]), ("", ways[1]), ("v", ways[0]), ("v", ways[1])] {
            let given = |it: Parameter| match it.name.as_str() {
                "persistent" => Some((it.name, Some(number))),
                // (By which null counts are an error.)
                "n" if v == "v" => Some((it.name, Some(["(size_t)-1", "-1_c_size_t"]))),
                "counts" if is_varied && v != "v" => Some((it.name, Some(["NULL", "c_null_ptr"]))),
                "ty" => Some(("type".into(), None)),
                "file" | "line" => None,
                _ => Some((it.name, None)),
            };
            let is_one = match self.kind {
                Kind::Plain => false,
                Kind::Start => is_varied || v != "v",
                _ => all.is_empty(),
            };
            if is_one {
                let name = format!("phx_{}{v}", self.name.replacen("start", way, 1));
                all.push((name, self.all().into_iter().filter_map(given).collect()));
            }
        }
        all
    }
}

/// A macro's name and parameters, as [`Function::macros`] says.
pub(crate) type Macro = (String, Vec<(String, Option<[&'static str; 2]>)>);

pub(crate) enum Item {
    Group(String),
    /// Its name, and its meaning.
    Handle(String, String),
    /// Its name, C's type, and its meaning.
    Number(String, String, String),
    /// Their type, and of each the name, the value, the word for it, and its meaning.
    Constants(String, Vec<[String; 4]>),
    /// Its name, its meaning, and the fields.
    Struct(String, String, Vec<(Parameter, String)>),
    Callback(Function),
    Function(Function),
}

/// Parameters of blocks of `n` elements as those of blocks by `counts`.
pub(crate) fn by_counts(parameters: &[Parameter]) -> Vec<Parameter> {
    let mut all = parameters.to_vec();
    for it in &mut all {
        it.length = match it.length.take() {
            Some(Length::Of(n)) if n == "n" => Some(Length::Own("counts".into())),
            Some(Length::OfEach) => Some(Length::Sum("counts".into())),
            other => other,
        };
    }
    all
}

/// The first line of each block, and the lines below it: lines with more blanks belong to those
/// before.
fn blocks(text: &str) -> Vec<(String, Vec<String>)> {
    let mut all: Vec<(String, Vec<String>)> = Vec::new();
    for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let indent = line.len() - line.trim_start().len();
        if indent == 0 {
            all.push((line.to_owned(), Vec::new()));
            continue;
        }
        let (head, below) = all.last_mut().expect("a block begins");
        match below.last_mut() {
            _ if indent == 4 => below.push(line.trim().to_owned()),
            Some(last) => *last += &format!(" {}", line.trim()),
            None => *head += &format!(" {}", line.trim()),
        }
    }
    all
}

/// `a << b | c`, as it stands in the table.
pub(crate) fn value(text: &str) -> i64 {
    let of = |part: &str| -> i64 {
        let mut numbers = part.split("<<").map(|it| it.trim().parse::<i64>().expect("a number"));
        let first = numbers.next().expect("a number");
        numbers.fold(first, |it, by| it << by)
    };
    text.split('|').map(of).fold(0, |all, it| all | it)
}

fn function(kind: Kind, text: &str, docs: &[String]) -> Function {
    let (name, rest) = text.split_once('(').unwrap_or_else(|| panic!("no function: {text}"));
    let (module, name) = name.split_once("::").unwrap_or(("", name));
    let (parameters, rest) = rest.split_once(')').unwrap_or_else(|| panic!("no end: {text}"));
    let parameters = parameters.split(", ").filter(|it| !it.is_empty()).map(Parameter::read);
    let (returns, mut words) = match rest.trim().strip_prefix("-> ") {
        Some(returns) => (returns, Vec::new()),
        None => ("phx_err", rest.split_whitespace().map(str::to_owned).collect()),
    };
    let mut has = |word: &str| {
        let before = words.len();
        words.retain(|it| it != word);
        words.len() < before
    };
    let (is_quick, is_varied, starts) = (has("quick"), has("varied"), has("starts"));
    if !words.is_empty() {
        assert_eq!(words.remove(0), "=", "no word of the table's in {text}");
    }
    let all = docs.join(" ");
    let (docs, safety) = all.split_once("Safety: ").unwrap_or((&all, ""));
    Function {
        kind,
        name: name.to_owned(),
        module: module.to_owned(),
        parameters: parameters.collect(),
        returns: returns.to_owned(),
        operation: words,
        is_quick,
        is_varied,
        starts,
        docs: docs.trim().to_owned(),
        safety: safety.to_owned(),
    }
}

fn item(head: &str, below: &[String]) -> Item {
    let split = |text: &str, at: &str| {
        let it = text.split_once(at).unwrap_or_else(|| panic!("no {at} in {text}"));
        (it.0.to_owned(), it.1.to_owned())
    };
    let (word, rest) = split(head, " ");
    let of = |kind| function(kind, &rest, below);
    match word.as_str() {
        "group" => Item::Group(rest),
        "handle" => Item::Handle(rest, below.join(" ")),
        "number" => {
            let (name, c) = split(&rest, " = ");
            Item::Number(name, c, below.join(" "))
        }
        "constants" => {
            let one = |line: &String| {
                let (name, rest) = split(line, " = ");
                let (value, docs) = split(&rest, ": ");
                let (value, word) = value.split_once(" \"").unwrap_or((&value, ""));
                [name, value.to_owned(), word.trim_end_matches('"').to_owned(), docs]
            };
            Item::Constants(rest, below.iter().map(one).collect())
        }
        "struct" => {
            let (fields, docs): (Vec<String>, Vec<String>) =
                below.iter().cloned().partition(|line| line.starts_with("- "));
            let one = |line: &String| {
                let (field, docs) = split(&line[2..], ": ");
                (Parameter::read(&field), docs)
            };
            Item::Struct(rest, docs.join(" "), fields.iter().map(one).collect())
        }
        "callback" => Item::Callback(of(Kind::Plain)),
        "call" => Item::Function(of(Kind::Call)),
        "start" => Item::Function(of(Kind::Start)),
        "entry" => Item::Function(of(Kind::Entry)),
        "fn" => Item::Function(of(Kind::Plain)),
        _ => panic!("no item: {head}"),
    }
}

/// The table's items, in its order, and those that follow from them.
pub(crate) fn read(text: &str) -> Vec<Item> {
    let mut all = Vec::new();
    for (head, below) in blocks(text) {
        if head == "started calls" {
            let starting = functions(&all).filter(|it| it.starts);
            let started: Vec<Item> = starting.map(|it| Item::Function(it.started())).collect();
            all.extend(started);
            continue;
        }
        all.push(item(&head, &below));
        if let Some(Item::Function(it)) = all.last()
            && it.is_varied
        {
            let varied = it.varied();
            all.push(Item::Function(varied));
        }
    }
    for item in &mut all {
        if let Item::Function(it) = item {
            *it = Function { safety: it.promises(), ..it.as_said(0) };
        }
    }
    all
}

/// The functions among them.
pub(crate) fn functions(items: &[Item]) -> impl Iterator<Item = &Function> {
    items.iter().filter_map(|item| match item {
        Item::Function(function) => Some(function),
        _ => None,
    })
}
