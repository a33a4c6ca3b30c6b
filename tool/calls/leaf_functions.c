/* leaf_functions.c - data: the functions of the C library that never call a function of the
 * program.
 *
 * A call out of a file may call back into it: qsort calls its comparison, exit the functions given
 * to atexit, dlopen all functions that a library runs when it's loaded. The file itself is silent
 * about it. So all functions are taken to call back, except for this list, each group with its
 * reason. The documents are ISO C and POSIX, which state the callees of each function, and the GNU
 * C library's manual for its additions to them.
 *
 * A function on the list leaves alone the functions that were passed to it, now or earlier, and
 * those that the program may define for it to find. It may take time or block: the waiting frames
 * matter only if the thread can be in a collection meanwhile. That excludes signal handlers, too,
 * except in the functions that run a handler at once, or unblock signals. A program that defines
 * malloc is handled elsewhere: see enum leaf_memory.
 *
 * Functions that end the program call the functions registered for that, see leaf_occasions. For
 * exit, these are the handlers of atexit, on_exit and __cxa_atexit, destructors of thread-local
 * variables, the files' own tables of functions, and streams (ISO C, 7.22.4.4; Linux Standard Base,
 * "__cxa_atexit"; System V ABI, "Initialization and Termination Functions").
 *
 * zlib's functions that compute are here, too; others allocate by functions that the program may
 * store in a stream (zlib.h: zalloc, zfree), or call by name functions that the program may define
 * in place of the C library's. zlib keeps no function of the program's, and runs nothing when it is
 * loaded or unloaded.
 *
 * Left out on purpose: dlclose, dlopen, dlsym (constructors, destructors, resolvers); syscall,
 * which can be any of these; pthread_exit, which unwinds; hcreate's friends, scandir, glob,
 * fopencookie, obstacks, argp; everything that unwinds; iconv, name services and locales' loading,
 * which load libraries; deflate and inflate; setupterm and restartterm, which may end the program
 * (ncurses, curs_terminfo(3x)).
 */
#include "tool/calls/leaf_functions.h"

#include "tool/image/names.h"

#include <string.h>

