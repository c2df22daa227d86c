/* Linked into each program: functions of the C library that keep state behind their names, each with
 * a state of its own, so that every rank's copy has it for itself.
 *
 * They are weak: a program that brings its own keeps it. `rand` gives the numbers of glibc's (its
 * additive feedback generator with 31 words, TYPE_3 of random(3)). */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <grp.h>
#include <limits.h>
#include <pwd.h>
#include <search.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define PRIVATE __attribute__((weak, visibility("default")))

/* By this name start.c brings the file in. */
__attribute__((weak, visibility("hidden"))) const char phalanx_private = 0;

/* --- standard output --- */

/* A rank's lines stay whole: each copy has a stream of its own for them, line by line, whatever the
 * parts that a line is printed in. So the lines of one rank keep their order, and so do those that
 * system libraries print by the C library's stream: the launcher has made that one go line by line,
 * too. If it has not, there is one rank: the C library's stream serves it. */

extern struct _IO_FILE _IO_2_1_stdout_;

#undef stdout
PRIVATE FILE *stdout = (FILE *)&_IO_2_1_stdout_;
static char lines[1 << 16];

__attribute__((constructor(101))) static void own_output(void) {
  int file = -1;
  if (__flbf(stdout) && dlsym(RTLD_DEFAULT, "phalanx_bar_exit"))
    file = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
  FILE *own = file < 0 ? NULL : fdopen(file, "w");
  if (own) {
    setvbuf(own, lines, _IOLBF, sizeof lines);
    stdout = own;
  }
}

PRIVATE int vprintf(const char *format, va_list list) { return vfprintf(stdout, format, list); }
PRIVATE int printf(const char *format, ...) {
  va_list list;
  va_start(list, format);
  int count = vfprintf(stdout, format, list);
  va_end(list);
  return count;
}
/* What -D_FORTIFY_SOURCE makes of them. */
extern int __vfprintf_chk(FILE *, int, const char *, va_list);
PRIVATE int __vprintf_chk(int flag, const char *format, va_list list) {
  return __vfprintf_chk(stdout, flag, format, list);
}
PRIVATE int __printf_chk(int flag, const char *format, ...) {
  va_list list;
  va_start(list, format);
  int count = __vfprintf_chk(stdout, flag, format, list);
  va_end(list);
  return count;
}
PRIVATE int puts(const char *text) {
  flockfile(stdout);
  int code = fputs(text, stdout) == EOF ? EOF : putc_unlocked('\n', stdout);
  funlockfile(stdout);
  return code == EOF ? EOF : 1;
}
PRIVATE int putchar(int letter) { return putc(letter, stdout); }
PRIVATE int putchar_unlocked(int letter) { return putc_unlocked(letter, stdout); }

/* --- random numbers: the same functions of glibc, over a state of this copy --- */

static char words[128];
static struct random_data generator;
static int seeded;

PRIVATE void srandom(unsigned seed) {
  memset(&generator, 0, sizeof generator);
  initstate_r(seed, words, sizeof words, &generator);
  seeded = 1;
}

PRIVATE long random(void) {
  int32_t value;
  if (!seeded)
    srandom(1);
  random_r(&generator, &value);
  return value;
}

PRIVATE char *initstate(unsigned seed, char *state, size_t length) {
  char *before = seeded ? (char *)generator.state - sizeof(int32_t) : words;
  if (!seeded)
    srandom(1);
  if (initstate_r(seed, state, length, &generator))
    return NULL;
  return before;
}
PRIVATE char *setstate(char *state) {
  if (!seeded)
    srandom(1);
  char *before = (char *)generator.state - sizeof(int32_t);
  return setstate_r(state, &generator) ? NULL : before;
}

PRIVATE void srand(unsigned seed) { srandom(seed); }
PRIVATE int rand(void) { return (int)random(); }

static struct drand48_data state48;

PRIVATE void srand48(long seed) { srand48_r(seed, &state48); }
PRIVATE unsigned short *seed48(unsigned short seed[3]) {
  static unsigned short old[3];
  memcpy(old, state48.__x, sizeof old);
  seed48_r(seed, &state48);
  return old;
}
PRIVATE void lcong48(unsigned short p[7]) { lcong48_r(p, &state48); }
PRIVATE double drand48(void) {
  double value;
  drand48_r(&state48, &value);
  return value;
}
PRIVATE long lrand48(void) {
  long value;
  lrand48_r(&state48, &value);
  return value;
}
PRIVATE long mrand48(void) {
  long value;
  mrand48_r(&state48, &value);
  return value;
}

