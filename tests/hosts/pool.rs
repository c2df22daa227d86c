//! Other people's threads: pools of four libraries, by one interface. OpenMP's are a shared object
//! that gcc makes of `openmp.c` when it is asked for.

use std::error::Error;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::path::PathBuf;
use std::process::Command;
use std::sync::{Arc, Barrier};

/// The libraries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Rayon,
    Tokio,
    Openmp,
    Forkunion,
}

impl Kind {
    /// A pool of so many threads.
    ///
    /// # Errors
    /// Why there is none: no compiler for it, or it was not built in.
    pub(crate) fn pool(self, threads: usize) -> Result<Pool, Box<dyn Error>> {
        Ok(match self {
            Kind::Rayon => {
                Pool::Rayon(rayon::ThreadPoolBuilder::new().num_threads(threads).build()?)
            }
            Kind::Tokio => {
                let mut builder = tokio::runtime::Builder::new_multi_thread();
                Pool::Tokio(builder.worker_threads(threads).build()?, threads)
            }
            Kind::Openmp => Pool::Openmp(Openmp::new()?, threads),
            #[cfg(feature = "forkunion")]
            Kind::Forkunion => {
                let topology = forkunion::Topology::new().map_err(|e| format!("{e:?}"))?;
                let pool = forkunion::ThreadPool::try_spawn(&topology, threads);
                Pool::Forkunion(pool.map_err(|e| format!("{e:?}"))?)
            }
            #[cfg(not(feature = "forkunion"))]
            Kind::Forkunion => return Err("built without the feature forkunion".into()),
        })
    }
}

/// Threads of one of them.
pub(crate) enum Pool {
    Rayon(rayon::ThreadPool),
    Tokio(tokio::runtime::Runtime, usize),
    Openmp(Openmp, usize),
    #[cfg(feature = "forkunion")]
    Forkunion(forkunion::ThreadPool),
}

impl Pool {
    /// Calls `f` with their numbers on all of its threads, at the same time.
    pub(crate) fn on_all(&mut self, f: impl Fn(usize) + Send + Sync + 'static) {
        match self {
            Pool::Rayon(pool) => drop(pool.broadcast(|context| f(context.index()))),
            Pool::Tokio(runtime, threads) => {
                // Its threads for what blocks, as many, none of which ends before all have begun.
                let (f, all) = (Arc::new(f), Arc::new(Barrier::new(*threads)));
                let task = |thread: usize| {
                    let (f, all) = (f.clone(), all.clone());
                    runtime.spawn_blocking(move || {
                        all.wait();
                        f(thread);
                    })
                };
                let tasks: Vec<_> = (0..*threads).map(task).collect();
                for task in tasks {
                    runtime.block_on(task).expect("no task panics");
                }
            }
            Pool::Openmp(openmp, threads) => openmp.region(*threads, &f),
            #[cfg(feature = "forkunion")]
            Pool::Forkunion(pool) => pool.broadcast(|thread, _| f(thread)),
        }
    }

    /// Lets threads that spin for work look for it now and then only, if the library can.
    #[allow(dead_code)] // Of `steps` only.
    pub(crate) fn put_to_sleep(&mut self) {
        #[cfg(feature = "forkunion")]
        if let Pool::Forkunion(pool) = self {
            pool.sleep(10_000);
        }
    }
}

/// gcc's OpenMP, in a shared object that is compiled here, and stays.
pub(crate) struct Openmp(Region);

type Region = unsafe extern "C" fn(c_int, extern "C" fn(c_int, *mut c_void), *mut c_void) -> c_int;

impl Openmp {
    fn new() -> Result<Self, Box<dyn Error>> {
        let object: PathBuf =
            std::env::temp_dir().join(format!("phalanx-openmp-{}.so", std::process::id()));
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/openmp.c");
        let mut gcc = Command::new("gcc");
        gcc.args(["-O2", "-fopenmp", "-shared", "-fPIC", source, "-o"]).arg(&object);
        let compiled = gcc.output().map_err(|e| format!("gcc: {e}"))?;
        if !compiled.status.success() {
            return Err(String::from_utf8_lossy(&compiled.stderr).into());
        }
        let name = std::ffi::CString::new(object.as_os_str().as_encoded_bytes())?;
        // SAFETY: an object of ours, whose one function has this type.
        let found = unsafe {
            let handle = libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL);
            if handle.is_null() {
                let why: *mut c_char = libc::dlerror();
                return Err(CStr::from_ptr(why).to_string_lossy().into());
            }
            libc::dlsym(handle, c"openmp_region".as_ptr())
        };
        std::fs::remove_file(&object)?;
        assert!(!found.is_null());
        // SAFETY: as above.
        Ok(Openmp(unsafe { std::mem::transmute::<*mut c_void, Region>(found) }))
    }

    fn region<F: Fn(usize) + Sync>(&self, threads: usize, f: &F) {
        extern "C" fn call<F: Fn(usize) + Sync>(thread: c_int, f: *mut c_void) {
            // SAFETY: the argument of the region below, which borrows it.
            let f = unsafe { &*f.cast::<F>() };
            f(thread as usize);
        }
        // SAFETY: `f` may be called by several threads at once, and lives until all have returned.
        let were = unsafe {
            (self.0)(threads as c_int, call::<F>, std::ptr::from_ref(f).cast_mut().cast())
        };
        assert_eq!(were as usize, threads, "threads of OpenMP");
    }
}
