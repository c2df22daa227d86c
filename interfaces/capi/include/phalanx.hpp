// The C++ interface of Phalanx, over phalanx.h: communicators as objects, arrays as spans, errors
// as exceptions. What a rank's function throws ends the run and comes out of run(). C++17.
#ifndef PHALANX_HPP
#define PHALANX_HPP

#include "phalanx.h"

#include <complex>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <mutex>
#include <numeric>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace phalanx {

/// An error of the library's: its code, and the text of the first cause.
class error : public std::runtime_error {
public:
    error(phx_err code, const std::string &text) : std::runtime_error(text), code_(code) {}
    phx_err code() const noexcept { return code_; }
    /// The code in a few words.
    const char *name() const noexcept { return phx_error_name(code_); }

private:
    phx_err code_;
};

namespace detail {
inline std::string last_error() {
    std::string text(phx_last_error(nullptr, 0), '\0');
    if (!text.empty()) {
        text.resize(text.size() + 1);
        text.resize(phx_last_error(&text[0], text.size()));
    }
    return text;
}
inline void check(phx_err code) {
    if (code != PHX_OK) {
        throw error(code, last_error());
    }
}
/// A function that C calls back; what it throws comes out of the call, and does not go through C.
template <class F> struct caught {
    F &f;
    std::exception_ptr thrown = nullptr;

    template <class... A> static void call(void *argument, A... a) {
        auto &it = *static_cast<caught *>(argument);
        try {
            it.f(a...);
        } catch (...) {
            it.thrown = std::current_exception();
        }
    }
    static void look(const phx_part *parts, int ranks, void *it) { call(it, parts, ranks); }
    static void scope(phx_requests *scope, void *it) { call(it, scope); }
    static void update(void *data, std::size_t n, void *it) { call(it, data, n); }
    void end(phx_err code) {
        check(code);
        if (thrown) {
            std::rethrow_exception(thrown);
        }
    }
};
} // namespace detail

/// The library's version.
inline const char *version() noexcept { return phx_version(); }

/// The element type of `T`: numbers, complex ones, and anything else that can be copied as bytes.
template <class T> constexpr phx_type type_of() {
    using U = std::remove_cv_t<T>;
    static_assert(std::is_trivially_copyable<U>::value, "an element is copied as bytes");
    if constexpr (std::is_same<U, float>::value) {
        return PHX_F32;
    } else if constexpr (std::is_same<U, double>::value) {
        return PHX_F64;
    } else if constexpr (std::is_same<U, std::complex<float>>::value) {
        return PHX_C32;
    } else if constexpr (std::is_same<U, std::complex<double>>::value) {
        return PHX_C64;
    } else if constexpr (std::is_same<U, phx_f64_at>::value) {
        return PHX_F64_AT;
    } else if constexpr (std::is_same<U, phx_i64_at>::value) {
        return PHX_I64_AT;
    } else if constexpr (std::is_integral<U>::value && !std::is_same<U, bool>::value) {
        constexpr bool is_signed = std::is_signed<U>::value;
        switch (sizeof(U)) {
        case 1: return is_signed ? PHX_I8 : PHX_U8;
        case 2: return is_signed ? PHX_I16 : PHX_U16;
        case 4: return is_signed ? PHX_I32 : PHX_U32;
        default: return is_signed ? PHX_I64 : PHX_U64;
        }
    } else {
        return PHX_BYTES(sizeof(U));
    }
}

/// Elements one after the other that belong to somebody else: of an array, a vector, or a pointer
/// and a length. (std::span is of C++20.)
template <class T> class span {
public:
    constexpr span() noexcept = default;
    constexpr span(T *data, std::size_t size) noexcept : data_(data), size_(size) {}
    template <std::size_t N> constexpr span(T (&array)[N]) noexcept : data_(array), size_(N) {}
    template <class C, class = decltype(std::declval<C &>().data()),
              class = std::enable_if_t<
                  std::is_convertible<decltype(std::declval<C &>().data()), T *>::value>>
    constexpr span(C &&c) noexcept : data_(c.data()), size_(c.size()) {}
    constexpr T *data() const noexcept { return data_; }
    constexpr std::size_t size() const noexcept { return size_; }
    constexpr T *begin() const noexcept { return data_; }
    constexpr T *end() const noexcept { return data_ + size_; }
    constexpr T &operator[](std::size_t i) const noexcept { return data_[i]; }

private:
    T *data_ = nullptr;
    std::size_t size_ = 0;
};

/// How many elements of, or for, each rank.
class counts : public span<const std::size_t> {
public:
    using span<const std::size_t>::span;
    std::size_t sum() const noexcept {
        return std::accumulate(begin(), end(), std::size_t(0));
    }
};

namespace detail {
inline void size(const char *what, std::size_t got, std::size_t wanted) {
    if (got != wanted) {
        throw std::invalid_argument(std::string(what) + ": a span of " + std::to_string(got) +
                                    " elements, where " + std::to_string(wanted) + " are wanted");
    }
}
inline void blocks(const char *what, std::size_t all, std::size_t block, int ranks) {
    size(what, all, block * static_cast<std::size_t>(ranks));
}
inline void sums(const char *what, const counts &each, int ranks, std::size_t all) {
    size(what, each.size(), static_cast<std::size_t>(ranks));
    size(what, all, each.sum());
}
inline void own(const char *what, const counts &each, int rank, std::size_t mine) {
    size(what, mine, each[static_cast<std::size_t>(rank)]);
}
/// What the library has allocated, as a vector.
template <class T> std::vector<T> taken(void *data, std::size_t n) {
    struct freed {
        void *data;
        ~freed() { phx_free(data); }
    } owner{data};
    const T *from = static_cast<const T *>(data);
    return n == 0 ? std::vector<T>() : std::vector<T>(from, from + n);
}
} // namespace detail

/// Where a call stands. As the last argument's default it is the caller's line.
struct here {
    const char *file;
    int line;
#if defined(__GNUC__) || defined(__clang__)
    constexpr here(const char *f = __builtin_FILE(), int l = __builtin_LINE()) : file(f), line(l) {}
#else
    constexpr here(const char *f = nullptr, int l = 0) : file(f), line(l) {}
#endif
};

