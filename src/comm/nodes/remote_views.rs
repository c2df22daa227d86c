//! Views on several nodes: slices of other nodes are copied to this node first, once for all of its
//! ranks.

use super::{Lengths, starts};
use crate::comm::{Comm, Peers};
use crate::element::Element;
use crate::exec::{Call, Kernel, Partition};
use crate::fabric::{Signature, Span};
use crate::net::Transfer;
use crate::schedule::Operation;
use std::mem::MaybeUninit;
use std::panic::Location;

impl Comm {
    #[track_caller]
    pub(in crate::comm) fn with_peers_wide<T: Element, R>(
        &mut self,
        sig: &'static Signature,
        at: &'static Location<'static>,
        mine: &[T],
        f: impl for<'a> FnOnce(Peers<'a, T>) -> R,
    ) -> R {
        let p = self.size();
        let mut lens = vec![0; p];
        self.all_gather_into(&[mine.len()], &mut lens);
        let total: usize = lens.iter().sum();
        let mut all: Vec<MaybeUninit<T>> = Vec::new();
        if self.port.rank() == 0 {
            all.reserve_exact(total);
            // SAFETY: elements that may be uninitialised.
            unsafe { all.set_len(total) };
        }
        let call = Call::new(Operation::AllGather, sig, at, Partition::Varied(&lens));
        if !self.check_usable(sig, at) {
            self.nothing_to_return();
        }
        let mut node = self.local_step(&call);
        // SAFETY: as an all-gather, which fills the leader's `all` only.
        unsafe {
            let (from, to) = (mine.as_ptr().cast(), all.as_mut_ptr().cast());
            node.assemble(&Lengths::Varied(&lens), &Kernel::mover::<T>(), from, to);
        }
        let starts = starts(lens.iter().copied());
        node.comm.with_root_here(sig, at, &all, 0, |all| {
            let spans: Vec<Span> = lens
                .iter()
                .zip(&starts)
                .map(|(&len, &start)| Span { at: all[start..start + len].as_ptr().cast(), len })
                .collect();
            f(Peers::new(&spans))
        })
    }

    #[track_caller]
    pub(in crate::comm) fn with_root_wide<T: Element, R>(
        &mut self,
        sig: &'static Signature,
        at: &'static Location<'static>,
        data: &[T],
        root: usize,
        f: impl for<'a> FnOnce(&'a [T]) -> R,
    ) -> R {
        let mut len = [data.len()];
        self.broadcast(&mut len, root);
        let [len] = len;
        let Some(node_group) = &self.node_group else { self.nothing_to_return() };
        let (home, local) = node_group.layout.place(root);
        let bytes = len * size_of::<T>();
        if !self.check_usable(sig, at) {
            self.nothing_to_return();
        }
        let call = Call::new(Operation::Broadcast, sig, at, Partition::Vector(len)).root(root);
        let mut node = self.local_step(&call);
        let (here, leader) = (node.node(), node.is_leader());
        let kernel = Kernel::mover::<T>();
        let mut copy: Vec<MaybeUninit<T>> = Vec::new();
        if leader {
            copy.reserve_exact(len);
            // SAFETY: elements that may be uninitialised.
            unsafe { copy.set_len(len) };
            let to = copy.as_mut_ptr().cast();
            if here == home {
                // SAFETY: as a message of the root's to the leader.
                unsafe { node.fetch(local, len, &kernel, data.as_ptr().cast(), to) };
            }
            node.agree_while(Some(Transfer::Broadcast { root: home, at: to, bytes }));
        } else if here == home {
            // SAFETY: as above.
            unsafe {
                let none = std::ptr::null_mut();
                node.fetch(local, len, &kernel, data.as_ptr().cast(), none);
            }
        }
        node.comm.with_root_here(sig, at, &copy, 0, |all| {
            // SAFETY: the leader has received all of them.
            f(unsafe { std::slice::from_raw_parts(all.as_ptr().cast::<T>(), all.len()) })
        })
    }
}
