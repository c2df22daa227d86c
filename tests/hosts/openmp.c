/* Threads of OpenMP for pools.rs and steps.rs:
 *     gcc -O2 -fopenmp -shared -fPIC openmp.c -o openmp.so */
#include <omp.h>

/* Calls f(thread, argument) on so many threads, all at once; returns how many there were. */
int openmp_region(int threads, void (*f)(int, void *), void *argument) {
    int were = 0;
#pragma omp parallel num_threads(threads)
    {
#pragma omp single
        were = omp_get_num_threads();
        f(omp_get_thread_num(), argument);
    }
    return were;
}
