// The page begins here: it looks whether this browser has what is needed, and starts the engine, the lab and a lesson.

import * as address from "../address";
import { the } from "../dom";
import { Lab } from "./lab";
import { Course } from "./lesson";
import { lacking } from "../needed";
import { Served } from "./served";
import { Session } from "../session";
import { interval } from "../student";
import type { Given } from "../types";

async function main(): Promise<void> {
  const missing = lacking();
  if (missing) throw new Error(`this browser has no ${missing}, which the simulator needs; a newer browser has it`);
  const given = JSON.parse(the("given").textContent!) as Given, packed = the("engine").textContent!.trim();
  the("engine").remove();
  const begin = (): Promise<Session> => Session.begin(the("worker").textContent!, packed), { hash } = location;
  const lab = await Lab.begin(await begin(), given);
  if (given.lessons.length) new Course(given.lessons, hash, lab.addressed, begin, lab);
  if (given.served) new Served(lab, given.served.places);
  // For scripts that hold the page to its numbers.
  Object.assign(window, { lab, address, interval });
}

main().catch((why: unknown) => {
  the("state").textContent = "";
  the("fault").hidden = false;
  the("fault").textContent = `The lab cannot run here: ${why instanceof Error ? why.message : String(why)}.`;
});
