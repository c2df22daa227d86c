//! The compared programs and their settings.
//!
//! An MPI library takes part with several settings, and its best one counts:
//! stock Open MPI pays for a system call a message (CMA) that shared memory
//! does not need, and both return large buffers to the system after each call.

use super::installation::{Family, Installation};
use super::programs::{FLOOR, OPENMP_CLANG, OPENMP_GCC, Program};
use super::raw::{OURS, VARIANTS, our_name};
use phalanx_bench::measure::caches::CachesAsked;
use phalanx_bench::measure::proximity::{Proximity, ProximityLimits};
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
    env: &'static [&'static str],
    args: &'static str,
    /// Operations, if only some.
    ops: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum PeerKind {
    /// `phalanx bench`.
    Ours(PathBuf),
    Floor,
    Gomp,
    Omp,
    Mpi(Installation),
}

/// Large temporaries stay mapped between calls.
const KEEP: &str = "MALLOC_MMAP_MAX_=0 MALLOC_TRIM_THRESHOLD_=17179869184 \
    MALLOC_TOP_PAD_=268435456";
const NO_CMA: &str = "--mca btl self,vader --mca btl_vader_single_copy_mechanism none";
const SM: &str = "--mca btl self,vader --mca btl_vader_single_copy_mechanism none \
    --mca coll_sm_priority 100";
const RABENSEIFNER: &str = "--mca btl self,vader --mca btl_vader_single_copy_mechanism none \
    --mca coll_tuned_use_dynamic_rules 1 --mca coll_tuned_allreduce_algorithm 6";
const POSIX: [&str; 2] = ["UCX_TLS=posix,self", KEEP];
/// Collectives in shared memory, where MPICH was built with them (Debian's was
/// not, and ignores the names).
const RELEASE_GATHER: [&str; 4] = [
    "MPIR_CVAR_BARRIER_POSIX_INTRA_ALGORITHM=release_gather \
     MPIR_CVAR_BCAST_POSIX_INTRA_ALGORITHM=release_gather",
    "MPIR_CVAR_REDUCE_POSIX_INTRA_ALGORITHM=release_gather \
     MPIR_CVAR_ALLREDUCE_POSIX_INTRA_ALGORITHM=release_gather",
    POSIX[0],
    POSIX[1],
];
const ACTIVE: &str = "OMP_WAIT_POLICY=active OMP_PROC_BIND=true OMP_PLACES=cores \
    OMP_DYNAMIC=false KMP_BLOCKTIME=infinite KMP_AFFINITY=disabled";
/// With more ranks than cores: wait asleep.
const PASSIVE: &str = "OMP_WAIT_POLICY=passive KMP_BLOCKTIME=0 KMP_LIBRARY=throughput";

/// The same of Open MPI 5: its parts have other names.
const NO_CMA_5: &str = "--mca btl self,sm --mca smsc ^cma";
const SM_5: &str = "--mca btl self,sm --mca smsc ^cma --mca coll_sm_priority 100";
const RABENSEIFNER_5: &str = "--mca btl self,sm --mca smsc ^cma \
    --mca coll_tuned_use_dynamic_rules 1 --mca coll_tuned_allreduce_algorithm 6";

const OPEN_MPI_4: [PeerSetting; 4] = [
    setting("-nocma", true, &[KEEP], NO_CMA, ""),
    setting("-sm", true, &[KEEP], SM, ""),
    setting("", false, &[], "--mca btl self,vader", ""),
    setting("-rab", false, &[KEEP], RABENSEIFNER, "allreduce"),
];
const OPEN_MPI_5: [PeerSetting; 4] = [
    setting("-nocma", true, &[KEEP], NO_CMA_5, ""),
    setting("-sm", true, &[KEEP], SM_5, ""),
    setting("", false, &[], "--mca btl self,sm", ""),
    setting("-rab", false, &[KEEP], RABENSEIFNER_5, "allreduce"),
];
const MPICH: [PeerSetting; 3] = [
    setting("-nocma", true, &POSIX, "", ""),
    setting("", false, &[], "", ""),
    setting("-rg", false, &RELEASE_GATHER, "", "barrier,bcast,reduce,allreduce"),
];
const PLAIN: PeerSetting = setting("", true, &[], "", "");

const fn setting(
    suffix: &'static str,
    quick: bool,
    env: &'static [&'static str],
    args: &'static str,
    ops: &'static str,
) -> PeerSetting {
    PeerSetting { suffix, quick, env, args, ops }
}

/// Names and values of an environment.
fn pairs(env: &str) -> impl Iterator<Item = (&str, &str)> {
    env.split_whitespace().filter_map(|it| it.split_once('='))
}

