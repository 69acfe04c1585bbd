// The figures and tables of the page, from the runs that are there.

import * as compare from "../compare";
import { fill, make, the } from "../dom";
import * as ecdf from "./ecdf";
import * as felt from "./felt";
import { atOnce, soon } from "../frames";
import type { Setting } from "../setting";
import type { Checked } from "../stored";
import { Timeline, type Rows } from "../timeline";
import { counted, digits, duration, readable } from "../units";
import { View } from "../view";
import type { Outline, Picture, StoredCell } from "../types";

/** Spans that a first look shows, of all processors. */
const FIRST_LOOK = 250;
/** Rows of the table behind a timeline. */
const LISTED = 200;
/** Jobs whose waits are drawn at first. */
const FIRST_JOBS = 6;
/** Colours of jobs; more than these share them. */
const SERIES = 6;

/** What is drawn: the first run of each side, the numbers of all runs, and what was stored of this cell. */
export interface Shown {
  setting: Setting;
  outline: Outline;
  pictures: Picture[];
  runs: compare.Runs[];
  cell: StoredCell | undefined;
  checked: Checked | null;
}

export class Figures {
  private shown: Shown | null = null;
  private readonly view = new View(() => soon("timelines", () => this.timelines()));
  private readonly lanes = ["timeline-a", "timeline-b"].map((id) => new Timeline(the<HTMLCanvasElement>(id), this.view, (text) => (the("at").textContent = text)));