const struct leaf_group leaf_groups[] = {
    {LEAF_OF_C_LIBRARY, LEAF_PURE,
     "it reads and writes the memory that it is given, and nothing else", "",
     "memcpy memmove memset memcmp memchr memrchr memmem mempcpy rawmemchr explicit_bzero bzero "
     "bcmp bcopy swab memccpy ffs ffsl ffsll "
     "strlen strnlen strcpy strncpy stpcpy stpncpy strcat strncat strcmp strncmp strcasecmp "
     "strncasecmp strchr strchrnul strrchr strstr strcasestr strspn strcspn strpbrk strtok "
     "strtok_r strsep index rindex basename __xpg_basename dirname strverscmp __strtok_r "
     "strcasecmp_l strncasecmp_l strlcpy strlcat "
     "wcslen wcsnlen wcscpy wcsncpy wcscat wcsncat wcscmp wcsncmp wcschr wcsrchr wcsstr wcsspn "
     "wcscspn wcspbrk wcstok wmemcpy wmemmove wmemset wmemcmp wmemchr "
     "__memcpy_chk __memmove_chk __memset_chk __mempcpy_chk __strcpy_chk __strncpy_chk "
     "__strcat_chk __strncat_chk __stpcpy_chk __stpncpy_chk __strlcpy_chk __strlcat_chk "
     "__explicit_bzero_chk __wcscpy_chk __wcscat_chk __wcsncpy_chk __wmemcpy_chk __wmemset_chk"},
    {LEAF_OF_C_LIBRARY, LEAF_PURE, "it converts numbers, or looks characters up, in place", "",
     "atoi atol atoll atof strtol strtoul strtoll strtoull strtoimax strtoumax strtod strtof "
     "strtold strtod_l strtof_l strtold_l strtol_l strtoul_l strtoll_l strtoull_l wcstol "
     "wcstoul wcstoll wcstoull wcstod wcstof wcstold __isoc23_strtol __isoc23_strtoul "
     "__isoc23_strtoll __isoc23_strtoull __strtol_internal isalnum isalpha isblank iscntrl "
     "isdigit isgraph islower isprint ispunct isspace isupper isxdigit tolower toupper "
     "__ctype_b_loc __ctype_tolower_loc __ctype_toupper_loc __ctype_get_mb_cur_max iswalnum "
     "iswalpha iswblank iswcntrl iswdigit iswgraph iswlower iswprint iswpunct iswspace "
     "iswupper iswxdigit towlower towupper iswctype wctype mbsinit htonl htons ntohl ntohs "
     "wcwidth wcswidth inet_aton inet_pton inet_addr __libc_current_sigrtmin "
     "__libc_current_sigrtmax"},
    {LEAF_OF_C_LIBRARY, LEAF_ALLOCATES,
     "it converts between text and bytes or addresses, as the locale or the system has it",
     LEAF_PRINTF_HOOKS,
     "mblen mbtowc wctomb mbstowcs wcstombs mbrtowc wcrtomb mbrlen mbsrtowcs wcsrtombs "
     "mbsnrtowcs wcsnrtombs btowc wctob c32rtomb mbrtoc32 c16rtomb mbrtoc16 regcomp regexec "
     "regerror regfree inet_ntoa inet_ntop __mbstowcs_chk __wcstombs_chk __wcrtomb_chk "
     "__mbsnrtowcs_chk __mbsrtowcs_chk __wcsnrtombs_chk __wcsrtombs_chk gai_strerror "
     "hstrerror"},
    {LEAF_OF_C_LIBRARY, LEAF_PURE, "it computes with numbers", "matherr",
     "abs labs llabs imaxabs div ldiv lldiv imaxdiv rand srand rand_r random srandom drand48 "
     "erand48 lrand48 nrand48 mrand48 jrand48 srand48 seed48 arc4random arc4random_buf "
     "arc4random_uniform initstate setstate "
     "sin cos tan asin acos atan atan2 sinh cosh tanh asinh acosh atanh exp exp2 exp10 expm1 log "
     "log2 log10 log1p logb ilogb pow sqrt cbrt hypot erf erfc tgamma lgamma lgamma_r gamma ceil "
     "floor trunc round nearbyint rint lrint llrint lround llround fmod remainder remquo drem "
     "copysign nan nextafter nexttoward fdim fmax fmin fma fabs frexp ldexp modf scalbn scalbln "
     "significand sincos j0 j1 jn y0 y1 yn finite isinf isnan roundeven "
     "sinf cosf tanf asinf acosf atanf atan2f sinhf coshf tanhf asinhf acoshf atanhf expf exp2f "
     "exp10f expm1f logf log2f log10f log1pf logbf ilogbf powf sqrtf cbrtf hypotf erff erfcf "
     "tgammaf lgammaf lgammaf_r ceilf floorf truncf roundf nearbyintf rintf lrintf llrintf lroundf "
     "llroundf fmodf remainderf remquof copysignf nanf nextafterf nexttowardf fdimf fmaxf fminf "
     "fmaf fabsf frexpf ldexpf modff scalbnf scalblnf sincosf roundevenf "
     "sinl cosl tanl asinl acosl atanl atan2l sinhl coshl tanhl asinhl acoshl atanhl expl exp2l "
     "expm1l logl log2l log10l log1pl logbl ilogbl powl sqrtl cbrtl hypotl erfl erfcl tgammal "
     "lgammal ceill floorl truncl roundl nearbyintl rintl lrintl llrintl lroundl llroundl fmodl "
     "remainderl remquol copysignl nanl nextafterl nexttowardl fdiml fmaxl fminl fmal fabsl frexpl "
     "ldexpl modfl scalbnl scalblnl sincosl __isinf __isnan __finite __isinff __isnanf __finitef "
     "__isinfl __isnanl __fpclassify __fpclassifyf __fpclassifyl __signbit __signbitf __signbitl "
     "fegetround fesetround feclearexcept fetestexcept fegetenv fesetenv "
     "feholdexcept feupdateenv fegetexceptflag fesetexceptflag feenableexcept fedisableexcept "
     "fegetexcept"},
    {LEAF_OF_C_LIBRARY, LEAF_ALLOCATOR, "it manages memory",
     "__malloc_hook __free_hook __realloc_hook __memalign_hook __morecore",
     "malloc calloc realloc reallocarray free cfree posix_memalign aligned_alloc memalign valloc "
     "pvalloc malloc_usable_size malloc_trim mallopt mallinfo mallinfo2 strdup strndup wcsdup "
     "__strdup __strndup __libc_malloc __libc_free __libc_calloc __libc_realloc "
     "mmap mmap64 munmap mremap mprotect madvise posix_madvise mlock munlock mlockall "
     "munlockall mincore brk sbrk shmat shmdt shmget shmctl shm_open shm_unlink memfd_create"},
    {LEAF_OF_C_LIBRARY, LEAF_ALLOCATOR,
     "C++ frees and finds memory; without a handler that the program sets, that calls nothing",
     "_ZSt15set_new_handlerPFvvE __malloc_hook __free_hook",
     "_ZdlPv _ZdlPvm _ZdaPv _ZdaPvm _ZdlPvSt11align_val_t _ZdlPvmSt11align_val_t "
     "_ZdaPvSt11align_val_t _ZdaPvmSt11align_val_t __cxa_guard_acquire __cxa_guard_release "
     "__cxa_guard_abort"},
    {LEAF_OF_C_LIBRARY, LEAF_ALLOCATES,
     "a stream of the C library calls functions of the program only if the program makes such a "
     "stream, or adds a conversion to printf",
     LEAF_STREAM_MAKERS,
     "fopen fopen64 freopen freopen64 fdopen fclose fflush fflush_unlocked fread fwrite "
     "fread_unlocked fwrite_unlocked fgetc getc getchar getc_unlocked getchar_unlocked "
     "fgetc_unlocked _IO_getc _IO_putc __uflow __overflow __underflow ungetc fgets gets fputs "
     "fputc "
     "putc putchar fputc_unlocked putc_unlocked putchar_unlocked fputs_unlocked fgets_unlocked "
     "puts "
     "getline getdelim __getdelim printf fprintf dprintf sprintf snprintf vprintf vfprintf "
     "vdprintf vsprintf vsnprintf asprintf vasprintf scanf fscanf sscanf vscanf vfscanf vsscanf "
     "__isoc99_scanf __isoc99_fscanf __isoc99_sscanf __isoc99_vfscanf __isoc99_vsscanf "
     "__isoc23_scanf __isoc23_fscanf __isoc23_sscanf __isoc23_vsscanf __printf_chk __fprintf_chk "
     "__dprintf_chk __sprintf_chk __snprintf_chk __vprintf_chk __vfprintf_chk __vsprintf_chk "
     "__vsnprintf_chk __vdprintf_chk __asprintf_chk __vasprintf_chk __fread_chk __fgets_chk "
     "__fread_unlocked_chk fseek fseeko fseeko64 ftell ftello ftello64 rewind fgetpos fsetpos feof "
     "ferror clearerr fileno feof_unlocked ferror_unlocked clearerr_unlocked fileno_unlocked "
     "setvbuf setbuf setbuffer setlinebuf tmpfile tmpfile64 tmpnam tempnam mkstemp mkstemp64 "
     "mkdtemp mkostemp mkostemp64 remove rename renameat perror psignal open_memstream fmemopen "
     "popen pclose flockfile funlockfile ftrylockfile fwide fgetwc fputwc getwc putwc putwchar "
     "fgetws fputws getopt getopt_long getopt_long_only ungetwc wprintf fwprintf swprintf "
     "vfwprintf vswprintf __fsetlocking __fpurge"},
    {LEAF_OF_C_LIBRARY, LEAF_PURE, "it hands one request to the kernel", "pthread_cancel",
     "open open64 openat openat64 creat close close_range read write pread pwrite pread64 "
     "pwrite64 readv writev preadv pwritev lseek lseek64 fsync fdatasync sync ftruncate "
     "ftruncate64 truncate truncate64 posix_fadvise fallocate dup dup2 dup3 pipe pipe2 fcntl "
     "fcntl64 ioctl select poll epoll_create epoll_create1 epoll_ctl epoll_wait eventfd "
     "timerfd_create timerfd_settime inotify_init inotify_add_watch sendfile sendfile64 "
     "copy_file_range splice tee __read_chk __pread_chk __open_2 __open64_2 __openat_2 "
     "__openat64_2 __poll_chk __fdelt_chk stat lstat fstat fstatat stat64 lstat64 fstat64 "
     "fstatat64 statx __xstat __lxstat __fxstat __xstat64 __lxstat64 __fxstat64 statfs "
     "fstatfs statfs64 fstatfs64 access chmod fchmod chown fchown lchown fchownat umask utime "
     "utimes utimensat futimens link linkat unlink unlinkat symlink symlinkat readlink "
     "readlinkat mkdir mkdirat rmdir mknod mkfifo chdir fchdir __readlink_chk chroot flock "
     "socket bind listen accept accept4 connect shutdown send sendto sendmsg recv recvfrom "
     "recvmsg __recv_chk __recvfrom_chk setsockopt getsockopt getsockname getpeername "
     "socketpair getpid getppid gettid getuid geteuid getgid getegid getpgid setpgid getpgrp "
     "getsid setsid getpriority setpriority getrlimit setrlimit getrlimit64 setrlimit64 "
     "prlimit prlimit64 getrusage times uname getpagesize wait waitpid waitid wait3 wait4 "
     "execve getentropy getrandom prctl isatty tcgetattr tcsetattr tcgetpgrp tcsetpgrp "
     "sched_yield sched_getaffinity sched_setaffinity sched_getcpu getauxval membarrier msync "
     "time gettimeofday clock clock_gettime clock_settime clock_getres clock_nanosleep "
     "sem_wait sem_timedwait sem_clockwait nanosleep sleep usleep difftime alarm setitimer "
     "getitimer timer_gettime"},
    {LEAF_OF_C_LIBRARY, LEAF_ALLOCATES,
     "it asks the kernel for something, perhaps several times, and returns with the answer",
     "pthread_cancel " LEAF_PRINTF_HOOKS,
     "closefrom posix_fallocate statvfs fstatvfs statvfs64 fstatvfs64 faccessat eaccess "
     "fchmodat futimes lutimes getcwd __getcwd_chk realpath __realpath_chk opendir fdopendir "
     "readdir readdir64 closedir rewinddir telldir seekdir dirfd lockf lockf64 getxattr "
     "setxattr listxattr removexattr setuid setgid seteuid setegid setreuid setregid "
     "setresuid setresgid getresuid getresgid getgroups setgroups setpgrp nice gethostname "
     "sethostname getdomainname sysinfo sysconf __sysconf pathconf fpathconf confstr "
     "get_nprocs get_nprocs_conf getloadavg execv execvp execl execlp execle fexecve "
     "posix_spawn_file_actions_init posix_spawn_file_actions_destroy "
     "posix_spawn_file_actions_addopen posix_spawn_file_actions_addclose "
     "posix_spawn_file_actions_adddup2 posix_spawnattr_init posix_spawnattr_destroy "
     "posix_spawnattr_setflags posix_spawnattr_setpgroup posix_spawnattr_setsigmask "
     "posix_spawnattr_setsigdefault posix_spawnattr_setschedparam "
     "posix_spawnattr_setschedpolicy posix_fallocate64 posix_fadvise64 fallocate64 preadv2 "
     "pwritev2 preadv64 pwritev64 signalfd sendmmsg recvmmsg inotify_rm_watch inotify_init1 "
     "timerfd_gettime mkfifoat mknodat faccessat2 syncfs getpeereid tcflush tcdrain tcflow "
     "tcsendbreak cfmakeraw cfgetispeed cfsetispeed cfsetospeed ctermid vsyslog __syslog_chk "
     "__vsyslog_chk sched_rr_get_interval ttyname ttyname_r cfgetospeed sched_getparam "
     "sched_setparam sched_getscheduler sched_setscheduler sched_get_priority_min "
     "sched_get_priority_max __sched_cpualloc __sched_cpufree lgetxattr fgetxattr lsetxattr "
     "fsetxattr llistxattr flistxattr lremovexattr fremovexattr personality syslog openlog "
     "closelog"},
    {LEAF_OF_C_LIBRARY, LEAF_ALLOCATES, "it converts between times and dates",
     "pthread_cancel " LEAF_PRINTF_HOOKS,
     "settimeofday mktime timegm gmtime gmtime_r localtime localtime_r asctime asctime_r "
     "ctime ctime_r strftime strftime_l strptime tzset ftime clock_getcpuclockid"},
    {LEAF_OF_C_LIBRARY, LEAF_PURE, "it looks up what the process has already", "",
     "getenv secure_getenv localeconv __errno_location __h_errno_location"},
    {LEAF_OF_C_LIBRARY, LEAF_ALLOCATES,
     "it reads or changes what the process knows of its surroundings", LEAF_PRINTF_HOOKS,
     "strcoll strxfrm strcoll_l strxfrm_l wcscoll wcsxfrm setenv unsetenv putenv clearenv "
     "setlocale nl_langinfo nl_langinfo_l newlocale uselocale freelocale duplocale strerror "
     "strerror_r __xpg_strerror_r strsignal sigabbrev_np strerrorname_np gettext dgettext "
     "dcgettext ngettext textdomain bindtextdomain bind_textdomain_codeset __tls_get_addr "
     "gnu_get_libc_version"},
    {LEAF_OF_C_LIBRARY, LEAF_ALLOCATES,
     "it only notes what the program asks for; what it notes runs later, from elsewhere", "",
     "atexit at_quick_exit __cxa_atexit __cxa_thread_atexit_impl on_exit signal sigaction "
     "__sysv_signal bsd_signal sigemptyset sigfillset sigaddset sigdelset sigismember sigaltstack "
     "sigpending pthread_atfork __register_atfork pthread_key_create"},
    {LEAF_OF_C_LIBRARY, LEAF_PURE,
     "it works on one object, or waits for other threads, which have stacks of their own", "",
     "pthread_self pthread_equal pthread_mutex_init pthread_mutex_destroy pthread_mutex_lock "
     "pthread_mutex_trylock pthread_mutex_timedlock pthread_mutex_clocklock "
     "pthread_mutex_unlock pthread_mutexattr_init pthread_mutexattr_destroy "
     "pthread_mutexattr_settype pthread_rwlock_init pthread_rwlock_destroy "
     "pthread_rwlock_rdlock pthread_rwlock_wrlock pthread_rwlock_tryrdlock "
     "pthread_rwlock_trywrlock pthread_rwlock_unlock pthread_spin_init pthread_spin_destroy "
     "pthread_spin_lock pthread_spin_trylock pthread_spin_unlock pthread_cond_init "
     "pthread_cond_destroy pthread_cond_signal pthread_cond_broadcast sem_init sem_destroy "
     "sem_post sem_trywait sem_getvalue pthread_getspecific"},
    {LEAF_OF_C_LIBRARY, LEAF_ALLOCATES,
     "it waits for, or tells other threads, which have stacks of their own", "",
     "pthread_condattr_init pthread_condattr_destroy pthread_condattr_setclock "
     "pthread_attr_init pthread_attr_destroy pthread_attr_setstacksize "
     "pthread_attr_getstacksize pthread_attr_setdetachstate pthread_attr_getstack "
     "pthread_attr_setscope pthread_getattr_np pthread_setspecific pthread_key_delete "
     "pthread_detach pthread_barrier_init pthread_barrier_destroy pthread_attr_setguardsize "
     "pthread_attr_getguardsize pthread_attr_getdetachstate pthread_attr_setstack "
     "pthread_mutexattr_gettype pthread_mutexattr_setpshared pthread_mutexattr_setprotocol "
     "pthread_mutexattr_setrobust pthread_condattr_setpshared pthread_rwlockattr_init "
     "pthread_rwlockattr_destroy pthread_setschedparam pthread_getschedparam "
     "pthread_setname_np pthread_getname_np pthread_getcpuclockid pthread_get_stacksize_np "
     "pthread_getaffinity_np pthread_setaffinity_np"},
    {LEAF_OF_C_LIBRARY, LEAF_PURE, "it notes where the frame is to which a jump goes back", "",
     "setjmp _setjmp __sigsetjmp sigsetjmp"},
    {LEAF_OF_C_LIBRARY, LEAF_PURE,
     "it goes back to a frame that is waiting, and leaves out those above it, if there is one "
     "stack",
     "_pthread_cleanup_push _pthread_cleanup_push_defer " LEAF_STACK_MAKERS, "longjmp _longjmp"},
    {LEAF_OF_C_LIBRARY, LEAF_ALLOCATES,
     "it unblocks signals, whose handlers then run at once; apart from that, it asks the kernel "
     "for "
     "something, or goes back to a frame",
     "pthread_cancel _pthread_cleanup_push _pthread_cleanup_push_defer " LEAF_STACK_MAKERS
     " " LEAF_HANDLER_SETTERS,
     "pselect ppoll epoll_pwait epoll_pwait2 system siglongjmp __longjmp_chk posix_spawn "
     "posix_spawnp pthread_create"},
    {LEAF_OF_C_LIBRARY, LEAF_ALLOCATES,
     "it waits for other threads, which have stacks of their own", "pthread_cancel",
     "pthread_join pthread_timedjoin_np pthread_tryjoin_np pthread_clockjoin_np pthread_cond_wait "
     "pthread_cond_timedwait pthread_cond_clockwait pthread_barrier_wait"},
    {LEAF_OF_C_LIBRARY, LEAF_ALLOCATES, "it frees what the C library has made, or tells of it",
     LEAF_PRINTF_HOOKS,
     "freeaddrinfo freeifaddrs if_freenameindex globfree wordfree dlerror dladdr"},
    {LEAF_OF_C_LIBRARY, LEAF_ALONE,
     "nothing is registered to run at a fork, nor for signals that it unblocks",
     "pthread_atfork __register_atfork pthread_cancel " LEAF_HANDLER_SETTERS " " LEAF_LOADERS,
     "fork _Fork vfork daemon"},
    {LEAF_OF_C_LIBRARY, LEAF_ALONE, "it may run a handler of a signal at once, and there are none",
     LEAF_HANDLER_SETTERS " pthread_cancel " LEAF_LOADERS,
     "raise kill killpg tgkill pthread_kill sigqueue pthread_sigqueue sigprocmask pthread_sigmask "
     "sigsuspend pause sigwait sigtimedwait sigwaitinfo"},
    {LEAF_OF_ZLIB, LEAF_PURE, "zlib computes with the memory that it is given", "crc32_z adler32_z",
     "crc32 adler32 get_crc_table zlibVersion zlibCompileFlags zError compressBound deflateBound "
     "deflatePending"},
    {LEAF_OF_C_LIBRARY, LEAF_PURE,
     "it ends the process, without running anything of the program's first", "", "_exit _Exit"},
    {LEAF_OF_C_LIBRARY, LEAF_PURE, "it counts calls, for a profile that is written at the end", "",
     "mcount _mcount __fentry__ __cyg_profile_func_enter __cyg_profile_func_exit moncontrol "
     "monstartup __monstartup _mcleanup"},
    {LEAF_OF_TERMINALS, LEAF_ALLOCATES, "it looks up, or writes, what controls a terminal",
     LEAF_STREAM_MAKERS,
     "tgetent tgetflag tgetnum tgetstr tgoto tparm tiparm tiparm_s tigetflag tigetnum tigetstr "
     "set_curterm del_curterm putp termname longname "
     "def_prog_mode def_shell_mode reset_prog_mode reset_shell_mode"},
    {LEAF_OF_STACKPACK, LEAF_PURE, "it reads the table that it is given (stackpack.h)", "",
     "stackpack_find stackpack_enter stackpack_leave stackpack_error_text stackpack_table_open "
     "stackpack_table_check stackpack_table_records stackpack_table_find stackpack_table_record "
     "stackpack_record_function stackpack_record_next stackpack_record_frame stackpack_pairs "
     "stackpack_pairs_next stackpack_cache_open stackpack_locations stackpack_locations_next "
     "stackpack_details_space stackpack_process_modules stackpack_module_error "
     "stackpack_context_at_call stackpack_context_at_signal stackpack_walk_text "
     "stackpack_walk_root stackpack_walk_address stackpack_global_roots "
     "stackpack_global_roots_next"},
    {LEAF_OF_COMPILERS, LEAF_PURE, "start files call it, if there is one, before or after all else",
     "", "__gmon_start__ _ITM_registerTMCloneTable _ITM_deregisterTMCloneTable"},
    {LEAF_OF_COMPILERS, LEAF_ALLOCATES,
     "a sanitizer, or a count of what is covered, calls functions of the program only if it sets "
     "or defines them",
     LEAF_SANITIZER_HOOKS,
     "__asan_* __hwasan_* __lsan_* __msan_* __tsan_* __ubsan_* __sanitizer_cov_* __gcov_* "
     "__llvm_profile_*"},
};
const size_t leaf_group_count = sizeof leaf_groups / sizeof *leaf_groups;

