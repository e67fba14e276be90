/* files.c - the files that some users of verbs look for, in a mount namespace of the program.
 *
 * UCX opens /dev/infiniband/DEVICE and requires a character device; Open MPI requires
 * /sys/class/infiniband. Neither folder is writable, so they are covered by folders in memory that
 * show their former content and the additions. No other process sees them and nothing remains.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "other/softhca/src/run/run.h"

static int files_write(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644), error = 0;
    if (fd < 0) return errno;
    if (write(fd, text, strlen(text)) < 0) error = errno;
    close(fd);
    return error;
}

/* An unprivileged user may do it as root of a user namespace that changes nothing else. */
static int files_enter_user_namespace(void)
{
    char map[64];
    uid_t uid = getuid();
    gid_t gid = getgid();
    if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0) return errno;
    int error = files_write("/proc/self/setgroups", "deny");
    snprintf(map, sizeof map, "%u %u 1", uid, uid);
    if (!error) error = files_write("/proc/self/uid_map", map);
    snprintf(map, sizeof map, "%u %u 1", gid, gid);
    return error ? error : files_write("/proc/self/gid_map", map);
}

static bool files_enter_namespace(void)
{
    int error = unshare(CLONE_NEWNS) < 0 ? files_enter_user_namespace() : 0;
    if (!error && mount("none", "/", NULL, MS_REC | MS_SLAVE, NULL) < 0) error = errno;
    if (!error) return true;
    run_say(
        "--files: a private mount namespace is not permitted here (%s). Run as root, allow user "
        "namespaces (docker: --cap-add=SYS_ADMIN), or have root make the device once: mkdir -p "
        "/dev/infiniband && mknod -m 666 /dev/infiniband/softhca0 c 1 3",
        strerror(error));
    return false;
}

/* Creates TO and bind-mounts FROM there. */
static int files_bind_one(const char *from, const char *to)
{
    struct stat st;
    char link[PATH_MAX];
    if (lstat(from, &st) < 0) return errno;
    if (S_ISLNK(st.st_mode)) {
        ssize_t n = readlink(from, link, sizeof link - 1);
        if (n < 0) return errno;
        link[n] = 0;
        return symlink(link, to) < 0 ? errno : 0;
    }
    int error = S_ISDIR(st.st_mode) ? (mkdir(to, 0755) < 0 ? errno : 0) : files_write(to, "");
    if (!error && mount(from, to, NULL, MS_BIND | MS_REC, NULL) < 0) error = errno;
    return error;
}

/* Covers the folder at PATH by one in memory with the same content. */
static int files_cover(const char *path)
{
    int error = 0, below = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = below < 0 ? NULL : fdopendir(below);
    if (!d || mount("none", path, "tmpfs", MS_NOSUID, "mode=755") < 0) error = errno;
    for (struct dirent *e; !error && (e = readdir(d));) {
        char from[PATH_MAX], to[PATH_MAX];
        if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, "..")) continue;
        snprintf(from, sizeof from, "/proc/self/fd/%d/%s", below, e->d_name);
        snprintf(to, sizeof to, "%s/%s", path, e->d_name);
        error = files_bind_one(from, to);
        if (error == ENOENT || error == EACCES) error = 0; /* gone, or not accessible */
    }
    if (d) closedir(d);
    return error;
}

/* Makes the folder NAME in PARENT writable for additions. */
static int files_open_folder(const char *parent, const char *name)
{
    char path[PATH_MAX];
    struct stat st;
    snprintf(path, sizeof path, "%s/%s", parent, name);
    if (stat(path, &st) == 0) return files_cover(path);
    int error = files_cover(parent);
    if (!error && mkdir(path, 0755) < 0) error = errno;
    return error;
}

static bool files_is_device(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISCHR(st.st_mode) && access(path, R_OK | W_OK) == 0;
}

/* A device that can be opened, read and written without effect: /dev/null under another name. */
static int files_make_device(const char *name)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "/dev/infiniband/%s", name);
    if (files_is_device(path)) return 0;
    int error = files_write(path, "");
    if (!error && mount("/dev/null", path, NULL, MS_BIND, NULL) < 0) error = errno;
    return error;
}

static int files_make_class(const char *name)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "/sys/class/infiniband/%s", name);
    return mkdir(path, 0755) < 0 && errno != EEXIST ? errno : 0;
}

static void files_device_name(char *name, size_t size, unsigned i)
{
    snprintf(name, size, "softhca%u", i);
}

static unsigned files_device_count(void)
{
    const char *devices = getenv("SOFTHCA_DEVICES");
    int n = devices ? atoi(devices) : 1; /* the library reports an invalid value */
    return n < 1 || n > 64 ? 1 : (unsigned)n;
}

static bool files_all_there(void)
{
    char path[PATH_MAX], name[32];
    struct stat st;
    for (unsigned i = 0; i < files_device_count(); i++) {
        files_device_name(name, sizeof name, i);
        snprintf(path, sizeof path, "/dev/infiniband/%s", name);
        if (!files_is_device(path)) return false;
    }
    return stat("/sys/class/infiniband", &st) == 0;
}

bool files_make(void)
{
    char name[32];
    if (files_all_there()) return true;
    if (!files_enter_namespace()) return false;
    int error = files_open_folder("/dev", "infiniband");
    if (!error) error = files_open_folder("/sys/class", "infiniband");
    for (unsigned i = 0; i < files_device_count() && !error; i++) {
        files_device_name(name, sizeof name, i);
        error = files_make_device(name);
        if (!error) error = files_make_class(name);
    }
    if (error) run_say("--files: cannot make /dev/infiniband/softhca0: %s", strerror(error));
    return !error;
}
