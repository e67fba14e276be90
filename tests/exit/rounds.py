"""rounds.py - which rounds exit.py makes: from the tables of testexit to lists of rounds, without any I/O.

A round is one job of testexit: a case, the odd rank, which acts in it, and how the job is started. A case is a
special, in which several ranks act, or EXIT_others_STATE: how the odd rank ends the job, and what its peers do then.
"""

import random
from typing import NamedTuple


class Case(NamedTuple):
    """A line of `testexit list`; exit_cases.h explains the fields."""

    name: str
    expect: str
    printed: str
    outside: str
    least: int
    tags: str
    only_par: bool


class Round(NamedTuple):
    case: Case
    odd: str  # first, last or a rank
    n: int
    mode: str
    spawner: str
    delay: int = 0  # most microseconds by which a rank, or the driver's signal, comes later
    seed: int = 0  # of a random round


# For launchers that are not ours, where each round takes a second.
OTHERS_CHOICE = """all_return_0 all_return_7 all_exit_9 codes_differ all_exit_minus_1 before_attach_one
before_attach_one_with_0 before_attach_told
quit_told handler_on_peer one_exits_others_poll one_exits_others_sleep one_exits_with_0_others_spin
one_returns_others_barrier one_calls_underscore_exit_others_poll one_calls_underscore_exit_0_others_sleep
killed_others_poll killed_others_sleep segv_others_barrier sigterm_to_rank_others_poll
sighup_to_spinning_rank_others_barrier out_of_files_others_poll launcher_TERM_others_poll
launcher_KILL_others_sleep one_exits_others_stopped""".split()


class Rounds:
    def __init__(self, tables, spawners, sizes):
        """tables: for each mode, seq before par, the output of `testexit list`."""
        self.modes, self.spawners, self.sizes, self.cases = list(tables), spawners, sizes, {}
        for mode, table in tables.items():
            for line in table.splitlines():
                name, expect, printed, outside, least, *tags = line.split()
                case = Case(name, expect, printed, outside, int(least), "+".join(tags), mode == "par")
                self.cases.setdefault(name, case)
        pairs = [name.split("_others_") for name in self.cases]
        self.specials = [pair[0] for pair in pairs if len(pair) == 1]
        self.exits = list(dict.fromkeys(pair[0] for pair in pairs if len(pair) == 2))
        self.states = list(dict.fromkeys(pair[1] for pair in pairs if len(pair) == 2))

    def one(self, name, odd, n, mode, spawner, *random):
        """A list of that round; an empty one if it is not wanted or cannot be judged."""
        case = self.cases.get(name) or self.cases[name + "_others_poll"]
        wanted = mode in self.modes and spawner in self.spawners
        possible = n >= case.least and not (case.only_par and mode == "seq")
        if spawner == "hosts":  # the odd rank's parent is one of several there
            possible &= case.outside != "STOP"
        elif spawner != "ssh":  # nothing kills a stopped rank whose parent was killed there
            possible &= not case.expect.endswith("/-")
            possible &= name not in ("parent_killed_others_stopped", "parent_killed_others_mixed")
        return [Round(case, odd, n, mode, spawner, *random)] if wanted and possible else []

    def specials_at(self, odd, *where, only_par=False):
        found = [r for name in self.specials for r in self.one(name, odd, *where)]
        if only_par:
            return [r for r in found if r.case.only_par]
        return [r for r in found if odd == "first" or (r.case.printed != "all" and r.n > 1)]

    def exits_at(self, odd, *where, wanted=lambda e, s: True):
        """Exit number e with peer state number s wherever wanted(e, s)."""
        return [
            r
            for e, exit in enumerate(self.exits)
            for s, state in enumerate(self.states)
            if wanted(e, s)
            for r in self.one(f"{exit}_others_{state}", odd, *where)
        ]

    def matrix(self):
        """
        specials  each at every size, with the first rank as the odd one and, at 2 and 3, the last
        exits     each at every size and with every state, every state at every size; not each exit with each state at
                  each size: that is soak's, as are all sizes in PAR and with other spawners
        PAR       what only it has at 1, 2, 3 and 8, and the specials at 2
        spawners  ssh over made-up hosts: specials and exits at 3; mpi (Open MPI), mpich and pmix: a choice at 3
        """
        rounds = []

        def diagonals(*numbers):  # of the table of exits and states: each exit and each state is met
            return lambda e, s: (e + s) % len(self.states) in numbers

        exits = {1: ("first", 0), 2: ("first", 0, 3, 6, 9), 3: ("last", 1, 4, 7, 10), 8: ("first", 2, 8)}
        for n in self.sizes:
            rounds += self.specials_at("first", n, "seq", "ssh")
            rounds += self.specials_at("last", n, "seq", "ssh") if n in (2, 3) else []
            odd, *numbers = exits.get(n, ("last", 5))
            rounds += self.exits_at(odd, n, "seq", "ssh", wanted=diagonals(*numbers))
        only_par = [self.cases[exit + "_others_poll"].only_par for exit in self.exits]
        for n in {1, 2, 3, 8} & set(self.sizes):
            every_third = lambda e, s: only_par[e] and (e + s + n) % 3 == 0
            rounds += self.exits_at("first", n, "par", "ssh", wanted=every_third)
            rounds += self.specials_at("last", n, "par", "ssh", only_par=True) if n != 2 else []
        rounds += self.specials_at("last", 2, "par", "ssh") + self.specials_at("first", 2, "par", "ssh")
        if 3 in self.sizes:
            rounds += self.specials_at("last", 3, "seq", "hosts")
            rounds += self.exits_at("first", 3, "seq", "hosts", wanted=diagonals(0))
            for spawner in ("mpi", "mpich", "pmix"):
                rounds += [r for name in OTHERS_CHOICE for r in self.one(name, "last", 3, "seq", spawner)]
        return rounds

    def product(self, names):
        """Everything everywhere; with names, these cases alone."""
        rounds = []
        for where in [(n, mode, spawner) for spawner in self.spawners for mode in self.modes for n in self.sizes]:
            for odd in ("first", "last"):
                if names:
                    rounds += [r for name in names for r in self.one(name, odd, *where)]
                elif odd == "first" or where[0] > 1:
                    rounds += self.specials_at(odd, *where) + self.exits_at(odd, *where)
        return rounds

    def drawn(self, seed):
        """The random round of that seed."""
        draw, found = random.Random(seed), []
        while not found:
            name = draw.choice(self.specials)
            if draw.randrange(3):
                name = draw.choice(self.exits) + "_others_" + draw.choice(self.states)
            n = draw.choice((1, 2, 2, 2, 2, 2, 3, 3, 3, 3, 4, 5, 6, 8, 16))
            odd, mode = str(draw.randrange(n)), draw.choice(("seq", "seq", "par"))
            spawner = draw.choice(("ssh",) * 10 + ("hosts", "hosts", "mpi", "mpich", "pmix"))
            # A signal to another's launcher proves nothing of ours: MPICH's waits for a stopped rank for ever, Open
            # MPI's, whose ranks have all ended, may crash or hang in PMIx_server_finalize (see exit.py).
            if name.startswith("launcher_") and spawner != "hosts":
                spawner = "ssh"
            delay = draw.randint(0, draw.choice((0, 100, 1000, 10000, 50000)))
            if name.startswith(("launcher_told", "launcher_interrupted", "launcher_quit")):
                delay = 0  # the ranks must have installed their handlers
            found = self.one(name, odd, n, mode, spawner, delay, seed)
        return found[0]
