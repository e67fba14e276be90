#!/usr/bin/env -S python3 -B
# family: failing-calls
"""faults.py - one call of the C library fails, somewhere in a job: it goes on rightly, or ends with words; TAP.

Each round is a job of testfaults in which interpose.c lets one call of launcher, control process or rank fail. A first
job counts: its sites, each a place in the product that calls a function which can fail, and how often each is called.
Then each site fails once, in one of its calls and in one way; with TEST_FULL=1 (`make soak`) in each way, in up to
TEST_HITS of its calls (20). TEST_SEED=... repeats the choice; TEST_CASES, a regular expression, narrows it to rounds
whose name it finds, TEST_LANES (2 for each processor) is how many jobs run at once.
"""

import collections
import ctypes
import errno
import functools
import mmap
import multiprocessing
import os
import random
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

env = {k: v for k, v in os.environ.items() if not k.startswith(("GASNET_", "SOFTHCA", "PTL_"))}
TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD = os.path.abspath(env.get("TEST_BUILD", "."))
LOG = os.path.abspath(env.get("TEST_LOG", f"{BUILD}/tests/log"))
FULL, HITS = env.get("TEST_FULL"), int(env.get("TEST_HITS", 20))
LOST = 60  # seconds after which a job that did not end is killed
ENDING = 10  # seconds that processes may outlive their launcher on a busy machine
RANKS = 3
HOSTS = dict(GASNET_SSH_SERVERS="nodeA,nodeB,localhost", GASNET_SSH_CMD=f"{TESTS}/spawner/fake-ssh", SOFTHCA_HOSTS="")

# Name, conduit, environment. Two of three processes share memory, or all, or none.
JOBS = [
    ("ibv", "ibv", dict(GASNET_SUPERNODE_MAXSIZE="2")),
    ("portals", "portals", dict(GASNET_SUPERNODE_MAXSIZE="2")),
    ("vapi", "vapi", dict(GASNET_SUPERNODE_MAXSIZE="2")),
    ("hosts", "ibv", dict(GASNET_SUPERNODE_MAXSIZE="1", **HOSTS)),
    ("tcp", "ibv", dict(GASNET_SUPERNODE_MAXSIZE="1", SOFTHCA_HOSTS="127.0.0.1")),
]

# How calls fail. `short` is a transfer of one byte; what a descriptor cannot do is left out by interpose.c.
IN = "read pread readv recv recvfrom recvmsg fgets getline"
OUT = "write pwrite writev send sendto sendmsg"
FAILS = {
    "malloc calloc realloc aligned_alloc posix_memalign strdup strndup open_memstream vasprintf asprintf setenv": "ENOMEM",
    "mmap mprotect pthread_key_create": "ENOMEM EAGAIN",
    "munmap madvise mincore msync sigaltstack": "ENOMEM",
    "memfd_create open open64 fopen fdopen opendir popen": "EMFILE ENOMEM EACCES",
    "ftruncate posix_fallocate fallocate": "ENOSPC EINTR",
    "close fclose": "EINTR EIO",
    "fflush": "ENOSPC EINTR",
    "socket socketpair pipe2 dup dup2 eventfd epoll_create1 timerfd_create signalfd fcntl": "EMFILE ENOMEM",
    "timer_create fork pthread_create posix_spawnp": "EAGAIN ENOMEM",
    "bind listen": "EADDRINUSE",
    "connect": "ECONNREFUSED EINTR EAGAIN ETIMEDOUT",
    "accept4": "EMFILE EINTR EAGAIN ECONNABORTED",
    "epoll_ctl": "ENOSPC ENOMEM",
    "epoll_wait poll ppoll": "EINTR ENOMEM",
    "waitpid": "EINTR",
    "execve execv execvp": "ENOENT E2BIG",
    "getrandom": "EAGAIN EINTR",
    "getaddrinfo": "-3",
    "process_vm_readv process_vm_writev": "EPERM ESRCH",
    IN: "EINTR EAGAIN short EIO",
    OUT: "EINTR EAGAIN short ENOSPC EPIPE",
    "getsockopt setsockopt getsockname getpeername shutdown dlopen": "ENOMEM",
    "eventfd_read eventfd_write": "EAGAIN",
    "prctl setrlimit getrlimit sched_setaffinity sched_getaffinity setpgid setsid": "EPERM",
    "gethostname stat fstat access chdir readlink unlink getcwd getifaddrs": "ENOMEM EACCES",
}
WAYS = {function: ways.split() for functions, ways in FAILS.items() for function in functions.split()}

# Lines that say what failed: not the launcher's alone that a rank has exited.
WORDS = r"^(\*\*\*|gasnet\w*|bootstrap|softhca|libportals|libvapi)[: ](?!rank \d+ [^:]* exited with)"

Site = collections.namedtuple("Site", "hash role function module offset hits")
Round = collections.namedtuple("Round", "job site hit way")
Result = collections.namedtuple("Result", "fired fd status out err left seconds sites")
HEAD, SITE, SITES = 8, struct.Struct("<QQII8s24s48s"), 8192


