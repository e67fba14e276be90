/* supernodes.c - which processes form a supernode (core/shm/topology.c), and the memory files
 * that they share (other/base/hostmem).
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/shm/topology.h"
#include "other/base/hostmem/hostmem.h"
#include "tests/unit/check.h"

/* --- supernodes --- */

enum { MOST = 12 };

/* Checks the supernodes of a job. HOSTS has a letter for each rank's host; '-' shares memory with
 * no rank. EXPECTED has a digit for each rank's supernode, ALONE a '1' for each rank that cannot
 * open the files of its group. */
static bool forms(const char *hosts, uint32_t most, const char *alone, const char *expected)
{
    gasnetc_location_t place[MOST];
    uint32_t group[MOST], number[MOST], supernode[MOST], n = (uint32_t)strlen(hosts);
    uint8_t left[MOST];
    char found[MOST + 1] = "";
    for (uint32_t r = 0; r < n; r++) {
        place[r] = (gasnetc_location_t){.rank = r, .host = (uint32_t)hosts[r], .shares = 1};
        if (hosts[r] == '-') place[r].shares = 0;
        left[r] = alone[r] == '1';
    }
    gasnetc_supernodes_group(place, n, most, group);
    gasnetc_supernodes_number(group, left, n, number, supernode);
    for (uint32_t r = 0; r < n; r++) found[r] = (char)('0' + supernode[r]);
    if (strcmp(found, expected)) check_note("%s, at most %u: %s", hosts, most, found);
    return !strcmp(found, expected);
}

static bool differ(gasnetc_location_t a, gasnetc_location_t b)
{
    gasnetc_location_t place[2] = {a, b};
    uint32_t group[2];
    place[0].rank = 0;
    place[1].rank = 1;
    gasnetc_supernodes_group(place, 2, 0, group);
    return group[0] == 0 && group[1] == 1;
}

static void grouping(void)
{
    check(forms("aaaa", 0, "0000", "0000"), "the processes of a host are one supernode");
    check(forms("aabbcc", 0, "000000", "001122"), "each host has its own");
    check(forms("abab", 0, "0000", "0101"), "ranks that alternate");
    check(forms("baab", 0, "0000", "0110"), "ids are in the order of first appearance");
    check(forms("aaaaa", 2, "00000", "00112"), "at most two in each");
    check(forms("ababab", 2, "000000", "010123"), "at most two, of each host");
    check(forms("aaaa", 1, "0000", "0123"), "at most one: none is shared");
    check(forms("aa-a-", 0, "00000", "00102"), "processes that share no memory");
    check(forms("aaaa", 0, "0010", "0010"), "one that cannot open the others' files leaves");
    check(forms("aaaa", 0, "1000", "0111"), "also the first");
    check(forms("aaaa", 0, "1111", "0123"), "or all");
    const gasnetc_location_t one = {.host = 1, .user = 2, .shares = 1, .space = {3, 4}};
    gasnetc_location_t other = one;
    check(!differ(one, other), "equal locations share");
    other.user = 7;
    check(differ(one, other), "two users do not");
    other = one, other.space[1] = 9;
    check(differ(one, other), "nor two PID namespaces");
    other = one, other.space[0] = 9;
    check(differ(one, other), "by device or inode");
}

/* --- files --- */

/* The first word of the file as another process reads it: 0 if it cannot open it. */
static int word_seen_by(const hostmem_file_t *file, uid_t user)
{
    int status;
    pid_t child = fork();
    if (child == 0) {
        if (user != geteuid() && (setgid(user) || setuid(user))) _exit(77);
        for (int fd = 3; fd < 64; fd++) close(fd);
        int fd = hostmem_open(file);
        if (fd < 0) _exit(0);
        int *words = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (words == MAP_FAILED) _exit(78);
        words[1] = 5;
        _exit(words[0]);
    }
    if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status)) return -1;
    return WEXITSTATUS(status);
}

static void files(void)
{
    enum { NOBODY = 65534 };
    hostmem_file_t file;
    int fd = hostmem_create("test", 8192);
    int *words = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    check(fd >= 0 && words != MAP_FAILED && words[0] == 0 && words[2047] == 0, "a file of zeros");
    check(hostmem_describe(fd, &file) && file.pid == getpid() && file.fd == fd, "its description");
    words[0] = 42;
    check(word_seen_by(&file, geteuid()) == 42 && words[1] == 5, "another process maps it");
    hostmem_file_t wrong = file;
    wrong.inode++;
    check(word_seen_by(&wrong, geteuid()) == 0, "not if the descriptor is another file's");
    wrong = file, wrong.device++;
    check(word_seen_by(&wrong, geteuid()) == 0, "or another device's");
    if (geteuid() == 0)
        check(word_seen_by(&file, NOBODY) == 0, "another user cannot open it");
    else
        check(true, "another user cannot open it # SKIP only root can become another user");
    prctl(PR_SET_DUMPABLE, 0);
    check(geteuid() == 0 || word_seen_by(&file, geteuid()) == 0, "nor one that may not be dumped");
    prctl(PR_SET_DUMPABLE, 1);
    struct rlimit limit, before;
    getrlimit(RLIMIT_FSIZE, &before);
    limit = before;
    limit.rlim_cur = 4096;
    setrlimit(RLIMIT_FSIZE, &limit);
    errno = 0;
    check(hostmem_create("test", 8192) < 0 && errno == EFBIG && strstr(hostmem_advice(EFBIG), "-f"),
          "a limit of file sizes is an error, not a signal");
    setrlimit(RLIMIT_FSIZE, &before);
    munmap(words, 8192);
    close(fd);
    check(hostmem_open(&file) < 0, "a file that was closed");
    uint64_t space[2], again[2];
    check(hostmem_space(space) && hostmem_space(again) && !memcmp(space, again, sizeof space),
          "the PID namespace");
}

int main(int argc, char **argv)
{
    check_begin(argc, argv);
    grouping();
    files();
    return check_end();
}