/// What every program is asked.
#[derive(Clone, Debug)]
pub(crate) struct Ask {
    pub(crate) ranks: usize,
    pub(crate) pus: Vec<usize>,
    /// MPI's names, without variants; none for all.
    pub(crate) ops: Vec<String>,
    pub(crate) sizes: Vec<usize>,
    pub(crate) caches: CachesAsked,
    /// Places to seek; none: any that comes.
    pub(crate) places: Vec<Proximity>,
    pub(crate) limits: ProximityLimits,
}

impl Ask {
    /// Whether ranks share processors.
    pub(crate) fn is_crowded(&self) -> bool {
        self.ranks > self.pus.len()
    }
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
        for family in Family::PEERS {
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

/// All programs that take part, in the order in which they are started: `ours` is this build's
/// `phalanx`.
pub(crate) fn all(quick: bool, mpis: &[Installation], ours: &Path) -> Vec<Contender> {
    let threads =
        |library: &str, kind| Contender { library: library.to_string(), kind, setting: PLAIN };
    let mut all = vec![
        threads(OURS, PeerKind::Ours(ours.to_path_buf())),
        threads("floor", PeerKind::Floor),
        threads("openmp-gcc", PeerKind::Gomp),
        threads("openmp-clang", PeerKind::Omp),
    ];
    for mpi in mpis {
        let settings: &[PeerSetting] = match mpi.family {
            Family::OpenMpi if mpi.major() >= 5 => &OPEN_MPI_5,
            Family::OpenMpi => &OPEN_MPI_4,
            Family::Mpich => &MPICH,
            Family::Phalanx => &[PLAIN],
        };
        let settings = settings.iter().filter(|setting| setting.quick || !quick);
        all.extend(settings.map(|setting| Contender {
            library: format!("{}{}", mpi.name, setting.suffix),
            kind: PeerKind::Mpi(mpi.clone()),
            setting: *setting,
        }));
    }
    all
}

impl Contender {
    /// Whether this is our own library.
    pub(crate) fn is_ours(&self) -> bool {
        matches!(self.kind, PeerKind::Ours(_))
    }

    /// What its program calls the operation with this name of MPI's, in each way that it may have.
    pub(crate) fn names(&self, op: &'static str) -> Vec<String> {
        if self.is_ours() {
            return our_name(op).map(ToString::to_string).into_iter().collect();
        }
        let mine = self.setting.ops;
        if !mine.is_empty() && !mine.split(',').any(|name| name == op) {
            return Vec::new();
        }
        let suffixes = iter::once("").chain(VARIANTS.map(|variant| variant.0));
        suffixes.map(|end| format!("{op}{end}")).collect()
    }

    /// How to start it; none where its program was not built, or where it does
    /// not go with what is asked.
    pub(crate) fn command(&self, ask: &Ask, built: &Built) -> Option<Command> {
        let crowded = ask.is_crowded();
        let threads = |program: &Program| {
            let mut command = Command::new(built.programs.get(program.name)?);
            command.envs(pairs(if crowded { PASSIVE } else { ACTIVE }));
            Some(command)
        };
        let mut command = match &self.kind {
            PeerKind::Ours(program) => return Some(ours_in_turns(ask, program)),
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
                    // Pins, and shares cores, by itself.
                    (Family::Mpich, true) | (Family::Phalanx, _) => {}
                }
                if mpi.family == Family::OpenMpi {
                    // Its launcher refuses root else, which is what containers are.
                    command.env("OMPI_ALLOW_RUN_AS_ROOT", "1");
                    command.env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
                }
                command.args(self.setting.args.split_whitespace()).arg(program);
                command
            }
        };
        command.envs(self.setting.env.iter().flat_map(|it| pairs(it)));
        self.ask(&mut command, ask)?;
        Some(command)
    }

    /// The arguments that the C programs share; none if no operation is left.
    fn ask(&self, command: &mut Command, ask: &Ask) -> Option<()> {
        let names: Vec<String> = operations_of(ask).flat_map(|op| self.names(op)).collect();
        if names.is_empty() {
            return None;
        }
        let list = |numbers: &[usize]| {
            numbers.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
        };
        for (key, value) in [
            ("--ranks", ask.ranks.to_string()),
            ("--cpus", list(&ask.pus)),
            ("--ops", names.join(",")),
            ("--sizes", list(&ask.sizes)),
            ("--smt-ns", ask.limits.smt.to_string()),
            ("--ccx-ns", ask.limits.ccx.to_string()),
        ] {
            command.arg(key).arg(value);
        }
        Some(())
    }
}

/// Our own program, which takes turns. Results were checked before, by `check_of_ours`, as the
/// peers' programs do.
fn ours_in_turns(ask: &Ask, ours: &Path) -> Command {
    let mut command = Command::new(ours);
    command.args(["bench", "--turns", "--no-check", "--ranks", &ask.ranks.to_string()]);
    command.args(["--places", &ask.limits.to_string()]);
    if !ask.is_crowded() {
        let pus: Vec<String> = ask.pus.iter().map(ToString::to_string).collect();
        command.args(["--placement", &format!("list:{}", pus.join(","))]);
    }
    command
}

