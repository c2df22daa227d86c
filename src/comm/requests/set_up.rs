//! The calls that can be set up to be started many times.

use super::pending::Lent;
use super::{Persistent, Requests};
use crate::element::Element;
use crate::op::Operator;

impl<'scope, 'env> Requests<'scope, 'env> {
    /// Sets up a [`barrier`](Requests::barrier).
    ///
    /// # Examples
    /// ```
    /// phalanx::run(3, |comm| {
    ///     comm.requests(|scope| {
    ///         let mut together = scope.persistent_barrier();
    ///         for _ in 0..3 {
    ///             let request = scope.start(together);
    ///             together = scope.wait(request);
    ///         }
    ///     })
    /// })?;
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    #[track_caller]
    pub fn persistent_barrier(&mut self) -> Persistent<'scope, 'env, ()> {
        let form = self.barrier_form::<true>();
        self.set_up(form, None)
    }

    /// Sets up a [`broadcast`](Requests::broadcast).
    ///
    /// # Examples
    /// ```
    /// let out = phalanx::run(3, |comm| {
    ///     let mut x = [comm.rank()];
    ///     comm.requests(|scope| {
    ///         let ones = scope.persistent_broadcast(&mut x, 1);
    ///         let request = scope.start(ones);
    ///         scope.wait(request).buf()[0]
    ///     })
    /// })?;
    /// assert_eq!(out, [1; 3]);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    #[track_caller]
    pub fn persistent_broadcast<T: Element>(
        &mut self,
        buf: &'env mut [T],
        root: usize,
    ) -> Persistent<'scope, 'env, T> {
        let form = self.broadcast_form::<true, _>(buf, root);
        self.set_up(form, None)
    }