def lane(folder):
    """A lane is a process that makes rounds, one after the other, with a /dev/shm of its own. All that a job leaves
    becomes its child."""
    global scratch
    scratch = tempfile.mkdtemp(dir=folder)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    libc = ctypes.CDLL(None)
    libc.prctl(36, 1)  # PR_SET_CHILD_SUBREAPER
    if libc.unshare(0x00020000) != 0:  # CLONE_NEWNS
        raise OSError("no mount namespace")
    subprocess.run("mount --make-rprivate / && mount -t tmpfs -o size=1g none /dev/shm", shell=True, check=True)


def sites_of(table):
    found = []
    for i in range(SITES):
        mark, offset, hits, ready, role, function, module = SITE.unpack_from(table, HEAD + i * SITE.size)
        if mark and ready:
            text = [name.rstrip(b"\0").decode() for name in (role, function, module)]
            found.append(Site(mark, *text, offset, hits))
    return found


def reap(seconds):
    """Waits for the children of this process; those that do not end are killed, and returned by name."""
    end, left = time.monotonic() + seconds, []
    while True:
        try:
            pid, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return left
        if pid == 0 and time.monotonic() > end:
            for name in os.listdir("/proc"):
                try:
                    with open(f"/proc/{name}/stat") as file:
                        command, rest = file.read().rsplit(")", 1)
                    if name.isdigit() and int(rest.split()[1]) == os.getpid() and rest.split()[0] != "Z":
                        left.append(command.split("(", 1)[1])
                        os.kill(int(name), signal.SIGKILL)
                except (OSError, IndexError):
                    continue
        elif pid == 0:
            time.sleep(0.002)


def run(job, fault, count=False):
    """One job, with nothing left of it when this returns."""
    _, conduit, setting = job
    tmp = tempfile.mkdtemp(dir=scratch)
    path = f"{scratch}/table"
    with open(path, "w+b") as file:
        file.truncate(HEAD + SITES * SITE.size)
        table = mmap.mmap(file.fileno(), 0)
    mine = dict(FAULTS_TABLE=path, LD_PRELOAD=f"{BUILD}/tests/faults/.libs/libinterpose.so", TMPDIR=tmp, SOFTHCA="on")
    command = [f"{BUILD}/gasnetrun_{conduit}", "-spawner=ssh", "-n", str(RANKS), f"{BUILD}/tests/testfaults-{conduit}-par"]
    began, left = time.monotonic(), []
    with open(f"{scratch}/out", "w+b") as out, open(f"{scratch}/err", "w+b") as err:
        process = subprocess.Popen(command, env={**env, **setting, **mine, **fault}, stdin=subprocess.DEVNULL, stdout=out, stderr=err)
        try:
            status = process.wait(LOST)
        except subprocess.TimeoutExpired:
            process.kill()
            left.append(f"did not end within {LOST} s")
            status = process.wait()
        seconds = time.monotonic() - began
        left += [f"process {name} is left" for name in reap(ENDING)]
        text = []
        for file in out, err:
            file.seek(0)
            text.append(file.read().decode(errors="replace"))
    left += [f"file {folder}/{name} is left" for folder in (tmp, "/dev/shm") for name in os.listdir(folder)]
    shutil.rmtree(tmp)
    for name in os.listdir("/dev/shm"):
        os.unlink(f"/dev/shm/{name}")
    fired, fd = struct.unpack_from("<II", table)
    result = Result(fired, fd, status, *text, left, seconds, sites_of(table) if count else None)
    table.close()
    return result


def judge(result, way=None):
    """What is wrong with the end of a job. One whose connection to the launcher is cut has nobody to tell."""
    wrong = list(result.left)
    complete = sorted(result.out.split("\n")) == [""] + [f"rank {r}: right" for r in range(RANKS)]
    told = re.search(r"^\*\*\* FATAL ERROR", result.err, re.M)  # by the tools, which abort
    crashed = not told and re.search("Caught a fatal signal|(killed by|died of) signal", result.err)
    crashed = crashed or "signal 11" in result.err
    if result.status == 0 and not complete:
        wrong.append("status 0, and output is missing")
    silent = result.fd == 2 or way == "EPIPE"
    if result.status != 0 and not silent and not re.search(WORDS, result.err, re.M):
        wrong.append("no word of what failed")
    if result.status < 0 or (crashed and result.status >= 128):
        wrong.append("crashed")
    return wrong


def perform(r):
    number = str(getattr(errno, r.way, r.way))
    result = run(r.job, dict(FAULTS_SITE=f"{r.site.hash:x}", FAULTS_HIT=f"{r.hit}", FAULTS_ERROR=number))
    return r, result, judge(result, r.way)


