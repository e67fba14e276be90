#!/usr/bin/env -S python3 -B
# family: exit
# family: exit-vapi last TEST_CONDUIT=vapi
# family: exit-portals TEST_CONDUIT=portals
# family: exit-smp TEST_CONDUIT=smp
"""exit.py - every way a job can end: right status, bounded time, output complete, nothing left behind.

Runs the rounds of rounds.py in lanes side by side, judges each, and prints TAP. EXIT_SEED=... repeats the random round
that a failure names, alone, or TEST_ROUNDS of them from there. TEST_CASES, TEST_NPROCS, TEST_MODES and TEST_SPAWNERS
narrow it; TEST_FULL=1 (`make soak`) makes the product of all; TEST_LIST=1 only lists the rounds; TEST_LANES (3 for each
processor). For portals-conduit all of this is by the SYS queue (PO-X). Programs of smp-conduit start themselves.
"""

import contextlib
import ctypes
import multiprocessing
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback

from rounds import Rounds

env = os.environ
TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD = os.path.abspath(env.get("TEST_BUILD", "."))
CONDUIT = env.get("TEST_CONDUIT", "ibv")
LAUNCHER = env.get("TEST_LAUNCH", f"{BUILD}/gasnetrun_{CONDUIT}")
ALONE = CONDUIT == "smp"  # no launcher: the first process of the program is the launcher
SLACK = int(env.get("TEST_SLACK", 30000))  # ms that a busy machine may take on top of what the library promises
LOST = 60  # seconds after which a launcher that did not end is killed
PATIENT = 8  # seconds of exit time-out where several ranks must act in it, however busy the machine is
OWN_NAMESPACES = "mount -t tmpfs -o size=1g none /dev/shm && ip link set lo up"
FILES_OF_MPI = re.compile(r"ompi\.|prte\.|pmix|hydra|vader_|sm_|mpich|osc_|ucx|.*\.btr$")
# A program that forks its ranks has no rank before init; its ranks have no messages but those of the launcher.
NOT_ALONE = ("before_init_one", "before_init_one_with_0", "launcher_stopped")
MAY_CRASH = ("segv", "abort", "fpe", "sigbus", "fatal_error", "thread_segv", "crash_in", "sigquit_in_transfer")


def start_lane(folder, private):
    """A lane is a process that makes one round after the other. Where that is possible it has its own network and
    /dev/shm, so that all sockets and files there are the round's."""
    global scratch, is_private
    scratch, is_private = folder, private
    # Not main's handler: Python runs it later, and never in a lane that has just begun to wait for its next round.
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    clone_newns, clone_newnet = 0x00020000, 0x40000000
    if private and ctypes.CDLL(None).unshare(clone_newns | clone_newnet) == 0:
        subprocess.run(f"mount --make-rprivate / && {OWN_NAMESPACES}", shell=True, check=True)


def contents(path):
    with contextlib.suppress(OSError), open(path, "rb") as file:
        return file.read().decode(errors="replace")
    return ""


def until(condition, seconds):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.005)
    return True


