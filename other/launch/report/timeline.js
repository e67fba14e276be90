// timeline.js - the time line: a canvas whose work depends on its pixels, not on the number of events.
function timeline(m, canvas, format, show) {
    const HEAD = 24, LANE = 15, GAP = 7, GUTTER = 128, NARROWEST = 10; // ns that are seen at least
    const lines = canvas.parentElement, spacer = document.getElementById("spacer"), tip = document.getElementById("tip");
    const detail = document.getElementById("detail"), context = canvas.getContext("2d");
    const span = Math.max(m.end - m.begin, 1), all = { from: m.begin - span * 0.01, to: m.end + span * 0.01 };
    const view = { from: all.from, to: all.to };
    const hidden = new Set();
    let rows = [], width = 0, height = 0, colours = {}, selected = -1, row = 0, waiting = false;

    // --- rows ---

    function layOut() {
        let y = HEAD + 4, rank = -1;
        const several = new Set(m.threads.filter((t, i) => i && m.threads[i - 1].rank === t.rank).map((t) => t.rank));
        rows = m.threads.map((thread) => {
            const spans = model.lanes(m, thread, (kind) => !kind.moment && !hidden.has(kind.category));
            const moments = model.lanes(m, thread, (kind) => kind.moment && !hidden.has(kind.category));
            if (rank >= 0 && thread.rank !== rank) y += GAP;
            const label = several.has(thread.rank) ? thread.label || `thread ${thread.tid}` : "";
            const made = { thread, spans, moments, y, first: thread.rank !== rank, label };
            rank = thread.rank;
            y += Math.max(spans.length, 1) * LANE + 5;
            made.end = y;
            return made;
        });
        spacer.style.height = `${Math.max(y + 6 - lines.clientHeight, 0)}px`;
    }

    function readColours() {
        const style = getComputedStyle(document.documentElement);
        for (const name of [...Object.keys(model.categories), "ink", "muted", "rule", "card", "soft", "accent"])
            colours[name] = style.getPropertyValue(`--${name}`).trim();
    }

    // Black or white, whichever is read better on a colour as #rrggbb.
    function inkOn(colour) {
        const [r, g, b] = [1, 3, 5].map((i) => parseInt(colour.slice(i, i + 2), 16));
        return r * 0.3 + g * 0.59 + b * 0.11 > 140 ? "#10161b" : "#ffffff";
    }

    // --- drawing ---

    const toX = (time) => GUTTER + (time - view.from) / (view.to - view.from) * (width - GUTTER);
    const toTime = (x) => view.from + (x - GUTTER) / (width - GUTTER) * (view.to - view.from);

    function drawAxis() {
        const step = format.step((view.to - view.from) / Math.max((width - GUTTER) / 110, 1));
        context.fillStyle = colours.card;
        context.fillRect(0, 0, width, HEAD);
        context.textAlign = "left";
        for (let n = Math.ceil(view.from / step); n * step <= view.to; n++) {
            const x = Math.round(toX(n * step));
            context.fillStyle = colours.rule;
            context.fillRect(x, HEAD - 6, 1, height);
            context.fillStyle = colours.muted;
            context.fillText(format.at(n * step, step), x + 4, 11);
        }
        context.fillStyle = colours.rule;
        context.fillRect(0, HEAD - 1, width, 1);
    }

    function drawSpan(event, y, x0, x1) {
        const kind = m.kinds[m.kind[event]], colour = colours[kind.category], w = Math.max(x1 - x0, 1);
        context.fillStyle = colour;
        context.fillRect(x0, y, w > 3 ? w - 0.5 : w, LANE - 2);
        if (w < 34) return;
        const left = Math.max(x0, GUTTER), room = Math.min(x1, width) - left - 8;
        const text = m.cause[event] ? model.causeOf(m, kind, m.cause[event]) : kind.name;
        if (room < 20) return;
        context.fillStyle = inkOn(colour);
        context.fillText(cut(text, room), left + 4, y + (LANE - 2) / 2 + 0.5);
    }

    function cut(text, room) {
        const letters = Math.floor(room / 6);
        return text.length <= letters ? text : letters < 3 ? "" : `${text.slice(0, letters - 1)}…`;
    }

    // Spans of a pixel or more are drawn one by one; shorter ones in the same pixel as one, in the colour of the longest,
    // paler where they cover less of the pixel.
    function drawLane(lane, y) {
        const perPixel = (view.to - view.from) / (width - GUTTER), n = lane.events.length;
        let i = Math.max(model.firstFrom(m, lane, view.from) - 1, 0);
        while (i < n && m.ts[lane.events[i]] < view.to) {
            const event = lane.events[i], x0 = toX(m.ts[event]), x1 = toX(m.ts[event] + m.dur[event]);
            if (x1 < GUTTER) {
                i++;
            } else if (x1 - x0 >= 1) {
                drawSpan(event, y, Math.max(x0, GUTTER - 2), Math.min(x1, width + 2));
                i++;
            } else {
                const pixel = Math.floor(x0);
                let next = Math.max(model.firstFrom(m, lane, toTime(pixel + 1)), i + 1);
                if (next - 1 > i && m.dur[lane.events[next - 1]] >= perPixel) next--; // is drawn by itself
                const longest = model.longestOf(m, lane, i, next);
                context.globalAlpha = Math.min(0.45 + (lane.covered[next] - lane.covered[i]) / perPixel, 1);
                context.fillStyle = colours[m.kinds[m.kind[longest]].category];
                context.fillRect(pixel, y, 1, LANE - 2);
                context.globalAlpha = 1;
                i = next;
            }
        }
    }

    function drawMoments(lane, y) {
        const n = lane.events.length;
        context.fillStyle = colours.H;
        for (let i = model.firstFrom(m, lane, view.from); i < n;) {
            const x = toX(m.ts[lane.events[i]]);
            if (x > width) break;
            context.beginPath();
            context.moveTo(x, y + 4);
            context.lineTo(x - 4, y - 3);
            context.lineTo(x + 4, y - 3);
            context.fill();
            context.globalAlpha = 0.5;
            context.fillRect(x - 0.5, y, 1, LANE - 2);
            context.globalAlpha = 1;
            i = Math.max(model.firstFrom(m, lane, toTime(x + 7)), i + 1); // marks do not overlap
        }
    }

    function drawLabels(top) {
        context.fillStyle = colours.card;
        context.fillRect(0, HEAD, GUTTER - 4, height);
        for (const r of rows) {
            const y = r.y - top;
            if (y > height || r.end - top < HEAD) continue;
            context.fillStyle = r === rows[row] && document.activeElement === canvas ? colours.accent : colours.ink;
            context.textAlign = "left";
            if (r.first) context.fillText(`rank ${r.thread.rank}`, 10, y + 7);
            context.fillStyle = colours.muted;
            context.textAlign = "right";
            if (r.label) context.fillText(cut(r.label, r.first ? 58 : GUTTER - 24), GUTTER - 12, y + 7);
        }
    }

    function drawSelected(top) {
        if (selected < 0) return;
        const at = placeOf(selected);
        if (!at) return;
        const x0 = Math.max(toX(m.ts[selected]), GUTTER - 4), x1 = Math.min(toX(m.ts[selected] + m.dur[selected]), width + 4);
        if (x1 < GUTTER || x0 > width) return;
        context.strokeStyle = colours.ink;
        context.lineWidth = 2;
        context.strokeRect(x0 - 2, at.y - top - 2, Math.max(x1 - x0, 1) + 4, LANE + 2);
    }

    function draw() {
        waiting = false;
        const top = lines.scrollTop, scale = window.devicePixelRatio || 1;
        if (canvas.width !== Math.round(width * scale) || canvas.height !== Math.round(height * scale)) {
            canvas.width = Math.round(width * scale);
            canvas.height = Math.round(height * scale);
        }
        context.setTransform(scale, 0, 0, scale, 0, 0);
        context.clearRect(0, 0, width, height);
        context.font = "11px system-ui, 'DejaVu Sans', sans-serif";
        context.textBaseline = "middle";
        drawAxis();
        context.save();
        context.beginPath();
        context.rect(0, HEAD, width, height);
        context.clip();
        context.textAlign = "left";
        for (const r of rows) {
            const y = r.y - top;
            if (y > height || r.end - top < HEAD) continue;
            r.spans.forEach((lane, i) => drawLane(lane, y + i * LANE));
            r.moments.forEach((lane) => drawMoments(lane, y));
        }
        drawSelected(top);
        drawLabels(top);
        context.restore();
    }

    function redraw() {
        if (waiting) return;
        waiting = true;
        requestAnimationFrame(draw);
    }

    function resize() {
        width = lines.clientWidth;
        height = lines.clientHeight;
        canvas.style.height = `${height}px`;
        layOut();
        draw();
    }

    // --- what is where ---

    function placeOf(event) {
        const r = rows[m.thread[event]];
        if (!r) return null;
        for (let i = 0; i < r.spans.length; i++) {
            const lane = r.spans[i], at = model.firstFrom(m, lane, m.ts[event]);
            for (let k = at; k < lane.events.length && m.ts[lane.events[k]] === m.ts[event]; k++)
                if (lane.events[k] === event) return { row: r, y: r.y + i * LANE };
        }
        return { row: r, y: r.y };
    }

    // The event of a lane under x, or less than three pixels away; -1: none.
    function eventNear(lane, x) {
        const from = model.firstFrom(m, lane, toTime(x - 3)), to = model.firstFrom(m, lane, toTime(x + 3));
        const over = model.firstFrom(m, lane, toTime(x)) - 1;
        if (over >= 0 && toX(m.ts[lane.events[over]] + m.dur[lane.events[over]]) >= x) return lane.events[over];
        return to > from ? model.longestOf(m, lane, from, to) : -1;
    }

    function eventAt(x, y) {
        if (x < GUTTER || y < HEAD) return -1;
        const at = y + lines.scrollTop, r = rows.find((some) => at >= some.y - 3 && at < some.end);
        if (!r) return -1;
        for (const lane of r.moments) {
            const i = model.firstFrom(m, lane, toTime(x - 4));
            if (i < lane.events.length && toX(m.ts[lane.events[i]]) < x + 4 && at < r.y + LANE) return lane.events[i];
        }
        const lane = r.spans[Math.floor((at - r.y) / LANE)];
        return lane ? eventNear(lane, x) : -1;
    }

    // --- moving ---

    function setView(from, to) {
        const length = Math.min(Math.max(to - from, NARROWEST), all.to - all.from);
        const middle = (from + to) / 2;
        view.from = Math.min(Math.max(middle - length / 2, all.from), all.to - length);
        view.to = view.from + length;
        redraw();
    }
    function showAll() {
        Object.assign(view, all);
        redraw();
    }
    function zoom(factor, x) {
        const time = x === undefined ? (view.from + view.to) / 2 : toTime(Math.max(x, GUTTER));
        const length = Math.min(Math.max((view.to - view.from) * factor, NARROWEST), all.to - all.from);
        const share = (time - view.from) / (view.to - view.from);
        setView(time - share * length, time + (1 - share) * length);
    }
    function move(share) {
        const by = (view.to - view.from) * share;
        setView(view.from + by, view.to + by);
    }

    function select(event) {
        selected = event;
        detail.textContent = event < 0 ? "" : show.line(event);
        if (event >= 0) row = m.thread[event];
        redraw();
    }
    // Selects an event and brings it into view, with four times its length.
    function goTo(event) {
        const hide = m.kinds[m.kind[event]].category;
        if (hidden.has(hide)) toggle(hide);
        select(event);
        const around = Math.max(m.dur[event] * 1.5, span / 1e5, 100);
        setView(m.ts[event] - around, m.ts[event] + m.dur[event] + around);
        bring(placeOf(event).y);
    }
    function bring(y) {
        if (y - lines.scrollTop < HEAD + 10 || y - lines.scrollTop > height - 3 * LANE)
            lines.scrollTop = y - height / 2;
    }

    function toggle(category) {
        if (!hidden.delete(category)) hidden.add(category);
        layOut();
        show.toggled(category, !hidden.has(category));
        redraw();
    }

    // The next event of the row, in any of its lanes, after the selected one or the beginning of the view.
    function step(direction) {
        const thread = m.threads[row];
        let i = selected >= thread.first && selected < thread.last ? selected + direction : -1;
        if (i < 0) for (i = thread.first; i < thread.last && m.ts[i] < view.from;) i++;
        while (i >= thread.first && i < thread.last && hidden.has(m.kinds[m.kind[i]].category)) i += direction;
        if (i < thread.first || i >= thread.last) return;
        select(i);
        if (m.ts[i] < view.from || m.ts[i] > view.to) {
            const half = (view.to - view.from) / 2;
            setView(m.ts[i] - half, m.ts[i] + half);
        }
    }
    function changeRow(by) {
        row = Math.min(Math.max(row + by, 0), rows.length - 1);
        if (!rows[row]) return;
        select(-1);
        const { thread, label } = rows[row];
        detail.textContent = `rank ${thread.rank}${label ? `, ${label}` : ""}: ${format.count(thread.events)} events`;
        bring(rows[row].y);
        redraw();
    }

    const keys = {
        "+": () => zoom(0.5), "=": () => zoom(0.5), "-": () => zoom(2), "0": showAll, Home: showAll, ArrowLeft: () => move(-0.15), ArrowRight: () => move(0.15),
        ArrowUp: () => changeRow(-1), ArrowDown: () => changeRow(1), n: () => step(1), p: () => step(-1),
        Enter: () => selected >= 0 && goTo(selected), Escape: () => select(-1),
    };
    canvas.addEventListener("keydown", (e) => {
        if (e.ctrlKey || e.metaKey || e.altKey || !keys[e.key]) return;
        keys[e.key]();
        e.preventDefault();
    });
    canvas.addEventListener("wheel", (e) => {
        e.preventDefault();
        if (e.shiftKey || Math.abs(e.deltaX) > Math.abs(e.deltaY)) move(Math.sign(e.deltaX || e.deltaY) * 0.1);
        else zoom(e.deltaY > 0 ? 1.25 : 0.8, e.offsetX);
    }, { passive: false });

    let drag = null;
    canvas.addEventListener("pointerdown", (e) => {
        drag = { x: e.offsetX, y: e.clientY, from: view.from, to: view.to, top: lines.scrollTop, moved: false };
        canvas.setPointerCapture(e.pointerId);
    });
    canvas.addEventListener("pointermove", (e) => {
        if (!drag) return hover(e);
        const by = (drag.x - e.offsetX) / (width - GUTTER) * (drag.to - drag.from);
        if (Math.abs(drag.x - e.offsetX) + Math.abs(drag.y - e.clientY) > 3) drag.moved = true;
        if (!drag.moved) return undefined;
        tip.hidden = true;
        setView(drag.from + by, drag.to + by);
        lines.scrollTop = drag.top + drag.y - e.clientY;
        return undefined;
    });
    canvas.addEventListener("pointerup", (e) => {
        if (drag && !drag.moved) select(eventAt(e.offsetX, e.offsetY));
        drag = null;
    });
    canvas.addEventListener("dblclick", (e) => {
        const event = eventAt(e.offsetX, e.offsetY);
        if (event >= 0) goTo(event);
    });
    canvas.addEventListener("pointerleave", () => { tip.hidden = true; });
    canvas.addEventListener("focus", redraw);
    canvas.addEventListener("blur", redraw);
    function hover(e) {
        const event = eventAt(e.offsetX, e.offsetY);
        tip.hidden = event < 0;
        if (event < 0) return;
        tip.replaceChildren(...show.tip(event));
        tip.style.left = `${Math.min(e.clientX + 14, window.innerWidth - tip.offsetWidth - 8)}px`;
        tip.style.top = `${e.clientY + 18 + tip.offsetHeight > window.innerHeight ? e.clientY - tip.offsetHeight - 10 : e.clientY + 18}px`;
    }

    lines.addEventListener("scroll", redraw);
    new ResizeObserver(resize).observe(lines);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { readColours(); redraw(); });
    readColours();
    resize();
    return { view, goTo, toggle, selected: () => selected, place: (event) => ({ x: toX(m.ts[event]), y: placeOf(event).y - lines.scrollTop }) };
}
