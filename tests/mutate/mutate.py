#!/usr/bin/env python3
"""mutate.py - changes one line of the product at a time, and shows which test notices.

    make mutate                                          # 20 changes, drawn evenly over the folders
    make mutate MUTATE="--seed 7 --count 200"            # the same seed goes on where an earlier run ended
    make mutate MUTATE="--only core/ib,other/vapi"
    make mutate MUTATE="--quick --seed 7 --count 200"    # first steps only; a later run without it takes up survivors

Works in a clone of the committed tree, in mutate/ of the build folder, which stays for the next run.  A change is
judged by the suite of its folder (suites.py); the first failure ends it.  A failure counts if it comes again and the
unchanged tree does not have it; one of time is compared with the unchanged tree at the same load.  For a change that
does not compile the next one is taken; one that equivalent.txt lists is not run.
The seed orders the lines of a folder by their text: after an edit of the sources it goes on with the same changes,
but for those of the lines edited.  A survivor that drops a lock is for the thread sanitizer
(tests/builds/sanitizers.sh), one of a debug build for the families debug and wrong; no suite here runs them.
mutate/results.txt keeps every change and what noticed it; the last lines are a table of the seed's changes.
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
RECORD = re.compile(r'^(?:(\d+/\S+) )?(\S+?)(?::\d+)?: (.*)\n  - (.*)\n  \+ (.*)\n  (.*)$', re.M)
OUT_OF_TIME = re.compile(r'\bhangs\b|status (3|124|137|142|-9|-14)\b|did not come to its end')
QUICK_STEPS, SO_FAR = 2, 'survives so far'
Change = collections.namedtuple('Change', 'file line operator before after text')


def records(path):
    """(slot, (file, operator, before, after), verdict) of a file of results."""
    text = open(path).read() if os.path.exists(path) else ''
    found = [(hit[1], hit.group(2, 3, 4, 5), hit[6]) for hit in RECORD.finditer(text)]
    return list({key: (slot, key, verdict) for slot, key, verdict in found}.values())  # the last verdict of each


def changes(folder, seed, root):
    """The changes of a folder, one of each line.  The seed and the text of a line give it its place, so that an edit
    of the sources moves no other line."""
    def place(*texts):
        return hashlib.sha256('\0'.join((str(seed), *texts)).encode()).digest()

    text = {file: open(file).read() for file, _ in folder.sources}
    lines = {file: text[file].split('\n') for file in text}
    for file, line in sorted(folder.sources, key=lambda s: place(os.path.relpath(s[0], root), lines[s[0]][s[1]].strip())):
        found = mutations.of(text[file], line)
        if found:
            operator, change = min(found, key=lambda f: place(f[0], f[1][line]))
            changed = [change.get(number, old) for number, old in enumerate(lines[file])]
            yield Change(os.path.relpath(file, root), line, operator, lines[file][line].strip(), change[line].strip(),
                         '\n'.join(changed))


def attempt(tree, change, steps):
    """'does not compile', 'SURVIVES', or the command that failed and what it said."""
    with tree.changed(change.file, change.text):
        for step in steps:
            if not tree.makes(step):
                return 'does not compile'
            failure = tree.fails(step)
            if failure:
                return failure
    return 'SURVIVES'


def judge(tree, change, steps):
    """The same, after a look whether the unchanged tree fails in that command, too: once for each command, and
    after each failure that a loaded machine may cause."""
    while True:
        verdict = attempt(tree, change, steps)
        if isinstance(verdict, str):
            return verdict
        command, said, seconds = verdict
        if command not in tree.learned and tree.learn(command, seconds):
            continue
        if OUT_OF_TIME.search(said) and tree.run(command, seconds, tree.learned[command]):
            continue
        return f'{command.split("/")[-1]}: {said}'[:150]


def next_verdict(tree, folder, untried, quick, seen, equivalent):
    """The folder's next change that compiles, and its verdict; None if there is no further one."""
    steps = folder.steps[:QUICK_STEPS] if quick else folder.steps
    for change in untried:
        key = (change.file, change.operator, change.before, change.after)
        if key in seen:
            continue
        seen.add(key)
        verdict = equivalent.get(key) or judge(tree, change, steps)
        if verdict != 'does not compile':
            return change, SO_FAR if quick and verdict == 'SURVIVES' else verdict


def print_table(path, seed):
    table = collections.defaultdict(collections.Counter)
    for slot, (file, *_), verdict in records(path):
        if slot.split('/')[0] == str(seed):
            kind = 'survive' if verdict in ('SURVIVES', SO_FAR) else 'equivalent' if verdict.startswith('equivalent') else 'noticed'
            table[os.path.dirname(file)][kind] += 1
            table['all'][kind] += 1
    kinds = ('noticed', 'equivalent', 'survive')
    print(f'\n{"folder":30} ' + ' '.join(kinds))
    for name in sorted(table, key=lambda n: (n == 'all', n)):
        print(f'{name:30} ' + ' '.join(f'{table[name][kind]:{len(kind)}}' for kind in kinds))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--seed', type=int, default=int(time.time()))
    parser.add_argument('--count', type=int, default=20, help='changes of this seed, with those of earlier runs')
    parser.add_argument('--first', type=int, default=0, help='the first of them, for several runs at once, each with a tree')
    parser.add_argument('--only', default='', help='folders, separated by commas')
    parser.add_argument('--quick', action='store_true', help='the first steps of each suite only')
    parser.add_argument('--keep', action='store_true', help='the clone as an earlier run has left it')
    parser.add_argument('--results', default='mutate/results.txt')
    options = parser.parse_args()
    for number in (signal.SIGINT, signal.SIGTERM):  # by exceptions, so that the tree is restored
        signal.signal(number, signal.default_int_handler)
    tree = Tree(os.path.abspath('mutate/tree'), os.path.dirname(os.path.dirname(HERE)), options.keep)
    folders = suites.folders(tree.root, [f for f in options.only.split(',') if f])
    if not folders:
        sys.exit('mutate: no folder of that name')
    equivalent = {key: verdict for _, key, verdict in records(os.path.join(HERE, 'equivalent.txt'))}
    earlier = records(options.results)
    if not options.quick:
        earlier = [record for record in earlier if record[2] != SO_FAR]
    done, seen = {slot for slot, *_ in earlier}, {key for _, key, _ in earlier}
    print(f'# --seed {options.seed} repeats this run', flush=True)
    untried = {folder.name: changes(folder, options.seed, tree.root) for folder in folders}
    for number in range(options.first, options.count):
        slot = f'{options.seed}/{number}{options.only and ":" + options.only}'
        if slot in done:
            continue
        start = time.time()
        folder = folders[number % len(folders)]
        found = next_verdict(tree, folder, untried[folder.name], options.quick, seen, equivalent)
        if not found:
            continue
        change, verdict = found
        text = f'{slot} {change.file}:{change.line + 1}: {change.operator}\n  - {change.before}\n  + {change.after}\n  {verdict}'
        print(f'{text}\n  # {time.time() - start:.0f} s', flush=True)
        with open(options.results, 'a') as results:
            print(text, file=results)
    print_table(options.results, options.seed)


if __name__ == '__main__':
    main()
