// A reference string: faults by number of frames, and what is in the frames after each request.

import { fill, type Column } from "../dom";
import { counted } from "../units";
import type { Entry } from "./entry";
import { legend, lines } from "./plot";
import type { Asks, Drawing, Kind } from "./kind";
import type { References } from "../types";

export const REFERENCES: Kind = {
  family: "caches",
  title: "Your own reference string",
  label: "requests, with blanks or commas between them",
  choice: "policy",
  numbers: { frames: "frames to be listed" },
  parameter: () => null,
  ask: async (asks: Asks, { text, choices, numbers }: Entry): Promise<Drawing> => {
    const found = await asks<References>({ do: "references", text, policies: choices.join(","), frames: numbers["frames"] ?? 0 });
    return drawing(found, numbers["frames"] ?? 0);
  },
};

function drawing(found: References, frames: number): Drawing {
  const { policies } = found, place = found.frames.indexOf(frames);
  return {
    words: policies.map((one) => words(found, one, place)).join(" "),
    figure: (canvas) => lines(canvas, policies.map(({ policy, faults }) => ({ name: policy, points: faults.map((count, at): [number, number] => [at + 1, count]) })), 1, "frames", "faults"),
    legend: legend(policies.map(({ policy }) => policy), true),
    table: (table) => fill(table, [{ heading: "frames", key: true }, ...policies.map(({ policy }) => ({ heading: `faults, ${policy}`, numeric: true }))],
      found.frames.map((count, at) => [String(count), ...policies.map(({ faults }) => String(faults[at]))])),
    more: policies[0]?.steps ? { summary: `Request by request, with ${counted(frames, "frame")}`, table: (table) => steps(table, found) } : null,
  };
}

/** What came of a policy. With fewer frames than there are objects, nothing is said of the sizes that were not examined. */
function words({ objects, requests, frames }: References, { policy, faults, rises }: References["policies"][0], place: number): string {
  const at = place < 0 ? `${policy}:` : `${policy} faults ${counted(faults[place]!, "time")} in ${counted(requests.length, "request")} with ${counted(place + 1, "frame")};`;
  const bound = frames.length < objects.length ? ` with up to ${counted(frames.length, "frame")},` : "";
  return `${at}${bound} ${rises.length ? `one frame more has more faults than ${rises.join(", ")} (Belady's anomaly)` : "more frames never have more faults"}.`;
}

function steps(table: HTMLTableElement, { objects, requests, policies }: References): void {
  const columns: Column[] = [{ heading: "n", numeric: true }, { heading: "request", key: true }];
  for (const { policy } of policies) columns.push({ heading: `frames, ${policy}` }, { heading: `fault, ${policy}` });
  const row = (key: number, at: number): string[] => {
    const held = policies.flatMap((one) => {
      const { fault, frames } = one.steps![at]!;
      return [frames.map((held) => (held === null ? "-" : objects[held])).join("  "), fault ? "fault" : ""];
    });
    return [String(at + 1), objects[key]!, ...held];
  };
  fill(table, columns, requests.map(row));
}
