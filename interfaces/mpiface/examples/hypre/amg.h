/* A solve with BoomerAMG: each rank of MPI_COMM_WORLD calls it. */
#ifndef AMG_H
#define AMG_H

#ifdef __cplusplus
extern "C" {
#endif

struct amg {
  int n;            /* given: a cube of n * n * n points */
  int ranks;        /* the rest is what rank 0 found */
  int iterations;
  double residual;  /* relative */
  double norm;      /* of the solution, squared */
};

/* `given` is a struct amg that all ranks share, or each has for itself. */
void amg_solve(void *given);

/* One line. */
void amg_show(const struct amg *it);

#ifdef __cplusplus
}
#endif
#endif
