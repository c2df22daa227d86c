/* Keeps the stacks of a model's threads, which `generator` maps, protects and unmaps in each
 * execution: half of the time of a model. Its calls come here first (LD_PRELOAD, by .ci/loom). */
#define _GNU_SOURCE
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { MOST = 64 };

/* Those that were mapped by this file, and whether they are free. */
static struct {
    void *at;
    size_t size;
    int free, is_protected;
} stacks[MOST];
static atomic_flag lock = ATOMIC_FLAG_INIT;

static int find(void *at, size_t size, int free) {
    for (int i = 0; i < MOST; i++)
        if (stacks[i].size == size && stacks[i].free == free && (!at || stacks[i].at == at))
            return i;
    return -1;
}

static void enter(void) {
    while (atomic_flag_test_and_set(&lock)) {
    }
}

void *mmap(void *at, size_t size, int access, int kind, int file, off_t from) {
    int is_stack = !at && file == -1 && kind & MAP_STACK, i;
    if (is_stack) {
        enter();
        i = find(0, size, 1);
        if (i >= 0)
            stacks[i].free = 0;
        atomic_flag_clear(&lock);
        if (i >= 0)
            return stacks[i].at;
    }
    void *new = (void *)syscall(SYS_mmap, at, size, access, kind, file, from);
    if (is_stack && new != MAP_FAILED) {
        enter();
        i = find(0, 0, 0);
        if (i >= 0) {
            stacks[i].at = new;
            stacks[i].size = size;
        }
        atomic_flag_clear(&lock);
    }
    return new;
}

int munmap(void *at, size_t size) {
    enter();
    int i = size ? find(at, size, 0) : -1;
    if (i >= 0)
        stacks[i].free = 1;
    atomic_flag_clear(&lock);
    return i >= 0 ? 0 : (int)syscall(SYS_munmap, at, size);
}

int mprotect(void *at, size_t size, int access) {
    int done = 0;
    if (access == PROT_NONE) {
        enter();
        for (int i = 0; i < MOST; i++)
            if (stacks[i].size && stacks[i].at == at) {
                done = stacks[i].is_protected;
                stacks[i].is_protected = 1;
            }
        atomic_flag_clear(&lock);
    }
    return done ? 0 : (int)syscall(SYS_mprotect, at, size, access);
}
