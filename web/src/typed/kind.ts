// What the kinds of typed lists have in common: what a form asks for, and what is drawn of the answer.

import type { Question } from "../engine";
import type { Entry } from "./entry";
import type { Catalog, Parameter } from "../types";

export type Asks = <T>(question: Question) => Promise<T>;

/** What the engine answered, ready to be drawn in any width and theme. */
export interface Drawing {
  /** What the figure shows, for those who do not see it, too. */
  words: string;
  figure: (canvas: HTMLCanvasElement) => void;
  legend: HTMLElement[];
  table: (table: HTMLTableElement) => void;
  more: { summary: string; table: (table: HTMLTableElement) => void } | null;
  /** The experiment that was run, with the fields that are set. */
  experiment?: { text: string; set: Record<string, string> };
}

export interface Kind {
  family: "caches" | "elevators" | "schedulers";
  title: string;
  label: string;
  /** What a policy is called here. */
  choice: string;
  /** The numbers of an entry and their labels. */
  numbers: Record<string, string>;
  /** The parameter of a policy that the form offers; null if none. */
  parameter: (parameters: Parameter[]) => Parameter | null;
  ask: (asks: Asks, entry: Entry) => Promise<Drawing>;
}

/** A choice taken apart: NAME:PARAMETER=VALUE. */
export function parts(choice: string): { name: string; settings: [name: string, value: string][] } {
  const [name, ...rest] = choice.split(":");
  return { name: name!, settings: rest.map((one) => [one.split("=")[0]!.trim(), one.split("=").slice(1).join("=").trim()]) };
}

/** The parameter that the form offers for a policy. */
export function parameterOf(kind: Kind, catalog: Catalog, name: string): Parameter | null {
  return kind.parameter(catalog[kind.family].find((one) => one.name === name)?.parameters ?? []);
}
