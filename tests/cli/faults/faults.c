/* faults.c - runs a program again and again, and lets one of its calls fail each time: the first, then
 * the second, and so on.
 *
 * Preloaded (LD_PRELOAD), before main: the process forks for each run, so that loading happens
 * once. The first run is free of faults. It counts the calls, and every later run of the same exit
 * status must have its output and files. Any other must exit with status 2,
 * say why, and leave each file unchanged, or equal to the one after success; where they are
 * unchanged, it prints no result. Nothing may be killed.
 *
 * Instead of failing, a call can come just after another process changed the file that is read: then
 * a success has the output of the unchanged file.
 *
 *   FAULTS=allocation, or a name in `kinds`: which calls
 *   FAULTS_INPUT=A     the file that is truncated or overwritten
 *   FAULTS_FILES=A:B   the files that the program writes; the folder mustn't get others
 *   FAULTS_RUNS=N      about how many runs; the calls that fail are spread evenly
 *
 * Allocations are counted by taking the place of malloc. System calls are counted by seccomp: a
 * trapped one raises SIGSYS, whose handler makes the call itself, or skips it. (x86-64)
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

enum { CALLS_MAX = 8, FILES_MAX = 4, SECONDS = 30 };

#define READING                                                                                    \
  { SYS_open, SYS_openat, SYS_read, SYS_pread64, SYS_mmap, SYS_fstat, SYS_close, -1 }

static const struct kind {
  const char *name;
  int error;            /* 0: none, the input is changed */
  int calls[CALLS_MAX]; /* -1: no more */
} kinds[] = {
    {"open", EMFILE, {SYS_open, SYS_openat, -1}},
    {"map", ENOMEM, {SYS_mmap, SYS_mremap, -1}},
    {"read", EIO, {SYS_read, SYS_pread64, SYS_readv, -1}},
    {"write", ENOSPC, {SYS_write, SYS_pwrite64, SYS_writev, SYS_copy_file_range, SYS_sendfile, -1}},
    {"close", EIO, {SYS_close, -1}},
    {"sync", EIO, {SYS_fsync, SYS_fdatasync, -1}},
    {"rename", EACCES, {SYS_rename, SYS_renameat, SYS_renameat2, SYS_link, SYS_linkat, -1}},
    {"stat", EIO, {SYS_fstat, SYS_stat, SYS_newfstatat, SYS_statx, -1}},
    {"mode", EPERM, {SYS_fchmod, SYS_fchown, SYS_ftruncate, SYS_fallocate, SYS_fchmodat, -1}},
    {"truncated", 0, READING},
    {"overwritten", 0, READING},
};

/* Shared by all runs. */
static volatile struct { long calls; /* made so far in this run */ } * counter;
static long failing; /* the number of the call that fails, 0: none */
static bool active;
static const struct kind *kind;

struct contents {
  char *bytes; /* NULL: there is no such file */
  size_t size;
};

static struct {
  const char *path; /* NULL: none is changed */
  struct contents contents;
} input;

static bool fails(void) {
  return active && __atomic_add_fetch(&counter->calls, 1, __ATOMIC_RELAXED) == failing;
}

/* ---- Allocations ---- */

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *memory, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

static bool allocation_fails(void) {
  if (kind != NULL || !fails())
    return false;
  errno = ENOMEM;
  return true;
}
void *malloc(size_t size) { return allocation_fails() ? NULL : __libc_malloc(size); }
void *calloc(size_t count, size_t size) {
  return allocation_fails() ? NULL : __libc_calloc(count, size);
}
void *realloc(void *memory, size_t size) {
  return allocation_fails() ? NULL : __libc_realloc(memory, size);
}
void *aligned_alloc(size_t alignment, size_t size) {
  return allocation_fails() ? NULL : __libc_memalign(alignment, size);
}

/* ---- System calls ---- */

/* As libc's syscall, at a place of its own, allowed by the filter. */
long faults_call(long number, long a, long b, long c, long d, long e, long f);
extern const char faults_call_end[];
__asm__(".text\n"
        "faults_call: mov %rdi, %rax\n mov %rsi, %rdi\n mov %rdx, %rsi\n mov %rcx, %rdx\n"
        "mov %r8, %r10\n mov %r9, %r8\n mov 8(%rsp), %r9\n syscall\n"
        "faults_call_end: ret\n");

