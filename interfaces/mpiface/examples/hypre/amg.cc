// Laplace's equation on a cube by hypre's BoomerAMG: plain MPI, nothing of it knows Phalanx.
#include "amg.h"
#include <HYPRE.h>
#include <HYPRE_IJ_mv.h>
#include <HYPRE_parcsr_ls.h>
#include <cstdio>
#include <mpi.h>
#include <vector>

extern "C" void amg_solve(void *given) {
  amg *out = static_cast<amg *>(given);
  const int n = out->n;
  const HYPRE_BigInt all = HYPRE_BigInt(n) * n * n;
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const HYPRE_BigInt first = all * rank / ranks, last = all * (rank + 1) / ranks - 1;

  HYPRE_Init();
  HYPRE_IJMatrix matrix;
  HYPRE_IJMatrixCreate(MPI_COMM_WORLD, first, last, first, last, &matrix);
  HYPRE_IJMatrixSetObjectType(matrix, HYPRE_PARCSR);
  HYPRE_IJMatrixInitialize(matrix);
  for (HYPRE_BigInt row = first; row <= last; row++) {
    const HYPRE_BigInt place[3] = {row % n, row / n % n, row / n / n}, step[3] = {1, n, n * n};
    HYPRE_BigInt columns[7] = {row};
    double values[7] = {6};
    int count = 1;
    for (int d = 0; d < 3; d++)
      for (int side = -1; side <= 1; side += 2)
        if (place[d] + side >= 0 && place[d] + side < n) {
          columns[count] = row + side * step[d];
          values[count++] = -1;
        }
    HYPRE_IJMatrixSetValues(matrix, 1, &count, &row, columns, values);
  }
  HYPRE_IJMatrixAssemble(matrix);

  HYPRE_IJVector side, solution;
  const int mine = int(last - first + 1);
  std::vector<HYPRE_BigInt> rows(mine);
  std::vector<double> values(mine);
  for (int i = 0; i < mine; i++) {
    rows[i] = first + i;
    values[i] = 1 + double(rows[i] % 7) / 8;
  }
  for (HYPRE_IJVector *vector : {&side, &solution}) {
    HYPRE_IJVectorCreate(MPI_COMM_WORLD, first, last, vector);
    HYPRE_IJVectorSetObjectType(*vector, HYPRE_PARCSR);
    HYPRE_IJVectorInitialize(*vector);
    HYPRE_IJVectorSetValues(*vector, mine, rows.data(), values.data());
    HYPRE_IJVectorAssemble(*vector);
  }
  HYPRE_ParCSRMatrix a;
  HYPRE_ParVector b, x;
  HYPRE_IJMatrixGetObject(matrix, reinterpret_cast<void **>(&a));
  HYPRE_IJVectorGetObject(side, reinterpret_cast<void **>(&b));
  HYPRE_IJVectorGetObject(solution, reinterpret_cast<void **>(&x));

  HYPRE_Solver solver;
  HYPRE_BoomerAMGCreate(&solver);
  HYPRE_BoomerAMGSetTol(solver, 1e-8);
  HYPRE_BoomerAMGSetMaxIter(solver, 100);
  HYPRE_BoomerAMGSetup(solver, a, b, x);
  HYPRE_BoomerAMGSolve(solver, a, b, x);
  int iterations;
  double residual, square = 0, norm;
  HYPRE_BoomerAMGGetNumIterations(solver, &iterations);
  HYPRE_BoomerAMGGetFinalRelativeResidualNorm(solver, &residual);
  HYPRE_IJVectorGetValues(solution, mine, rows.data(), values.data());
  for (double value : values)
    square += value * value;
  MPI_Allreduce(&square, &norm, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0)
    *out = amg{n, ranks, iterations, residual, norm};
  HYPRE_BoomerAMGDestroy(solver);
  HYPRE_IJMatrixDestroy(matrix);
  HYPRE_IJVectorDestroy(side);
  HYPRE_IJVectorDestroy(solution);
  HYPRE_Finalize();
}

extern "C" void amg_show(const amg *it) {
  std::printf("%d ranks, %d^3 points: %d iterations, residual %.12e, norm %.12e\n", it->ranks,
              it->n, it->iterations, it->residual, it->norm);
}
