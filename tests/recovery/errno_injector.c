// SPDX-License-Identifier: Apache-2.0
// An LD_PRELOAD library that makes calls on files fail. $ERRNO_FAULTS names a control file, read at
// every call, with lines `call word errno who`: calls on paths that contain the word fail with that
// errno in `supervisor` (the first process that loaded this), `children` or `all`. What failed is
// told in FILE.struck. errno_faults.py is the way to use it from a test.
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static const char* control_file;
static long supervisor;

__attribute__((constructor)) static void remember_who_is_first(void) {
  char own[32];
  snprintf(own, sizeof own, "%ld", (long)getpid());
  setenv("ERRNO_FAULTS_SUPERVISOR", own, 0);
  supervisor = atol(getenv("ERRNO_FAULTS_SUPERVISOR"));
  control_file = getenv("ERRNO_FAULTS");
}

// System calls, not functions of libc: those may be the ones that are intercepted.
static void tell(const char* call, const char* path) {
  char name[PATH_MAX], line[PATH_MAX + 64];
  snprintf(name, sizeof name, "%s.struck", control_file);
  const int length = snprintf(line, sizeof line, "%s %s %ld\n", call, path, (long)getpid());
  const int file = (int)syscall(SYS_openat, AT_FDCWD, name, O_WRONLY | O_CREAT | O_APPEND, 0644);
  if (file < 0) return;
  syscall(SYS_write, file, line, (size_t)length);
  syscall(SYS_close, file);
}

static int fault_of_line(const char* line, const char* call, const char* path) {
  char of[32], word[256], who[32];
  int error = 0;
  if (sscanf(line, "%31s %255s %d %31s", of, word, &error, who) != 4) return 0;
  if (strcmp(of, call) != 0 || !strstr(path, word)) return 0;
  const int is_supervisor = getpid() == supervisor;
  return strcmp(who, "all") == 0 || is_supervisor == (strcmp(who, "supervisor") == 0) ? error : 0;
}

// The errno that the call on this path is to fail with; 0: it is to be made.
static int fault(const char* call, const char* path) {
  if (!control_file || !path || strncmp(path, control_file, strlen(control_file)) == 0) return 0;
  const int before = errno;
  char text[4096];
  const int file = (int)syscall(SYS_openat, AT_FDCWD, control_file, O_RDONLY | O_CLOEXEC);
  const long length = file < 0 ? 0 : syscall(SYS_read, file, text, sizeof text - 1);
  if (file >= 0) syscall(SYS_close, file);
  errno = before;
  text[length > 0 ? length : 0] = 0;
  char* rest = text;
  for (char* line = strsep(&rest, "\n"); line; line = strsep(&rest, "\n")) {
    const int error = fault_of_line(line, call, path);
    if (error == 0) continue;
    tell(call, path);
    errno = error;
    return error;
  }
  return 0;
}

static int fault_of_handle(const char* call, int handle) {
  char link[64], path[PATH_MAX];
  if (!control_file) return 0;
  const int before = errno;
  snprintf(link, sizeof link, "/proc/self/fd/%d", handle);
  const long length = syscall(SYS_readlinkat, AT_FDCWD, link, path, sizeof path - 1);
  errno = before;
  if (length <= 0) return 0;
  path[length] = 0;
  return fault(call, path);
}

// REAL(open)(path, flags) is the call that would have been made without this library.
#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
#define FAIL(call, path, result) \
  if (fault(call, path)) return result
#define FAIL_HANDLE(call, handle, result) \
  if (fault_of_handle(call, handle)) return result
#define MODE_OF(flags)                     \
  mode_t mode = 0;                         \
  if ((flags) & (O_CREAT | __O_TMPFILE)) { \
    va_list more;                          \
    va_start(more, flags);                 \
    mode = (mode_t)va_arg(more, int);      \
    va_end(more);                          \
  }

// open
#define OPEN(name)                             \
  int name(const char* path, int flags, ...) { \
    MODE_OF(flags)                             \
    FAIL("open", path, -1);                    \
    return REAL(name)(path, flags, mode);      \
  }
#define OPENAT(name)                                       \
  int name(int folder, const char* path, int flags, ...) { \
    MODE_OF(flags)                                         \
    FAIL("open", path, -1);                                \
    return REAL(name)(folder, path, flags, mode);          \
  }
#define FOPEN(name)                               \
  FILE* name(const char* path, const char* how) { \
    FAIL("open", path, NULL);                     \
    return REAL(name)(path, how);                 \
  }
