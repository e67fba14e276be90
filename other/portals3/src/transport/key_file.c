/* key_file.c - see key_file.h. */
#include "other/portals3/src/transport/key_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "other/base/hex.h"

enum { RANDOM_BYTES = 32 }; /* twice as many digits are the key */

struct file {
    char path[PATH_MAX];
    char *why;
    size_t why_size;
};

static bool unusable(const struct file *f, const char *format, ...)
    __attribute__((format(printf, 2, 3), cold));

static bool unusable(const struct file *f, const char *format, ...)
{
    const int n = snprintf(f->why, f->why_size, "the key file %s ", f->path);
    va_list list;
    va_start(list, format);
    if (n >= 0 && (size_t)n < f->why_size)
        vsnprintf(f->why + n, f->why_size - (size_t)n, format, list);
    va_end(list);
    return false;
}

/* --- the path of the file --- */

static const char *home(void)
{
    const char *set = secure_getenv("HOME");
    if (set && *set == '/') return set;
    const struct passwd *user = getpwuid(geteuid());
    return user && user->pw_dir ? user->pw_dir : "/";
}

/* Creates the folders on the way from the character at `from`; one that cannot be created is
 * reported when the file is. */
static void make_folders(char *path, size_t from)
{
    for (char *slash = path + from; (slash = strchr(slash, '/')); slash++) {
        if (slash == path) continue;
        *slash = 0;
        mkdir(path, 0700);
        *slash = '/';
    }
}

static bool key_file_find(const char *setting, struct file *f)
{
    const char *folder = secure_getenv("XDG_CONFIG_HOME"), *below = "/portals/key";
    int length;
    if (*setting && !getauxval(AT_SECURE)) {
        length = snprintf(f->path, sizeof f->path, "%s", setting);
    } else {
        const bool own = folder && *folder == '/';
        if (!own) folder = home(), below = "/.config/portals/key";
        length = snprintf(f->path, sizeof f->path, "%s%s", folder, below);
        if (length < (int)sizeof f->path) make_folders(f->path, strlen(folder));
    }
    return length < (int)sizeof f->path || unusable(f, "has too long a name");
}

/* --- a new one --- */

static bool write_random(int fd)
{
    uint8_t random[RANDOM_BYTES];
    char text[2 * RANDOM_BYTES + 2];
    if (getrandom(random, sizeof random, 0) != (ssize_t)sizeof random) return false;
    gasneti_hex(text, random, sizeof random);
    text[2 * RANDOM_BYTES] = '\n';
    errno = ENOSPC; /* of a short write */
    return write(fd, text, sizeof text - 1) == (ssize_t)sizeof text - 1 && !fsync(fd);
}

/* The key is written under another name, and gets its own by a link, which fails if it exists: no
 * process reads a part, and all read the first. */
static bool key_file_create(const struct file *f)
{
    char other[PATH_MAX + 8];
    snprintf(other, sizeof other, "%s.XXXXXX", f->path);
    const int fd = mkostemp(other, O_CLOEXEC); /* mode 0600 */
    if (fd < 0)
        return unusable(f, "cannot be created: %s; PTL_KEYFILE names another", strerror(errno));
    const bool written = write_random(fd);
    const bool made = written && (!link(other, f->path) || errno == EEXIST);
    const int error = errno;
    close(fd);
    unlink(other);
    return made || unusable(f, "cannot be written: %s; PTL_KEYFILE names another", strerror(error));
}

/* --- reading --- */

static bool is_private(const struct file *f, int fd)
{
    struct stat status;
    if (fstat(fd, &status)) return unusable(f, "cannot be examined: %s", strerror(errno));
    if (!S_ISREG(status.st_mode)) return unusable(f, "is not a file");
    if (status.st_uid != geteuid())
        return unusable(f,
                        "belongs to user %u, not to user %u: remove it, or name another in "
                        "PTL_KEYFILE",
                        (unsigned)status.st_uid, (unsigned)geteuid());
    if (status.st_mode & 077)
        return unusable(f,
                        "is open to others (mode %03o): they may know the key; remove it, and a "
                        "new one is created",
                        (unsigned)status.st_mode & 0777);
    return true;
}

static bool key_file_take(const struct file *f, int fd, handshake_key_t *key)
{
    uint8_t bytes[HANDSHAKE_KEY_MOST + 2];
    const ssize_t n = read(fd, bytes, sizeof bytes);
    if (n < 0) return unusable(f, "cannot be read: %s", strerror(errno));
    size_t size = (size_t)n;
    if (size && bytes[size - 1] == '\n') size--;
    if (size < HANDSHAKE_KEY_LEAST || size > HANDSHAKE_KEY_MOST)
        return unusable(f, "has not %d to %d bytes: remove it, and a new one is created",
                        HANDSHAKE_KEY_LEAST, HANDSHAKE_KEY_MOST);
    key->size = size;
    memcpy(key->bytes, bytes, size);
    return true;
}

bool ptli_key_file_read(const char *setting, handshake_key_t *key, char *why, size_t size)
{
    /* A FIFO must not block. */
    enum { FLAGS = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY };
    struct file f = {.why = why, .why_size = size};
    if (!key_file_find(setting, &f)) return false;
    int fd = open(f.path, FLAGS);
    if (fd < 0 && errno == ENOENT) {
        if (!key_file_create(&f)) return false;
        fd = open(f.path, FLAGS);
    }
    if (fd < 0 && errno == ELOOP)
        return unusable(&f, "is a symbolic link: name the file itself in PTL_KEYFILE");
    if (fd < 0)
        return unusable(&f, "cannot be opened: %s; PTL_KEYFILE names another", strerror(errno));
    const bool good = is_private(&f, fd) && key_file_take(&f, fd, key);
    close(fd);
    return good;
}
