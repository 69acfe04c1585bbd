// A set of bursts: who had the processor when, and what each task felt under one or two schedulers. It is run as an experiment.

import { fill, type Column } from "../dom";
import { toml } from "../setting";
import type { Entry } from "./entry";
import { parts, type Asks, type Drawing, type Kind } from "./kind";
import { lanes, legend, type Bar } from "./plot";
import { milliseconds } from "../units";
import type { Bursts, Picture } from "../types";

/** Most spans that are drawn of a run. */
const SPANS = 5000;
/** What a task felt: metrics and what a column calls them. */
const FELT = [["turnaround", "turnaround"], ["waiting", "waiting"], ["response", "response"]] as const;

export const BURSTS: Kind = {
  family: "schedulers",
  title: "Your own set of bursts",
  label: "a task a line: name, arrival and burst in ms; then a nice value, or priority=10 for a real-time task",
  choice: "scheduler",
  numbers: {},
  // What a textbook calls the quantum.
  parameter: (parameters) => parameters.find(({ name, domain }) => domain.kind === "duration" && /slice|quantum|rr_interval|granularity/.test(name)) ?? null,
  ask: async (asks: Asks, { text, choices }: Entry): Promise<Drawing> => {
    const found = await asks<Bursts>({ do: "bursts", text });
    const sets = choices.map((choice) => ({ scheduler: tableOf(choice) }));
    const pictures = await asks<Picture[]>({ do: "pictures", text: found.text, label: "list", sets, seed: 1, spans: SPANS });
    return { ...drawing(found, pictures, choices), experiment: { text: found.text, set: sets[0]! } };
  },
};

/** A scheduler and its parameters as TOML. */
function tableOf(choice: string): string {
  const { name, settings } = parts(choice);
  return toml({ name, ...Object.fromEntries(settings) });
}

function drawing({ tasks }: Bursts, pictures: Picture[], choices: string[]): Drawing {
  const names = tasks.map(({ name }) => name);
  const means = pictures.map(({ run }, place) => `${choices[place]}: ${FELT.map(([metric, label]) => `mean ${label} ${cell(run.rows, `${metric}.mean`)} ms`).join(", ")}.`);
  const left = pictures.some(({ run }) => run.left_out > 0) ? ` Only the first ${SPANS} spans are drawn.` : "";
  const warnings = [...new Set(pictures.flatMap(({ run }) => run.warnings))].map((text) => ` ${text}.`);
  return {
    words: `${means.join(" ")}${left}${warnings.join("")}`,
    figure: (canvas) => lanes(canvas, pictures.map(({ run }, place) => ({ name: `${choices[place]} [ms]`, bars: bars(run, tasks) }))),
    legend: legend(names, false),
    table: (table) => felt(table, tasks, pictures, choices),
    more: { summary: "The chart as a table", table: (table) => spans(table, pictures, tasks, choices) },
  };
}

/** A metric of a run in ms; "-" if it has none. */
function cell(rows: Picture["run"]["rows"], metric: string): string {
  const row = rows.find(([name]) => name === metric);
  return row ? milliseconds(row[1] * 1e9) : "-";
}

/** Spans of one task that follow each other are one bar. */
function bars({ spans, tasks }: Picture["run"], listed: Bursts["tasks"]): Bar[] {
  const found: Bar[] = [];
  spans.begin.forEach((from, k) => {
    const { job } = tasks[spans.task[k]!]!, place = listed.findIndex((one) => one.job === job), name = listed[place]?.name ?? "kernel";
    const before = found[found.length - 1], to = spans.end[k]! / 1e6;
    if (before && before.name === name && before.to === from / 1e6) before.to = to;
    else found.push({ name, place: Math.max(0, place), from: from / 1e6, to });
  });
  return found;
}

function felt(table: HTMLTableElement, tasks: Bursts["tasks"], pictures: Picture[], choices: string[]): void {
  const columns: Column[] = [{ heading: "task", key: true }, { heading: "arrives [ms]", numeric: true }, { heading: "computes [ms]", numeric: true }];
  for (const name of choices) columns.push(...FELT.map(([, label]) => ({ heading: `${label} [ms], ${name}`, numeric: true })));
  const of = (prefix: string): string[] => pictures.flatMap(({ run }) => FELT.map(([metric]) => cell(run.rows, `${prefix}${metric}.mean`)));
  const rows = tasks.map(({ name, job, arrives, computes }) => [name, milliseconds(arrives), milliseconds(computes), ...of(`tasks.${job}.`)]);
  // A name of a task has no blank.
  fill(table, columns, [...rows, ["mean of all", "", "", ...of("")]]);
}

function spans(table: HTMLTableElement, pictures: Picture[], tasks: Bursts["tasks"], choices: string[]): void {
  const columns: Column[] = [{ heading: "scheduler", key: true }, { heading: "task" }, { heading: "from [ms]", numeric: true }, { heading: "to [ms]", numeric: true }];
  fill(table, columns, pictures.flatMap(({ run }, place) => bars(run, tasks).map(({ name, from, to }) => [choices[place]!, name, milliseconds(from * 1e6), milliseconds(to * 1e6)])));
}
