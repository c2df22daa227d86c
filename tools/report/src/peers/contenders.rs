//! The compared programs and their settings.
//!
//! An MPI library takes part with several settings, and its best one counts:
//! stock Open MPI pays for a system call a message (CMA) that shared memory
//! does not need, and both return large buffers to the system after each call.

use super::installation::{Family, Installation};
use super::programs::{FLOOR, OPENMP_CLANG, OPENMP_GCC, Program};
use super::raw::{OURS, VARIANTS};
use std::collections::BTreeMap;
use std::iter;
use std::path::{Path, PathBuf};
use std::process::Command;

/// One library with one setting.
#[derive(Clone, Debug)]
pub(crate) struct Contender {
    /// Its name in the rows.
    pub(crate) library: String,
    kind: PeerKind,
    setting: PeerSetting,
}

/// How an MPI is told to work.
#[derive(Clone, Copy, Debug)]
struct PeerSetting {
    /// What its name ends with.
    suffix: &'static str,
    /// Whether it takes part in a quick run.
    quick: bool,
    /// Environment, and arguments of the launcher.
    env: &'static [(&'static str, &'static str)],
    args: &'static [&'static str],
    /// Operations, if only some.
    ops: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum PeerKind {
    /// `phalanx bench`; one call a sample, or several.
    Ours {
        single: bool,
    },
    Floor,
    Gomp,
    Omp,
    Mpi(Installation),
}

/// Large temporaries stay mapped between calls.
const KEEP: [(&str, &str); 3] = [
    ("MALLOC_MMAP_MAX_", "0"),
    ("MALLOC_TRIM_THRESHOLD_", "17179869184"),
    ("MALLOC_TOP_PAD_", "268435456"),
];
const NO_CMA: [&str; 6] =
    ["--mca", "btl", "self,vader", "--mca", "btl_vader_single_copy_mechanism", "none"];
const SM: [&str; 9] = [
    "--mca",
    "btl",
    "self,vader",
    "--mca",
    "btl_vader_single_copy_mechanism",
    "none",
    "--mca",
    "coll_sm_priority",
    "100",
];
const RABENSEIFNER: [&str; 12] = [
    "--mca",
    "btl",
    "self,vader",
    "--mca",
    "btl_vader_single_copy_mechanism",
    "none",
    "--mca",
    "coll_tuned_use_dynamic_rules",
    "1",
    "--mca",
    "coll_tuned_allreduce_algorithm",
    "6",
];
const POSIX: [(&str, &str); 4] = [("UCX_TLS", "posix,self"), KEEP[0], KEEP[1], KEEP[2]];
/// Collectives in shared memory, where MPICH was built with them (Debian's was
/// not, and ignores the names).
const RELEASE_GATHER: [(&str, &str); 8] = [
    ("MPIR_CVAR_BARRIER_POSIX_INTRA_ALGORITHM", "release_gather"),
    ("MPIR_CVAR_BCAST_POSIX_INTRA_ALGORITHM", "release_gather"),
    ("MPIR_CVAR_REDUCE_POSIX_INTRA_ALGORITHM", "release_gather"),
    ("MPIR_CVAR_ALLREDUCE_POSIX_INTRA_ALGORITHM", "release_gather"),
    ("UCX_TLS", "posix,self"),
    KEEP[0],
    KEEP[1],
    KEEP[2],
];
const ACTIVE: [(&str, &str); 6] = [
    ("OMP_WAIT_POLICY", "active"),
    ("OMP_PROC_BIND", "true"),
    ("OMP_PLACES", "cores"),
    ("OMP_DYNAMIC", "false"),
    ("KMP_BLOCKTIME", "infinite"),
    ("KMP_AFFINITY", "disabled"),
];
/// With more ranks than cores: wait asleep.
const PASSIVE: [(&str, &str); 3] =
    [("OMP_WAIT_POLICY", "passive"), ("KMP_BLOCKTIME", "0"), ("KMP_LIBRARY", "throughput")];

