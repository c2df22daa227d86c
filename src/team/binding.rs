//! Where ranks run.

/// Where a rank runs.
///
/// A rank is bound to its core as long as it has that for itself. Where ranks sleep as they wait,
/// and lose time to other programs, the system may move each among the cores that the team has in
/// the memory (NUMA node) of its own core, never to others: a rank that works beside a busy program
/// then goes to the core of one that sleeps. It is bound again when no time is lost, after the run
/// at the latest. Ranks stay where they are on units that the program has named
/// ([`Placement::List`](crate::placement::Placement::List)), and if they never sleep
/// ([`Wait::Spin`](crate::Wait::Spin), [`Wait::Yield`](crate::Wait::Yield)).
///
/// # Examples
/// ```
/// let team = phalanx::Team::builder().ranks(2).build()?;
/// for b in team.bindings() {
///     match (&b.pu, &b.problem) {
///         (Some(pu), None) => println!("rank {} on PU {pu}", b.rank),
///         (_, Some(problem)) => println!("rank {} is not bound: {problem}", b.rank),
///         (None, None) => println!("rank {} runs where the system likes", b.rank),
///     }
///     if let Some(why) = &b.beyond_quota {
///         println!("rank {} {why}", b.rank);
///     }
/// }
/// # Ok::<(), phalanx::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Binding {
    /// The rank.
    pub rank: usize,
    /// The processing unit (by the system's number) that it is meant for.
    pub pu: Option<usize>,
    /// Why it is not bound to it: the binding was refused, read back as
    /// something else, or is lost, as the unit went offline.
    pub problem: Option<String>,
    /// Where the system may move it, while it does.
    pub roams: Option<Box<[usize]>>,
    /// Of a rank beyond the [quota](crate::machine::CpuQuota) of the process, bound or not: that it
    /// has no time of its own, of which quota.
    pub beyond_quota: Option<String>,
}
