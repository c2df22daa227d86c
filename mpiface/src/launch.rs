//! Runs a program: a thread a rank, pinned, with a large stack and a private copy of the program.

use crate::cores::{core_of, cores, pin};
use crate::faults;
use crate::load::frame;
use crate::load::image::{Binding, Copy, Host, Image};
use crate::rt::api::{TABLE, recording_table};
use crate::rt::error::{EXIT, Site};
use crate::rt::forked;
use crate::rt::rank::{Rank, Stage};
use crate::rt::world::{World, lock};
use crate::static_tls;
use std::ffi::{CString, c_char};
use std::path::PathBuf;
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Arc, Barrier, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

unsafe extern "C" {
    static mut environ: *mut *mut c_char;
}

/// What to run.
#[derive(Clone, Debug)]
pub struct Job {
    /// The number of ranks.
    pub ranks: usize,
    /// The program's file.
    pub program: PathBuf,
    /// Its arguments, its own name first.
    pub arguments: Vec<CString>,
    /// Bytes of stack for each rank.
    pub stack: usize,
    /// How long a rank waits before it says so, zero for ever; none: as the library has it.
    pub stall_warning: Option<Duration>,
    /// Whether each rank keeps to a core.
    pub is_pinned: bool,
}

/// Runs it; gives the code with which the process is to end: that of the first rank whose code is
/// not zero.
///
/// # Errors
/// If the program cannot be loaded.
pub fn run(job: &Job) -> Result<i32, String> {
    let set_aside = static_tls::restore();
    let image = Arc::new(Image::read(&job.program)?);
    if set_aside == 0 {
        static_tls::reserve(image.static_tls().saturating_mul(job.ranks));
    }
    raise_descriptors();
    let world = World::new(job.ranks, job.stall_warning);
    let cores = cores();
    faults::catch();
    if job.ranks > 1 {
        frame::print_lines();
    }
    limit_time(&world);
    if let Some(record) = &world.record {
        record.name(&job.program);
        record.begin();
    }
    // Constructors run in here, one rank after the other.
    let programs = (0..job.ranks).map(|me| {
        // Never freed: threads that the program leaves behind may still hold it.
        let rank: &'static Rank = Box::leak(Box::new(Rank::new(Arc::clone(&world), me)));
        // SAFETY: the table is made from functions.txt, as the shim is; both live for ever. To run
        // the program is what was asked for.
        unsafe { image.load(binding(rank), Host::Launcher) }.map(|copy| Program(copy, rank))
    });
    let programs: Result<Vec<Program>, String> = programs.collect();
    let (code, open) = (AtomicI32::new(0), Open::default());
    // A rank's thread lives until all have ended: others may still copy to or from its stack.
    let ended = Barrier::new(job.ranks);
    thread::scope(|scope| {
        for (me, program) in programs?.into_iter().enumerate() {
            let core = core_of(me, job.ranks, &cores).filter(|_| job.is_pinned);
            let (world, code, open, ended) = (&world, &code, &open, &ended);
            let body = move || {
                if let Some(core) = core {
                    pin(core);
                }
                run_rank(me, program, job, Arc::clone(world), (code, open));
                ended.wait();
            };
            thread::Builder::new()
                .name(format!("rank {me}"))
                // (What is set aside for thread-locals is a part of the stack.)
                .stack_size(job.stack.saturating_add(set_aside))
                .spawn_scoped(scope, body)
                .map_err(|error| refused_thread(&error, me, job.stack))?;
        }
        Ok::<(), String>(())
    })?;
    let mut code = code.load(Ordering::Relaxed);
    let open = open.into_inner().unwrap_or_else(PoisonError::into_inner);
    if !open.is_empty() {
        say_open(open);
        // What the program says itself stays.
        code = code.max(1);
    }
    if let Some(record) = &world.record {
        record.end(&if code == 0 { String::new() } else { format!("ended with code {code}") });
    }
    Ok(code)
}

