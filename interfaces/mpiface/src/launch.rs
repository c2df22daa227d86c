//! Runs a program: a thread a rank, pinned, with a large stack and a private copy of the program.

use crate::begun_by;
use crate::cores::{cores, pin, share_of, wanted};
use crate::faults;
use crate::heaps;
use crate::load::frame::{self, Barred};
use crate::load::image::{Binding, Copy, Host, Image};
use crate::load::plugin;
use crate::rt::api::{TABLE, recording_table};
use crate::rt::error::{Site, end};
use crate::rt::forked;
use crate::rt::mutex::lock;
use crate::rt::rank::{Rank, Stage};
use crate::rt::run::Run;
use crate::rt::site::EXIT;
use crate::stack;
use crate::static_tls;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Arc, Barrier, Mutex, OnceLock, PoisonError};
use std::thread;
use std::time::Duration;

unsafe extern "C" {
    static mut environ: *mut *mut c_char;
    fn on_exit(function: extern "C" fn(c_int, *mut c_void), argument: *mut c_void) -> c_int;
}

/// The command to run.
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
    /// Whether each rank keeps to its cores.
    pub is_pinned: bool,
    /// How many cores a rank has, if it is said.
    pub cpus_per_rank: Option<usize>,
}

/// Runs it; gives the code with which the process is to end: that of the first rank whose code is
/// not zero.
///
/// # Errors
/// If the program cannot be loaded.
pub fn run(job: &Job) -> Result<i32, String> {
    begun_by::end_if_one_of_several();
    let Some(image) = Image::read(&job.program)? else {
        let options = options(job);
        let (program, arguments) = (&job.program, &job.arguments);
        return Err(begun_by::begin_once(program, arguments, job.ranks, &options));
    };
    let image = Arc::new(image);
    plugin::watch();
    static_tls::reserve(image.static_tls().saturating_mul(job.ranks));
    let set_aside = static_tls::restore();
    begun_by::forget();
    let cores = cores();
    let share = |me: usize| match job.is_pinned {
        true => share_of(me, job.ranks, &cores, wanted(job.cpus_per_rank)),
        false => Vec::new(),
    };
    raise_descriptors();
    heaps::open_ahead();
    let world = begin(job.ranks, &job.program, job.stall_warning);
    if job.ranks > 1 {
        frame::print_lines();
    }
    // Constructors run in here, one rank after the other, with the rank's cores: libraries of the
    // system that all ranks share (OpenMP's) make as many threads for each as they see now.
    let programs = (0..job.ranks).map(|me| {
        pin(&share(me));
        let rank = new_rank(&world, me);
        // SAFETY: the table is made from functions.txt, as the shim is; both live for ever. To run
        // the program is the command's purpose.
        let copy = unsafe { image.load(binding(rank), Host::Launcher) }?;
        let main = copy.main().map_err(|text| format!("rank {me}: {text}"))?;
        Ok(Program { copy: Some(copy), main, rank })
    });
    let programs: Result<Vec<Program>, String> = programs.collect();
    let programs = programs?;
    pin(&cores);
    Ok(go(&world, job, set_aside, programs, &share))
}

/// The launcher's options for this job, but for those that the environment has by now.
fn options(job: &Job) -> Vec<String> {
    let number = |it: usize| it.to_string();
    let mut all = vec!["-n".to_owned(), number(job.ranks), "--stack".to_owned()];
    all.push(number((job.stack >> 20).max(1)));
    if let Some(cores) = job.cpus_per_rank {
        all.extend(["--cpus-per-rank".to_owned(), number(cores)]);
    }
    if let Some(after) = job.stall_warning {
        all.extend(["--stall-warning".to_owned(), after.as_secs_f64().to_string()]);
    }
    if !job.is_pinned {
        all.push("--no-pin".to_owned());
    }
    all
}

/// The world of a process's one run. A fault in it is told from now on, and its time is limited.
fn begin(ranks: usize, program: &Path, stall_warning: Option<Duration>) -> Arc<Run> {
    let world = Run::new(ranks, stall_warning);
    faults::catch();
    limit_time(&world);
    if let Some(record) = &world.record {
        record.name(program);
        record.begin();
    }
    world
}

/// Never freed: threads that the program leaves behind may still hold it.
fn new_rank(world: &Arc<Run>, me: usize) -> &'static Rank {
    Box::leak(Box::new(Rank::new(Arc::clone(world), me)))
}

