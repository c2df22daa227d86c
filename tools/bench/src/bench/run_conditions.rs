//! The machine and the settings of a measurement.

use phalanx::{Team, Wait};

/// Machine, placement and waiting of a team, for the head of a table.
#[derive(Clone, Debug)]
pub(crate) struct RunConditions {
    /// The processor's name.
    pub(crate) cpu: String,
    /// Where the topology was read from.
    pub(crate) source: String,
    /// Physical cores, and processing units that may be used.
    pub(crate) cores: usize,
    pub(crate) allowed_pus: usize,
    pub(crate) ranks: usize,
    /// The placement policy.
    pub(crate) placement: String,
    /// By rank, the processing unit.
    pub(crate) pus: Vec<Option<usize>>,
    /// Ranks that are not where they should be, and why.
    pub(crate) problems: Vec<String>,
    /// The wait mode.
    pub(crate) wait: &'static str,
    /// Whether ranks share processing units.
    pub(crate) crowded: bool,
}

impl RunConditions {
    /// Of a team that has run before (rank 0 is bound by its first run).
    pub(crate) fn of(team: &Team, placement: &str, wait: Wait) -> Self {
        let machine = team.machine();
        let bindings = team.bindings();
        let problem = |b: &phalanx::Binding| {
            b.problem.as_ref().map(|why| format!("rank {} is not bound: {why}", b.rank))
        };
        let allowed_pus = machine.allowed_pus().len();
        RunConditions {
            cpu: cpu(),
            source: machine.source().to_string(),
            cores: machine.cores().len(),
            allowed_pus,
            ranks: team.size(),
            placement: placement.to_string(),
            pus: bindings.iter().map(|b| b.pu).collect(),
            problems: bindings.iter().filter_map(problem).collect(),
            wait: wait_name(wait),
            crowded: is_crowded(team),
        }
    }

    /// Where the ranks are: `0 1` for ranks 0 and 1 on units 0 and 1.
    pub(crate) fn places(&self) -> String {
        let place = |pu: &Option<usize>| pu.map_or("-".to_string(), |pu| pu.to_string());
        let mut places: Vec<String> = self.pus.iter().take(32).map(place).collect();
        if self.pus.len() > 32 {
            places.push("..".to_string());
        }
        places.join(" ")
    }
}

/// Whether ranks share processing units.
pub(crate) fn is_crowded(team: &Team) -> bool {
    team.size() > team.machine().allowed_pus().len()
}

/// The name of a wait mode.
fn wait_name(wait: Wait) -> &'static str {
    match wait {
        Wait::Spin => "spin",
        Wait::Yield => "yield",
        Wait::Park => "park",
        _ => "auto",
    }
}

/// The processor's name as the kernel gives it.
pub fn cpu() -> String {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let named = |key: &str| {
        let line = info.lines().find(|line| line.starts_with(key))?;
        Some(line.split_once(':')?.1.trim().to_string())
    };
    let name = named("model name").or_else(|| named("Model")).or_else(|| named("cpu"));
    name.unwrap_or_else(|| format!("{} processor", std::env::consts::ARCH))
}

/// Bytes of memory that can be had without swapping, where that is known.
pub fn available_memory() -> Option<u64> {
    let info = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = info.lines().find(|line| line.starts_with("MemAvailable:"))?;
    let kib: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kib * 1024)
}
