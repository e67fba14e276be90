#!/usr/bin/env python3
"""mutate.py - changes one line of the product at a time, and shows which test notices.

    make mutate                                          # 20 changes, drawn evenly over the folders
    make mutate MUTATE="--seed 7 --count 200"            # a run can be repeated by its seed
    make mutate MUTATE="--only core/ib,other/vapi"

Works in a clone of the committed tree, in mutate/ of the build folder, which stays for the next run.  A change is
judged by the families and client programs of its folder; the first failure ends them.  A change that does not
compile is drawn anew.  The last lines are a table; mutate/results.txt keeps every change and what noticed it.
"""
import argparse
import collections
import glob
import os
import random
import signal
import subprocess
import sys
import time

import mutations

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))


def clients(conduit, modes, n, programs):
    return (f"TEST_CONDUIT={conduit} TEST_MODES='{modes}' TEST_NPROCS={n} TEST_SPAWNERS=ssh TEST_TIMEOUT=30 "
            f"TEST_PROGRAMS='{programs}' ../tests/programs/run-conduit.sh")


CLIENTS = 'testhello testam testputget testbarrier testhandles testvalue testlock'
SIM = 'TEST_ROUNDS=1000 ../tests/sim/run.sh'
UNIT = '../tests/unit/run.sh'
IBV = [clients('ibv', 'seq', 2, CLIENTS + ' testamsize testsync'), UNIT,
       clients('ibv', 'par', 3, 'testam testputget testthreads testamflood')]
# folder -> commands in the build folder, the quickest first
SUITES = {
    'core/*': IBV + [SIM, '../tests/params/run.sh', '../tests/am/flow.sh'],
    'core/ib': IBV + [SIM, '../tests/ib/connect.sh', '../tests/params/run.sh',
                      'GASNET_AMRDMA_CYCLE=1 ' + clients('ibv', 'seq', 3, 'testam testamflood'),
                      'GASNET_USE_SRQ=1 ' + clients('ibv', 'par', 3, 'testam testamflood')],
    'extended-ref': IBV + ['TEST_MODES=seq ../tests/builds/reference.sh'],
    'portals-conduit': [UNIT, clients('portals', 'seq', 3, CLIENTS), '../tests/portals/run.sh',
                        clients('portals', 'par', 3, 'testam testputget testthreads')],
    'other/handshake': [UNIT, SIM, '../tests/fuzz/run.sh'],
    'other/portals3/*': ['../tests/portals3/run.sh', clients('portals', 'seq', 3, CLIENTS)],
    'other/softhca/*': ['SOFTHCA=on ./softhca_rules', UNIT, 'SOFTHCA=on ./softhca_soak 1', 'SOFTHCA=on ./softhca_stress 1'],
    'other/spawner': ['../tests/spawner/run.sh', '../tests/spawner/env.sh'],
    'other/spawner/*': ['../tests/spawner/run.sh', '../tests/spawner/env.sh'],
    'other/tools': ['../tests/tools/run.sh', UNIT],
    'other/vapi': ['../tests/vapi/run.sh', clients('vapi', 'par', 3, 'testam testputget testthreads')],
}
SECONDS = 150  # for one command; with the change it may hang


def sources(tree, only):
    """folder -> [(file, line)], for folders of SUITES; core/ib has a suite of its own."""
    found = {}
    for pattern in SUITES:
        for folder in sorted(glob.glob(os.path.join(tree, pattern))):
            name = os.path.relpath(folder, tree)
            if not os.path.isdir(folder) or (name in SUITES and name != pattern) or (only and name not in only):
                continue
            files = sorted(glob.glob(os.path.join(folder, '*.c')) + glob.glob(os.path.join(folder, '*.h')))
            lines = [(f, i) for f in files for i in mutations.sites(open(f).read())]
            if lines:
                found[name, pattern] = lines
    return found


