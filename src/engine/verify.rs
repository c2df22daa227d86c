//! Plans, checked on paper.
