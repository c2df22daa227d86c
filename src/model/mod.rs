//! Models of cost, and the choices that follow from them.

pub(crate) mod choice;
