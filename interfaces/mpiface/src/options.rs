//! The launcher's options: its own, and those that scripts hand to other launchers (Open MPI's and
//! PRRTE's, MPICH's and Intel MPI's Hydra).
//!
//! Options that change nothing here are ignored, with one line for all. Those that would change
//! the hosts, the number of ranks or the place of their output are refused.

use crate::{home, stack};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The choices of a line of arguments.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Options {
    /// Ranks, if they are given.
    pub ranks: Option<usize>,
    /// Bytes of stack for each rank.
    pub stack: usize,
    /// How long a rank waits before it says so.
    pub stall_warning: Option<Duration>,
    /// Whether ranks keep to their cores.
    pub is_pinned: bool,
    /// Cores of each rank, if they are given.
    pub cpus_per_rank: Option<usize>,
    /// The seconds after which the run is ended.
    pub time: Option<u64>,
    /// The directory in which the program runs.
    pub directory: Option<PathBuf>,
    /// Variables of the environment that the program gets.
    pub variables: Vec<(String, String)>,
    /// The ignored options, as they were written.
    pub ignored: Vec<String>,
    /// The program and its arguments; empty if none is named.
    pub program: Vec<OsString>,
    /// Whether only the usage, or the version, is asked for.
    pub asks: Option<Asks>,
}

/// A text that is printed instead of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asks {
    /// How it is used.
    Help,
    /// Its version.
    Version,
}

const OUTPUT: &str = "the ranks' output goes to the launcher's";
const DEBUGGER: &str = "the ranks are threads of one process: gdb --args phalanx-mpirun ..";
const NUMBER: &str = "-n N says how many ranks there are";
const ENVIRONMENT: &str = "the ranks have the launcher's environment";

const PROGRAM: &str = "all ranks run one program";
const HOSTS: &str = "it places ranks on hosts; --cpus-per-rank N gives them cores";

/// Options of Open MPI's launchers and of Hydra that are ignored, with no value, one, or two: names
/// without dashes.
const IGNORED: [&str; 3] = [
    "oversubscribe nooversubscribe use-hwthread-cpus allow-run-as-root bind-to-core bind-to-socket \
     bycore byslot bysocket bynode report-bindings display-map display-devel-map \
     display-allocation display-topo tag-output timestamp-output merge-stderr-to-stdout noprefix \
     enable-recovery disable-recovery report-state-on-timeout get-stack-traces q quiet v verbose \
     envall genvall l prepend-rank print-all-exitcodes print-rank-map disable-auto-cleanup \
     disable-hostname-propagation",
    "bind-to map-by rank-by display stream-buffering stdin prefix s launcher launcher-exec \
     bootstrap rmk iface topolib",
    "mca gmca omca prtemca pmixmca",
];

/// Those that are refused, and why.
const REFUSED: [(&str, &str); 7] = [
    ("output-filename output xml outfile-pattern errfile-pattern", OUTPUT),
    ("app configfile", PROGRAM),
    ("rankfile rf", HOSTS),
    ("pernode npersocket soft usize", NUMBER),
    ("debug tv gdb", DEBUGGER),
    ("envnone genvnone envlist genvlist", ENVIRONMENT),
    ("arch", "there is one host"),
];

/// The arguments, which stand in turn.
struct Line<I> {
    rest: I,
    /// The option at hand, as it was written, and the value after its `=`.
    option: String,
    given: Option<String>,
}

impl<I: Iterator<Item = OsString>> Line<I> {
    fn value(&mut self) -> Result<String, String> {
        let next = || self.rest.next()?.into_string().ok();
        let value = self.given.take().or_else(next);
        value.ok_or_else(|| format!("{} wants a value", self.option))
    }

    fn number(&mut self) -> Result<usize, String> {
        let wrong = format!("{} wants a positive number", self.option);
        let number = self.value().map_err(|_| wrong.clone())?.parse().ok();
        number.filter(|it| *it > 0).ok_or(wrong)
    }
}