/* Half of it is gone; or all of it is zeros, as many as before. */
static void change_input(void) {
  const bool is_truncated = strcmp(kind->name, "truncated") == 0;
  faults_call(SYS_truncate, (long)input.path, is_truncated ? (long)input.contents.size / 2 : 0, 0,
              0, 0, 0);
  if (!is_truncated)
    faults_call(SYS_truncate, (long)input.path, (long)input.contents.size, 0, 0, 0, 0);
}

static void on_call(int signal, siginfo_t *info, void *context) {
  greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
  (void)signal;
  const bool is_chosen = fails(), fail = is_chosen && kind->error != 0;
  if (is_chosen && !fail)
    change_input();
  if (fail && info->si_syscall != SYS_close) /* a file is closed all the same */
    registers[REG_RAX] = -kind->error;
  else
    registers[REG_RAX] =
        faults_call(info->si_syscall, registers[REG_RDI], registers[REG_RSI], registers[REG_RDX],
                    registers[REG_R10], registers[REG_R8], registers[REG_R9]);
  if (fail)
    registers[REG_RAX] = -kind->error;
}

/* A program that makes all signals wait means those from outside. */
int pthread_sigmask(int how, const sigset_t *set, sigset_t *before) {
  enum { KERNEL_SIZE = 8 };
  sigset_t other;
  if (set != NULL) {
    other = *set;
    sigdelset(&other, SIGSYS);
  }
  return (int)-faults_call(SYS_rt_sigprocmask, how, set == NULL ? 0 : (long)&other, (long)before,
                           KERNEL_SIZE, 0, 0);
}

static void trap_calls(void) {
  const uint64_t end = (uintptr_t)faults_call_end;
  const unsigned pointer = offsetof(struct seccomp_data, instruction_pointer);
  struct sock_filter filter[CALLS_MAX + 8];
  unsigned count = 0, calls = 0;
  while (kind->calls[calls] >= 0)
    calls++;
  filter[count++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, pointer);
  filter[count++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)end, 0, 2);
  filter[count++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, pointer + 4);
  filter[count++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)(end >> 32),
                                                 (uint8_t)(calls + 1), 0);
  filter[count++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0);
  for (unsigned i = 0; i < calls; i++)
    filter[count++] = (struct sock_filter)BPF_JUMP(
        BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)kind->calls[i], (uint8_t)(calls - i), 0);
  filter[count++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  filter[count++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP);
  const struct sock_fprog program = {(unsigned short)count, filter};
  const struct sigaction action = {.sa_sigaction = on_call, .sa_flags = SA_SIGINFO};
  sigaction(SIGSYS, &action, NULL);
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
    _exit(77);
}

/* ---- Files ---- */

static struct contents read_file(const char *path) {
  struct contents contents = {0};
  FILE *file = fopen(path, "rb");
  if (file == NULL)
    return contents;
  fseek(file, 0, SEEK_END);
  contents.size = (size_t)ftell(file);
  rewind(file);
  contents.bytes = malloc(contents.size + 1);
  contents.size = fread(contents.bytes, 1, contents.size, file);
  fclose(file);
  return contents;
}

static bool is_same(struct contents a, struct contents b) {
  return (a.bytes == NULL) == (b.bytes == NULL) && a.size == b.size &&
         (a.size == 0 || memcmp(a.bytes, b.bytes, a.size) == 0);
}

struct state {
  struct contents files[FILES_MAX];
  unsigned names; /* in the folder */
};

static char *paths[FILES_MAX];
static unsigned path_count;

static struct state look(void) {
  struct state state = {0};
  for (unsigned i = 0; i < path_count; i++)
    state.files[i] = read_file(paths[i]);
  DIR *folder = opendir(".");
  while (readdir(folder) != NULL)
    state.names++;
  closedir(folder);
  return state;
}

static void write_file(const char *path, struct contents contents) {
  unlink(path);
  FILE *file = contents.bytes != NULL ? fopen(path, "wb") : NULL;
  if (file == NULL)
    return;
  fwrite(contents.bytes, 1, contents.size, file);
  fclose(file);
}

/* A file may have been replaced by a broken one: so each is written anew. The input is an hour old: clocks
 * of file systems are coarse, and a change must show. */
static void put_back(const struct state *state) {
  for (unsigned i = 0; i < path_count; i++)
    write_file(paths[i], state->files[i]);
  if (input.path == NULL)
    return;
  struct timespec times[2] = {{.tv_sec = time(NULL) - 3600}, {.tv_sec = time(NULL) - 3600}};
  write_file(input.path, input.contents);
  utimensat(AT_FDCWD, input.path, times, 0);
}

