import { spawnSync } from "node:child_process";
import { existsSync, lstatSync, realpathSync, writeFileSync } from "node:fs";
import path from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { counters } from "../../../test/security/threats.ts";
import { temporaryFolder } from "../../stores/temporary-workspace.fixture.ts";
import { isJsonObject, parseJson, sha256 } from "../../util/index.ts";
import { identifyFile } from "./file-identity.ts";

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["Date"] });
});

afterEach(() => {
  vi.useRealTimers();
});

/** Describes a local tool, and prints how often its program and files in the data folder were opened. */
const PROGRAM = `
  const later = Date.now() + 60_000; // No file was written just now.
  Date.now = () => later;
  const { syncBuiltinESMExports } = process.getBuiltinModule("node:module");
  const fs = process.getBuiltinModule("node:fs");
  const opened = [];
  for (const [owner, name] of [[fs, "openSync"], [fs.promises, "open"]]) {
    const open = owner[name];
    owner[name] = (file, ...others) => {
      opened.push(String(file));
      return open(file, ...others);
    };
  }
  syncBuiltinESMExports();
  const { describeLocalSource } = await import(process.argv[1]);
  const { command, workspaceRoot, dataFolder } = JSON.parse(process.argv[2]);
  const place = { workspaceRoot, dataFolder, variables: {} };
  const { program } = await describeLocalSource({ command }, place);
  const own = opened.filter((file) => file === program.path || file.startsWith(dataFolder));
  console.log(JSON.stringify({ program, opened: own }));
`;

function programOf(text: string): string {
  const file = path.join(realpathSync(temporaryFolder()), "program");
  writeFileSync(file, text, { mode: 0o755 });
  return file;
}

/** In a process of its own. */
function describeTool(program: string, dataFolder: string) {
  const command = { program, args: [], shell: false };
  const request = JSON.stringify({ command, dataFolder, workspaceRoot: path.dirname(program) });
  const { stdout, stderr } = spawnSync(
    process.execPath,
    [
      "--input-type=module",
      "--eval",
      PROGRAM,
      path.join(import.meta.dirname, "local", "local-source.ts"),
      request,
    ],
    { encoding: "utf8" },
  );
  if (stdout === "") throw new Error(stderr);
  const described = parseJson(stdout);
  if (!isJsonObject(described)) throw new Error("it is no object");
  return described;
}

test("a program above 1 MB is read by the first process that describes it, and by no later one", () => {
  const dataFolder = temporaryFolder();
  const cache = path.join(dataFolder, "file-digests.json");
  const text = " ".repeat(1024 ** 2 + 1);
  const file = programOf(text);
  const [first, second] = [1, 2].map(() => describeTool(file, dataFolder));
  const program = { path: file, sha256: sha256(text) };
  expect([first?.["program"], second]).toEqual([program, { program, opened: [cache] }]);
  expect(first?.["opened"]).toContain(file);
});

test("the digest of a file that changed in the last two seconds is not kept", async () => {
  counters("T-PROG-7");
  const dataFolder = temporaryFolder();
  const file = programOf(" ".repeat(1024 ** 2 + 1));
  const stats = lstatSync(file, { bigint: true });
  const isKept = async (ageMs: number) => {
    vi.setSystemTime(Number(stats.ctimeMs) + ageMs);
    await identifyFile(file, stats, dataFolder);
    return existsSync(path.join(dataFolder, "file-digests.json"));
  };
  expect([await isKept(-1000), await isKept(1999), await isKept(2001)]).toEqual([
    false,
    false,
    true,
  ]);
});

test("no cache is opened or written for a program of up to 1 MB", () => {
  const dataFolder = temporaryFolder();
  const program = programOf(" ".repeat(1024 ** 2));
  const { opened } = describeTool(program, dataFolder);
  expect([opened, existsSync(path.join(dataFolder, "file-digests.json"))]).toEqual([
    [program],
    false,
  ]);
});