static const char never_return[] =
    "exit _exit _Exit quick_exit abort longjmp _longjmp siglongjmp __longjmp_chk __assert_fail "
    "__assert_perror_fail __assert __stack_chk_fail __chk_fail __fortify_fail pthread_exit "
    "thrd_exit "
    "__cxa_throw __cxa_rethrow __cxa_bad_cast __cxa_bad_typeid __cxa_throw_bad_array_new_length "
    "__cxa_call_unexpected __cxa_pure_virtual _Unwind_Resume _ZSt9terminatev _ZSt10unexpectedv "
    "_ZSt17__throw_bad_allocv _ZSt20__throw_length_errorPKc _ZSt19__throw_logic_errorPKc "
    "_ZSt20__throw_out_of_rangePKc _ZSt24__throw_out_of_range_fmtPKcz "
    "_ZSt16__throw_bad_castv _ZSt25__throw_bad_function_callv __libc_start_main";

/* Whether a name starts with one of the words, up to the word's star. */
static bool starts_have(const char *words, const char *name) {
  for (const char *star; (star = strchr(words, '*')) != NULL; words = star + 1) {
    const char *word = star;
    while (word > words && word[-1] != ' ')
      word--;
    if (strncmp(name, word, (size_t)(star - word)) == 0)
      return true;
  }
  return false;
}

