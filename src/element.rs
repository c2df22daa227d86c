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
pub trait Element: Copy + Send + Sync + 'static {}

impl<T: Copy + Send + Sync + 'static> Element for T {}
