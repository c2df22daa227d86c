// The C++ interface of Phalanx, over phalanx.h: communicators as objects, arrays as spans, errors as
// exceptions. What a rank's function throws ends the run and comes out of run(). C++17.
#ifndef PHALANX_HPP
#define PHALANX_HPP

#include "phalanx.h"

#include <complex>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <mutex>
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
template <class T> struct always_false : std::false_type {};
} // namespace detail

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

/// An operator: one of the library's (PHX_SUM and others), or a function of one's own.
class op {
public:
    op(phx_op built_in) noexcept : op_(built_in) {}
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
        op made;
        detail::check(phx_op_new_at(combine, nullptr, commutative, name, &made.op_));
        made.is_own_ = true;
        return made;
    }
    op(op &&other) noexcept : op_(other.op_), is_own_(std::exchange(other.is_own_, false)) {}
    op(const op &) = delete;
    op &operator=(const op &) = delete;
    op &operator=(op &&) = delete;
    ~op() {
        if (is_own_) {
            phx_op_free(op_);
        }
    }
    phx_op get() const noexcept { return op_; }

private:
    op() noexcept = default;
    phx_op op_ = 0;
    bool is_own_ = false;
};

/// A rank's hold on a group of ranks. The one that run() lends is not freed; others are.
class comm {
public:
    explicit comm(phx_comm *lent) noexcept : comm_(lent) {}
    /// Takes over a communicator that is to be freed.
    static comm adopt(phx_comm *own) noexcept {
        comm made(own);
        made.is_own_ = true;
        return made;
    }
    comm(comm &&other) noexcept
        : comm_(other.comm_), is_own_(std::exchange(other.is_own_, false)) {}
    comm(const comm &) = delete;
    comm &operator=(const comm &) = delete;
    comm &operator=(comm &&) = delete;
    ~comm() {
        if (is_own_) {
            phx_comm_free(comm_);
        }
    }
    phx_comm *get() const noexcept { return comm_; }
    int rank() const noexcept { return phx_rank(comm_); }
    int size() const noexcept { return phx_size(comm_); }

