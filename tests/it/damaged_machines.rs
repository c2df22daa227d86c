//! Damaged input: the readers of machines and profiles may not panic or hang,
//! and a machine that is read keeps its promises. Inputs are real ones, mutated by a small
//! deterministic generator.
//!
//! `PHALANX_FUZZ=100 cargo test --test it damaged_machines::` tries 100 times as many, others each
//! time.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use crate::common::{mutate, tries};
use phalanx::machine::{Level, Machine, MachineError};
use phalanx::placement::{Placement, assign};

/// A damaged profile is read as one that can be written and read again, or an error.
#[cfg(feature = "profile")]
#[test]
fn damaged_profiles() {
    use phalanx::tuning::{Profile, Tuning};
    let machine = Machine::from_synthetic("pack:2 [numa] l3:2 core:4 pu:1").unwrap();
    let profile = Profile::of(&machine, "today").with_tuning(2, Tuning::default()).unwrap();
    let original = profile.with_tuning(8, Tuning::of(&machine, 8)).unwrap().to_json();
    let (n, mut random) = tries(3000, 11);
    let mut read = 0;
    for _ in 0..n {
        let text = mutate(original.as_bytes(), &mut random);
        match Profile::from_json(&String::from_utf8_lossy(&text)) {
            Ok(profile) => {
                read += 1;
                assert_eq!(Profile::from_json(&profile.to_json()).unwrap(), profile);
            }
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
    assert!(0 < read && read < n, "{read} of {n}");
}

fn is_malformed(result: Result<Machine, MachineError>, wanted: &str) {
    let error = result.unwrap_err();
    assert!(matches!(error, MachineError::Malformed { .. }), "{error}");
    assert!(error.to_string().contains(wanted), "{wanted}: {error}");
}

/// A machine that was read must be usable.
fn check(result: Result<Machine, MachineError>) {
    let machine = match result {
        Ok(machine) => machine,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    assert!(!machine.cores().is_empty() && !machine.allowed_pus().is_empty());
    let some = machine.allowed_pus()[0];
    assert!(machine.group_of(some, Level::Core).is_some());
    for placement in [Placement::Auto, Placement::Scatter, Placement::Hypercube] {
        let ranks = 4;
        let assignment = assign(&placement, &machine, ranks).unwrap();
        assert!(assignment.pus().iter().all(|pu| machine.is_allowed(pu.unwrap())));
    }
}

#[test]
fn damaged_synthetic_strings() {
    let (tries, mut random) = tries(400, 1);
    for seed in [
        "pack:2 [numa(memory=16GB)] l3:4 core:8 pu:2",
        "node:2 l3:4 core:8 pu:2(indexes=node:core)",
        "pack:2 core:2 pu:2(indexes=0,4,2,6,1,5,3,7)",
        "2 3 4 5",
        "group:2 l2:2(size=1MB) l1i:1 core:1 pu:2(indexes=4*2)",
    ] {
        for _ in 0..tries {
            let bytes = mutate(seed.as_bytes(), &mut random);
            check(Machine::from_synthetic(&String::from_utf8_lossy(&bytes)));
        }
    }
}

/// Every sort of object that is read, for where hwloc's saved machines are not at hand.
const SMALL: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE topology SYSTEM "hwloc2.dtd">
<topology version="2.0">
  <object type="Machine" os_index="0" cpuset="0x0000000f"
    complete_cpuset="0x0000000f" allowed_cpuset="0x0000000f" nodeset="0x00000003" gp_index="1">
    <info name="Backend" value="Linux"/>
    <object type="Package" os_index="0" cpuset="0x00000003" nodeset="0x00000001" gp_index="2">
      <object type="NUMANode" os_index="0" cpuset="0x00000003" nodeset="0x00000001" gp_index="3"
        local_memory="1073741824"/>
      <object type="L3Cache" cpuset="0x00000003" gp_index="4" cache_size="8388608"
        depth="3" cache_linesize="64" cache_associativity="16" cache_type="0">
        <object type="Core" os_index="0" cpuset="0x00000003" gp_index="5">
          <object type="PU" os_index="0" cpuset="0x00000001" gp_index="6"/>
          <object type="PU" os_index="1" cpuset="0x00000002" gp_index="7"/>
        </object>
      </object>
    </object>
    <object type="Package" os_index="1" cpuset="0x0000000c" nodeset="0x00000002" gp_index="8">
      <object type="NUMANode" os_index="1" cpuset="0x0000000c" nodeset="0x00000002" gp_index="9"
        local_memory="1073741824"/>
      <object type="Core" os_index="0" cpuset="0x0000000c" gp_index="10">
        <object type="PU" os_index="2" cpuset="0x00000004" gp_index="11"/>
        <object type="PU" os_index="3" cpuset="0x00000008" gp_index="12"/>
      </object>
    </object>
  </object>
  <distances2 type="NUMANode" nbobjs="2" kind="5" name="NUMALatency" indexing="os">
    <indexes length="4">0 1 </indexes>
    <u64values length="12">10 21 21 10 </u64values>
  </distances2>
</topology>
"#;

/// A path that is no file is refused unopened: a device without an end, a pipe that nobody writes
/// to.
#[test]
fn what_is_no_file() {
    let mut odd = vec![PathBuf::from("/dev/zero"), std::env::temp_dir()];
    let pipe = std::env::temp_dir().join(format!("phalanx-pipe-{}", std::process::id()));
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    odd.extend(made.is_ok_and(|status| status.success()).then(|| pipe.clone()));
    for path in odd.iter().filter(|path| path.exists()) {
        let machine = Machine::from_xml(path).unwrap_err();
        assert!(matches!(&machine, MachineError::Unreadable { path: at, .. } if at == path));
        assert!(machine.to_string().ends_with("it is no file"), "{machine}");
        #[cfg(feature = "profile")]
        assert!(phalanx::tuning::Profile::read(path).unwrap_err().to_string().contains("no file"));
    }
    if pipe.exists() {
        fs::remove_file(pipe).unwrap();
    }
}

#[test]
fn damaged_xml() {
    let dir = std::env::var_os("PHALANX_TOPOLOGIES").map(std::path::PathBuf::from);
    let dir = dir.unwrap_or_default();
    let (tries, mut random) = tries(600, 2);
    let small = [SMALL, VERSION_3];
    assert!(small.iter().all(|text| Machine::from_xml_text(text).is_ok()));
    let mut originals = small.map(|text| text.as_bytes().to_vec()).to_vec();
    for name in ["8em64t-2s4c-asymcaches", "16amd64-8n2c-cpusets"] {
        let Ok(original) = fs::read(dir.join(format!("{name}.xml"))) else {
            // Not through `eprintln`, which the test harness swallows.
            let _: Result<_, _> = writeln!(std::io::stderr(), "skipped: {name} is not there");
            continue;
        };
        originals.push(original);
    }
    for original in originals {
        for _ in 0..tries {
            let bytes = mutate(&original, &mut random);
            check(Machine::from_xml_text(&String::from_utf8_lossy(&bytes)));
        }
    }
}

/// The same as version 3 writes it: `id`, facts about the system outside of the objects, other
/// numbers of devices; names with characters that XML escapes, and a CDATA section.
const VERSION_3: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE topology SYSTEM "hwloc2.dtd">
<topology version="3.0">
  <object type="Machine" os_index="0" cpuset="0x0000000f" complete_cpuset="0x0000000f"
      allowed_cpuset="0x0000000d" nodeset="0x00000003" gp_index="1" id="obj1">
    <info name="DMISysVendor" value="A &amp; B &lt;&#x43;&gt;"/>
    <object type="Package" os_index="0" cpuset="0x0000000f" gp_index="2" id="obj2" subtype="none">
      <object type="Die" os_index="0" cpuset="0x00000003" gp_index="3" id="obj3">
        <object type="MemCache" cpuset="0x00000003" cache_size="1048576" depth="1"
            cache_linesize="64" cache_associativity="1" cache_type="0" gp_index="4" id="obj4">
          <object type="NUMANode" os_index="0" cpuset="0x00000003" nodeset="0x00000001" id="obj5"
              subtype="DRAM" local_memory="1073741824"/>
        </object>
        <object type="Core" os_index="0" cpuset="0x00000003" gp_index="6" id="obj6">
          <object type="PU" os_index="0" cpuset="0x00000001" gp_index="7" id="obj7"/>
          <object type="PU" os_index="1" cpuset="0x00000002" gp_index="8" id="obj8"/>
        </object>
      </object>
      <object type="Group" cpuset="0x0000000c" kind="1001" subkind="0" dont_merge="1" gp_index="9"
          id="obj9">
        <object type="NUMANode" os_index="1" cpuset="0x0000000c" nodeset="0x00000002"
            gp_index="10" id="obj10" local_memory="2147483648"/>
        <object type="Core" os_index="1" cpuset="0x0000000c" gp_index="11" id="obj11">
          <object type="PU" os_index="2" cpuset="0x00000004" gp_index="12" id="obj12"/>
          <object type="PU" os_index="3" cpuset="0x00000008" gp_index="13" id="obj13"/>
        </object>
      </object>
      <object type="OSDev" gp_index="14" id="obj14" name="dax0.0" subtype="SPM" osdev_type="2"/>
    </object>
  </object>
  <distances2 type="NUMANode" nbobjs="2" kind="8" name="Bandwidth" indexing="os">
    <indexes length="4">0 1 </indexes>
    <u64values length="8">9 1 1 9 </u64values>
  </distances2>
  <distances2 type="NUMANode" nbobjs="2" kind="5" name="NUMALatency" indexing="gp">
    <indexes length="5">10 5 </indexes>
    <u64values length="6"><![CDATA[10 21 ]]></u64values>
    <u64values length="6">22 10 </u64values>
  </distances2>
  <support name="discovery.pu"/>
  <memattr name="Bandwidth" flags="5">
    <memattr_value target_obj_type="NUMANode" target_obj_gp_index="5" value="100"/>
  </memattr>
  <cpukind cpuset="0x00000003"><info name="CoreType" value="E"/></cpukind>
  <cpukind cpuset="0x0000000c" forced_efficiency="7"/>
  <info name="Backend" value="Linux"/>
</topology>
"#;

#[test]
fn version_3_of_the_xml() {
    let machine = Machine::from_xml_text(VERSION_3).unwrap();
    assert_eq!(machine.pu_count(), 4);
    assert_eq!(machine.allowed_pus(), [0, 2, 3]);
    assert_eq!(machine.cores().iter().map(|core| core.kind).collect::<Vec<_>>(), [0, 7]);
    let nodes: Vec<_> = machine.numa_nodes().iter().map(|n| (n.os_id, n.memory_bytes)).collect();
    assert_eq!(nodes, [(0, Some(1 << 30)), (1, Some(2 << 30))]);
    // The file's order is node 1, node 0.
    assert_eq!(machine.distances().unwrap(), [[10, 22], [21, 10]]);
    assert_eq!(machine.groups(Level::Package)[0].pus, [0, 1, 2, 3]);
    assert_eq!(machine.cores()[1].pus, [2, 3]);
    // The versions differ in nothing else that is read.
    let older = VERSION_3.replace("version=\"3.0\"", "version=\"2.0\"");
    assert_eq!(Machine::from_xml_text(&older).unwrap(), machine);
}

/// Files that would take the parser much memory or time end in an error at once.
#[test]
fn xml_beyond_the_limits() {
    let open = "<topology version=\"2.0\">";
    let attributes: String = (0..200_000).map(|i| format!(" a{i}=\"\"")).collect();
    let nested: String = (0..129).map(|_| "<object type=\"Group\">").collect();
    let spaces: String = (0..60_000).map(|i| format!("<a xmlns:n{i}=\"n{i}\">")).collect();
    for (text, wanted) in [
        (open.to_owned() + &"<object type=\"Group\">".repeat(200_000), "never closed"),
        (open.to_owned() + &nested + &"</object>".repeat(129) + "</topology>", "more than 128"),
        (open.to_owned() + "<object" + &attributes + "/></topology>", "more than 256 attributes"),
        (open.to_owned() + &spaces, "no name spaces"),
        (open.to_owned() + &"<a/>".repeat(1 << 20) + "</topology>", "more than 1048576 tags"),
        (open.to_owned() + &" ".repeat(64 << 20), "more than 67108864 bytes"),
        (
            "<!DOCTYPE topology [<!ENTITY a \"bbbb\"><!ENTITY c \"&a;&a;\">]><topology>&c;"
                .to_owned(),
            "declares no entities",
        ),
        (open.to_owned() + "<info value=\"&c;\"/></topology>", "unknown entity"),
    ] {
        is_malformed(Machine::from_xml_text(&text), wanted);
    }
}

/// A count or a set in a short text asks for no memory that the text could not fill.
#[test]
fn huge_counts_in_short_texts() {
    for (text, wanted) in [
        ("core:4000000000 pu:1".to_owned(), "must be 1 to 65536"),
        ("core:99999999999999999999 pu:1".to_owned(), "expected a number of objects"),
        ("core:65536 pu:65536".to_owned(), "more than the limit of 65536"),
        ("pack:65536 ".to_owned() + &"group:1 ".repeat(20_000) + "pu:1", "more than 128 levels"),
        ("[numa] ".repeat(20_000) + "pu:65536", "more than 128 levels and memories"),
        ("pack:2 ".to_owned() + &"[numa] ".repeat(20_000) + "pu:32768", "more than 128 levels"),
        ("pu:65536(indexes=4000000000*4000000000)".to_owned(), "do not multiply to 65536"),
    ] {
        is_malformed(Machine::from_synthetic(&text), wanted);
    }
    let all = vec!["0xffffffff"; 2048].join(",");
    let node = |i: usize| format!("<object type=\"NUMANode\" os_index=\"{i}\" cpuset=\"{all}\"/>");
    let nodes: String = (0..100).map(node).collect();
    let kinds = format!("<cpukind cpuset=\"{all}\"/>").repeat(100);
    let pu = "<object type=\"PU\" os_index=\"0\"/>";
    let of = |inside: &str| format!("<topology version=\"2.0\">{inside}</topology>");
    for (text, wanted) in [
        (of(&format!("{pu}{nodes}")), "name the same processors too often"),
        (of(&format!("{pu}{kinds}")), "name the same processors too often"),
        (SMALL.replace("\"0x0000000f\"", &format!("\"{}\"", "f".repeat(20_000))), "beyond"),
        (SMALL.replace("nbobjs=\"2\"", "nbobjs=\"4000000000\""), "matrix of 4000000000 nodes"),
        (SMALL.replace("nbobjs=\"2\"", "nbobjs=\"4096\""), "with 2 indexes and 4 values"),
        (SMALL.replace("os_index=\"3\"", "os_index=\"4000000000\""), "an os_index below 65536"),
    ] {
        is_malformed(Machine::from_xml_text(&text), wanted);
    }
    #[cfg(feature = "profile")]
    {
        let many: String = (0..1_000_000).map(|i| format!("\"a{i}\":0,")).collect();
        let error = phalanx::tuning::Profile::from_json(&format!("{{{many}\"b\":0}}")).unwrap_err();
        assert!(error.to_string().contains("more than 64 members"), "{error}");
    }
}

#[test]
fn broken_xml_names_what_is_wrong() {
    for (text, wanted) in [
        ("", "position 0: the document does not have a root node"),
        ("<topology version=\"2.0\">", "never closed"),
        ("<topology version=\"2.0\">\n \u{e9}</object>", "position 28: expected 'topology' tag"),
        ("<topology version=\"2.0\"></topology>", "there is no PU in it"),
        ("<topology version=\"4.0\"></topology>", "version 4.0, only versions 2 and 3 are read"),
        ("<topology><object type=\"Machine\"/></topology>", "lstopo of hwloc 2 converts it"),
        ("<html></html>", "expected <topology>, found <html>"),
        ("not xml", "position 0: unknown token"),
        ("<topology version=\"2.0\"><object type=\"PU\"/></topology>", "a PU needs an os_index"),
        (
            "<topology version=\"2.0\"><object type=\"PU\" os_index=\"1\"/><object type=\"PU\" \
             os_index=\"1\"/></topology>",
            "position 56: PU 1 is there twice",
        ),
    ] {
        let error = Machine::from_xml_text(text).unwrap_err().to_string();
        assert!(error.contains(wanted), "{text}: {error}");
    }
    let error = Machine::from_xml("/no/such/file.xml").unwrap_err().to_string();
    assert!(error.contains("/no/such/file.xml"), "{error}");
}

/// A small machine as files: 2 packages x 2 cores x 2 threads, 2 memories.
fn tree() -> Vec<(String, String)> {
    let mut files = vec![("cpu/online".to_owned(), "0-7\n".to_owned())];
    for cpu in 0..8 {
        let (core, package) = (cpu / 2, cpu / 4);
        for (name, text) in [
            ("topology/core_cpus", format!("{:08x}\n", 0b11 << (2 * core))),
            ("topology/thread_siblings_list", format!("{}-{}\n", 2 * core, 2 * core + 1)),
            ("topology/package_cpus", format!("{:08x}\n", 0b1111 << (4 * package))),
            ("topology/physical_package_id", format!("{package}\n")),
            ("cache/index0/level", "1\n".to_owned()),
            ("cache/index0/type", "Data\n".to_owned()),
            ("cache/index0/shared_cpu_map", format!("{:08x}\n", 0b11 << (2 * core))),
            ("cache/index3/level", "3\n".to_owned()),
            ("cache/index3/type", "Unified\n".to_owned()),
            ("cache/index3/shared_cpu_list", format!("{}-{}\n", 4 * package, 4 * package + 3)),
            ("cpu_capacity", format!("{}\n", 512 * (1 + package))),
        ] {
            files.push((format!("cpu/cpu{cpu}/{name}"), text));
        }
    }
    for node in 0..2 {
        files.push((format!("node/node{node}/cpumap"), format!("{:x}\n", 0b1111 << (4 * node))));
        files.push((format!("node/node{node}/distance"), ["10 21\n", "21 10\n"][node].to_owned()));
        let meminfo = format!("\nNode {node} MemTotal: 1024 kB\n");
        files.push((format!("node/node{node}/meminfo"), meminfo));
    }
    files
}

/// In memory, where that can be: ext4 without a journal takes a second for some hundred files, once
/// as many were removed.
pub(crate) fn scratch_folder(name: &str) -> PathBuf {
    let memory = Path::new("/dev/shm");
    let at = if memory.is_dir() { memory } else { Path::new(env!("CARGO_TARGET_TMPDIR")) };
    at.join(format!("phalanx-{name}-{}", std::process::id()))
}

struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Scratch {
        Scratch(scratch_folder(name))
    }

    fn write(&self, file: &str, text: &[u8]) {
        let path = self.0.join("sys/devices/system").join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.0));
    }
}

