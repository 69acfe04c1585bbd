// Lessons: a question, what the reader predicts, and then the answer, which the engine computes at each value of a knob.
//
// The runs are asked of a session of their own, so that the lab below is free meanwhile.

import { Runs } from "../compare";
import { fill, make, the, type Column } from "../dom";
import { Dropped, type Session } from "../session";
import { interval, type Interval } from "../student";
import { Typing } from "../typed/typed";
import { addressOf, lessonOf } from "../typed/entry";
import { readable, spread } from "../units";
import type { Direction, Lesson, Picture, References, Row } from "../types";

/** A change of less than this, as a share of the larger of the two, is none. As in python/schedlab/lab/lessons. */
const NOTICEABLE = 0.1;
const DIRECTIONS: Direction[] = ["falls", "same", "rises"];

/** The lab below a lesson. */
export interface Below {
  /** Shows the experiment of a lesson, with its knob at that value. */
  teach(lesson: Lesson, value: string): void;
  /** The lesson has another address now, as long as its experiment is as it begins. */
  called(hash: string): void;
  experiment(text: string, set: Record<string, string>, heading: string): void;
}

/** Which way a metric went, by its values of each seed, which are pairs. It went nowhere if 0 is in the interval of the mean difference. */
export function direction(first: number[], last: number[], least = NOTICEABLE): Direction {
  const one = interval(first).mean, other = interval(last).mean;
  if (Math.abs(other - one) <= least * Math.max(Math.abs(one), Math.abs(other)) || !isShown(first, last)) return "same";
  return other > one ? "rises" : "falls";
}

/** Whether a difference is more than the scatter of the seeds. */
function isShown(first: number[], last: number[]): boolean {
  const { mean, half } = interval(first.slice(0, last.length).map((value, place) => last[place]! - value));
  return !Number.isFinite(half) || Math.abs(mean) > half;
}

export class Course {
  private lesson: Lesson;
  private session: Session | null = null;
  private readonly typing: Typing;

  /** `addressed`: the address has a setting of the lab, not a lesson. */
  constructor(private readonly lessons: Lesson[], hash: string, addressed: boolean, private readonly begun: () => Promise<Session>, private readonly below: Below) {
    this.lesson = this.named(hash) ?? lessons[0]!;
    this.typing = new Typing(begun, (entry) => this.typed(addressOf(this.lesson.name, this.lesson.typed, entry)), (...shown) => below.experiment(...shown));
    const list = the<HTMLSelectElement>("lesson-list");
    list.append(...lessons.map(({ name, title }) => make("option", { value: name }, title)));
    list.onchange = () => {
      the("address-fault").hidden = true;
      this.choose(lessons[list.selectedIndex]!, "");
    };
    the("lesson-choice").hidden = lessons.length < 2;
    the("lesson-answer").onclick = () => void this.answer();
    window.addEventListener("hashchange", () => {
      const found = this.named(location.hash);
      if (found) this.choose(found, location.hash);
    });
    the("lesson").hidden = false;
    this.write(this.lesson);
    // A setting that came with the address stays below the lesson.
    if (!addressed) below.teach(this.lesson, this.lesson.knob.values[0]!);
    this.typing.begin(this.lesson, this.named(hash) ? hash : "");
  }

  private named(hash: string): Lesson | undefined {
    const name = lessonOf(hash);
    return this.lessons.find((lesson) => lesson.name === name);
  }

  private choose(lesson: Lesson, hash: string): void {
    this.write(lesson);
    this.below.teach(lesson, lesson.knob.values[0]!);
    this.typing.begin(lesson, hash);
  }

  /** What was typed is a part of the address. */
  private typed(hash: string): void {
    the("lesson-link").setAttribute("href", hash);
    this.below.called(hash);
  }