PRIVATE double erand48(unsigned short x[3]) {
  double value;
  erand48_r(x, &state48, &value);
  return value;
}
PRIVATE long nrand48(unsigned short x[3]) {
  long value;
  nrand48_r(x, &state48, &value);
  return value;
}
PRIVATE long jrand48(unsigned short x[3]) {
  long value;
  jrand48_r(x, &state48, &value);
  return value;
}

/* --- the one hash table --- */

static struct hsearch_data hashed;
PRIVATE int hcreate(size_t entries) { return hcreate_r(entries, &hashed); }
PRIVATE ENTRY *hsearch(ENTRY entry, ACTION action) {
  ENTRY *found = NULL;
  hsearch_r(entry, action, &found, &hashed);
  return found;
}
PRIVATE void hdestroy(void) { hdestroy_r(&hashed); }

/* --- users and groups --- */

static char user_text[4096], group_text[1 << 16];
static struct passwd user;
static struct group group;
PRIVATE struct passwd *getpwnam(const char *name) {
  struct passwd *found = NULL;
  int code = getpwnam_r(name, &user, user_text, sizeof user_text, &found);
  if (code)
    errno = code;
  return found;
}
PRIVATE struct passwd *getpwuid(uid_t number) {
  struct passwd *found = NULL;
  int code = getpwuid_r(number, &user, user_text, sizeof user_text, &found);
  if (code)
    errno = code;
  return found;
}
PRIVATE struct group *getgrnam(const char *name) {
  struct group *found = NULL;
  int code = getgrnam_r(name, &group, group_text, sizeof group_text, &found);
  if (code)
    errno = code;
  return found;
}
PRIVATE struct group *getgrgid(gid_t number) {
  struct group *found = NULL;
  int code = getgrgid_r(number, &group, group_text, sizeof group_text, &found);
  if (code)
    errno = code;
  return found;
}

/* --- strings and times --- */

static char digits[400];
PRIVATE char *ecvt(double value, int count, int *point, int *sign) {
  return ecvt_r(value, count, point, sign, digits, sizeof digits) ? NULL : digits;
}
PRIVATE char *fcvt(double value, int count, int *point, int *sign) {
  return fcvt_r(value, count, point, sign, digits, sizeof digits) ? NULL : digits;
}

PRIVATE char *l64a(long value) {
  static const char letters[] =
      "./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  static char text[7];
  uint32_t rest = (uint32_t)value;
  int length = 0;
  for (; rest; rest >>= 6)
    text[length++] = letters[rest & 63];
  text[length] = 0;
  return text;
}

static char *rest;
PRIVATE char *strtok(char *text, const char *separators) {
  return strtok_r(text, separators, &rest);
}

PRIVATE char *strerror(int number) {
  static char text[256];
  return strerror_r(number, text, sizeof text);
}

static struct tm broken;
static char date[64];
PRIVATE struct tm *localtime(const time_t *time) { return localtime_r(time, &broken); }
PRIVATE struct tm *gmtime(const time_t *time) { return gmtime_r(time, &broken); }
PRIVATE char *asctime(const struct tm *time) { return asctime_r(time, date); }
PRIVATE char *ctime(const time_t *time) { return ctime_r(time, date); }

/* --- getopt --- */

PRIVATE char *optarg;
PRIVATE int optind = 1, opterr = 1, optopt = '?';
static char *cluster;       /* what is left of -abc */
static int first, last;     /* arguments that are no options, passed over: [first, last) */

static void reverse(char **argv, int from, int to) {
  while (from < --to) {
    char *kept = argv[from];
    argv[from++] = argv[to];
    argv[to] = kept;
  }
}

/* Brings the options [last, optind) before the other arguments [first, last). */
static void exchange(char **argv) {
  reverse(argv, first, last);
  reverse(argv, last, optind);
  reverse(argv, first, optind);
  first += optind - last;
  last = optind;
}