#[test]
fn damaged_sysfs_trees() {
    let scratch = Scratch::new("damaged");
    let files = tree();
    for (file, text) in &files {
        scratch.write(file, text.as_bytes());
    }
    let whole = Machine::from_sysfs(&scratch.0).unwrap();
    assert_eq!((whole.cores().len(), whole.pu_count(), whole.numa_nodes().len()), (4, 8, 2));
    assert_eq!(whole.distances().unwrap()[0], [10, 21]);
    assert_eq!(whole.groups(Level::L3).len(), 2);
    assert_eq!(whole.cores()[3].kind, 1);
    assert_eq!(Machine::from_sysfs(scratch.0.join("sys")).unwrap().cores(), whole.cores());

    let (tries, mut random) = tries(300, 3);
    for _ in 0..tries {
        let (file, text) = &files[random.below(files.len())];
        scratch.write(file, &mutate(text.as_bytes(), &mut random));
        check(Machine::from_sysfs(&scratch.0));
        // Every other time the damage stays, so that it adds up.
        if random.below(2) == 0 {
            scratch.write(file, text.as_bytes());
        }
    }
}

#[test]
fn odd_sysfs_trees() {
    // NUL tails, empty masks, no list of online processors, one processor off.
    let scratch = Scratch::new("odd");
    for (file, text) in tree() {
        if file == "cpu/online" {
            continue;
        }
        let text = if file.contains("shared_cpu_map") { "00000000\n".to_owned() } else { text };
        scratch.write(&file, format!("{text}\0\0").as_bytes());
    }
    scratch.write("cpu/cpu0/online", b"0\n");
    let machine = Machine::from_sysfs(&scratch.0).unwrap();
    assert_eq!((machine.cores().len(), machine.pu_count()), (4, 7));
    assert_eq!(machine.cores()[0].pus, [1]);
    assert_eq!(machine.groups(Level::L1).len(), 4, "an empty mask is the core's own cache");

    let empty = Scratch::new("empty");
    fs::create_dir_all(&empty.0).unwrap();
    let error = Machine::from_sysfs(&empty.0).unwrap_err().to_string();
    assert!(error.contains("there is no sys/devices/system/cpu"), "{error}");
}

