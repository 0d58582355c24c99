/** A workspace in a home, and commands in the real sandbox. Where there is none, tests that need it are skipped, and say so once. */
import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { beforeEach, expect } from "vitest";
import { findSandboxProblem, runCommand, type SandboxPlace } from "../../src/reach/shell/index.ts";
import type { CommandLimits } from "../../src/reach/shell/limits.ts";
import { temporaryFolder } from "../../src/stores/temporary-workspace.fixture.ts";

const problem = await findSandboxProblem();
const isSkipped = problem !== undefined && process.env["JP_REQUIRE_SANDBOX"] !== "1";

if (isSkipped) {
  process.stderr.write(
    `Skipping the tests of the sandbox (${problem.reason}). Install bubblewrap to run them.\n`,
  );
}

/** Skips the tests of a file, or of a `describe`, without a sandbox. With JP_REQUIRE_SANDBOX=1, they fail instead. */
export function useSandbox(): void {
  beforeEach(({ skip }) => skip(isSkipped, "no sandbox"));
}

export interface Scene extends SandboxPlace {
  /** Beside the workspace and the home. */
  readonly outside: string;
  /** Runs a line, and returns its output with its exit status at the end. */
  readonly run: (line: string, options?: RunOptions) => Promise<string>;
}

export interface RunOptions {
  readonly network?: boolean;
  readonly git?: boolean;
  readonly isReadOnly?: boolean;
  readonly variables?: Readonly<Record<string, string>>;
  /** Called for each line of its output. */
  readonly onLine?: () => void;
  readonly limits?: CommandLimits;
}

/** The workspace is in the home. All of it is in a place that the sandbox does not hide anyway, as it does `/tmp`. */
export function scene(): Scene {
  const base = temporaryFolder(path.resolve("node_modules"));
  const folders = ["home", "home/project", "data", "outside"].map((name) => path.join(base, name));
  for (const folder of folders) mkdirSync(folder);
  const [home = "", root = "", data = "", outside = ""] = folders;
  writeFileSync(path.join(home, "secret"), "geheim");
  writeFileSync(path.join(data, "secret"), "geheim");
  writeFileSync(path.join(outside, "visible"), "visible");
  const variables = { PATH: process.env["PATH"], HOME: home };
  const place = { root, home, hidden: [data], readable: [], variables };
  return { ...place, outside, run: (line, options) => runIn(place, line, options) };
}

export async function runIn(
  place: SandboxPlace,
  line: string,
  {
    network = false,
    git = false,
    isReadOnly = false,
    variables = {},
    onLine = () => {},
    limits,
  }: RunOptions = {},
): Promise<string> {
  const end = await runCommand({
    line,
    cwd: place.root,
    variables: { ...place.variables, ...variables },
    input: "",
    timeoutMs: 20_000,
    signal: new AbortController().signal,
    onLine,
    output: { shownBytes: 8192, folder: path.join(place.home, "output"), keptBytes: 1_000_000 },
    sandbox: { place, network, git, isReadOnly },
    ...(limits !== undefined && { limits }),
  });
  expect(end).toMatchObject({ type: "ended" });
  if (end.type !== "ended") return "";
  const exit = "status" in end.exit ? end.exit.status : JSON.stringify(end.exit);
  return [end.output.toText("…").trim(), ...end.removed.map((name) => `removed ${name}`), exit]
    .join("\n")
    .trim();
}
