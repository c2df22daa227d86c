// The C++ wrapper's functions against what they must give, and what it checks by itself.
#include <phalanx.hpp>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <thread>

namespace {
std::atomic<int> failures{0};

#define WANT(condition)                                                                            \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            failures++;                                                                            \
            std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                   \
        }                                                                                          \
    } while (0)

template <class T> using in = phalanx::span<const T>;
template <class T> using out = phalanx::span<T>;

void collectives(phalanx::comm &c) {
    const int r = c.rank(), p = c.size();
    const auto ranks = static_cast<std::size_t>(p);
    std::vector<int> mine(2, r), all(2 * ranks), sum(2);
    c.all_gather(in<int>(mine), out<int>(all));
    WANT(all[1] == 0 && all[2 * ranks - 1] == p - 1);
    c.gather(in<int>(mine), out<int>(all), p - 1);
    c.scatter(in<int>(all), out<int>(mine), p - 1);
    WANT(mine[1] == r);
    c.reduce_scatter(in<int>(all), out<int>(sum), PHX_MAX);
    WANT(sum[0] == r);
    std::vector<int> back(2 * ranks);
    for (std::size_t k = 0; k < all.size(); k++) {
        all[k] = 10 * r + static_cast<int>(k / 2);
    }
    c.all_to_all(in<int>(all), out<int>(back));
    WANT(back[2 * ranks - 1] == 10 * (p - 1) + r);
    c.shift(out<int>(mine), 1);
    WANT(mine[0] == (r + p - 1) % p);
    std::vector<std::size_t> each(ranks, 2), received;
    c.all_gatherv(in<int>(mine), out<int>(all), phalanx::counts(each));
    c.gatherv(in<int>(mine), out<int>(all), phalanx::counts(each), 0);
    c.scatterv(in<int>(all), out<int>(mine), phalanx::counts(each), 0);
    c.reduce_scatterv(in<int>(all), out<int>(sum), phalanx::counts(each), PHX_SUM);
    c.all_to_allv(in<int>(all), phalanx::counts(each), out<int>(back), phalanx::counts(each));
    WANT(mine[0] == (r + p - 1) % p);
    const auto got = c.all_gather_vec(in<int>(mine.data(), 1), received);
    WANT(got.size() == ranks && received[0] == 1 && got[0] == p - 1);
    WANT(c.all_to_all_vec(in<int>(all), phalanx::counts(each), received).size() == 2 * ranks);
    c.send_tagged(in<int>(mine), (r + 1) % p, 4);
    WANT(c.probe(PHX_ANY_SOURCE, 4).n == 2);
    WANT(c.recv_vec<int>(PHX_ANY_SOURCE, 4).size() == 2);
    phx_status status;
    WANT(!c.try_probe(PHX_ANY_SOURCE, 4, status));
    int seen = 0;
    c.with_root(in<int>(mine), 0, [&](in<int> part) { seen = part[0]; });
    WANT(seen == p - 1);
    c.choose("ring");
    c.order(PHX_ORDER_FIXED);
    WANT(c.all_reduce_value(r, PHX_SUM) == p * (p - 1) / 2);
    c.choose(nullptr);
    bool thrown = false;
    try {
        c.all_gather(in<int>(mine), out<int>(mine.data(), 1));
    } catch (const std::invalid_argument &) {
        thrown = true;
    }
    WANT(thrown);
}

void in_place_and_more(phalanx::comm &c) {
    const int r = c.rank(), p = c.size();
    const auto ranks = static_cast<std::size_t>(p), own = static_cast<std::size_t>(r);
    std::vector<int> all(ranks, -1), mine(1, r);
    all[own] = r;
    c.all_gather_in_place(out<int>(all));
    WANT(all.front() == 0 && all.back() == p - 1);
    for (int &x : all) {
        x += 100 * r;
    }
    c.all_to_all_in_place(out<int>(all));
    WANT(all.back() == 100 * (p - 1) + r);
    all[own] = -r;
    if (r == p - 1) {
        c.gather_in_place(out<int>(all), p - 1);
        WANT(all.front() == 0 && all.back() == 1 - p);
    } else {
        mine[0] = -r;
        c.gather_in_place(out<int>(mine), p - 1);
    }
    std::vector<std::size_t> each;
    const std::vector<int> some(own, r);
    const auto got = c.gather_vec(in<int>(some), 0, each);
    WANT(got.size() == (r == 0 ? ranks * (ranks - 1) / 2 : 0));
    WANT(r != 0 || p == 1 || (each[ranks - 1] == ranks - 1 && got.back() == p - 1));
    std::vector<double> sum(1, r);
    c.sum_f64(out<double>(sum));
    WANT(sum[0] == p * (p - 1) / 2);
}