/// The same of Open MPI 5, whose parts have other names.
const NO_CMA_5: [&str; 6] = ["--mca", "btl", "self,sm", "--mca", "smsc", "^cma"];
const SM_5: [&str; 9] =
    ["--mca", "btl", "self,sm", "--mca", "smsc", "^cma", "--mca", "coll_sm_priority", "100"];
const RABENSEIFNER_5: [&str; 12] = [
    "--mca",
    "btl",
    "self,sm",
    "--mca",
    "smsc",
    "^cma",
    "--mca",
    "coll_tuned_use_dynamic_rules",
    "1",
    "--mca",
    "coll_tuned_allreduce_algorithm",
    "6",
];

const OPEN_MPI_4: [PeerSetting; 4] = [
    setting("-nocma", true, &KEEP, &NO_CMA, ""),
    setting("-sm", true, &KEEP, &SM, ""),
    setting("", false, &[], &["--mca", "btl", "self,vader"], ""),
    setting("-rab", false, &KEEP, &RABENSEIFNER, "allreduce"),
];
const OPEN_MPI_5: [PeerSetting; 4] = [
    setting("-nocma", true, &KEEP, &NO_CMA_5, ""),
    setting("-sm", true, &KEEP, &SM_5, ""),
    setting("", false, &[], &["--mca", "btl", "self,sm"], ""),
    setting("-rab", false, &KEEP, &RABENSEIFNER_5, "allreduce"),
];
const MPICH: [PeerSetting; 3] = [
    setting("-nocma", true, &POSIX, &[], ""),
    setting("", false, &[], &[], ""),
    setting("-rg", false, &RELEASE_GATHER, &[], "barrier,bcast,reduce,allreduce"),
];
const PLAIN: PeerSetting = setting("", true, &[], &[], "");

const fn setting(
    suffix: &'static str,
    quick: bool,
    env: &'static [(&'static str, &'static str)],
    args: &'static [&'static str],
    ops: &'static str,
) -> PeerSetting {
    PeerSetting { suffix, quick, env, args, ops }
}

/// What every program is asked.
#[derive(Clone, Debug)]
pub(crate) struct Ask {
    pub(crate) ranks: usize,
    pub(crate) pus: Vec<usize>,
    /// MPI's names, without variants; none for all.
    pub(crate) ops: Vec<String>,
    pub(crate) sizes: Vec<usize>,
    /// Places to seek; none: the first that holds.
    pub(crate) places: Vec<phalanx_tool::measure::proximity::Proximity>,
    pub(crate) limits: phalanx_tool::measure::proximity::ProximityLimits,
    pub(crate) budget_ms: f64,
    pub(crate) seconds: f64,
}

/// The programs that were built, and why others were not.
#[derive(Debug, Default)]
pub(crate) struct Built {
    programs: BTreeMap<String, PathBuf>,
    /// The MPIs that take part.
    pub(crate) mpis: Vec<Installation>,
    /// Whom we miss, and why.
    pub(crate) missing: Vec<String>,
}

impl Built {
    /// Builds all programs in `dir`: for the MPIs of the search path, and for
    /// `more`.
    pub(crate) fn all(dir: &Path, more: &[Installation]) -> Self {
        let mut built = Built::default();
        for program in [FLOOR, OPENMP_GCC, OPENMP_CLANG] {
            built.add(program.name, program.build(dir));
        }
        for family in Family::ALL {
            match Installation::of_path(family) {
                Ok(mpi) => built.add_mpi(mpi, dir),
                Err(why) => built.add(family.name(), Err(why)),
            }
        }
        more.iter().for_each(|mpi| built.add_mpi(mpi.clone(), dir));
        built
    }

    fn add_mpi(&mut self, mpi: Installation, dir: &Path) {
        let program = mpi.build(dir);
        if program.is_ok() {
            self.mpis.push(mpi.clone());
        }
        self.add(&mpi.name, program);
    }