namespace detail {
/// A handle that is freed once, if it is not lent.
template <class H, phx_err (*Free)(H)> class handle {
public:
    handle(handle &&other) noexcept
        : it_(other.it_), is_own_(std::exchange(other.is_own_, false)) {}
    handle(const handle &) = delete;
    handle &operator=(const handle &) = delete;
    handle &operator=(handle &&) = delete;
    ~handle() {
        if (is_own_ && it_ != H()) {
            Free(it_);
        }
    }
    H get() const noexcept { return it_; }

protected:
    /// Of what is made next.
    handle() noexcept : it_(), is_own_(true) {}
    handle(H it, bool is_own) noexcept : it_(it), is_own_(is_own) {}
    H it_;

private:
    bool is_own_;
};
} // namespace detail

/// An operator: one of the library's (PHX_SUM and others), or a function of one's own.
class op : public detail::handle<phx_op, phx_op_free> {
public:
    op(phx_op built_in) noexcept : handle(built_in, false) {}
    /// `f(left, right)` for each pair of elements of type T: a function without state.
    template <class T, class F> static op of(F f, bool commutative, const char *name = "of C++") {
        static_assert(std::is_empty<F>::value, "an operator's function captures nothing");
        static_assert(std::is_nothrow_invocable_r<T, F, T, T>::value,
                      "an operator's function is noexcept: nothing may be thrown out of it");
        (void)f;
        auto combine = [](void *out, const void *left, const void *right, std::size_t n, void *) {
            // F has no state, so any object of it will do.
            alignas(F) static const unsigned char none[sizeof(F)] = {};
            const F &g = *reinterpret_cast<const F *>(none);
            for (std::size_t i = 0; i < n; i++) {
                static_cast<T *>(out)[i] =
                    g(static_cast<const T *>(left)[i], static_cast<const T *>(right)[i]);
            }
        };
        op made(0, true);
        detail::check(phx_op_new_at(combine, nullptr, commutative, name, &made.it_));
        return made;
    }

private:
    op(phx_op it, bool is_own) noexcept : handle(it, is_own) {}
};

/// A rank's hold on a group of ranks. The one that run() lends is not freed; others are.
class comm : public detail::handle<phx_comm *, phx_comm_free> {
public:
    explicit comm(phx_comm *lent) noexcept : handle(lent, false) {}
    /// Takes over a communicator that is to be freed.
    static comm adopt(phx_comm *own) noexcept { return comm(own, true); }
    int rank() const noexcept { return phx_rank(it_); }
    int size() const noexcept { return phx_size(it_); }

