#!/usr/bin/env -S python3 -B
# family: report TEST_CONDUIT=ibv
"""report.py - gasnetrun --trace-report: what it refuses, and what is on the page that it writes.

The traces are those of a job that never ran (traces.py), which knows what a report about it must show; the page is opened
in a headless Chromium (browser.py). REPORT_SEED repeats a job. Prints TAP; pictures of the page are in the log's folder. REPORT_PICTURE=FILE makes that of
doc/tracing.md instead.
"""

import collections
import os
import random
import subprocess
import sys
import tempfile
import traceback

import browser
from traces import Job

env = os.environ
BUILD = os.path.abspath(env.get("TEST_BUILD", "."))
LAUNCHER = env.get("TEST_LAUNCH", f"{BUILD}/gasnetrun_{env.get('TEST_CONDUIT', 'ibv')}")
LOG = env.get("TEST_LOG", f"{BUILD}/tests/log/report")
SEED = int(env.get("REPORT_SEED", random.randrange(1 << 31)))
count = bad = 0


def ok(good, name, *notes):
    global count, bad
    count += 1
    bad += not good
    print(f"{'ok' if good else 'not ok'} {count} - {name}")
    if not good:
        for note in notes:
            print("#  ", str(note)[:2000].replace("\n", "\n#   "))
    return good


def skip(name, reason):
    global count
    count += 1
    print(f"ok {count} - {name} # SKIP {reason}")


def launch(folder, *words):
    return subprocess.run([LAUNCHER, *words], cwd=folder, capture_output=True, text=True, timeout=120, errors="replace")


# --- what is refused ---

def refuses(folder, name, status, words, *arguments):
    """One line on standard error that has the words, and no page."""
    done = launch(folder, *arguments)
    lines = done.stderr.splitlines()
    page = os.path.exists(f"{folder}/gasnet-trace.html")
    ok(done.returncode == status and len(lines) == 1 and all(word in lines[0] for word in words) and not page and not done.stdout,
       name, done.returncode, done.stderr, done.stdout, f"page: {page}")


def write(path, text):
    with open(path, "w", encoding="utf-8", errors="surrogateescape") as file:
        file.write(text)
    return path


def refusals(folder):
    first, second = Job(2, 2, SEED), Job(3, 2, SEED)
    zero = write(f"{folder}/zero.json", Job.text(first.of_rank(0)))
    again = write(f"{folder}/again.json", Job.text(first.of_rank(0)))
    other = write(f"{folder}/other.json", Job.text(second.of_rank(1)))
    binary = write(f"{folder}/binary", "\x7fELF\x02\x01\x00\x00\udcff")
    empty = write(f"{folder}/empty.json", "")
    nobody = write(f"{folder}/nobody.json", "[\n]\n")
    report = "--trace-report"
    refuses(folder, "no files", 1, ["files with the traces are missing"], report)
    refuses(folder, "-o without a name", 1, ["-o: a value is needed"], report, "-o")
    refuses(folder, "-o of a job", 1, ["only --trace-report"], "-o", "x", "-n", "1", "true")
    refuses(folder, "a file that is not there", 2, ["cannot read none.json"], report, "none.json")
    refuses(folder, "an option behind the files", 2, ["options go before"], report, zero, "-o", "x")
    refuses(folder, "a folder", 2, ["Is a directory"], report, folder)
    refuses(folder, "a file that is no trace", 2, ["binary is no trace"], report, binary)
    refuses(folder, "an empty file", 2, ["empty.json is no trace"], report, empty)
    refuses(folder, "a trace of no rank", 2, ["nobody.json is no trace"], report, nobody)
    refuses(folder, "a rank twice", 2, ["rank 0 begins in", "zero.json", "again.json"], report, zero, again)
    refuses(folder, "files of different jobs", 2, ["other.json", "job of 3 ranks", "one of 2"], report, zero, other)
    refuses(folder, "a page in a folder that is not there", 2, ["cannot write", "no/page.html"], report, "-o", "no/page.html",
            write(f"{folder}/one.json", Job.text(Job(1, 1, SEED).of_rank(0))))
    refuses(folder, "a trace is not replaced by a page", 2, ["again.json", "not replaced"], report, "-o", again, zero)
    with open(again, encoding="utf-8") as file:
        ok(file.read() == Job.text(first.of_rank(0)), "... and is what it was")