class Job:
    def __init__(self, r):
        self.r, self.case, self.outside, self.ours = r, r.case, r.case.outside, r.spawner in ("ssh", "hosts")
        self.log = f"{env['TEST_LOG']}/exit_{r.case.name}_{r.odd}_{r.n}_{r.mode}_{r.spawner}_{r.seed}.log"
        self.tmp = tempfile.mkdtemp(dir=scratch)
        self.wrong, self.hung, self.began = [], False, time.monotonic()

    # --- running ---

    def environment(self):
        mine = {"TEST_MARKER": self.tmp, "TMPDIR": self.tmp, "TEST_HANG": f"{LOST - 5}"}
        mine.update(TEST_SEED=f"{self.r.seed or 1}", TEST_EXIT_DELAY=f"{self.r.delay}")
        # With memory shared within the host, and without at one size.
        mine["GASNET_SUPERNODE_MAXSIZE"] = "1" if self.r.n == 2 and not ALONE else "0"
        if ALONE:
            mine["GASNET_PSHM_NODES"] = f"{self.r.n}"
        if self.outside in ("together", "patient"):
            mine["GASNET_EXITTIMEOUT"] = f"{PATIENT if self.outside == 'patient' else 2 * LOST}"
        if self.r.spawner == "hosts":
            mine.update(GASNET_SSH_SERVERS="nodeA,nodeB localhost", SOFTHCA_HOSTS="")
            mine.update(GASNET_SSH_CMD=f"{TESTS}/spawner/fake-ssh")
        if self.r.spawner == "mpich":
            mine["MPIRUN_CMD"] = "mpirun.mpich -np %N %C"
        return {**env, **mine}

    def launch(self):
        r, log = self.r, open(self.log, "wb")
        spawner = {"hosts": "ssh", "mpich": "mpi"}.get(r.spawner, r.spawner)
        command = ["env", "--default-signal=INT,QUIT,HUP,PIPE"]
        command += [] if ALONE else [LAUNCHER, f"-spawner={spawner}", "-n", str(r.n)]
        command += [f"{BUILD}/tests/testexit-{CONDUIT}-{r.mode}", self.case.name, r.odd]
        out = log
        if self.outside == "closed":
            command = ["sh", "-c", 'exec "$@" >&-', "sh"] + command
        elif self.outside == "full":
            out = open("/dev/full", "wb")
        elif self.outside == "broken":  # its reader is gone
            reader, writer = os.pipe()
            os.close(reader)
            out = os.fdopen(writer, "wb")
        with log, out:
            streams = {"stdin": subprocess.DEVNULL, "stdout": out, "stderr": log}
            return subprocess.Popen(command, env=self.environment(), **streams)

    def processes(self):
        marker = f"TEST_MARKER={self.tmp}\0"
        return [pid for pid in os.listdir("/proc") if pid.isdigit() and marker in contents(f"/proc/{pid}/environ")]

    def no_rank_lives(self):
        others = [pid for pid in self.processes() if pid != f"{self.process.pid}"]
        return not any(contents(f"/proc/{pid}/comm").startswith("testexit") for pid in others)

    def is_launcher(self):
        return contents(f"/proc/{self.process.pid}/comm").startswith("testexit" if ALONE else "gasnetrun")

    def comes(self, condition):
        """Waits for it; false if the launcher ends before, or is lost."""
        ended = lambda: self.process.poll() is not None
        return until(lambda: ended() or condition(), LOST) and not ended()

    def act(self):
        """What the driver does. With a delay the signal may come before the ranks are up."""
        if self.outside in ("TERM", "INT", "QUIT", "HUP", "KILL"):
            if self.r.delay and self.ours:
                self.comes(self.is_launcher)
                time.sleep(self.r.delay / 1e6)
            elif not self.comes(lambda: "READY" in contents(self.log)):
                self.wrong.append("never came up")
            self.began = time.monotonic()
            self.process.send_signal(signal.Signals[f"SIG{self.outside}"])
        elif self.outside == "STOP":
            if not self.comes(lambda: ") T " in contents(f"/proc/{self.process.pid}/stat")):
                self.wrong.append("was not stopped")
            self.comes(self.no_rank_lives)
            self.process.send_signal(signal.SIGCONT)

    def run(self):
        self.process = self.launch()
        self.act()
        try:
            self.process.wait(LOST)
        except subprocess.TimeoutExpired:
            self.hung = self.r.spawner in ("mpi", "pmix") and not self.is_launcher() and self.no_rank_lives()
            self.wrong.append(f"did not end within {LOST} s")
            self.process.kill()
        status, ended = self.process.wait(), time.monotonic()
        self.status = status if status >= 0 else 128 - status
        if not until(lambda: not self.processes(), 20):
            self.wrong.append("processes left behind")
            for pid in self.processes():
                subprocess.run(["kill", "-KILL", pid], stderr=subprocess.DEVNULL)
        self.took = int(1000 * ((time.monotonic() if self.outside == "KILL" else ended) - self.began))

    # --- judging ---

    def expected(self):
        """The status that is right, of gasnetrun itself or of another's launcher. MPICH's may report 0 after a signal
        to it, or after a rank that leaves with 0 and without a word; of a broken pipe it may die; when its output takes
        nothing it fails. Its MPI_Abort waits for the thread that holds the lock of stdout, until the rank leaves by
        _exit; of a job that ends so it reports the rank's code, or 9, by which it has killed the others."""
        by_mpich = {"stdout_full": "nonzero", "stdout_held": "nonzero", "stdout_broken": "any", "launcher_": "any"}
        by_mpich["one_calls_underscore_exit_0"] = "any"
        for start, want in by_mpich.items() if self.r.spawner == "mpich" else ():
            if self.case.name.startswith(start):
                return want
        return self.case.expect.split("/")[0 if self.ours else -1]

    def status_is_right(self):
        status, several, want = self.status, self.r.n > 1, self.expected()
        words = {"any": True, "nonzero": status != 0, "max": status == 100 + self.r.n - 1}
        words.update({"cut": status == several, "0_or_cut": status <= several})
        return words[want] if want in words else status == int(want)

    def output_is_complete(self, text):
        ranks, quits = len(set(re.findall("LAST [0-9]*", text))), text.count("TOLD\n")
        printed = {"all": ranks == self.r.n, "one": ranks >= 1, "none": True}
        return printed.get(self.case.printed, ranks >= 1 and quits == self.r.n - 1)

    def killed_are_named(self, text):
        """By one line, with their number; an MPI's launcher has its own messages."""
        lines, n = re.findall(".*are killed.*", text), self.r.n
        named = rf"and {n - 1} of {n} processes, .* are killed .*: ranks? [0-9, and-]* of {n} on "
        return n == 1 or len(lines) == 1 and re.search(named, lines[0])

    def promised(self):
        """Most ms, by the library's own time-outs (IB-X8 at its defaults, or as set), where each process gets a
        processor for 1/16 s in that time: the exit's time, which runs from a signal to a process too, 1/4 s more when
        it is stuck, 1/2 s for the launcher to kill; 1.4 s that the launcher gives a job after a signal."""
        most = {"together": 500, "patient": PATIENT * 1000 + 750, "KILL": 500}
        most.update(dict.fromkeys(("TERM", "INT", "QUIT", "HUP"), 1900))
        return most.get(self.outside, 1750 + 10 * self.r.n) + (0 if self.ours else 5000)

    def left_files(self):
        folders = [self.tmp, "/dev/shm"] if is_private else [self.tmp]
        left = [entry for folder in folders for entry in os.scandir(folder)]
        return [entry.path for entry in left if self.ours or not FILES_OF_MPI.match(entry.name)]

    def left_sockets(self):
        """But connections in TIME_WAIT (06), which only wait for late packets."""
        tables = ("tcp", "tcp6", "udp", "udp6", "unix") if is_private else ()
        lines = [line for table in tables for line in contents(f"/proc/self/net/{table}").splitlines()[1:]]
        return [line for line in lines if line.split()[3] != "06"]

    def judge(self):
        text, wrong, most = contents(self.log), self.wrong, self.promised() + SLACK
        if not self.status_is_right():
            wrong.append(f"status {self.status} instead of {self.expected()}")
        if "fatal signal" in text and not self.case.name.startswith(MAY_CRASH):
            wrong.append("a rank crashed")
        if self.ours and self.case.expect == "cut" and not self.killed_are_named(text):
            wrong.append("the ranks that are killed are not named")
        if not self.output_is_complete(text):
            wrong.append("last output lost")
        if self.left_files():
            wrong.append("files left: " + " ".join(self.left_files()))
        if not until(lambda: not self.left_sockets(), 20):
            wrong.append("sockets left: " + " ".join(self.left_sockets()))
        if self.took > most:
            wrong.append(f"took longer than {most} ms")

    def excuse(self):
        """Debian 12's mpirun (Open MPI 4.1.4, libpmix 4.2.2), told by a signal or by a rank to end the job, races with
        a thread of its own in PMIx_server_finalize when all is over: it crashes there, or waits for ever for that
        thread, which waits for a mutex, while all ranks are zombies. Of 8 jobs of 16 ranks that got SIGINT 2 did the
        one and 1 the other, of 342 jobs of two (before_attach_one under pmix) 5 and 4; not ours to mend."""
        if self.hung:
            return "its mpirun went on when no rank was left"
        crashed = self.r.spawner in ("mpi", "pmix") and self.status == 139
        return "its mpirun crashed" if crashed and "PMIx_server_finalize" in contents(self.log) else None

    def clean_up(self):
        subprocess.run(["rm", "-rf", self.tmp] + [f"/dev/shm/{name}" for name in os.listdir("/dev/shm") if is_private])
        if not self.wrong and not env.get("TEST_KEEP"):
            os.unlink(self.log)