    fn add(&mut self, name: &str, program: Result<PathBuf, String>) {
        match program {
            Ok(path) => drop(self.programs.insert(name.to_string(), path)),
            Err(why) => self.missing.push(format!("{name}: {why}")),
        }
    }
}

/// Everybody who takes part, in the order of a round. Ours stands between the
/// others twice, so that nobody always follows the same one.
pub(crate) fn all(quick: bool, mpis: &[Installation]) -> Vec<Contender> {
    let threads =
        |library: &str, kind| Contender { library: library.to_string(), kind, setting: PLAIN };
    let mut first =
        vec![threads(OURS, PeerKind::Ours { single: true }), threads("floor", PeerKind::Floor)];
    let mut second = vec![threads("openmp-gcc", PeerKind::Gomp)];
    second.push(threads(OURS, PeerKind::Ours { single: false }));
    second.push(threads("openmp-clang", PeerKind::Omp));
    for mpi in mpis {
        let settings: &[PeerSetting] = match mpi.family {
            Family::OpenMpi if mpi.major() >= 5 => &OPEN_MPI_5,
            Family::OpenMpi => &OPEN_MPI_4,
            Family::Mpich => &MPICH,
        };
        let settings = settings.iter().filter(|setting| setting.quick || !quick);
        let mut contenders = settings.map(|setting| Contender {
            library: format!("{}{}", mpi.name, setting.suffix),
            kind: PeerKind::Mpi(mpi.clone()),
            setting: *setting,
        });
        first.extend(contenders.next());
        second.extend(contenders);
    }
    first.append(&mut second);
    first
}

impl Contender {
    /// Whether this is our own library.
    pub(crate) fn is_ours(&self) -> bool {
        matches!(self.kind, PeerKind::Ours { .. })
    }

    /// How to start it; none where its program was not built, or where it does
    /// not go with what is asked.
    pub(crate) fn command(&self, ask: &Ask, built: &Built, ours: &Path) -> Option<Command> {
        let crowded = ask.ranks > ask.pus.len();
        let threads = |program: &Program| {
            let mut command = Command::new(built.programs.get(program.name)?);
            let env: &[_] = if crowded { &PASSIVE } else { &ACTIVE };
            command.envs(env.iter().copied());
            Some(command)
        };
        let mut command = match &self.kind {
            PeerKind::Ours { single } => return Some(self.ours(ask, ours, *single, crowded)),
            PeerKind::Floor if ask.ranks != 2 || crowded => return None,
            PeerKind::Floor => threads(&FLOOR)?,
            PeerKind::Gomp => threads(&OPENMP_GCC)?,
            PeerKind::Omp => threads(&OPENMP_CLANG)?,
            PeerKind::Mpi(mpi) => {
                let program = built.programs.get(&mpi.name)?;
                let mut command = Command::new(&mpi.launcher);
                command.arg("-np").arg(ask.ranks.to_string());
                match (mpi.family, crowded) {
                    (Family::OpenMpi, false) => drop(command.args(["--bind-to", "core"])),
                    (Family::OpenMpi, true) => {
                        command.args(["--oversubscribe", "--bind-to", "none"]);
                        command.args(["--mca", "mpi_yield_when_idle", "1"]);
                    }
                    (Family::Mpich, false) => drop(command.args(["-bind-to", "core"])),
                    (Family::Mpich, true) => {}
                }
                if mpi.family == Family::OpenMpi {
                    // Its launcher refuses root else, which is what containers are.
                    command.env("OMPI_ALLOW_RUN_AS_ROOT", "1");
                    command.env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
                }
                command.args(self.setting.args).arg(program);
                command
            }
        };
        command.envs(self.setting.env.iter().copied());
        self.ask(&mut command, ask)?;
        Some(command)
    }

