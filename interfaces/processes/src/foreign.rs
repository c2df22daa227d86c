//! Calls of programs in other languages: the type of the elements and the operator are numbers
//! (those of `phalanx_processes.h`), and wrong arguments end the team, so that all ranks hear of
//! them. For the packages of this repository (the C interface and Python's),
//! and as unstable as [`phalanx::engine`].

use crate::error::{Error, ErrorKind, Result};
use crate::head::Segment;
use crate::plain::{Plain, START, digest_of, sealed::Sealed};
use crate::shared::{Shared, forked};
use crate::site::{Names, Place};
use crate::symmetric::Symmetric;
use crate::team::{Begun, Team};
use crate::transfer::Job;
use half::{bf16, f16};
use num_complex::Complex;
use phalanx::engine::{FloatControl, FoldKernel, Operation, is_disturbed};
use phalanx::op::{self, Operator};
use std::collections::HashSet;
use std::marker::PhantomData;
use std::os::fd::{FromRawFd, OwnedFd};
use std::sync::{Arc, Mutex};

/// The types' names, each at its number.
pub const TYPES: [&str; 15] = [
    "i8",
    "u8",
    "i16",
    "u16",
    "i32",
    "u32",
    "i64",
    "u64",
    "f16",
    "bf16",
    "f32",
    "f64",
    "bool",
    "complex64",
    "complex128",
];

/// The operators' names, each at its number.
pub const OPERATORS: [&str; 7] = ["sum", "prod", "min", "max", "band", "bor", "bxor"];

/// Bytes of an element of a type, if there is such a type.
pub fn size_of_type(kind: i32) -> Option<usize> {
    Type::of(kind).map(|it| it.size)
}

/// A collective call's arguments.
#[derive(Clone, Copy, Debug)]
pub struct Call {
    /// Elements of the vector, or of a block.
    pub n: usize,
    /// The number of their type.
    pub kind: i32,
    /// The number of the operator; 0 where nothing is combined.
    pub operator: i32,
    /// The root; 0 where there is none.
    pub root: i64,
}

/// The name of a file, kept for good, once: for [`Place::of`].
pub fn kept(name: &str) -> &'static str {
    static FILES: Mutex<Option<HashSet<&'static str>>> = Mutex::new(None);
    let mut files = FILES.lock().unwrap_or_else(|e| e.into_inner());
    let files = files.get_or_insert_default();
    if let Some(kept) = files.get(name) {
        return kept;
    }
    let kept: &'static str = name.to_string().leak();
    files.insert(kept);
    kept
}

/// Of a truth value: a byte. Its names only: no such value is made of bytes that others write.
#[derive(Clone, Copy)]
struct Truth;

impl Sealed for Truth {}
impl Plain for Truth {
    const DIGEST: u64 = digest_of(START, b"bool");

    fn name() -> String {
        "bool".to_string()
    }
}

/// What is to be known of an element type.
struct Type {
    size: usize,
    align: usize,
    digest: u64,
    names: fn(Operation) -> &'static Names,
    /// Those of `send` and `receive`.
    message: [&'static Names; 2],
    /// The reduction by an operator of this number, if the type has it.
    reduction: fn(i32) -> Option<&'static dyn Reduction>,
}

/// A type and an operator.
trait Reduction: Sync {
    fn names(&self, operation: Operation) -> &'static Names;
    fn kernel(&self) -> (FoldKernel<'_>, bool);
    /// An all-reduce of a few elements.
    ///
    /// # Safety
    /// There are `n`, which nobody else uses.
    unsafe fn few(&self, team: &mut Team, call: &Begun, data: *mut u8, n: usize) -> Result<()>;
    /// Fills `n` elements with the identity.
    ///
    /// # Safety
    /// As of `few`.
    unsafe fn fill(&self, data: *mut u8, n: usize);
}

/// Elements that are called `N`, and combined as `T`.
struct Typed<N, T, O>(O, PhantomData<fn(N, T)>);

impl<N: Plain, T: Plain, O: Operator<T> + Sync> Reduction for Typed<N, T, O> {
    fn names(&self, operation: Operation) -> &'static Names {
        match operation {
            Operation::Reduce => const { &Names::of::<N>("reduce", O::NAME) },
            Operation::AllReduce => const { &Names::of::<N>("all_reduce", O::NAME) },
            Operation::ReduceScatter => const { &Names::of::<N>("reduce_scatter", O::NAME) },
            Operation::Scan => const { &Names::of::<N>("scan", O::NAME) },
            _ => const { &Names::of::<N>("exclusive_scan", O::NAME) },
        }
    }

    fn kernel(&self) -> (FoldKernel<'_>, bool) {
        (FoldKernel::of::<T, O>(&self.0), O::ORIGIN.is_library())
    }