    /// Returns when all ranks have called it: what they did before is seen by all.
    void barrier(here at = here()) {
        detail::check(phx_barrier_at(it_, at.file, at.line));
    }
    /// Copies `root`'s `n` elements to all.
    template <class T> void broadcast(span<T> buf, int root, here at = here()) {
        detail::check(phx_broadcast_at(it_, buf.data(), buf.size(), type_of<T>(), root, at.file,
                                       at.line));
    }
    /// Combines the ranks' `n` elements, element by element in rank order, into `root`'s.
    template <class T> void reduce(span<T> inout, const op &by, int root, here at = here()) {
        detail::check(phx_reduce_at(it_, inout.data(), inout.size(), type_of<T>(), by.get(), root,
                                    at.file, at.line));
    }
    /// Combines the ranks' `n` elements, element by element in rank order, and leaves the result in
    /// everybody's buffer, the same bits.
    template <class T> void all_reduce(span<T> inout, const op &by, here at = here()) {
        detail::check(phx_all_reduce_at(it_, inout.data(), inout.size(), type_of<T>(), by.get(),
                                        at.file, at.line));
    }
    /// Sums each of a few doubles over the ranks: `phx_all_reduce` of `PHX_F64` by `PHX_SUM`.
    void sum_f64(span<double> x, here at = here()) {
        detail::check(phx_sum_f64_at(it_, x.data(), x.size(), at.file, at.line));
    }
    /// Leaves in rank r's buffer the combination of those of ranks 0 to r.
    template <class T> void scan(span<T> inout, const op &by, here at = here()) {
        detail::check(phx_scan_at(it_, inout.data(), inout.size(), type_of<T>(), by.get(), at.file,
                                  at.line));
    }
    /// Leaves in rank r's buffer the combination of those of ranks 0 to r-1; in rank 0's what
    /// changes nothing (0 for a sum), or what it was where there is no such element.
    template <class T> void exclusive_scan(span<T> inout, const op &by, here at = here()) {
        detail::check(phx_exclusive_scan_at(it_, inout.data(), inout.size(), type_of<T>(), by.get(),
                                            at.file, at.line));
    }
    /// Leaves in each element the combination of those from the last flagged one up to itself, in
    /// the sequence of all ranks' elements, one rank's after the other's.
    template <class T>
    void segmented_scan(span<T> inout, span<const int> flags, const op &by, here at = here()) {
        detail::size("segmented_scan", flags.size(), inout.size());
        detail::check(phx_segmented_scan_at(it_, inout.data(), flags.data(), inout.size(),
                                            type_of<T>(), by.get(), at.file, at.line));
    }
    /// Leaves in each element the combination of those from the last flagged one up to the one
    /// before it, as `phx_segmented_scan`; in the first of a segment what changes nothing, or what
    /// it was where there is no such element.
    template <class T>
    void exclusive_segmented_scan(span<T> inout, span<const int> flags, const op &by,
                                  here at = here()) {
        detail::size("exclusive_segmented_scan", flags.size(), inout.size());
        detail::check(phx_exclusive_segmented_scan_at(it_, inout.data(), flags.data(), inout.size(),
                                                      type_of<T>(), by.get(), at.file, at.line));
    }
    /// Combines the ranks' `all`, of `n` elements for each rank, and leaves block r of the result
    /// in rank r's `mine`.
    template <class T>
    void reduce_scatter(span<const T> all, span<T> mine, const op &by, here at = here()) {
        detail::blocks("reduce_scatter", all.size(), mine.size(), size());
        detail::check(phx_reduce_scatter_at(it_, all.data(), mine.data(), mine.size(), type_of<T>(),
                                            by.get(), at.file, at.line));
    }
    /// Combines the ranks' `all`, of `counts[r]` elements for rank r, and leaves block r of the
    /// result in rank r's `mine`.
    template <class T>
    void reduce_scatterv(span<const T> all, span<T> mine, counts each, const op &by,
                         here at = here()) {
        detail::sums("reduce_scatterv", each, size(), all.size());
        detail::own("reduce_scatterv", each, rank(), mine.size());
        detail::check(phx_reduce_scatterv_at(it_, all.data(), mine.data(), each.data(),
                                             type_of<T>(), by.get(), at.file, at.line));
    }
    /// Collects the ranks' `n` elements in `root`'s `all`, in rank order.
    template <class T> void gather(span<const T> mine, span<T> all, int root, here at = here()) {
        if (rank() == root) {
            detail::blocks("gather", all.size(), mine.size(), size());
        }
        detail::check(phx_gather_at(it_, mine.data(), mine.size(), all.data(), type_of<T>(), root,
                                    at.file, at.line));
    }
    /// Collects the ranks' elements, `counts[r]` of rank r, in `root`'s `all`, in rank order.
    template <class T>
    void gatherv(span<const T> mine, span<T> all, counts each, int root, here at = here()) {
        detail::sums("gatherv", each, size(), rank() == root ? all.size() : each.sum());
        detail::own("gatherv", each, rank(), mine.size());
        detail::check(phx_gatherv_at(it_, mine.data(), all.data(), each.data(), type_of<T>(), root,
                                     at.file, at.line));
    }
    /// Hands `root`'s `all`, of `n` elements for each rank, out: block r to rank r's `mine`.
    template <class T> void scatter(span<const T> all, span<T> mine, int root, here at = here()) {
        if (rank() == root) {
            detail::blocks("scatter", all.size(), mine.size(), size());
        }
        detail::check(phx_scatter_at(it_, all.data(), mine.data(), mine.size(), type_of<T>(), root,
                                     at.file, at.line));
    }
    /// Hands `root`'s `all`, of `counts[r]` elements for rank r, out: block r to rank r's `mine`.
    template <class T>
    void scatterv(span<const T> all, span<T> mine, counts each, int root, here at = here()) {
        detail::sums("scatterv", each, size(), rank() == root ? all.size() : each.sum());
        detail::own("scatterv", each, rank(), mine.size());
        detail::check(phx_scatterv_at(it_, all.data(), mine.data(), each.data(), type_of<T>(), root,
                                      at.file, at.line));
    }
    /// Collects the ranks' `n` elements in everybody's `all`, in rank order.
    template <class T> void all_gather(span<const T> mine, span<T> all, here at = here()) {
        detail::blocks("all_gather", all.size(), mine.size(), size());
        detail::check(phx_all_gather_at(it_, mine.data(), mine.size(), all.data(), type_of<T>(),
                                        at.file, at.line));
    }
    /// Collects the ranks' elements, `counts[r]` of rank r, in everybody's `all`, in rank order.
    template <class T>
    void all_gatherv(span<const T> mine, span<T> all, counts each, here at = here()) {
        detail::sums("all_gatherv", each, size(), all.size());
        detail::own("all_gatherv", each, rank(), mine.size());
        detail::check(phx_all_gatherv_at(it_, mine.data(), all.data(), each.data(), type_of<T>(),
                                         at.file, at.line));
    }
    /// Sends block r of `send` to rank r, and receives rank r's as block r of `recv`, of `n`
    /// elements each.
    template <class T> void all_to_all(span<const T> send, span<T> recv, here at = here()) {
        const std::size_t block = send.size() / static_cast<std::size_t>(size());
        detail::blocks("all_to_all", send.size(), block, size());
        detail::blocks("all_to_all", recv.size(), block, size());
        detail::check(phx_all_to_all_at(it_, send.data(), recv.data(), block, type_of<T>(), at.file,
                                        at.line));
    }
    /// Sends `send_counts[r]` elements of `send` to rank r, and receives `recv_counts[r]` from it
    /// in `recv`.
    template <class T>
    void all_to_allv(span<const T> send, counts send_counts, span<T> recv, counts recv_counts,
                     here at = here()) {
        detail::sums("all_to_allv", send_counts, size(), send.size());
        detail::sums("all_to_allv", recv_counts, size(), recv.size());
        detail::check(phx_all_to_allv_at(it_, send.data(), send_counts.data(), recv.data(),
                                         recv_counts.data(), type_of<T>(), at.file, at.line));
    }
    /// Passes `n` elements on by `by` ranks, in a circle: rank r's go to rank r + by.
    template <class T> void shift(span<T> buf, int by, here at = here()) {
        detail::check(phx_shift_at(it_, buf.data(), buf.size(), type_of<T>(), by, at.file,
                                   at.line));
    }
    /// The sum of a vector of which this rank has `n` elements, from number `first` on: the same
    /// bits however many ranks there are.
    double fixed_sum(span<const double> x, std::size_t first, here at = here()) {
        double  sum = 0;
        detail::check(phx_fixed_sum_at(it_, x.data(), x.size(), first, &sum, at.file, at.line));
        return sum;
    }
    /// The dot product of two vectors, as `phx_fixed_sum_at`.
    double fixed_dot(span<const double> x, span<const double> y, std::size_t first,
                     here at = here()) {
        double  dot = 0;
        detail::size("fixed_dot", y.size(), x.size());
        detail::check(phx_fixed_dot_at(it_, x.data(), y.data(), x.size(), first, &dot, at.file,
                                       at.line));
        return dot;
    }
    /// Sends `n` elements to rank `to`, which receives as many of the same type by `phx_recv`.
    template <class T> void send(span<const T> buf, int to, here at = here()) {
        detail::check(phx_send_at(it_, buf.data(), buf.size(), type_of<T>(), to, at.file, at.line));
    }
    /// Receives `n` elements from rank `source`: exactly as many as it sends.
    template <class T> void recv(span<T> buf, int source, here at = here()) {
        detail::check(phx_recv_at(it_, buf.data(), buf.size(), type_of<T>(), source, at.file,
                                  at.line));
    }
    /// Sends `sent` elements to rank `to` and receives `received` from rank `source`, at the same
    /// time.
    template <class T>
    void exchange(span<const T> send, int to, span<T> recv, int source, here at = here()) {
        detail::check(phx_exchange_at(it_, send.data(), send.size(), to, recv.data(), recv.size(),
                                      source, type_of<T>(), at.file, at.line));
    }
    /// Sends `n` elements to rank `to` under a tag of 0 or more; any number may be under way.
    template <class T> void send_tagged(span<const T> buf, int to, int tag, here at = here()) {
        detail::check(phx_send_tagged_at(it_, buf.data(), buf.size(), type_of<T>(), to, tag,
                                         at.file, at.line));
    }
    /// Receives a message of at most `n` elements by source (or `PHX_ANY_SOURCE`) and tag (or
    /// `PHX_ANY_TAG`).
    template <class T> phx_status recv_tagged(span<T> buf, int source, int tag, here at = here()) {
        phx_status  status = {};
        detail::check(phx_recv_tagged_at(it_, buf.data(), buf.size(), type_of<T>(), source, tag,
                                         &status, at.file, at.line));
        return status;
    }
    /// Waits until there is a message of this source and tag, and says what it is, without
    /// receiving it.
    phx_status probe(int source, int tag, here at = here()) {
        phx_status  status = {};
        detail::check(phx_probe_at(it_, source, tag, &status, at.file, at.line));
        return status;
    }
    /// Splits the ranks into groups of one color each (-1: none, and a null part); a rank's number
    /// in its group is by key, then by its number here.
    comm split(int color, int key, here at = here()) {
        phx_comm *part = nullptr;
        detail::check(phx_split_at(it_, color, key, &part, at.file, at.line));
        return comm::adopt(part);
    }
    /// Splits the ranks by where they run: `PHX_LEVEL_CORE`, `_CACHE`, `_NUMA` or `_PACKAGE`.
    comm split_level(int level, here at = here()) {
        phx_comm *part = nullptr;
        detail::check(phx_split_level_at(it_, level, &part, at.file, at.line));
        return comm::adopt(part);
    }
    /// Collects all ranks' elements, of any lengths, in rank order.
    template <class T>
    std::vector<T> all_gather_vec(span<const T> mine, std::vector<std::size_t> &each,
                                  here at = here()) {
        void *all = nullptr;
        each.assign(static_cast<std::size_t>(size()), 0);
        detail::check(phx_all_gather_vec_at(it_, mine.data(), mine.size(), type_of<T>(), &all,
                                            each.data(), at.file, at.line));
        return detail::taken<T>(all, all == nullptr ? 0 : counts(each).sum());
    }
    /// Collects all ranks' elements, of any lengths, in rank order on `root`.
    template <class T>
    std::vector<T> gather_vec(span<const T> mine, int root, std::vector<std::size_t> &each,
                              here at = here()) {
        void *all = nullptr;
        each.assign(static_cast<std::size_t>(size()), 0);
        detail::check(phx_gather_vec_at(it_, mine.data(), mine.size(), type_of<T>(), root, &all,
                                        each.data(), at.file, at.line));
        return detail::taken<T>(all, all == nullptr ? 0 : counts(each).sum());
    }
    /// Sends `counts[r]` elements to each rank r, and collects what all send to this one.
    template <class T>
    std::vector<T> all_to_all_vec(span<const T> send, counts each,
                                  std::vector<std::size_t> &received, here at = here()) {
        void *all = nullptr;
        detail::sums("all_to_all_vec", each, size(), send.size());
        received.assign(static_cast<std::size_t>(size()), 0);
        detail::check(phx_all_to_all_vec_at(it_, send.data(), each.data(), type_of<T>(), &all,
                                            received.data(), at.file, at.line));
        return detail::taken<T>(all, all == nullptr ? 0 : counts(received).sum());
    }
    /// Chooses the order in which later reductions of the communicator combine: `PHX_ORDER_ANY` or
    /// `PHX_ORDER_FIXED`.
    void order(int order, here at = here()) {
        detail::check(phx_order_at(it_, order, at.file, at.line));
    }

