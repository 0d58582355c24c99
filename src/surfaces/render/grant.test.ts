import { describe, expect, test } from "vitest";
import { type GrantScope, timestampFromDate } from "../../record/conversation/index.ts";
import type { Capabilities } from "../../record/tool/index.ts";
import { describeCapabilities, describeGrant, describeScope, describeUntil } from "./grant.ts";

const NOW = new Date(2026, 10, 17, 12);
const untilEndOf = (...[year, month, day]: readonly [number, number, number]) =>
  timestampFromDate(new Date(year, month - 1, day + 1));

describe("what was granted, in words", () => {
  test.each<[GrantScope, string]>([
    [{ code: "exact_call", parts: ["{}"] }, "this exact call"],
    [{ code: "files", parts: ["a.ts"] }, "the path a.ts"],
    [{ code: "files", parts: ["a.ts", "b.ts"] }, "the paths a.ts, b.ts"],
    [{ code: "folder", parts: ["src/agent"] }, "files in src/agent/"],
    [{ code: "command", parts: ["ls -l"] }, "the command ls -l, in any folder"],
    [
      { code: "command", parts: ["ls -l"], limits: { folder: "." } },
      "the command ls -l, in the workspace",
    ],
    [
      { code: "command_prefix", parts: ["npm test"] },
      "commands that begin with npm test, in any folder",
    ],
    [
      { code: "command_prefix", parts: ["npm test"], limits: { folder: ".", options: [] } },
      "commands that begin with npm test, in the workspace, without options",
    ],
    [
      {
        code: "command_prefix",
        parts: ["git diff"],
        limits: { confinement: "sandbox", folder: "src", options: ["--stat", "-M\u202e"] },
      },
      "commands that begin with git diff, in src/ and below, with no options but --stat, -M<U+202E>",
    ],
    [
      { code: "exact_call", parts: ["{}"], limits: { confinement: "none", folder: "." } },
      "this exact call, not sandboxed",
    ],
    [
      {
        code: "exact_call",
        parts: ["{}"],
        limits: { confinement: "sandbox", network: true, folder: "." },
      },
      "this exact call, with a network",
    ],
    [
      {
        code: "exact_call",
        parts: ["{}"],
        limits: { confinement: "sandbox", git: true, folder: "." },
      },
      "this exact call, with write access to .git",
    ],
    [{ code: "folder", parts: ["src"], limits: { folder: "." } }, "files in src/"],
    [{ code: "host", parts: ["example.com"] }, "pages of example.com"],
    [{ code: "rule", parts: ['{"mode":"unattended"}'] }, 'calls that match {"mode":"unattended"}'],
    [{ code: "files", parts: ["a\u202e\n"] }, "the path a<U+202E><U+000A>"],
  ])("is which calls: %j", (scope, words) => {
    expect(describeScope(scope)).toBe(words);
  });

  test("has the arguments of an exact call where the call is not on the screen", () => {
    const scope = { code: "exact_call", parts: ['{"to":"test"}'] } as const;
    expect(describeScope(scope, true)).toBe('exactly {"to":"test"}');
  });

  test.each([
    ["turn", "this turn"],
    ["always", "always"],
    [untilEndOf(2026, 11, 17), "today"],
    [untilEndOf(2026, 12, 17), "until 17 Dec"],
    [untilEndOf(2027, 11, 17), "until 17 Nov 2027"],
  ] as const)("is how long: %s", (until, words) => {
    expect(describeUntil(until, NOW)).toBe(words);
  });

  test("is one line at the prompt", () => {
    const scope = { code: "folder", parts: ["src/agent"] } as const;
    expect([
      describeGrant(scope, "turn", NOW),
      describeGrant(scope, untilEndOf(2026, 12, 17), NOW),
      describeGrant(scope, "always", NOW),
    ]).toEqual([
      "yes, and for files in src/agent/ this turn",
      "yes, and for files in src/agent/ until 17 Dec",
      "yes, and always for files in src/agent/",
    ]);
  });
});

test.each<[Capabilities, string]>([
  [{ folder: "." }, ""],
  [{ confinement: "none", folder: "." }, ", not sandboxed"],
  [{ confinement: "sandbox", folder: "." }, ", in the sandbox without a network"],
  [{ confinement: "sandbox", network: true, folder: "." }, ", in the sandbox with a network"],
  [
    { confinement: "sandbox", folder: "src" },
    ", in the sandbox without a network, in src/ and below",
  ],
  [
    { folder: ".", outside: ["/etc/hosts", "/a\u202e"] },
    ", with no files outside the workspace but /etc/hosts, /a<U+202E>",
  ],
])("what an answer for the turn covers is said after the calls: %j", (shown, words) => {
  expect(describeCapabilities(shown)).toBe(words);
});
