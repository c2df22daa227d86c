/* Python's interpreter as a program of MPI: each rank has its own, with a lock of its own. See
 * docs/mpi-python.md. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

int main(int argc, char **argv) { return Py_BytesMain(argc, argv); }