impl Options {
    /// Reads the arguments, without the launcher's own name.
    ///
    /// # Errors
    /// In words: an option that is refused, not known, or lacks its value.
    pub fn read(arguments: impl Iterator<Item = OsString>) -> Result<Options, String> {
        let mut it = Options { stack: stack::usual(), is_pinned: true, ..Options::default() };
        let mut line = Line { rest: arguments, option: String::new(), given: None };
        let (mut each_host, mut is_ended) = (None, false);
        while let Some(argument) = line.rest.next() {
            let text = argument.to_str().unwrap_or("");
            if !text.starts_with('-') || text.len() < 2 {
                it.program.push(argument);
                break;
            }
            if text == "--" {
                is_ended = true;
                break;
            }
            let (option, given) = match text.split_once('=') {
                Some((option, value)) => (option, Some(value.to_owned())),
                None => (text, None),
            };
            line.option = option.to_owned();
            line.given = given;
            let name = option.trim_start_matches('-').to_owned();
            it.take(&name, &mut line, &mut each_host)?;
            if let Some(value) = line.given.take() {
                return Err(format!("{} takes no value: {value}", line.option));
            }
        }
        it.program.extend(line.rest);
        // (After `--`, all is one program's: so a script's program begins again.)
        if !is_ended && it.program.iter().skip(1).any(|it| it == ":") {
            return Err("`:` is for several programs; all ranks run one".to_owned());
        }
        match (it.ranks, each_host) {
            (Some(ranks), Some(each)) if each < ranks => {
                return Err(format!(
                    "{ranks} ranks, {each} on a host, are for several hosts; there is one"
                ));
            }
            (None, each) => it.ranks = each,
            _ => {}
        }
        Ok(it)
    }

    fn take(
        &mut self,
        name: &str,
        line: &mut Line<impl Iterator<Item = OsString>>,
        each_host: &mut Option<usize>,
    ) -> Result<(), String> {
        match name {
            "n" | "np" | "c" => self.ranks = Some(line.number()?),
            "N" | "npernode" | "ppn" | "perhost" | "ranks-per-proc" => {
                *each_host = Some(line.number()?);
            }
            "stack" => {
                let bytes = line.number()?.checked_mul(1 << 20);
                self.stack = bytes.ok_or("so large a stack cannot be")?;
            }
            "stall-warning" => {
                let seconds = line.value().ok().and_then(|it| it.parse().ok());
                let time = seconds.and_then(|it| Duration::try_from_secs_f64(it).ok());
                let wrong = "--stall-warning wants a number of seconds (0: never)";
                self.stall_warning = Some(time.ok_or(wrong)?);
            }
            "no-pin" | "bind-to-none" => self.is_pinned = false,
            "cpus-per-rank" | "cpus-per-proc" | "cpus-per-task" => {
                self.cpus_per_rank = Some(line.number()?);
            }
            "timeout" => self.time = Some(line.number()? as u64),
            "wdir" | "wd" => self.directory = Some(line.value()?.into()),
            "x" => {
                let value = line.value()?;
                if let Some((name, value)) = value.split_once('=') {
                    self.variable(name, value)?;
                }
            }
            "genv" | "env" => {
                let name = match line.given.take() {
                    Some(given) => return self.variable(&given, &line.value()?),
                    None => line.value()?,
                };
                match name.split_once('=') {
                    Some((name, value)) => self.variable(name, value)?,
                    None => self.variable(&name, &line.value()?)?,
                }
            }
            "H" | "host" | "hosts" => {
                let value = line.value()?;
                check_hosts(value.split(','))?;
                self.ignored.push(format!("{} {value}", line.option));
            }
            "f" | "hostfile" | "machinefile" | "machine" | "default-hostfile" => {
                let value = line.value()?;
                let text = std::fs::read_to_string(&value);
                let text = text.map_err(|error| format!("{value}: {error}"))?;
                let hosts = text.lines().map(|it| it.split('#').next().unwrap_or(""));
                check_hosts(hosts.filter_map(|it| it.split_whitespace().next()))?;
                self.ignored.push(format!("{} {value}", line.option));
            }
            "h" | "help" => self.asks = Some(Asks::Help),
            "V" | "version" => self.asks = Some(Asks::Version),
            _ => return self.other(name, line),
        }
        Ok(())
    }

    fn variable(&mut self, name: &str, value: &str) -> Result<(), String> {
        if name.is_empty() || name.contains(['=', '\0']) || value.contains('\0') {
            return Err(format!("{name:?} is no variable's name"));
        }
        self.variables.push((name.to_owned(), value.to_owned()));
        Ok(())
    }

    fn other(
        &mut self,
        name: &str,
        line: &mut Line<impl Iterator<Item = OsString>>,
    ) -> Result<(), String> {
        let option = line.option.clone();
        let has = |list: &str| list.split_whitespace().any(|it| it == name);
        if let Some((_, why)) = REFUSED.iter().find(|it| has(it.0)) {
            return Err(format!("{option} is not for threads: {why}"));
        }
        let values = IGNORED.iter().position(|it| has(it));
        let values = values.ok_or_else(|| format!("{option} is not known"))?;
        let values: Result<Vec<String>, String> = (0..values).map(|_| line.value()).collect();
        let values = values?;
        match (name, values.first().map(String::as_str)) {
            ("bind-to", Some("none")) => {
                self.is_pinned = false;
                return Ok(());
            }
            ("map-by", Some(how)) => {
                let parts = || how.split([':', ',']);
                let pairs = || parts().filter_map(|it| it.split_once('='));
                if let Some((_, cores)) = pairs().find(|it| it.0.eq_ignore_ascii_case("pe")) {
                    let number = cores.parse().ok().filter(|it| *it > 0);
                    let wrong = format!("{option} {how}: PE wants a positive number");
                    self.cpus_per_rank = Some(number.ok_or(wrong)?);
                    return Ok(());
                }
                if parts().any(|it| it.eq_ignore_ascii_case("ppr")) {
                    return Err(format!("{option} {how} is not for threads: {NUMBER}"));
                }
            }
            _ => {}
        }
        self.ignored.push([&[option], &values[..]].concat().join(" "));
        Ok(())
    }
}

