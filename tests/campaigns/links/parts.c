/* parts.c - other things that share a program's file and memory with its stack maps; each checks itself when it is loaded. The
 * compilation of a part defines `part_` and its name. */
#define CHECK(condition)                                                                           \
  __attribute__((constructor)) static void check(void) {                                           \
    if (!(condition))                                                                              \
      __builtin_trap();                                                                            \
  }

#if defined(part_thread_local)
_Thread_local char local_zeros[70000];
_Thread_local long local_number = 2;
CHECK(local_zeros[5] == 0 && local_number == 2)
#elif defined(part_large)
char zeros[300000];
char aligned_zeros[70000] __attribute__((aligned(65536)));
const char constants[100000] __attribute__((aligned(4096))) = {1};
char data[9001] = {1};
CHECK(zeros[9] == 0 && aligned_zeros[9] == 0 && constants[0] == 1 && data[0] == 1)
#elif defined(part_ifunc)
static int one(void) { return 1; }
static int (*resolve(void))(void) { return one; }
int resolved(void) __attribute__((ifunc("resolve")));
CHECK(resolved() == 1)
#elif defined(part_sections)
long run(long n);
__attribute__((section("own"), used)) static void *pointers[3] = {(void *)1, (void *)run,
                                                                  (void *)2};
extern void *__start_own[], *__stop_own[];
__attribute__((section(".note.own8"), used, aligned(8))) static const struct {
  int name_size, size, type;
  char name[8];
  long description;
} note8 = {5, 8, 1, "Mine", 3};
__attribute__((section(".note.own4"), used, aligned(4))) static const struct {
  int name_size, size, type;
  char name[8];
  int description;
} note4 = {5, 4, 1, "Mine", 3};
CHECK(__stop_own - __start_own == 3 && pointers[0] == (void *)1)
#elif defined(part_pointers)
long run(long n);
const void *const table[600] = {[3] = (void *)run};
char before[3] = {1};
CHECK(table[3] == (void *)run && before[0] == 1)
#elif defined(part_aligned)
char huge[10] __attribute__((aligned(2097152))) = {1};
CHECK(huge[0] == 1 && (unsigned long)huge % 2097152 == 0)
#endif
