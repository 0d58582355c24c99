import { spawnSync, type SpawnSyncOptionsWithStringEncoding } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { codeOf, failureOf } from "../record-elements.fixture.ts";
import { START, temporaryFolder, temporaryWorkspace } from "../temporary-workspace.fixture.ts";
import { fileIdFromNumber } from "./file-id.ts";
import { FakeClock } from "../../testing/index.ts";
import { findSessionId, FsSessionStore, sessionKey } from "./sessions.ts";

const FIRST = fileIdFromNumber(17_000_000_001);
const SECOND = fileIdFromNumber(17_000_000_002);
const THIRD = fileIdFromNumber(17_000_000_003);

test("a session is stored in one file that other programs can read", async () => {
  const { session, userFolder, clock } = temporaryWorkspace();
  await session.activate(FIRST);
  clock.advance(1_500);
  await session.activate(SECOND);
  const folder = path.join(userFolder, "sessions");
  // The first 16 digits of the SHA-256 of "a-test".
  const name = "env-JP_SESSION-733e5f8530412b4f.json";
  expect({
    names: readdirSync(folder),
    text: readFileSync(path.join(folder, name), "utf8"),
  }).toEqual({
    names: [name],
    text: [
      "{",
      '  "history": [',
      "    {",
      '      "id": 17000000002,',
      '      "activated_at": "2026-01-02T03:04:06.500Z"',
      "    },",
      "    {",
      '      "id": 17000000001,',
      '      "activated_at": "2026-01-02T03:04:05.000Z"',
      "    }",
      "  ],",
      '  "id": "a-test",',
      '  "source": {',
      '    "type": "env",',
      '    "key": "JP_SESSION"',
      "  }",
      "}",
      "",
    ].join("\n"),
  });
});

test("the history lists each conversation once, the latest first", async () => {
  const { session } = temporaryWorkspace();
  const before = await session.history();
  for (const id of [FIRST, SECOND, THIRD, SECOND, SECOND, FIRST]) await session.activate(id);
  expect({ before, after: await session.history() }).toEqual({
    before: [],
    after: [FIRST, SECOND, THIRD],
  });
});

test("sessions are independent", async () => {
  const { session, reopen, environment } = temporaryWorkspace();
  const other = reopen({
    environment: { ...environment, variables: { ...environment.variables, JP_SESSION: "other" } },
  });
  await session.activate(FIRST);
  await other.session.activate(SECOND);
  expect({ own: await session.history(), other: await other.session.history() }).toEqual({
    own: [FIRST],
    other: [SECOND],
  });
});

test.each(["", "{ no json", "[]", '{"history": 1}', '{"history": [1, {"id": "x"}, null]}'])(
  "a session file with %j counts as empty and is replaced",
  async (text) => {
    const { session, userFolder } = temporaryWorkspace();
    mkdirSync(path.join(userFolder, "sessions"), { recursive: true });
    const file = path.join(userFolder, "sessions", "env-JP_SESSION-733e5f8530412b4f.json");
    writeFileSync(file, text);
    const before = await session.history();
    await session.activate(FIRST);
    expect({ before, after: await session.history() }).toEqual({ before: [], after: [FIRST] });
  },
);

test("a session file of the Rust original is read and extended", async () => {
  const { session, userFolder } = temporaryWorkspace();
  mkdirSync(path.join(userFolder, "sessions"), { recursive: true });
  const file = path.join(userFolder, "sessions", "env-JP_SESSION-733e5f8530412b4f.json");
  writeFileSync(
    file,
    '{"history":[{"id":17000000001,"activated_at":"2025-07-19T14:00:00Z"}],"id":"a-test",' +
      '"source":{"type":"env","key":"JP_SESSION"}}',
  );
  await session.activate(SECOND);
  const { history } = JSON.parse(readFileSync(file, "utf8")) as { history: unknown };
  expect(history).toEqual([
    { id: 17_000_000_002, activated_at: "2026-01-02T03:04:05.000Z" },
    { id: 17_000_000_001, activated_at: "2025-07-19T14:00:00Z" },
  ]);
});

test("without a session there is no history, and activating fails", async () => {
  const folder = temporaryFolder();
  const session = new FsSessionStore({
    session: undefined,
    findUserFolder: () => folder,
    ensureUserFolder: () => Promise.resolve(folder),
    clock: new FakeClock(START),
  });
  expect({
    history: await session.history(),
    failure: await failureOf(session.activate(FIRST)),
    names: readdirSync(folder),
  }).toEqual({
    history: [],
    failure: { code: "no_session", message: "Cannot identify this terminal session." },
    names: [],
  });
});

test("a session that cannot be written is an error", async () => {
  const { session, userFolder } = temporaryWorkspace();
  mkdirSync(userFolder, { recursive: true });
  writeFileSync(path.join(userFolder, "sessions"), "a file where the folder should be");
  expect(await codeOf(session.activate(FIRST))).toBe("write_failed");
});

const isLinux = process.platform === "linux";

test("JP_SESSION takes precedence", () => {
  expect(findSessionId({ JP_SESSION: "mine", TMUX_PANE: "%1" })).toEqual({
    id: "mine",
    source: { type: "env", key: "JP_SESSION" },
  });
});

test.runIf(isLinux)("the system's session comes next, and an empty JP_SESSION is ignored", () => {
  // In a new session: the id of this process's session may be invalid, as in a container.
  const { stdout } = spawnSync(
    process.execPath,
    [
      "--input-type=module",
      "--eval",
      `import { findSessionId } from ${JSON.stringify(new URL("sessions.ts", import.meta.url))};
       const found = findSessionId({ JP_SESSION: "", TMUX_PANE: "%1" });
       console.log(JSON.stringify({ found, pid: process.pid }));`,
    ],
    { detached: true, encoding: "utf8" } as SpawnSyncOptionsWithStringEncoding,
  );
  const { found, pid } = JSON.parse(stdout) as { found: unknown; pid: number };
  expect(found).toEqual({ id: String(pid), source: { type: "getsid" } });
});

test.skipIf(isLinux)("on other systems, variables of the terminal are used in order", () => {
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

test("the file name of a session does not reveal the variable's value", async () => {
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