    /// The arguments that the C programs share; none if no operation is left.
    fn ask(&self, command: &mut Command, ask: &Ask) -> Option<()> {
        let mine: Vec<&str> = self.setting.ops.split(',').filter(|op| !op.is_empty()).collect();
        let asked = operations_of(ask).filter(|op| mine.is_empty() || mine.contains(op));
        let suffixes = || iter::once("").chain(VARIANTS.map(|variant| variant.0));
        let with_variants: Vec<String> =
            asked.flat_map(|op| suffixes().map(move |end| format!("{op}{end}"))).collect();
        if with_variants.is_empty() {
            return None;
        }
        let list = |numbers: &[usize]| {
            numbers.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
        };
        let places: Vec<&str> = ask.places.iter().map(|place| place.name()).collect();
        for (key, value) in [
            ("--library", self.library.clone()),
            ("--ranks", ask.ranks.to_string()),
            ("--cpus", list(&ask.pus)),
            ("--ops", with_variants.join(",")),
            ("--sizes", list(&ask.sizes)),
            ("--places", places.join(",")),
            ("--budget-ms", ask.budget_ms.to_string()),
            ("--limit-s", ask.seconds.to_string()),
            ("--smt-ns", ask.limits.smt.to_string()),
            ("--ccx-ns", ask.limits.ccx.to_string()),
        ] {
            command.arg(key).arg(value);
        }
        Some(())
    }

    fn ours(&self, ask: &Ask, ours: &Path, single: bool, crowded: bool) -> Command {
        let mut command = ours_for(ask, ours);
        let b2b = |bytes: &&usize| !single && **bytes <= phalanx_tool::bench::LARGEST_WITH_LANES;
        let sizes: Vec<usize> = match single {
            true => ask.sizes.clone(),
            false => ask.sizes.iter().filter(b2b).copied().collect(),
        };
        let sizes: Vec<String> = sizes.iter().map(ToString::to_string).collect();
        // As the peers: checked once before, by `check_of_ours`, and not while timed.
        command.args(["--rounds", "1", "--no-check", "--time", &ask.budget_ms.to_string()]);
        command.args(["--places", &ask.limits.to_string()]);
        if !sizes.is_empty() {
            command.args(["--sizes", &sizes.join(",")]);
        }
        if single {
            command.args(["--calls", "1"]);
        }
        if !crowded {
            let pus: Vec<String> = ask.pus.iter().map(ToString::to_string).collect();
            command.args(["--placement", &format!("list:{}", pus.join(","))]);
            if !ask.places.is_empty() && ask.ranks > 1 {
                let places: Vec<&str> = ask.places.iter().map(|place| place.name()).collect();
                let operations = operations_of(ask).count().max(1);
                let seconds = (ask.seconds / operations as f64).max(0.1);
                command.args(["--seek", &places.join(","), "--seek-time", &seconds.to_string()]);
            }
        }
        command
    }
}

/// The operations that are asked for, by the peers' names.
fn operations_of(ask: &Ask) -> impl Iterator<Item = &'static str> {
    let all = super::raw::operations();
    all.filter(|op| ask.ops.is_empty() || ask.ops.iter().any(|asked| asked == op))
}

fn ours_for(ask: &Ask, ours: &Path) -> Command {
    let mut command = Command::new(ours);
    command.arg("bench").args(operations_of(ask).filter_map(super::raw::our_name));
    command.args(["--format", "tsv", "--ranks", &ask.ranks.to_string()]);
    command
}

/// One call of everything, with every element compared: as the peers' programs
/// do before they measure.
pub(crate) fn check_of_ours(ask: &Ask, ours: &Path) -> Command {
    let mut command = ours_for(ask, ours);
    let sizes: Vec<String> = ask.sizes.iter().map(ToString::to_string).collect();
    command.args([
        "--sizes",
        &sizes.join(","),
        "-n",
        "1",
        "-w",
        "0",
        "--rounds",
        "1",
        "--calls",
        "1",
    ]);
    command
}