    unsafe fn few(&self, team: &mut Team, call: &Begun, data: *mut u8, n: usize) -> Result<()> {
        // SAFETY: by the contract; aligned and not null, as `check` has seen.
        let data = unsafe { std::slice::from_raw_parts_mut(data.cast::<T>(), n) };
        let mut reduce = || team.reduce_few(call, data, &self.0, O::accumulation());
        let disturbed = is_disturbed::<T, O>();
        if disturbed { FloatControl::STANDARD.lend(reduce) } else { reduce() }
    }

    unsafe fn fill(&self, data: *mut u8, n: usize) {
        if let Some(identity) = self.0.identity() {
            // SAFETY: by the contract.
            (0..n).for_each(|i| unsafe { data.cast::<T>().add(i).write(identity) });
        }
    }
}

/// The reductions of a type.
macro_rules! reductions {
    ($n:ty, $t:ty: $($number:literal $operator:ident)*) => {
        |number| match number {
            $($number => Some(&Typed::<$n, $t, _>(op::$operator, PhantomData)),)*
            _ => None,
        }
    };
}

macro_rules! type_of {
    ($n:ty, $t:ty: $($operators:tt)*) => {
        Type::new::<$n, $t>(reductions!($n, $t: $($operators)*))
    };
    (integer $t:ty) => {
        type_of!($t, $t: 0 Sum 1 Prod 2 Min 3 Max 4 BitAnd 5 BitOr 6 BitXor)
    };
    (float $t:ty) => {
        type_of!($t, $t: 0 Sum 1 Prod 2 Min 3 Max)
    };
}

impl Type {
    fn new<N: Plain, T: Plain>(reduction: fn(i32) -> Option<&'static dyn Reduction>) -> Type {
        let names = |operation| match operation {
            Operation::Broadcast => const { &Names::of::<N>("broadcast", "") },
            Operation::AllGather => const { &Names::of::<N>("all_gather", "") },
            Operation::Gather => const { &Names::of::<N>("gather", "") },
            Operation::Scatter => const { &Names::of::<N>("scatter", "") },
            _ => const { &Names::of::<N>("all_to_all", "") },
        };
        let send = const { &Names::of::<N>("send", "") };
        let message = [send, const { &Names::of::<N>("receive", "") }];
        let (size, align) = (size_of::<T>(), align_of::<T>());
        Type { size, align, digest: N::DIGEST, names, message, reduction }
    }

    fn of(number: i32) -> Option<Type> {
        Some(match number {
            0 => type_of!(integer i8),
            1 => type_of!(integer u8),
            2 => type_of!(integer i16),
            3 => type_of!(integer u16),
            4 => type_of!(integer i32),
            5 => type_of!(integer u32),
            6 => type_of!(integer i64),
            7 => type_of!(integer u64),
            8 => type_of!(float f16),
            9 => type_of!(float bf16),
            10 => type_of!(float f32),
            11 => type_of!(float f64),
            // Results are 0 or 1, whatever others write.
            12 => type_of!(Truth, u8: 2 And 3 Or 4 And 5 Or 6 Xor),
            13 => type_of!(Complex<f32>, Complex<f32>: 0 Sum 1 Prod),
            14 => type_of!(Complex<f64>, Complex<f64>: 0 Sum 1 Prod),
            _ => return None,
        })
    }

    /// Why `n` elements cannot be at an address, if they cannot.
    fn objection(&self, at: *const u8, n: Option<usize>) -> Option<String> {
        let bytes = n.and_then(|n| n.checked_mul(self.size));
        match at.addr() {
            _ if bytes.is_none_or(|bytes| bytes > isize::MAX as usize) => {
                Some("so many elements are more than there are addresses".to_string())
            }
            _ if n == Some(0) => None,
            0 => Some("the address of elements is null".to_string()),
            at if !at.is_multiple_of(self.align) => {
                Some(format!("the address of elements is not a multiple of {}", self.align))
            }
            _ => None,
        }
    }
}

fn no_type(number: i32) -> String {
    format!("there is no type {number}")
}

/// The reduction of these numbers, or why there is none.
fn reduction_of(kind: &Type, call: &Call) -> Result<&'static dyn Reduction, String> {
    (kind.reduction)(call.operator).ok_or_else(|| {
        let name = TYPES[call.kind as usize];
        let has = |number: &usize| (kind.reduction)(*number as i32).is_some();
        let has: Vec<&str> = (0..OPERATORS.len()).filter(has).map(|it| OPERATORS[it]).collect();
        match usize::try_from(call.operator).ok().and_then(|it| OPERATORS.get(it)) {
            Some(operator) => format!("{name} has no {operator}: {} combine it", has.join(", ")),
            None => format!("there is no operator {}", call.operator),
        }
    })
}