def malformed(folder):
    """Lines that are none are named, and the rest is in the page, which replaces one."""
    job = Job(2, 3, SEED)
    lines = job.of_rank(1, began="2026-11-30T23:30:00Z", ended=False)
    text = Job.text(lines[:4] + ["{no line}", '{"ph":"X","name":"put","cat":"P","ts":1,"dur":1e99,"pid":1,"tid":1}'] + lines[4:], False)
    files = [write(f"{folder}/r0.json", Job.text(job.of_rank(0))), write(f"{folder}/r1.json", text + '{"ph":"X","na')]
    write(f"{folder}/page.html", "<!DOCTYPE html>\n")
    done = launch(folder, "--trace-report", "-o=page.html", *files)
    said = done.stderr.splitlines()
    ok(done.returncode == 0 and f"{sum(job.events)} events, 3 malformed lines" in done.stdout, "a page in spite of malformed lines",
       done.returncode, done.stdout, done.stderr)
    last = len(lines) + 4
    ok(len(said) == 5 and all(any(f"r1.json:{number}: malformed" in line for line in said) for number in (6, 7, last)) and
       any("rank 1: began more than a minute" in line for line in said) and any("rank 1: stopped before its end" in line for line in said),
       "each is named with file and line; so is a rank of another time, and one that was stopped", *said)
    return f"{folder}/page.html"


def real(folder):
    """The traces that a job wrote: a line for each event, and the numbers that its ranks tell. Returns the page."""
    job = subprocess.run([LAUNCHER, "-spawner=ssh", "-n", "4", f"{BUILD}/examples/heat"], cwd=folder, capture_output=True, text=True, timeout=120,
                         env={**env, "GASNET_TRACEFILE": "heat.%.json", "GASNET_SUPERNODE_MAXSIZE": "1"}, stdin=subprocess.DEVNULL)
    done = launch(folder, "--trace-report", "-o", "heat.html", *(f"heat.{rank}.json" for rank in range(4)))
    ok(job.returncode == 0 and done.returncode == 0 and "4 of 4 ranks" in done.stdout and " 0 malformed lines" in done.stdout and
       all("could not be written" in line for line in done.stderr.splitlines()), "the traces of a job are understood",
       job.stderr, done.stdout, done.stderr)
    return f"{folder}/heat.html"


# --- the page ---

CELLS = """const rows = [...document.querySelectorAll(arguments[0] + ' tbody tr')];
return rows.map((row) => [...row.children].map((cell) => cell.textContent));"""


def matrix_of(job, counter, only):
    cells = [[0] * job.ranks for _ in range(job.ranks)]
    for (traffic, rank, peer), n in counter.items():
        if not only or traffic == only:
            cells[rank][peer] += n
    return [n for row in cells for n in row]


def numbers(page, job):
    for only in ("", "puts", "gets", "messages", "atomics"):
        got = page.run("const all = model.matrix(report.m, arguments[0]); return [[...all.bytes], [...all.calls]];", only)
        ok(got == [matrix_of(job, job.bytes, only), matrix_of(job, job.messages, only)], f"bytes and messages between ranks: {only or 'all'}",
           got, matrix_of(job, job.bytes, only))
    for name, expected in (("causes", job.causes), ("sites", job.sites)):
        got = page.run(f"return model.{name}(report.m, -1).map((row) => [row.name, row.total]);")
        ok(dict(map(tuple, got)) == dict(expected) and [n for _, n in got] == sorted((n for _, n in got), reverse=True),
           f"time lost waiting: {name}, the most first", got, expected)
    one = page.run("return model.causes(report.m, 1).reduce((sum, row) => sum + row.total, 0);")
    ok(0 < one < sum(job.causes.values()), "waiting of one rank", one)
    got = page.run("""const m = report.m;
        return model.offenders(m, 40).map((i) => [m.dur[i], model.rankOf(m, i), m.ts[i], model.causeOf(m, m.kinds[m.kind[i]], m.cause[i]), m.data.texts[m.site[i]]]);""")
    ok(got == [list(wait) for wait in job.waits[:40]], "the longest waits, in their order", got[:3], job.waits[:3])
    got = page.run("return model.histogram(report.m).map((row) => [row.kind.name, row.count, row.longest, row.buckets.reduce((a, b) => a + b), row.median]);")
    expected = {name: n for name, n in job.operations.items() if name not in ("init", "attach")}
    ok({row[0]: row[1] for row in got} == expected and all(row[1] == row[3] and row[2] == job.longest[row[0]] for row in got),
       "histograms: operations, their number and longest", got, expected)
    ok(all(0 < row[4] <= row[2] for row in got), "medians", got)
    got = page.run("return model.startup(report.m).map((row) => [row.rank, row.total]);")
    expected = [[rank, {name: job.phases[rank, name] for name in ("init", "attach", "connect", "register")}] for rank in range(job.ranks)]
    ok(got == expected, "start-up by rank", got, expected)
    got = page.run("""return [0, 1, 3, 4, 5, 1000, 4097, 2 ** 52 + 1].map((n) => model.bucket(n)).concat(
        [...Array(200).keys()].filter((b) => b > 8 && model.bucket(model.bucketBegin(b)) !== b));""")
    ok(got == [0, 1, 7, 9, 10, 40, 49, 209], "buckets are those of the launcher", got)


