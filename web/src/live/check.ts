// Stored numbers held to those that this page computes, when a report is opened: of each simulated cell the first seed, then the second,
// and so on, as far as time and number allow. A hand on a slider comes first.

import { words } from "./point";
import { Dropped, Refused, type Session } from "../session";
import { fields } from "../setting";
import { check, type Checked } from "../stored";
import type { Outline, Picture, Row, Scenario, Stored, StoredCell } from "../types";

/** Most runs, and about how long all of them may take, ms. */
const MOST_RUNS = 200, LONGEST = 8000;
/** Differing numbers that are listed. */
const LISTED = 20;

export interface Outcome extends Checked {
  /** Runs that were made again, and stored runs of simulated cells. */
  runs: number;
  of: number;
  /** What the engine refused. */
  refused: string[];
  took: number;
}

interface Cell {
  stored: StoredCell;
  place: number;
  seeds: number[];
  scenario: Scenario | null;
}

/** Something else that is asked of the session; the check waits for it. */
export type Hand = { readonly atWork: Promise<void> | null };

export class Check {
  private readonly outcome: Outcome = { compared: 0, differing: [], runs: 0, of: 0, refused: [], took: 0 };
  private readonly cells: Cell[];
  private isOver = false;

  constructor(private readonly session: Session, private readonly text: string, private readonly label: string, stored: Stored, private readonly outline: Outline, private readonly hand: Hand) {
    this.cells = stored.cells.map((cell) => ({ stored: cell, place: placeOf(outline, cell), seeds: seedsOf(cell), scenario: null }));
    this.outcome.of = this.cells.reduce((sum, { stored: cell }) => sum + Math.max(0, ...Object.values(cell.metrics).map(({ n }) => n)), 0);
  }

  /** Does it; `said` hears of every run. */
  async made(said: (outcome: Outcome) => void): Promise<Outcome> {
    const { outcome } = this, began = performance.now();
    const timer = window.setTimeout(() => this.end(), LONGEST);
    for (const [cell, seed] of this.order()) {
      if (this.isOver || outcome.runs >= MOST_RUNS) break;
      await this.one(cell, seed);
      outcome.took = performance.now() - began;
      said(outcome);
    }
    window.clearTimeout(timer);
    return outcome;
  }

  private *order(): Iterable<[Cell, number]> {
    const most = Math.max(0, ...this.cells.map(({ seeds }) => seeds.length));
    for (let round = 0; round < most; round++) for (const cell of this.cells) if (round < cell.seeds.length) yield [cell, cell.seeds[round]!];
  }

  /** The time is over: a run at work is ended, unless a hand waits for its own. */
  private end(): void {
    this.isOver = true;
    if (!this.hand.atWork) this.session.turn();
  }

  private async one(cell: Cell, seed: number): Promise<void> {
    const { outcome } = this, where = words(cell.stored.factors);
    try {
      const { compared, differing } = check(cell.stored, seed, await this.rows(cell, seed));
      outcome.runs += 1;
      outcome.compared += compared;
      outcome.differing.push(...differing.map((line) => (where ? `${where}: ${line}` : line)));
    } catch (why) {
      if (why instanceof Dropped) return;
      if (!(why instanceof Refused)) throw why;
      cell.seeds = [];
      outcome.refused.push(`${where || "the experiment"}: ${why.message}`);
    }
  }

  private async rows(cell: Cell, seed: number): Promise<Row[]> {
    if (cell.place < 0) throw new Refused({ message: "the experiment has no such cell any more" });
    if (cell.scenario) return this.asked<Row[]>({ do: "run", scenario: cell.scenario, seed });
    const sets = [fields({ cell: cell.place, set: new Map() }, this.outline)];
    const [picture] = await this.asked<Picture[]>({ do: "pictures", text: this.text, label: this.label, sets, seed, spans: 0 });
    cell.scenario = picture!.scenario;
    return picture!.run.rows;
  }

  private async asked<T>(question: Parameters<Session["ask"]>[0]): Promise<T> {
    for (;;) {
      while (this.hand.atWork) await this.hand.atWork;
      if (this.isOver) throw new Dropped();
      try {
        return await this.session.ask<T>(question, this.session.newest);
      } catch (why) {
        // A hand has begun a turn: what it asks comes first.
        if (!(why instanceof Dropped)) throw why;
      }
    }
  }
}

function placeOf({ cells }: Outline, { factors }: StoredCell): number {
  const own = Object.entries(factors);
  return cells.findIndex((cell) => Object.keys(cell).length === own.length && own.every(([path, value]) => cell[path] === value));
}

/** The seeds whose values are in the page. */
function seedsOf({ alike, metrics }: StoredCell): number[] {
  const known = Object.values(metrics).map(({ seeds }) => seeds).reduce((most, seeds) => (seeds.length > most.length ? seeds : most), []);
  return alike ? known.slice(0, 1) : known;
}

/** The outcome in words. `other` says why numbers may differ. */
export function said({ compared, differing, runs, of, refused, took }: Outcome, other: string): { line: string; list: string[]; isWrong: boolean } {
  const again = `${runs} of ${of} stored run${of === 1 ? " was" : "s were"} made again in this page, in ${(took / 1000).toFixed(1)} s.`;
  const isWrong = differing.length > 0 || refused.length > 0;
  const same = compared ? `${compared - differing.length} of ${compared} stored numbers come out the same, to the last bit` : runs || refused.length ? "No stored number was compared" : "No stored number was compared, since no run was finished in the time of the check";
  const wrong = [differing.length ? `${differing.length} differ` : "", refused.length ? `${refused.length} cell${refused.length === 1 ? "" : "s"} cannot be run` : ""].filter(Boolean);
  const line = isWrong ? `${same}; ${wrong.join(" and ")}. ${other} ${again}` : `${same}: ${again}`;
  const list = [...differing, ...refused], more = list.length - LISTED;
  return { line, list: more > 0 ? [...list.slice(0, LISTED), `and ${more} more`] : list, isWrong };
}
