//! Agreement between nodes: a call goes on only if all nodes are in the same call.

use super::LocalStep;
use crate::exec::Partition;
use crate::fabric::Fingerprint;
use crate::net::{NetFold, NetNumber, Pending, Transfer};
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};

/// Bytes of a call in words that are shown to other nodes.
const WORDS: usize = 256;

impl LocalStep<'_> {
    /// What must be equal on all nodes, in 128 bits; of counts that is a digest, which on
    /// a node are compared in full. Nodes run the same program (that is compared when a job
    /// begins), so the `TypeId`s of element and operator, themselves such hashes, are the same on
    /// all.
    fn digest(&self) -> [u64; 2] {
        let call = &self.call;
        [0u64, 1].map(|seed| {
            // SipHash with constant keys.
            let mut h = DefaultHasher::new();
            seed.hash(&mut h);
            let sig = call.sig();
            (sig.meets, sig.element(), sig.operator, sig.operator_type).hash(&mut h);
            (call.parameter(), call.len(), call.is_commutative()).hash(&mut h);
            (self.comm.order, self.node_group().calls).hash(&mut h);
            match call.cut() {
                Partition::Vector(n) => (0, n).hash(&mut h),
                Partition::Equal(n) => (1, n).hash(&mut h),
                Partition::Varied(counts) => (2, counts).hash(&mut h),
                Partition::Pairs { .. } => 3.hash(&mut h),
            }
            h.finish()
        })
    }

    /// The leader's part of a call: compares it with the other nodes', and makes a
    /// transfer meanwhile.
    pub(super) fn agree_while(&mut self, transfer: Option<Transfer<'_>>) {
        let [a, b] = self.digest();
        // The largest of x and of !x: equal nodes get themselves.
        let mine = [a, !a, b, !b];
        let mut most = mine;
        let at = most.as_mut_ptr().cast();
        let (number, fold) = (NetNumber::U64, NetFold::Max);
        let first = self.begin(None, Transfer::AllReduce { at, count: 4, number, fold });
        let second = transfer.map(|transfer| self.begin(None, transfer));
        self.wait(first);
        if most != mine {
            self.disagree(second);
        }
        if let Some(second) = second {
            self.wait(second);
        }
    }

    /// Ends the job: the nodes are in different calls. All of them come here.
    #[cold]
    fn disagree(&mut self, second: Option<Box<dyn Pending>>) -> ! {
        let call = &self.call;
        let parameter = Some(call.parameter()).filter(|&it| it != Fingerprint::NO_PARAMETER);
        let said = format!("{} at {}", call.sig().words(call.len(), parameter), call.at());
        let (nodes, node) = (self.layout().nodes(), self.node());
        let mut all = vec![0u8; nodes * WORDS];
        let n = said.len().min(WORDS);
        all[node * WORDS..][..n].copy_from_slice(&said.as_bytes()[..n]);
        // By messages: a node whose call has a transfer has started that already, and
        // collective transfers would meet it on the others.
        let tag = self.node_group().net.tags() - 1;
        let mine = all[node * WORDS..][..WORDS].to_vec();
        let peers = (0..nodes).filter(|&peer| peer != node);
        let mut pending = Vec::new();
        for peer in peers {
            let at = all[peer * WORDS..].as_mut_ptr();
            pending.push(self.begin(None, Transfer::Recv { from: peer, tag, at, bytes: WORDS }));
            let at = mine.as_ptr();
            pending.push(self.begin(None, Transfer::Send { to: peer, tag, at, bytes: WORDS }));
        }
        pending.into_iter().for_each(|pending| self.wait(pending));
        let call = |of: usize| {
            let words = &all[of * WORDS..][..WORDS];
            let end = words.iter().position(|&b| b == 0).unwrap_or(WORDS);
            String::from_utf8_lossy(&words[..end]).into_owned()
        };
        let mine = call(node);
        let other = (0..nodes).map(|of| (of, call(of))).find(|(_, words)| *words != mine);
        let what = match other {
            Some((of, words)) => {
                let rank = self.layout().members(of)[0];
                format!("node {node} is in {mine}, node {of} (rank {rank}) in {words}")
            }
            None => "the nodes' calls differ (in counts, order, or how many came before)".into(),
        };
        // Not dropped: it may write until the job has ended.
        std::mem::forget(second);
        self.fail(&what)
    }
}