    void barrier(here at = here()) { detail::check(phx_barrier_at(comm_, at.file, at.line)); }
    template <class T> void broadcast(span<T> buf, int root, here at = here()) {
        detail::check(phx_broadcast_at(comm_, buf.data(), buf.size(), type_of<T>(), root, at.file,
                                       at.line));
    }
    template <class T> void reduce(span<T> buf, const op &by, int root, here at = here()) {
        detail::check(phx_reduce_at(comm_, buf.data(), buf.size(), type_of<T>(), by.get(), root,
                                    at.file, at.line));
    }
    template <class T> void all_reduce(span<T> buf, const op &by, here at = here()) {
        detail::check(phx_all_reduce_at(comm_, buf.data(), buf.size(), type_of<T>(), by.get(),
                                        at.file, at.line));
    }
    /// Of one value.
    template <class T> T all_reduce_value(T value, const op &by, here at = here()) {
        all_reduce(span<T>(&value, 1), by, at);
        return value;
    }
    template <class T> void scan(span<T> buf, const op &by, here at = here()) {
        detail::check(phx_scan_at(comm_, buf.data(), buf.size(), type_of<T>(), by.get(), at.file,
                                  at.line));
    }
    template <class T> void exclusive_scan(span<T> buf, const op &by, here at = here()) {
        detail::check(phx_exclusive_scan_at(comm_, buf.data(), buf.size(), type_of<T>(), by.get(),
                                            at.file, at.line));
    }
    template <class T> void all_gather(span<const T> mine, span<T> all, here at = here()) {
        if (all.size() != mine.size() * static_cast<std::size_t>(size())) {
            throw std::invalid_argument("all_gather: the output has not p times the input's size");
        }
        detail::check(phx_all_gather_at(comm_, mine.data(), mine.size(), all.data(), type_of<T>(),
                                        at.file, at.line));
    }
    template <class T> void send(span<const T> buf, int to, here at = here()) {
        detail::check(
            phx_send_at(comm_, buf.data(), buf.size(), type_of<T>(), to, at.file, at.line));
    }
    template <class T> void recv(span<T> buf, int from, here at = here()) {
        detail::check(
            phx_recv_at(comm_, buf.data(), buf.size(), type_of<T>(), from, at.file, at.line));
    }
    template <class T>
    void exchange(span<const T> out, int to, span<T> in, int from, here at = here()) {
        detail::check(phx_exchange_at(comm_, out.data(), out.size(), to, in.data(), in.size(), from,
                                      type_of<T>(), at.file, at.line));
    }
    double fixed_sum(span<const double> x, std::size_t first, here at = here()) {
        double sum = 0;
        detail::check(
            phx_fixed_sum_at(comm_, x.data(), x.size(), first, &sum, at.file, at.line));
        return sum;
    }
    double fixed_dot(span<const double> x, span<const double> y, std::size_t first,
                     here at = here()) {
        if (x.size() != y.size()) {
            throw std::invalid_argument("fixed_dot: vectors of two lengths");
        }
        double dot = 0;
        detail::check(phx_fixed_dot_at(comm_, x.data(), y.data(), x.size(), first, &dot, at.file,
                                       at.line));
        return dot;
    }
    comm split(int color, int key, here at = here()) {
        phx_comm *part = nullptr;
        detail::check(phx_split_at(comm_, color, key, &part, at.file, at.line));
        return adopt(part);
    }
    /// Calls `look(parts)` with a vector of all ranks' spans, where they are.
    template <class T, class F> void with_peers(span<const T> mine, F &&look, here at = here()) {
        struct view {
            F &look;
            std::exception_ptr thrown;
        } it{look, nullptr};
        auto call = [](const phx_part *parts, int ranks, void *argument) {
            auto &v = *static_cast<view *>(argument);
            try {
                std::vector<span<const T>> all;
                for (int r = 0; r < ranks; r++) {
                    all.emplace_back(static_cast<const T *>(parts[r].data), parts[r].n);
                }
                v.look(all);
            } catch (...) {
                v.thrown = std::current_exception();
            }
        };
        detail::check(phx_with_peers_at(comm_, mine.data(), mine.size(), type_of<T>(), call, &it,
                                        at.file, at.line));
        if (it.thrown) {
            std::rethrow_exception(it.thrown);
        }
    }

private:
    phx_comm *comm_;
    bool is_own_ = false;
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
        } catch (const error &) {
            // The run has this as its cause, or a better one.
        } catch (...) {
            {
                std::lock_guard<std::mutex> guard(it.lock);
                if (!it.thrown) {
                    it.thrown = std::current_exception();
                }
            }
            phx_fail_at(lent, "a rank's function has thrown a C++ exception", nullptr, 0);
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
class team {
public:
    explicit team(int ranks = 0, double deadline = 0) {
        phx_options options = {};
        options.size = sizeof options;
        options.ranks = ranks;
        options.deadline = deadline;
        detail::check(phx_team_new(&options, &team_));
    }
    team(const team &) = delete;
    team &operator=(const team &) = delete;
    ~team() { phx_team_free(team_); }
    int size() const noexcept { return phx_team_size(team_); }
    phx_team *get() const noexcept { return team_; }
    /// Runs `f(comm &)` on every rank. Throws what a rank has thrown, or the run's error.
    template <class F> void run(F &&f) {
        detail::job<F> job{f, {}, nullptr};
        job.end(phx_team_run(team_, detail::job<F>::rank, &job));
    }

private:
    phx_team *team_ = nullptr;
};

/// Runs `f(comm &)` on `ranks` ranks of a team that is built for it; 0: one for each core.
template <class F> void run(int ranks, F &&f) { team(ranks).run(std::forward<F>(f)); }

} // namespace phalanx

#endif
