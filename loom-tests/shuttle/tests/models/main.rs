//! Models of whole programs. See `../../README.md`.

mod good;
mod harness;
