// The timeline of a recording: every run of every task, from the whole file down to a nanosecond.
//
// The page holds the runs packed (see `crates/explain/src/packed.rs` for their form). A lane is a processor or a task; its runs do not
// overlap and are in order of time, so what a lane did until a moment t is a sum over whole runs and a part of one:
//
//   C(t) = sum of lengths of the runs before the last one that begins until t, and min(its length, t - its begin)
//
// Where a lane has more runs than pixels, a pixel shows (C(t1) - C(t0)) / (t1 - t0); else each run is drawn. So a frame costs as much as the
// picture is wide, not as the recording is long.
"use strict";
(() => {
  const $ = (id) => document.getElementById(id);
  const AFTER = ["", "woken", "preempted", "new"];
  const END = ["preempted", "asleep", "asleep (uninterruptible)", "stopped", "ended", "events are missing", "goes on", "waits"];
  // Causes of wakeups for which a task is named.
  const TASKS = ["task", "lock", "message"];
  const GOES_ON = 6, WAITS = 7, WOKEN = 1, PREEMPTED = 2;
  const LANE = 22, GAP = 4, AXIS = 24, CURVE = 44;
  // Lanes of tasks and of processors: a canvas has a largest height.
  const SHOWN = 24, PROCESSORS = 64;
  const say = (text) => { $("at").textContent = text; };

  async function unpacked(text) {
    const packed = Uint8Array.from(atob(text.trim()), (letter) => letter.charCodeAt(0));
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Uint8Array(await new Response(stream).arrayBuffer());
  }

  // Runs as columns.
  function read(bytes) {
    const length = new DataView(bytes.buffer).getUint32(0, true);
    const head = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + length)));
    let at = 4 + length;
    const number = () => {
      let value = 0, scale = 1, byte;
      do {
        byte = bytes[at++];
        value += (byte & 127) * scale;
        scale *= 128;
      } while (byte & 128);
      return value;
    };
    const n = head.runs, named = head.causes.map((cause) => TASKS.includes(cause));
    const runs = {
      n, from: new Float64Array(n), long: new Float64Array(n), wait: new Float64Array(n), task: new Uint32Array(n),
      cpu: new Uint16Array(n), how: new Uint16Array(n), by: new Int32Array(n).fill(-1),
    };
    let from = 0;
    for (let i = 0; i < n; i++) {
      from += number();
      runs.from[i] = from;
      runs.long[i] = number();
      runs.task[i] = number();
      runs.cpu[i] = number();
      runs.wait[i] = number();
      const how = runs.how[i] = number();
      if ((how & 3) === PREEMPTED || ((how & 3) === WOKEN && named[how >> 5])) runs.by[i] = number() - 1;
    }
    return { head, runs };
  }

  // The runs of each value of a column, in order of time.
  function lanes(column, count, runs, kept) {
    const starts = new Uint32Array(count + 1);
    for (let i = 0; i < runs.n; i++) if (kept(i)) starts[column[i] + 1]++;
    for (let k = 0; k < count; k++) starts[k + 1] += starts[k];
    const order = new Uint32Array(starts[count]), next = starts.slice();
    for (let i = 0; i < runs.n; i++) if (kept(i)) order[next[column[i]]++] = i;
    return (k) => order.subarray(starts[k], starts[k + 1]);
  }

  // Intervals in order of time, with sums: begin, length.
  function intervals(order, begin, long) {
    const n = order.length, from = new Float64Array(n), length = new Float64Array(n), before = new Float64Array(n + 1);
    for (let k = 0; k < n; k++) {
      from[k] = begin(order[k]);
      length[k] = long(order[k]);
      before[k + 1] = before[k] + length[k];
    }
    return { from, length, before, order };
  }

  // How many values of a sorted list are at most x.
  function upTo(list, x) {
    let low = 0, high = list.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (list[middle] <= x) low = middle + 1; else high = middle;
    }
    return low;
  }

  const sum = (lane, t) => {
    const k = upTo(lane.from, t) - 1;
    return k < 0 ? 0 : lane.before[k] + Math.min(lane.length[k], t - lane.from[k]);
  };

  // A time in words: as many places as the picture shows.
  function moment(ns, step) {
    const places = Math.max(0, Math.min(9, Math.ceil(-Math.log10(step / 1e9) - 1e-9)));
    return (ns / 1e9).toFixed(places) + " s";
  }
  function duration(ns) {
    const [unit, scale] = ns >= 1e9 ? ["s", 1e9] : ns >= 1e6 ? ["ms", 1e6] : ns >= 1e3 ? ["us", 1e3] : ["ns", 1];
    return Number((ns / scale).toPrecision(4)) + " " + unit;
  }

  function show({ head, runs }) {
    const canvas = $("timeline"), ink = canvas.getContext("2d");
    const first = head.from_ns, last = first + Math.max(1, head.span_ns);
    const name = (task) => task < 0 ? "" : head.tasks[task][0] + ":" + head.tasks[task][1];
    const end = (i) => runs.how[i] >> 2 & 7, after = (i) => runs.how[i] & 3;
    // It ran already when the recording began: its length is not known.
    const isCut = (i) => after(i) === 0 && runs.how[i] >> 5 === 1;
    const ofCpu = lanes(runs.cpu, 65536, runs, (i) => end(i) !== WAITS), ofTask = lanes(runs.task, head.tasks.length, runs, () => true);
    const view = { from: first, to: last, marked: -1, task: -1 };

    // Tasks by run time, and their place in colours.
    const used = new Float64Array(head.tasks.length);
    for (let i = 0; i < runs.n; i++) used[runs.task[i]] += runs.long[i];
    const ranked = [...head.tasks.keys()].filter((task) => ofTask(task).length).sort((a, b) => used[b] - used[a]);
    const rank = new Int32Array(head.tasks.length).fill(-1);
    ranked.forEach((task, place) => { rank[task] = place; });

    const cpus = head.processors.slice(0, PROCESSORS).map((cpu) => ({
      label: "processor " + cpu, kind: "cpu", cpu,
      runs: intervals(ofCpu(cpu), (i) => runs.from[i], (i) => runs.long[i]),
    }));
    const undrawn = head.processors.length - cpus.length;
    const made = new Map();
    const ofOne = (task) => {
      if (!made.has(task)) {
        const order = ofTask(task);
        made.set(task, {
          label: name(task), kind: "task", task,
          runs: intervals(order, (i) => runs.from[i], (i) => runs.long[i]),
          waits: intervals(order, (i) => runs.from[i] - runs.wait[i], (i) => runs.wait[i]),
        });
      }
      return made.get(task);
    };

    // Tasks that run or wait: those that began to, less those that ended.
    const begins = new Float64Array(runs.n), ends = new Float64Array(runs.n);
    for (let i = 0; i < runs.n; i++) {
      begins[i] = runs.from[i] - runs.wait[i];
      ends[i] = runs.from[i] + runs.long[i];
    }
    begins.sort();
    // Those of the last moment have not ended.
    const closed = ends.filter((_, i) => end(i) < GOES_ON).sort();
    const runnable = (t) => upTo(begins, t) - upTo(closed, t);

    let rows = [];
    const wanted = () => {
      const text = $("only").value.trim().toLowerCase();
      const fits = (task) => name(task).toLowerCase().includes(text);
      const tasks = (text ? ranked.filter(fits) : ranked).slice(0, SHOWN);
      if (view.task >= 0 && !tasks.includes(view.task)) tasks.unshift(view.task);
      rows = [{ kind: "runnable", label: "runnable", height: CURVE }, ...cpus, ...tasks.map(ofOne)];
      const left = ranked.length - tasks.length;
      const more = [left > 0 && left + " more tasks: type a part of a name", undrawn > 0 && undrawn + " more processors have no lane"];
      $("left").textContent = more.filter(Boolean).join("; ");
      resize();
    };

    let width = 0, gutter = 0, colours = {};
    const height = (row) => row.height || LANE;
    function resize() {
      const scale = window.devicePixelRatio || 1;
      width = canvas.clientWidth;
      gutter = Math.min(150, width * 0.3);
      const all = rows.reduce((sum, row) => sum + height(row) + GAP, AXIS + GAP);
      canvas.style.height = all + "px";
      canvas.width = Math.max(1, Math.round(width * scale));
      canvas.height = Math.round(all * scale);
      ink.setTransform(scale, 0, 0, scale, 0, 0);
      const style = getComputedStyle(document.documentElement);
      const read = (key) => style.getPropertyValue("--" + key).trim();
      colours = Object.fromEntries(["bg", "ink", "dim", "line", "card", "user", "ready", "wait", "idle", "good", "bad",
        "s0", "s1", "s2", "s3", "s4", "s5"].map((key) => [key, read(key)]));
      ask();
    }

    let asked = false;
    function ask() {
      if (!asked) {
        asked = true;
        requestAnimationFrame(() => { asked = false; draw(); });
      }
    }

    const plot = () => width - gutter;
    const x = (t) => gutter + (t - view.from) / (view.to - view.from) * plot();
    const time = (px) => view.from + (px - gutter) / plot() * (view.to - view.from);

    function draw() {
      ink.clearRect(0, 0, width, canvas.height);
      ink.font = "12px system-ui, sans-serif";
      ink.textBaseline = "middle";
      axis();
      let y = AXIS + GAP;
      for (const row of rows) {
        row.y = y;
        ink.fillStyle = colours.card;
        ink.fillRect(gutter, y, plot(), height(row));
        ({ runnable: curve, cpu: processor, task: lane })[row.kind](row, y);
        ink.fillStyle = row.task === view.task && row.kind === "task" ? colours.good : colours.ink;
        ink.fillText(row.label, 2, y + height(row) / 2, gutter - 6);
        y += height(row) + GAP;
      }
      marked();
      const span = view.to - view.from;
      $("window").textContent = moment(view.from, span / 1000) + " to " + moment(view.to, span / 1000) + " (" + duration(span) + ")";
    }

    function axis() {
      const span = view.to - view.from, most = Math.max(2, Math.floor(plot() / 110));
      const raw = span / most, power = 10 ** Math.floor(Math.log10(raw));
      const step = [1, 2, 5, 10].map((n) => n * power).find((n) => n >= raw);
      ink.strokeStyle = colours.line;
      ink.fillStyle = colours.dim;
      for (let t = Math.ceil(view.from / step) * step; t <= view.to; t += step) {
        const px = Math.round(x(t)) + 0.5;
        ink.beginPath();
        ink.moveTo(px, AXIS - 6);
        ink.lineTo(px, canvas.height);
        ink.stroke();
        const text = moment(t, step), wide = ink.measureText(text).width;
        if (px + wide / 2 < width) ink.fillText(text, Math.max(gutter, px - wide / 2), 9);
      }
    }

    function curve(row, y) {
      const columns = Math.floor(plot()), values = new Float64Array(columns);
      let most = 1;
      for (let k = 0; k < columns; k++) most = Math.max(most, values[k] = runnable(time(gutter + k + 0.5)));
      ink.fillStyle = colours.wait;
      for (let k = 0; k < columns; k++) {
        const high = values[k] / most * (CURVE - 2);
        ink.fillRect(gutter + k, y + CURVE - high, 1, high);
      }
      row.label = "runnable (to " + most + ")";
    }

    // What a lane did in each pixel, where it has more runs than these.
    function dense(intervals, y, colour, base) {
      const columns = Math.floor(plot());
      let before = sum(intervals, view.from);
      ink.fillStyle = colour;
      for (let k = 0; k < columns; k++) {
        const t = time(gutter + k + 1), until = sum(intervals, t);
        const part = Math.min(1, (until - before) / (t - time(gutter + k)));
        const high = part * LANE, low = base ? base[k] : 0;
        if (high > 0) ink.fillRect(gutter + k, y + LANE - low - Math.max(high, 0.5), 1, Math.max(high, 0.5));
        if (base) base[k] += high;
        before = until;
      }
    }

    // The intervals that are seen: first and one beyond the last.
    function seen(intervals) {
      const begin = Math.max(0, upTo(intervals.from, view.from) - 1);
      return [begin, upTo(intervals.from, view.to)];
    }

    function each(intervals, y, high, colour, label) {
      const [begin, end] = seen(intervals);
      for (let k = begin; k < end; k++) {
        const left = Math.max(gutter, x(intervals.from[k])), right = Math.min(width, x(intervals.from[k] + intervals.length[k]));
        if (right < gutter || intervals.length[k] <= 0) continue;
        ink.fillStyle = colour(intervals.order[k]);
        ink.fillRect(left, y + (LANE - high) / 2, Math.max(0.6, right - left - (right - left > 3 ? 0.6 : 0)), high);
        const text = right - left > 44 ? label(intervals.order[k]) : "";
        if (text && ink.measureText(text).width < right - left - 6) {
          ink.fillStyle = colours.bg;
          ink.fillText(text, left + 3, y + LANE / 2);
        }
      }
    }

    const isDense = (intervals) => {
      const [begin, end] = seen(intervals);
      return end - begin > plot();
    };

    function processor(row, y) {
      if (isDense(row.runs)) return dense(row.runs, y, colours.user);
      each(row.runs, y, LANE, (i) => colours["s" + rank[runs.task[i]] % 6], (i) => name(runs.task[i]));
    }

    function lane(row, y) {
      if (isDense(row.runs)) {
        const base = new Float64Array(Math.floor(plot()));
        dense(row.runs, y, colours.user, base);
        return dense(row.waits, y, colours.ready, base);
      }
      each(row.waits, y, LANE / 2, () => colours.ready, () => "");
      each(row.runs, y, LANE, () => colours.user, (i) => "processor " + runs.cpu[i]);
    }

    function marked() {
      if (view.marked < 0) return;
      const i = view.marked, row = rows.find((row) => row.kind === "task" && row.task === runs.task[i]);
      if (!row) return;
      const left = Math.max(gutter, x(runs.from[i] - runs.wait[i])), right = Math.min(width, x(runs.from[i] + runs.long[i]));
      ink.strokeStyle = colours.bad;
      ink.lineWidth = 2;
      ink.strokeRect(left - 1, row.y - 1, Math.max(3, right - left + 2), LANE + 2);
      ink.lineWidth = 1;
    }

    // Moving about. A picture is at least ten nanoseconds wide.
    function look(from, to) {
      const span = Math.min(last - first, Math.max(10, to - from)), middle = (from + to) / 2;
      view.from = Math.max(first, Math.min(last - span, middle - span / 2));
      view.to = view.from + span;
      ask();
    }
    const zoom = (factor, at = (view.from + view.to) / 2) => look(at - (at - view.from) * factor, at + (view.to - at) * factor);
    const pan = (part) => look(view.from + part * (view.to - view.from), view.to + part * (view.to - view.from));

    function choose(i) {
      view.marked = i;
      view.task = runs.task[i];
      $("task").value = String(view.task);
      wanted();
      spread();
      say(words(i));
    }

    function words(i) {
      const how = AFTER[after(i)], cause = head.causes[runs.how[i] >> 5];
      const through = after(i) === WOKEN && cause !== "task" && runs.by[i] >= 0 ? " (" + cause + ")" : "";
      const by = runs.by[i] >= 0 ? " by " + name(runs.by[i]) + through : after(i) === WOKEN ? " by " + cause : "";
      const waited = how ? ", " + how + by + ", after a wait of " + duration(runs.wait[i]) : "";
      if (end(i) === WAITS) return name(runs.task[i]) + " waits at the end" + waited;
      const from = moment(runs.from[i], 1), long = duration(runs.long[i]);
      return name(runs.task[i]) + " on processor " + runs.cpu[i] + " from " + from + " for " + long + waited + "; then " + END[end(i)];
    }

    // The run under a point, or the one that a wait there ends with.
    function under(px, py) {
      const row = rows.find((row) => py >= row.y && py < row.y + height(row));
      if (!row || row.kind === "runnable" || px < gutter) return -1;
      const t = time(px), near = 3 / plot() * (view.to - view.from);
      for (const intervals of [row.runs, row.waits].filter(Boolean)) {
        const k = upTo(intervals.from, t + near) - 1;
        if (k >= 0 && t - near <= intervals.from[k] + intervals.length[k]) return intervals.order[k];
      }
      return -1;
    }

    const fingers = new Map();
    let moved = 0;
    canvas.addEventListener("pointerdown", (e) => {
      canvas.setPointerCapture(e.pointerId);
      fingers.set(e.pointerId, e.offsetX);
      moved = 0;
    });
    canvas.addEventListener("pointermove", (e) => {
      if (!fingers.has(e.pointerId)) {
        const i = under(e.offsetX, e.offsetY);
        if (i >= 0) say(words(i));
        return;
      }
      const before = [...fingers.values()];
      const by = e.offsetX - fingers.get(e.pointerId);
      fingers.set(e.pointerId, e.offsetX);
      moved += Math.abs(by);
      if (fingers.size === 1) return pan(-by / plot());
      const now = [...fingers.values()], wide = (all) => Math.max(10, Math.abs(all[0] - all[1]));
      zoom(wide(before) / wide(now), time((now[0] + now[1]) / 2));
    });
    const up = (e) => {
      const chosen = fingers.delete(e.pointerId) && moved < 4 && e.type === "pointerup" ? under(e.offsetX, e.offsetY) : -1;
      if (chosen >= 0) choose(chosen);
    };
    canvas.addEventListener("pointerup", up);
    canvas.addEventListener("pointercancel", up);
    canvas.addEventListener("dblclick", (e) => zoom(0.25, time(e.offsetX)));
    canvas.addEventListener("wheel", (e) => {
      if (!e.ctrlKey && !e.metaKey && !e.shiftKey) return;
      e.preventDefault();
      if (e.shiftKey) pan((e.deltaY || e.deltaX) / 1000); else zoom(Math.exp(e.deltaY / 300), time(e.offsetX));
    }, { passive: false });
    const keys = {
      ArrowLeft: () => pan(-0.2), ArrowRight: () => pan(0.2), "+": () => zoom(0.5), "=": () => zoom(0.5), "-": () => zoom(2),
      Home: () => look(first, last),
    };
    canvas.addEventListener("keydown", (e) => {
      if (!keys[e.key] || e.ctrlKey || e.metaKey || e.altKey) return;
      e.preventDefault();
      keys[e.key]();
    });
    $("closer").onclick = () => zoom(0.5);
    $("wider").onclick = () => zoom(2);
    $("whole").onclick = () => look(first, last);
    $("only").oninput = wanted;

    // A wait of the table: the picture is three times as wide.
    function wait(pid, from, to) {
      const i = findRun(pid, to);
      if (i >= 0) choose(i);
      look(from - (to - from), to + (to - from));
      canvas.scrollIntoView({ block: "start" });
      canvas.focus({ preventScroll: true });
    }
    function findRun(pid, at) {
      for (const task of ranked.filter((task) => head.tasks[task][1] === pid)) {
        const { runs: all } = ofOne(task), k = upTo(all.from, at + 0.5) - 1;
        if (k >= 0 && Math.abs(all.from[k] - at) < 1) return all.order[k];
      }
      return -1;
    }
    document.querySelectorAll("button[data-from]").forEach((button) => {
      button.onclick = () => wait(Number(button.dataset.pid), Number(button.dataset.from), Number(button.dataset.to));
      button.disabled = false;
    });

    // Distributions of one task.
    const list = $("task");
    list.append(...ranked.slice(0, 5000).map((task) => new Option(name(task), String(task))));
    list.onchange = () => {
      [view.task, view.marked] = [Number(list.value), -1];
      wanted();
      spread();
    };

    function spread() {
      const task = Number(list.value), order = ofTask(task), inside = (t) => t >= first && t <= last;
      const of = (keep, value) => Float64Array.from([...order].filter(keep).map(value)).sort();
      const began = (i) => end(i) !== WAITS && inside(runs.from[i]);
      const ended = (i) => end(i) < GOES_ON && !isCut(i) && inside(runs.from[i] + runs.long[i]);
      const kinds = [
        ["wakeup latency", "s0", of((i) => after(i) === WOKEN && began(i), (i) => runs.wait[i])],
        ["wait after preemption", "s1", of((i) => after(i) === PREEMPTED && began(i), (i) => runs.wait[i])],
        ["run", "s2", of(ended, (i) => runs.long[i])],
      ];
      const rank = (all, p) => all[Math.max(0, Math.ceil(all.length * p) - 1)];
      $("numbers").replaceChildren(...kinds.map(([title, colour, all]) => {
        const row = document.createElement("tr");
        const cells = all.length ? [0.5, 0.9, 0.99, 1].map((p) => duration(rank(all, p))) : ["-", "-", "-", "-"];
        [title, String(all.length), ...cells].forEach((text, k) => {
          const cell = document.createElement("td");
          cell.className = k ? "n" : "k";
          cell.textContent = text;
          if (!k) cell.style.borderLeft = "4px solid var(--" + colour + ")", cell.style.paddingLeft = ".5rem";
          row.append(cell);
        });
        return row;
      }));
      tail(kinds);
    }

    // The share of values above each, both axes by powers of ten.
    function tail(kinds) {
      const picture = $("spread"), pen = picture.getContext("2d"), scale = window.devicePixelRatio || 1;
      const wide = picture.clientWidth, high = 200, left = 44, bottom = 24;
      picture.width = wide * scale;
      picture.height = high * scale;
      pen.setTransform(scale, 0, 0, scale, 0, 0);
      pen.clearRect(0, 0, wide, high);
      pen.font = "11px system-ui, sans-serif";
      const all = kinds.flatMap(([, , values]) => values.length ? [Math.max(1, values[0]), values[values.length - 1]] : []);
      if (!all.length) return;
      const low = Math.floor(Math.log10(Math.min(...all))), top = Math.max(low + 1, Math.ceil(Math.log10(Math.max(...all, 1))));
      const deep = Math.max(1, Math.ceil(Math.log10(Math.max(...kinds.map((kind) => kind[2].length)))));
      const px = (value) => left + (Math.log10(Math.max(value, 10 ** low)) - low) / (top - low) * (wide - left - 8);
      const py = (share) => 6 + -Math.log10(share) / deep * (high - bottom - 12);
      pen.strokeStyle = colours.line;
      pen.fillStyle = colours.dim;
      for (let power = low; power <= top; power++) {
        pen.strokeRect(px(10 ** power), 6, 0, high - bottom - 6);
        pen.fillText(duration(10 ** power), Math.min(px(10 ** power), wide - 40), high - 8);
      }
      for (let power = 0; power <= deep; power++) {
        pen.strokeRect(left, py(10 ** -power), wide - left - 8, 0);
        pen.fillText(Number((100 * 10 ** -power).toPrecision(1)) + " %", 2, py(10 ** -power) + 4);
      }
      for (const [, colour, values] of kinds) {
        pen.strokeStyle = colours[colour];
        pen.lineWidth = 1.6;
        pen.beginPath();
        const n = values.length, step = Math.max(1, n / 2000);
        for (let k = 0; k < n; k = Math.max(k + 1, k < n - 2000 ? Math.floor(k + step) : k + 1)) pen.lineTo(px(values[k]), py((n - k) / n));
        pen.stroke();
      }
      pen.lineWidth = 1;
    }

    new ResizeObserver(resize).observe(canvas.parentElement);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { resize(); spread(); });
    wanted();
    if (ranked.length) {
      list.value = String(ranked[0]);
      resize();
      spread();
    }
    say("");
    // For scripts that hold the page to its numbers.
    window.recording = { head, runs, view, look, zoom, pan, draw, runnable, name };
  }

  const broken = (why) => say("The timeline cannot be shown here: " + why + ". The tables below are whole.");
  if (typeof DecompressionStream === "undefined") return broken("this browser does not unpack gzip (DecompressionStream)");
  unpacked($("runs").textContent).then((bytes) => show(read(bytes))).catch((why) => broken(String(why.message || why)));
})();