/// Calls each rank's main on a thread, with `set_aside` bytes beside its stack for thread-locals;
/// gives the run's code. If a thread is refused, the process ends with the reason: ranks that run
/// already would wait for that one for ever.
fn go(
    world: &Arc<Run>,
    job: &Job,
    set_aside: usize,
    programs: Vec<Program>,
    share: &dyn Fn(usize) -> Vec<usize>,
) -> i32 {
    let (code, open) = (AtomicI32::new(0), LeftOpen::default());
    // A rank's thread lives until all have ended: others may still copy to or from its stack.
    let ended = Barrier::new(job.ranks);
    frame::expect(job.ranks);
    thread::scope(|scope| {
        for (me, program) in programs.into_iter().enumerate() {
            let cores = share(me);
            let (code, open, ended) = (&code, &open, &ended);
            let body = move || {
                pin(&cores);
                run_rank(me, program, job, Arc::clone(world), (code, open));
                ended.wait();
            };
            let thread = thread::Builder::new()
                .name(format!("rank {me}"))
                // (The memory for thread-locals is a part of the stack.)
                .stack_size(job.stack.saturating_add(set_aside))
                .spawn_scoped(scope, body);
            if let Err(error) = thread {
                end(1, &format!("phalanx: {}", refused_thread(&error, me, job.stack)));
            }
        }
    });
    let open = open.into_inner().unwrap_or_else(PoisonError::into_inner);
    close(world, code.load(Ordering::Relaxed), open)
}

/// Names the ranks that have left too early, and writes the record; gives the run's code.
fn close(world: &Run, mut code: i32, open: Vec<Left>) -> i32 {
    if !open.is_empty() {
        say_open(open);
        // The program's own output stays.
        code = code.max(1);
    }
    if let Some(record) = &world.record {
        record.end(&if code == 0 { String::new() } else { format!("ended with code {code}") });
    }
    code
}

/// A program that was started by itself: the process is its rank.
static ALONE: OnceLock<Alone> = OnceLock::new();

struct Alone {
    world: Arc<Run>,
    rank: &'static Rank,
    /// A child of a fork is another process.
    process: u32,
}

// SAFETY: the rank's state is its thread's, and only that thread looks at it (`exited`).
unsafe impl Send for Alone {}
// SAFETY: as above.
unsafe impl Sync for Alone {}

/// Runs a program that was started by itself (c/entry.c): a world of one, and no copy of anything.
/// So debuggers and profilers see an ordinary program. Gives its code.
///
/// # Safety
/// `bind` is the shim's function, which nobody has called. `constructors` are the program's, to
/// be called once; it and `main` get the arguments and the environment as C asks, which live as
/// long as the process.
#[unsafe(no_mangle)]
unsafe extern "C" fn phalanx_mpi_alone(
    bind: unsafe extern "C" fn(*const c_void, *const c_void),
    constructors: frame::Main,
    main: frame::Main,
    argc: c_int,
    argv: *mut *mut c_char,
    envp: *mut *mut c_char,
) -> c_int {
    begun_by::begin_again();
    begun_by::end_if_one_of_several();
    let program = std::env::current_exe().unwrap_or_default();
    let world = begin(1, &program, None);
    let rank = new_rank(&world, 0);
    let bound = binding(rank);
    let process = std::process::id();
    let _ = ALONE.set(Alone { world: Arc::clone(&world), rank, process });
    let count = usize::try_from(argc).unwrap_or(0);
    // SAFETY: the caller's promise; `exited` is such a function as the C library asks for.
    let arguments = unsafe {
        bind(bound.table, bound.rank);
        on_exit(exited, std::ptr::null_mut());
        constructors(argc, argv, envp);
        (0..count).map(|at| CStr::from_ptr(*argv.add(at)).to_owned()).collect()
    };
    let stack = stack::usual();
    let job = Job {
        ranks: 1,
        program,
        arguments,
        stack,
        stall_warning: None,
        is_pinned: true,
        cpus_per_rank: None,
    };
    let cores = cores();
    let share = |me: usize| share_of(me, 1, &cores, wanted(None));
    go(&world, &job, static_tls::set_aside(), vec![Program { copy: None, main, rank }], &share)
}

