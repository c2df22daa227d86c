//! Logical topologies: extents, coordinates, neighbours, Gray codes, trees.
//! Pure arithmetic; the lowest room beside `sync`.
