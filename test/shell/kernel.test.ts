import { execFileSync } from "node:child_process";
import { readlinkSync } from "node:fs";
import { describe, expect, test } from "vitest";
import type { SandboxPlace } from "../../src/reach/shell/index.ts";
import { counters } from "../security/threats.ts";
import { scene, type Scene, useSandbox } from "./support.ts";

const ADD_KEY = process.arch === "arm64" ? 217 : 248;
const REQUEST_KEY = ADD_KEY + 1;
const KEYCTL = ADD_KEY + 2;
const [JOIN_SESSION, READ] = [1, 11];
const SESSION_KEYRING = -3;

// In Perl, because it is on every Debian, and has a function for any system call.
const ADD = `my ($type, $name, $text) = ("user", "jp-test", "geheim"); my $key = syscall(${ADD_KEY}, $type, $name, $text, 6, ${SESSION_KEYRING});`;
const REPORT = 'print $!{ENOSYS} ? "no keys " : "error $! " if $result < 0;';
const READ_KEY = `my $text = " " x 6; my $result = syscall(${KEYCTL}, ${READ}, $ENV{KEY} + 0, $text, 6); print $text; ${REPORT}`;
const ATTACKS = [
  READ_KEY,
  `${ADD} my $result = $key; ${REPORT}`,
  `my ($type, $name) = ("user", "jp-test"); my $result = syscall(${REQUEST_KEY}, $type, $name, 0, 0); ${REPORT}`,
];
const perl = (program: string) => `perl -MErrno -e '${program}'`;

/**
 * Runs a line from a jp whose session keyring has a key. `KEY` is the key, or negative where the machine itself lets no one
 * keep keys, as in some containers.
 */
function runWithKey(
  { run: _run, outside: _outside, ...place }: Scene,
  line: string,
  { isConfined }: { readonly isConfined: boolean },
): string {
  const program = programFor(line, place, { isConfined });
  const start = `syscall(${KEYCTL}, ${JOIN_SESSION}, 0); ${ADD} $ENV{KEY} = $key; exec @ARGV`;
  const node = [process.execPath, "--input-type=module", "--eval", program];
  return execFileSync("perl", ["-e", start, ...node], { encoding: "utf8" });
}

/** Runs a line, and prints its output. */
function programFor(
  line: string,
  place: SandboxPlace,
  { isConfined }: { readonly isConfined: boolean },
): string {
  return `
    import { runCommand } from ${JSON.stringify(new URL("../../src/reach/shell/index.ts", import.meta.url))};
    const place = ${JSON.stringify(place)};
    const end = await runCommand({
      line: ${JSON.stringify(line)}, cwd: place.root, variables: process.env, input: "", timeoutMs: 60000,
      signal: new AbortController().signal, onLine: () => undefined,
      output: { shownBytes: 8192, folder: place.home, keptBytes: 8192 },
      ${isConfined ? "sandbox: { place, network: false, git: false }," : ""}
    });
    process.stdout.write(end.output.toText(""));`;
}

describe("a command in the sandbox", () => {
  useSandbox();

  test("cannot read, add or request keys of the caller's session keyring", () => {
    counters("T-SHELL-9");
    const current = scene();
    const control = runWithKey(current, `echo $KEY; ${perl(READ_KEY)}`, { isConfined: false });
    expect(control).toMatch(/^-1\n|\ngeheim$/);
    const line = `${ATTACKS.map(perl).join("; ")}; cat /proc/keys /proc/key-users 2>/dev/null`;
    const output = runWithKey(current, line, { isConfined: true });
    expect(output.trim()).toBe("no keys no keys no keys");
  });

  test("runs under a filter of system calls, and so does what it starts", async () => {
    counters("T-SHELL-9");
    const { run } = scene();
    const line = "grep ^Seccomp: /proc/self/status; sh -c 'grep ^Seccomp: /proc/self/status'";
    expect(await run(line, { network: true })).toBe("Seccomp:\t2\nSeccomp:\t2\n0");
  });

  test("cannot leave through a folder that jp's own parent has opened", () => {
    counters("T-SHELL-1");
    const { run: _run, outside, ...place } = scene();
    const line =
      "cat /proc/self/fd/[0-9]*/visible /proc/$$/fd/251/visible 2>/dev/null; ls -l /proc/self/fd | grep -c outside";
    const program = programFor(line, place, { isConfined: true });
    const words = ["-c", `exec 9<${outside} 251<${outside}; exec "$@"`, "bash", process.execPath];
    const output = execFileSync("bash", [...words, "--input-type=module", "--eval", program]);
    expect(output.toString()).toBe("0\n");
  });

  test("has a session of its own, so that it has no terminal of jp's", async () => {
    counters("T-SHELL-3");
    const { run } = scene();
    // The session of a process outside would be 0 here.
    const session = await run("cut -d ' ' -f 6 /proc/self/stat");
    expect(session).toMatch(/^[1-9]\d*\n0$/);
  });

  test("shares neither processes, nor messages and memory of the kernel, nor the network with jp", async () => {
    counters("T-SHELL-2", "T-SHELL-3");
    const names = ["pid", "ipc", "uts", "net"];
    const { run } = scene();
    const inside = await run(names.map((name) => `readlink /proc/self/ns/${name}`).join("; "));
    const own = new Set(names.map((name) => readlinkSync(`/proc/self/ns/${name}`)));
    const shared = inside.split("\n").filter((line) => own.has(line));
    expect([inside.split("\n").length, shared]).toEqual([names.length + 1, []]);
  });

  test("has no capabilities, so that it can undo no mount", async () => {
    counters("T-SHELL-1");
    const { run } = scene();
    expect(
      await run("grep -E '^Cap(Eff|Prm|Inh|Amb):' /proc/self/status | tr -d 'a-zA-Z:\t\n'"),
    ).toMatch(/^0+\s*0$/);
  });

  test("gets nothing of what jp and the sandbox tell each other", async () => {
    counters("T-SHELL-10");
    const { run } = scene();
    expect(await run("for fd in 3 4 5; do [ -e /proc/self/fd/$fd ] && echo $fd; done; true")).toBe(
      "0",
    );
    expect(await run("env | grep ^JP_")).toBe("1");
  });
});
