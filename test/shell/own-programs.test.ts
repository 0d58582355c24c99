import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { findGitState } from "../../src/assemble/git-state.ts";
import { createFileTools } from "../../src/reach/executor/index.ts";
import { keepChanges } from "../../src/reach/undo/index.ts";
import { counters } from "../security/threats.ts";
import { scene, useSandbox } from "./support.ts";

/** Those that jp starts for itself, and those that they start. */
const NAMES = "git ssh sh bash ps stty rg bwrap grep tr rmdir env";

describe("a program that a sandboxed command places in the user's PATH", () => {
  useSandbox();

  test("is run neither for an undo, nor for the surroundings, nor for a search", async () => {
    counters("T-PROG-8");
    const { root, home, outside, hidden, run } = scene();
    const [dataFolder = ""] = hidden;
    execFileSync("git", ["init", "-q", root]);
    const bin = path.join(root, ".venv", "bin");
    const searchPath = `${bin}:${process.env["PATH"]}`;
    const ran = path.join(outside, "ran");
    const script = `#!/bin/sh\\necho "$0" "$@" >> ${ran}\\n`;
    const attack = `mkdir -p .venv/bin; for name in ${NAMES}; do printf '${script}' >.venv/bin/$name; chmod +x .venv/bin/$name; done`;
    expect(await run(attack, { variables: { PATH: searchPath } })).toBe("0");
    expect(readFileSync(path.join(bin, "git"), "utf8")).toContain("echo");

    const variables = { PATH: searchPath, HOME: home };
    const place = { folder: dataFolder, root, conversation: "jp-c17000000000", variables };
    const kept = await keepChanges({ ...place, turn: () => "1" }).keepFolder(
      new AbortController().signal,
    );
    writeFileSync(path.join(root, "new.txt"), "needle\n");
    const changed = await kept.done();
    const state = await findGitState({ folder: root, variables });
    const search = createFileTools({ root, searchPath }).find(
      ({ tool }) => tool.name === "fs_grep_files",
    );
    await search?.tool.execute({
      arguments: { pattern: "needle" },
      answers: {},
      signal: new AbortController().signal,
    });
    await run("true", { variables: { PATH: searchPath } });
    const log = existsSync(ran) ? readFileSync(ran, "utf8") : "";
    expect([log, changed, state?.untracked]).toEqual(["", ["new.txt"], 2]);
  });

  test("does not make the sandbox itself load a library of the workspace", async () => {
    counters("T-PROG-10");
    const { root, run } = scene();
    const libraries = path.join(root, "lib");
    mkdirSync(libraries);
    // Bubblewrap needs it and a shell does not. A program that finds this one does not start.
    writeFileSync(path.join(libraries, "libcap.so.2"), "");
    const output = await run("echo $LD_LIBRARY_PATH $PATH", {
      variables: { LD_LIBRARY_PATH: libraries, PATH: `${libraries}:/usr/bin` },
    });
    expect(output).toBe(`${libraries} ${libraries}:/usr/bin\n0`);
  });
});

test("git obeys no variable of the user that makes it load code, run programs or look elsewhere", async () => {
  counters("T-PROG-10");
  const { root, home, outside } = scene();
  execFileSync("git", ["init", "-q", root]);
  const ran = path.join(outside, "ran");
  const script = path.join(root, "script.sh");
  writeFileSync(script, `#!/bin/sh\necho "$0" >>${ran}\n`, { mode: 0o755 });
  // A program that finds this one does not start.
  writeFileSync(path.join(root, "libc.so.6"), "");
  const state = await findGitState({
    folder: root,
    variables: {
      PATH: process.env["PATH"],
      HOME: home,
      LD_LIBRARY_PATH: root,
      BASH_ENV: script,
      GIT_DIR: outside,
      GIT_EXEC_PATH: root,
      GIT_TRACE: ran,
      GIT_CONFIG_COUNT: "1",
      GIT_CONFIG_KEY_0: "core.fsmonitor",
      GIT_CONFIG_VALUE_0: script,
    },
  });
  expect([state?.untracked, existsSync(ran)]).toEqual([2, false]);
});

describe.runIf(process.platform === "linux")("the sandbox's own process", () => {
  useSandbox();

  test("has no variable of the command in its environment, and no value in its arguments", async () => {
    counters("T-PROG-10");
    const { root, run } = scene();
    const secret = "geheim\nin two lines";
    const seen: OwnProcess[] = [];
    const output = await run(
      'echo started; until [ -e seen ]; do :; done; echo "$MYAPP_PASSWORD"',
      {
        variables: { LD_OWN: secret, GCONV_PATH: root, MYAPP_PASSWORD: secret },
        onLine: () => {
          seen.push(...ownProcesses(root));
          writeFileSync(path.join(root, "seen"), "");
        },
      },
    );
    expect(output).toBe(`started\n${secret}\n0`);
    expect(seen.length).toBeGreaterThan(0);
    for (const { environment, words } of seen) {
      expect(environment).toMatch(/^JP_PROCESS_GROUP=[^\0]+\0$/);
      expect(words).not.toContain("geheim");
    }
  });
});

interface OwnProcess {
  readonly environment: string;
  readonly words: string;
}

/** Those of bubblewrap that run a command in this workspace. */
function ownProcesses(root: string): readonly OwnProcess[] {
  const ids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  return ids.flatMap((id) => {
    try {
      const [words = "", environment = ""] = ["cmdline", "environ"].map((name) =>
        readFileSync(`/proc/${id}/${name}`, "utf8"),
      );
      const [program = "", ...others] = words.split("\0");
      return program.endsWith("bwrap") && others.includes(root) ? [{ words, environment }] : [];
    } catch {
      return []; // It has ended.
    }
  });
}