/// The names of a call whose type or operator there is not.
fn names_of(operation: Operation) -> &'static Names {
    macro_rules! names {
        ($($operation:ident $name:literal)*) => {
            match operation {
                $(Operation::$operation => const { &Names::without_data($name) },)*
                _ => const { &Names::without_data("exclusive_scan") },
            }
        };
    }
    names!(Broadcast "broadcast" Reduce "reduce" AllReduce "all_reduce" AllGather "all_gather"
        Gather "gather" Scatter "scatter" ReduceScatter "reduce_scatter" AllToAll "all_to_all"
        Scan "scan")
}

/// Makes a call: `input` has the vector, or the blocks, that this rank gives, `output` has room for
/// what it takes. (Of a broadcast, a reduction in place and a scan they are one; of a gather and a
/// scatter the one with all blocks may be null but at the root.)
///
/// # Errors
/// As of the function of [`Team`]. Of wrong arguments the others hear at once.
///
/// # Safety
/// There are so many elements; nobody else uses them meanwhile.
pub unsafe fn collective(
    team: &mut Team,
    at: Place,
    operation: Operation,
    (input, output): (*const u8, *mut u8),
    it: Call,
) -> Result<()> {
    use Operation::*;
    let combines = matches!(operation, Reduce | AllReduce | ReduceScatter | Scan | ExclusiveScan);
    let found = Type::of(it.kind).ok_or_else(|| no_type(it.kind)).and_then(|kind| {
        let reduction = combines.then(|| reduction_of(&kind, &it)).transpose()?;
        Ok((kind, reduction))
    });
    let names = match &found {
        Ok((_, Some(reduction))) => reduction.names(operation),
        Ok((kind, None)) => (kind.names)(operation),
        Err(_) => names_of(operation),
    };
    let is_rooted = matches!(operation, Broadcast | Reduce | Gather | Scatter);
    let shown = if is_rooted { it.root as u64 & 0xffff_ffff } else { Team::ROOTLESS };
    let call = team.begin(names, at, it.n, shown)?;
    let (kind, reduction) = found.map_err(|text| team.wrong(&call, &text))?;
    let root = if is_rooted { it.root } else { 0 };
    let root = team.check_number(&call, root)?;
    let (p, is_root) = (team.size(), team.rank() == root);
    let blocks = match operation {
        Gather => [1, if is_root { p } else { 0 }],
        Scatter => [if is_root { p } else { 0 }, 1],
        AllGather => [1, p],
        ReduceScatter => [p, 1],
        AllToAll => [p, p],
        _ => [1, 1],
    };
    let ends = [input, output.cast_const()];
    for (at, blocks) in ends.into_iter().zip(blocks) {
        if let Some(text) = kind.objection(at, it.n.checked_mul(blocks)) {
            return Err(team.wrong(&call, &text));
        }
    }
    let end = |i: usize| ends[i].addr().saturating_add(it.n * blocks[i] * kind.size);
    let is_apart = matches!(operation, AllGather | Gather | Scatter | ReduceScatter | AllToAll);
    if is_apart && ends[0].addr().max(ends[1].addr()) < end(0).min(end(1)) {
        return Err(team.wrong(&call, "both buffers are in the same memory"));
    }
    let Some(reduction) = reduction else {
        let (length, size) = (it.n * kind.size, 1);
        let job = Job { operation, length, size, root, input, output, fold: None };
        // SAFETY: passed on.
        return unsafe { crate::transfer::carry_out(team, &call, job) };
    };
    if operation == AllReduce && Team::is_few(it.n, kind.size) && it.n > 0 {
        // SAFETY: passed on.
        return unsafe { reduction.few(team, &call, output, it.n) };
    }
    let (kernel, is_library) = reduction.kernel();
    let (length, size, fold) = (it.n, kind.size, Some((&kernel, is_library)));
    let job = Job { operation, length, size, root, input, output, fold };
    // SAFETY: passed on.
    unsafe { team.combine(&call, job)? };
    if operation == ExclusiveScan && team.rank() == 0 {
        // SAFETY: passed on.
        unsafe { reduction.fill(output, it.n) };
    }
    Ok(())
}

/// [`Team::send`], of `n` elements.
///
/// # Errors
/// As there. Of wrong arguments the others hear at once.
///
/// # Safety
/// There are so many elements, which nobody writes.
pub unsafe fn send(
    team: &mut Team,
    at: Place,
    data: *const u8,
    (n, kind): (usize, i32),
    (to, tag): (i64, u64),
) -> Result<()> {
    let (call, kind, to) = begin_message(team, at, data, (n, kind, to), 0)?;
    // SAFETY: passed on.
    unsafe { team.send_bytes(&call, (data, n * kind.size), kind.digest, to, tag) }
}

