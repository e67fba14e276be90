// main.js - the page: reads its data, makes the time line, the legend and the views.
const report = (() => {
    const byId = (id) => document.getElementById(id);
    const data = JSON.parse(byId("trace").textContent);
    const m = model.decode(data, byId("events").textContent);
    byId("events").textContent = ""; // its text is not needed any more

    const hosts = new Set(data.rank.map(([, host]) => host)).size, ranks = data.rank.length;
    byId("facts").textContent = [`${ranks}${ranks < data.ranks ? ` of ${data.ranks}` : ""} ${data.ranks === 1 ? "rank" : "ranks"} on ${hosts} ${hosts === 1 ? "host" : "hosts"}`,
        `${data.conduit}, ${data.mode}`, data.began.replace("T", " ").replace("Z", " UTC"), format.time(m.end - m.begin),
        `${format.count(data.read)} events`].join(" · ");

    // --- events in words ---

    function facts(i) {
        const kind = m.kinds[m.kind[i]], thread = m.threads[m.thread[i]], found = [];
        if (m.peer[i] >= 0) found.push(`${kind.name === "handler" ? "from" : "peer"} ${m.peer[i]}`);
        if (m.bytes[i] >= 0) found.push(format.bytes(m.bytes[i]));
        if (m.handler[i] >= 0) found.push(`handler ${m.handler[i]}`);
        if (m.team[i]) found.push(`team ${data.texts[m.team[i]]}`);
        if (m.site[i]) found.push(`at ${format.site(data.texts[m.site[i]])}`);
        return { name: kind.moment ? data.moments[m.moment[i]] : model.causeOf(m, kind, m.cause[i]), long: kind.moment ? "" : format.time(m.dur[i]),
            where: `rank ${thread.rank}${thread.label ? `, ${thread.label}` : ""}, ${format.exact(m.ts[i])}`, found };
    }
    const show = {
        line(i) {
            const { name, long, where, found } = facts(i);
            return [name, long, where, ...found].filter((text) => text).join(" · ");
        },
        tip(i) {
            const { name, long, where, found } = facts(i);
            return [make("b", {}, name), long ? ` ${long}` : "", make("div", { class: "muted" }, where), ...(found.length ? [make("div", {}, found.join(" · "))] : [])];
        },
        toggled: (category, on) => byId("legend").querySelector(`[data-category="${category}"]`).setAttribute("aria-pressed", on),
    };
    const line = timeline(m, byId("canvas"), format, show);
    const goTo = (event) => {
        line.goTo(event);
        if (document.documentElement.scrollHeight > window.innerHeight) byId("time").scrollIntoView({ block: "nearest" });
    };

    const present = new Set(m.kinds.map((kind) => kind.category));
    byId("legend").append(...Object.entries(model.categories).filter(([category]) => present.has(category)).map(([category, name]) =>
        make("button", { type: "button", "aria-pressed": "true", "data-category": category, click: () => line.toggle(category) },
            make("span", { class: "dot", style: { background: `var(--${category})` } }), name)));

    // --- the views ---

    const all = views(m, goTo), panel = byId("panel");
    function open(number, focus) {
        [...byId("tabs").children].forEach((tab, i) => {
            tab.setAttribute("aria-selected", i === number);
            tab.tabIndex = i === number ? 0 : -1;
            if (i === number && focus) tab.focus();
        });
        panel.setAttribute("aria-labelledby", `tab${number}`);
        panel.replaceChildren(...all[number][1](() => open(number)));
    }
    byId("tabs").append(...all.map(([name], i) => make("button", { type: "button", role: "tab", id: `tab${i}`, "aria-controls": "panel", click: () => open(i),
        keydown: (e) => {
            const to = { ArrowRight: i + 1, ArrowLeft: i - 1, Home: 0, End: all.length - 1 }[e.key];
            if (to === undefined) return;
            e.preventDefault();
            open((to + all.length) % all.length, true);
        } }, name)));
    open(0);
    return { m, line };
})();
