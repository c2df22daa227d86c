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

    // @methods of comm@

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

    // @methods of scope@

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

    // @methods of cart@

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

    // @methods of plan@

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