/// A tree of so many processors, a core each, with these files beside them.
fn tree_of_cores(name: &str, processors: usize, files: &[(&str, &str)]) -> PathBuf {
    let root = scratch_folder(&format!("cores-{name}"));
    let write = |path: &str, text: &str| {
        let path = root.join("sys/devices").join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, format!("{text}\n")).unwrap();
    };
    for cpu in 0..processors {
        write(&format!("system/cpu/cpu{cpu}/topology/core_cpus_list"), &cpu.to_string());
    }
    files.iter().for_each(|(path, text)| write(path, text));
    root
}

/// Intel's lists of kinds: three of them, a processor in none or in several, offline ones, empty
/// lists, one list alone. Frequencies alone would call the efficiency cores fast.
#[test]
fn lists_of_kinds() {
    let efficiency = |name: &str, lists: &[(&str, &str)]| -> Vec<usize> {
        let paths: Vec<String> = lists.iter().map(|list| format!("{}/cpus", list.0)).collect();
        let mut files: Vec<(&str, &str)> =
            paths.iter().map(String::as_str).zip(lists.iter().map(|list| list.1)).collect();
        let frequency = |cpu: usize| match cpu {
            0..6 => "5200000",
            6..14 => "4500000",
            _ => "2500000",
        };
        let speeds: Vec<(String, &str)> = (0..16)
            .map(|cpu| (format!("system/cpu/cpu{cpu}/cpufreq/cpuinfo_max_freq"), frequency(cpu)))
            .collect();
        files.extend(speeds.iter().map(|(path, text)| (path.as_str(), *text)));
        files.push(("system/cpu/online", "0-15"));
        let root = tree_of_cores(name, 16, &files);
        let machine = Machine::from_sysfs(&root).unwrap();
        fs::remove_dir_all(root).unwrap();
        let slow = machine.cores().iter().filter(|core| core.is_efficiency);
        let slow: Vec<usize> = slow.map(|core| core.pus[0]).collect();
        assert_eq!(machine.ranks(), 16 - slow.len(), "{name}");
        slow
    };
    let right: Vec<usize> = (6..16).collect();
    let (core, atom) = (("cpu_core", "0-5"), ("cpu_atom", "6-13"));
    for (name, lists) in [
        ("three", &[core, atom, ("cpu_lowpower", "14-15")][..]),
        ("two", &[core, ("cpu_atom", "6-15")]),
        ("in-none", &[core, atom]),
        ("offline", &[("cpu_core", "0-5,20-21"), ("cpu_atom", "6-13,16-19")]),
        ("overlap", &[core, ("cpu_atom", "6-15"), ("cpu_lowpower", "14-15")]),
        ("all-in-one", &[("cpu_core", "0-15"), ("cpu_atom", "6-15")]),
        ("all-in-two", &[core, ("cpu_atom", "0-15")]),
        ("empty", &[core, ("cpu_atom", "6-15"), ("cpu_lowpower", "")]),
        ("empty-core", &[("cpu_core", ""), ("cpu_atom", "6-15")]),
        ("core-alone", &[core]),
        ("atom-alone", &[("cpu_atom", "6-15")]),
        ("damaged", &[("cpu_core", "0-x"), ("cpu_atom", "6-15")]),
    ] {
        assert_eq!(efficiency(name, lists), right, "{name}");
    }
    let all = [("cpu_core", "0-15"), ("cpu_atom", "")];
    assert!(efficiency("fast-alone", &all).is_empty());
    assert_eq!(efficiency("no-list", &[]), [14, 15], "by the frequencies");
}