OPEN(open)
OPEN(open64)
OPENAT(openat)
OPENAT(openat64)
FOPEN(fopen)
FOPEN(fopen64)

// opendir, readdir
DIR* opendir(const char* path) {
  FAIL("opendir", path, NULL);
  return REAL(opendir)(path);
}
DIR* fdopendir(int handle) {
  FAIL_HANDLE("opendir", handle, NULL);
  return REAL(fdopendir)(handle);
}
struct dirent* readdir(DIR* folder) {
  FAIL_HANDLE("readdir", dirfd(folder), NULL);
  return REAL(readdir)(folder);
}
struct dirent64* readdir64(DIR* folder) {
  FAIL_HANDLE("readdir", dirfd(folder), NULL);
  return REAL(readdir64)(folder);
}

// read, write
#define TRANSFER(call, name, bytes)                    \
  ssize_t name(int handle, bytes data, size_t count) { \
    FAIL_HANDLE(call, handle, -1);                     \
    return REAL(name)(handle, data, count);            \
  }
#define TRANSFER_AT(call, name, bytes, place)                        \
  ssize_t name(int handle, bytes data, size_t count, place offset) { \
    FAIL_HANDLE(call, handle, -1);                                   \
    return REAL(name)(handle, data, count, offset);                  \
  }
#define TRANSFER_PARTS(call, name)                                 \
  ssize_t name(int handle, const struct iovec* parts, int count) { \
    FAIL_HANDLE(call, handle, -1);                                 \
    return REAL(name)(handle, parts, count);                       \
  }
TRANSFER("read", read, void*)
TRANSFER_AT("read", pread, void*, off_t)
TRANSFER_AT("read", pread64, void*, off64_t)
TRANSFER_PARTS("read", readv)
TRANSFER("write", write, const void*)
TRANSFER_AT("write", pwrite, const void*, off_t)
TRANSFER_AT("write", pwrite64, const void*, off64_t)
TRANSFER_PARTS("write", writev)

// fsync
int fsync(int handle) {
  FAIL_HANDLE("fsync", handle, -1);
  return REAL(fsync)(handle);
}
int fdatasync(int handle) {
  FAIL_HANDLE("fsync", handle, -1);
  return REAL(fdatasync)(handle);
}

// rename: the word may be in either name
int rename(const char* from, const char* to) {
  FAIL("rename", from, -1);
  FAIL("rename", to, -1);
  return REAL(rename)(from, to);
}
int renameat(int folder, const char* from, int other, const char* to) {
  FAIL("rename", from, -1);
  FAIL("rename", to, -1);
  return REAL(renameat)(folder, from, other, to);
}

// stat, mkdir, unlink
#define STAT(name, result)                           \
  int name(const char* path, struct result* facts) { \
    FAIL("stat", path, -1);                          \
    return REAL(name)(path, facts);                  \
  }
STAT(stat, stat)
STAT(stat64, stat64)
STAT(lstat, stat)
STAT(lstat64, stat64)
int mkdir(const char* path, mode_t mode) {
  FAIL("mkdir", path, -1);
  return REAL(mkdir)(path, mode);
}
int unlink(const char* path) {
  FAIL("unlink", path, -1);
  return REAL(unlink)(path);
}
int unlinkat(int folder, const char* path, int flags) {
  FAIL("unlink", path, -1);
  return REAL(unlinkat)(folder, path, flags);
}
int remove(const char* path) {
  FAIL("unlink", path, -1);
  return REAL(remove)(path);
}

// mmap fails; mapped_read lets it succeed, but a page that is read raises SIGBUS, as an unreadable
// sector does: the memory maps a file that is empty.
#define MMAP(name, place)                                                                  \
  void* name(void* at, size_t size, int protection, int flags, int handle, place offset) { \
    if (handle >= 0) {                                                                     \
      FAIL_HANDLE("mmap", handle, MAP_FAILED);                                             \
      if (fault_of_handle("mapped_read", handle)) {                                        \
        const int empty = memfd_create("empty", MFD_CLOEXEC);                              \
        void* memory = REAL(name)(at, size, protection, flags, empty, 0);                  \
        close(empty);                                                                      \
        return memory;                                                                     \
      }                                                                                    \
    }                                                                                      \
    return REAL(name)(at, size, protection, flags, handle, offset);                        \
  }
MMAP(mmap, off_t)
MMAP(mmap64, off64_t)
