/** The first prompt of a session, compared with `jp --version`: both on a terminal, until the text appears. */
import process from "node:process";
import { spawn } from "@lydell/node-pty";
import { against, type Bench, JP, takeTurns } from "./measure.ts";
import { ratioOf } from "./statistics.ts";
import { benchEnvironment, makeWorkspace } from "./workspace.ts";

const ROUNDS = 20;
const CTRL_D = "\u0004";
const SESSION = { prompt: "first prompt of jp" };

export const session: Bench = {
  rows: Object.values(SESSION),
  run: async (folder) => {
    makeWorkspace(folder);
    const took = await takeTurns(
      {
        version: () => timeUntil(folder, ["--version"], /jp \d/),
        prompt: () => timeUntil(folder, [], /Enter send/),
      },
      ROUNDS,
    );
    return [
      {
        name: SESSION.prompt,
        unit: "× jp --version",
        goal: { most: 2 },
        figures: { time: ratioOf(took.prompt, took.version) },
        detail: against(took.prompt, took.version),
      },
    ];
  },
};

/** Milliseconds from the program's start. */
async function timeUntil(folder: string, words: readonly string[], shown: RegExp): Promise<number> {
  const { promise, resolve } = Promise.withResolvers<number>();
  const ended = Promise.withResolvers<void>();
  const start = performance.now();
  const env = { ...benchEnvironment(folder), TERM: "xterm-256color" };
  const terminal = spawn(process.execPath, [JP, ...words], {
    cols: 80,
    rows: 24,
    cwd: folder,
    env,
  });
  let text = "";
  terminal.onData((data) => {
    text += data;
    if (!shown.test(text)) return;
    resolve(performance.now() - start);
    terminal.write(CTRL_D);
  });
  terminal.onExit(() => ended.resolve());
  await ended.promise;
  return await promise;
}
