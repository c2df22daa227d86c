//! The placement room: which rank runs on which processing unit.
