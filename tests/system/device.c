/* A device that fails, for a process that is started with this by LD_PRELOAD. In the directory that SKARV_FAILING_DEVICE names, the
 * files "read", "write" and "sync" each hold a part of a path: while such a file is there, that fails with EIO on files of such a path;
 * while "hang" is there, a sync of them does not end, and while "away" is there, neither does to open, list, make or remove such
 * a path. */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Is the path of a kind that is meant? */
static int is_named(const char *what, const char *name)
{
    char path[4096], wanted[4096];
    const char *directory = getenv("SKARV_FAILING_DEVICE");
    if (directory == NULL)
        return 0;
    snprintf(path, sizeof path, "%s/%s", directory, what);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return 0;
    ssize_t count = read(file, wanted, sizeof wanted - 1);
    close(file);
    if (count <= 0)
        return 0;
    wanted[count] = 0;
    return strstr(name, wanted) != NULL;
}

static int is_meant(const char *what, int fd)
{
    char path[64], name[4096];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(path, name, sizeof name - 1);
    if (length <= 0)
        return 0;
    name[length] = 0;
    return is_named(what, name);
}

static int fails(const char *what, int fd)
{
    if (!is_meant(what, fd))
        return 0;
    errno = EIO;
    return 1;
}

static void hangs(int fd)
{
    while (is_meant("hang", fd))
        usleep(10000);
}

static void is_away(const char *name)
{
    while (is_named("away", name))
        usleep(10000);
}

#define REAL(function) __typeof__(&function) real = (__typeof__(&function))dlsym(RTLD_NEXT, #function)

ssize_t pread64(int fd, void *bytes, size_t count, off64_t at)
{
    REAL(pread64);
    return fails("read", fd) ? -1 : real(fd, bytes, count, at);
}
ssize_t pwrite64(int fd, const void *bytes, size_t count, off64_t at)
{
    REAL(pwrite64);
    return fails("write", fd) ? -1 : real(fd, bytes, count, at);
}
ssize_t write(int fd, const void *bytes, size_t count)
{
    REAL(write);
    return fails("write", fd) ? -1 : real(fd, bytes, count);
}
int fdatasync(int fd)
{
    REAL(fdatasync);
    hangs(fd);
    return fails("sync", fd) ? -1 : real(fd);
}
int fsync(int fd)
{
    REAL(fsync);
    hangs(fd);
    return fails("sync", fd) ? -1 : real(fd);
}
int open64(const char *name, int flags, ...)
{
    REAL(open64);
    va_list more;
    va_start(more, flags);
    int mode = va_arg(more, int);
    va_end(more);
    is_away(name);
    return real(name, flags, mode);
}
DIR *opendir(const char *name)
{
    REAL(opendir);
    is_away(name);
    return real(name);
}
int mkdir(const char *name, mode_t mode)
{
    REAL(mkdir);
    is_away(name);
    return real(name, mode);
}
int unlink(const char *name)
{
    REAL(unlink);
    is_away(name);
    return real(name);
}
