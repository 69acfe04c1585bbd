// A list of cylinders: where the heads are over time, and how long each request takes under one or two elevators.

import { fill, type Column } from "../dom";
import type { Entry } from "./entry";
import { parts, type Asks, type Drawing, type Kind } from "./kind";
import { legend, lines } from "./plot";
import { counted, digits, milliseconds as ms } from "../units";
import type { Cylinders } from "../types";

/** A time in words: one of the surface only is in ns. */
const spelled = (ns: number): string => (ns < 1000 ? `${digits(ns)} ns` : `${ms(ns)} ms`);

export const CYLINDERS: Kind = {
  family: "elevators",
  title: "Your own list of cylinders",
  label: "cylinders, each with @ and the time at which it arrives if that is not 0: 98 183@20ms",
  choice: "elevator",
  numbers: { head: "heads at", cylinders: "cylinders" },
  parameter: (parameters) => parameters.find(({ name }) => name === "towards") ?? null,
  ask: async (asks: Asks, { text, choices, numbers }: Entry): Promise<Drawing> => {
    const elevators = choices.map((choice) => ({ name: parts(choice).name, ...Object.fromEntries(parts(choice).settings) }));
    const head = numbers["head"] ?? 0;
    return drawing(await asks<Cylinders>({ do: "cylinders", text, head, cylinders: numbers["cylinders"] ?? 0, elevators }), head, choices);
  },
};

function drawing(found: Cylinders, head: number, choices: string[]): Drawing {
  const named = found.elevators.map((one, place) => ({ ...one, name: choices[place]! }));
  return {
    words: named.map(words).join(" "),
    figure: (canvas) => lines(canvas, named.map(({ name, rows }) => ({ name, points: way(found, head, rows) })), 0, "time [ms]", "cylinder"),
    legend: legend(choices, true),
    table: (table) => requests(table, found, choices),
    more: { summary: "In the order of service", table: (table) => order(table, found, choices) },
  };
}

type Served = Cylinders["elevators"][0];

function words({ name, travel, to_the_ends, mean_response, longest_response }: Served & { name: string }): string {
  const ends = to_the_ends === null ? "" : ` (${to_the_ends} if they turn at the ends of the drive only, as in the original)`;
  return `${name}: the heads move over ${counted(travel, "cylinder")}${ends}; a request is served ${spelled(mean_response)} after it arrived on average, ${spelled(longest_response)} at most.`;
}

/** Where the heads are: a stay until the drive takes a request, and the way to its cylinder. */
function way({ requests }: Cylinders, head: number, rows: Served["rows"]): [number, number][] {
  const points: [number, number][] = [[0, head]];
  for (const { request, began, ended } of rows) {
    const { cylinder } = requests[request]!, before = points[points.length - 1]!;
    if (began / 1e6 > before[0]) points.push([began / 1e6, before[1]]);
    points.push([ended / 1e6, cylinder]);
  }
  return points;
}

function requests(table: HTMLTableElement, { requests: all, elevators }: Cylinders, choices: string[]): void {
  const columns: Column[] = [{ heading: "cylinder", key: true }, { heading: "arrives [ms]", numeric: true }];
  for (const name of choices) columns.push({ heading: `order, ${name}`, numeric: true }, { heading: `wait [ms], ${name}`, numeric: true }, { heading: `response [ms], ${name}`, numeric: true });
  const served = elevators.map(({ rows }) => new Map(rows.map((row, place) => [row.request, [String(place + 1), ms(row.wait), ms(row.response)]])));
  fill(table, columns, all.map(({ cylinder, arrives }, request) => [String(cylinder), ms(arrives), ...served.flatMap((of) => of.get(request)!)]));
}

function order(table: HTMLTableElement, { requests: all, elevators }: Cylinders, choices: string[]): void {
  const columns: Column[] = [{ heading: "elevator", key: true }, ...["order", "cylinder", "seek [cylinders]", "begins [ms]", "ends [ms]"].map((heading) => ({ heading, numeric: true }))];
  fill(table, columns, elevators.flatMap(({ rows }, of) => rows.map((row, place) =>
    [choices[of]!, String(place + 1), String(all[row.request]!.cylinder), String(row.seek), ms(row.began), ms(row.ended)])));
}
