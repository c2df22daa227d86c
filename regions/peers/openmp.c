/* A region of OpenMP's, for kernels in Rust. */
#include <omp.h>

void region(int tasks, void (*task)(void *, int), void *of) {
#pragma omp parallel num_threads(tasks)
    task(of, omp_get_thread_num());
}
