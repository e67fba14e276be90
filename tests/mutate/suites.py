"""suites.py - which folders are changed, and what judges a change: for each folder steps in the build folder, the
quickest first.  A step makes its targets and runs a command, or makes programs and runs those that were made anew."""
import collections
import glob
import os

import mutations

Step = collections.namedtuple('Step', 'programs targets command seconds')  # after which it hangs
Folder = collections.namedtuple('Folder', 'name steps sources')


def run(targets, command, seconds=60):
    return Step([], targets.split(), command, seconds)


def clients(conduit, mode, n, programs, environment=''):
    return run(f'libgasnet-{conduit}-{mode}.la libsofthca.la gasnetrun_{conduit}',
               f"{environment} TEST_CONDUIT={conduit} TEST_MODES={mode} TEST_NPROCS={n} TEST_SPAWNERS=ssh "
               f"TEST_PROGRAMS='{programs}' ../tests/programs/run-conduit.sh")


def family(script, targets='libgasnet-ibv-seq.la libgasnet-ibv-par.la libsofthca.la gasnetrun_ibv', environment='', seconds=60):
    return run(targets, f'{environment} ../{"" if script.startswith("other/") else "tests/"}{script}', seconds)


ALL = ('testhello testenv testam testamsize testamflood testputget testhandles testvalue testbarrier testlock testsync testpoll '
       'testthreads testrcvthread')
UNITS = ['tests/unit/*', 'other/*/tests/unit/*', 'tests/sim/*', 'tests/fuzz/*', 'tests/spawner/unit', 'other/portals3/tests/model']
EVENTS = ['other/dapl/tests/machine', 'other/dapl/tests/channels', 'other/dapl/tests/calls', 'other/dapl/tests/rules_*', 'other/dapl/tests/order']
PROGRAMS = UNITS + EVENTS
PURE = [Step(UNITS, [], None, None)]
SEQ, PAR = clients('ibv', 'seq', 2, ALL), clients('ibv', 'par', 3, ALL)
PORTALS = [clients('portals', 'seq', 3, ALL), clients('portals', 'par', 3, ALL)]
CORE = PURE + [SEQ, PAR]
PORTALS_LIBS = 'libgasnet-portals-seq.la libgasnet-portals-par.la libsofthca.la libportals.la gasnetrun_portals'
EXIT = [family('exit/exit.py', environment='TEST_MODES=seq TEST_NPROCS=3 TEST_SPAWNERS=ssh', seconds=150)]
VERBS = 'libsofthca.la other/portals3/libinner.la libportals.la '
P3_PROGRAMS = ' '.join('other/portals3/tests/' + p for p in ('model rules mirrored hostile refusals traffic messages stencil failures strangers '
                                                       'load unsignalled wraps locks').split())
PORTALS3 = PURE + [
    run(VERBS + 'other/portals3/tests/rules other/portals3/tests/mirrored other/portals3/tests/traffic',
        'cd other/portals3/tests && ./rules -s && ./mirrored && SOFTHCA=on ./rules -n 2 && SOFTHCA=on ./traffic 3 500', seconds=150),
    run(VERBS + P3_PROGRAMS, '../other/portals3/tests/run.sh', seconds=200), clients('portals', 'seq', 3, ALL)]
SOFTHCA = PURE + [
    run('libsofthca.la', 'SOFTHCA=on ./softhca_rules', seconds=150), run('libsofthca.la', 'SOFTHCA=on ./softhca_soak 1'),
    run('libsofthca.la', 'SOFTHCA=on ./softhca_stress 1'), run('libsofthca.la', 'SOFTHCA=on ./softhca_wakes'),
    run('libsofthca.la', 'SOFTHCA=on ./softhca_device_select'), run('libsofthca.la', 'SOFTHCA=on ./softhca_cycles'),
    run('libsofthca.la', 'SOFTHCA=on ./softhca_cost'), run('libsofthca.la', 'SOFTHCA=on ./softhca_death 400'), SEQ]
SPAWNER_LIBS = 'gasnetrun_ibv libgasnet-ibv-seq.la tests/spawner/job tests/spawner/unit'
SPAWNER = PURE + [clients('ibv', 'seq', 3, 'testhello'), family('spawner/run.sh', SPAWNER_LIBS, seconds=240), family('spawner/env.sh', SPAWNER_LIBS)]
TOOLS = 'libgasnet_tools-seq.la libgasnet_tools-par.la tests/tools/inside'
EXTENDED = CORE + [family('builds/reference.sh', 'tests/reference/libgasnet-ibv-seq.la', 'TEST_MODES=seq'),
                   family('job/words.sh'), family('job/pshm.sh')]