/// The operations that are asked for, by the peers' names.
pub(crate) fn operations_of(ask: &Ask) -> impl Iterator<Item = &'static str> {
    let all = super::raw::operations();
    all.filter(|op| ask.ops.is_empty() || ask.ops.iter().any(|asked| asked == op))
}

/// One call of everything, with every element compared: as the peers' programs
/// do before they measure.
pub(crate) fn check_of_ours(ask: &Ask, ours: &Path) -> Command {
    let mut command = Command::new(ours);
    command.arg("bench").args(operations_of(ask).filter_map(our_name));
    command.args(["--format", "tsv", "--ranks", &ask.ranks.to_string()]);
    let sizes: Vec<String> = ask.sizes.iter().map(ToString::to_string).collect();
    command.args(["--sizes", &sizes.join(",")]);
    command.args(["-n", "1", "-w", "0", "--rounds", "1", "--calls", "1"]);
    command
}

#[cfg(test)]
impl Contender {
    /// One that is started by nobody.
    pub(crate) fn for_test(library: &str) -> Self {
        Contender { library: library.to_string(), kind: PeerKind::Floor, setting: PLAIN }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use phalanx_bench::measure::caches::CacheState;

    fn ask(ranks: usize) -> Ask {
        Ask {
            ranks,
            pus: vec![3, 5],
            ops: vec!["allreduce".to_string()],
            sizes: vec![8, 1 << 20],
            caches: CachesAsked::One(CacheState::Warm),
            places: vec![Proximity::Ccx],
            limits: ProximityLimits::default(),
        }
    }

    fn words(command: &Command) -> String {
        let words: Vec<_> = command.get_args().map(|arg| arg.to_string_lossy()).collect();
        words.join(" ")
    }

    #[test]
    fn ours_takes_turns_on_the_same_processors() {
        let built = Built::default();
        let ours = everybody(true, &[]).into_iter().filter(Contender::is_ours);
        let ours: Vec<_> = ours.collect();
        assert_eq!(ours.len(), 1);
        let line = |ranks| words(&ours[0].command(&ask(ranks), &built).unwrap());
        assert_eq!(
            line(2),
            "bench --turns --no-check --ranks 2 --places 40,130 --placement list:3,5"
        );
        assert_eq!(line(4), "bench --turns --no-check --ranks 4 --places 40,130");
        assert_eq!(ours[0].names("allgatherv"), ["all-gather-varied"]);
        let floor = Contender::for_test("floor").names("scan");
        assert_eq!(floor, ["scan", "scan_inplace", "scan_clause", "scan_persistent"]);
    }

    fn everybody(quick: bool, mpis: &[Installation]) -> Vec<Contender> {
        all(quick, mpis, Path::new("phalanx"))
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
            of(Family::Phalanx, "phalanx-mpi", "0.1.0"),
        ]
    }

    #[test]
    fn every_mpi_takes_part_with_settings_that_it_knows() {
        let mut built = Built { mpis: mpis(), ..Built::default() };
        for mpi in &built.mpis {
            built.programs.insert(mpi.name.clone(), PathBuf::from("program"));
        }
        let names: Vec<String> =
            everybody(true, &built.mpis).into_iter().map(|c| c.library).collect();
        let distinct: std::collections::BTreeSet<&String> = names.iter().collect();
        assert_eq!(distinct.len(), names.len(), "{names:?}");
        for (library, word) in [
            ("openmpi-sm", "btl_vader_single_copy_mechanism none --mca coll_sm_priority 100"),
            ("openmpi5-sm", "smsc ^cma --mca coll_sm_priority 100"),
            ("mpich-nocma", "-np 2 -bind-to core program --ranks 2"),
            ("phalanx-mpi", "-np 2 program --ranks 2"),
        ] {
            let contender = everybody(true, &built.mpis).into_iter().find(|c| c.library == library);
            let command = contender.unwrap().command(&ask(2), &built).unwrap();
            assert!(words(&command).contains(word), "{}", words(&command));
        }
    }

    #[test]
    fn a_peer_without_a_program_does_not_take_part() {
        let built = Built::default();
        for contender in everybody(false, &mpis()).iter().filter(|c| !c.is_ours()) {
            assert!(contender.command(&ask(2), &built).is_none());
        }
    }

    #[test]
    fn the_floor_is_for_two_ranks_with_a_core_each() {
        let mut built = Built::default();
        built.programs.insert("floor".to_string(), PathBuf::from("floor"));
        let floor = everybody(true, &[]).into_iter().find(|c| c.library == "floor").unwrap();
        let command = floor.command(&ask(2), &built).unwrap();
        assert!(words(&command).contains("--cpus 3,5 --ops allreduce,allreduce_inplace,"));
        assert!(floor.command(&ask(4), &built).is_none());
    }
}