def run_round(r):
    """The round, its name, a reason why it failed, another to skip it, its log and ms."""
    try:
        job = Job(r)
        job.run()
        job.judge()
        excuse = job.excuse()
        job.clean_up()
        name = f"{r.case.name} {r.case.tags}: n={r.n} who={r.odd} {r.mode} {r.spawner}, status {job.status}"
        return r, f"{name}, {job.took} ms", "; ".join(job.wrong), excuse, job.log, job.took
    except Exception:
        return r, f"{r} is made", " ".join(traceback.format_exc().splitlines()), None, os.devnull, 0


class Tap:
    count, bad = 0, 0

    def line(self, name, wrong="", excuse=None):
        self.count += 1
        self.bad += bool(wrong and not excuse)
        verdict = "not ok" if wrong and not excuse else "ok"
        print(f"{verdict} {self.count} - {name}" + (f" # SKIP {excuse}" if excuse else f" ({wrong})" if wrong else ""))


def spawners_here(tap):
    yield from ("ssh", "hosts")
    for name, module, launcher in (
        ("mpi", "mpi-openmpi", "mpirun.openmpi"),
        ("mpich", "mpi-mpich", "mpirun.mpich"),
        ("pmix", "pmix", "mpirun.openmpi"),
    ):
        if os.path.exists(f"{BUILD}/other/launch/gasnet-spawner-{module}.so") and shutil.which(launcher):
            yield name
        else:
            tap.line(name, excuse="is not here")


