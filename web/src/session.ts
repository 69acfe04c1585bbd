// The page's side of the worker: puts questions to it one after the other; those of a newer turn replace those of older ones.
//
// A turn is what one setting asks. When a newer one comes, questions of older turns that still wait are dropped. The one at work may
// finish, but if it is still at work after PATIENCE the worker is ended, and a new one starts from the compiled module. Each
// end in a row doubles the patience: while a slider is dragged over an experiment that takes long, some pictures still come.

import type { Answer, Question } from "./engine";
import type { Fault } from "./types";

/** How long a question of an older turn may hold up a newer one, ms. */
const PATIENCE = 50;

/** A question that was not answered, since a newer setting replaced it. */
export class Dropped extends Error {}

/** What the engine refuses, with its message. */
export class Refused extends Error {
  constructor(readonly fault: Fault) {
    super(fault.message);
  }
}

interface Asked {
  id: number;
  turn: number;
  question: Question;
  done(answer: unknown): void;
  failed(why: Error): void;
}

export class Session {
  /** How often a worker was ended, for those who look after the page. */
  ended = 0;
  private worker: Worker;
  private module: WebAssembly.Module | null = null;
  private waiting: Asked[] = [];
  private atWork: Asked | null = null;
  private turns = 0;
  private ids = 0;
  private inRow = 0;
  private timer = 0;

  private constructor(private readonly address: string) {
    this.worker = this.hired();
  }

  /** A session whose worker has compiled the module. */
  static async begin(program: string, packed: string): Promise<Session> {
    const address = URL.createObjectURL(new Blob([program], { type: "text/javascript" }));
    const session = new Session(address);
    session.module = await session.ask<WebAssembly.Module>({ do: "load", packed }, session.turn());
    return session;
  }

  /** The number of the turn that began last. */
  get newest(): number {
    return this.turns;
  }

  /** Whether nothing is asked. */
  get idle(): boolean {
    return !this.atWork && !this.waiting.length;
  }

  /** Begins a turn: what older ones still wait for is dropped. */
  turn(): number {
    this.turns += 1;
    for (const asked of this.waiting.splice(0)) asked.failed(new Dropped());
    if (this.atWork && !this.timer && this.module) this.timer = window.setTimeout(() => this.lose(), PATIENCE * 2 ** this.inRow);
    return this.turns;
  }

  /** Puts a question. Rejects with `Dropped` if a newer turn has begun, `Refused` if the engine refuses it. */
  ask<T>(question: Question, turn: number): Promise<T> {
    if (turn !== this.turns) return Promise.reject(new Dropped());
    return new Promise<T>((done, failed) => {
      this.waiting.push({ id: ++this.ids, turn, question, done: done as (answer: unknown) => void, failed });
      this.next();
    });
  }

  private hired(): Worker {
    const worker = new Worker(this.address);
    worker.onmessage = (event: MessageEvent<Answer>) => this.take(event.data);
    worker.onerror = (event) => this.restart(new Error(event.message || "the worker could not be started"));
    return worker;
  }

  private next(): void {
    if (this.atWork) return;
    const asked = this.waiting.shift();
    if (!asked) return;
    this.atWork = asked;
    this.worker.postMessage({ id: asked.id, question: asked.question });
  }

  private take(answer: Answer): void {
    const asked = this.atWork;
    if (!asked || asked.id !== answer.id) return;
    // A trap of the module leaves its memory as it was at that moment: it is not asked again.
    if ("broken" in answer) return this.restart(new Error(answer.broken));
    this.rest();
    // That another worker has started is no answer to what a hand has set.
    if (asked.question.do !== "start") this.inRow = 0;
    if ("fault" in answer) asked.failed(new Refused(answer.fault));
    else asked.done(answer.answer);
    this.next();
  }

  private rest(): void {
    this.atWork = null;
    window.clearTimeout(this.timer);
    this.timer = 0;
  }

  /** Ends the worker, since it is at work for an older turn. */
  private lose(): void {
    this.timer = 0;
    if (!this.atWork || this.atWork.turn === this.turns) return;
    this.inRow += 1;
    this.restart(new Dropped());
  }

  private give(why: Error): void {
    for (const asked of this.waiting.splice(0)) asked.failed(why);
  }

  private restart(why: Error): void {
    const asked = this.atWork;
    this.worker.terminate();
    this.ended += 1;
    this.rest();
    asked?.failed(why);
    const begins = asked?.question.do === "load" || asked?.question.do === "start";
    // Of a worker that does not even start, another one would do the same.
    if (!this.module || (begins && !(why instanceof Dropped))) return this.give(why);
    this.worker = this.hired();
    const begun = { id: ++this.ids, turn: this.turns, question: { do: "start", module: this.module } as const };
    this.atWork = { ...begun, done: () => {}, failed: () => {} };
    this.worker.postMessage({ id: begun.id, question: begun.question });
  }
}