/// [`Team::receive`], of `n` elements.
///
/// # Errors
/// As there. Of wrong arguments the others hear at once.
///
/// # Safety
/// There are so many elements, which nobody else uses.
pub unsafe fn receive(
    team: &mut Team,
    at: Place,
    data: *mut u8,
    (n, kind): (usize, i32),
    (from, tag): (i64, u64),
) -> Result<()> {
    let (call, kind, from) = begin_message(team, at, data, (n, kind, from), 1)?;
    // SAFETY: passed on.
    unsafe { team.receive_bytes(&call, (data, n * kind.size), kind.digest, from, tag) }
}

fn begin_message(
    team: &mut Team,
    at: Place,
    data: *const u8,
    (n, number, other): (usize, i32, i64),
    which: usize,
) -> Result<(Begun, Type, usize)> {
    let without =
        [const { &Names::without_data("send") }, const { &Names::without_data("receive") }];
    let kind = Type::of(number);
    let names = kind.as_ref().map_or(without[which], |kind| kind.message[which]);
    let call = team.begin(names, at, n, Team::ROOTLESS)?;
    let kind = kind.ok_or_else(|| team.wrong(&call, &no_type(number)))?;
    let other = team.check_number(&call, other)?;
    match kind.objection(data, Some(n)) {
        Some(text) => Err(team.wrong(&call, &text)),
        None => Ok((call, kind, other)),
    }
}

/// [`Team::split`]: a negative colour other than -1, which is none, ends the team.
///
/// # Errors
/// As there.
pub fn split(team: &mut Team, at: Place, color: i64, key: i64) -> Result<Option<Team>> {
    match u32::try_from(color) {
        Ok(color) => team.at(at).split(Some(color), key),
        Err(_) if color == -1 => team.at(at).split(None, key),
        Err(_) => {
            let text = format!("color {color}: colours are 0 to {}, and -1 is none", u32::MAX);
            Err(wrong(team, at, const { &Names::without_data("split") }, &text))
        }
    }
}

/// The memory behind a descriptor that the caller gives away.
///
/// # Errors
/// No file is open there.
///
/// # Safety
/// Nobody else uses it any more.
pub unsafe fn segment(fd: i32) -> Result<Segment> {
    // SAFETY: numbers.
    if unsafe { libc::fcntl(fd, libc::F_GETFD) } < 0 {
        let text = format!("`fd` is {fd}: no file is open there");
        return Err(Error::new(ErrorKind::Argument, text));
    }
    // SAFETY: it is open, and the caller's.
    Ok(Segment::from_fd(unsafe { OwnedFd::from_raw_fd(fd) }))
}

/// [`Team::free`], of an address.
///
/// # Errors
/// As there; there is no buffer at the address.
pub fn free(team: &mut Team, at: Place, address: *const u8) -> Result<()> {
    match Symmetric::<u8>::at(team, address) {
        Some(buffer) => team.at(at).free(buffer),
        None => {
            let text = "at the address begins no memory that was allocated";
            Err(wrong(team, at, const { &Names::without_data("free") }, text))
        }
    }
}

/// The call of a rank has arguments that make no sense, for a reason: the team is over.
pub fn refuse(team: &mut Team, at: Place, operation: &'static str, text: &str) -> Error {
    wrong(team, at, &Names::without_data(operation), text)
}

fn wrong(team: &mut Team, at: Place, names: &Names, text: &str) -> Error {
    team.refuse(names, at, text)
}

/// Ends a team from another thread than the one that uses it.
#[derive(Clone, Debug)]
pub struct Ender(Arc<Shared>);

impl Ender {
    /// Of the team, and of the groups of its team.
    pub fn of(team: &Team) -> Ender {
        Ender(Arc::clone(&team.shared))
    }

    /// The team is over, with a text of this rank's: a call that waits, in whatever thread or rank,
    /// ends within 10 ms. The error.
    pub fn end(&self, text: &str) -> Error {
        self.end_as(ErrorKind::Argument, text)
    }

    /// The same of a failure of this rank's program, which has this text.
    pub fn fail(&self, text: &str) -> Error {
        self.end_as(ErrorKind::Panicked, text)
    }

    fn end_as(&self, kind: ErrorKind, text: &str) -> Error {
        // In a child of a fork, where the thread that had the team is not.
        if self.0.is_forked() {
            return forked();
        }
        let error = Error::of(kind, self.0.rank, format!("{}: {text}", self.0.told(self.0.rank)));
        self.0.end(&error);
        error
    }
}
