/* key_file.c - the key of a user's Portals programs (other/portals3/src/transport/key_file.c):
 * where it is, that it is created once and for the user alone, and which files are refused.
 */
#include "other/portals3/src/transport/key_file.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/check.h"

static char folder[] = "/tmp/key_file.XXXXXX", path[200], why[5000];

static const char *in_folder(const char *name)
{
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static bool get(const char *setting, handshake_key_t *key)
{
    *key = (handshake_key_t){0};
    why[0] = 0;
    return ptli_key_file_read(setting, key, why, sizeof why);
}

static bool same(const handshake_key_t *a, const handshake_key_t *b)
{
    return a->size == b->size && !memcmp(a->bytes, b->bytes, a->size);
}

static unsigned mode_of(const char *name)
{
    struct stat status;
    return lstat(name, &status) ? 0 : status.st_mode & 07777;
}

static int files_in(const char *name)
{
    int count = 0;
    DIR *dir = opendir(name);
    for (struct dirent *e; dir && (e = readdir(dir));) count += e->d_name[0] != '.';
    if (dir) closedir(dir);
    return count;
}

static void write_file(const char *name, const char *text, size_t size, unsigned mode)
{
    unlink(name);
    const int fd = open(name, O_WRONLY | O_CREAT | O_EXCL, 0600);
    if (fd < 0 || write(fd, text, size) != (ssize_t)size || fchmod(fd, mode)) abort();
    close(fd);
}

static void refused(const char *name, const char *word, const char *what)
{
    handshake_key_t key;
    const bool good = get(name, &key);
    check(!good && strstr(why, name) && strstr(why, word) && !strchr(why, '\n'), "%s is refused",
          what);
    if (good || !strstr(why, word)) check_note("%s", good ? "it is not" : why);
}

static void places(void)
{
    handshake_key_t first, second;
    setenv("HOME", in_folder("home"), 1);
    unsetenv("XDG_CONFIG_HOME");
    check(!mkdir(path, 0755) && get("", &first) && first.size == 64, "a key is created");
    check(mode_of(in_folder("home/.config/portals/key")) == 0600, "in ~/.config, for its user");
    check(mode_of(in_folder("home/.config/portals")) == 0700, "in a folder of its own");
    check(files_in(path) == 1, "with nothing beside it");
    check(get("", &second) && same(&first, &second), "and found again");
    setenv("XDG_CONFIG_HOME", in_folder("config"), 1);
    check(get("", &second) && !same(&first, &second) &&
              mode_of(in_folder("config/portals/key")) == 0600,
          "$XDG_CONFIG_HOME is another place, with another key");
    check(get(in_folder("named"), &first) && mode_of(in_folder("named")) == 0600 &&
              !same(&first, &second),
          "PTL_KEYFILE names another file");
}

static void one_key(void)
{
    enum { PROCESSES = 16 };
    int ends[2];
    handshake_key_t key, other;
    if (pipe(ends)) abort();
    in_folder("race");
    for (int i = 0; i < PROCESSES; i++)
        if (fork() == 0)
            _exit(!get(path, &key) || write(ends[1], &key, sizeof key) != (ssize_t)sizeof key);
    bool all = read(ends[0], &key, sizeof key) == (ssize_t)sizeof key;
    for (int i = 1; i < PROCESSES; i++)
        all = all && read(ends[0], &other, sizeof other) == (ssize_t)sizeof other &&
              same(&key, &other);
    for (int status; wait(&status) > 0;) all = all && status == 0;
    check(all, "%d processes that create it at once agree on one", PROCESSES);
}

static void bad_files(void)
{
    static const char good[] = "0123456789abcdef\n";
    handshake_key_t key;
    write_file(in_folder("file"), good, sizeof good - 1, 0400);
    check(get(path, &key) && key.size == 16, "16 bytes are enough, without the line's end");
    static const unsigned open_modes[] = {0640, 0620, 0604, 0602};
    for (unsigned i = 0; i < 4; i++) {
        write_file(path, good, sizeof good - 1, open_modes[i]);
        check_each(!get(path, &key) && strstr(why, "open to others"), "mode %o", open_modes[i]);
    }
    check_all("a file that others can read or write is refused");
    write_file(path, good, 15, 0600);
    refused(path, "16 to 64 bytes", "a short key");
    write_file(path, "", 0, 0600);
    refused(path, "16 to 64 bytes", "an empty file");
    char many[66];
    memset(many, 'k', sizeof many);
    write_file(path, many, sizeof many, 0600);
    refused(path, "16 to 64 bytes", "a long one");
    write_file(path, good, sizeof good - 1, 0600);
    char link[220];
    snprintf(link, sizeof link, "%s/link", folder);
    if (symlink(path, link)) abort();
    refused(link, "symbolic link", "a symbolic link");
    if (mkfifo(in_folder("fifo"), 0600)) abort();
    refused(path, "is not a file", "a FIFO, which is not waited for,");
    refused(folder, "is not a file", "a folder");
    refused(in_folder("none/key"), "cannot be created", "a file in a folder that is not there");
    if (geteuid()) {
        check(true, "a file of another user is refused # SKIP only root can make one");
        return;
    }
    write_file(in_folder("file"), good, sizeof good - 1, 0600);
    if (chown(path, 65534, (gid_t)-1)) abort();
    refused(path, "belongs to user 65534", "a file of another user");
}

int main(int argc, char **argv)
{
    check_begin(argc, argv);
    if (!mkdtemp(folder)) abort();
    places();
    one_key();
    bad_files();
    char command[100];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    check(!system(command), "the test leaves nothing");
    return check_end();
}
