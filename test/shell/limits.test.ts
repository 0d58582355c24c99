import { spawnSync } from "node:child_process";
import { describe, expect, test } from "vitest";
import { type CommandLimits, withLimits } from "../../src/reach/shell/limits.ts";
import { resolveShell } from "../../src/settings/config/index.ts";
import { counters } from "../security/threats.ts";
import { runIn, scene, useSandbox } from "./support.ts";

const NONE: CommandLimits = { processes: 0, memoryBytes: 0, openFiles: 0 };
const DEFAULTS = resolveShell({}).limits;

const run = (line: string, limits: CommandLimits) => {
  const { run: _run, ...place } = scene();
  return runIn(place, line, { limits });
};

describe("a command with limits", () => {
  useSandbox();

  test("cannot have more files open than its limit, nor raise it", async () => {
    counters("T-SHELL-11");
    const open = "for i in $(seq 60); do exec {fd}</dev/null || exit 3; done 2>/dev/null";
    const line = `ulimit -n 100 2>/dev/null || echo no; ${open}`;
    expect([await run(line, { ...NONE, openFiles: 50 }), await run(line, NONE)]).toEqual([
      "no\n3",
      "0",
    ]);
  });

  test("cannot have more memory in one process than its limit", async () => {
    counters("T-SHELL-11");
    const line = `perl -e 'my $text = "x" x 200_000_000; print length $text' 2>/dev/null || echo no`;
    expect(await run(line, NONE)).toBe("200000000\n0");
    expect(await run(line, { ...NONE, memoryBytes: 100_000_000 })).toBe("no\n0");
  });

  test("gets a limit of processes in the sandbox, and none outside, where it would count the user's", async () => {
    counters("T-SHELL-11");
    const limits = { ...NONE, processes: 77 };
    const [program, ...args] = withLimits(["bash", "-c", "ulimit -u"], limits, "6.1.0");
    const outside = spawnSync(program, args, { encoding: "utf8" }).stdout;
    expect([await run("ulimit -u", limits), outside === "77\n"]).toEqual(["77\n0", false]);
  });

  test("cannot have more processes than its limit, unless it belongs to root", () => {
    counters("T-SHELL-11");
    const line = "for i in 1 2 3 4 5 6 7 8 9 10 11 12; do sleep 20 & done";
    const words = withLimits(["sh", "-c", line], { ...NONE, processes: 10 });
    const box = [
      "--unshare-user",
      "--unshare-pid",
      "--die-with-parent",
      "--ro-bind",
      "/",
      "/",
      "--proc",
      "/proc",
    ];
    // Another user, since root runs these tests in CI.
    const id = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};
    const options = { ...id, cwd: "/", encoding: "utf8" } as const;
    const { status, stderr } = spawnSync(
      "bwrap",
      [...box, "--dev", "/dev", "--", ...words],
      options,
    );
    expect([status, stderr]).toEqual([2, expect.stringContaining("fork")]);
  });

  test("keeps lower limits of the user, and is marked to be ended first when memory runs out", async () => {
    counters("T-SHELL-11");
    const words = withLimits(["sh", "-c", "ulimit -Sn; ulimit -Hn"], { ...NONE, openFiles: 500 });
    const [, ...args] = words;
    const line = 'ulimit -Sn 100; ulimit -Hn 200; exec sh "$@"';
    const { stdout } = spawnSync("sh", ["-c", line, "sh", ...args], { encoding: "utf8" });
    const score = await run("cat /proc/self/oom_score_adj", DEFAULTS);
    expect([stdout, Number(score.split("\n")[0])]).toEqual(["100\n200\n", 500]);
  });

  test("has its own exit status and output with the limits that jp sets by default", async () => {
    expect(await run("echo out; echo err >&2; exit 9", DEFAULTS)).toBe("out\nerr\n9");
  });
});

test("a command gets no limit of processes on kernels that count those of the user everywhere", () => {
  const limits = { ...NONE, processes: 77 };
  const given = (version: string) => withLimits(["true"], limits, version)[4];
  expect(["5.13.19-pve", "4.18.0", "5.14.0", "6.1.0-13-amd64", "10.0"].map(given)).toEqual([
    "0",
    "0",
    "77",
    "77",
    "77",
  ]);
});