struct Program(Copy, &'static Rank);

// SAFETY: handles of the dynamic linker and the rank's state, used by the rank's thread alone after
// this.
unsafe impl Send for Program {}

/// What a copy for this rank is bound to.
pub(crate) fn binding(rank: *const Rank) -> Binding {
    // SAFETY: the callers' states live.
    let is_recorded = unsafe { &*rank }.world.record.is_some();
    forked::watch(rank);
    let table = if is_recorded { recording_table() } else { TABLE };
    Binding { table: table.as_ptr().cast(), rank: rank.cast() }
}

/// Ranks that have left while MPI was there: why, and their last call.
type Open = Mutex<Vec<(usize, String, Site)>>;

fn run_rank(
    me: usize,
    program: Program,
    job: &Job,
    world: Arc<World>,
    (code, open): (&AtomicI32, &Open),
) {
    let Program(copy, rank) = program;
    world.enter(me);
    faults::enter(me);
    let main = copy.main().unwrap_or_else(|text| {
        eprintln!("phalanx-mpirun: rank {me}: {text}");
        std::process::exit(1)
    });
    // Each rank may change its arguments. Leaked: the program may keep pointers to them.
    let mut argv: Vec<*mut c_char> = job.arguments.iter().map(|it| it.clone().into_raw()).collect();
    argv.push(std::ptr::null_mut());
    let argv = Box::leak(argv.into_boxed_slice());
    let record = world.record.as_ref().map(|it| &it.calls);
    record.inspect(|it| it.begin_run(me));
    // SAFETY: main is the program's; the arrays are as C asks, and live for ever.
    let ended = unsafe { frame::call(main, me, argv, environ) };
    // SAFETY: main has ended.
    unsafe { copy.finish() };
    record.inspect(|it| it.end_run(me));
    if ended.code & 0xff != 0 {
        // The first wins; nothing is published by it.
        let _ = code.compare_exchange(0, ended.code & 0xff, Ordering::Relaxed, Ordering::Relaxed);
    }
    let (how, last) = match ended.exit {
        Some(address) => ("exit", Site::new(EXIT, address)),
        None if ended.is_cut => {
            ("the end of its main thread, by pthread_exit or pthread_cancel,", rank.last.get())
        }
        None => ("return from main", rank.last.get()),
    };
    let what = match rank.stage.get() {
        Stage::Before => " without MPI_Init",
        Stage::Running => " without MPI_Finalize",
        Stage::InSession => " without MPI_Session_finalize",
        Stage::Finalized | Stage::Forked => "",
    };
    let why = format!("{how} with code {}{what}", ended.code);
    if matches!(rank.stage.get(), Stage::Running | Stage::InSession) {
        lock(open).push((me, why.clone(), last));
    }
    world.leave(me, why, last);
}

/// So many ranks are named that have left too early.
const NAMED: usize = 8;

/// Says which ranks have left without MPI_Finalize: the standard calls that an error.
fn say_open(mut open: Vec<(usize, String, Site)>) {
    open.sort_by_key(|it| it.0);
    let mut text = String::from("phalanx: ranks have left without MPI_Finalize:");
    for (rank, why, last) in open.iter().take(NAMED) {
        text.push_str(&format!("\n  rank {rank} has left: {why}; last: {}", last.describe()));
    }
    if open.len() > NAMED {
        text.push_str(&format!("\n  and {} more", open.len() - NAMED));
    }
    eprintln!("{text}");
}

/// Why a rank's thread was not started, and what may help.
pub(crate) fn refused_thread(error: &std::io::Error, rank: usize, stack: usize) -> String {
    format!(
        "a thread for rank {rank}: {error} (each has {} MiB of stack, as `--stack` or `ulimit -s` \
         says; other limits: `ulimit -v` and `ulimit -u`, or a container's number of threads)",
        stack >> 20
    )
}

/// Ends the run after MPIEXEC_TIMEOUT seconds, as other launchers do, and says what each rank does.
fn limit_time(world: &Arc<World>) {
    let seconds = std::env::var("MPIEXEC_TIMEOUT").ok().and_then(|it| it.parse().ok());
    if let Some(seconds) = seconds.filter(|it| *it > 0) {
        let world = Arc::clone(world);
        // Ends with the process.
        thread::spawn(move || {
            thread::sleep(Duration::from_secs(seconds));
            world.time_is_up(seconds);
        });
    }
}

/// Each copy of a file keeps a descriptor: as many as are allowed.
fn raise_descriptors() {
    // SAFETY: a structure of numbers that lives through both calls.
    unsafe {
        let mut limit: libc::rlimit = std::mem::zeroed();
        if libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) == 0 {
            limit.rlim_cur = limit.rlim_max;
            libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit);
        }
    }
}