    /// Sets up a [`reduce`](Requests::reduce).
    ///
    /// # Examples
    /// ```
    /// use phalanx::op;
    /// let out = phalanx::run(3, |comm| {
    ///     let mut x = [comm.rank()];
    ///     comm.requests(|scope| {
    ///         let max = scope.persistent_reduce(&mut x, op::Max, 0);
    ///         let request = scope.start(max);
    ///         scope.wait(request).buf()[0]
    ///     })
    /// })?;
    /// assert_eq!(out[0], 2);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    #[track_caller]
    pub fn persistent_reduce<T: Element, O: Operator<T> + 'env>(
        &mut self,
        buf: &'env mut [T],
        op: O,
        root: usize,
    ) -> Persistent<'scope, 'env, T> {
        let form = self.reduce_form::<true, _, _>(buf, op, root);
        self.set_up(form, None)
    }

    /// Sets up an [`all_reduce`](Requests::all_reduce).
    ///
    /// # Examples
    /// See [`Persistent`].
    #[track_caller]
    pub fn persistent_all_reduce<T: Element, O: Operator<T> + 'env>(
        &mut self,
        buf: &'env mut [T],
        op: O,
    ) -> Persistent<'scope, 'env, T> {
        let form = self.all_reduce_form::<true, _, _>(buf, op);
        self.set_up(form, None)
    }

    /// Sets up a [`scan`](Requests::scan).
    ///
    /// # Examples
    /// ```
    /// use phalanx::op;
    /// let out = phalanx::run(3, |comm| {
    ///     let mut x = [0];
    ///     comm.requests(|scope| {
    ///         let mut before = scope.persistent_scan(&mut x, op::Sum);
    ///         before.buf_mut()[0] = scope.comm().rank() + 1;
    ///         let request = scope.start(before);
    ///         scope.wait(request).buf()[0]
    ///     })
    /// })?;
    /// assert_eq!(out, [1, 3, 6]);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    #[track_caller]
    pub fn persistent_scan<T: Element, O: Operator<T> + 'env>(
        &mut self,
        buf: &'env mut [T],
        op: O,
    ) -> Persistent<'scope, 'env, T> {
        let form = self.scan_form::<true, _, _>(buf, op);
        self.set_up(form, None)
    }

    /// Sets up an [`exclusive_scan`](Requests::exclusive_scan).
    ///
    /// # Examples
    /// ```
    /// use phalanx::op;
    /// let out = phalanx::run(3, |comm| {
    ///     let mut x = [0];
    ///     comm.requests(|scope| {
    ///         let mut before = scope.persistent_exclusive_scan(&mut x, op::Sum);
    ///         before.buf_mut()[0] = scope.comm().rank() + 1;
    ///         let request = scope.start(before);
    ///         scope.wait(request).buf()[0]
    ///     })
    /// })?;
    /// assert_eq!(out, [0, 1, 3]);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    #[track_caller]
    pub fn persistent_exclusive_scan<T: Element, O: Operator<T> + 'env>(
        &mut self,
        buf: &'env mut [T],
        op: O,
    ) -> Persistent<'scope, 'env, T> {
        let form = self.exclusive_scan_form::<true, _, _>(buf, op);
        self.set_up(form, None)
    }

    /// Sets up a [`reduce_scatter_into`](Requests::reduce_scatter_into).
    ///
    /// # Examples
    /// ```
    /// use phalanx::op;
    /// let out = phalanx::run(3, |comm| {
    ///     let (mut all, mut mine) = ([comm.rank(); 3], [0]);
    ///     comm.requests(|scope| {
    ///         let sums = scope.persistent_reduce_scatter_into(&mut all, &mut mine, op::Sum);
    ///         let request = scope.start(sums);
    ///         scope.wait(request).buf()[0]
    ///     })
    /// })?;
    /// assert_eq!(out, [3; 3]);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    #[track_caller]
    pub fn persistent_reduce_scatter_into<T: Element, O: Operator<T> + 'env>(
        &mut self,
        all: &'env mut [T],
        mine: &'env mut [T],
        op: O,
    ) -> Persistent<'scope, 'env, T> {
        let (input, all) = Lent::new(all);
        let form = self.reduce_scatter_form::<true, _, _>(all, mine, op);
        self.set_up(form, Some(input))
    }

    /// Sets up an [`all_gather_into`](Requests::all_gather_into).
    ///
    /// # Examples
    /// ```
    /// let out = phalanx::run(3, |comm| {
    ///     let (mut mine, mut all) = ([comm.rank()], [9; 3]);
    ///     comm.requests(|scope| {
    ///         let mut blocks = scope.persistent_all_gather_into(&mut mine, &mut all);
    ///         for _ in 0..2 {
    ///             blocks.input_mut()[0] += 10;
    ///             let request = scope.start(blocks);
    ///             blocks = scope.wait(request);
    ///         }
    ///         assert_eq!(blocks.input(), [20 + scope.comm().rank()]);
    ///         blocks.buf().to_vec()
    ///     })
    /// })?;
    /// assert_eq!(out, vec![[20, 21, 22]; 3]);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    #[track_caller]
    pub fn persistent_all_gather_into<T: Element>(
        &mut self,
        mine: &'env mut [T],
        all: &'env mut [T],
    ) -> Persistent<'scope, 'env, T> {
        let (input, mine) = Lent::new(mine);
        let form = self.all_gather_form::<true, _>(mine, all);
        self.set_up(form, Some(input))
    }

    /// Sets up an [`all_to_all_into`](Requests::all_to_all_into).
    ///
    /// # Examples
    /// ```
    /// let out = phalanx::run(3, |comm| {
    ///     let (mut send, mut recv) = ([10 * comm.rank(); 3], [9; 3]);
    ///     comm.requests(|scope| {
    ///         let blocks = scope.persistent_all_to_all_into(&mut send, &mut recv);
    ///         let request = scope.start(blocks);
    ///         scope.wait(request).buf().to_vec()
    ///     })
    /// })?;
    /// assert_eq!(out, vec![[0, 10, 20]; 3]);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    #[track_caller]
    pub fn persistent_all_to_all_into<T: Element>(
        &mut self,
        send: &'env mut [T],
        recv: &'env mut [T],
    ) -> Persistent<'scope, 'env, T> {
        let (input, send) = Lent::new(send);
        let form = self.all_to_all_form::<true, _>(send, recv);
        self.set_up(form, Some(input))
    }

    /// Sets up a [`gather_into`](Requests::gather_into).
    ///
    /// # Examples
    /// ```
    /// let out = phalanx::run(3, |comm| {
    ///     let (mut mine, mut all) = ([comm.rank()], [9; 3]);
    ///     comm.requests(|scope| {
    ///         let blocks = scope.persistent_gather_into(&mut mine, &mut all, 0);
    ///         let request = scope.start(blocks);
    ///         scope.wait(request).buf().to_vec()
    ///     })
    /// })?;
    /// assert_eq!(out[0], [0, 1, 2]);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    #[track_caller]
    pub fn persistent_gather_into<T: Element>(
        &mut self,
        mine: &'env mut [T],
        all: &'env mut [T],
        root: usize,
    ) -> Persistent<'scope, 'env, T> {
        let (input, mine) = Lent::new(mine);
        let form = self.gather_form::<true, _>(mine, all, root);
        self.set_up(form, Some(input))
    }

    /// Sets up a [`scatter_into`](Requests::scatter_into).
    ///
    /// # Examples
    /// ```
    /// let out = phalanx::run(3, |comm| {
    ///     let (mut all, mut mine) = ([5, 6, 7], [0]);
    ///     comm.requests(|scope| {
    ///         let blocks = scope.persistent_scatter_into(&mut all, &mut mine, 1);
    ///         let request = scope.start(blocks);
    ///         scope.wait(request).buf()[0]
    ///     })
    /// })?;
    /// assert_eq!(out, [5, 6, 7]);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    #[track_caller]
    pub fn persistent_scatter_into<T: Element>(
        &mut self,
        all: &'env mut [T],
        mine: &'env mut [T],
        root: usize,
    ) -> Persistent<'scope, 'env, T> {
        let (input, all) = Lent::new(all);
        let form = self.scatter_form::<true, _>(all, mine, root);
        self.set_up(form, Some(input))
    }

    /// Sets up a [`shift`](Requests::shift).
    ///
    /// # Examples
    /// ```
    /// let out = phalanx::run(3, |comm| {
    ///     let mut x = [comm.rank()];
    ///     comm.requests(|scope| {
    ///         let mut round = scope.persistent_shift(&mut x, 1);
    ///         for _ in 0..2 {
    ///             let request = scope.start(round);
    ///             round = scope.wait(request);
    ///         }
    ///         round.buf()[0]
    ///     })
    /// })?;
    /// assert_eq!(out, [1, 2, 0]);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    #[track_caller]
    pub fn persistent_shift<T: Element>(
        &mut self,
        buf: &'env mut [T],
        distance: isize,
    ) -> Persistent<'scope, 'env, T> {
        let form = self.shift_form::<true, _>(buf, distance);
        self.set_up(form, None)
    }

    /// Sets up an [`all_gather_varied_into`](Requests::all_gather_varied_into).
    ///
    /// # Examples
    /// ```
    /// let out = phalanx::run(3, |comm| {
    ///     let (mut mine, mut all) = (vec![comm.rank(); comm.rank()], [9; 3]);
    ///     comm.requests(|scope| {
    ///         let (mine, all) = (&mut mine, &mut all);
    ///         let blocks = scope.persistent_all_gather_varied_into(mine, all, &[0, 1, 2]);
    ///         let request = scope.start(blocks);
    ///         scope.wait(request).buf().to_vec()
    ///     })
    /// })?;
    /// assert_eq!(out, vec![[1, 2, 2]; 3]);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    #[track_caller]
    pub fn persistent_all_gather_varied_into<T: Element>(
        &mut self,
        mine: &'env mut [T],
        all: &'env mut [T],
        counts: &'env [usize],
    ) -> Persistent<'scope, 'env, T> {
        let (input, mine) = Lent::new(mine);
        let form = self.all_gather_varied_form::<true, _>(mine, all, counts);
        self.set_up(form, Some(input))
    }

    /// Sets up a [`gather_varied_into`](Requests::gather_varied_into).
    ///
    /// # Examples
    /// ```
    /// let out = phalanx::run(2, |comm| {
    ///     let (mut mine, mut all) = (vec![comm.rank(); comm.rank() + 1], [9; 3]);
    ///     comm.requests(|scope| {
    ///         let blocks = scope.persistent_gather_varied_into(&mut mine, &mut all, &[1, 2], 1);
    ///         let request = scope.start(blocks);
    ///         scope.wait(request).buf().to_vec()
    ///     })
    /// })?;
    /// assert_eq!(out[1], [0, 1, 1]);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    #[track_caller]
    pub fn persistent_gather_varied_into<T: Element>(
        &mut self,
        mine: &'env mut [T],
        all: &'env mut [T],
        counts: &'env [usize],
        root: usize,
    ) -> Persistent<'scope, 'env, T> {
        let (input, mine) = Lent::new(mine);
        let form = self.gather_varied_form::<true, _>(mine, all, counts, root);
        self.set_up(form, Some(input))
    }

    /// Sets up a [`scatter_varied_into`](Requests::scatter_varied_into).
    ///
    /// # Examples
    /// ```
    /// let out = phalanx::run(2, |comm| {
    ///     let (mut all, mut mine) = ([1, 2, 3], vec![0; [1, 2][comm.rank()]]);
    ///     comm.requests(|scope| {
    ///         let blocks = scope.persistent_scatter_varied_into(&mut all, &mut mine, &[1, 2], 0);
    ///         let request = scope.start(blocks);
    ///         scope.wait(request).buf().to_vec()
    ///     })
    /// })?;
    /// assert_eq!(out, [vec![1], vec![2, 3]]);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    #[track_caller]
    pub fn persistent_scatter_varied_into<T: Element>(
        &mut self,
        all: &'env mut [T],
        mine: &'env mut [T],
        counts: &'env [usize],
        root: usize,
    ) -> Persistent<'scope, 'env, T> {
        let (input, all) = Lent::new(all);
        let form = self.scatter_varied_form::<true, _>(all, mine, counts, root);
        self.set_up(form, Some(input))
    }

    /// Sets up a [`reduce_scatter_varied_into`](Requests::reduce_scatter_varied_into).
    ///
    /// # Examples
    /// ```
    /// use phalanx::op;
    /// let out = phalanx::run(2, |comm| {
    ///     let (mut all, mut mine) = ([1, 2, 3], vec![0; [1, 2][comm.rank()]]);
    ///     comm.requests(|scope| {
    ///         let (all, mine) = (&mut all, &mut mine);
    ///         let sums =
    ///             scope.persistent_reduce_scatter_varied_into(all, mine, &[1, 2], op::Sum);
    ///         let request = scope.start(sums);
    ///         scope.wait(request).buf().to_vec()
    ///     })
    /// })?;
    /// assert_eq!(out, [vec![2], vec![4, 6]]);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    #[track_caller]
    pub fn persistent_reduce_scatter_varied_into<T: Element, O: Operator<T> + 'env>(
        &mut self,
        all: &'env mut [T],
        mine: &'env mut [T],
        counts: &'env [usize],
        op: O,
    ) -> Persistent<'scope, 'env, T> {
        let (input, all) = Lent::new(all);
        let form = self.reduce_scatter_varied_form::<true, _, _>(all, mine, counts, op);
        self.set_up(form, Some(input))
    }

    /// Sets up an [`all_to_all_varied_into`](Requests::all_to_all_varied_into).
    ///
    /// # Examples
    /// ```
    /// // Rank r sends r + 1 elements to everybody.
    /// let out = phalanx::run(2, |comm| {
    ///     let n = comm.rank() + 1;
    ///     let (mut send, counts, mut recv) = (vec![n; 2 * n], [n, n], [0; 3]);
    ///     comm.requests(|scope| {
    ///         let (x, y) = (&mut send, &mut recv);
    ///         let blocks = scope.persistent_all_to_all_varied_into(x, &counts, y, &[1, 2]);
    ///         let request = scope.start(blocks);
    ///         scope.wait(request).buf().to_vec()
    ///     })
    /// })?;
    /// assert_eq!(out, vec![[1, 2, 2]; 2]);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    #[track_caller]
    pub fn persistent_all_to_all_varied_into<T: Element>(
        &mut self,
        send: &'env mut [T],
        send_counts: &'env [usize],
        recv: &'env mut [T],
        recv_counts: &'env [usize],
    ) -> Persistent<'scope, 'env, T> {
        let (input, send) = Lent::new(send);
        let form = self.all_to_all_varied_form::<true, _>(send, send_counts, recv, recv_counts);
        self.set_up(form, Some(input))
    }
}