size_t leaf_group_of(const char *name, enum leaf_library library) {
  for (size_t group = 0; group < leaf_group_count; group++)
    if (leaf_groups[group].library == library &&
        (name_is_among(name, ' ', leaf_groups[group].names) ||
         starts_have(leaf_groups[group].names, name)))
      return group;
  return leaf_group_count;
}

struct leaf_callback leaf_callback(const char *name) {
  static const struct {
    const char *names;
    struct leaf_callback what;
  } callbacks[] = {
      {"dl_iterate_phdr", {LEAF_OF_C_LIBRARY, LEAF_AT_ONCE, 0}},
      {"twalk pthread_once call_once ftw ftw64 nftw nftw64", {LEAF_OF_C_LIBRARY, LEAF_AT_ONCE, 1}},
      {"tsearch tfind tdelete", {LEAF_OF_C_LIBRARY, LEAF_AT_ONCE, 2}},
      {"qsort qsort_r", {LEAF_OF_C_LIBRARY, LEAF_AT_ONCE, 3}},
      {"bsearch lfind lsearch", {LEAF_OF_C_LIBRARY, LEAF_AT_ONCE, 4}},
      {"atexit on_exit __cxa_atexit __cxa_thread_atexit_impl",
       {LEAF_OF_C_LIBRARY, LEAF_AT_EXIT, 0}},
      {"at_quick_exit __cxa_at_quick_exit", {LEAF_OF_C_LIBRARY, LEAF_AT_QUICK_EXIT, 0}},
      {LEAF_SIGNAL_FUNCTIONS, {LEAF_OF_C_LIBRARY, LEAF_AT_ABORT, 0}},
      {"vidputs", {LEAF_OF_TERMINALS, LEAF_AT_ONCE, 1}},
      {"tputs", {LEAF_OF_TERMINALS, LEAF_AT_ONCE, 2}},
      {"vid_puts", {LEAF_OF_TERMINALS, LEAF_AT_ONCE, 3}},
  };
  for (size_t i = 0; i < sizeof callbacks / sizeof *callbacks; i++)
    if (name_is_among(name, ' ', callbacks[i].names))
      return callbacks[i].what;
  return (struct leaf_callback){.argument = -1};
}

uint8_t leaf_occasions(const char *name) {
  if (name_is_among(name, ' ', "exit __cxa_finalize"))
    return LEAF_AT_EXIT;
  if (name_is_among(name, ' ', "quick_exit"))
    return LEAF_AT_QUICK_EXIT;
  return name_is_among(name, ' ',
                       "abort __assert_fail __assert_perror_fail __assert __stack_chk_fail "
                       "__chk_fail __fortify_fail")
             ? LEAF_AT_ABORT
             : 0;
}

bool leaf_is_allocator(const char *name) {
  for (size_t group = 0; group < leaf_group_count; group++)
    if (leaf_groups[group].memory == LEAF_ALLOCATOR &&
        name_is_among(name, ' ', leaf_groups[group].names))
      return true;
  return false;
}

bool leaf_function_never_returns(const char *name) {
  return name_is_among(name, ' ', never_return);
}
