/* What ordinary programs call of part.c. */
#ifdef __cplusplus
extern "C" {
#endif

struct part {
  int size, calls[64], sums[64];
};

/* `given` is a struct part: each rank writes how often its copy was called, and the sum. */
void part_count(void *given);
void part_serve(void *unused);
int part_ask(int rank, int number);
void part_whole(void *given);
void part_early(void *unused);
void part_silent(void *unused);

#ifdef __cplusplus
}
#endif