EX = 'testex ex/vectors ex/collectives ex/atomics'
DAPL = Step(EVENTS, [], None, None)
DAPL_LIBS = 'libsofthca.la libdapl_events.la other/dapl/example other/dapl/tests/races other/dapl/tests/verbs other/dapl/tests/cost'
COLL = PURE + [clients('ibv', mode, n, 'testcoll testteams testcollbasic') for mode, n in (('seq', 3), ('seq', 1), ('par', 3))] + EXTENDED[1:]
SUITES = {
    'core': CORE + [family('job/words.sh'), family('job/device_limits.sh'), family('params/run.sh')],
    'core/am': CORE + PORTALS + [family('am/flow.sh'), family('params/run.sh'), family('stats/stats.sh')],
    'core/counters': CORE + [family('stats/stats.sh')],
    'core/exit': CORE + [family('exit/signals.sh')] + EXIT,
    'core/ib': CORE + [family('params/run.sh'), clients('ibv', 'seq', 3, ALL, 'GASNET_AMRDMA_CYCLE=1'),
                       clients('ibv', 'par', 3, ALL, 'GASNET_USE_SRQ=1'), family('stats/stats.sh'), family('ib/rails.sh'), family('ib/peers.sh')],
    'core/job': CORE + [family('job/words.sh'), family('exit/signals.sh'), family('params/run.sh')],
    'core/params': CORE + [family('params/run.sh'), family('job/words.sh')],
    'core/progress': CORE + PORTALS + [family('params/run.sh'), family('am/flow.sh')],
    'core/shm': PURE + [family('job/pshm.sh')],
    'core/rdma': CORE + PORTALS + [family('params/run.sh'), family('portals/run.sh', PORTALS_LIBS)],
    'core/stats': CORE + [family('stats/stats.sh')],
    'extended-ref': EXTENDED,
    'extended-ref/barrier': COLL,
    'extended-ref/coll': COLL,
    'extended-ref/ex': PURE + [clients('ibv', mode, n, EX) for mode, n in (('seq', 2), ('par', 3))] + EXTENDED[1:],
    'extended-ref/teams': COLL,
    'extended-ref/vis': PURE + [clients('ibv', 'seq', 2, 'testvis'), clients('ibv', 'par', 3, 'testvis')] + EXTENDED[1:],
    'extended-ref/*': EXTENDED,
    'ibv-conduit': CORE + [family('params/run.sh'), family('ib/rdmacm.sh', seconds=200)],
    'vapi-conduit': PURE + [clients('vapi', 'seq', 3, ALL)],
    'portals-conduit': PURE + PORTALS + [family('portals/run.sh', PORTALS_LIBS)],
    'other/dapl/src': [DAPL, family('other/dapl/tests/run.sh', DAPL_LIBS, seconds=120)],
    'other/dapl/src/*': [DAPL, family('other/dapl/tests/run.sh', DAPL_LIBS, seconds=120)],
    'other/base/completion-queues': [DAPL, run('tests/unit/shim', 'tests/unit/shim'), PAR],
    'other/dapl/src/provider': [family('other/dapl/tests/provider.sh', 'other/dapl/tests/provider_rules libdapl_provider.la libsofthca.la')],
    'other/firehose': PURE,
    'other/base/hostmem': PURE + [family('job/pshm.sh')],
    'other/connect/handshake': CORE + PORTALS,
    'other/connect/roce': CORE + PORTALS,
    'other/portals3/src/*': PORTALS3 + [family('portals/run.sh', PORTALS_LIBS)],
    'other/softhca/src/*': SOFTHCA,
    'other/softhca/src/device': SOFTHCA + [family('other/softhca/tests/hosts/run.sh', 'libsofthca.la', seconds=150)],
    'other/softhca/src/settings': SOFTHCA + [family('other/softhca/tests/hosts/run.sh', 'libsofthca.la', seconds=150)],
    'other/softhca/src/run': [family('other/softhca/tests/run/run.sh', 'softhca-run libsofthca.la')],
    'other/softhca/src/tcp': SOFTHCA[:3] + [family('other/softhca/tests/hosts/run.sh', 'libsofthca.la', seconds=150)],
    'other/launch': SPAWNER + EXIT,
    'other/launch/modules': PURE + [family('spawner/run.sh', SPAWNER_LIBS + ' all-am', seconds=240)],
    'other/launch/ssh': SPAWNER + EXIT,
    'other/launch/gasnetrun': SPAWNER[1:],
    'other/base': PURE + [family('tools/run.sh', TOOLS), SEQ, PAR, family('params/run.sh')],
    'other/vapi/src': PURE + [run('libvapi.la other/vapi/tests/rules', '../other/vapi/tests/run.sh'), clients('vapi', 'par', 3, ALL)],
}


def quick(steps):
    """The first two, without a long family."""
    return steps[:1] + [step for step in steps[1:2] if step.seconds <= 60]


def sites(folder):
    files = sorted(glob.glob(os.path.join(folder, '*.c')) + glob.glob(os.path.join(folder, '*.h')))
    return [(f, i) for f in files for i in mutations.sites(open(f).read())]


def folders(root, only):
    """Those of SUITES that have something to change; a pattern is for folders without a suite of their own."""
    found = []
    for pattern, steps in SUITES.items():
        for path in sorted(glob.glob(os.path.join(root, pattern))):
            name = os.path.relpath(path, root)
            if (name == pattern or name not in SUITES) and (not only or name in only) and sites(path):
                found.append(Folder(name, steps, sites(path)))
    return found
