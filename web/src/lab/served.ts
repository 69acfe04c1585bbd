// The panel "On this computer", where the page comes from `schedlab serve`: results, recordings, and runs on the host, in guests and by the command.
//
// The state is asked for again when the server has news; it holds the answer back until then, so that a page that waits uses no processor
// while the host is measured. A page that is not seen asks for nothing. Where the server does not answer, the page goes on without it.

import { make, the } from "../dom";
import type { Lab } from "./lab";
import type { Place } from "../types";

/** Between two questions for the state, and after one that was not answered, ms. */
const SPACE = 300, AGAIN = 5000;
/** The place where real tasks run on this computer, whose plan is agreed to first. */
const HOST = "host";
const OTHER = "The setting has changed, and the plan was of the one before: Run shows the plan of this one.";
const LOST = "The server of this page does not answer any more. The page goes on without it; to run and list again, start schedlab serve and open the address that it prints.";

interface Job {
  number: number;
  name: string;
  on: string;
  state: "waiting" | "running" | "ending" | "done" | "failed" | "cancelled";
  done: number;
  total: number;
  /** The name of its results. */
  result: string | null;
  message: string;
  /** The last lines of the command. */
  said: string[];
}

interface Result {
  name: string;
  question: string;
  /** When it was run last, s since 1970. */
  when: number;
  cells: number;
  on: string[];
  /** Whether the lab can run its experiment. */
  lab: boolean;
  /** What is wrong with it; empty if nothing. */
  fault: string;
}

interface Recording {
  name: string;
  when: number;
  bytes: number;
}

interface State {
  version: number;
  jobs: Job[];
  out: string;
  results: Result[];
  more_results: number;
  traces: string | null;
  recordings: Recording[];
  more_recordings: number;
}

interface Plan {
  agreed: string;
  lines: string[];
  notes: string[];
}

/** What the server refuses, in its words. */
class Refused extends Error {}

export class Served {
  private version: number | null = null;
  /** The experiment whose plan is shown. */
  private planned: { query: Record<string, string>; text: string } | null = null;
  /** Counts changes of the setting: a plan is of one setting. */
  private changes = 0;
  /** The states that jobs had, by number, so that a change is said once. */
  private states = new Map<number, string>();

  constructor(private readonly lab: Lab, private readonly places: Place[]) {
    const list = the<HTMLSelectElement>("served-on");
    list.append(...places.map(({ on, title }) => make("option", { value: on }, title)));
    list.onchange = () => this.choose();
    this.choose();
    the("served-run").onclick = () => void this.run();
    the("served-agree").onclick = () => void this.agree();
    the("served-leave").onclick = () => this.leave();
    lab.onChange = () => this.changed();
    // The lab takes what is typed when the hand rests.
    the("text").addEventListener("input", lab.onChange);
    document.addEventListener("visibilitychange", () => this.listen());
    this.listen();
  }

  private get place(): Place {
    const { value } = the<HTMLSelectElement>("served-on");
    return this.places.find(({ on }) => on === value) ?? this.places[0]!;
  }

  private choose(): void {
    this.leave();
    the("served-about").textContent = this.place.about;
  }

  private changed(): void {
    this.changes++;
    if (this.planned) say(OTHER);
    this.leave();
  }

  // Running.

  /** Runs the experiment as it is on the page; on this computer after its plan was agreed to. */
  private async run(): Promise<void> {
    const { on } = this.place;
    this.leave();
    await this.trying(async () => {
      if (!(await this.lab.resolved())) throw new Refused("This setting cannot be run; the message at the top of the page says why.");
      const query = { name: this.lab.label, on }, text = this.lab.asFile(), { changes } = this;
      if (on !== HOST) return this.begin(query, text);
      say("The plan is being made.");
      const plan = await post<Plan>("plan", query, text);
      say(changes === this.changes ? "" : OTHER);
      if (changes !== this.changes) return;
      this.planned = { query: { ...query, agreed: plan.agreed }, text };
      the("served-lines").textContent = plan.lines.join("\n");
      the("served-notes").replaceChildren(...plan.notes.map((note) => make("p", { class: "warning" }, note)));
      the<HTMLInputElement>("served-dirty").checked = false;
      the("served-plan").hidden = false;
      the("served-plan").focus();
    });
  }

  private async agree(): Promise<void> {
    const { planned } = this;
    if (!planned) return;
    const dirty: Record<string, string> = the<HTMLInputElement>("served-dirty").checked ? { dirty: "1" } : {};
    this.leave();
    await this.trying(() => this.begin({ ...planned.query, ...dirty }, planned.text));
  }

  private leave(): void {
    this.planned = null;
    the("served-plan").hidden = true;
  }

  private async begin(query: Record<string, string>, text: string): Promise<void> {
    await post<Job>("jobs", query, text);
    say("");
  }

  private async cancel(number: number): Promise<void> {
    await this.trying(() => post(`jobs/${number}/cancel`, {}, ""));
  }

  /** Does what may fail, and says so. */
  private async trying(work: () => Promise<unknown>): Promise<void> {
    the<HTMLButtonElement>("served-run").disabled = true;
    try {
      await work();
    } catch (why) {
      if (why instanceof Refused) say(why.message);
      else lost(LOST);
    }
    the<HTMLButtonElement>("served-run").disabled = false;
  }

  // Listening.

  private listening = false;

