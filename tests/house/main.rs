//! The rules of the repository: rooms, style, the names in TRUST.md, the walks of DESIGN.md, and
//! the programs that the compiler must refuse.

mod compile_fail;
mod files;
mod readme;
mod rooms;
mod style;
mod trust;
mod walks;