def left_out(page):
    """Events that are not kept are counted from their groups and buckets."""
    got = page.run("""const m = report.m, put = m.kinds.findIndex((kind) => kind.name === "put"), lock = m.kinds.findIndex((kind) => kind.name === "lock");
        const look = () => {
            const all = model.matrix(m, "puts"), sum = (rows) => rows.reduce((sum, row) => sum + row.total, 0);
            const row = model.histogram(m).find((some) => some.kind.name === "put");
            return [all.bytes[2], all.calls[2], sum(model.causes(m, -1)), sum(model.sites(m, 1)), row.count, row.buckets[20]];
        };
        const before = look();
        m.data.groups.push(0, put, 2, 0, 0, 5, 640, 50, 1, lock, -1, 0, 0, 3, 0, 7000);
        m.data.buckets.push(put, 20, 5);
        const after = look();
        m.data.groups.length = m.data.buckets.length = 0;
        return after.map((n, i) => n - before[i]);""")
    ok(got == [640, 5, 7000, 7000, 5, 5], "events that are left out are counted", got)


def tables(page, job):
    """What is written on the page."""
    page.click("#tab2")
    page.run("const show = document.querySelectorAll('#panel select')[0]; show.value = 'calls'; show.dispatchEvent(new Event('change'));")
    rows, expected = page.run(CELLS, "#matrix"), matrix_of(job, job.messages, "")
    got = [0 if cell == "·" else int(cell.replace("\u202f", "")) for row in rows for cell in row[1:]]
    ok(got == expected, "the matrix of messages as it is written", rows)
    busiest = page.run(CELLS, "#pairs")[0]
    ok(int(busiest[1].replace("\u202f", "")) == max(expected), "the busiest pair", busiest)
    page.click("#tab0")
    rows = page.run(CELLS, "#longest")
    ok(len(rows) == min(len(job.waits), 100) and [row[2].split(" ")[0] for row in rows[:9]] == [str(wait[1]) for wait in job.waits[:9]] and
       rows[0][3] == job.waits[0][3] and rows[0][4] == os.path.basename(job.waits[0][4]), "the table of the longest waits", rows[:9], job.waits[:9])
    page.run("document.getElementById('tab0').focus();")
    page.keys("\ue014")  # arrow right
    rows = page.run(CELLS, "#causes")
    ok([row[1] for row in rows] == [name for name, _ in collections.Counter(job.causes).most_common()], "waiting by cause, after a key", rows)
    page.click("#tab4")
    ok(len(page.run(CELLS, "#startup")) == job.ranks, "a row of start-up for each rank")
    page.click("#tab3")
    ok(len(page.run(CELLS, "#latencies")) == len(job.operations) - 2, "a row for each operation")


VIEW = "return [report.line.view.from, report.line.view.to];"