static int long_option(int argc, char **argv, const char *name, const char *dashes, int quiet,
                       const struct option *longs, int *index) {
  size_t length = strcspn(name, "=");
  int found = -1, many = 0;
  for (int i = 0; longs[i].name; i++) {
    if (strncmp(longs[i].name, name, length))
      continue;
    if (strlen(longs[i].name) == length) {
      found = i;
      many = 0;
      break;
    }
    if (found < 0)
      found = i;
    else if (longs[i].has_arg != longs[found].has_arg || longs[i].flag != longs[found].flag ||
             longs[i].val != longs[found].val)
      many = 1;
  }
  if (found < 0 || many) {
    if (found < 0 && !*dashes)
      return -2;
    if (opterr && !quiet)
      fprintf(stderr, "%s: %s option '%s%s'\n", argv[0], many ? "ambiguous" : "unrecognized",
              dashes, name);
    optind++;
    optopt = 0;
    return '?';
  }
  optind++;
  const struct option *option = &longs[found];
  optarg = NULL;
  if (name[length] == '=') {
    if (option->has_arg == no_argument) {
      if (opterr && !quiet)
        fprintf(stderr, "%s: option '%s%s' doesn't allow an argument\n", argv[0], dashes,
                option->name);
      optopt = option->val;
      return '?';
    }
    optarg = (char *)name + length + 1;
  } else if (option->has_arg == required_argument) {
    if (optind >= argc) {
      if (opterr && !quiet)
        fprintf(stderr, "%s: option '%s%s' requires an argument\n", argv[0], dashes, option->name);
      optopt = option->val;
      return quiet ? ':' : '?';
    }
    optarg = argv[optind++];
  }
  if (index)
    *index = found;
  if (option->flag) {
    *option->flag = option->val;
    return 0;
  }
  return option->val;
}

static int parse(int argc, char **argv, const char *letters, const struct option *longs, int *index,
                 int only_long) {
  int in_place = *letters == '+' || getenv("POSIXLY_CORRECT") != NULL, as_one = *letters == '-';
  if (*letters == '+' || *letters == '-')
    letters++;
  int quiet = *letters == ':';
  optarg = NULL;
  if (optind == 0) {
    optind = 1;
    cluster = NULL;
    first = last = 1;
  }
  if (!cluster || !*cluster) {
    cluster = NULL;
    if (last == 0 || last > optind)
      last = optind;
    if (first == 0 || first > optind)
      first = optind;
    if (!in_place && !as_one) {
      if (first != last && last != optind)
        exchange(argv);
      else if (last != optind)
        first = optind;
      while (optind < argc && (argv[optind][0] != '-' || !argv[optind][1]))
        optind++;
      last = optind;
    }
    if (optind < argc && !strcmp(argv[optind], "--")) {
      optind++;
      if (first != last && last != optind)
        exchange(argv);
      else if (first == last)
        first = optind;
      last = argc;
      optind = argc;
    }
    if (optind >= argc) {
      if (first != last)
        optind = first;
      return -1;
    }
    char *word = argv[optind];
    if (word[0] != '-' || !word[1]) {
      if (in_place)
        return -1;
      optarg = argv[optind++];
      return 1;
    }
    if (longs) {
      if (word[1] == '-')
        return long_option(argc, argv, word + 2, "--", quiet, longs, index);
      if (only_long && (word[2] || !strchr(letters, word[1]))) {
        const char *dash = strchr(letters, word[1]) ? "" : "-";
        int value = long_option(argc, argv, word + 1, dash, quiet, longs, index);
        if (value != -2)
          return value;
      }
    }
    cluster = word + 1;
  }
  char letter = *cluster++;
  const char *entry = letter == ':' || letter == ';' ? NULL : strchr(letters, letter);
  int at_end = !*cluster;
  if (!entry) {
    if (opterr && !quiet)
      fprintf(stderr, "%s: invalid option -- '%c'\n", argv[0], letter);
    optopt = (unsigned char)letter;
    if (at_end)
      optind++;
    return '?';
  }
  if (entry[1] != ':') {
    if (at_end)
      optind++;
    return (unsigned char)letter;
  }
  optind++;
  if (!at_end) {
    optarg = cluster;
  } else if (entry[2] != ':') {
    if (optind >= argc) {
      if (opterr && !quiet)
        fprintf(stderr, "%s: option requires an argument -- '%c'\n", argv[0], letter);
      optopt = (unsigned char)letter;
      cluster = NULL;
      return quiet ? ':' : '?';
    }
    optarg = argv[optind++];
  }
  cluster = NULL;
  return (unsigned char)letter;
}

PRIVATE int getopt(int argc, char *const *argv, const char *letters) {
  return parse(argc, (char **)argv, letters, NULL, NULL, 0);
}
PRIVATE int getopt_long(int argc, char *const *argv, const char *letters,
                        const struct option *longs, int *index) {
  return parse(argc, (char **)argv, letters, longs, index, 0);
}
PRIVATE int getopt_long_only(int argc, char *const *argv, const char *letters,
                             const struct option *longs, int *index) {
  return parse(argc, (char **)argv, letters, longs, index, 1);
}