    /// Of one value.
    template <class T> T all_reduce_value(T value, const op &by, here at = here()) {
        all_reduce(span<T>(&value, 1), by, at);
        return value;
    }
    /// The root's `data` has all blocks, of which its own is there already; the others' has theirs.
    template <class T> void gather_in_place(span<T> data, int root, here at = here()) {
        const auto blocks = static_cast<std::size_t>(rank() == root ? size() : 1);
        detail::size("gather_in_place", data.size() % blocks, 0);
        detail::check(phx_gather_in_place_at(it_, data.data(), data.size() / blocks,
                                             type_of<T>(), root, at.file, at.line));
    }
    /// The own block is in `all` already.
    template <class T> void all_gather_in_place(span<T> all, here at = here()) {
        const std::size_t block = all.size() / static_cast<std::size_t>(size());
        detail::blocks("all_gather_in_place", all.size(), block, size());
        detail::check(phx_all_gather_at(it_, PHX_IN_PLACE, block, all.data(), type_of<T>(),
                                        at.file, at.line));
    }
    /// The blocks of `all` change places.
    template <class T> void all_to_all_in_place(span<T> all, here at = here()) {
        const std::size_t block = all.size() / static_cast<std::size_t>(size());
        detail::blocks("all_to_all_in_place", all.size(), block, size());
        detail::check(phx_all_to_all_at(it_, PHX_IN_PLACE, all.data(), block, type_of<T>(),
                                        at.file, at.line));
    }
    void choose(const char *name, here at = here()) {
        detail::check(phx_choose_at(it_, name, 0, nullptr, at.file, at.line));
    }
    template <class T>
    std::vector<T> recv_vec(int from, int tag, phx_status *status = nullptr, here at = here()) {
        phx_status come = {};
        void *data = nullptr;
        detail::check(
            phx_recv_vec_at(it_, type_of<T>(), from, tag, &data, &come, at.file, at.line));
        if (status != nullptr) {
            *status = come;
        }
        return detail::taken<T>(data, come.n);
    }
    bool try_probe(int from, int tag, phx_status &status, here at = here()) {
        int found = 0;
        detail::check(phx_try_probe_at(it_, from, tag, &found, &status, at.file, at.line));
        return found != 0;
    }
    /// Ends the run on purpose: every rank's next call throws, and so does run().
    void cancel(here at = here()) { phx_cancel_at(it_, at.file, at.line); }
    /// Calls `f(scope)`, in which calls are started and waited for: see class requests.
    template <class F> void with_requests(F &&f, here at = here());
    /// Calls `look(parts)` with a vector of all ranks' spans, where they are.
    template <class T, class F> void with_peers(span<const T> mine, F &&look, here at = here()) {
        auto f = [&look](const phx_part *parts, int ranks) {
            std::vector<span<const T>> all;
            for (int r = 0; r < ranks; r++) {
                all.emplace_back(static_cast<const T *>(parts[r].data), parts[r].n);
            }
            look(all);
        };
        detail::caught<decltype(f)> it{f};
        it.end(phx_with_peers_at(it_, mine.data(), mine.size(), type_of<T>(), it.look, &it,
                                 at.file, at.line));
    }
    /// Calls `look(part)` with the root's span, where it is.
    template <class T, class F>
    void with_root(span<const T> data, int root, F &&look, here at = here()) {
        auto f = [&look](const phx_part *parts, int) {
            look(span<const T>(static_cast<const T *>(parts[0].data), parts[0].n));
        };
        detail::caught<decltype(f)> it{f};
        it.end(phx_with_root_at(it_, data.data(), data.size(), type_of<T>(), root, it.look, &it,
                                at.file, at.line));
    }

private:
    comm(phx_comm *it, bool is_own) noexcept : handle(it, is_own) {}
};