def time_line(page, job):
    page.click("#tab0")
    before = page.run(VIEW)
    page.wheel(640, 160, -120)
    after = page.run(VIEW)
    ok(after[1] - after[0] < before[1] - before[0], "the wheel zooms", before, after)
    page.pointer((900, 150), "down", (700, 150), "up")
    moved = page.run(VIEW)
    ok(moved[0] > after[0] and abs((moved[1] - moved[0]) - (after[1] - after[0])) < 2, "dragging moves", after, moved)
    page.run("document.getElementById('canvas').focus();")
    page.keys("0")
    ok(page.run(VIEW) == before, "a key shows all", page.run(VIEW))
    page.keys("++")
    again = page.run(VIEW)
    page.keys("\ue012")  # arrow left
    ok(abs((again[1] - again[0]) * 4 - (before[1] - before[0])) < 2 and page.run(VIEW)[0] < again[0], "keys zoom and move", again, page.run(VIEW))
    page.keys("0\ue015\ue015nn")  # two threads down, two events on
    got = page.run("const m = report.m, i = report.line.selected(); return [m.thread[i], i - m.threads[m.thread[i]].first];")
    ok(got == [2, 1], "keys select a thread and its events", got)
    # Of the third of the longest waits, in another window than all.
    page.run("document.querySelectorAll('#longest tbody tr')[2].querySelector('button').click();")
    length, rank, begin, *_ = job.waits[2]
    view, detail = page.run(VIEW), page.run("return document.getElementById('detail').textContent;")
    ok(view[0] < begin and begin + length < view[1] < begin + 4 * length + 1e6 and f"rank {rank}" in detail and job.waits[2][3] in detail,
       "a click on a wait shows it", view, detail, job.waits[2])
    inside = page.run("return [document.documentElement.scrollWidth, window.innerWidth, document.documentElement.scrollHeight, window.innerHeight];")
    ok(inside[0] <= inside[1] and inside[2] <= inside[3], "the page still fits the window", inside)
    place = page.run("const i = report.line.selected(), box = document.getElementById('canvas').getBoundingClientRect(), at = report.line.place(i);"
                     "return [box.left + at.x, box.top + at.y];")
    page.pointer((place[0] + 20, place[1] + 5))
    tip = page.run("const tip = document.getElementById('tip'); return tip.hidden ? '' : tip.textContent;")
    ok(job.waits[2][3] in tip and f"rank {rank}" in tip, "the pointer tells what is under it", tip)
    colour = """const canvas = document.getElementById('canvas'), box = canvas.getBoundingClientRect();
        return [...canvas.getContext('2d').getImageData(arguments[0] - box.left, arguments[1] - box.top, 1, 1).data].slice(0, 3);"""
    drawn = page.run(colour, int(place[0] + 20), int(place[1] + 2))
    category = page.run("const m = report.m; return m.kinds[m.kind[report.line.selected()]].category;")
    page.click(f"#legend [data-category={category}]")
    page.run("return new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));")
    hidden = page.run("return document.querySelector('#legend [aria-pressed=false]').dataset.category;")
    gone = page.run(colour, int(place[0] + 20), int(place[1] + 2))
    ok(hidden == category and gone != drawn, "a category is hidden", hidden, drawn, gone)
    page.click(f"#legend [data-category={category}]")
    moment(page)


def moment(page):
    """A line of the program, whose text is no HTML."""
    place = page.run("""const m = report.m, i = m.kind.findIndex((kind) => m.kinds[kind].moment);
        report.line.goTo(i);
        const box = document.getElementById('canvas').getBoundingClientRect(), at = report.line.place(i);
        return [box.left + at.x, box.top + at.y];""")
    page.pointer((place[0], place[1] + 2))
    got = page.run("const tip = document.getElementById('tip'); return [tip.textContent, tip.querySelectorAll('b').length, tip.hidden];")
    ok("round 0" in got[0] and "<b>&amp; \u00b5</b> </script>" in got[0] and got[1:] == [1, False], "the text of a moment is no HTML", got)


def open_page(page, path, name):
    page.open(path)
    said = page.errors()
    fetched = page.run("return performance.getEntriesByType('resource').map((entry) => entry.name);")
    ok(not said and not fetched, f"{name}: no error, and nothing is fetched", said, fetched)


