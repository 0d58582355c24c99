import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, describe, expect, test, vi } from "vitest";
import { isAlive } from "../../../test/support/is-alive.ts";
import {
  type ProcessEnd,
  type ProcessLimits,
  type ProcessRequest,
  runProcess,
} from "./run-process.ts";

const LIMITS: ProcessLimits = {
  stdoutBytes: 1000,
  stderrBytes: 1000,
  killGraceMs: 300,
  pipeGraceMs: 100,
};

const started: number[] = [];

afterEach(() => {
  for (const pid of started.splice(0)) {
    if (pid > 1 && isAlive(pid)) process.kill(pid, "SIGKILL"); // 0 would be ourselves.
  }
});

function runShell(script: string, options: Partial<ProcessRequest> = {}): Promise<ProcessEnd> {
  return runProcess({
    command: { program: "sh", args: ["-c", script] },
    cwd: tmpdir(),
    variables: process.env,
    input: "",
    signal: new AbortController().signal,
    limits: LIMITS,
    ...options,
  });
}

const nodeCommand = (script: string) => ({ program: process.execPath, args: ["-e", script] });

/** Runs a script that prints process ids to standard error, and then stops it. */
async function stopWhenStarted(
  script: string,
  count: number,
): Promise<{ end: ProcessEnd; pids: number[] }> {
  const controller = new AbortController();
  const pids: number[] = [];
  const onLine = (line: string) => {
    pids.push(...line.split(" ").map(Number));
    if (pids.length >= count) controller.abort();
  };
  const end = await runShell(script, { signal: controller.signal, onLine });
  started.push(...pids);
  return { end, pids };
}

async function expectGone(pids: readonly number[]): Promise<void> {
  await vi.waitFor(() => expect(pids.filter(isAlive)).toEqual([]), { timeout: 5000 });
}

const textsOf = (end: ProcessEnd) =>
  "stdout" in end ? [end.stdout.toText(), end.stderr.toText()] : [];

describe("a process that ends", () => {
  test("gives its output and its status", async () => {
    const end = await runShell("echo out; echo err >&2; exit 3");
    expect([end.type, "exit" in end && end.exit, textsOf(end)]).toEqual([
      "exited",
      { status: 3 },
      ["out\n", "err\n"],
    ]);
  });

  test("by a signal gives its name", async () => {
    const end = await runShell("kill -9 $$");
    expect("exit" in end && end.exit).toEqual({ signal: "SIGKILL" });
  });

  test("is given its input, and then the end of it", async () => {
    const input = "é".repeat(100_000);
    const end = await runShell("wc -c", { input });
    expect(textsOf(end)[0]?.trim()).toBe("200000");
  });

  test("may leave its input unread, however long it is", async () => {
    const input = "x".repeat(1_000_000);
    const ends = [
      await runShell("exit 0", { input }),
      await runShell("exec <&-; echo a", { input }),
    ];
    expect(ends.map((end) => "exit" in end && end.exit)).toEqual([{ status: 0 }, { status: 0 }]);
  });

  test("runs in the folder and with the variables it is given, and one that marks it", async () => {
    const variables = { PATH: process.env["PATH"], A: "b" };
    const script = "pwd; env | grep -v -e ^PWD= -e ^_= -e ^SHLVL= -e ^PATH= | sort";
    const end = await runShell(script, { cwd: "/", variables });
    expect(textsOf(end)[0]).toMatch(/^\/\nA=b\nJP_PROCESS_GROUP=[0-9a-f-]{36}\n$/);
  });

  test("tells what it does, line by line, while it runs", async () => {
    const controller = new AbortController();
    const lines: string[] = [];
    const onLine = (line: string) => {
      lines.push(line);
      if (lines.length === 2) controller.abort();
    };
    const script = "echo one >&2; printf 'two\\nthr' >&2; sleep 60";
    const end = await runShell(script, { onLine, signal: controller.signal });
    expect([end.type, lines]).toEqual(["cancelled", ["one", "two", "thr"]]);
  });

  test("is not waited for when another process holds its output open", async () => {
    const begin = performance.now();
    const end = await runShell("sleep 60 & echo $! >&2; echo done");
    const [stdout, stderr] = textsOf(end);
    started.push(Number(stderr));
    expect([end.type, stdout, performance.now() - begin < 10_000]).toEqual([
      "exited",
      "done\n",
      true,
    ]);
  });

  test("leaves what it started in the background alone", async () => {
    const end = await runShell("sleep 60 >/dev/null 2>&1 & echo $!");
    const pid = Number(textsOf(end)[0]);
    started.push(pid);
    expect([end.type, isAlive(pid)]).toEqual(["exited", true]);
  });
});

