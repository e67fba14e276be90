#!/usr/bin/env python3
"""mutate.py - changes one line of the product at a time, and shows which test notices.

    make mutate                                          # the first 20 changes of seed 7, drawn evenly over the folders
    make mutate MUTATE="--seed 7 --count 200"            # more of them
    make mutate MUTATE="--only core/ib,other/vapi"
    make mutate MUTATE="--quick --count 200"             # first steps only; a later run without it takes up survivors

Works in a clone of the committed tree, in mutate/ of the build folder, which stays for the next run.  A change is
judged by the suite of its folder (suites.py); the first failure ends it.  A failure counts if it comes again and the
unchanged tree does not have it; one of time is compared with the unchanged tree at the same load.  For a change that
does not compile, or of a file that is not built here, the next one is taken.
verdicts.txt keeps each change and what noticed it, or why no test can ("equivalent: ...").  A run judges only what is
not there, and adds to it; to judge a change again, delete its lines.  A change is known by its file and the texts
before and after, so one of a line that was edited is new.  The seed orders the lines of a folder by their text: an edit
of the sources moves no other line.
A survivor that drops a lock or an order of memory is for the thread sanitizer (tests/builds/sanitizers.sh), one of a
debug build for the families debug and wrong; no suite here runs them.  The last lines are a table of the seed's changes.
"""
import argparse
import collections
import hashlib
import os
import re
import signal
import sys
import time

import mutations
import suites
from tree import Tree

HERE = os.path.dirname(os.path.abspath(__file__))
RECORD = re.compile(r'^(\S+): ([\w ]+): (.*)\n  - (.*)\n  \+ (.*)$', re.M)
OUT_OF_TIME = re.compile(r'\bhangs\b|status (3|124|137|142|-9|-14)\b|did not come to its end')
SO_FAR, SURVIVES, NO_CHANGE, NOT_BUILT = 'survives so far', 'survives', 'does not compile', 'not built here'
Change = collections.namedtuple('Change', 'key line text')  # key: file, operator, before, after
Key = collections.namedtuple('Key', 'file operator before after')


class Verdicts:
    """The file of verdicts: a dictionary by the key of the change, sorted when it is written."""
    def __init__(self, path):
        self.path = path
        text = open(path).read()
        self.head = text[:text.index('\n\n') + 2]
        self.of = {Key(*hit.group(1, 2, 4, 5)): hit[3] for hit in RECORD.finditer(text)}

    def add(self, key, verdict):
        self.of = {**Verdicts(self.path).of, key: verdict}  # with what another run has written
        with open(self.path + '.new', 'w') as out:
            out.write(self.head)
            for known in sorted(self.of):
                out.write(f'{known.file}: {known.operator}: {self.of[known]}\n  - {known.before}\n  + {known.after}\n')
        os.replace(self.path + '.new', self.path)

    def noticed_by(self, file):
        """How often each command noticed a change, those of this file first, then those of its folder."""
        counts = collections.Counter()
        for key, verdict in self.of.items():
            if os.path.dirname(key.file) == os.path.dirname(file):
                counts[verdict.split(':')[0]] += 100 if key.file == file else 1
        return counts


def changes(folder, seed, root):
    """The changes of a folder, one of each line.  The seed and the text of a line give it its place, so that an edit
    of the sources moves no other line."""
    def place(*texts):
        return hashlib.sha256('\0'.join((str(seed), *texts)).encode()).digest()

    text = {file: open(file).read() for file, _ in folder.sources}
    lines = {file: text[file].split('\n') for file in text}
    seen = set()
    for file, line in sorted(folder.sources, key=lambda s: place(os.path.relpath(s[0], root), lines[s[0]][s[1]].strip())):
        found = mutations.of(text[file], line)
        if found:
            operator, change = min(found, key=lambda f: place(f[0], f[1][line]))
            changed = [change.get(number, old) for number, old in enumerate(lines[file])]
            key = Key(os.path.relpath(file, root), operator, lines[file][line].strip(), change[line].strip())
            if key not in seen:
                yield Change(key, line, '\n'.join(changed))
            seen.add(key)