  private write(lesson: Lesson): void {
    this.lesson = lesson;
    this.session?.turn();
    the<HTMLSelectElement>("lesson-list").value = lesson.name;
    the("lesson-title").textContent = lesson.title;
    the("lesson-question").replaceChildren(...paragraphs(lesson.question));
    the("lesson-asks").textContent = `${lesson.predict.asks} ...`;
    the("lesson-directions").replaceChildren(...DIRECTIONS.map((way) => this.radio(way)));
    the("lesson-link").setAttribute("href", addressOf(lesson.name, null, null));
    the<HTMLButtonElement>("lesson-answer").disabled = true;
    the("lesson-state").textContent = "";
    the("lesson-drawn").hidden = true;
  }

  private radio(way: Direction): HTMLElement {
    const chosen = (): void => {
      the<HTMLButtonElement>("lesson-answer").disabled = false;
    };
    return make("label", {}, make("input", { type: "radio", name: "direction", value: way, change: chosen }), this.lesson.predict[way]);
  }

  private get predicted(): Direction {
    return document.querySelector<HTMLInputElement>("#lesson-directions input:checked")!.value as Direction;
  }

  /** Runs the lesson's experiment at each value of its knob, and shows what came out. */
  private async answer(): Promise<void> {
    const { lesson, predicted } = this, state = the("lesson-state");
    try {
      state.textContent = "The engine is at work.";
      this.session ??= await this.begun();
      const turn = this.session.turn(), runs: Runs[] = [];
      for (const value of lesson.knob.values) {
        state.textContent = `The engine is at work: ${lesson.knob.label} ${shown(value)}, ${runs.length + 1} of ${lesson.knob.values.length}.`;
        runs.push(await this.runsAt(lesson, value, turn));
        if (lesson !== this.lesson) return;
      }
      state.textContent = "";
      this.draw(lesson, predicted, runs);
    } catch (why) {
      if (!(why instanceof Dropped)) state.textContent = (why as Error).message;
    }
  }

  private async runsAt(lesson: Lesson, value: string, turn: number): Promise<Runs> {
    if (!lesson.text) return this.faultsAt(lesson, Number(value), turn);
    const set = { ...lesson.set, [lesson.knob.path]: value }, label = `${lesson.name}.toml`, runs = new Runs();
    const [first] = await this.session!.ask<Picture[]>({ do: "pictures", text: lesson.text, label, sets: [set], seed: 1, spans: 0 }, turn);
    runs.add(first!.run.rows);
    const seeds = first!.run.seeded ? lesson.seeds : 1;
    for (let seed = 2; seed <= seeds; seed++) {
      runs.add(await this.session!.ask<Row[]>({ do: "run", scenario: first!.scenario, seed }, turn));
    }
    return runs;
  }

  /** The faults of the lesson's own reference string; what is shown are policies. */
  private async faultsAt({ typed, shows }: Lesson, frames: number, turn: number): Promise<Runs> {
    const names = shows.map(({ metric }) => metric), runs = new Runs();
    const { policies } = await this.session!.ask<References>({ do: "references", text: typed!.text, policies: names.join(","), frames: 0 }, turn);
    runs.add(policies.map(({ policy, faults }): Row => [policy, faults[frames - 1] ?? NaN, "1"]));
    return runs;
  }

  private draw(lesson: Lesson, predicted: Direction, runs: Runs[]): void {
    const { values } = lesson.knob, metric = lesson.shows[0]!.metric;
    const to = lesson.predict.to === null ? values.length - 1 : values.indexOf(lesson.predict.to);
    const found = runs.map((own) => mean(own, metric)), [first, last] = [runs[0]!, runs[to]!].map((own) => numbers(own, metric));
    // Faults are counted: any change is one.
    const computed = direction(first!, last!, lesson.text ? NOTICEABLE : 0), right = computed === predicted ? "Right" : "Not so";
    const noise = computed === "same" && interval(first!).mean !== interval(last!).mean && !isShown(first!, last!) ? " What differs is within the scatter of the seeds." : "";
    the("lesson-verdict").textContent = `${right}: you predicted "${lesson.predict[predicted]}", and the simulation has "${lesson.predict[computed]}".${noise}`;
    the("lesson-bars").replaceChildren(...bars(lesson, metric, found));
    the("lesson-legend").textContent = `Bars: ${lesson.shows[0]!.label}.${lesson.published.some((row) => row.metric === metric) ? " Marks: published." : ""}`;
    table(lesson, runs);
    the("lesson-explanation").replaceChildren(...paragraphs(lesson.explanation));
    const opens = (value: string): HTMLElement => make("button", { type: "button", click: () => this.below.teach(lesson, value) }, shown(value));
    the("lesson-open").replaceChildren("Show the schedule below at ", ...values.map(opens));
    the("lesson-open").hidden = !lesson.text;
    the("lesson-drawn").hidden = false;
  }
}

