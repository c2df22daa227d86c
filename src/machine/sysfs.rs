//! The sysfs back end: the machine as Linux describes it under `/sys/devices/system/{cpu,node}`.
//!
//! Real machines, old kernels and saved trees differ in what they have: `core_cpus` or
//! `thread_siblings`, lists or masks, files that end in NULs, masks that are all zero, no `online`
//! file. So everything is optional here, except the processors themselves; whatever is missing is
//! taken as "not shared". Offline processors are no part of the machine.

use crate::sorted::{Arrange, SortedMap, SortedSet};
use std::cmp::Reverse;
use std::fs;
use std::path::{Path, PathBuf};

use super::MachineError;
use super::facts::{Facts, RawCore, RawDistances, RawGroup, RawNode};
use super::level::Level;
use super::mask::{MAX_PU, clean, format_list, parse_list, parse_mask};

/// Reads a saved tree, looking for where it begins.
pub(super) fn read_saved(root: &Path) -> Result<Facts, MachineError> {
    if let Err(error) = fs::read_dir(root) {
        return Err(unreadable(root, &error.to_string()));
    }
    if has_cpus(&root.join("sys")) {
        return read(root);
    }
    if has_cpus(root) {
        return read_below(root, None);
    }
    let inner: Vec<PathBuf> =
        entries(root).into_iter().filter(|dir| has_cpus(&dir.join("sys"))).collect();
    match inner.as_slice() {
        [only] => read(only),
        [] => Err(unreadable(root, "there is no sys/devices/system/cpu in it")),
        _ => Err(unreadable(root, "there are several machines in it")),
    }
}

/// Reads the tree under a root that has `sys` and `proc`.
pub(super) fn read(root: &Path) -> Result<Facts, MachineError> {
    read_below(&root.join("sys"), Some(root))
}

/// Of each set, how many processors report it, and the number that goes with it.
type Reported = SortedMap<(Level, Vec<usize>), (usize, Option<usize>)>;

/// The sets of a processor: their level, the files that say them, and that of their number.
type SetFiles = (Level, &'static [&'static str], &'static str);

const SETS: &[SetFiles] = &[
    (Level::Package, &["package_cpus", "core_siblings"], "physical_package_id"),
    (Level::Die, &["die_cpus"], "die_id"),
    (Level::Group, &["cluster_cpus"], "cluster_id"),
    (Level::Group, &["book_cpus", "book_siblings"], "book_id"),
    (Level::Group, &["drawer_cpus", "drawer_siblings"], "drawer_id"),
];

#[inline(never)]
fn report_set(
    groups: &mut Reported,
    (level, names, id): SetFiles,
    topology: &Path,
    cpu: usize,
    online: &[usize],
) {
    let os_id = read_number(topology, id);
    // A kernel that does not know the package says -1, and the set means nothing.
    let known = level != Level::Package || os_id.is_some();
    if let Some(set) = read_own(topology, names, cpu, online).filter(|_| known) {
        report(groups, level, set, os_id);
    }
}

#[inline(never)]
fn report(groups: &mut Reported, level: Level, set: Vec<usize>, os_id: Option<usize>) {
    groups.or_insert((level, set), (0, os_id)).0 += 1;
}

/// The set that the files say, of online processors; none if this one is not in it.
#[inline(never)]
fn read_own(dir: &Path, names: &[&str], cpu: usize, online: &[usize]) -> Option<Vec<usize>> {
    let mut set = read_set(dir, names)?;
    set.retain(|pu| online.binary_search(pu).is_ok());
    set.contains(&cpu).then_some(set)
}