  /** Asks for the state again and again, as long as the page is seen. */
  private async listen(): Promise<void> {
    if (this.listening) return;
    this.listening = true;
    while (!document.hidden) {
      let rest = SPACE;
      try {
        const state = await ask<State>(`/api/state${this.version === null ? "" : `?after=${this.version}`}`);
        this.version = state.version;
        lost("");
        this.show(state);
      } catch (why) {
        lost(why instanceof Refused ? `The server of this page refuses it: ${why.message}` : LOST);
        // A server that was started again counts anew.
        this.version = null;
        rest = AGAIN;
      }
      await new Promise((rested) => window.setTimeout(rested, rest));
    }
    this.listening = false;
  }

  private show(state: State): void {
    this.announce(state.jobs);
    fill("served-jobs", ["run", "on", "state", ""], state.jobs.map((job) => this.job(job)));
    the("served-out").textContent = `In ${state.out}.${left(state.more_results)}${state.results.length ? "" : " There are none yet."}`;
    fill("served-results", ["name", "question", "run last", "cells", "on", "open"], state.results.map(result));
    the("served-traces-part").hidden = state.traces === null;
    the("served-folder").textContent = `Files in ${state.traces}.${left(state.more_recordings)}${state.recordings.length ? "" : " There are none."}`;
    fill("served-traces", ["recording", "written", "size"], state.recordings.map(recording));
  }

  private job(job: Job): Child[] {
    const open = job.state === "waiting" || job.state === "running";
    const about = `run ${job.number} of ${job.name} on ${job.on}`;
    const cancel = open && make("button", { type: "button", "aria-label": `cancel ${about}`, click: () => void this.cancel(job.number) }, "Cancel");
    return [`${job.number}: ${job.name}`, job.on, state(job, about), job.result === null ? cancel || "" : links(job.result, true)];
  }

  /** Says for a reader of the screen what has become of a job. */
  private announce(jobs: Job[]): void {
    for (const { number, name, on, state, message } of jobs) {
      const before = this.states.get(number);
      if (before !== undefined && before !== state) say(`Run ${number} of ${name} on ${on}: ${state}${message ? `, ${message}` : ""}.`);
      this.states.set(number, state);
    }
  }
}

// Rows of the tables.

type Child = Node | string;

/** Fills a table whose cells may be elements; as long as nothing changes, what has the focus keeps it. */
function fill(id: string, headings: string[], rows: Child[][]): void {
  const body = rows.map((row) => make("tr", {}, ...row.map((child, place) => make("td", { class: place ? "" : "k", "data-h": headings[place]! }, child))));
  const made = [make("thead", {}, make("tr", {}, ...headings.map((heading) => make("th", { scope: "col" }, heading)))), make("tbody", {}, ...body)];
  const table = the(id), before = document.activeElement, label = before?.getAttribute("aria-label");
  const holder = make("table", {}, ...(rows.length ? made : []));
  if (holder.innerHTML === table.innerHTML) return;
  const held = table.contains(before);
  table.replaceChildren(...holder.children);
  if (held) [...table.querySelectorAll<HTMLElement>("a, button")].find((one) => one.getAttribute("aria-label") === label)?.focus();
}

function state({ state, done, total, message, said }: Job, about: string): Child {
  const counted = total ? `${done} of ${total} runs` : "";
  const bar = state === "running" && total > 0 && make("progress", { max: total, value: done, "aria-label": about });
  const words = message || (state === "running" || state === "ending" ? said.at(-1) : "") || "";
  return make("span", {}, [state, counted].filter(Boolean).join(", "), bar && " ", bar, words && make("span", { class: "dim" }, ` ${words}`));
}

function result({ name, question, when, cells, on, lab, fault }: Result): Child[] {
  return [name, fault || question, time(when), fault ? "" : String(cells), on.join(", "), fault ? "" : links(name, lab)];
}

/** The pages of results, each in a place of its own: this page keeps its setting. */
function links(name: string, lab: boolean): Child {
  const link = (kind: string, words: string): HTMLElement => make("a", { href: `/${kind}/${encodeURIComponent(name)}`, target: "_blank", "aria-label": `${words} of ${name}` }, words);
  return make("span", {}, link("reports", "report"), lab && " ", lab && link("results", "lab"));
}

function recording({ name, when, bytes }: Recording): Child[] {
  return [make("a", { href: `/traces/${encodeURIComponent(name)}`, target: "_blank", "aria-label": `page of ${name}` }, name), time(when), size(bytes)];
}

const time = (seconds: number): string => new Date(seconds * 1000).toLocaleString();
const size = (bytes: number): string => (bytes < 1e6 ? `${Math.ceil(bytes / 1e3)} kB` : `${(bytes / 1e6).toFixed(1)} MB`);
const left = (more: number): string => (more ? ` ${more} older ones are not listed.` : "");

// Questions to the server.

async function ask<T>(address: string, more: RequestInit = {}): Promise<T> {
  const answer = await fetch(address, more);
  if (!answer.ok) throw new Refused((await answer.text()).trim());
  return (await answer.json()) as T;
}

function post<T>(what: string, query: Record<string, string>, text: string): Promise<T> {
  const words = new URLSearchParams(query).toString();
  return ask<T>(`/api/${what}${words && `?${words}`}`, { method: "POST", headers: { "Content-Type": "application/toml" }, body: text });
}

function say(words: string): void {
  the("served-said").textContent = words;
}

/** Says that the server is lost; nothing: it answers. */
function lost(words: string): void {
  if (the("served-lost").textContent !== words) the("served-lost").textContent = words;
  the("served-lost").hidden = !words;
}