def chosen_rounds(tap):
    full, names, seed = env.get("TEST_FULL"), env.get("TEST_CASES", "").split(), env.get("EXIT_SEED")
    short = CONDUIT != "ibv" and not full  # the engine is the same: fewer sizes, spawners and random rounds
    sizes = [int(n) for n in (env.get("TEST_NPROCS") or ("3" if short else "1 2 3 8 16")).split()]
    spawners = (env.get("TEST_SPAWNERS") or ("ssh" if short else "")).split() or list(spawners_here(tap))
    tables = {}
    for mode in (env.get("TEST_MODES") or "seq par").split():
        tables[mode] = subprocess.check_output([f"{BUILD}/tests/testexit-{CONDUIT}-{mode}", "list"], text=True)
    there = Rounds(tables, spawners, sizes)
    rounds = there.product(names) if full or names else [] if seed else there.matrix()
    if not names:
        first = int(seed or random.getrandbits(44) + 1)
        count = int(env.get("TEST_ROUNDS") or (1 if seed else 60 if short else 200))
        print(f"# EXIT_SEED={first} TEST_ROUNDS={count} repeats the random rounds of this run")
        rounds += [there.drawn(first + i) for i in range(count)]
    # The parent of a single process is the lane.
    possible = lambda r: r.case.name not in NOT_ALONE and not (r.n == 1 and r.case.name.startswith("parent_killed"))
    return [r for r in rounds if not ALONE or possible(r)]


def run(tap, rounds, scratch):
    """Runs them all; returns (ms, name) of each that gasnetrun itself has started."""
    private = not subprocess.call(["unshare", "-m", "-n", "sh", "-c", OWN_NAMESPACES], stderr=subprocess.DEVNULL)
    if not private:
        print("# no namespaces of our own: /dev/shm and sockets are not looked at")
    times, lanes = [], int(env.get("TEST_LANES") or 3 * os.cpu_count())
    with multiprocessing.Pool(lanes, start_lane, (scratch, private)) as pool:
        for r, name, wrong, excuse, log, took in pool.imap_unordered(run_round, rounds):
            tap.line(f"random {r.seed}: {name}, delay {r.delay}" if r.seed else name, wrong, excuse)
            if wrong and not excuse:
                lines = contents(log).splitlines()[-int(env.get("TEST_TAIL", 15)) :]
                print(f"# log: {log}", *lines, sep="\n#   ")
                if r.seed:
                    print(f"# EXIT_SEED={r.seed} tests/exit/exit.py repeats it")
            if r.spawner in ("ssh", "hosts"):
                times.append((took, f"{r.case.name} {r.n} {r.odd} {r.mode} {r.spawner}"))
        pool.close()
        pool.join()
    return times


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # the folder goes
    sys.stdout.reconfigure(line_buffering=True)
    tap, began = Tap(), time.monotonic()
    try:
        rounds = chosen_rounds(tap)
    except (KeyError, OSError) as error:
        sys.exit(f"exit.py: no such case or program: {error}")
    if env.get("TEST_LIST"):
        print(*(f"{r.case.name} {r.odd} {r.n} {r.mode} {r.spawner} {r.delay} {r.seed}" for r in rounds), sep="\n")
        return
    with tempfile.TemporaryDirectory(prefix="gasnet-test.") as scratch:
        in_build = os.path.exists(f"{BUILD}/config.status")
        os.makedirs(env.setdefault("TEST_LOG", f"{BUILD}/tests/log" if in_build else scratch), exist_ok=True)
        times = run(tap, rounds, scratch)
    print(f"# {len(rounds)} rounds in {time.monotonic() - began:.0f} s; the slowest of gasnetrun's own (ms, of 2000):")
    print(*(f"# {took} {name}" for took, name in sorted(times, reverse=True)[:10]), f"1..{tap.count}", sep="\n")
    sys.exit(tap.bad > 0 or not rounds)


if __name__ == "__main__":
    main()
