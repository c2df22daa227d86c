//! The models, one file a protocol.

mod blocks;
mod board;
mod dispatch;
mod gate;
mod mailbox;
mod port;
mod ring;
mod tagged;
mod tray;
mod waiting;

use crate::sync::UnsafeCell;

/// Memory that a rank owns and peers look at. Loom tracks it: an access that
/// is not ordered after the last one of another thread is a failure, even
/// where the value would be right. (Not so a drop: write before it.)
type Cell = UnsafeCell<u64>;

fn write(cell: &Cell, value: u64) {
    // SAFETY: loom reports a data race before it happens.
    cell.with_mut(|p| unsafe { *p = value });
}

fn read(cell: &Cell) -> u64 {
    // SAFETY: as above.
    cell.with(|p| unsafe { *p })
}
