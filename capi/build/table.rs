//! The table, read: interface.txt says at its head what its lines mean.

/// What becomes of a function.
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
}

impl Parameter {
    pub(crate) fn new(c: &str, name: &str) -> Parameter {
        let (c, name, length) = (c.to_owned(), name.to_owned(), None);
        Parameter { name, c, is_array: false, length, at_root: false, is_optional: false }
    }

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
        let (c, name) = match bare {
            "comm" | "team" | "cart" | "plan" | "window" => (format!("phx_{bare} *"), bare),
            "const comm" | "const team" | "const cart" | "const plan" | "const window" => {
                (bare.replace(' ', " phx_") + " *", &bare[6..])
            }
            "scope" => ("phx_requests *".into(), bare),
            "type" => ("phx_type".into(), "ty"),
            "op" => ("phx_op".into(), bare),
            "n" => ("size_t".into(), bare),
            "root" | "by" => ("int".into(), bare),
            it if it == "counts" || it.ends_with("_counts") && !it.contains(' ') => {
                ("const size_t".into(), it)
            }
            it => {
                let at = it.rfind([' ', '*']).unwrap_or_else(|| panic!("no type: {it}")) + 1;
                match it[..at].trim_end() {
                    "in" => ("const void *".into(), &it[at..]),
                    "out" | "inout" => ("void *".into(), &it[at..]),
                    c => (c.to_owned(), &it[at..]),
                }
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
        Parameter { name: name.to_owned(), c, is_array, length, at_root, is_optional }
    }

    pub(crate) fn is_buffer(&self) -> bool {
        self.length.is_some() && !self.is_array
    }

    pub(crate) fn is_counts(&self) -> bool {
        self.c == "const size_t" && self.length.is_none() && self.name.ends_with("counts")
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

pub(crate) struct Function {
    pub(crate) kind: Kind,
    /// Without `phx_`.
    pub(crate) name: String,
    /// Of its Rust body.
    pub(crate) module: String,
    /// Without those that every function of the kind has.
    pub(crate) parameters: Vec<Parameter>,
    pub(crate) returns: String,
    /// Which does the whole of it.
    pub(crate) operation: Option<String>,
    pub(crate) is_quick: bool,
    pub(crate) docs: String,
    /// What the caller promises.
    pub(crate) safety: String,
}

impl Function {
    /// The name that a program links.
    pub(crate) fn symbol(&self) -> String {
        let at = if self.kind == Kind::Plain { "" } else { "_at" };
        format!("phx_{}{at}", self.name)
    }

    /// All parameters.
    pub(crate) fn all(&self) -> Vec<Parameter> {
        let mut all = self.parameters.clone();
        if self.kind == Kind::Start {
            all.push(Parameter::new("int", "persistent"));
            all.push(Parameter::new("phx_request *", "request"));
        }
        if self.kind != Kind::Plain {
            all.push(Parameter::new("const char *", "file"));
            all.push(Parameter::new("int", "line"));
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

    /// The macros that call it: their names, and of each parameter the name, and what C and Fortran
    /// pass for it by themselves, if they do.
    pub(crate) fn macros(&self) -> Vec<Macro> {
        let is_varied = self.parameters.iter().any(|it| it.is_optional);
        let mut all = Vec::new();
        let ways = [("start", ["0", "0_c_int"]), ("persistent", ["1", "1_c_int"])];
        for (v, (way, number)) in [("", ways[0]), ("", ways[1]), ("v", ways[0]), ("v", ways[1])] {
            let given = |it: Parameter| match it.name.as_str() {
                "persistent" => Some((it.name, Some(number))),
                "n" if v == "v" => Some((it.name, Some(["0", "0_c_size_t"]))),
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
    /// Its name, and what it is.
    Handle(String, String),
    /// Its name, C's type, and what it is.
    Number(String, String, String),
    /// Their type, and of each the name, the value, the word for it, and what it is.
    Constants(String, Vec<[String; 4]>),
    /// Its name, what it is, and the fields.
    Struct(String, String, Vec<(Parameter, String)>),
    Callback(Function),
    Function(Function),
}

/// The first line of each block, and what is below it: lines with more blanks belong to those
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
    let rest = rest.trim();
    let rest = rest.strip_suffix("quick").map_or((rest, false), |rest| (rest.trim(), true));
    let all = docs.join(" ");
    let (docs, safety) = all.split_once("Safety: ").unwrap_or((&all, ""));
    Function {
        kind,
        name: name.to_owned(),
        module: module.to_owned(),
        parameters: parameters.collect(),
        returns: rest.0.strip_prefix("-> ").unwrap_or("phx_err").to_owned(),
        operation: rest.0.strip_prefix("= ").map(str::to_owned),
        is_quick: rest.1,
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

/// The table's items, in its order.
pub(crate) fn read(text: &str) -> Vec<Item> {
    blocks(text).iter().map(|(head, below)| item(head, below)).collect()
}

/// The functions among them.
pub(crate) fn functions(items: &[Item]) -> impl Iterator<Item = &Function> {
    items.iter().filter_map(|item| match item {
        Item::Function(function) => Some(function),
        _ => None,
    })
}
