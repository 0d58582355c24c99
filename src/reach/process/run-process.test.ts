import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, describe, expect, test, vi } from "vitest";
import { isAlive } from "../../util/is-alive.fixture.ts";
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
    program: "sh",
    args: ["-c", script],
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
  await vi.waitFor(() => expect(pids.filter(isAlive)).toEqual([]), { timeout: 20_000 });
}

const textsOf = (end: ProcessEnd) =>
  "stdout" in end ? [end.stdout.toText(), end.stderr.toText()] : [];

describe("a process that ends", () => {
  test("reports its output and its status", async () => {
    const end = await runShell("echo out; echo err >&2; exit 3");
    expect([end.type, "exit" in end && end.exit, textsOf(end)]).toEqual([
      "exited",
      { status: 3 },
      ["out\n", "err\n"],
    ]);
  });

  test("reports the name of the signal that ended it", async () => {
    const end = await runShell("kill -9 $$");
    expect("exit" in end && end.exit).toEqual({ signal: "SIGKILL" });
  });

  test("gets its input, and then end of file", async () => {
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

  test("runs in the given folder with the given variables, and one that marks its group", async () => {
    const variables = { PATH: process.env["PATH"], A: "b" };
    const script = "pwd; env | grep -v -e ^PWD= -e ^_= -e ^SHLVL= -e ^PATH= | sort";
    const end = await runShell(script, { cwd: "/", variables });
    expect(textsOf(end)[0]).toMatch(/^\/\nA=b\nJP_PROCESS_GROUP=\d+-[0-9a-f]{8}\n$/);
  });

  test("reports its standard error line by line while it runs", async () => {
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

  test("does not have to wait for another process that holds its output open", async () => {
    const end = await runShell("sleep 60 & echo $! >&2; echo done");
    const [stdout, stderr] = textsOf(end);
    const pid = Number(stderr);
    started.push(pid);
    expect([end.type, stdout, isAlive(pid)]).toEqual(["exited", "done\n", true]);
  });

  test("leaves background processes running", async () => {
    const end = await runShell("sleep 60 >/dev/null 2>&1 & echo $!");
    const pid = Number(textsOf(end)[0]);
    started.push(pid);
    expect([end.type, isAlive(pid)]).toEqual(["exited", true]);
  });
});

describe("output beyond the limit", () => {
  test("is dropped, and a notice says how much it was", async () => {
    const script = 'process.stdout.write("o".repeat(5000)); process.stderr.write("e".repeat(2000))';
    const end = await runShell("", nodeCommand(script));
    expect(textsOf(end)).toEqual([
      `${"o".repeat(1000)}\n[Truncated: 4000 of 5000 bytes omitted.]`,
      `${"e".repeat(1000)}\n[Truncated: 1000 of 2000 bytes omitted.]`,
    ]);
  });

  test("takes no memory, even 50 MB of it", async () => {
    // In its own process, where nothing else needs memory and garbage collection is quick.
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
      const { stdout, stderr } = await runProcess({
        program: "sh",
        args: ["-c", process.argv[1]],
        cwd: "/",
        variables: process.env,
        input: "",
        signal: new AbortController().signal,
        onLine: () => (most = Math.max(most, held())),
        limits: ${JSON.stringify(LIMITS)},
      });
      const notices = [stdout, stderr].map((output) => output.toText().slice(1000));
      console.log(JSON.stringify({ notices, grown: Math.max(most, held()) - before }));
    `;
    // Each line on standard error takes a sample.
    const script =
      "for i in 1 2 3 4 5; do head -c 10000000 /dev/zero; echo >&2 tick; done; head -c 49999975 /dev/zero >&2";
    const flags = ["--expose-gc", "--input-type=module", "--no-warnings"];
    const command = { program: process.execPath, args: [...flags, "-e", program, script] };
    const [report = ""] = textsOf(await runShell("", command));
    const { notices, grown } = JSON.parse(report) as { notices: string[]; grown: number }; // As printed.
    const notice = "\n[Truncated: 49999000 of 50000000 bytes omitted.]";
    expect(notices).toEqual([notice, notice]);
    expect(grown).toBeLessThan(5_000_000);
  });
});

describe("a process that is stopped", () => {
  test("ends with everything it has started", async () => {
    const script =
      "sleep 60 & sleep 60 >/dev/null 2>&1 & sh -c 'sleep 60 & echo $$ $! >&2; wait' & wait";
    const { end, pids } = await stopWhenStarted(script, 2);
    expect(end).toEqual({ type: "cancelled" });
    await expectGone(pids);
  });

  test("has time to clean up", async () => {
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

  test("is killed if it ignores SIGTERM, and so are its descendants", async () => {
    const script =
      "trap '' TERM; sh -c 'trap \"\" TERM; sleep 60 & echo $$ $! >&2; wait; sleep 60' & echo $$ >&2; wait; sleep 60";
    const { end, pids } = await stopWhenStarted(script, 3);
    expect(end).toEqual({ type: "cancelled" });
    await expectGone(pids);
  });

  test("ends even if only a descendant ignores SIGTERM", async () => {
    const script = "sh -c 'trap \"\" TERM; echo $$ >&2; sleep 60; sleep 60' & wait";
    const { end, pids } = await stopWhenStarted(script, 1);
    expect(end).toEqual({ type: "cancelled" });
    await expectGone(pids);
  });

  test("is never started if the signal was aborted before", async () => {
    const signal = AbortSignal.abort();
    const command = { program: "/nonexistent", args: [] };
    expect(await runShell("", { ...command, signal })).toEqual({ type: "cancelled" });
  });

  test("counts as cancelled if only its background processes are left, and these are ended", async () => {
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
    await vi.waitFor(() => expect(pids[0] !== undefined && !isAlive(pids[0])).toBe(true), {
      timeout: 20_000,
    });
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
  test("is stopped with everything it has started, and its output is kept", async () => {
    const script = "trap '' TERM; sleep 60 & echo $!; echo err >&2; wait; sleep 60";
    const end = await runShell(script, { timeoutMs: 800 });
    const [stdout, stderr] = textsOf(end);
    expect([end.type, stderr]).toEqual(["timed_out", "err\n"]);
    await expectGone([Number(stdout)]);
  });

  test.each([0, 10_000, 2 ** 40])(
    "does not include one that ends within a limit of %i ms",
    async (timeoutMs) => {
      const end = await runShell("sleep 0.05", { timeoutMs });
      expect(end.type).toBe("exited");
    },
  );
});

test.each([
  ["that does not exist", { program: "/nonexistent", args: [] }, "ENOENT"],
  ["that is not executable", { program: "/etc/passwd", args: [] }, "EACCES"],
  ["with a NUL in its arguments", { program: "sh", args: ["\0"] }, "ERR_INVALID_ARG_VALUE"],
  ["with a huge argument", { program: "sh", args: ["x".repeat(10_000_000)] }, "E2BIG"],
])("a program %s is not started", async (_, command, code) => {
  expect(await runShell("", command)).toMatchObject({ type: "not_started", error: { code } });
});
