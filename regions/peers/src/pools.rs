//! The pools of others as [`Pool`]s, each used as its documentation says.

use paralight::prelude::*;
use phalanx_regions::Pool;
use std::ffi::{CString, c_int, c_void};
use std::num::NonZero;
use std::path::Path;
use std::process::Command;

type Task<'a> = &'a (dyn Fn(usize) + Sync);

pub(crate) struct Forkunion(pub(crate) forkunion::ThreadPool);

impl Forkunion {
    pub(crate) fn new(tasks: usize) -> Self {
        let topology = forkunion::Topology::new().expect("a machine");
        Forkunion(forkunion::spawn(&topology, tasks))
    }
}

impl Pool for Forkunion {
    fn tasks(&self) -> usize {
        self.0.threads_count()
    }

    fn region(&mut self, task: Task<'_>) {
        self.0.broadcast(|thread, _| task(thread));
    }
}

pub(crate) struct Chili {
    pub(crate) scope: chili::Scope<'static>,
    pub(crate) tasks: usize,
}

impl Chili {
    pub(crate) fn new(tasks: usize) -> Self {
        let thread_count = NonZero::new(tasks); // the caller among them
        let config = chili::Config { thread_count, ..Default::default() };
        let pool: &'static chili::ThreadPool =
            Box::leak(Box::new(chili::ThreadPool::with_config(config)));
        Chili { scope: pool.scope(), tasks }
    }
}

fn halves(scope: &mut chili::Scope<'_>, from: usize, to: usize, task: Task<'_>) {
    if to - from == 1 {
        return task(from);
    }
    let middle = from + (to - from) / 2;
    scope.join_with_heartbeat_every::<1, _, _, _, _>(
        |scope| halves(scope, from, middle, task),
        |scope| halves(scope, middle, to, task),
    );
}

impl Pool for Chili {
    fn tasks(&self) -> usize {
        self.tasks
    }

    fn region(&mut self, task: Task<'_>) {
        halves(&mut self.scope, 0, self.tasks, task);
    }
}

pub(crate) struct Paralight(pub(crate) ThreadPool, pub(crate) usize);

impl Paralight {
    pub(crate) fn new(tasks: usize) -> Self {
        let count = tasks.try_into().expect("one or more");
        let pool = ThreadPoolBuilder {
            num_threads: ThreadCount::Count(count),
            range_strategy: RangeStrategy::Fixed,
            cpu_pinning: CpuPinningPolicy::IfSupported,
        };
        Paralight(pool.build(), tasks)
    }
}

impl Pool for Paralight {
    fn tasks(&self) -> usize {
        self.1
    }

    fn region(&mut self, task: Task<'_>) {
        (0..self.1).into_par_iter().with_thread_pool(&mut self.0).for_each(task);
    }
}

/// Inside of its lock.
pub(crate) struct Spindle(pub(crate) usize);

impl Pool for Spindle {
    fn tasks(&self) -> usize {
        self.0
    }

    fn region(&mut self, task: Task<'_>) {
        spindle::for_each_raw(self.0, task);
    }
}

type Region = unsafe extern "C" fn(c_int, unsafe extern "C" fn(*mut c_void, c_int), *mut c_void);

/// A shared object of `openmp.c`, by one compiler.
pub(crate) struct OpenMp(Region, usize);

impl OpenMp {
    pub(crate) fn new(compiler: &str, tasks: usize) -> Result<Self, String> {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("openmp.c");
        let object = std::env::temp_dir().join(format!("phalanx-regions-{compiler}.so"));
        let made = Command::new(compiler)
            .args(["-O3", "-shared", "-fPIC", "-fopenmp", "-o"])
            .args([&object, &source])
            .output()
            .map_err(|e| e.to_string())?;
        if !made.status.success() {
            return Err(String::from_utf8_lossy(&made.stderr).into_owned());
        }
        let name =
            CString::new(object.to_str().ok_or("a strange path")?).map_err(|e| e.to_string())?;
        // SAFETY: names that end; the object has the function of that type.
        unsafe {
            let handle = libc::dlopen(name.as_ptr(), libc::RTLD_NOW);
            let found =
                if handle.is_null() { handle } else { libc::dlsym(handle, c"region".as_ptr()) };
            if found.is_null() {
                return Err("the object is not loaded".into());
            }
            Ok(OpenMp(std::mem::transmute::<*mut c_void, Region>(found), tasks))
        }
    }
}

unsafe extern "C" fn call(task: *mut c_void, number: c_int) {
    // SAFETY: `region` below passes a task that lives.
    unsafe { (*task.cast::<Task<'_>>())(number as usize) };
}

impl Pool for OpenMp {
    fn tasks(&self) -> usize {
        self.1
    }

    fn region(&mut self, task: Task<'_>) {
        let mut task = task;
        // SAFETY: the region ends before this returns; the task is `Sync`.
        unsafe { (self.0)(self.1 as c_int, call, (&raw mut task).cast()) };
    }
}
