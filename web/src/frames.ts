// Work that is done with the next frame, each kind once, however often it was asked for.

const due = new Map<string, () => void>();

export function soon(kind: string, task: () => void): void {
  if (!due.size) requestAnimationFrame(frame);
  due.set(kind, task);
}

function frame(): void {
  const tasks = [...due.values()];
  due.clear();
  for (const task of tasks) task();
}
