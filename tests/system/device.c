/* A device that fails, for a process that is started with this by LD_PRELOAD. In the directory that SKARV_FAILING_DEVICE names, the
 * files "read", "write" and "sync" each hold a part of a path: while such a file is there, that fails with EIO on files of such a path;
 * while "hang" is there, a sync of them does not end. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int is_meant(const char *what, int fd)
{
    char path[4096], wanted[4096], name[4096];
    const char *directory = getenv("SKARV_FAILING_DEVICE");
    if (directory == NULL)
        return 0;
    snprintf(path, sizeof path, "%s/%s", directory, what);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return 0;
    ssize_t count = read(file, wanted, sizeof wanted - 1);
    close(file);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(path, name, sizeof name - 1);
    if (count <= 0 || length <= 0)
        return 0;
    wanted[count] = name[length] = 0;
    return strstr(name, wanted) != NULL;
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