  /** `other` says where stored results come from, if not from the engine of this page. */
  constructor(private readonly isStored: boolean, private readonly other: string) {
    the("closer").onclick = () => this.view.zoom(0.5);
    the("wider").onclick = () => this.view.zoom(2);
    the("left").onclick = () => this.view.pan(-0.5);
    the("right").onclick = () => this.view.pan(0.5);
    the("whole").onclick = () => this.view.whole();
    the("rows").onchange = () => {
      if (this.shown) this.lay(this.shown);
      this.redraw();
    };
    the("filter").oninput = () => this.all();
    the<HTMLDetailsElement>("all-part").ontoggle = () => this.all();
    the<HTMLDetailsElement>("spans-part").ontoggle = () => this.spans();
    the<HTMLDetailsElement>("waits-part").ontoggle = () => this.waits();
    new ResizeObserver(() => this.redraw()).observe(the("main"));
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.redraw());
  }

  /** Another experiment comes: its timeline begins anew. */
  forget(): void {
    this.view.forget();
  }

  /** Takes new runs and draws them; calls `drawn` with the frame that shows them. */
  show(shown: Shown, drawn: () => void): void {
    this.shown = shown;
    const { pictures } = shown;
    this.lay(shown);
    this.view.fit(Math.max(...pictures.map(({ run }) => run.elapsed)), firstLook(pictures[0]!));
    atOnce("all", () => this.draw());
    soon("drawn", drawn);
  }

  /** Gives each job a lane, or each task. */
  private lay(shown: Shown): void {
    const { pictures } = shown, jobs = jobsOf(shown), rows = the<HTMLSelectElement>("rows").value as Rows;
    const [first, second] = this.lanes as [Timeline, Timeline];
    first.show(pictures[0]!.run, jobs, rows, null);
    if (pictures[1]) second.show(pictures[1].run, jobs, rows, first.named());
  }

  /** More seeds have come in. */
  more(): void {
    soon("means", () => this.means());
  }

  private redraw(): void {
    soon("again", () => this.draw());
  }

  private draw(): void {
    if (!this.shown) return;
    const { pictures } = this.shown;
    // Canvases first: how wide they are is known as long as nothing else has changed.
    this.waits();
    this.timelines();
    this.means();
    felt.show(the<HTMLTableElement>("felt"), pictures.map(({ run }, place) => ({ name: "AB"[place]!, rows: run.rows })), jobsOf(this.shown));
    const warnings = [...new Set(pictures.flatMap((picture) => picture.run.warnings))];
    the("warnings").replaceChildren(...warnings.map((text) => make("p", { class: "warning" }, text)));
  }

  private timelines(): void {
    if (!this.shown) return;
    this.shown.pictures.forEach((_, place) => this.lanes[place]!.draw());
    const { from, to, last } = this.view;
    the("window").textContent = `${duration(from)} to ${duration(to)} of ${duration(last)}`;
    the("not-drawn").textContent = this.lanes[0]!.left();
    this.spans();
  }

  private spans(): void {
    if (!the<HTMLDetailsElement>("spans-part").open || !this.shown) return;
    const two = this.shown.pictures.length > 1;
    const found = this.shown.pictures.map((_, place) => this.lanes[place]!.listed(LISTED));
    const columns = [{ heading: "begin", key: true }, { heading: "length", numeric: true }, { heading: "processor", numeric: true }, { heading: "task" }];
    const rows = found.flatMap(({ rows: own }, place) => own.map((row) => (two ? ["AB"[place]!, ...row] : row)));
    fill(the<HTMLTableElement>("spans"), two ? [{ heading: "setting", key: true }, ...columns] : columns, rows);
    const more = found.reduce((sum, one) => sum + one.more, 0);
    the("more-spans").textContent = more > 0 ? `${more} more spans are in view: zoom in to list them.` : "";
  }

  private waits(): void {
    if (!this.shown) return;
    const { pictures } = this.shown, jobs = jobsOf(this.shown), chosen = this.chosen(jobs);
    const curves = pictures.flatMap(({ run }, side) =>
      jobs.flatMap((job, place) => (chosen.has(job) && run.waits[job] ? [{ job, place, dashed: side === 1, points: run.waits[job] }] : [])));
    ecdf.draw(the<HTMLCanvasElement>("ecdf"), curves);
    if (the<HTMLDetailsElement>("waits-part").open) this.points(curves);
  }

  private points(curves: ecdf.Curve[]): void {
    const name = ({ job, dashed }: ecdf.Curve): string => (this.shown!.pictures.length > 1 ? `${job}, ${dashed ? "B" : "A"}` : job);
    const rows = curves.flatMap((curve) => curve.points.map(([seconds, share]) => [name(curve), duration(seconds * 1e9), `${digits(100 * share)} %`]));
    fill(the<HTMLTableElement>("points"), [{ heading: "job", key: true }, { heading: "wait", numeric: true }, { heading: "share of waits up to it", numeric: true }], rows);
  }

  /** The jobs whose waits are drawn: boxes, of which the first few that wait are checked. */
  private chosen(jobs: string[]): Set<string> {
    const legend = the("legend"), { waits } = this.shown!.pictures[0]!.run;
    const waiting = jobs.filter((job) => (waits[job]?.length ?? 0) > 0), made = waiting.join("\n");
    if (legend.dataset["jobs"] !== made) {
      legend.dataset["jobs"] = made;
      legend.replaceChildren(...waiting.map((job, place) => {
        const box = make("input", { type: "checkbox", value: job, checked: place < FIRST_JOBS, change: () => soon("waits", () => this.waits()) });
        return make("label", {}, box, make("span", { class: `swatch c${jobs.indexOf(job) % SERIES}` }), job);
      }));
    }
    return new Set([...legend.querySelectorAll<HTMLInputElement>("input:checked")].map((box) => box.value));
  }

  private means(): void {
    const { runs, outline, setting, pictures } = this.shown!;
    compare.show(the<HTMLTableElement>("means"), runs, compare.asked(runs[0]!.metrics(), outline.metrics));
    const seeded = pictures.some(({ run }) => run.seeded), done = runs[runs.length - 1]!.count;
    the("basis").textContent = compare.basis(setting.seeds, done, runs.length > 1, seeded);
    const { run } = pictures[0]!, count = seeded ? `; n = ${done} of ${setting.seeds}` : "";
    the("state").textContent = `Runs of ${duration(run.elapsed)} on ${counted(run.processors, "processor")}, ${counted(run.tasks.length, "task")}${count}.`;
    this.stored();
    this.all();
  }

  private all(): void {
    if (!the<HTMLDetailsElement>("all-part").open || !this.shown) return;
    const { runs } = this.shown, wanted = the<HTMLInputElement>("filter").value.trim();
    compare.show(the<HTMLTableElement>("all"), runs, runs[0]!.metrics().filter((name) => name.includes(wanted)));
  }

  /** Stored means next to those computed here, and whether the same seed gave the same number. */
  private stored(): void {
    if (!this.isStored) return;
    const { cell, checked, runs } = this.shown!;
    the("stored").hidden = false;
    the("stored-check").textContent = this.words(checked);
    the("stored-check").classList.toggle("warning", Boolean(checked?.differing.length));
    the("stored-differing").textContent = checked?.differing.slice(0, LISTED).join("\n") ?? "";
    the("stored-differing").hidden = !checked?.differing.length;
    the("stored-means").hidden = !cell;
    if (!cell) return;
    const rows = Object.entries(cell.metrics).map(([metric, { mean, half, n }]) => {
      const { unit, by } = readable(runs[0]!.units.get(metric) ?? "", Math.abs(mean ?? 0)), here = compare.numbers(runs, metric)[0]!;
      return [metric, spelled(mean, half, by), String(n), spelled(here.n ? here.mean : null, here.half, by), String(here.n), unit];
    });
    const columns = [{ heading: "metric", key: true }, ...["stored", "n", "computed here", "n here"].map((heading) => ({ heading, numeric: true })), { heading: "unit" }];
    fill(the<HTMLTableElement>("stored-means"), columns, rows);
  }

  private words(checked: Checked | null): string {
    if (!checked) return "This setting is none of the stored cells: its numbers were computed here.";
    const { compared, differing } = checked;
    if (!compared) return "No number of these seeds is stored: nothing was compared.";
    if (!differing.length) return `Checked: all ${compared} numbers of these seeds are those stored, to the last bit.`;
    return `${differing.length} of ${compared} numbers computed here differ from those stored. ${this.other}`;
  }
}

function spelled(mean: number | null, half: number | null, by: number): string {
  if (mean === null) return "-";
  return half === null || !Number.isFinite(half) ? digits(mean * by, 6) : `${digits(mean * by, 6)} ± ${digits(half * by, 2)}`;
}

/** Jobs in the order of the engine, which decides their colours. */
const jobsOf = ({ pictures }: Shown): string[] => Object.keys(pictures[0]!.scenario.workload);

/** The end of what a first look shows. */
function firstLook({ run }: Picture): number {
  const { begin } = run.spans;
  return begin.length > FIRST_LOOK ? begin[FIRST_LOOK]! : run.elapsed;
}