/// A scope in which calls are started: each gives a number, to be waited for, or, of what is set
/// up (`set_up`), to be started again and again. Buffers are the caller's until then.
class requests {
public:
    explicit requests(phx_requests *scope) noexcept : scope_(scope) {}
    phx_requests *get() const noexcept { return scope_; }
    /// The communicator, for calls that wait.
    comm blocking() const noexcept { return comm(phx_requests_comm(scope_)); }

    /// Starts `phx_barrier`, which returns when all ranks have called it: what they did before is
    /// seen by all.
    phx_request barrier(bool set_up = false, here at = here()) {
        phx_request it = 0;
        detail::check(phx_start_barrier_at(scope_, set_up, &it, at.file, at.line));
        return it;
    }
    /// Starts `phx_broadcast`, which copies `root`'s `n` elements to all.
    template <class T>
    phx_request broadcast(span<T> buf, int root, bool set_up = false, here at = here()) {
        phx_request it = 0;
        detail::check(phx_start_broadcast_at(scope_, buf.data(), buf.size(), type_of<T>(), root,
                                             set_up, &it, at.file, at.line));
        return it;
    }
    /// Starts `phx_reduce`, which combines the ranks' `n` elements, element by element in rank
    /// order, into `root`'s.
    template <class T>
    phx_request reduce(span<T> inout, const op &by, int root, bool set_up = false,
                       here at = here()) {
        phx_request it = 0;
        detail::check(phx_start_reduce_at(scope_, inout.data(), inout.size(), type_of<T>(),
                                          by.get(), root, set_up, &it, at.file, at.line));
        return it;
    }
    /// Starts `phx_all_reduce`, which combines the ranks' `n` elements, element by element in rank
    /// order, and leaves the result in everybody's buffer, the same bits.
    template <class T>
    phx_request all_reduce(span<T> inout, const op &by, bool set_up = false, here at = here()) {
        phx_request it = 0;
        detail::check(phx_start_all_reduce_at(scope_, inout.data(), inout.size(), type_of<T>(),
                                              by.get(), set_up, &it, at.file, at.line));
        return it;
    }
    /// Starts `phx_scan`, which leaves in rank r's buffer the combination of those of ranks 0 to r.
    template <class T>
    phx_request scan(span<T> inout, const op &by, bool set_up = false, here at = here()) {
        phx_request it = 0;
        detail::check(phx_start_scan_at(scope_, inout.data(), inout.size(), type_of<T>(), by.get(),
                                        set_up, &it, at.file, at.line));
        return it;
    }
    /// Starts `phx_exclusive_scan`, which leaves in rank r's buffer the combination of those of
    /// ranks 0 to r-1; in rank 0's what changes nothing (0 for a sum), or what it was where there
    /// is no such element.
    template <class T>
    phx_request exclusive_scan(span<T> inout, const op &by, bool set_up = false, here at = here()) {
        phx_request it = 0;
        detail::check(phx_start_exclusive_scan_at(scope_, inout.data(), inout.size(), type_of<T>(),
                                                  by.get(), set_up, &it, at.file, at.line));
        return it;
    }
    /// Starts `phx_segmented_scan`, which leaves in each element the combination of those from the
    /// last flagged one up to itself, in the sequence of all ranks' elements, one rank's after the
    /// other's.
    template <class T>
    phx_request segmented_scan(span<T> inout, span<const int> flags, const op &by,
                               bool set_up = false, here at = here()) {
        phx_request it = 0;
        detail::size("segmented_scan", flags.size(), inout.size());
        detail::check(phx_start_segmented_scan_at(scope_, inout.data(), flags.data(), inout.size(),
                                                  type_of<T>(), by.get(), set_up, &it, at.file,
                                                  at.line));
        return it;
    }
    /// Starts `phx_exclusive_segmented_scan`, which leaves in each element the combination of those
    /// from the last flagged one up to the one before it, as `phx_segmented_scan`; in the first of
    /// a segment what changes nothing, or what it was where there is no such element.
    template <class T>
    phx_request exclusive_segmented_scan(span<T> inout, span<const int> flags, const op &by,
                                         bool set_up = false, here at = here()) {
        phx_request it = 0;
        detail::size("exclusive_segmented_scan", flags.size(), inout.size());
        detail::check(phx_start_exclusive_segmented_scan_at(scope_, inout.data(), flags.data(),
                                                            inout.size(), type_of<T>(), by.get(),
                                                            set_up, &it, at.file, at.line));
        return it;
    }
    /// Starts `phx_reduce_scatter`, which combines the ranks' `all`, of `n` elements for each rank,
    /// and leaves block r of the result in rank r's `mine`.
    template <class T>
    phx_request reduce_scatter(span<const T> all, span<T> mine, const op &by, bool set_up = false,
                               here at = here()) {
        phx_request it = 0;
        detail::blocks("reduce_scatter", all.size(), mine.size(), size());
        detail::check(phx_start_reduce_scatter_at(scope_, all.data(), mine.data(), mine.size(),
                                                  nullptr, type_of<T>(), by.get(), set_up, &it,
                                                  at.file, at.line));
        return it;
    }
    /// Starts `phx_reduce_scatterv`.
    template <class T>
    phx_request reduce_scatterv(span<const T> all, span<T> mine, counts each, const op &by,
                                bool set_up = false, here at = here()) {
        phx_request it = 0;
        detail::sums("reduce_scatterv", each, size(), all.size());
        detail::own("reduce_scatterv", each, rank(), mine.size());
        detail::check(phx_start_reduce_scatter_at(scope_, all.data(), mine.data(), std::size_t(-1),
                                                  each.data(), type_of<T>(), by.get(), set_up, &it,
                                                  at.file, at.line));
        return it;
    }
    /// Starts `phx_gather`, which collects the ranks' `n` elements in `root`'s `all`, in rank
    /// order.
    template <class T>
    phx_request gather(span<const T> mine, span<T> all, int root, bool set_up = false,
                       here at = here()) {
        phx_request it = 0;
        if (rank() == root) {
            detail::blocks("gather", all.size(), mine.size(), size());
        }
        detail::check(phx_start_gather_at(scope_, mine.data(), mine.size(), all.data(), nullptr,
                                          type_of<T>(), root, set_up, &it, at.file, at.line));
        return it;
    }
    /// Starts `phx_gatherv`.
    template <class T>
    phx_request gatherv(span<const T> mine, span<T> all, counts each, int root, bool set_up = false,
                        here at = here()) {
        phx_request it = 0;
        detail::sums("gatherv", each, size(), rank() == root ? all.size() : each.sum());
        detail::own("gatherv", each, rank(), mine.size());
        detail::check(phx_start_gather_at(scope_, mine.data(), std::size_t(-1), all.data(),
                                          each.data(), type_of<T>(), root, set_up, &it, at.file,
                                          at.line));
        return it;
    }
    /// Starts `phx_scatter`, which hands `root`'s `all`, of `n` elements for each rank, out: block
    /// r to rank r's `mine`.
    template <class T>
    phx_request scatter(span<const T> all, span<T> mine, int root, bool set_up = false,
                        here at = here()) {
        phx_request it = 0;
        if (rank() == root) {
            detail::blocks("scatter", all.size(), mine.size(), size());
        }
        detail::check(phx_start_scatter_at(scope_, all.data(), mine.data(), mine.size(), nullptr,
                                           type_of<T>(), root, set_up, &it, at.file, at.line));
        return it;
    }
    /// Starts `phx_scatterv`.
    template <class T>
    phx_request scatterv(span<const T> all, span<T> mine, counts each, int root,
                         bool set_up = false, here at = here()) {
        phx_request it = 0;
        detail::sums("scatterv", each, size(), rank() == root ? all.size() : each.sum());
        detail::own("scatterv", each, rank(), mine.size());
        detail::check(phx_start_scatter_at(scope_, all.data(), mine.data(), std::size_t(-1),
                                           each.data(), type_of<T>(), root, set_up, &it, at.file,
                                           at.line));
        return it;
    }
    /// Starts `phx_all_gather`, which collects the ranks' `n` elements in everybody's `all`, in
    /// rank order.
    template <class T>
    phx_request all_gather(span<const T> mine, span<T> all, bool set_up = false, here at = here()) {
        phx_request it = 0;
        detail::blocks("all_gather", all.size(), mine.size(), size());
        detail::check(phx_start_all_gather_at(scope_, mine.data(), mine.size(), all.data(), nullptr,
                                              type_of<T>(), set_up, &it, at.file, at.line));
        return it;
    }
    /// Starts `phx_all_gatherv`.
    template <class T>
    phx_request all_gatherv(span<const T> mine, span<T> all, counts each, bool set_up = false,
                            here at = here()) {
        phx_request it = 0;
        detail::sums("all_gatherv", each, size(), all.size());
        detail::own("all_gatherv", each, rank(), mine.size());
        detail::check(phx_start_all_gather_at(scope_, mine.data(), std::size_t(-1), all.data(),
                                              each.data(), type_of<T>(), set_up, &it, at.file,
                                              at.line));
        return it;
    }
    /// Starts `phx_all_to_all`, which sends block r of `send` to rank r, and receives rank r's as
    /// block r of `recv`, of `n` elements each.
    template <class T>
    phx_request all_to_all(span<const T> send, span<T> recv, bool set_up = false,
                           here at = here()) {
        phx_request it = 0;
        const std::size_t block = send.size() / static_cast<std::size_t>(size());
        detail::blocks("all_to_all", send.size(), block, size());
        detail::blocks("all_to_all", recv.size(), block, size());
        detail::check(phx_start_all_to_all_at(scope_, send.data(), recv.data(), block, type_of<T>(),
                                              set_up, &it, at.file, at.line));
        return it;
    }
    /// Starts `phx_all_to_allv`, which sends `send_counts[r]` elements of `send` to rank r, and
    /// receives `recv_counts[r]` from it in `recv`.
    template <class T>
    phx_request all_to_allv(span<const T> send, counts send_counts, span<T> recv,
                            counts recv_counts, bool set_up = false, here at = here()) {
        phx_request it = 0;
        detail::sums("all_to_allv", send_counts, size(), send.size());
        detail::sums("all_to_allv", recv_counts, size(), recv.size());
        detail::check(phx_start_all_to_allv_at(scope_, send.data(), send_counts.data(), recv.data(),
                                               recv_counts.data(), type_of<T>(), set_up, &it,
                                               at.file, at.line));
        return it;
    }
    /// Starts `phx_shift`, which passes `n` elements on by `by` ranks, in a circle: rank r's go to
    /// rank r + by.
    template <class T>
    phx_request shift(span<T> buf, int by, bool set_up = false, here at = here()) {
        phx_request it = 0;
        detail::check(phx_start_shift_at(scope_, buf.data(), buf.size(), type_of<T>(), by, set_up,
                                         &it, at.file, at.line));
        return it;
    }
    /// Starts a tagged send; if `persistent`, sets it up.
    template <class T>
    phx_request send(span<const T> buf, int to, int tag, bool set_up = false, here at = here()) {
        phx_request it = 0;
        detail::check(phx_start_send_at(scope_, buf.data(), buf.size(), type_of<T>(), to, tag,
                                        set_up, &it, at.file, at.line));
        return it;
    }
    /// Starts a tagged receive; if `persistent`, sets it up.
    template <class T>
    phx_request recv(span<T> buf, int source, int tag, bool set_up = false, here at = here()) {
        phx_request it = 0;
        detail::check(phx_start_recv_at(scope_, buf.data(), buf.size(), type_of<T>(), source, tag,
                                        set_up, &it, at.file, at.line));
        return it;
    }
    /// Starts a call that was set up, and is not under way.
    void start(phx_request request, here at = here()) {
        detail::check(phx_start_at(scope_, request, at.file, at.line));
    }
    /// Waits until a started call is complete.
    phx_status wait(phx_request request, here at = here()) {
        phx_status  status = {};
        detail::check(phx_wait_at(scope_, request, &status, at.file, at.line));
        return status;
    }
    /// Waits for `n` requests.
    void wait_all(span<const phx_request> requests, here at = here()) {
        detail::check(phx_wait_all_at(scope_, requests.data(), requests.size(), at.file, at.line));
    }
    /// Waits until one of `n` requests is complete, completes it, and says which: its place in the
    /// list, or `n` if none of them is under way (numbers that are 0 are passed over).
    std::size_t wait_any(span<const phx_request> requests, here at = here()) {
        size_t  which = 0;
        detail::check(phx_wait_any_at(scope_, requests.data(), requests.size(), &which, nullptr,
                                      at.file, at.line));
        return which;
    }
    /// Whether a started call is complete: `complete` is 1 or 0.
    bool test(phx_request request, here at = here()) {
        int  complete = 0;
        detail::check(phx_test_at(scope_, request, &complete, at.file, at.line));
        return complete != 0;
    }

private:
    int rank() const noexcept { return blocking().rank(); }
    int size() const noexcept { return blocking().size(); }
    phx_requests *scope_;
};