static void forget(struct state *state) {
  for (unsigned i = 0; i < path_count; i++)
    free(state->files[i].bytes);
}

/* ---- Runs ---- */

static int run(long number) {
  counter->calls = 0;
  fflush(NULL);
  const pid_t child = fork();
  if (child == 0) {
    failing = number;
    alarm(SECONDS);
    if (dup2(open("faults.out", O_WRONLY | O_CREAT | O_TRUNC, 0666), STDOUT_FILENO) < 0 ||
        dup2(open("faults.err", O_WRONLY | O_CREAT | O_TRUNC, 0666), STDERR_FILENO) < 0)
      _exit(77);
    /* The first call maps memory in glibc 2.41, with all signals blocked: a trap would be fatal. */
    char byte;
    if (getrandom(&byte, 1, 0) != 1)
      _exit(77);
    if (kind != NULL)
      trap_calls();
    active = true;
    return -1;
  }
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

/* The fault of a run; NULL: nothing. */
static const char *judge(int status, int right_status, const struct state *before,
                         const struct state *after, struct contents right_output) {
  struct contents output = read_file("faults.out"), errors = read_file("faults.err");
  struct state now = look();
  const char *wrong = NULL;
  const bool success = status == right_status;
  if (WIFSIGNALED(status))
    wrong = "it was killed";
  else if (!success && WEXITSTATUS(status) != 2)
    wrong = "another exit status";
  else if (success && !is_same(output, right_output))
    wrong = "success, with another output";
  else if (!success && errors.size == 0 && (kind == NULL || strcmp(kind->name, "write") != 0))
    wrong = "no word of what is wrong";
  else if (now.names > before->names && now.names > after->names)
    wrong = "a file was left";
  for (unsigned i = 0; i < path_count && wrong == NULL; i++)
    if (!is_same(now.files[i], after->files[i]) &&
        (success || !is_same(now.files[i], before->files[i])))
      wrong = success ? "success, with another file" : "a file is broken";
  bool is_unchanged = path_count > 0 && !success;
  for (unsigned i = 0; i < path_count; i++)
    is_unchanged &= is_same(now.files[i], before->files[i]);
  if (is_unchanged && wrong == NULL && output.size > 0)
    wrong = "a result of nothing";
  if (wrong != NULL)
    fprintf(stderr, "status %#x: %.*s\n", (unsigned)status, (int)errors.size,
            errors.bytes == NULL ? "" : errors.bytes);
  free(output.bytes);
  free(errors.bytes);
  forget(&now);
  return wrong;
}

__attribute__((constructor)) static void sweep(void) {
  const char *name = getenv("FAULTS"), *files = getenv("FAULTS_FILES"),
             *runs = getenv("FAULTS_RUNS");
  if (name == NULL)
    return;
  for (unsigned i = 0; i < sizeof kinds / sizeof *kinds; i++)
    if (strcmp(kinds[i].name, name) == 0)
      kind = &kinds[i];
  for (char *file = strtok(strdup(files == NULL ? "" : files), ":"); file != NULL;
       file = strtok(NULL, ":"))
    paths[path_count++] = file;
  input.path = getenv("FAULTS_INPUT");
  if (input.path != NULL)
    input.contents = read_file(input.path);
  unsetenv("FAULTS");
  unsetenv("LD_PRELOAD");
  counter = mmap(NULL, sizeof *counter, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  struct state before = look();
  before.names += (access("faults.out", F_OK) != 0) + (access("faults.err", F_OK) != 0);
  const int right_status = run(0);
  if (right_status == -1)
    return; /* on to main */
  struct state after = look();
  struct contents output = read_file("faults.out");
  const long calls = counter->calls, limit = runs == NULL ? calls : atol(runs);
  long done = 0, bad = 0;
  if (WIFSIGNALED(right_status) || WEXITSTATUS(right_status) >= 2)
    _exit(3);
  for (long i = 0; i < calls && i < limit; i++, done++) {
    const long number = 1 + (calls > limit ? i * calls / limit : i);
    put_back(&before);
    const int status = run(number);
    if (status == -1)
      return;
    const char *wrong = judge(status, right_status, &before, &after, output);
    if (wrong == NULL)
      continue;
    bad++;
    fprintf(stderr, "%s %ld of %ld: %s\n", name, number, calls, wrong);
  }
  put_back(&before);
  printf("%s: %ld calls, %ld runs, %ld bad\n", name, calls, done, bad);
  fflush(NULL);
  _exit(bad > 0);
}
