// views.js - how numbers are written, and the views below the time line.
const format = {
    // 1.23 ms, from ns
    time(ns) {
        const [unit, worth] = ns < 1e3 ? ["ns", 1] : ns < 1e6 ? ["µs", 1e3] : ns < 1e9 ? ["ms", 1e6] : ["s", 1e9];
        const value = ns / worth;
        return `${worth === 1 ? Math.round(value) : value.toFixed(value < 10 ? 2 : value < 100 ? 1 : 0)} ${unit}`;
    },
    // A moment of the trace, as exact as `step` (ns) needs
    at(ns, step) {
        const [unit, worth] = step < 1e5 ? ["µs", 1e3] : step < 1e8 ? ["ms", 1e6] : ["s", 1e9];
        const places = Math.min(Math.max(Math.ceil(-Math.log10(step / worth) - 1e-9), 0), 9);
        return `${format.group((ns / worth).toFixed(places))} ${unit}`;
    },
    exact: (ns) => `${format.group((ns / 1e6).toFixed(6))} ms`,
    // 1, 2 or 5 times a power of ten, not below `least`
    step(least) {
        const power = 10 ** Math.floor(Math.log10(Math.max(least, 1)));
        return [1, 2, 5, 10].map((n) => n * power).find((step) => step >= least);
    },
    bytes(n) {
        const units = ["B", "KiB", "MiB", "GiB", "TiB"];
        let i = 0;
        for (; n >= 1024 && i < 4; i++) n /= 1024;
        return `${i && n % 1 ? n.toFixed(n < 10 ? 2 : n < 100 ? 1 : 0) : Math.round(n)} ${units[i]}`;
    },
    group: (text) => text.replace(/\B(?<!\.\d*)(?=(\d{3})+(?!\d))/g, "\u202f"),
    count: (n) => format.group(String(n)),
    site: (text) => text.replace(/^.*\//, ""), // without its folders
    share: (part) => `${(part * 100).toFixed(part < 0.0995 ? 1 : 0)} %`,
};

// An element; children are elements or texts, which are never read as HTML.
function make(name, attributes, ...children) {
    const element = name.startsWith("svg:") ? document.createElementNS("http://www.w3.org/2000/svg", name.slice(4)) :
        document.createElement(name);
    for (const [key, value] of Object.entries(attributes || {})) {
        if (key === "style") Object.assign(element.style, value);
        else if (typeof value === "function") element.addEventListener(key, value);
        else element.setAttribute(key, value);
    }
    element.append(...children);
    return element;
}

function views(m, goTo) {
    const colour = (category) => `var(--${category})`;
    const dot = (category) => make("span", { class: "dot", style: { background: colour(category) } });
    const rankLabel = (rank) => `rank ${rank}`;
    const textOf = (n) => m.data.texts[n] || "";

    function table(heads, rows, attributes) {
        return make("table", attributes || {}, make("thead", {}, make("tr", {}, ...heads.map((head) =>
            (typeof head === "string" ? make("th", { scope: "col" }, head) : head)))), make("tbody", {}, ...rows));
    }
    const right = (text) => make("th", { scope: "col", class: "number" }, text);
    const number = (text) => make("td", { class: "number" }, text);
    const text = (value, ...before) => make("td", { class: "text", title: value }, ...before, value);
    const site = (value) => make("td", { class: "text", title: value }, format.site(value));

    // A row that leads to an event on the time line, by its first cell and by a click anywhere.
    function leading(event, label, ...cells) {
        if (event < 0) return make("tr", {}, number(label), ...cells);
        const go = () => goTo(event);
        return make("tr", { class: "goes", click: go }, make("td", { class: "number" },
            make("button", { type: "button", title: "show it on the time line" }, label)), ...cells);
    }

    function choice(label, options, chosen, change) {
        return make("label", {}, `${label} `, make("select", { change: (e) => change(e.target.value) },
            ...options.map(([value, name]) => make("option", value === chosen ? { value, selected: "" } : { value }, name))));
    }

    // --- longest waits ---

    function longest() {
        const events = model.offenders(m, 100);
        if (!events.length) return [make("p", {}, "No rank waited.")];
        return [table([right("wait"), right("at"), "rank", "cause", "call site", "peer", "team"], events.map((i) => {
            const kind = m.kinds[m.kind[i]], thread = m.threads[m.thread[i]];
            return leading(i, format.time(m.dur[i]), number(format.group(`${(m.ts[i] / 1e6).toFixed(3)} ms`)),
                make("td", {}, thread.label ? `${thread.rank} · ${thread.label}` : String(thread.rank)),
                text(model.causeOf(m, kind, m.cause[i]), dot(kind.category)), site(textOf(m.site[i])),
                number(m.peer[i] < 0 ? "" : String(m.peer[i])), make("td", {}, textOf(m.team[i])));
        }), { id: "longest" })];
    }

    // --- waiting, by cause and by call site ---

    let waitingRank = -1;
    function waiting(again) {
        const causes = model.causes(m, waitingRank), sites = model.sites(m, waitingRank);
        const total = causes.reduce((sum, row) => sum + row.total, 0);
        const threads = m.threads.filter((t) => t.events && (waitingRank < 0 || t.rank === waitingRank)).length;
        const rows = (all, marked) => all.slice(0, 200).map((row) => leading(row.event, format.time(row.total),
            marked ? text(row.name, dot(row.category)) : site(row.name), number(format.count(row.count)),
            number(format.time(row.total / row.count)),
            make("td", { class: "bars" }, make("span", { class: "bar", style: { width: `${100 * row.total / all[0].total}%`,
                background: marked ? colour(row.category) : "" } }))));
        const options = [["-1", "all"], ...m.data.rank.map(([rank]) => [String(rank), String(rank)])];
        const heads = (name) => [right("time"), name, right("times"), right("mean"), ""];
        return [make("div", { class: "controls" }, choice("ranks", options, String(waitingRank), (value) => {
            waitingRank = Number(value);
            again();
        }), make("span", { class: "muted" }, `${format.time(total)} of waiting: ${format.share(total / Math.max((m.end - m.begin) * threads, 1))} ` +
            `of the time of ${threads} ${threads === 1 ? "thread" : "threads"}. A row leads to its longest wait.`)),
        make("div", { class: "pair" }, table(heads("cause"), rows(causes, true), { id: "causes" }), table(heads("call site"), rows(sites, false), { id: "sites" }))];
    }

    // --- between ranks ---

    let unit = "bytes", only = "";
    const shown = (n) => (unit === "bytes" ? format.bytes(n) : format.count(n));
    function between(again) {
        const all = model.matrix(m, only), cells = all[unit], most = cells.reduce((a, b) => Math.max(a, b), 0);
        const names = Array.from({ length: all.size }, (_, i) => (all.per === 1 ? String(i) :
            `${i * all.per}–${Math.min((i + 1) * all.per, m.data.ranks) - 1}`));
        const tint = (n) => (most && n ? 0.1 + 0.8 * Math.sqrt(n / most) : 0);
        const pairs = Array.from(cells.keys()).filter((i) => cells[i]).sort((a, b) => cells[b] - cells[a] || a - b).slice(0, 20);
        const pick = (set) => (value) => {
            set(value);
            again();
        };
        return [make("div", { class: "controls" },
            choice("show", [["bytes", "bytes"], ["calls", "messages"]], unit, pick((value) => { unit = value; })),
            choice("of", [["", "all"], ["puts", "puts"], ["gets", "gets"], ["messages", "Active Messages"], ["atomics", "atomics"]], only,
                pick((value) => { only = value; })),
            make("span", { class: "muted" }, "Row: the rank that calls; column: its peer.")),
        make("div", { class: "between" }, make("div", {}, all.size > 32 ? heat(all, cells, names, tint) :
            table(["", ...names.map((name) => make("th", { scope: "col" }, name))], names.map((name, row) => make("tr", {},
                make("th", { scope: "row" }, name), ...names.map((column, i) => {
                    const n = cells[row * all.size + i], strong = tint(n);
                    return make("td", { class: n ? "" : "none", title: `${name} → ${column}: ${shown(n)}`, style: {
                        background: n ? `rgba(var(--heat), ${strong})` : "", color: strong > 0.66 ? "var(--card)" : "" } }, n ? shown(n) : "·");
                }))), { id: "matrix", class: "matrix" })),
        table(["busiest", right(unit === "bytes" ? "bytes" : "messages"), ""], pairs.map((i) => make("tr", {},
            make("td", {}, `${names[Math.floor(i / all.size)]} → ${names[i % all.size]}`), number(shown(cells[i])),
            make("td", { class: "bars" }, make("span", { class: "bar", style: { width: `${100 * cells[i] / most}%`, background: "rgb(var(--heat))" } })))), { id: "pairs" }))];
    }

    // The matrix of many ranks: a picture, whose cells are told under the pointer.
    function heat(all, cells, names, tint) {
        const size = Math.max(Math.floor(512 / all.size), 1), told = make("p", { class: "muted", "aria-live": "polite" }, "\u00a0");
        const picture = make("canvas", { id: "heat", width: all.size * size, height: all.size * size, role: "img",
            "aria-label": "matrix of ranks; the busiest pairs are in the table beside it",
            pointermove: (e) => {
                const row = Math.floor(e.offsetY / size), column = Math.floor(e.offsetX / size);
                if (row >= 0 && column >= 0 && row < all.size && column < all.size)
                    told.textContent = `${names[row]} → ${names[column]}: ${shown(cells[row * all.size + column])}`;
            } });
        const context = picture.getContext("2d"), style = getComputedStyle(document.documentElement);
        context.fillStyle = style.getPropertyValue("--soft");
        context.fillRect(0, 0, picture.width, picture.height);
        context.fillStyle = `rgb(${style.getPropertyValue("--heat")})`;
        for (let i = 0; i < cells.length; i++) {
            if (!cells[i]) continue;
            context.globalAlpha = tint(cells[i]);
            context.fillRect(i % all.size * size, Math.floor(i / all.size) * size, size, size);
        }
        return make("div", {}, picture, told);
    }

    // --- latencies ---

    const HIGH = 22;
    const chartWidth = () => Math.min(Math.max(document.getElementById("panel").clientWidth - 640, 320), 760);
    function latencies() {
        const wide = chartWidth();
        const rows = model.histogram(m);
        if (!rows.length) return [make("p", {}, "No operations.")];
        const used = rows.flatMap((row) => Array.from(row.buckets.keys()).filter((b) => row.buckets[b]));
        const first = used.reduce((a, b) => Math.min(a, b)), last = used.reduce((a, b) => Math.max(a, b)) + 1;
        const low = Math.log10(Math.max(model.bucketBegin(first), 1)), high = Math.log10(model.bucketBegin(Math.max(last, first + 8)));
        const x = (ns) => (Math.log10(Math.max(ns, 1)) - low) / (high - low) * wide;
        const decades = [];
        for (let d = Math.ceil(low - 1e-9); d <= high; d++) decades.push(d);
        const lines = () => decades.map((d) => make("svg:line", { x1: x(10 ** d), x2: x(10 ** d), y1: 0, y2: HIGH, stroke: "var(--rule)" }));
        const axis = make("svg:svg", { width: wide, height: 14, "aria-hidden": "true" }, ...decades.map((d) =>
            make("svg:text", { x: x(10 ** d), y: 11, "text-anchor": "middle" }, format.time(10 ** d).replace(/\.0+ /, " "))));
        return [table(["operation", right("times"), right("median"), right("99 %"), right("longest"), make("th", {}, axis)], rows.map((row) => {
            const most = row.buckets.reduce((a, b) => Math.max(a, b), 0);
            const bars = Array.from(row.buckets.keys()).filter((b) => row.buckets[b]).map((b) => {
                const from = x(model.bucketBegin(b)), to = x(model.bucketBegin(b + 1)), tall = HIGH * Math.log1p(row.buckets[b]) / Math.log1p(most);
                return make("svg:rect", { x: from, y: HIGH - tall, width: Math.max(to - from - 0.5, 1), height: tall, fill: colour(row.kind.category) },
                    make("svg:title", {}, `${format.time(model.bucketBegin(b))} and more: ${format.count(row.buckets[b])}`));
            });
            const go = { class: "goes", title: "show the longest on the time line", click: () => goTo(row.event) };
            return make("tr", row.event < 0 ? {} : go, make("td", {}, dot(row.kind.category), row.kind.name), number(format.count(row.count)),
                number(format.time(row.median)), number(format.time(row.high)),
                make("td", { class: "number" }, row.event < 0 ? "" : make("button", { type: "button" }, format.time(row.longest))),
                make("td", {}, make("svg:svg", { width: wide, height: HIGH, role: "img",
                    "aria-label": `histogram of ${row.kind.name}` }, ...lines(), ...bars)));
        }), { id: "latencies" })];
    }

    // --- start-up ---

    function startup() {
        const wide = chartWidth();
        const rows = model.startup(m), phases = ["init", "attach", "connect", "register"];
        const ends = rows.flatMap((row) => [...row.init, ...row.attach].map((i) => m.ts[i] + m.dur[i]));
        const from = m.begin, to = ends.length ? ends.reduce((a, b) => Math.max(a, b)) : m.end;
        const x = (ns) => Math.min(Math.max((ns - from) / Math.max(to - from, 1), 0), 1) * wide;
        const shade = { init: "var(--I)", attach: "var(--W)", connect: "var(--C)", register: "var(--P)" };
        const sum = (row, phase) => (row.count[phase] ? `${format.time(row.total[phase])}${row.count[phase] > 1 ? ` (${format.count(row.count[phase])})` : ""}` : "–");
        const bars = (row, phase, y, high) => row[phase].slice(0, 500).filter((i) => m.ts[i] <= to).map((i) => make("svg:rect", {
            x: x(m.ts[i]), y, width: Math.max(x(m.ts[i] + m.dur[i]) - x(m.ts[i]), 1), height: high, fill: shade[phase] },
        make("svg:title", {}, `${phase}: ${format.time(m.dur[i])}`)));
        const heads = phases.map((phase) => make("th", { scope: "col", class: "number" }, make("span", { class: "dot", style: { background: shade[phase] } }), phase));
        return [table(["rank", "host", ...heads, make("th", {}, `until ${format.time(to - from)}`)], rows.map((row) => {
            const event = [...row.init, ...row.attach][0];
            return make("tr", event === undefined ? {} : { class: "goes", click: () => goTo(event) }, make("td", {}, event === undefined ? rankLabel(row.rank) :
                make("button", { type: "button" }, rankLabel(row.rank))), make("td", {}, row.host),
            ...phases.map((phase) => number(sum(row, phase))), make("td", {}, make("svg:svg", { width: wide, height: 18, role: "img", "aria-label": "the order of the phases" },
                ...bars(row, "init", 1, 8), ...bars(row, "attach", 1, 8), ...bars(row, "connect", 10, 3), ...bars(row, "register", 14, 3))));
        }), { id: "startup" }), make("p", { class: "muted" }, "Connect: waits for connections. Its times, and those of register, are of the whole job; their number is in brackets.")];
    }

    function notes() {
        return [make("ul", { id: "notes" }, ...m.data.notes.map((note) => make("li", {}, note)))];
    }

    return [["Longest waits", longest], ["Waiting", waiting], ["Between ranks", between], ["Latencies", latencies], ["Start-up", startup],
        ...(m.data.notes.length ? [[`Notes (${m.data.notes.length})`, notes]] : [])];
}
