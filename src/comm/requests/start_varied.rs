//! The calls of blocks of different lengths that can be started.

use super::{OpenRequest, Requests};
use crate::element::Element;
use crate::op::Operator;

impl<'scope, 'env> Requests<'scope, 'env> {
    /// Starts an [`all_gather_varied_into`](crate::Comm::all_gather_varied_into). The counts are
    /// borrowed as the buffers are.
    ///
    /// **Must agree on all ranks, errors:** as there; the order in which calls are started, too.
    ///
    /// # Examples
    /// ```
    /// let out = phalanx::run(3, |comm| {
    ///     let (mine, mut all) = (vec![comm.rank(); comm.rank()], [9; 3]);
    ///     comm.requests(|scope| {
    ///         let request = scope.all_gather_varied_into(&mine, &mut all, &[0, 1, 2]);
    ///         scope.wait(request).to_vec()
    ///     })
    /// })?;
    /// assert_eq!(out, vec![[1, 2, 2]; 3]);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    #[track_caller]
    pub fn all_gather_varied_into<T: Element>(
        &mut self,
        mine: &'env [T],
        all: &'env mut [T],
        counts: &'env [usize],
    ) -> OpenRequest<'scope, &'env mut [T]> {
        let form = self.all_gather_varied_form::<false, _>(mine, all, counts);
        self.start_form(form)
    }

    /// Starts a [`gather_varied_into`](crate::Comm::gather_varied_into).
    ///
    /// **Must agree on all ranks, errors:** as there; the order in which calls are started, too.
    ///
    /// # Examples
    /// ```
    /// let out = phalanx::run(2, |comm| {
    ///     let mine = vec![comm.rank(); comm.rank() + 1];
    ///     let mut all = vec![9; if comm.rank() == 1 { 3 } else { 0 }];
    ///     comm.requests(|scope| {
    ///         let request = scope.gather_varied_into(&mine, &mut all, &[1, 2], 1);
    ///         scope.wait(request).to_vec()
    ///     })
    /// })?;
    /// assert_eq!(out[1], [0, 1, 1]);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    #[track_caller]
    pub fn gather_varied_into<T: Element>(
        &mut self,
        mine: &'env [T],
        all: &'env mut [T],
        counts: &'env [usize],
        root: usize,
    ) -> OpenRequest<'scope, &'env mut [T]> {
        let form = self.gather_varied_form::<false, _>(mine, all, counts, root);
        self.start_form(form)
    }

    /// Starts a [`scatter_varied_into`](crate::Comm::scatter_varied_into).
    ///
    /// **Must agree on all ranks, errors:** as there; the order in which calls are started, too.
    ///
    /// # Examples
    /// ```
    /// let out = phalanx::run(2, |comm| {
    ///     let all = if comm.rank() == 0 { vec![1, 2, 3] } else { vec![] };
    ///     let mut mine = vec![0; [1, 2][comm.rank()]];
    ///     comm.requests(|scope| {
    ///         let request = scope.scatter_varied_into(&all, &mut mine, &[1, 2], 0);
    ///         scope.wait(request).to_vec()
    ///     })
    /// })?;
    /// assert_eq!(out, [vec![1], vec![2, 3]]);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    #[track_caller]
    pub fn scatter_varied_into<T: Element>(
        &mut self,
        all: &'env [T],
        mine: &'env mut [T],
        counts: &'env [usize],
        root: usize,
    ) -> OpenRequest<'scope, &'env mut [T]> {
        let form = self.scatter_varied_form::<false, _>(all, mine, counts, root);
        self.start_form(form)
    }

    /// Starts a [`reduce_scatter_varied_into`](crate::Comm::reduce_scatter_varied_into).
    ///
    /// **Order.** That of [`Order::Fixed`](crate::Order::Fixed), always.
    ///
    /// **Must agree on all ranks, errors:** as there; the order in which calls are started, too.
    ///
    /// # Examples
    /// ```
    /// use phalanx::op;
    /// let out = phalanx::run(2, |comm| {
    ///     let mut mine = vec![0; [1, 2][comm.rank()]];
    ///     comm.requests(|scope| {
    ///         let counts = &[1, 2];
    ///         let request =
    ///             scope.reduce_scatter_varied_into(&[1, 2, 3], &mut mine, counts, op::Sum);
    ///         scope.wait(request).to_vec()
    ///     })
    /// })?;
    /// assert_eq!(out, [vec![2], vec![4, 6]]);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    #[track_caller]
    pub fn reduce_scatter_varied_into<T: Element, O: Operator<T> + 'env>(
        &mut self,
        all: &'env [T],
        mine: &'env mut [T],
        counts: &'env [usize],
        op: O,
    ) -> OpenRequest<'scope, &'env mut [T]> {
        let form = self.reduce_scatter_varied_form::<false, _, _>(all, mine, counts, op);
        self.start_form(form)
    }

    /// Starts an [`all_to_all_varied_into`](crate::Comm::all_to_all_varied_into). What is sent
    /// stays in `send`, however little it is, until its receivers have it.
    ///
    /// **Must agree on all ranks, errors:** as there; the order in which calls are started, too.
    ///
    /// # Examples
    /// ```
    /// // Rank r sends r + 1 elements to everybody.
    /// let out = phalanx::run(2, |comm| {
    ///     let n = comm.rank() + 1;
    ///     let (send, counts, mut recv) = (vec![n; 2 * n], [n, n], [0; 3]);
    ///     comm.requests(|scope| {
    ///         let request = scope.all_to_all_varied_into(&send, &counts, &mut recv, &[1, 2]);
    ///         scope.wait(request).to_vec()
    ///     })
    /// })?;
    /// assert_eq!(out, vec![[1, 2, 2]; 2]);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    #[track_caller]
    pub fn all_to_all_varied_into<T: Element>(
        &mut self,
        send: &'env [T],
        send_counts: &'env [usize],
        recv: &'env mut [T],
        recv_counts: &'env [usize],
    ) -> OpenRequest<'scope, &'env mut [T]> {
        let form = self.all_to_all_varied_form::<false, _>(send, send_counts, recv, recv_counts);
        self.start_form(form)
    }
}