/// The process ends. If its only rank has called `exit`, it may have left too early. (Another
/// thread that calls it ends the process and no more, as under the launcher.)
extern "C" fn exited(code: c_int, _: *mut c_void) {
    let Some(Alone { world, rank, process }) = ALONE.get() else { return };
    let is_ranks = faults::is_a_rank();
    if !is_ranks || std::process::id() != *process {
        return;
    }
    world.record.iter().for_each(|it| it.calls.end_run(0));
    // A function of this library is in no program: the stack is asked for the line.
    let address = frame::in_program(exited as *const () as usize);
    let why = why_left(rank, "exit", code);
    let open = is_open(rank).then(|| (0, why, Site::new(EXIT, address)));
    let told = close(world, code & 0xff, open.into_iter().collect());
    if told != code & 0xff {
        // `exit` leads to the process's end here, not to the rank's.
        let _barred = Barred::new();
        // SAFETY: the C library goes on with the functions that follow this one, as it does for a
        // call of `exit` in any of them, and ends with the last code. So libraries' last actions
        // are done: libgfortran closes its units, and streams are flushed.
        unsafe { libc::exit(told) }
    }
}

/// The body of a rank's thread.
struct Program {
    /// Without one, the process's own.
    copy: Option<Copy>,
    main: frame::Main,
    rank: &'static Rank,
}

// SAFETY: handles of the dynamic linker and the rank's state, used by the rank's thread alone after
// this.
unsafe impl Send for Program {}

/// The binding of a copy for this rank.
pub(crate) fn binding(rank: *const Rank) -> Binding {
    // SAFETY: the callers' states live.
    let is_recorded = unsafe { &*rank }.world.record.is_some();
    forked::watch(rank);
    let table = if is_recorded { recording_table() } else { TABLE };
    Binding { table: table.as_ptr().cast(), rank: rank.cast() }
}

/// Ranks that have left while MPI was there: why, and their last call.
type Left = (usize, String, Site);
type LeftOpen = Mutex<Vec<Left>>;

fn run_rank(
    me: usize,
    program: Program,
    job: &Job,
    world: Arc<Run>,
    (code, open): (&AtomicI32, &LeftOpen),
) {
    let Program { copy, main, rank } = program;
    world.enter(me);
    faults::enter(me);
    // Each rank may change its arguments. Leaked: the program may keep pointers to them.
    let mut argv: Vec<*mut c_char> = job.arguments.iter().map(|it| it.clone().into_raw()).collect();
    argv.push(std::ptr::null_mut());
    let argv = Box::leak(argv.into_boxed_slice());
    let record = world.record.as_ref().map(|it| &it.calls);
    record.inspect(|it| it.begin_run(me));
    // SAFETY: main is the program's; the arrays are as C asks, and live for ever.
    let ended = unsafe { frame::call(main, me, argv, environ) };
    if let Some(copy) = copy {
        // SAFETY: main has ended.
        unsafe { copy.finish() };
    }
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
    let why = why_left(rank, how, ended.code);
    if is_open(rank) {
        lock(open).push((me, why.clone(), last));
    }
    world.leave(me, why, last);
}

/// How a rank has left.
fn why_left(rank: &Rank, how: &str, code: i32) -> String {
    let what = match rank.stage.get() {
        Stage::Before => " without MPI_Init",
        Stage::Running => " without MPI_Finalize",
        Stage::InSession => " without MPI_Session_finalize",
        Stage::Finalized | Stage::Forked => "",
    };
    format!("{how} with code {code}{what}")
}

/// Whether MPI, or a session, is there still.
fn is_open(rank: &Rank) -> bool {
    matches!(rank.stage.get(), Stage::Running | Stage::InSession)
}

/// So many ranks are named that have left too early.
const NAMED: usize = 8;

/// Says which ranks have left without MPI_Finalize: the standard calls that an error.
fn say_open(mut open: Vec<Left>) {
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

/// Why a rank's thread was not started, and possible remedies.
pub(crate) fn refused_thread(error: &std::io::Error, rank: usize, stack: usize) -> String {
    format!(
        "a thread for rank {rank}: {error} (each has {} MiB of stack, as `--stack` or `ulimit -s` \
         says; other limits: `ulimit -v` and `ulimit -u`, or a container's number of threads)",
        stack >> 20
    )
}

/// Ends the run after MPIEXEC_TIMEOUT seconds, as other launchers do, and tells each rank's state.
fn limit_time(world: &Arc<Run>) {
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
