"""traces.py - makes the traces of a job that never ran, in the format of core/trace/README.md, and says what a report
about them must show. The same seed makes the same job.

By hand: traces.py FOLDER RANKS ROUNDS SEED [EVENTS-PER-ROUND]
"""

import collections
import json
import random
import sys

MAIN, PROGRESS = 100, 200  # thread ids
LOOP = "/home/al/projects/solvers/stencil/build/release/bin/stencil+0x17bd"  # a call site, with a long name


class Job:
    """A stencil with reductions. What the report must show is added up while the events are made."""

    def __init__(self, ranks, rounds, seed, calls=6, threads=True):
        self.random = random.Random(seed)
        self.ranks, self.rounds, self.calls, self.threads = ranks, rounds, calls, threads
        self.lines = [[] for _ in range(ranks)]  # of each rank: (end, line)
        self.now = [0] * ranks  # ns
        self.bytes = collections.Counter()  # by (kind of traffic, rank, peer)
        self.messages = collections.Counter()
        self.causes = collections.Counter()  # ns of waiting, without the waits inside
        self.sites = collections.Counter()
        self.waits = []  # (ns, rank, begin, cause, site)
        self.operations = collections.Counter()  # by name
        self.longest = collections.Counter()
        self.phases = collections.Counter()  # ns, by (rank, name)
        self.moments = 0
        self.events = [0] * ranks
        self.run()

    # --- lines ---

    def put(self, rank, end, **line):
        self.lines[rank].append((end, len(self.lines[rank]), json.dumps(line, separators=(",", ":"))))

    @staticmethod
    def us(ns):
        return f"{'-' if ns < 0 else ''}{abs(ns) // 1000}.{abs(ns) % 1000:03d}"

    def event(self, rank, tid, text, end):
        self.events[rank] += 1
        self.lines[rank].append((end, len(self.lines[rank]), text))

    def span(self, rank, category, name, begin, length, tid=MAIN, **args):
        """One span; `for_` is the key `for`."""
        if "for_" in args:
            args["for"] = args.pop("for_")
        text = (f'{{"ph":"X","name":"{name}","cat":"{category}","ts":{self.us(begin)},"dur":{self.us(length)},'
                f'"pid":{rank},"tid":{tid},"args":{json.dumps(args, separators=(",", ":"))}}}')
        self.event(rank, tid, text, begin + length)
        self.operations[name] += 1
        self.longest[name] = max(self.longest[name], length)
        traffic = {"P": "puts", "G": "gets", "A": "messages"}.get(category, "atomics" if name == "atomic" else "")
        if traffic and name != "handler" and "peer" in args:
            self.bytes[traffic, rank, args["peer"]] += args.get("bytes", 0)
            self.messages[traffic, rank, args["peer"]] += 1
        if name in ("init", "attach", "connect", "register"):
            self.phases[rank, name] += length
        return begin + length

    def wait(self, rank, category, name, begin, length, inside=0, tid=MAIN, **args):
        """A span in which the rank waits; `inside`: waits that lie in it."""
        cause = f"{name}: {args['for_']}" if "for_" in args else name
        self.causes[cause] += length - inside
        self.sites[args.get("site", "(not known)")] += length - inside
        self.waits.append((length, rank, begin, cause, args.get("site", "")))
        return self.span(rank, category, name, begin, length, tid, **args)

    def moment(self, rank, text, category="H"):
        line = json.dumps(text)
        self.event(rank, MAIN, f'{{"ph":"i","s":"t","name":{line},"cat":"{category}","ts":{self.us(self.now[rank])},'
                               f'"pid":{rank},"tid":{MAIN}}}', self.now[rank])
        self.moments += 1

    # --- the job ---

    def about(self, ns):
        return max(int(self.random.lognormvariate(0, 0.5) * ns), 1)

    def start(self, rank):
        began = self.about(4e6) - (12_000_000 if rank == 1 else 2_000_000)  # rank 1 starts before rank 0's zero
        init = self.about(40e6)
        self.span(rank, "I", "init", began, init)
        attach = began + init + self.about(100e3)
        length = 5_000_000 + self.about(10e6)
        self.span(rank, "I", "attach", attach, length)
        self.span(rank, "C", "register", attach + 1000, min(self.about(2e6), length // 2), bytes=1 << 26)
        self.now[rank] = attach + length

    def connect(self, rank, peer):
        self.now[rank] = self.wait(rank, "C", "connect", self.now[rank], self.about(300e3), peer=peer)

    def call(self, rank, round_):
        """One of the calls that a rank makes in a round."""
        n, pick = self.ranks, self.random.random
        peer = (rank + self.random.choice((1, 1, n - 1, n // 2 or 1))) % n
        size = 1 << self.random.randrange(3, 18)
        begin, site = self.now[rank], f"stencil.c:{self.random.choice((88, 93, 121))}"
        which = pick()
        if which < 0.45:
            begin = self.span(rank, "P", self.random.choice(("put_nb", "put_nb", "put_nbi", "put")), begin,
                              self.about(250 + size / 12), peer=peer, bytes=size, site=site)
        elif which < 0.6:
            begin = self.span(rank, "G", self.random.choice(("get", "get_nb")), begin, self.about(1800 + size / 10), peer=peer, bytes=size)
        elif which < 0.75:
            length = self.about(600)
            if pick() < 0.15:  # a stall, inside of the call
                stalled = self.about(60e3)
                self.wait(rank, "C", "stall", begin + 100, stalled, for_="a credit", peer=peer, site=site)
                length += stalled + 200
            end = self.span(rank, "A", self.random.choice(("request_short", "request_medium")), begin, length, peer=peer,
                            bytes=min(size, 4096), handler=130, site=site)
            if self.threads:
                self.handler(peer, rank, end + self.about(1500))
            begin = end
        elif which < 0.8:
            begin = self.span(rank, "W", "atomic", begin, self.about(1500), peer=peer, bytes=8)
        elif which < 0.83:
            begin = self.wait(rank, "L", "lock", begin, self.about(900), site="queue_push+0x4c")
        else:
            begin += self.about(8000)
        self.now[rank] = begin + self.about(700)
        if round_ and pick() < 0.01:
            self.now[rank] = self.wait(rank, "S", "wait", self.now[rank], self.about(400e3), for_="get", site=site)

    def handler(self, rank, source, begin):
        """On the thread that polls, one after the other."""
        begin = max(begin, self.polled[rank] + 50)
        self.polled[rank] = self.span(rank, "A", "handler", begin, self.about(450), PROGRESS, peer=source, handler=130)

    def meet(self, round_):
        """A barrier: all leave when the last has come; one rank is late now and then."""
        late = self.random.randrange(self.ranks)
        self.now[late] += self.about(3e5 if self.random.random() < 0.7 else 4e6)
        for rank in range(self.ranks):
            self.now[rank] = self.wait(rank, "S", "wait", self.now[rank], self.about(9000), for_="puts", site="stencil.c:140") + 200
            self.now[rank] = self.span(rank, "B", "barrier_notify", self.now[rank], self.about(500), team="0") + 50
        end = max(self.now) + 3000
        for rank in range(self.ranks):
            begin, inside = self.now[rank], 0
            if end - begin > 100_000 and self.random.random() < 0.3:
                inside = self.wait(rank, "C", "stall", begin + 500, 40_000, for_="a send slot", site="barrier_step+0x1f") - begin - 500
            self.now[rank] = self.wait(rank, "B", "barrier_wait", begin, end + self.about(800) - begin, inside, team="0", site=LOOP) + 300

    def reduce(self):
        end = max(self.now) + self.about(12e3)
        for rank in range(self.ranks):
            begin = self.now[rank]
            self.span(rank, "W", "reduce", begin, end - begin + 900, team="0", bytes=8)
            self.wait(rank, "X", "coll_wait", begin + 400, end - begin, team="0", for_="reduce", site="norm+0x88")
            self.now[rank] = end + 1000

    def run(self):
        self.polled = [0] * self.ranks
        for rank in range(self.ranks):
            self.start(rank)
            if self.ranks > 1:
                self.connect(rank, (rank + 1) % self.ranks)
        self.meet(0)
        self.polled = list(self.now)
        for round_ in range(self.rounds):
            for rank in range(self.ranks):
                if round_ % 10 == 0:
                    self.moment(rank, f"round {round_}: residual {self.random.random():.3e} <b>&amp; \u00b5</b> </script>")
                for _ in range(self.calls):
                    self.call(rank, round_)
                self.now[rank] += self.about(60e3)
            self.meet(round_)
            if round_ % 5 == 4:
                self.reduce()
        self.waits.sort(key=lambda wait: (-wait[0], wait[2]))

    # --- files ---

    def of_rank(self, rank, began="2026-11-30T23:00:00Z", ended=True):
        head = [dict(ph="M", name="gasnet", pid=rank, args=dict(rank=rank, ranks=self.ranks, host=f"node{rank // 2 + 1}", conduit="ibv",
                                                               mode="par", aligned=True, began=began)),
                dict(ph="M", name="process_name", pid=rank, args=dict(name=f"rank {rank}"))]
        if self.threads:
            head.append(dict(ph="M", name="thread_name", pid=rank, tid=MAIN, args=dict(name="main")))
            head.append(dict(ph="M", name="thread_name", pid=rank, tid=PROGRESS, args=dict(name="receive")))
        lines = [json.dumps(line, separators=(",", ":")) for line in head]
        lines += [text for _, _, text in sorted(self.lines[rank])]  # a span is written at its end
        if ended:
            lines.append(json.dumps(dict(ph="M", name="gasnet_end", pid=rank, args=dict(events=self.events[rank], dropped=0)),
                                    separators=(",", ":")))
        return lines

    @staticmethod
    def text(lines, ended=True):
        return "[\n" + ",\n".join(lines) + ("\n]\n" if ended else ",\n")

    def write(self, folder):
        files = []
        for rank in range(self.ranks):
            files.append(f"{folder}/trace.{rank}.json")
            with open(files[-1], "w", encoding="utf-8") as file:
                file.write(self.text(self.of_rank(rank)))
        return files


if __name__ == "__main__":
    Job(*map(int, sys.argv[2:])).write(sys.argv[1])
