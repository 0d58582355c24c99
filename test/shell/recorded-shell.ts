/** Runs command lines in real shells, whose programs only write down how they were called. */
import { spawnSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import { findSystemProgram } from "../../src/reach/process/index.ts";
import { temporaryFolder } from "../../src/stores/temporary-workspace.fixture.ts";

/** Programs that pass a command on; the others only record. */
const REAL =
  "env xargs nice nohup timeout setsid stdbuf sh bash dash find cat awk sed tar sort true ionice".split(
    " ",
  );

/** The shells that this machine has. */
export const SHELLS: readonly string[] = [
  ...new Set(
    ["bash", "dash", "sh"].flatMap((name) => {
      const found = findSystemProgram(name);
      return found === undefined ? [] : [realpathSync(found)];
    }),
  ),
];

export interface RecordedShell {
  /** The words of every call of a recording program, in no particular order. */
  run(shell: string, line: string): readonly (readonly string[])[];
}

export function recordedShell(programs: readonly string[]): RecordedShell {
  const folder = temporaryFolder();
  const log = path.join(folder, "log");
  const bin = path.join(folder, "bin");
  const cwd = path.join(folder, "cwd");
  for (const name of [bin, cwd]) mkdirSync(name);
  // One write for each call, so that those of a pipeline do not mix.
  const text = `#!/bin/sh\nexec /usr/bin/printf '%s\\0' "$#" "\${0##*/}" "$@" >>'${log}'\n`;
  for (const name of programs) {
    writeFileSync(path.join(bin, name), text);
    chmodSync(path.join(bin, name), 0o755);
  }
  for (const name of REAL) {
    const found = findSystemProgram(name);
    if (found !== undefined && !programs.includes(name)) symlinkSync(found, path.join(bin, name));
  }
  return {
    run: (shell, line) => {
      spawnSync(shell, ["-c", line], { cwd, env: { PATH: bin }, input: "", timeout: 5000 });
      if (!existsSync(log)) return [];
      const calls = readCalls(readFileSync(log, "utf8"));
      rmSync(log);
      return calls;
    },
  };
}

function readCalls(log: string): readonly (readonly string[])[] {
  const fields = log.split("\0").slice(0, -1);
  const calls: (readonly string[])[] = [];
  for (let at = 0; at < fields.length;) {
    const end = at + Number(fields[at]) + 2;
    calls.push(fields.slice(at + 1, end));
    at = end;
  }
  return calls;
}