def attempt(tree, change, steps, favourites):
    """'does not compile', 'not built here', 'survives', or the command that failed and what it said."""
    with tree.changed(change.key.file, change.text):
        for step in steps:
            if not tree.makes(step):
                return NO_CHANGE
            failure = tree.has_built() and tree.fails(step, favourites)
            if failure:
                return failure
        return SURVIVES if tree.has_built() else NOT_BUILT


def judge(tree, change, steps, favourites):
    """The same, after a look whether the unchanged tree fails in that command, too: once for each command, and
    after each failure that a loaded machine may cause."""
    while True:
        verdict = attempt(tree, change, steps, favourites)
        if isinstance(verdict, str):
            return verdict
        command, said, seconds = verdict
        if command not in tree.learned and tree.learn(command, seconds):
            continue
        if OUT_OF_TIME.search(said) and tree.run(command, seconds, tree.learned[command]):
            continue
        return f'{command.split("/")[-1]}: {said}'[:150]


def next_verdict(tree, folder, untried, quick, verdicts):
    """The folder's next change that compiles, and its verdict; None if there is no further one."""
    for change in untried:
        if change.key.file in tree.unbuilt:
            continue
        verdict = verdicts.of.get(change.key)
        if not verdict or (verdict == SO_FAR and not quick):
            start = time.time()
            steps = suites.quick(folder.steps) if quick else folder.steps
            verdict = judge(tree, change, steps, verdicts.noticed_by(change.key.file))
            if quick and verdict in (SURVIVES, NOT_BUILT):
                verdict = SO_FAR
            if verdict == NOT_BUILT:  # of this machine, not of the change
                tree.unbuilt.add(change.key.file)
                continue
            verdicts.add(change.key, verdict)
            print(f'{change.key.file}:{change.line + 1}: {change.key.operator}\n  - {change.key.before}\n  + {change.key.after}\n'
                  f'  {verdict}\n  # {time.time() - start:.0f} s', flush=True)
        if verdict != NO_CHANGE:
            return change, verdict
    return None


def print_table(drawn):
    table = collections.defaultdict(collections.Counter)
    for change, verdict in drawn:
        kind = 'survive' if verdict in (SURVIVES, SO_FAR) else 'equivalent' if verdict.startswith('equivalent') else 'noticed'
        table[os.path.dirname(change.key.file)][kind] += 1
        table['all'][kind] += 1
    kinds = ('noticed', 'equivalent', 'survive')
    print(f'\n{"folder":30} ' + ' '.join(kinds))
    for name in sorted(table, key=lambda n: (n == 'all', n)):
        print(f'{name:30} ' + ' '.join(f'{table[name][kind]:{len(kind)}}' for kind in kinds))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--seed', type=int, default=7)
    parser.add_argument('--count', type=int, default=20, help='changes of this seed, with those that verdicts.txt has')
    parser.add_argument('--only', default='', help='folders, separated by commas')
    parser.add_argument('--quick', action='store_true', help='the first steps of each suite only')
    parser.add_argument('--keep', action='store_true', help='the clone as an earlier run has left it')
    parser.add_argument('--verdicts', default=os.path.join(HERE, 'verdicts.txt'), help='the file that is read and added to')
    options = parser.parse_args()
    for number in (signal.SIGINT, signal.SIGTERM):  # by exceptions, so that the tree is restored
        signal.signal(number, signal.default_int_handler)
    tree = Tree(os.path.abspath('mutate/tree'), os.path.dirname(os.path.dirname(HERE)), options.keep)
    tree.measure(suites.PROGRAMS)
    folders = suites.folders(tree.root, [f for f in options.only.split(',') if f])
    if not folders:
        sys.exit('mutate: no folder of that name')
    print(f'# --seed {options.seed} repeats this run', flush=True)
    verdicts, drawn = Verdicts(options.verdicts), []
    untried = {folder.name: changes(folder, options.seed, tree.root) for folder in folders}
    try:
        for number in range(options.count):
            folder = folders[number % len(folders)]
            found = next_verdict(tree, folder, untried[folder.name], options.quick, verdicts)
            if found:
                drawn.append(found)
    finally:
        print_table(drawn)


if __name__ == '__main__':
    main()
