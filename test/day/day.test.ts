/**
 * A working day on a real terminal, in parts. Each step's keys, and the screen after it, are in the recordings beside this
 * file. To record anew: `node scripts/bootstrap.mjs --build vitest run -u --project long test/day`. Then read the difference.
 */
import { existsSync } from "node:fs";
import path from "node:path";
import { describe, expect, test, vi } from "vitest";
import { PseudoTerminal } from "../support/pseudo-terminal.ts";
import { PARTS } from "./parts.ts";
import { drawnSteps, plainSteps, type Step } from "./steps.ts";
import { createWorkplace, ScriptedModel } from "./workplace.ts";

const ROWS = 24;
/** Only so that a step that never ends says which one it is. */
const STEP_LIMIT_MS = 60_000;
const TIMEOUT_MS = 240_000;

interface Variant {
  readonly columns: number;
  readonly variables: Readonly<Record<string, string>>;
  readonly steps: readonly Step[];
  readonly isPrepared: boolean;
}

describe.each(PARTS)("the part of a working day where someone $does", (part) => {
  const { name, steps, isPrepared } = part;

  test("takes no step backwards at 80x24", { timeout: TIMEOUT_MS }, async () => {
    const drawn = drawnSteps(steps);
    const { recording } = await play({ columns: 80, variables: {}, steps: drawn, isPrepared });
    await expect(recording).toMatchFileSnapshot(`${name}-80x24.txt`);
  });

  test(
    "takes none in plain mode, at 60 columns and without color",
    { timeout: TIMEOUT_MS },
    async () => {
      const variables = { JP_PLAIN: "1", NO_COLOR: "1" };
      const plain = plainSteps(steps);
      const { recording, bytes } = await play({ columns: 60, variables, steps: plain, isPrepared });
      await expect(recording).toMatchFileSnapshot(`${name}-plain-60x24.txt`);
      expect(bytes).not.toContain("\u001b");
    },
  );
});

async function play({ columns, variables, steps, isPrepared }: Variant) {
  await using model = await ScriptedModel.start();
  const workplace = createWorkplace(model, { isPrepared });
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
    if (step.columns !== undefined) screen.resize(step.columns, ROWS);
    await take(step, screen, model);
    const { file } = step;
    if (file !== undefined)
      await vi.waitUntil(() => existsSync(path.join(workplace.folder, file)), STEP_LIMIT_MS);
    const { line, column } = screen.cursor;
    const row = line - screen.top;
    recorded.push(
      `${index + 1} ── ${step.keys} ${"─".repeat(Math.max(2, columns - step.keys.length - 22))} cursor ${row + 1}:${column + 1}`,
      ...visible(screen),
    );
  }
  if (visible(screen).at(-1) !== "$") throw new Error("The day ends in the shell");
  screen.type("exit\r");
  const { bytes } = await screen.end();
  return { recording: `${workplace.normalize(recorded.join("\n"))}\n`, bytes };
}

/** Types the keys when the screen does not yet show what they lead to, and waits until it does. */
async function take(
  { keys, until, isBusy = false }: Step,
  screen: PseudoTerminal,
  model: ScriptedModel,
): Promise<void> {
  const isThere = () => {
    const text = visible(screen).join("\n");
    const isShown =
      typeof until === "string" ? oneSpaced(text).includes(oneSpaced(until)) : until.test(text);
    return isShown && (isBusy || isWaiting(screen));
  };
  const describeProblem = (problem: string) =>
    new Error(`${problem} after ${keys}: ${String(until)}\n${visible(screen).join("\n")}`);
  if (isThere()) throw describeProblem("The screen already shows what comes");
  if (keys.includes(GO_ON)) model.goOn();
  screen.type(bytesOf(keys));
  const { promise: isLate, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(describeProblem("Nothing came")), STEP_LIMIT_MS);
  await Promise.race([screen.untilShown(isThere), isLate]).finally(() => clearTimeout(timer));
}

/** Lines break elsewhere on a narrow screen. */
function oneSpaced(text: string): string {
  return text.replaceAll(/\s+/g, " ");
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

const GO_ON = "▶";

const KEYS: Readonly<Record<string, string>> = {
  "⏎": "\r",
  "⇥": "\t",
  "⎋": "\u001b",
  "↑": "\u001b[A",
  "↓": "\u001b[B",
  "⇲": "\u001b[F",
  "⌥⏎": "\u001b\r",
  "«": "\u001b[200~",
  "»": "\u001b[201~",
  "⋮": Array.from({ length: 300 }, (_, index) => `line ${index + 1}`).join("\r"),
  [GO_ON]: "",
};

/** What the terminal sends: `^C` is a control key, and pasted text is in `«»`. */
function bytesOf(keys: string): string {
  return keys
    .replaceAll(/⌥⏎|[⏎⇥⎋↑↓⇲«»⋮▶]/g, (key) => KEYS[key] ?? "")
    .replaceAll(/\^([A-Z])/g, (_, letter: string) =>
      String.fromCodePoint((letter.codePointAt(0) ?? 0) & 0x1f),
    );
}
