/* The shim's conversions of handles and statuses: a handle is a number in Fortran, and a status lies
 * in memory as in C. */
#define PHX_ALIAS(name) __attribute__((weak, alias("PMPI_" #name)))
#define PHX_HANDLE(type, name) \
  MPI_##type PMPI_##name##_f2c(MPI_Fint f) { return (MPI_##type)(intptr_t)f; } \
  MPI_##type MPI_##name##_f2c(MPI_Fint) PHX_ALIAS(name##_f2c); \
  MPI_Fint PMPI_##name##_c2f(MPI_##type c) { return (MPI_Fint)(intptr_t)c; } \
  MPI_Fint MPI_##name##_c2f(MPI_##type) PHX_ALIAS(name##_c2f);
PHX_HANDLE(Comm, Comm)
PHX_HANDLE(Datatype, Type)
PHX_HANDLE(Op, Op)
PHX_HANDLE(Request, Request)
PHX_HANDLE(Group, Group)
PHX_HANDLE(Win, Win)
PHX_HANDLE(Info, Info)
PHX_HANDLE(Errhandler, Errhandler)
PHX_HANDLE(Session, Session)
PHX_HANDLE(Message, Message)
PHX_HANDLE(File, File)

#define PHX_STATUS(name, from, to) \
  int PMPI_Status_##name(const from *old, to *new) { \
    memcpy(new, old, sizeof(MPI_Status)); \
    return MPI_SUCCESS; \
  } \
  int MPI_Status_##name(const from *, to *) PHX_ALIAS(Status_##name);
PHX_STATUS(c2f, MPI_Status, MPI_Fint)
PHX_STATUS(f2c, MPI_Fint, MPI_Status)
PHX_STATUS(c2f08, MPI_Status, MPI_F08_status)
PHX_STATUS(f082c, MPI_F08_status, MPI_Status)
PHX_STATUS(f2f08, MPI_Fint, MPI_F08_status)
PHX_STATUS(f082f, MPI_F08_status, MPI_Fint)
