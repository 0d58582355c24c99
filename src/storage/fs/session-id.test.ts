import { spawnSync, type SpawnSyncOptionsWithStringEncoding } from "node:child_process";
import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import { findSessionId, sessionKey } from "./session-id.ts";

const isLinux = process.platform === "linux";

test("JP_SESSION comes before everything else", () => {
  expect(findSessionId({ JP_SESSION: "mine", TMUX_PANE: "%1" })).toEqual({
    id: "mine",
    source: { type: "env", key: "JP_SESSION" },
  });
});

test.runIf(isLinux)("the system's session comes next, and an empty setting is none", () => {
  // A session of its own: that of this process may have begun where its number means nothing.
  const { stdout } = spawnSync(
    process.execPath,
    [
      "--input-type=module",
      "--eval",
      `import { findSessionId } from ${JSON.stringify(new URL("session-id.ts", import.meta.url))};
       const found = findSessionId({ JP_SESSION: "", TMUX_PANE: "%1" });
       console.log(JSON.stringify({ found, pid: process.pid }));`,
    ],
    { detached: true, encoding: "utf8" } as SpawnSyncOptionsWithStringEncoding,
  );
  const { found, pid } = JSON.parse(stdout) as { found: unknown; pid: number };
  expect(found).toEqual({ id: String(pid), source: { type: "getsid" } });
});

test.skipIf(isLinux)("elsewhere the terminal's own settings are asked, in order", () => {
  expect({
    tmux: findSessionId({ TMUX_PANE: "%1", WEZTERM_PANE: "2", ITERM_SESSION_ID: "3" }),
    iterm: findSessionId({ TMUX_PANE: "", ITERM_SESSION_ID: "3" }),
    none: findSessionId({}),
  }).toEqual({
    tmux: { id: "%1", source: { type: "env", key: "TMUX_PANE" } },
    iterm: { id: "3", source: { type: "env", key: "ITERM_SESSION_ID" } },
    none: undefined,
  });
});

test("a session's key hides what the setting says", async () => {
  const digest = createHash("sha256").update("secret name").digest("hex").slice(0, 16);
  expect({
    system: await sessionKey({ id: "1234", source: { type: "getsid" } }),
    variable: await sessionKey({ id: "secret name", source: { type: "env", key: "JP_SESSION" } }),
    odd: await sessionKey({ id: "../../1", source: { type: "getsid" } }),
  }).toEqual({
    system: "getsid-1234",
    variable: `env-JP_SESSION-${digest}`,
    odd: "getsid-______1",
  });
});
