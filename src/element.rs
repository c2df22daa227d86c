//! Element types: the values that can travel between ranks.

/// A type whose values collectives may copy from one rank's memory to
/// another's: plain data that can be shared and sent. Implemented for every
/// type that qualifies: integers, floats, `bool`, `char`, tuples, arrays and
/// structs of these.
///
/// # Examples
/// ```
/// #[derive(Clone, Copy, Debug, PartialEq)]
/// struct Particle { mass: f64, charge: i8 }
///
/// let got = phalanx::run(2, |comm| {
///     let mut p = [Particle { mass: comm.rank() as f64, charge: -1 }];
///     comm.broadcast(&mut p, 1);
///     p[0]
/// })?;
/// assert_eq!(got[0], Particle { mass: 1.0, charge: -1 });
/// # Ok::<(), phalanx::Error>(())
/// ```
///
/// A type that owns memory does not qualify, and the compiler says what to do instead: move the
/// plain values (the bytes of a `String`, the numbers of a `Vec`), or hand the whole over by
/// [`send_owned`](crate::Comm::send_owned); share atomics by a captured reference, or in a window
/// ([`shared_atomic`](crate::Comm::shared_atomic)).
/// ```
/// use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
/// let hits: Vec<AtomicU64> = (0..4).map(|_| AtomicU64::new(0)).collect();
/// let names = phalanx::run(3, |comm| {
///     hits[comm.rank()].fetch_add(1, Relaxed); // all ranks write the captured `hits`
///     let mut name = *b"phalanx";
///     comm.broadcast(&mut name, 0);
///     String::from_utf8_lossy(&name).into_owned() // a result may own anything
/// })?;
/// assert_eq!((names[2].as_str(), hits[2].load(Relaxed)), ("phalanx", 1));
/// # Ok::<(), phalanx::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot travel between ranks: an element is `Copy + Send + Sync + 'static`",
    label = "`{Self}` is no element",
    note = "move the plain values in it: the bytes of a `String`, the numbers of a `Vec`; a struct \
            of plain values derives `Clone` and `Copy`; `send_owned` hands over any `Send` value, \
            `all_to_all_owned` any number of them",
    note = "ranks share atomics and locks by reference: the closure of `run` captures \
            `&[AtomicU64]`, or `shared_atomic` makes them; what a rank returns may own anything"
)]
pub trait Element: Copy + Send + Sync + 'static {}

// Else the compiler would say that `Copy` is missing, and nothing of elements.
#[diagnostic::do_not_recommend]
impl<T: Copy + Send + Sync + 'static> Element for T {}
