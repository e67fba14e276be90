#!/usr/bin/env python3
"""counts.py - checks the traces of a job of testtrace.  Prints what is wrong, a line each.

    counts.py RANKS FILE...        each event of testtrace is there, once, in each rank
    counts.py -some RANKS FILE...  the files are whole, and count the events that are lost
    counts.py -shared RANKS FILE   one file for all ranks, which a viewer must open too
"""
import collections
import json
import subprocess
import sys

# What each rank does, by the program's own account: (name, bytes): how many.
PUTS = {('put', 8): 3, ('put_nb', 16): 2, ('put_nbi', 5000): 4, ('memset', 77): 1, ('vis_put', 60): 1, ('put', 40): 1}
GETS = {('get', 8): 1, ('get', 1000): 1, ('get_nb', 16): 1, ('get_nbi', 24): 1}
MESSAGES = {'request_short': 5, 'reply_short': 5, 'request_medium': 2}
HANDLERS = {200: 5, 201: 5, 202: 2}
LINES = {('H', 'round 1 of "tell"'): 1, ('U', 'forced'): 1}


# The functions of testtrace that wait.
OWN = {'put_3_blocking_2_nb_and_4_nbi', 'get_2_blocking_1_nb_and_1_nbi', 'send_5_shorts_and_2_mediums', 'flood'}


def functions_at(site):
    """The functions, inlined ones too, of an address PROGRAM+0xOFFSET behind a call."""
    if '+0x' not in site or '/' not in site:
        return OWN if not site or site.split('+')[0] in OWN | {'main'} else {site}
    program, offset = site.rsplit('+', 1)
    names = subprocess.run(['addr2line', '-fie', program, hex(int(offset, 16) - 1)], capture_output=True, text=True)
    return set(names.stdout.split()) or {site}


class Rank:
    def __init__(self, number, events):
        self.number = number
        self.spans = [e for e in events if e['ph'] == 'X']
        self.moments = [e for e in events if e['ph'] == 'i']
        self.meta = {e['name']: e['args'] for e in events if e['ph'] == 'M'}

    def count(self, key, cats):
        return collections.Counter(key(e) for e in self.spans if e['cat'] in cats)


def read(path, whole):
    with open(path, encoding='utf-8') as file:
        text = file.read()
    # A file of several ranks has no end: viewers accept that.
    return json.loads(text if whole else text.rstrip().rstrip(',') + ']')


def size_of(e):
    # Without the waits in between, transfers with shared-memory peers are all of one kind.
    return e['name'].split('_')[0], e.get('args', {}).get('bytes')


def merged(table):
    result = collections.Counter()
    for (name, size), n in table.items():
        result[(name.split('_')[0], size)] += n
    return result


def check_counts(rank, ranks, say):
    def same(what, found, expected):
        if dict(found) != dict(expected):
            say(f'{what}: found {dict(found)}, expected {dict(expected)}')

    same('puts', rank.count(size_of, 'P'), merged(PUTS))
    same('gets', rank.count(size_of, 'G'), merged(GETS))
    messages = [e for e in rank.spans if e['cat'] == 'A']
    same('messages', collections.Counter(e['name'] for e in messages if e['name'] != 'handler'), MESSAGES)
    same('handlers', collections.Counter(e['args']['handler'] for e in messages if e['name'] == 'handler'), HANDLERS)
    same('lines', collections.Counter((e['cat'], e['name']) for e in rank.moments), LINES)
    following, before = (rank.number + 1) % ranks, (rank.number - 1) % ranks
    peers = collections.Counter(e['args']['peer'] for e in messages if e['name'].startswith('request'))
    same('destinations of Requests', peers, {following: 7})
    peers = collections.Counter(e['args']['peer'] for e in messages if e['name'] == 'handler')
    expected = collections.Counter({before: 7})
    expected[following] += 5
    same('sources of messages', peers, expected)
    if rank.count(lambda e: e['name'], 'W')['gasnet_coll_broadcast'] != 1:
        say('no broadcast')
    waits = [e for e in rank.spans if e['name'] == 'barrier_wait']
    if len(waits) < 4:
        say(f'{len(waits)} barriers')
    if rank.number and max(e['dur'] for e in waits) < 20000:
        say('no long wait for the rank that is late')
    if not any(e['args'].get('site') == 'upc.c:12' for e in waits if 'args' in e):
        say('no barrier at the source line that the client has set')
    sites = {e.get('args', {}).get('site', '') for e in waits} - {'upc.c:12'}
    if not all('testtrace' in s or s.startswith('wait_') or s.startswith('m') for s in sites):
        say(f'barriers are called from {sites}')
    for e in rank.spans:
        site = e.get('args', {}).get('site', '')
        if e['name'] == 'wait' and site != 'upc.c:12' and not OWN & functions_at(site):
            say(f'a wait at {site}: {functions_at(site)}')
    if not {e['name'] for e in rank.spans if e['cat'] == 'I'} >= {'init', 'attach', 'coll_init'}:
        say('no phases')


def check_frame(rank, ranks, say):
    about, end = rank.meta.get('gasnet', {}), rank.meta.get('gasnet_end', {})
    if about.get('rank') != rank.number or about.get('ranks') != ranks or not about.get('aligned'):
        say(f'its first line is {about}')
    if end.get('events') != len(rank.spans) + len(rank.moments):
        say(f'its last line is {end}, and there are {len(rank.spans) + len(rank.moments)} events')
    for e in rank.spans:
        if e['dur'] < 0 or e['dur'] > 60e6 or e['ts'] < -60e6 or e['ts'] > 600e6:
            say(f'times out of range: {e}')
            break


def check_clocks(ranks, say):
    """A broadcast ends in no rank before it has begun in rank 0, whose data it brings."""
    def span(rank):
        return next((e for e in rank.spans if e['name'] == 'gasnet_coll_broadcast'), None)

    spans = [span(r) for r in ranks]
    if None in spans:
        return
    for r, s in enumerate(spans):
        if s['ts'] + s['dur'] < spans[0]['ts']:
            say(f'rank {r} has the data at {s["ts"] + s["dur"]}, before rank 0 sends it at {spans[0]["ts"]}')


def main():
    arguments = sys.argv[1:]
    how = arguments.pop(0) if arguments[0].startswith('-') else ''
    number, paths = int(arguments[0]), arguments[1:]
    wrong = []
    events = [e for path in paths for e in read(path, how != '-shared')]
    ranks = [Rank(r, [e for e in events if e['pid'] == r]) for r in range(number)]
    for rank in ranks:
        def say(text, rank=rank):
            wrong.append(f'rank {rank.number}: {text}')
        check_frame(rank, number, say)
        if how != '-some':
            check_counts(rank, number, say)
    check_clocks(ranks, wrong.append)
    print('\n'.join(wrong))
    print(sum(r.meta.get('gasnet_end', {}).get('dropped', 0) for r in ranks), 'lost')
    return 1 if wrong else 0


sys.exit(main())