/// Whether these hosts, each with a number of slots perhaps, are this one.
fn check_hosts<'a>(hosts: impl Iterator<Item = &'a str>) -> Result<(), String> {
    let own = home::host();
    let short = |it: &str| it.split('.').next().unwrap_or("").to_owned();
    for host in hosts {
        // `::1`, or `name:slots`.
        let bare = if host.starts_with(':') { host } else { host.split(':').next().unwrap_or("") };
        let is_loop = bare == "::1" || bare.starts_with("127.") || bare == "localhost";
        if !is_loop && bare != own && short(bare) != short(&own) {
            return Err(format!("{bare} is another host: ranks are threads of this one ({own})"));
        }
    }
    Ok(())
}

/// Where a program of this name is: in the directories of PATH, or here.
///
/// # Errors
/// If there is no such file.
pub fn find(name: &OsStr) -> Result<PathBuf, String> {
    let path = PathBuf::from(name);
    if path.components().count() > 1 || name.as_encoded_bytes().contains(&b'/') {
        return Ok(path);
    }
    let places = std::env::var_os("PATH").unwrap_or_default();
    let is_there = |it: &PathBuf| {
        let name = std::ffi::CString::new(it.as_os_str().as_encoded_bytes());
        // SAFETY: a text that ends in a zero.
        let may = name.is_ok_and(|it| unsafe { libc::access(it.as_ptr(), libc::X_OK) } == 0);
        may && it.is_file()
    };
    let mut all = std::env::split_paths(&places).map(|it| it.join(&path));
    let here = || Some(Path::new(".").join(&path)).filter(|it| it.is_file());
    let found = all.find(is_there).or_else(here);
    found.ok_or_else(|| format!("{}: it is neither here nor in PATH", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<Options, String> {
        Options::read(line.split_whitespace().map(OsString::from))
    }

    #[test]
    fn options_end_with_the_program() {
        let it = read("-np 4 --stack 8 ./a -n 3 --host").expect("fine");
        assert_eq!((it.ranks, it.stack), (Some(4), 8 << 20));
        assert_eq!(it.program, ["./a", "-n", "3", "--host"]);
        assert_eq!(read("-n 2 -- -a").expect("fine").program, ["-a"]);
        assert_eq!(read("-n 2 -- ./a : b").expect("fine").program, ["./a", ":", "b"]);
    }

    #[test]
    fn options_of_other_launchers_are_taken_ignored_or_refused() {
        let it = read("--oversubscribe --mca a b --bind-to core -n=2 ./a").expect("fine");
        assert_eq!(it.ignored, ["--oversubscribe", "--mca a b", "--bind-to core"]);
        assert!(it.is_pinned && !read("--bind-to none ./a").expect("fine").is_pinned);
        let it = read("--map-by socket:PE=3 -x A=b=c -x B -genv C d ./a").expect("fine");
        assert_eq!(it.cpus_per_rank, Some(3));
        assert!(read("--map-by aaé ./a").is_ok());
        let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());
        assert_eq!(it.variables, [pair("A", "b=c"), pair("C", "d")]);
        assert_eq!(read("-ppn 4 ./a").expect("fine").ranks, Some(4));
        for (line, words) in [
            ("--output-filename x ./a", "output goes"),
            ("-n 4 -ppn 2 ./a", "several hosts"),
            ("-host localhost,elsewhere.example ./a", "elsewhere.example is another host"),
            ("-genvnone ./a", "environment"),
            ("--nonsense ./a", "--nonsense is not known"),
            ("-n 2 ./a : -n 2 ./b", "several programs"),
            ("-n zero ./a", "positive number"),
            ("-n", "positive number"),
            ("--mca a", "wants a value"),
            ("--no-pin=yes ./a", "takes no value"),
            ("--map-by ppr:2:node ./a", "-n N says"),
        ] {
            let error = read(line).expect_err(line);
            assert!(error.contains(words), "{line}: {error}");
        }
        assert!(read("-H localhost:4,127.0.0.1 ./a").is_ok());
    }
}
