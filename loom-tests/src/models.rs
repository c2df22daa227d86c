//! The models, one file a protocol.

mod mailbox;