void started(phalanx::comm &c) {
    const int r = c.rank(), p = c.size();
    const auto ranks = static_cast<std::size_t>(p);
    std::vector<double> x(100, r), y(100, 1), mine(3, r), all(3 * ranks), got(1, -1), own(1, r);
    c.with_requests([&](phalanx::requests &s) {
        std::vector<phx_request> open;
        open.push_back(s.all_reduce(out<double>(x), PHX_SUM));
        open.push_back(s.all_gather(in<double>(mine), out<double>(all)));
        open.push_back(s.recv(out<double>(got), (r + p - 1) % p, 1));
        open.push_back(s.send(in<double>(own), (r + 1) % p, 1));
        open.push_back(s.barrier());
        const std::size_t which = s.wait_any(in<phx_request>(open));
        open.erase(open.begin() + static_cast<std::ptrdiff_t>(which));
        s.wait_all(in<phx_request>(open));
        const phx_request again = s.scan(out<double>(y), PHX_SUM, true);
        for (int k = 0; k < 2; k++) {
            s.start(again);
            while (!s.test(again)) {
            }
            s.wait(again);
        }
        WANT(s.blocking().size() == p);
    });
    // Block k has k elements.
    std::vector<std::size_t> each(ranks);
    for (std::size_t k = 0; k < ranks; k++) {
        each[k] = k;
    }
    const phalanx::counts counts(each);
    std::vector<int> block(static_cast<std::size_t>(r), r), back(block.size()), part(block.size());
    std::vector<int> of_all(counts.sum(), -1), given(counts.sum(), 3);
    c.with_requests([&](phalanx::requests &s) {
        const phx_request gathered = s.gatherv(in<int>(block), out<int>(of_all), counts, p - 1);
        const phx_request scattered = s.scatterv(in<int>(given), out<int>(back), counts, 0);
        s.wait(s.reduce_scatterv(in<int>(given), out<int>(part), counts, PHX_SUM));
        s.wait(scattered);
        s.wait(gathered);
    });
    WANT(r == 0 || (back.back() == 3 && part.back() == 3 * p));
    WANT(r != p - 1 || r == 0 || (of_all.front() == 1 && of_all.back() == r));
    WANT(x[99] == p * (p - 1) / 2 && all.back() == p - 1 && got[0] == (r + p - 1) % p);
    // The second scan is of what the first has left: 1, 2, .., so the triangular numbers.
    WANT(y[0] == (r + 1) * (r + 2) / 2);
}

void rest(phalanx::comm &c) {
    const int r = c.rank(), p = c.size();
    phalanx::cart grid(c, {1, 0}, {0, 1});
    WANT(grid.extents()[1] == p && grid.coordinates()[1] == r);
    std::vector<double> field(3 * 3, 0);
    const std::vector<std::size_t> own(2, 1);
    field[4] = r;
    grid.exchange_halo(out<double>(field), in<std::size_t>(own), 1);
    WANT(field[5] == grid.neighbour(1, 1));
    const std::vector<int> keep{0, 1};
    WANT(grid.sub(in<int>(keep)).size() == p);
    const auto total = static_cast<std::size_t>(2 * p);
    const std::vector<std::size_t> next(1, static_cast<std::size_t>(2 * r + 2) % total);
    phalanx::plan ghosts(c, total, in<std::size_t>(next));
    std::vector<double> two{2.0 * r, 2.0 * r + 1}, ghost(1);
    ghosts.gather(in<double>(two), out<double>(ghost));
    WANT(ghost[0] == static_cast<double>(next[0]));
    ghosts.scatter_add(in<double>(ghost), out<double>(two));
    WANT(two[0] == 4.0 * r);
    const int right = (r + 1) % p, left = (r + p - 1) % p;
    phalanx::plan listed(c, 2, {{right, {1}}}, 1, {{left, {0}}});
    listed.gather(in<double>(two), out<double>(ghost));
    WANT(ghost[0] == 2.0 * left + 1);
    phalanx::window<int> shared(c, 1);
    shared.update([&](out<int> part) { part[0] = r; });
    WANT(shared.part(p - 1)[0] == p - 1 && shared.part().size() == 1);
}

/// Threads of the program's own.
void own_threads(int p) {
    std::vector<phalanx::comm> comms = phalanx::external(p);
    std::vector<std::thread> threads;
    for (phalanx::comm &c : comms) {
        threads.emplace_back([&c, p] { WANT(c.all_reduce_value(1, PHX_SUM) == p); });
    }
    for (std::thread &thread : threads) {
        thread.join();
    }
}

/// The code of the error that `f` throws; -1 for none, -2 for something else.
template <class F> phx_err code_of(F f) {
    try {
        f();
    } catch (const phalanx::error &e) {
        return e.code();
    } catch (...) {
        return -2;
    }
    return -1;
}

void errors() {
    phalanx::team team(2, 60);
    auto barrier = [](phalanx::comm &c) { c.barrier(); };
    team.cancel();
    WANT(code_of([&] { team.run(barrier); }) == PHX_ERR_CANCELLED);
    team.clear_cancel();
    WANT(code_of([&] { team.run(barrier); }) == -1);
    // An error that has not ended the run by itself comes out of it as well.
    WANT(code_of([&] {
             team.run([](phalanx::comm &c) {
                 if (c.rank() == 1) {
                     phalanx::comm(nullptr).barrier();
                 }
                 c.barrier();
             });
         }) == PHX_ERR_HANDLE);
    WANT(code_of([&] {
             team.run([](phalanx::comm &c) {
                 if (c.rank() == 0) {
                     c.cancel();
                 }
                 c.barrier();
             });
         }) == PHX_ERR_CANCELLED);
    // What is thrown in a function that the library calls comes out where that was given.
    WANT(code_of([&] {
             team.run([](phalanx::comm &c) {
                 std::vector<int> mine(1);
                 c.with_peers(in<int>(mine), [](const std::vector<in<int>> &) { throw 7; });
             });
         }) == -2);
    WANT(std::string(phalanx::error(PHX_ERR_DEAD, "").name()) == "the run has ended");
    WANT(std::string(phalanx::version()) == phx_version());
}

} // namespace

int main(int argc, char **argv) {
    const int most = argc > 1 ? std::atoi(argv[1]) : 5;
    errors();
    for (int p = 1; p <= most; p++) {
        try {
            phalanx::run(p, [](phalanx::comm &c) {
                collectives(c);
                in_place_and_more(c);
                started(c);
                rest(c);
            });
            own_threads(p);
        } catch (const std::exception &e) {
            std::fprintf(stderr, "%d ranks: %s\n", p, e.what());
            return 1;
        }
    }
    if (failures != 0) {
        return 1;
    }
    std::printf("wrapper: ok, 1 to %d ranks\n", most);
    return 0;
}
