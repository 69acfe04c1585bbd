// Which stretch of time is shown: one for all timelines, so that two runs are seen at the same moments.

/** A picture is at least so wide, ns. */
const NARROWEST = 10;

export class View {
  from = 0;
  to = 1;
  /** Length of the longest run, ns. */
  last = 1;
  private fitted = false;

  constructor(private readonly changed: () => void) {}

  /** Keeps the stretch within a run of this length, which is about to be drawn; at first it shows until `first`. */
  fit(last: number, first: number): void {
    const wasWhole = this.fitted && this.from === 0 && this.to === this.last;
    this.last = Math.max(1, last);
    if (!this.fitted) this.keep(0, first);
    else if (wasWhole) this.keep(0, this.last);
    else this.keep(this.from, this.to);
    this.fitted = true;
  }

  /** A new experiment: the next `fit` begins anew. */
  forget(): void {
    this.fitted = false;
  }

  look(from: number, to: number): void {
    this.keep(from, to);
    this.changed();
  }

  private keep(from: number, to: number): void {
    const span = Math.min(this.last, Math.max(NARROWEST, to - from)), middle = (from + to) / 2;
    this.from = Math.max(0, Math.min(this.last - span, middle - span / 2));
    this.to = this.from + span;
  }

  zoom(factor: number, at = (this.from + this.to) / 2): void {
    this.look(at - (at - this.from) * factor, at + (this.to - at) * factor);
  }

  pan(part: number): void {
    const by = part * (this.to - this.from);
    this.look(this.from + by, this.to + by);
  }

  whole(): void {
    this.look(0, this.last);
  }
}
