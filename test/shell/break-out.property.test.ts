import { execFile } from "node:child_process";
import { appendFileSync, existsSync, readFileSync, rmSync } from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { findGitState } from "../../src/assemble/git-state.ts";
import { runCommand } from "../../src/reach/shell/index.ts";
import { keepChanges } from "../../src/reach/undo/index.ts";
import { temporaryFolder } from "../../src/stores/temporary-workspace.fixture.ts";
import { counters } from "../security/threats.ts";
import {
  type BreakOut,
  breakOutLines,
  PLAIN_ATTACKS,
  RUN_LATER,
  WORKTREE,
} from "./break-out-lines.ts";
import { type GitWorkspace, GitWorkspaces, userVariables } from "./git-workspace.ts";
import { useSandbox } from "./support.ts";

/** `JP_FUZZ_TIMES` multiplies it: 10 is 2,000 lines. */
const LINES = 200 * Number(process.env["JP_FUZZ_TIMES"] ?? 1);
/** `JP_FUZZ_SEED` repeats a run. */
const SEED = Number(process.env["JP_FUZZ_SEED"] ?? Date.now() % 2 ** 31);
/** A round mostly waits for its processes. */
const AT_ONCE = 3;
const TIMEOUT_PER_LINE_MS = 10_000;

describe("what a sandboxed command leaves in the workspace", () => {
  useSandbox();

  test.each(PLAIN_ATTACKS.map((attack) => [attack.way, attack] as const))(
    "a command without a sandbox breaks out, which the test notices: %s",
    async (_way, attack) => {
      const [end] = await playAll([attack], { isSandboxed: false });
      expect(end?.escapes).not.toEqual([]);
    },
  );

  test(
    "never runs outside of the sandbox, whatever the user's Git or jp itself does next",
    { timeout: LINES * TIMEOUT_PER_LINE_MS },
    async () => {
      counters("T-SHELL-4", "T-SHELL-12", "T-PROG-8");
      process.stderr.write(`Running ${LINES} lines with seed ${SEED}.\n`);
      const lines = [...PLAIN_ATTACKS, ...breakOutLines(LINES, SEED)];
      const ends = await playAll(lines, { isSandboxed: true });
      const found = ends.filter(({ escapes, lostHook }) => escapes.length > 0 || lostHook);
      expect(found, `seed ${SEED}: ${countWays(found)}`).toEqual([]);
    },
  );
});

interface RoundEnd extends BreakOut {
  /** What ran the command outside. */
  readonly escapes: readonly string[];
  /** Whether the user committed without the hook that was there before. */
  readonly lostHook: boolean;
}

/** How many there are of each way. */
function countWays(found: readonly RoundEnd[]): string {
  const counts = Object.groupBy(found, ({ way }) => way);
  return Object.entries(counts)
    .map(([way, { length }]) => `${way} ${length}`)
    .join(", ");
}

interface RoundOptions {
  readonly isSandboxed: boolean;
}