def count(job):
    """The sites of a job, from two of them, of which one may be quicker than the other."""
    runs = [run(job, {}, count=True) for _ in range(2)]
    found = {}
    for result in runs:
        for site in result.sites:
            if site.hash not in found or found[site.hash].hits < site.hits:
                found[site.hash] = site
    return job, sorted(found.values(), key=lambda s: s[1:]), [w for result in runs for w in judge(result)]


def choose(counted, chance):
    """Each site once, in one of the jobs that have it; or all of it."""
    jobs_of = collections.defaultdict(list)
    for job, sites in counted:
        for site in sites:
            jobs_of[site.hash].append((job, site))
    for places in jobs_of.values():
        for job, site in places if FULL else [chance.choice(places)]:
            ways, last = WAYS[site.function], chance.randint(1, site.hits)
            if FULL:
                hits = sorted({*range(1, min(HITS, site.hits) + 1), site.hits, last})
                yield from (Round(job, site, hit, way) for hit in hits for way in ways)
            else:
                yield Round(job, site, chance.choice([1, site.hits, last]), chance.choice(ways))


@functools.lru_cache(None)
def place(role, module, offset):
    """Function and line of a site, where the build has them."""
    path = f"{BUILD}/.libs/{module}" if role == "rank" else f"{BUILD}/{module}"
    try:
        command = ["addr2line", "-i", "-f", "-e", path, hex(offset)]
        text = subprocess.run(command, capture_output=True, text=True).stdout.split("\n")
    except OSError:
        text = []
    return " < ".join(f"{f} {os.path.basename(l)}" for f, l in zip(text[::2], text[1::2])) or f"{module} {offset:#x}"


def name_of(r):
    s = r.site
    return f"{r.job[0]}: {s.role}: {s.function} in {place(s.role, s.module, s.offset)}, call {r.hit} of {s.hits}: {r.way}"


def report(r, result, wrong, log):
    text = f"{name_of(r)}: status {result.status}, {result.seconds:.1f} s{'' if result.fired else ', not reached'}"
    if wrong:
        text = f"WRONG {text}: {'; '.join(wrong)}"
        print(f"# {text}", *[f"#    {line}" for line in result.err.split("\n")[:5] if line], sep="\n", flush=True)
    log.write("\n    ".join([text, *result.err.split("\n")]).rstrip() + "\n")


def perform_all(pool, jobs, chance, log):
    """Returns by job and role how many rounds there were, how many went wrong, and how many did not reach their fault."""
    counted, results = [], collections.defaultdict(lambda: [0, 0, 0])
    for job, sites, wrong in pool.imap(count, jobs):
        counted.append((job, sites))
        results[job[0], "without a fault"] = [2, len(wrong), 0]
    rounds = [r for r in choose(counted, chance) if re.search(env.get("TEST_CASES", ""), name_of(r))]
    print(f"# {len(rounds)} rounds of {len({s.hash for _, sites in counted for s in sites})} sites", flush=True)
    began, slowest = time.monotonic(), (0, None)
    for r, result, wrong in pool.imap_unordered(perform, rounds):
        report(r, result, wrong, log)
        tally = results[r.job[0], r.site.role]
        tally[0], tally[1], tally[2] = tally[0] + 1, tally[1] + bool(wrong), tally[2] + (not result.fired)
        slowest = max(slowest, (result.seconds, name_of(r)))
    print(f"# {len(rounds) / (time.monotonic() - began):.1f} rounds a second; the slowest, {slowest[0]:.1f} s: {slowest[1]}")
    return results


def main():
    preload = f"{BUILD}/tests/faults/.libs/libinterpose.so"
    why = "no shared libraries in this build" if not os.path.exists(preload) else ""
    own = ["unshare", "-m", "sh", "-c", "mount -t tmpfs none /dev/shm"]
    if not why and subprocess.run(own, stderr=subprocess.DEVNULL).returncode:
        why = "no mount namespaces"
    if why:
        return print(f"ok 1 - faults # SKIP {why}\n1..1")
    seed = int(env.get("TEST_SEED", random.randrange(1 << 30)))
    print(f"# TEST_SEED={seed} repeats this choice", flush=True)
    jobs = [job for job in JOBS if os.path.exists(f"{BUILD}/gasnetrun_{job[1]}")]
    os.makedirs(LOG, exist_ok=True)
    lanes = int(env.get("TEST_LANES", 2 * os.cpu_count()))
    with tempfile.TemporaryDirectory(prefix="gasnet-faults.") as folder, open(f"{LOG}/faults.log", "w") as log:
        with multiprocessing.Pool(lanes, lane, (folder,)) as pool:
            results = perform_all(pool, jobs, random.Random(seed), log)
    for i, ((job, role), (rounds, wrong, unreached)) in enumerate(sorted(results.items()), 1):
        print(f"{'not ' if wrong else ''}ok {i} - {job}: {role}: {wrong} of {rounds} jobs end wrongly ({unreached} not reached)")
    print(f"1..{len(results)}")
    return any(wrong for _, wrong, _ in results.values())


if __name__ == "__main__":
    sys.exit(main())