#[cfg(test)]
mod tests {
    use super::*;
    use phalanx_tool::measure::proximity::{Proximity, ProximityLimits};

    fn ask(ranks: usize) -> Ask {
        Ask {
            ranks,
            pus: vec![3, 5],
            ops: vec!["allreduce".to_string()],
            sizes: vec![8, 1 << 20],
            places: vec![Proximity::Ccx],
            limits: ProximityLimits::default(),
            budget_ms: 5.0,
            seconds: 4.0,
        }
    }

    fn words(command: &Command) -> String {
        let words: Vec<_> = command.get_args().map(|arg| arg.to_string_lossy()).collect();
        words.join(" ")
    }

    #[test]
    fn ours_is_asked_for_the_same() {
        let built = Built::default();
        let ours = all(true, &[]).into_iter().filter(Contender::is_ours);
        let commands: Vec<String> = ours
            .map(|c| words(&c.command(&ask(2), &built, Path::new("phalanx")).unwrap()))
            .collect();
        assert_eq!(commands.len(), 2);
        for wanted in ["bench all-reduce ", "--placement list:3,5", "--seek ccx --seek-time 4"] {
            assert!(commands.iter().all(|command| command.contains(wanted)), "{commands:?}");
        }
        assert!(commands[0].contains("--sizes 8,1048576") && commands[0].contains("--calls 1"));
        assert!(commands[1].contains("--sizes 8 ") && !commands[1].contains("--calls"));
    }

    /// Tools that are never run.
    fn mpis() -> Vec<Installation> {
        let of = |family: Family, name: &str, version: &str| {
            Installation::for_test(family, name, version)
        };
        vec![
            of(Family::OpenMpi, "openmpi", "4.1.4"),
            of(Family::Mpich, "mpich", "4.0.2"),
            of(Family::OpenMpi, "openmpi5", "5.0.11"),
        ]
    }

    #[test]
    fn every_mpi_takes_part_with_settings_that_it_knows() {
        let mut built = Built { mpis: mpis(), ..Built::default() };
        for mpi in &built.mpis {
            built.programs.insert(mpi.name.clone(), PathBuf::from("program"));
        }
        let names: Vec<String> = all(true, &built.mpis).into_iter().map(|c| c.library).collect();
        let distinct: std::collections::BTreeSet<&String> = names.iter().collect();
        assert_eq!(distinct.len() + 1, names.len(), "only ours twice: {names:?}");
        for (library, word) in [
            ("openmpi-sm", "btl_vader_single_copy_mechanism none --mca coll_sm_priority 100"),
            ("openmpi5-sm", "smsc ^cma --mca coll_sm_priority 100"),
            ("mpich-nocma", "-np 2 -bind-to core program --library mpich-nocma"),
        ] {
            let contender = all(true, &built.mpis).into_iter().find(|c| c.library == library);
            let command =
                contender.unwrap().command(&ask(2), &built, Path::new("phalanx")).unwrap();
            assert!(words(&command).contains(word), "{}", words(&command));
        }
    }

    #[test]
    fn a_peer_without_a_program_does_not_take_part() {
        let built = Built::default();
        for contender in all(false, &mpis()).iter().filter(|c| !c.is_ours()) {
            assert!(contender.command(&ask(2), &built, Path::new("phalanx")).is_none());
        }
    }

    #[test]
    fn the_floor_is_for_two_ranks_with_a_core_each() {
        let mut built = Built::default();
        built.programs.insert("floor".to_string(), PathBuf::from("floor"));
        let floor = all(true, &[]).into_iter().find(|c| c.library == "floor").unwrap();
        let command = floor.command(&ask(2), &built, Path::new("phalanx")).unwrap();
        assert!(words(&command).contains("--cpus 3,5 --ops allreduce,allreduce_inplace,"));
        assert!(floor.command(&ask(4), &built, Path::new("phalanx")).is_none());
    }
}