class Tree:
    """A clone of the committed tree, built."""

    def __init__(self, folder):
        self.root, self.build = folder, os.path.join(folder, 'build')
        if not os.path.isdir(folder):
            self.must(['git', 'clone', '-q', ROOT, folder], '.')
            self.must(['./Bootstrap'], folder)
            os.makedirs(self.build)
            self.must(['../configure', '-q'], self.build)
        else:
            self.must(['git', 'fetch', '-q'], folder)
            self.must(['git', 'reset', '-q', '--hard', 'origin/HEAD'], folder)
        self.must(['make', '-s', '-j2', 'check-programs'], self.build)

    @staticmethod
    def must(command, folder):
        with open(os.devnull, 'w') as nothing:
            if subprocess.run(command, cwd=folder, stdout=nothing).returncode:
                sys.exit(f"mutate: {' '.join(command)} failed in {folder}")

    def makes(self):
        return subprocess.run(['make', '-s', '-j2', 'check-programs'], cwd=self.build, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL).returncode == 0

    def fails(self, command):
        """What the command says of its failure, or None."""
        with subprocess.Popen(['bash', '-c', command], cwd=self.build, stdin=subprocess.DEVNULL, text=True, errors='replace',
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True) as process:
            signal.signal(signal.SIGALRM, lambda *_: os.killpg(process.pid, signal.SIGKILL))
            signal.alarm(SECONDS)
            said = None
            for line in process.stdout:
                if line.startswith('not ok'):
                    said = line.strip()
                    os.killpg(process.pid, signal.SIGTERM)
                    break
            process.stdout.read()
            left = signal.alarm(0)
        if said or process.returncode == 0:
            return said
        return 'hangs' if left == 0 else f'status {process.returncode}'


def judge(tree, file, change, commands):
    """'does not compile', 'SURVIVES', or what noticed it."""
    original = open(file).read()
    lines = original.split('\n')
    for number, new in change.items():
        lines[number] = new
    try:
        with open(file, 'w') as out:
            out.write('\n'.join(lines))
        if not tree.makes():
            return 'does not compile'
        for command in commands:
            said = tree.fails(command)
            if said:
                return f'{command.split("/")[-1]}: {said}'[:150]
        return 'SURVIVES'
    finally:
        with open(file, 'w') as out:
            out.write(original)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--seed', type=int, default=int(time.time()))
    parser.add_argument('--count', type=int, default=20)
    parser.add_argument('--only', default='', help='folders, separated by commas')
    options = parser.parse_args()
    tree = Tree(os.path.abspath('mutate/tree'))
    folders = sources(tree.root, [f for f in options.only.split(',') if f])
    if not folders:
        sys.exit('mutate: no folder of that name')
    draw, table = random.Random(options.seed), collections.defaultdict(collections.Counter)
    print(f'# --seed {options.seed} repeats this run', flush=True)
    with open('mutate/results.txt', 'a') as results:
        judged = 0
        while judged < options.count:
            (name, pattern), lines = list(folders.items())[judged % len(folders)]
            file, line = draw.choice(lines)
            changes = mutations.of(open(file).read(), line)
            if not changes:
                continue
            operator, change = draw.choice(changes)
            before = open(file).read().split('\n')[line].strip()
            verdict = judge(tree, file, change, SUITES[pattern])
            if verdict == 'does not compile':
                continue
            judged += 1
            table[name]['survive' if verdict == 'SURVIVES' else 'noticed'] += 1
            text = f'{os.path.relpath(file, tree.root)}:{line + 1}: {operator}\n  - {before}\n  + {change[line].strip()}\n  {verdict}'
            print(text, flush=True)
            print(text, file=results, flush=True)
    tree.makes()
    print(f'\n{"folder":30} noticed survive')
    for name in sorted(table):
        print(f'{name:30} {table[name]["noticed"]:7} {table[name]["survive"]:7}')


if __name__ == '__main__':
    main()