async function playAll(
  lines: readonly BreakOut[],
  options: RoundOptions,
): Promise<readonly RoundEnd[]> {
  const workspaces = new GitWorkspaces(
    temporaryFolder(path.resolve("node_modules")),
    temporaryFolder(),
  );
  const ends: RoundEnd[] = [];
  const rest = lines.entries();
  const work = async () => {
    for (const [index, attack] of rest) {
      const workspace = workspaces.copy(attack.kind);
      ends[index] = await new Round(workspace, attack).play(options);
      for (const folder of [workspace.base, workspace.data]) {
        rmSync(folder, { recursive: true, force: true });
      }
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return ends;
}

/** What the user does next, with a Git that is not one of the workspace. */
const USER_COMMANDS: readonly (readonly string[])[] = [
  ["status"],
  ["diff", "HEAD"],
  ["commit", "-q", "-a", "-m", "mine"],
  ["rebase", "--continue"],
  ["-C", WORKTREE, "status"],
  ["-C", WORKTREE, "commit", "-q", "-a", "-m", "mine"],
  ["status"],
];

class Round {
  readonly #workspace: GitWorkspace;
  readonly #attack: BreakOut;

  constructor(workspace: GitWorkspace, attack: BreakOut) {
    this.#workspace = workspace;
    this.#attack = attack;
  }

  async play({ isSandboxed }: RoundOptions): Promise<RoundEnd> {
    const { root, escapes, variables } = this.#workspace;
    const hadWorktree = existsSync(path.join(root, WORKTREE));
    const { signal } = new AbortController();
    const kept = await this.#keeper().keepFolder(signal);
    await this.#run(isSandboxed);
    if (!isSandboxed) rmSync(escapes, { force: true }); // What the command did itself does not count.
    await kept.done();
    await findGitState({ folder: root, root, variables });
    await this.#keeper().keepFolder(signal);
    const committed = await this.#useGit(hadWorktree);
    // Git as `PATH` leads to it. Only the control may start a program of the workspace.
    if (!isSandboxed) await git(["status"], { cwd: root, env: variables });
    return {
      ...this.#attack,
      escapes: linesOf(escapes),
      lostHook: committed && this.#hasHook() && linesOf(this.#workspace.hooks).length === 0,
    };
  }

  async #run(isSandboxed: boolean): Promise<void> {
    const { root, base, escapes, variables } = this.#workspace;
    const command = `echo by $USER_COMMAND >>${escapes}`;
    const sandbox = { place: this.#workspace, network: false, git: false };
    const end = await runCommand({
      line: this.#attack.line.replaceAll(RUN_LATER, () => command),
      cwd: root,
      variables,
      input: "",
      timeoutMs: 20_000,
      signal: new AbortController().signal,
      onLine: () => undefined,
      output: { shownBytes: 4096, folder: path.join(base, "output"), keptBytes: 4096 },
      ...(isSandboxed && { sandbox }),
    });
    if (end.type !== "ended") throw new Error(`The command was not run: ${JSON.stringify(end)}`);
  }

  #keeper() {
    const { root, data, variables } = this.#workspace;
    const place = { folder: data, root, conversation: "jp-c17000000000" };
    return keepChanges({ ...place, variables, turn: () => "1" });
  }

  /** Returns whether it could commit. */
  async #useGit(hasWorktree: boolean): Promise<boolean> {
    const { root, hooks } = this.#workspace;
    for (const name of ["notes.txt", `${WORKTREE}/notes.txt`]) edit(path.join(root, name));
    let committed = false;
    for (const words of USER_COMMANDS) {
      if (words[0] === "-C" && !hasWorktree) continue;
      const env = {
        ...userVariables(this.#workspace),
        HOOK_LOG: hooks,
        USER_COMMAND: `git ${words.join(" ")}`,
      };
      const isDone = await git(words, { cwd: root, env });
      if (words[0] === "commit") committed = isDone;
    }
    return committed;
  }

  #hasHook(): boolean {
    return ["husky", "rebasing", "links", "linked"].includes(this.#attack.kind);
  }
}

function edit(file: string): void {
  try {
    appendFileSync(file, "mine\n");
  } catch {
    // It is missing, or the command has put something else there.
  }
}

/** Whether it succeeds. */
function git(
  words: readonly string[],
  options: { readonly cwd: string; readonly env: Readonly<Record<string, string | undefined>> },
): Promise<boolean> {
  return new Promise((resolve) => {
    const limits = { timeout: 20_000, killSignal: "SIGKILL" } as const;
    const child = execFile("/usr/bin/env", ["git", ...words], { ...options, ...limits }, (error) =>
      resolve(error === null),
    );
    child.stdin?.end();
  });
}

function linesOf(file: string): readonly string[] {
  return existsSync(file) ? [...new Set(readFileSync(file, "utf8").trim().split("\n"))] : [];
}