/** A value of the knob as a reader takes it: of a table, its name and what is set with it. */
const shown = (value: string): string => value.replace(/^\{\s*name\s*=\s*/, "").replace(/\s*\}$/, "").replaceAll(/['"]/g, "");

/** The values of a metric by seed, of the runs that have it. */
const numbers = (runs: Runs, metric: string): number[] => runs.values(metric).filter((value): value is number => value !== undefined);
/** Their mean; n is 0 if none has it. */
const mean = (runs: Runs, metric: string): Interval => interval(numbers(runs, metric));

/** A text of paragraphs, with `code` between backquotes. */
function paragraphs(text: string): HTMLElement[] {
  const spans = (part: string): (Node | string)[] => part.split("`").map((piece, place) => (place % 2 ? make("code", {}, piece) : piece));
  return text.trim().split(/\n\s*\n/).map((part) => make("p", {}, ...spans(part.replaceAll(/\s+/g, " "))));
}

/** The first metric as bars, with what was published as marks. The table below has the numbers. */
function bars(lesson: Lesson, metric: string, found: Interval[]): HTMLElement[] {
  const printed = lesson.published.filter((row) => row.metric === metric);
  const largest = Math.max(...found.map(({ mean }) => mean), ...printed.map(({ value }) => value), Number.MIN_VALUE);
  const percent = (value: number): string => `${(100 * value) / largest}%`;
  return lesson.knob.values.map((value, place) => {
    const mark = printed.find(({ at }) => at === value);
    return make("div", { class: "lesson-bar" }, make("span", {}, shown(value)), make("div", {},
      make("div", { class: "c0", style: `width: ${percent(found[place]!.mean)}` }),
      mark ? make("i", { style: `left: ${percent(mark.value)}`, title: `published: ${mark.value}` }) : null));
  });
}

function table(lesson: Lesson, runs: Runs[]): void {
  const columns: Column[] = [{ heading: lesson.knob.label, key: true }], cells = lesson.knob.values.map((value) => [shown(value)]);
  for (const { metric, label } of lesson.shows) {
    const found = runs.map((own) => mean(own, metric)), unit = runs.map((own) => own.units.get(metric)).find((it) => it !== undefined) ?? "";
    const { unit: words, by } = readable(unit, Math.max(...found.map((one) => Math.abs(one.mean) || 0)));
    const printed = lesson.published.filter((row) => row.metric === metric);
    columns.push({ heading: words ? `${label} [${words}]` : label, numeric: true });
    found.forEach((one, place) => cells[place]!.push(one.n ? spread(one.mean * by, one.half * by) : "none"));
    if (!printed.length) continue;
    columns.push({ heading: "published", numeric: true });
    lesson.knob.values.forEach((value, place) => {
      const row = printed.find(({ at }) => at === value);
      cells[place]!.push(row ? spread(row.value * by, NaN) : "");
    });
  }
  fill(the<HTMLTableElement>("lesson-table"), columns, cells);
  const n = Math.max(...runs.map((own) => own.count));
  the("lesson-basis").textContent = n > 1 ? `Means of ${n} seeds ± half of the 95 % interval by Student's t.` : "No random number is drawn: each number is exact for this model.";
}
