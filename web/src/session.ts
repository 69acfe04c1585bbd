// The page's side of the workers: puts questions to them; those of a newer turn replace those of older ones.
//
// A turn is what one setting asks. When a newer one comes, questions of older turns that still wait are dropped. One at work may
// finish, meanwhile a second worker, if there is one, takes what is newer, and an older answer never comes after a newer one. What is still
// at work for an older turn after PATIENCE is ended with its worker, and a new one starts from the compiled module. Each end in a
// row doubles the patience: while a slider is dragged over an experiment that takes long, some pictures still come.

import { unpacked, type Packed } from "./answers";
import type { Answer, Question } from "./engine";
import type { Fault } from "./types";

/** How long a question of an older turn may stay at work, ms. */
const PATIENCE = 50;
/** Most workers: a second one only where it has a processor of its own, next to the page and the first. Where two shared one, pictures came later. */
const WORKERS = navigator.hardwareConcurrency > 2 ? 2 : 1;

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

/** A worker, and what it is at work on. */
class Slot {
  worker: Worker;
  asked: Asked | null = null;
  timer = 0;

  constructor(private readonly hired: (slot: Slot) => Worker) {
    this.worker = hired(this);
  }

  begin(asked: Asked): void {
    this.asked = asked;
    this.worker.postMessage({ id: asked.id, question: asked.question });
  }

  rest(): void {
    this.asked = null;
    window.clearTimeout(this.timer);
    this.timer = 0;
  }

  /** Ends the worker, which might never end by itself. */
  end(): void {
    this.worker.terminate();
    this.rest();
  }

  /** Another worker in place of one that was ended. */
  hire(): void {
    this.worker = this.hired(this);
  }
}

export class Session {
  /** How often a worker was ended, for those who look after the page. */
  ended = 0;
  private readonly slots: Slot[];
  private module: WebAssembly.Module | null = null;
  private waiting: Asked[] = [];
  private turns = 0;
  /** The newest turn that has an answer. */
  private answered = 0;
  private ids = 0;
  private inRow = 0;

  private constructor(private readonly address: string) {
    this.slots = [this.another()];
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
    return !this.waiting.length && this.slots.every(({ asked }) => !asked);
  }

  /** Begins a turn: what older ones still wait for is dropped. */
  turn(): number {
    this.turns += 1;
    for (const asked of this.waiting.splice(0)) asked.failed(new Dropped());
    for (const slot of this.slots) {
      if (slot.asked && !slot.timer && this.module) slot.timer = window.setTimeout(() => this.lose(slot), PATIENCE * 2 ** this.inRow);
    }
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

  private another(): Slot {
    return new Slot((slot) => {
      const worker = new Worker(this.address);
      worker.onmessage = (event: MessageEvent<Answer>) => this.take(slot, event.data);
      worker.onerror = (event) => this.restart(slot, new Error(event.message || "the worker could not be started"));
      return worker;
    });
  }

  private next(): void {
    if (!this.waiting.length) return;
    const free = this.slots.find(({ asked }) => !asked);
    if (free) free.begin(this.waiting.shift()!);
    else if (this.module && this.slots.length < WORKERS && this.slots.every(({ asked }) => asked!.turn < this.turns)) {
      const slot = this.another();
      this.slots.push(slot);
      this.start(slot, this.module);
    }
  }

  private start(slot: Slot, module: WebAssembly.Module): void {
    slot.begin({ id: ++this.ids, turn: this.turns, question: { do: "start", module }, done: () => {}, failed: () => {} });
  }

  private take(slot: Slot, answer: Answer): void {
    const { asked } = slot;
    if (!asked || asked.id !== answer.id) return;
    // A trap of the module leaves its memory as it was at that moment: it is not asked again.
    if ("broken" in answer) return this.restart(slot, new Error(answer.broken));
    slot.rest();
    this.settle(asked, answer);
    this.next();
  }

  /** Nothing that waits will have an answer. */
  private give(why: Error): void {
    for (const asked of this.waiting.splice(0)) asked.failed(why);
  }

  private settle(asked: Asked, answer: Exclude<Answer, { broken: string }>): void {
    // That another worker has started is no answer to what a hand has set.
    if (asked.question.do === "start") return;
    this.inRow = 0;
    if (asked.turn < this.answered) return asked.failed(new Dropped());
    this.answered = asked.turn;
    if ("fault" in answer) asked.failed(new Refused(answer.fault));
    else asked.done(asked.question.do === "pictures" ? (answer.answer as Packed[]).map(unpacked) : answer.answer);
  }

  /** Ends a worker, since it is at work for an older turn. */
  private lose(slot: Slot): void {
    slot.timer = 0;
    if (!slot.asked || slot.asked.turn === this.turns) return;
    this.inRow += 1;
    this.restart(slot, new Dropped());
  }

  private restart(slot: Slot, why: Error): void {
    const { asked } = slot, { module } = this;
    this.ended += 1;
    slot.end();
    asked?.failed(why);
    const begins = asked?.question.do === "load" || asked?.question.do === "start";
    // Of a worker that does not even start, another one would do the same.
    if (!module || (begins && !(why instanceof Dropped))) return this.give(why);
    slot.hire();
    this.start(slot, module);
  }
}
