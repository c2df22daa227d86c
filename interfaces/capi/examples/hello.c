#include <phalanx.h>
#include <stdio.h>

/* What each rank runs. */
static void add_up(phx_comm *comm, void *argument) {
    double sum = phx_rank(comm) + 1;
    PHX_CHECK_VOID(phx_all_reduce(comm, &sum, 1, PHX_F64, PHX_SUM));
    if (phx_rank(comm) == 0)
        *(double *)argument = sum;
}

int main(void) {
    double sum = 0;
    phx_err code = phx_run(4, add_up, &sum);
    if (code != PHX_OK) {
        char text[1000];
        phx_last_error(text, sizeof text);
        fprintf(stderr, "%s: %s\n", phx_error_name(code), text);
        return 1;
    }
    printf("hello from 4 ranks: 1 + 2 + 3 + 4 = %g\n", sum);
    return 0;
}