template <class F> void comm::with_requests(F &&f, here at) {
    auto open = [&f](phx_requests *scope) {
        requests it(scope);
        f(it);
    };
    // What was started is completed first; an error of the run's says more than what `f` throws.
    detail::caught<decltype(open)> it{open};
    it.end(phx_requests_at(it_, it.scope, &it, at.file, at.line));
}

/// A grid of a communicator's ranks.
class cart : public detail::handle<phx_cart *, phx_cart_free> {
public:
    /// Extents of 0 are chosen.
    cart(const comm &c, std::vector<int> extents, const std::vector<int> &periodic,
         here at = here())
        : dimensions_(extents.size()) {
        if (periodic.size() != extents.size()) {
            throw std::invalid_argument("cart: extents and periods of two lengths");
        }
        detail::check(phx_cart_at(c.get(), static_cast<int>(dimensions_), extents.data(),
                                  periodic.data(), &it_, at.file, at.line));
    }
    std::vector<int> extents() const {
        std::vector<int> all(dimensions_);
        detail::check(phx_cart_extents(it_, all.data()));
        return all;
    }
    /// Of this rank, for -1.
    std::vector<int> coordinates(int rank = -1) const {
        std::vector<int> all(dimensions_);
        detail::check(phx_cart_coordinates(it_, rank, all.data()));
        return all;
    }
    int neighbour(int dimension, int by) const { return phx_cart_neighbour(it_, dimension, by); }

