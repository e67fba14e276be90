// model.js - the numbers behind the views: pure functions of the data that page.c writes.
const model = (() => {
    const categories = {
        P: "puts", G: "gets", A: "Active Messages", W: "collectives", S: "waits", X: "collective waits", B: "barriers",
        L: "locks", C: "connections, stalls", I: "phases", H: "lines", U: "lines (U)",
    };

    // Numbers of variable length, in base64.
    function reader(text) {
        const bytes = atob(text);
        let at = 0;
        return () => {
            let value = 0, worth = 1, byte;
            do {
                byte = bytes.charCodeAt(at++);
                value += (byte & 127) * worth;
                worth *= 128;
            } while (byte > 127);
            return value;
        };
    }

    function isWait(category, name) {
        return category === "S" || category === "X" || category === "L" || (category === "C" && name !== "register") ||
            (category === "B" && name !== "barrier_notify");
    }

    // The kind of traffic that a call makes; a handler is the other end of a message that was counted.
    function traffic(category, name) {
        if (category === "P") return "puts";
        if (category === "G") return "gets";
        if (category === "A") return name === "handler" ? "" : "messages";
        return name === "atomic" ? "atomics" : "";
    }

    function kindsOf(data) {
        return data.kinds.map(([category, text, moment]) => {
            const name = data.texts[text];
            return { category, name, moment: moment === 1, wait: !moment && isWait(category, name),
                traffic: moment ? "" : traffic(category, name) };
        });
    }

    // Events as columns; those of a thread are from `first` to before `last`, by time.
    function decode(data, text) {
        const threads = data.threads.map(([rank, tid, label, events]) =>
            ({ rank, tid, label: label ? data.texts[label] : "", events }));
        const count = threads.reduce((sum, thread) => sum + thread.events, 0);
        const m = {
            data, count, threads, kinds: kindsOf(data), begin: Infinity, end: -Infinity,
            ts: new Float64Array(count), dur: new Float64Array(count), bytes: new Float64Array(count),
            kind: new Uint16Array(count), peer: new Int32Array(count), handler: new Int32Array(count),
            cause: new Uint32Array(count), site: new Uint32Array(count), team: new Uint32Array(count),
            moment: new Uint32Array(count), own: new Float64Array(count), thread: new Uint16Array(count),
        };
        const next = reader(text);
        let i = 0;
        threads.forEach((thread, number) => {
            let now = 0;
            thread.first = i;
            for (thread.last = i + thread.events; i < thread.last; i++) {
                const step = next();
                now += step % 2 ? -(step + 1) / 2 : step / 2;
                m.ts[i] = now;
                m.dur[i] = next();
                m.kind[i] = next();
                m.peer[i] = next() - 1;
                m.bytes[i] = next() - 1;
                m.handler[i] = next() - 1;
                m.cause[i] = next();
                m.site[i] = next();
                m.team[i] = next();
                m.moment[i] = next();
                m.thread[i] = number;
                m.begin = Math.min(m.begin, now);
                m.end = Math.max(m.end, now + m.dur[i]);
            }
            ownTimes(m, thread);
        });
        if (!count) m.begin = m.end = 0;
        return m;
    }

    // A wait's own time is that without the waits inside of it, so that each moment counts once.
    function ownTimes(m, thread) {
        const open = [];
        for (let i = thread.first; i < thread.last; i++) {
            if (!m.kinds[m.kind[i]].wait) continue;
            const end = m.ts[i] + m.dur[i];
            while (open.length && m.ts[open[open.length - 1]] + m.dur[open[open.length - 1]] <= m.ts[i]) open.pop();
            m.own[i] = m.dur[i];
            if (open.length) {
                const outer = open[open.length - 1];
                m.own[outer] -= Math.min(end, m.ts[outer] + m.dur[outer]) - m.ts[i];
            }
            open.push(i);
        }
    }

    const rankOf = (m, i) => m.threads[m.thread[i]].rank;

    // Calls use(kind, rank, peer, cause, site, events, bytes, ns, event) for each event, and for each group of events
    // that are not kept, with event -1.
    function each(m, use) {
        for (let i = 0; i < m.count; i++)
            use(m.kinds[m.kind[i]], rankOf(m, i), m.peer[i], m.cause[i], m.site[i], 1, Math.max(m.bytes[i], 0), m.own[i], i);
        const g = m.data.groups;
        for (let i = 0; i < g.length; i += 8)
            use(m.kinds[g[i + 1]], g[i], g[i + 2], g[i + 3], g[i + 4], g[i + 5], g[i + 6], g[i + 7], -1);
    }

    // What the ranks of each row send to, and get from, those of each column; `only`: one kind of traffic, or "".
    // Of very many ranks several share a row.
    function matrix(m, only) {
        const per = Math.ceil(m.data.ranks / 256), size = Math.ceil(m.data.ranks / per);
        const bytes = new Float64Array(size * size), calls = new Float64Array(size * size);
        each(m, (kind, rank, peer, cause, site, events, sum) => {
            if (peer < 0 || !kind.traffic || (only && kind.traffic !== only)) return;
            const cell = Math.floor(rank / per) * size + Math.floor(peer / per);
            bytes[cell] += sum;
            calls[cell] += events;
        });
        return { per, size, bytes, calls };
    }

    function causeOf(m, kind, cause) {
        return cause ? `${kind.name}: ${m.data.texts[cause]}` : kind.name;
    }

    // Waiting, added up by key(kind, cause, site): the most first.  `rank`: one alone, or -1.
    function sums(m, rank, key) {
        const rows = new Map();
        each(m, (kind, of, peer, cause, site, events, bytes, ns, event) => {
            if (!kind.wait || (rank >= 0 && of !== rank)) return;
            const name = key(kind, cause, site);
            let row = rows.get(name);
            if (!row) rows.set(name, row = { name, category: kind.category, count: 0, total: 0, event: -1 });
            row.count += events;
            row.total += ns;
            if (event >= 0 && (row.event < 0 || m.dur[event] > m.dur[row.event])) row.event = event;
        });
        return [...rows.values()].sort((a, b) => b.total - a.total || (a.name < b.name ? -1 : 1));
    }
    const causes = (m, rank) => sums(m, rank, (kind, cause) => causeOf(m, kind, cause));
    const sites = (m, rank) => sums(m, rank, (kind, cause, site) => m.data.texts[site] || "(not known)");

    // The longest waits: numbers of events.
    function offenders(m, most) {
        const found = [];
        let least = 0;
        for (let i = 0; i < m.count; i++) {
            if (!m.kinds[m.kind[i]].wait || m.dur[i] < least) continue;
            found.push(i);
            if (found.length < 4 * most) continue;
            found.sort((a, b) => m.dur[b] - m.dur[a] || m.ts[a] - m.ts[b]).length = most;
            least = m.dur[found[most - 1]];
        }
        return found.sort((a, b) => m.dur[b] - m.dur[a] || m.ts[a] - m.ts[b]).slice(0, most);
    }

    // The bucket of a length in ns: four for each power of two, as trace_bucket in sample.c; and where it begins.
    function bucket(ns) {
        if (ns < 1) return 0;
        let power = Math.floor(Math.log2(ns));
        if (2 ** power > ns) power--;
        if (2 ** (power + 1) <= ns) power++;
        return 1 + power * 4 + (Math.floor(ns / 2 ** (power - 2)) & 3);
    }
    const bucketBegin = (b) => (b < 1 ? 0 : 2 ** Math.floor((b - 1) / 4) * (1 + ((b - 1) & 3) / 4));

    // The lengths of each operation; medians and the like are ends of buckets, so they are at most a fifth too large.
    function histogram(m) {
        const rows = m.kinds.map((kind) => ({ kind, count: 0, longest: 0, event: -1, buckets: new Float64Array(256) }));
        for (let i = 0; i < m.count; i++) {
            const row = rows[m.kind[i]];
            row.count++;
            row.buckets[bucket(m.dur[i])]++;
            if (row.event < 0 || m.dur[i] > m.dur[row.event]) row.event = i;
        }
        const left = m.data.buckets;
        for (let i = 0; i < left.length; i += 3) {
            rows[left[i]].count += left[i + 2];
            rows[left[i]].buckets[left[i + 1]] += left[i + 2];
        }
        const order = Object.keys(categories);
        return rows.filter((row) => row.count && !row.kind.moment && row.kind.category !== "I").map((row) => {
            row.longest = row.event < 0 ? 0 : m.dur[row.event];
            row.median = Math.min(quantile(row, 0.5), row.longest);
            row.high = Math.min(quantile(row, 0.99), row.longest);
            return row;
        }).sort((a, b) => order.indexOf(a.kind.category) - order.indexOf(b.kind.category) || b.count - a.count);
    }

    function quantile(row, share) {
        let below = 0;
        for (let b = 0; b < 256; b++) {
            below += row.buckets[b];
            if (below >= share * row.count) return bucketBegin(b + 1);
        }
        return row.longest;
    }

    // For each rank the spans of its phases, of the waits for connections, and of registrations, in order.
    function startup(m) {
        const ranks = new Map(m.data.rank.map(([rank, host]) => [rank, {
            rank, host: m.data.texts[host], init: [], attach: [], connect: [], register: [],
            count: { init: 0, attach: 0, connect: 0, register: 0 }, total: { init: 0, attach: 0, connect: 0, register: 0 },
        }]));
        const belongs = (kind) => !kind.moment && (kind.category === "I" ? kind.name === "init" || kind.name === "attach" :
            kind.category === "C" && (kind.name === "connect" || kind.name === "register"));
        each(m, (kind, rank, peer, cause, site, events, bytes, ns, event) => {
            if (!belongs(kind)) return;
            const row = ranks.get(rank);
            row.count[kind.name] += events;
            row.total[kind.name] += event < 0 ? ns : m.dur[event];
            if (event >= 0) row[kind.name].push(event);
        });
        return [...ranks.values()];
    }

    // The lanes of a thread: events of a lane do not overlap, and what is inside of a span is below it.  `shows(kind)`.
    function lanes(m, thread, shows) {
        const made = [], ends = [], deepest = 5;
        for (let i = thread.first; i < thread.last; i++) {
            if (!shows(m.kinds[m.kind[i]])) continue;
            let lane = 0;
            while (lane < ends.length && lane < deepest && ends[lane] > m.ts[i]) lane++;
            if (lane === ends.length) {
                made.push([]);
                ends.push(0);
            }
            ends[lane] = Math.max(ends[lane], m.ts[i] + m.dur[i]);
            made[lane].push(i);
        }
        return made.map((events) => index(m, Int32Array.from(events)));
    }

    // A lane with what makes drawing quick: `longest` is a tree over its events, `covered` the sum of the lengths before each.
    function index(m, events) {
        const n = events.length, longest = new Int32Array(2 * n), covered = new Float64Array(n + 1);
        for (let i = 0; i < n; i++) {
            longest[n + i] = events[i];
            covered[i + 1] = covered[i] + m.dur[events[i]];
        }
        for (let i = n - 1; i > 0; i--) {
            const a = longest[2 * i], b = longest[2 * i + 1];
            longest[i] = m.dur[b] > m.dur[a] ? b : a;
        }
        return { events, longest, covered };
    }

    // The longest of the events `from` to before `to` of a lane.
    function longestOf(m, lane, from, to) {
        const n = lane.events.length;
        let best = lane.events[from];
        const look = (node) => {
            if (m.dur[lane.longest[node]] > m.dur[best]) best = lane.longest[node];
        };
        for (let a = from + n, b = to + n; a < b; a >>= 1, b >>= 1) {
            if (a & 1) look(a++);
            if (b & 1) look(--b);
        }
        return best;
    }

    // The first event of a lane that begins at `time` or later.
    function firstFrom(m, lane, time) {
        let low = 0, high = lane.events.length;
        while (low < high) {
            const middle = (low + high) >> 1;
            if (m.ts[lane.events[middle]] < time) low = middle + 1;
            else high = middle;
        }
        return low;
    }

    return { categories, decode, rankOf, causeOf, matrix, causes, sites, offenders, bucket, bucketBegin, histogram, startup, lanes, longestOf, firstFrom };
})();
