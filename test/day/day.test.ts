/**
 * A working day on a real terminal. Each step's keys, and the screen after it, are in the recordings beside this file.
 * To record anew: `node scripts/bootstrap.mjs --build vitest run -u --project long test/day`. Then read the difference.
 */
import { expect, test } from "vitest";
import { PseudoTerminal } from "../support/pseudo-terminal.ts";
import { DRAWN, PLAIN, type Step } from "./steps.ts";
import { createWorkplace, startModel } from "./workplace.ts";

const ROWS = 24;
/** Only so that a step that never ends says which one it is. */
const STEP_LIMIT_MS = 60_000;

interface Variant {
  readonly columns: number;
  readonly variables: Readonly<Record<string, string>>;
  readonly steps: readonly Step[];
}

test("a working day at 80x24 takes no step backwards", { timeout: 240_000 }, async () => {
  const { recording } = await play({ columns: 80, variables: {}, steps: DRAWN });
  await expect(recording).toMatchFileSnapshot("drawn-80x24.txt");
});

test(
  "a working day in plain mode, at 60 columns and without color",
  { timeout: 240_000 },
  async () => {
    const variables = { JP_PLAIN: "1", NO_COLOR: "1" };
    const { recording, bytes } = await play({ columns: 60, variables, steps: PLAIN });
    await expect(recording).toMatchFileSnapshot("plain-60x24.txt");
    expect(bytes).not.toContain("\u001b");
  },
);

async function play({ columns, variables, steps }: Variant) {
  await using server = await startModel();
  const workplace = createWorkplace(server);
  const screen = new PseudoTerminal("bash", ["--norc", "--noprofile", "--noediting"], {
    folder: workplace.folder,
    variables: { ...workplace.variables, ...variables },
    columns,
    rows: ROWS,
  });
  await screen.untilShown((lines) => lines.at(-1) === "$");
  const recorded: string[] = [];
  for (const [index, step] of steps.entries()) {
    workplace.setMinute(index + 1);
    await take(step, screen);
    const { line, column } = screen.cursor;
    const row = line - screen.top;
    recorded.push(
      `${index + 1} ── ${step.keys} ${"─".repeat(Math.max(2, columns - step.keys.length - 22))} cursor ${row + 1}:${column + 1}`,
      ...visible(screen),
    );
  }
  screen.type("exit\r");
  const { bytes } = await screen.end();
  return { recording: `${workplace.normalize(recorded.join("\n"))}\n`, bytes };
}

/** Types the keys when the screen does not yet show what they lead to, and waits until it does. */
async function take({ keys, until, isBusy = false }: Step, screen: PseudoTerminal): Promise<void> {
  const isThere = () => {
    const text = visible(screen).join("\n");
    const isShown = typeof until === "string" ? text.includes(until) : until.test(text);
    return isShown && (isBusy || isWaiting(screen));
  };
  const describe = (problem: string) =>
    new Error(`${problem} after ${keys}: ${String(until)}\n${visible(screen).join("\n")}`);
  if (isThere()) throw describe("The screen already shows what comes");
  screen.type(bytesOf(keys));
  const { promise: isLate, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(describe("Nothing came")), STEP_LIMIT_MS);
  await Promise.race([screen.untilShown(isThere), isLate]).finally(() => clearTimeout(timer));
}

/** The shell or jp waits for input, in the row with the cursor. */
function isWaiting(screen: PseudoTerminal): boolean {
  const { line, column } = screen.cursor;
  const text = screen.lines[line] ?? "";
  return column > 0 && /^(?:[$>?]| {2}\S|(?:Message|Answer|Secret|Line):)/.test(text);
}

/** The rows on the screen, without empty ones at the end. */
function visible(screen: PseudoTerminal): readonly string[] {
  return screen.lines.slice(screen.top);
}

const KEYS: Readonly<Record<string, string>> = {
  "⏎": "\r",
  "⇥": "\t",
  "⎋": "\u001b",
  "↑": "\u001b[A",
  "↓": "\u001b[B",
  "⌥⏎": "\u001b\r",
  "«": "\u001b[200~",
  "»": "\u001b[201~",
};

/** What the terminal sends: `^C` is a control key, and pasted text is in `«»`. */
function bytesOf(keys: string): string {
  return keys
    .replaceAll(/⌥⏎|[⏎⇥⎋↑↓«»]/g, (key) => KEYS[key] ?? "")
    .replaceAll(/\^([A-Z])/g, (_, letter: string) =>
      String.fromCodePoint((letter.codePointAt(0) ?? 0) & 0x1f),
    );
}