fn read_below(sys: &Path, root: Option<&Path>) -> Result<Facts, MachineError> {
    let cpu_dir = cpu_dir(sys);
    let online = online(&cpu_dir)?;
    let mut facts = Facts::default();
    let mut groups = Reported::new();
    for &cpu in &online {
        let dir = cpu_dir.join(format!("cpu{cpu}"));
        let topology = dir.join("topology");
        let set = |dir: &Path, names: &[&str]| read_own(dir, names, cpu, &online);
        let core = set(&topology, &["core_cpus", "thread_siblings"]).unwrap_or_else(|| vec![cpu]);
        report(&mut groups, Level::Core, core.clone(), None);
        for &it in SETS {
            report_set(&mut groups, it, &topology, cpu, &online);
        }
        for index in entries(&dir.join("cache")) {
            let Some(level) = data_cache(&index) else { continue };
            // An empty mask, or one without the processor itself, is the core's own cache.
            let set = set(&index, &["shared_cpu"]).unwrap_or_else(|| core.clone());
            report(&mut groups, level, set, None);
            let size = read_text(&index, "size").and_then(|text| cache_size(&text));
            facts.caches.extend(size.map(|bytes| (level, bytes)));
        }
    }
    for RawGroup { level, os_id, pus } in elect(groups, &mut facts.warnings) {
        if level == Level::Core {
            facts.cores.push(RawCore { pus });
        } else {
            facts.groups.push(RawGroup { level, os_id, pus });
        }
    }
    // A cluster of one core tells nothing.
    let cores = &facts.cores;
    facts.groups.retain(|group| {
        group.level != Level::Group || !cores.iter().any(|core| core.pus == group.pus)
    });
    read_nodes(sys, &mut facts);
    Kinds { kinds: facts.kinds, speeds: facts.speeds } = kinds(sys, &cpu_dir, &online);
    facts.allowed = root.and_then(cpuset);
    Ok(facts)
}

/// Settles contradictions: where two different sets of one level overlap, the one that more
/// processors report is right. (A saved 4 x 10-core Xeon has one processor that claims to be in a
/// package with the first core of each other package.) Clusters may nest, so they are left alone.
fn elect(reported: Reported, warnings: &mut Vec<String>) -> Vec<RawGroup> {
    let mut sets = reported.into_pairs();
    sets.arrange_by_key(|((level, set), (votes, _))| (*level, Reverse(*votes), set.len()));
    let mut taken: SortedSet<(Level, usize)> = SortedSet::new();
    let mut elected = Vec::new();
    for ((level, pus), (_, os_id)) in sets {
        if level != Level::Group && pus.iter().any(|&pu| taken.contains(&(level, pu))) {
            let pus = format_list(&pus);
            warnings
                .push(format!("the {level} of PU {pus} contradicts what others report: dropped"));
            continue;
        }
        taken.extend(pus.iter().map(|&pu| ((level, pu), ())));
        elected.push(RawGroup { level, os_id, pus });
    }
    elected
}

fn unreadable(path: &Path, reason: &str) -> MachineError {
    MachineError::Unreadable { path: path.to_owned(), reason: reason.to_owned() }
}

/// Some saved trees only hold the files behind `sys/bus/cpu`.
fn cpu_dir(sys: &Path) -> PathBuf {
    let usual = sys.join("devices/system/cpu");
    if usual.is_dir() { usual } else { sys.join("bus/cpu/devices") }
}

fn has_cpus(sys: &Path) -> bool {
    !numbered(&cpu_dir(sys), "cpu").is_empty()
}

/// The paths in a directory, sorted; none when it cannot be read.
#[inline(never)]
fn entries(dir: &Path) -> Vec<PathBuf> {
    let mut paths = Vec::new();
    if let Ok(found) = fs::read_dir(dir) {
        found.for_each(|entry| paths.extend(entry.map(|it| it.path())));
    }
    paths.arrange();
    paths
}

/// The numbers of the entries called `prefix` and a number, sorted.
fn numbered(dir: &Path, prefix: &str) -> Vec<usize> {
    let number_of = |path: &Path| -> Option<usize> {
        path.file_name()?.to_str()?.strip_prefix(prefix)?.parse().ok()
    };
    let mut numbers = Vec::new();
    for path in entries(dir) {
        numbers.extend(number_of(&path).filter(|&number| number < MAX_PU));
    }
    numbers.arrange();
    numbers
}

/// Of one file; a saved tree may have anything in the place of it.
const MOST_BYTES: u64 = 1 << 20;

/// Not inlined, as it is called from thirty places.
#[inline(never)]
fn read_text(dir: &Path, file: &str) -> Option<String> {
    // Firmware strings need not be UTF-8; nothing here is longer than a page or two.
    let bytes = crate::file::read(&dir.join(file), MOST_BYTES).ok()?;
    Some(clean(&String::from_utf8_lossy(&bytes)).to_owned())
}

