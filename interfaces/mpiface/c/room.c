/* The launcher's last thread-local variable (build.rs puts its object last): room for those of
 * executables, whose linkers gave them the places right below the thread's pointer. See start.c. */
#include <stddef.h>

static __thread char room[1 << 14] __attribute__((aligned(64)));

/* How many bytes below the thread's pointer are free; 0 where that is not known. */
__attribute__((visibility("default"))) size_t phalanx_thread_local_room(void) {
#if defined(__x86_64__)
  size_t bytes = (size_t)((char *)__builtin_thread_pointer() - room);
  return bytes - sizeof room < 64 ? bytes : 0;
#else
  return 0 * sizeof room;
#endif
}