    /// The part of the grid's ranks that differ from this one in the dimensions with `keep[d]`
    /// only, as a communicator of its own, to be freed by `phx_comm_free`.
    comm sub(span<const int> keep, here at = here()) {
        phx_comm *part = nullptr;
        detail::size("sub", keep.size(), dimensions_);
        detail::check(phx_cart_sub_at(it_, keep.data(), &part, at.file, at.line));
        return comm::adopt(part);
    }

    /// Of fields of `own` cells, with `widths` cells of halo around them in each dimension.
    template <class T>
    void exchange_halos(const std::vector<span<T>> &fields, span<const std::size_t> own,
                        span<const std::size_t> widths, bool corners = false, here at = here()) {
        const std::size_t all = cells("exchange_halos", own, widths);
        std::vector<void *> data;
        for (const span<T> &field : fields) {
            detail::size("exchange_halos", field.size(), all);
            data.push_back(field.data());
        }
        detail::check(phx_exchange_halos_at(it_, data.data(), static_cast<int>(data.size()),
                                            type_of<T>(), own.data(), widths.data(), corners,
                                            at.file, at.line));
    }
    template <class T>
    void exchange_halo(span<T> field, span<const std::size_t> own, std::size_t width,
                       bool corners = false, here at = here()) {
        const std::vector<std::size_t> widths(dimensions_, width);
        detail::size("exchange_halo", field.size(), cells("exchange_halo", own, widths));
        detail::check(phx_exchange_halo_at(it_, field.data(), type_of<T>(), own.data(), width,
                                           corners, at.file, at.line));
    }

private:
    /// With the halo.
    std::size_t cells(const char *what, span<const std::size_t> own,
                      span<const std::size_t> widths) const {
        detail::size(what, own.size(), dimensions_);
        detail::size(what, widths.size(), dimensions_);
        std::size_t all = 1;
        for (std::size_t d = 0; d < dimensions_; d++) {
            all *= own[d] + 2 * widths[d];
        }
        return all;
    }
    std::size_t dimensions_;
};

