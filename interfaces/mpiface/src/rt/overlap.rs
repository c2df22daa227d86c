//! Whether a call's data and the room for its result are apart, as the standard asks: as far as
//! it shows without a look at each byte.

use super::error::{Class, Outcome, error};
use super::types::Place;

/// The first of the bytes that surely are a place's, and their end: all of them, where it has no
/// gaps, else one. (In the gaps of one buffer another's data may lie.)
fn surely(place: &Place) -> (usize, usize) {
    let (at, bytes) = (place.address, place.bytes());
    if bytes == 0 || place.is_contiguous() {
        return (at, at.saturating_add(bytes));
    }
    let to_last = (place.count as isize - 1).wrapping_mul(place.ty.extent);
    let first = at.wrapping_add_signed(place.ty.true_bounds().0.wrapping_add(to_last.min(0)));
    (first, first.saturating_add(1))
}

/// Refuses data that lies where the result goes.
///
/// # Errors
/// If they overlap.
pub fn apart(data: &Place, room: &Place) -> Outcome {
    let (data, room) = (surely(data), surely(room));
    let is_one = data.0.max(room.0) < data.1.min(room.1);
    if is_one { overlap() } else { Ok(()) }
}

/// The same of several parts on each side.
///
/// # Errors
/// As above.
pub fn all_apart(
    data: impl IntoIterator<Item = Place>,
    room: impl IntoIterator<Item = Place>,
) -> Outcome {
    let data = data.into_iter().map(|it| (surely(&it), 0));
    let room = room.into_iter().map(|it| (surely(&it), 1));
    let mut parts: Vec<_> = data.chain(room).filter(|it| it.0.0 < it.0.1).collect();
    parts.sort_unstable();
    let mut ends = [0, 0];
    for ((start, end), side) in parts {
        if start < ends[1 - side] {
            return overlap();
        }
        ends[side] = end.max(ends[side]);
    }
    Ok(())
}

#[cold]
fn overlap() -> Outcome {
    let text = "the data and the room for the result overlap (one buffer for both is MPI_IN_PLACE)";
    error(Class::Buffer, text)
}
