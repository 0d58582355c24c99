import { describe, expect, test } from "vitest";
import { type Capabilities, capabilitiesOf, coversCapabilities } from "./capabilities.ts";

const SANDBOXED: Capabilities = { confinement: "sandbox", folder: "." };

/** Whether a yes to the first covers the second. */
type Case = readonly [shown: Partial<Capabilities>, asked: Partial<Capabilities>, covers: boolean];

describe("a yes for more than one call", () => {
  test.each<Case>([
    [{}, {}, true],
    [{ confinement: "sandbox" }, { confinement: "none" }, false],
    [{ confinement: "none" }, { confinement: "sandbox" }, true],
    [{ network: true }, {}, true],
    [{ network: true }, { network: true }, true],
    [{}, { network: true }, false],
    [{ git: true }, {}, true],
    [{ git: true }, { git: true }, true],
    [{}, { git: true }, false],
    [{ confinement: "none" }, { network: true }, false],
    [{ folder: "." }, { folder: "src/agent" }, true],
    [{ folder: "src" }, { folder: "src" }, true],
    [{ folder: "src" }, { folder: "src/agent" }, true],
    [{ folder: "src" }, { folder: "." }, false],
    [{ folder: "src" }, { folder: "test" }, false],
    [{ folder: "src" }, { folder: "srcs" }, false],
    [{ folder: "src/agent" }, { folder: "src" }, false],
    [{ folder: "." }, { folder: ".." }, false],
    [{ folder: "." }, { folder: "../other" }, false],
    [{ folder: "." }, { folder: "/etc" }, false],
    [{ folder: "." }, { folder: "..a" }, true],
    [{ outside: ["/etc/hosts"] }, { outside: ["/etc/hosts"] }, true],
    [{ outside: ["/etc/hosts"] }, {}, true],
    [{ outside: ["/a", "/b"] }, { outside: ["/b"] }, true],
    [{}, { outside: ["/etc/hosts"] }, false],
    [{ outside: ["/etc"] }, { outside: ["/etc/hosts"] }, false],
  ])("covers calls that can do no more than the one shown: %j, then %j: %j", (...each) => {
    const [shown, asked, covers] = each;
    expect(coversCapabilities({ ...SANDBOXED, ...shown }, { ...SANDBOXED, ...asked })).toBe(covers);
  });

  test("covers no command if none was shown, and nothing but commands if one was", () => {
    const plain = { folder: "." };
    expect([coversCapabilities(plain, SANDBOXED), coversCapabilities(SANDBOXED, plain)]).toEqual([
      false,
      false,
    ]);
  });
});

test("the capabilities of a call are what its request shows, without whether it can be undone", () => {
  const origin = { type: "builtin", confinement: "sandbox", network: true, undo: "git" } as const;
  expect([
    capabilitiesOf({ origin, folder: "src", outside: [] }),
    capabilitiesOf({ origin: { type: "local", command: "x" }, outside: ["/etc/hosts"] }),
    capabilitiesOf({}),
  ]).toEqual([
    { confinement: "sandbox", network: true, folder: "src" },
    { folder: ".", outside: ["/etc/hosts"] },
    { folder: "." },
  ]);
});
