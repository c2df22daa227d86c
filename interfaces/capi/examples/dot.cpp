// Dot products in C++: of the vectors' parts, with the same bits for any number of ranks.
//     c++ -std=c++17 dot.cpp $(pkg-config --cflags --libs phalanx)
#include <phalanx.hpp>

#include <cmath>
#include <cstdio>
#include <cstring>
#include <stdexcept>

int main() {
    const std::size_t n = 100000;
    std::vector<double> x(n), y(n);
    for (std::size_t i = 0; i < n; i++) {
        x[i] = 1.0 / static_cast<double>(i + 1);
        y[i] = std::sin(static_cast<double>(i));
    }
    double first = 0;
    for (int p = 1; p <= 4; p++) {
        double fixed = 0, plain = 0, longest = 0;
        phalanx::run(p, [&](phalanx::comm &comm) {
            const auto r = static_cast<std::size_t>(comm.rank());
            const auto ranks = static_cast<std::size_t>(comm.size());
            const std::size_t from = n * r / ranks, to = n * (r + 1) / ranks;
            const phalanx::span<const double> a(&x[from], to - from), b(&y[from], to - from);
            const double same = comm.fixed_dot(a, b, from);
            double sum = 0;
            for (std::size_t i = 0; i < a.size(); i++) {
                sum += a[i] * b[i];
            }
            sum = comm.all_reduce_value(sum, PHX_SUM);
            // The greatest of all parts, by an operator of one's own on a struct.
            struct part {
                std::size_t length, rank;
            };
            const auto longer = phalanx::op::of<part>(
                [](part l, part m) noexcept { return m.length > l.length ? m : l; }, false);
            const part most = comm.all_reduce_value(part{a.size(), r}, longer);
            if (comm.rank() == 0) {
                fixed = same;
                plain = sum;
                longest = static_cast<double>(most.length);
            }
        });
        std::printf("%d ranks: fixed %.17g, plain %.17g, longest part %g\n", p, fixed, plain,
                    longest);
        if (p == 1) {
            first = fixed;
        }
        if (std::memcmp(&first, &fixed, sizeof first) != 0 || std::fabs(plain - fixed) > 1e-12) {
            return 1;
        }
    }
    // What a rank throws comes out of the run; the other ranks hear of it.
    try {
        phalanx::run(3, [](phalanx::comm &comm) {
            if (comm.rank() == 1) {
                throw std::domain_error("not positive");
            }
            comm.barrier();
        });
        return 1;
    } catch (const std::domain_error &e) {
        std::printf("caught: %s\n", e.what());
    }
    try {
        phalanx::run(2, [](phalanx::comm &comm) {
            double v[2] = {};
            comm.broadcast(phalanx::span<double>(v), comm.rank());
        });
        return 1;
    } catch (const phalanx::error &e) {
        std::printf("caught: %s\n", e.what());
        if (e.code() != PHX_ERR_MISMATCH || std::string(e.what()).find("dot.cpp:") == std::string::npos) {
            return 1;
        }
    }
    return 0;
}