def looks(path):
    """The dark scheme, and a window of a telephone."""
    backgrounds = []
    for dark, size in ((False, (1280, 800)), (True, (1280, 800)), (True, (400, 800))):
        page = browser.Browser(dark, size)
        try:
            page.open(path)
            page.picture(f"{LOG}/trace-report-{size[0]}-{'dark' if dark else 'light'}.png")
            backgrounds.append(page.run("return getComputedStyle(document.documentElement).backgroundColor;"))
            inside = page.run("return [document.documentElement.scrollWidth, window.innerWidth];")
            ok(inside[0] <= inside[1], f"the page fits into {size[0]} pixels", inside)
        finally:
            page.close()
    ok(backgrounds[0] != backgrounds[1] == backgrounds[2], "the scheme is that of the user", backgrounds)


def with_browser(folder, noted, heat):
    job = Job(8, 40, SEED, calls=8)
    files = job.write(folder)
    done = launch(folder, "--trace-report", *files)
    path = f"{folder}/gasnet-trace.html"
    ok(done.returncode == 0 and not done.stderr and done.stdout == f"gasnet-trace.html: 8 of 8 ranks, {sum(job.events)} events, 0 malformed lines\n",
       "a page of eight ranks", done.returncode, done.stderr, done.stdout)
    # The ranks of one file, their lines mixed; without threads' names.
    small = Job(3, 5, SEED + 1, threads=False)
    lines = [small.of_rank(rank) for rank in range(3)]
    mixed = []
    while any(lines):
        mixed.append(random.Random(SEED + len(mixed)).choice([some for some in lines if some]).pop(0))
    launch(folder, "--trace-report", "-o", "mixed.html", write(f"{folder}/mixed.json", Job.text(mixed)))
    page = browser.Browser()
    try:
        open_page(page, path, "eight ranks")
        facts = page.run("return document.getElementById('facts').textContent;")
        ok("8 ranks on 4 hosts" in facts and "ibv, par" in facts, "the heading", facts)
        numbers(page, job)
        left_out(page)
        tables(page, job)
        time_line(page, job)
        said = page.errors()
        ok(not said, "no error while it was used", said)
        open_page(page, f"{folder}/mixed.html", "ranks that share a file")
        got = page.run("const all = model.matrix(report.m, ''); return [...all.bytes];")
        ok(got == matrix_of(small, small.bytes, "") and page.run("return report.m.threads.length;") == 3, "... have their numbers", got)
        open_page(page, heat, "a job's own traces")
        got = page.run("const all = model.matrix(report.m, 'puts'); return [...all.calls];")
        ok([n > 0 for n in got] == [abs(i // 4 - i % 4) == 1 for i in range(16)], "... have puts between neighbours alone", got)
        got = page.run("return model.startup(report.m).map((row) => [row.count.init, row.count.attach]);")
        ok(got == [[1, 1]] * 4, "... and the start of each rank", got)
        open_page(page, noted, "malformed lines")
        page.click("#tab5")
        notes = page.run("return [...document.querySelectorAll('#notes li')].map((note) => note.textContent);")
        ok(len(notes) == 5 and any("r1.json:6: malformed" in note for note in notes), "... are in the notes", notes)
    finally:
        page.close()
    looks(path)


def document(path):
    """The picture in doc/tracing.md."""
    with tempfile.TemporaryDirectory(prefix="gasnet-test.") as folder:
        launch(folder, "--trace-report", *Job(4, 24, 11, calls=14).write(folder))
        page = browser.Browser()
        try:
            page.open(f"{folder}/gasnet-trace.html")
            page.click("#tab1")
            page.run("""const m = report.m, i = model.offenders(m, 100).find((i) => m.kinds[m.kind[i]].name === "stall");
                report.line.goTo(i);
                document.getElementById("canvas").focus();""")
            page.keys("---")
            page.run("document.activeElement.blur();")
            page.picture(path)
        finally:
            page.close()


def main():
    print(f"# REPORT_SEED={SEED}")
    os.makedirs(LOG, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="gasnet-test.") as folder:
        refusals(folder)
        noted = malformed(folder)
        heat = real(folder)
        missing = browser.missing()
        if missing:
            skip("the page in a browser", f"no {missing} (Debian: chromium, chromium-driver)")
        else:
            with_browser(folder, noted, heat)


if "REPORT_PICTURE" in env:
    document(env["REPORT_PICTURE"])
    sys.exit()
try:
    main()
except Exception:  # pylint: disable=broad-except
    ok(False, "the test itself", traceback.format_exc())
print(f"1..{count}")
sys.exit(bad > 0)
