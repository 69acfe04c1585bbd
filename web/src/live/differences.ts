// Effects in a live report: what a computed point differs by from the base of its group.

import { make, type Column } from "../dom";
import { effects, type Computed, type Effects } from "./effects";
import { COMPUTED, STORED, type Figure } from "./figures";
import { differenceOf, named, type Point } from "./point";
import { counted, digits } from "../units";
import type { Stored } from "../types";

const BASIS = "A computed difference is the mean over pairs of runs of one seed, with the interval by Student's t. It has no verdict: these are given to all stored differences together.";

export class Differences implements Figure {
  readonly columns: Column[];

  constructor(private readonly effects: Effects, private readonly stored: Stored, private readonly seeds: number[]) {
    this.columns = [{ heading: "cell", key: true }, { heading: "pairs" }, { heading: "kind" }, { heading: `difference from ${effects.base}, %`, numeric: true }];
  }

  drawn(points: Point[]): { inner: string; height: number; label: string }[] {
    const computed = this.computed(points), label = `differences from ${this.effects.base}; with ${computed.length} computed in this page`;
    return [{ ...effects(this.effects, computed, computed.length > 0), label }];
  }

  rows(points: Point[]): string[][] {
    const cells = (mean: number, low: number | null, high: number | null): string => `${digits(mean)}${low !== null && high !== null && Number.isFinite(low) ? ` [${digits(low)}, ${digits(high)}]` : ""}`;
    const stored = this.effects.rows.map(([label, mean, low, high]) => [label, "", STORED, cells(mean, low, high)]);
    return [...stored, ...this.computed(points).map(({ label, mean, low, high, n }) => [label, counted(n, "pair"), COMPUTED, cells(mean, low, high)])];
  }

  beyond(points: Point[]): Node[] {
    const point = points[points.length - 1];
    if (!point) return [];
    const found = this.of(point), words = typeof found === "string" ? `Nothing is drawn of ${named(point)}: ${found}.` : BASIS;
    return [make("p", { class: "dim" }, words)];
  }

  private computed(points: Point[]): Computed[] {
    return points.map((point) => this.of(point)).filter((found) => typeof found !== "string");
  }

  private of(point: Point): Computed | string {
    return differenceOf(this.effects, this.stored, this.seeds, point);
  }
}
