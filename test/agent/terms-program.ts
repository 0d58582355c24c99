/** Takes steps of a turn in a workspace, one a line, and writes a report of each: see `terms.property.test.ts`. */
import { pid, platform, stdin, stdout } from "node:process";
import { createInterface } from "node:readline";
import { openWorkspace } from "../../src/stores/index.ts";
import { systemClock as clock } from "../../src/util/index.ts";
import { type Said, type TermsKind, termsProcess, type TermsWorld } from "./terms-process.ts";

interface Line {
  readonly type: "start" | "say" | "resume";
  readonly kind: TermsKind;
  readonly root: string;
  readonly world: TermsWorld;
  readonly said: Said;
}

for await (const line of createInterface({ input: stdin })) {
  const { type, kind, root, world, said } = JSON.parse(line) as Line; // Written by the test.
  const environment = { variables: { JP_USER_DATA_DIR: `${root}/data` }, home: root, platform };
  const { conversations: store } = openWorkspace({ from: root, environment, clock, pid });
  const steps = termsProcess(kind, { store, clock });
  const report =
    type === "start"
      ? await steps.start(world)
      : type === "say"
        ? await steps.say(world, said)
        : await steps.resume(world);
  stdout.write(`${JSON.stringify(report)}\n`);
}