/// The same machine by hwloc: kinds of one name and several frequencies.
#[test]
fn kinds_of_hwloc_by_name() {
    let pu = |pu: usize| format!("<object type=\"PU\" os_index=\"{pu}\"/>");
    let kind = |cpus: &str, name: &str, mhz: usize| {
        let info = |name, value: &str| format!("<info name=\"{name}\" value=\"{value}\"/>");
        let name = if name.is_empty() { String::new() } else { info("CoreType", name) };
        let mhz = info("FrequencyMaxMHz", &mhz.to_string());
        format!("<cpukind cpuset=\"{cpus}\">{name}{mhz}</cpukind>")
    };
    for low in ["IntelAtom", "IntelLowPower", ""] {
        let text = format!(
            "<topology version=\"2.0\"><object type=\"Machine\">{}</object>{}{}{}{}</topology>",
            (0..16).map(pu).collect::<String>(),
            kind("0xc000", low, 2500),
            kind("0x3fc0", "IntelAtom", 4500),
            kind("0x3c", "IntelCore", 5200),
            kind("0x3", "IntelCore", 5400),
        );
        let machine = Machine::from_xml_text(&text).unwrap();
        assert_eq!(machine.ranks(), 6, "{low}");
    }
}

/// More processors than a mask of 1024: read, placed, and by their numbers refused where they are
/// not.
#[test]
fn more_than_1024_processors() {
    use phalanx::machine::affinity;
    let text = |pu: usize| format!("system/node/node{pu}/cpulist");
    let nodes = [(text(0), "0-1023"), (text(1), "1024-2047")];
    let mut files: Vec<(&str, &str)> = nodes.iter().map(|(path, text)| (&**path, *text)).collect();
    files.extend([("system/cpu/online", "0-2047"), ("system/node/online", "0-1")]);
    let root = tree_of_cores("many", 2048, &files);
    let machine = Machine::from_sysfs(&root).unwrap();
    fs::remove_dir_all(root).unwrap();
    let synthetic = Machine::from_synthetic("pack:2 [numa] core:1024 pu:1").unwrap();
    for machine in [&machine, &synthetic] {
        assert_eq!((machine.ranks(), machine.allowed_pus().len()), (2048, 2048));
        assert_eq!(machine.group_of(2047, Level::Numa).map(|node| node % 2), Some(1));
        let pus = assign(&Placement::Auto, machine, 2048).unwrap();
        let mut pus: Vec<usize> = pus.pus().iter().map(|pu| pu.unwrap()).collect();
        pus.sort_unstable();
        assert!(pus.into_iter().eq(0..2048));
    }
    // Of this machine.
    let given = affinity::current_mask().unwrap_or_default();
    for absent in [1023, 1024, 2047, 8191].into_iter().filter(|pu| !given.contains(pu)) {
        let team = phalanx::Team::builder().ranks(2);
        let error = team.placement(Placement::List(vec![absent, absent])).build().unwrap_err();
        assert!(error.to_string().contains(&absent.to_string()), "{error}");
        let error = affinity::restore(&[absent]).unwrap_err();
        assert!(error.to_string().contains(&absent.to_string()), "{error}");
    }
}
