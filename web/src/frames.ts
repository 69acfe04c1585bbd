// Work that is done with the next frame, each kind once, however often it was asked for.

const due = new Map<string, () => void>(), done = new Set<string>();

/** Done at once, unless it was done since the last frame: then with the next. What is drawn at once is shown with the next frame, too, and the
 * drawing does not keep that frame waiting. */
export function atOnce(kind: string, task: () => void): void {
  if (done.has(kind)) return soon(kind, task);
  done.add(kind);
  soon(`after ${kind}`, () => done.delete(kind));
  task();
}

export function soon(kind: string, task: () => void): void {
  if (!due.size) requestAnimationFrame(frame);
  // In the order in which they were asked for last.
  due.delete(kind);
  due.set(kind, task);
}

function frame(): void {
  const tasks = [...due.values()];
  due.clear();
  for (const task of tasks) task();
}