#[inline(never)]
fn read_number(dir: &Path, file: &str) -> Option<usize> {
    read_text(dir, file)?.parse().ok()
}

/// A list of numbers, if the file has one.
#[inline(never)]
fn read_list(dir: &Path, file: &str) -> Option<Vec<usize>> {
    parse_list(&read_text(dir, file)?).ok()
}

#[inline(never)]
fn first_list(dir: &Path, names: &[&str]) -> Option<Vec<usize>> {
    names.iter().find_map(|name| read_list(dir, name))
}

/// A mask, if the file has one.
#[inline(never)]
fn read_mask(dir: &Path, file: &str) -> Option<Vec<usize>> {
    parse_mask(&read_text(dir, file)?).ok()
}

type SetReader = fn(&Path, &str) -> Option<Vec<usize>>;

/// By the ends of the names.
const READERS: [(&str, SetReader); 3] =
    [("", read_mask), ("_map", read_mask), ("_list", read_list)];

/// Reads the first file among `NAME_list`, `NAME`, `NAME_map` .. that holds a set with something in
/// it.
#[inline(never)]
fn read_set(dir: &Path, names: &[&str]) -> Option<Vec<usize>> {
    for name in names {
        for (suffix, read) in READERS {
            match read(dir, &format!("{name}{suffix}")) {
                Some(set) if !set.is_empty() => return Some(set),
                _ => {}
            }
        }
    }
    None
}

/// The online processors, sorted.
fn online(cpu_dir: &Path) -> Result<Vec<usize>, MachineError> {
    let present = numbered(cpu_dir, "cpu");
    let online = match read_list(cpu_dir, "online") {
        Some(mut list) if !list.is_empty() => {
            list.retain(|cpu| present.binary_search(cpu).is_ok());
            list
        }
        _ => {
            let mut present = present;
            present.retain(|cpu| {
                let online = read_text(cpu_dir, &format!("cpu{cpu}/online"));
                online.is_none_or(|text| text != "0")
            });
            present
        }
    };
    if online.is_empty() {
        return Err(unreadable(cpu_dir, "it has neither a list of online processors nor any cpuN"));
    }
    Ok(online)
}

/// The level of a cache directory, if it holds data.
fn data_cache(index: &Path) -> Option<Level> {
    let name = index.file_name()?.to_str()?;
    name.strip_prefix("index")?.parse::<usize>().ok()?;
    if read_text(index, "type").is_some_and(|kind| kind.starts_with("Instruction")) {
        return None;
    }
    Level::cache(read_number(index, "level")?)
}

/// Bytes, from the kernel's `32768K`.
fn cache_size(text: &str) -> Option<u64> {
    let text = text.trim();
    let (number, unit) = match text.strip_suffix(['K', 'M']) {
        Some(number) if text.ends_with('M') => (number, 1 << 20),
        Some(number) => (number, 1 << 10),
        None => (text, 1),
    };
    number.parse::<u64>().ok()?.checked_mul(unit).filter(|&bytes| bytes > 0)
}

/// NUMA nodes, with their memory and distances.
fn read_nodes(sys: &Path, facts: &mut Facts) {
    let usual = sys.join("devices/system/node");
    let dir = if usual.is_dir() { usual } else { sys.join("bus/node/devices") };
    let mut ids = numbered(&dir, "node");
    if let Some(listed) = read_list(&dir, "online") {
        ids.retain(|id| listed.is_empty() || listed.contains(id));
    }
    let mut distances = RawDistances::default();
    for &id in &ids {
        let node = dir.join(format!("node{id}"));
        // Here the names have no underscore: cpumap, cpulist.
        let pus = read_mask(&node, "cpumap").or_else(|| read_list(&node, "cpulist"));
        let pus = pus.unwrap_or_default();
        let memory_bytes = read_text(&node, "meminfo").and_then(|text| memory_total(&text));
        facts.nodes.push(RawNode { os_id: id, pus, memory_bytes });
        let row: Option<Vec<u64>> = read_text(&node, "distance")
            .and_then(|text| text.split_whitespace().map(|word| word.parse().ok()).collect());
        distances.values.push(row.unwrap_or_default());
    }
    // The rows have one column per online node.
    distances.nodes.clone_from(&ids);
    if !ids.is_empty() && distances.values.iter().all(|row| row.len() == ids.len()) {
        facts.distances = Some(distances);
    } else if distances.values.iter().any(|row| !row.is_empty()) {
        facts.warnings.push("the node distances are not a square matrix: ignored".to_owned());
    }
}