describe("output beyond the limit", () => {
  test("is left out, and how much it was is told", async () => {
    const script = 'process.stdout.write("o".repeat(5000)); process.stderr.write("e".repeat(2000))';
    const end = await runShell("", { command: nodeCommand(script) });
    expect(textsOf(end)).toEqual([
      `${"o".repeat(1000)}\n[Truncated: 4000 of 5000 bytes omitted.]`,
      `${"e".repeat(1000)}\n[Truncated: 1000 of 2000 bytes omitted.]`,
    ]);
  });

  test("of 50 MB takes no memory", async () => {
    // In a process of its own, where nothing else needs memory and its collection is quick.
    const program = `
      import { runProcess } from ${JSON.stringify(path.join(import.meta.dirname, "run-process.ts"))};
      const held = () => {
        gc();
        gc(); // Buffers that the first one found are given back behind its back.
        const { heapUsed, arrayBuffers } = process.memoryUsage();
        return heapUsed + arrayBuffers;
      };
      const before = held();
      let most = before;
      const sampler = setInterval(() => (most = Math.max(most, held())), 50);
      const { stdout, stderr } = await runProcess({
        command: { program: "sh", args: ["-c", process.argv[1]] },
        cwd: "/",
        variables: process.env,
        input: "",
        signal: new AbortController().signal,
        onLine: () => undefined,
        limits: ${JSON.stringify(LIMITS)},
      });
      clearInterval(sampler);
      const notices = [stdout, stderr].map((output) => output.toText().slice(1000));
      console.log(JSON.stringify({ notices, grown: Math.max(most, held()) - before }));
    `;
    const script = "head -c 50000000 /dev/zero; head -c 50000000 /dev/zero >&2";
    const flags = ["--expose-gc", "--input-type=module", "--no-warnings"];
    const command = { program: process.execPath, args: [...flags, "-e", program, script] };
    const [report = ""] = textsOf(await runShell("", { command }));
    const { notices, grown } = JSON.parse(report) as { notices: string[]; grown: number }; // As printed.
    const notice = "\n[Truncated: 49999000 of 50000000 bytes omitted.]";
    expect(notices).toEqual([notice, notice]);
    expect(grown).toBeLessThan(5_000_000);
  });
});

describe("a process that is stopped", () => {
  test("ends with all that it has started", async () => {
    const script =
      "sleep 60 & sleep 60 >/dev/null 2>&1 & sh -c 'sleep 60 & echo $$ $! >&2; wait' & wait";
    const { end, pids } = await stopWhenStarted(script, 2);
    expect(end).toEqual({ type: "cancelled" });
    await expectGone(pids);
  });

  test("has time to tidy up", async () => {
    const controller = new AbortController();
    const lines: string[] = [];
    const onLine = (line: string) => {
      lines.push(line);
      controller.abort();
    };
    const script = "trap 'echo tidy >&2; exit' TERM; echo up >&2; while :; do sleep 0.01; done";
    await runShell(script, { signal: controller.signal, onLine });
    expect([lines[0], lines.at(-1)]).toEqual(["up", "tidy"]);
  });

  test("is killed when it does not want to end, and its descendants too", async () => {
    const script =
      "trap '' TERM; sh -c 'trap \"\" TERM; sleep 60 & echo $$ $! >&2; wait; sleep 60' & echo $$ >&2; wait; sleep 60";
    const { end, pids } = await stopWhenStarted(script, 3);
    expect(end).toEqual({ type: "cancelled" });
    await expectGone(pids);
  });

  test("ends even if only a descendant does not want to", async () => {
    const script = "sh -c 'trap \"\" TERM; echo $$ >&2; sleep 60; sleep 60' & wait";
    const { end, pids } = await stopWhenStarted(script, 1);
    expect(end).toEqual({ type: "cancelled" });
    await expectGone(pids);
  });

  test("before it was started never is", async () => {
    const signal = AbortSignal.abort();
    const command = { program: "/nonexistent", args: [] };
    expect(await runShell("", { command, signal })).toEqual({ type: "cancelled" });
  });

  test("while only its background is left is cancelled, and the background ended", async () => {
    const controller = new AbortController();
    const limits = { ...LIMITS, pipeGraceMs: 60_000 };
    const pids: number[] = [];
    const onLine = (line: string) => {
      pids.push(...line.split(" ").map(Number));
    };
    const running = runShell("sleep 60 & echo $$ $! >&2", {
      signal: controller.signal,
      limits,
      onLine,
    });
    await vi.waitFor(() => expect(pids[0] !== undefined && !isAlive(pids[0])).toBe(true));
    controller.abort();
    expect(await running).toEqual({ type: "cancelled" });
    await expectGone(pids);
  });

  test("leaves no listener on the signal", async () => {
    const { signal } = new AbortController();
    const remove = vi.spyOn(signal, "removeEventListener");
    await runShell("exit 0", { signal });
    expect(remove).toHaveBeenCalledTimes(1);
  });
});

describe("a process that takes too long", () => {
  test("is stopped with all that it has started, and what it printed is kept", async () => {
    const script = "trap '' TERM; sleep 60 & echo $!; echo err >&2; wait; sleep 60";
    const end = await runShell(script, { timeoutMs: 800 });
    const [stdout, stderr] = textsOf(end);
    expect([end.type, stderr]).toEqual(["timed_out", "err\n"]);
    await expectGone([Number(stdout)]);
  });

  test.each([0, 10_000, 2 ** 40])(
    "is not one that ends within a limit of %i ms",
    async (timeoutMs) => {
      const end = await runShell("sleep 0.05", { timeoutMs });
      expect(end.type).toBe("exited");
    },
  );
});

test.each([
  ["that does not exist", { program: "/nonexistent", args: [] }, "ENOENT"],
  ["that is no program", { program: "/etc/passwd", args: [] }, "EACCES"],
  ["with a NUL in its arguments", { program: "sh", args: ["\0"] }, "ERR_INVALID_ARG_VALUE"],
  ["with a huge argument", { program: "sh", args: ["x".repeat(10_000_000)] }, "E2BIG"],
])("a program %s is not started", async (_, command, code) => {
  expect(await runShell("", { command })).toMatchObject({ type: "not_started", error: { code } });
});