/// Copies of other ranks' elements.
class plan : public detail::handle<phx_plan *, phx_plan_free> {
public:
    /// Ghosts of the elements `indices` of a vector of `total`, which the ranks have in blocks.
    plan(const comm &c, std::size_t total, span<const std::size_t> indices, here at = here()) {
        detail::check(phx_plan_blocks_at(c.get(), total, indices.data(), indices.size(), &it_,
                                         at.file, at.line));
    }
    /// With one neighbour: the elements that it gets, or gives.
    struct list {
        int rank;
        std::vector<std::size_t> elements;
    };
    /// Of `owned` elements, of which each rank in `give` gets those of its list, and of `ghosts`
    /// copies, of which each in `want` fills those of its own.
    plan(const comm &c, std::size_t owned, const std::vector<list> &give, std::size_t ghosts,
         const std::vector<list> &want, here at = here()) {
        const lists to(give), from(want);
        detail::check(phx_plan_lists_at(
            c.get(), owned, to.number(), to.ranks.data(), to.counts.data(), to.elements.data(),
            ghosts, from.number(), from.ranks.data(), from.counts.data(), from.elements.data(),
            &it_, at.file, at.line));
    }
    /// Takes over one that phx_plan_lists has made.
    explicit plan(phx_plan *own) noexcept : handle(own, true) {}
    std::size_t owned() const noexcept { return phx_plan_owned(it_); }
    std::size_t ghosts() const noexcept { return phx_plan_ghosts(it_); }

    /// Fills `ghosts` with copies of the owners' elements.
    template <class T> void gather(span<const T> owned, span<T> ghosts, here at = here()) {
        detail::size("gather", owned.size(), this->owned());
        detail::size("gather", ghosts.size(), this->ghosts());
        detail::check(phx_plan_gather_at(it_, owned.data(), ghosts.data(), type_of<T>(), at.file,
                                         at.line));
    }
    /// Adds the ghosts to the owners' elements: of `PHX_F64`, `PHX_F32`, `PHX_I32` or `PHX_I64`.
    template <class T> void scatter_add(span<const T> ghosts, span<T> owned, here at = here()) {
        detail::size("scatter_add", ghosts.size(), this->ghosts());
        detail::size("scatter_add", owned.size(), this->owned());
        detail::check(phx_plan_scatter_add_at(it_, ghosts.data(), owned.data(), type_of<T>(),
                                              at.file, at.line));
    }

private:
    /// Lists as C takes them: one after the other.
    struct lists {
        std::vector<int> ranks;
        std::vector<std::size_t> counts, elements;
        explicit lists(const std::vector<list> &all) {
            for (const list &one : all) {
                ranks.push_back(one.rank);
                counts.push_back(one.elements.size());
                elements.insert(elements.end(), one.elements.begin(), one.elements.end());
            }
        }
        int number() const noexcept { return static_cast<int>(ranks.size()); }
    };
};

/// Memory of all ranks, of elements T.
template <class T> class window : public detail::handle<phx_window *, phx_window_free> {
public:
    window(const comm &c, std::size_t n, here at = here()) {
        detail::check(phx_window_new_at(c.get(), n, type_of<T>(), &it_, at.file, at.line));
    }
    /// A rank's part, until the next update; this rank's for -1.
    span<const T> part(int rank = -1) const {
        const void *data = nullptr;
        std::size_t n = 0;
        detail::check(phx_window_part(it_, rank, &data, &n));
        return span<const T>(static_cast<const T *>(data), n);
    }
    /// Calls `f(own part)` when all ranks have come.
    template <class F> void update(F &&f, here at = here()) {
        auto own = [&f](void *data, std::size_t n) { f(span<T>(static_cast<T *>(data), n)); };
        detail::caught<decltype(own)> it{own};
        it.end(phx_window_update_at(it_, it.update, &it, at.file, at.line));
    }
};

namespace detail {
/// One run's function, and what the first rank threw that was no consequence of another's.
template <class F> struct job {
    F &f;
    std::mutex lock;
    std::exception_ptr thrown;

    static void rank(phx_comm *lent, void *argument) {
        auto &it = *static_cast<job *>(argument);
        comm c(lent);
        try {
            it.f(c);
        } catch (const error &e) {
            // Of a call that has ended the run, which has this as its cause, or a better one; or of
            // something else, such as a wrong handle.
            if (phx_fail_at(lent, e.what(), nullptr, 0) != PHX_ERR_DEAD) {
                it.keep();
            }
        } catch (...) {
            it.keep();
            phx_fail_at(lent, "a rank's function has thrown a C++ exception", nullptr, 0);
        }
    }
    void keep() {
        std::lock_guard<std::mutex> guard(lock);
        if (!thrown) {
            thrown = std::current_exception();
        }
    }
    void end(phx_err code) {
        if (thrown) {
            std::rethrow_exception(thrown);
        }
        check(code);
    }
};
} // namespace detail

/// Threads that run functions together.
class team : public detail::handle<phx_team *, phx_team_free> {
public:
    explicit team(int ranks = 0, double deadline = 0) {
        phx_options options = {};
        options.size = sizeof options;
        options.ranks = ranks;
        options.deadline = deadline;
        detail::check(phx_team_new(&options, &it_));
    }
    explicit team(const phx_options &options) { detail::check(phx_team_new(&options, &it_)); }
    int size() const noexcept { return phx_team_size(it_); }
    /// Ends the run that is under way, and all later ones until clear_cancel(); from any thread.
    void cancel() { detail::check(phx_team_cancel(it_)); }
    void clear_cancel() { detail::check(phx_team_clear_cancel(it_)); }
    /// Runs `f(comm &)` on every rank. Throws what a rank has thrown, or the run's error.
    template <class F> void run(F &&f) {
        detail::job<F> job{f, {}, nullptr};
        job.end(phx_team_run(it_, detail::job<F>::rank, &job));
    }
};

/// Communicators for threads that are there already, one a thread: each belongs to the thread that
/// uses it first. They are freed by their threads, or where these have ended.
inline std::vector<comm> external(int ranks, const phx_options &options = {}) {
    std::vector<phx_comm *> made(static_cast<std::size_t>(ranks < 1 ? 1 : ranks));
    detail::check(phx_external(ranks, &options, made.data()));
    std::vector<comm> all;
    all.reserve(made.size());
    for (phx_comm *one : made) {
        all.push_back(comm::adopt(one));
    }
    return all;
}

/// Runs `f(comm &)` on `ranks` ranks of a team that is built for it; 0: one for each core.
template <class F> void run(int ranks, F &&f) { team(ranks).run(std::forward<F>(f)); }

} // namespace phalanx

#endif