/// `Node 0 MemTotal:  16298 kB`.
fn memory_total(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find(|line| line.contains("MemTotal:"))?;
    let kilobytes: u64 = line.split("MemTotal:").nth(1)?.split_whitespace().next()?.parse().ok()?;
    kilobytes.checked_mul(1024)
}

/// A system's facts of its processing units: as in [`Facts`].
#[derive(Default)]
struct Kinds {
    kinds: Vec<(usize, usize)>,
    speeds: Vec<(usize, u64)>,
}

/// Efficiency classes, 0 the slowest, and speeds, from the system's files: the capacity that the
/// scheduler uses, Intel's lists of performance, efficiency and low-power cores (of which nothing
/// says how much faster the ones are), or maximum frequencies.
fn kinds(sys: &Path, cpu_dir: &Path, online: &[usize]) -> Kinds {
    let all = |value: &dyn Fn(usize) -> Option<u64>| {
        let mut values = Vec::with_capacity(online.len());
        for &cpu in online {
            values.push((cpu, value(cpu)?));
        }
        Some(values)
    };
    let of_file =
        |file: &str| all(&|cpu| read_text(cpu_dir, &format!("cpu{cpu}/{file}"))?.parse().ok());
    let intel = || {
        let list = |name| read_list(sys, &format!("devices/{name}/cpus")).unwrap_or_default();
        let lists = ["cpu_core", "cpu_atom", "cpu_lowpower"].map(list);
        // A processor in no list is of the fastest kind without one; in several, of the shortest.
        let other = lists.iter().position(Vec::is_empty).unwrap_or(2);
        let kind = |cpu| {
            let named = (0..3).filter(|&kind| lists[kind].contains(&cpu));
            named.min_by_key(|&kind| lists[kind].len()).unwrap_or(other)
        };
        let is_hybrid = lists.iter().any(|list| !list.is_empty());
        is_hybrid.then(|| all(&|cpu| Some(4 >> kind(cpu)))).flatten()
    };
    // Frequencies within a tenth are the same kind: single cores are allowed to boost higher.
    let mut tenth = false;
    let values = of_file("cpu_capacity").or_else(intel).or_else(|| {
        tenth = true;
        of_file("cpufreq/cpuinfo_max_freq")
    });
    let Some(values) = values else { return Kinds::default() };
    let mut steps = Vec::with_capacity(values.len());
    values.iter().for_each(|&(_, value)| steps.push(value));
    steps.arrange();
    steps.dedup_by(|next, kept| *next == *kept || (tenth && *next <= *kept + *kept / 10));
    let kind = |value: u64| steps.partition_point(|&step| step <= value).saturating_sub(1);
    Kinds { kinds: values.iter().map(|&(cpu, value)| (cpu, kind(value))).collect(), speeds: values }
}

/// The processors of the cpuset that a saved tree's process ran in.
fn cpuset(root: &Path) -> Option<Vec<usize>> {
    let mounts = read_text(root, "proc/mounts")?;
    let group = read_text(root, "proc/self/cpuset").or_else(|| {
        let text = read_text(root, "proc/self/cgroup")?;
        text.lines().find_map(|line| line.strip_prefix("0::").map(str::to_owned))
    })?;
    // Whatever a damaged file says, stay below the root.
    let group = group.trim_start_matches('/');
    if group.split('/').any(|part| part == "..") {
        return None;
    }
    mounts.lines().find_map(|line| {
        let mut fields = line.split_whitespace().skip(1);
        let point = fields.next()?.trim_start_matches('/');
        let (kind, options) = (fields.next()?, fields.next()?);
        let is_cpuset = kind == "cpuset"
            || kind == "cgroup2"
            || (kind == "cgroup" && options.split(',').any(|option| option == "cpuset"));
        if !is_cpuset || point.split('/').any(|part| part == "..") {
            return None;
        }
        let dir = root.join(point).join(group);
        let names: &[&str] =
            &["cpuset.cpus.effective", "cpuset.effective_cpus", "cpuset.cpus", "cpus"];
        first_list(&dir, names).filter(|list| !list.is_empty())
    })
}
