/** Who is logged in, over a restart and with several servers. */
import {
  chmodSync,
  chownSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { counters } from "../../../test/security/threats.ts";
import { migratedDatabase } from "../../../test/support/postgres.ts";
import { PostgresTenant } from "../../stores/postgres/tenant.ts";
import { temporaryFolder } from "../../stores/temporary-workspace.fixture.ts";
import {
  openSessions,
  openSharedSessions,
  OWNER,
  type Session,
  sessionsInMemory,
} from "./sessions.ts";

const HOUR = 3_600_000;
const START = Date.parse("2026-01-02T03:04:05.678Z");

function session(key: string, fields: Partial<Session> = {}): Session {
  return { key, who: OWNER, startedAt: START, usedAt: START, ...fields };
}

function open() {
  const folder = path.join(temporaryFolder(), "data");
  const problems: string[] = [];
  const openAgain = () => openSessions(folder, (problem) => problems.push(problem));
  return { folder, file: path.join(folder, "desk-sessions.json"), problems, openAgain };
}

const BOB = { who: "b".repeat(64) };

/** The sessions of two desks that share a database. */
async function openDesks() {
  const options = { url: await migratedDatabase(), tenant: crypto.randomUUID(), pid: process.pid };
  const openDesk = () => {
    const tenant = new PostgresTenant(options);
    onTestFinished(() => tenant.close());
    const own = sessionsInMemory();
    return { tenant, own, sessions: openSharedSessions(tenant.sessions, own, () => undefined) };
  };
  return [openDesk(), openDesk()] as const;
}

describe.each([
  ["in memory", async () => sessionsInMemory()],
  ["in a file", async () => open().openAgain()],
  ["in a database", async () => (await openDesks())[0].sessions],
])("%s", (_where, create) => {
  test("a session is found until it ends", async () => {
    const sessions = await create();
    await sessions.start(session("a", BOB));
    await sessions.start(session("b", BOB));
    await sessions.end("a");
    expect([await sessions.find("a"), await sessions.find("b")]).toEqual([
      undefined,
      session("b", BOB),
    ]);
  });

  test("a session ends those that it replaces", async () => {
    const sessions = await create();
    await sessions.start(session("a", BOB));
    await sessions.start(session("b", BOB), ["a", "unknown"]);
    expect([await sessions.find("a"), await sessions.find("b")]).toEqual([
      undefined,
      session("b", BOB),
    ]);
  });

  test("each new login beyond the limit ends only one's own oldest session", async () => {
    counters("T-DESK-5");
    const sessions = await create();
    await sessions.start(session("owner", { usedAt: START - HOUR }));
    for (let count = 0; count <= 50; count += 1) {
      await sessions.start(session(`${count}`, { who: "ada", usedAt: START + count }));
    }
    const found = await Promise.all(["owner", "0", "1", "50"].map((key) => sessions.find(key)));
    expect(found.map((each) => each?.key)).toEqual(["owner", undefined, "1", "50"]);
  });
});

describe("at desks that share a database", () => {
  test("a session counts at all of them, and ends at all of them", async () => {
    const [one, two] = await openDesks();
    await one.sessions.start(session("a", BOB));
    expect(await two.sessions.find("a")).toEqual(session("a", BOB));
    await two.sessions.end("a");
    expect(await one.sessions.find("a")).toBeUndefined();
  });

  test("a session has ended where someone logs out, although a request looks for it meanwhile", async () => {
    counters("T-DESK-6");
    const [{ sessions }] = await openDesks();
    await sessions.start(session("a", BOB));
    await Promise.all([sessions.find("a"), sessions.end("a"), sessions.find("a")]);
    expect(await sessions.find("a")).toBeUndefined();
  });

  test("a session of an owner counts only at their own desk", async () => {
    counters("T-PEOPLE-6");
    counters("T-DESK-8");
    const [one, two] = await openDesks();
    await one.sessions.start(session("a"));
    expect(await one.sessions.find("a")).toEqual(session("a"));
    expect(await two.sessions.find("a")).toBeUndefined();
    expect(await one.tenant.sessions.find("a")).toBeUndefined();
  });

  test("a session of an owner that someone has written to the database does not count", async () => {
    counters("T-PEOPLE-6");
    counters("T-DESK-8");
    const [one] = await openDesks();
    const ended = { keys: [], startedBefore: 0, usedBefore: 0, kept: 10 };
    await one.tenant.sessions.start(session("a"), ended);
    expect(await one.tenant.sessions.find("a")).toEqual(session("a"));
    expect(await one.sessions.find("a")).toBeUndefined();
  });

  test("a session replaces the one with the same key, whoever it was", async () => {
    const [one, two] = await openDesks();
    await one.sessions.start(session("a"));
    await one.sessions.start(session("a", BOB), ["a"]);
    expect(await one.sessions.find("a")).toEqual(session("a", BOB));
    await one.sessions.start(session("a"), ["a"]);
    expect([await one.sessions.find("a"), await two.sessions.find("a")]).toEqual([
      session("a"),
      undefined,
    ]);
  });

  test("a session has its use stored once an hour, and is removed once it has expired", async () => {
    const [one] = await openDesks();
    const { sessions, tenant } = one;
    await sessions.start(session("a", BOB));
    await sessions.use("a", START + HOUR - 1);
    const before = await sessions.find("a");
    await sessions.use("a", START + HOUR);
    expect([before?.usedAt, (await sessions.find("a"))?.usedAt]).toEqual([START, START + HOUR]);
    const later = START + 26 * HOUR;
    await sessions.start(session("b", { ...BOB, startedAt: later, usedAt: later }));
    expect(await tenant.sessions.find("a")).toBeUndefined();
  });

  test("a session has ended here, although the database cannot be reached", async () => {
    const [one, two] = await openDesks();
    await one.sessions.start(session("a", BOB));
    await two.sessions.find("a");
    await two.tenant.close();
    await expect(two.sessions.end("a")).rejects.toMatchObject({ code: "store_unreachable" });
    expect(await two.sessions.find("a")).toBeUndefined();
  });
});

test("the file of sessions is private and has no secrets", async () => {
  counters("T-DESK-8");
  const { file, folder, openAgain } = open();
  await openAgain().start(session("a"));
  expect(JSON.parse(readFileSync(file, "utf8"))).toEqual({
    sessions: [
      {
        key_sha256: "a",
        who: "owner",
        started_at: "2026-01-02T03:04:05.678Z",
        used_at: "2026-01-02T03:04:05.678Z",
      },
    ],
  });
  expect([statSync(file).mode & 0o777, statSync(folder).mode & 0o777]).toEqual([0o600, 0o700]);
});

test("using a session is stored once an hour", async () => {
  const { file, openAgain } = open();
  const sessions = openAgain();
  await sessions.start(session("a"));
  const { ino } = statSync(file);
  await sessions.use("a", START + HOUR - 1);
  expect(statSync(file).ino).toBe(ino);
  await sessions.use("a", START + HOUR);
  expect(await openAgain().find("a")).toEqual(session("a", { usedAt: START + HOUR }));
});

test("what has expired is no longer stored", async () => {
  const { file, openAgain } = open();
  await openAgain().start(session("old"));
  const later = START + 24 * HOUR + 1;
  await openAgain().start(session("new", { startedAt: later, usedAt: later }));
  expect(readFileSync(file, "utf8")).not.toContain("old");
});

test("a session that ended in one server does not come back by what others store", async () => {
  counters("T-DESK-6");
  const { openAgain } = open();
  const [one, two, three] = [openAgain(), openAgain(), openAgain()];
  await one.start(session("a"));
  await two.start(session("b"));
  await Promise.all([
    one.end("a"),
    two.use("a", START + 2 * HOUR),
    three.start(session("c")),
    two.use("b", START + 2 * HOUR),
  ]);
  await two.use("a", START + 4 * HOUR);
  for (const sessions of [one, two, three, openAgain()]) {
    const found = await Promise.all(["a", "b", "c"].map((key) => sessions.find(key)));
    expect(found.map((each) => each?.key)).toEqual([undefined, "b", "c"]);
  }
});

test("deleting the file ends all sessions at once", async () => {
  const { file, openAgain } = open();
  const sessions = openAgain();
  await sessions.start(session("a"));
  rmSync(file);
  expect(await sessions.find("a")).toBeUndefined();
});

test("a session whose end cannot be stored has ended for this server", async () => {
  const { file, openAgain } = open();
  const sessions = openAgain();
  await sessions.start(session("a"));
  mkdirSync(`${file}.lock`);
  await expect(sessions.end("a")).rejects.toMatchObject({ code: "write_failed" });
  expect(await sessions.find("a")).toBeUndefined();
});

test("a use that cannot be stored is a problem, but not an error", async () => {
  const { file, problems, openAgain } = open();
  const sessions = openAgain();
  await sessions.start(session("a"));
  mkdirSync(`${file}.lock`);
  await sessions.use("a", START + HOUR);
  expect(problems).toEqual([expect.stringContaining(`Cannot write ${file}.lock`)]);
});

describe("a file of sessions that is damaged or open to others", () => {
  const STORED = JSON.stringify({
    sessions: [{ key_sha256: "a", who: OWNER, started_at: "2026-01-02", used_at: "2026-01-02" }],
  });

  const cases: readonly (readonly [string, (file: string) => void])[] = [
    ["is empty", (file) => writeFileSync(file, "")],
    ["is cut off", (file) => writeFileSync(file, STORED.slice(0, -5))],
    ["does not say who", (file) => writeFileSync(file, STORED.replace('"owner"', "null"))],
    ["has no time", (file) => writeFileSync(file, STORED.replace("2026-01-02", "soon"))],
    ["may be read by others", (file) => chmodSync(file, 0o640)],
    ["may be written by others", (file) => chmodSync(file, 0o602)],
    [
      "is a link",
      (file) => {
        writeFileSync(`${file}.other`, STORED, { mode: 0o600 });
        rmSync(file);
        symlinkSync(`${file}.other`, file);
      },
    ],
    ...(process.getuid?.() === 0
      ? [["belongs to another user", (file: string) => chownSync(file, 12_345, 12_345)] as const]
      : []),
  ];

  test.each(cases)("is not used, which is reported once: it %s", async (_title, spoil) => {
    counters("T-DESK-8");
    const { file, problems, openAgain } = open();
    const sessions = openAgain();
    await sessions.start(session("old"));
    writeFileSync(file, STORED);
    expect(await sessions.find("a")).toBeDefined();
    spoil(file);
    expect([await sessions.find("a"), await sessions.find("a")]).toEqual([undefined, undefined]);
    expect(problems).toEqual([expect.stringContaining("Everyone has to log in again")]);
    await sessions.start(session("b"));
    expect([await sessions.find("a"), await sessions.find("b")]).toEqual([undefined, session("b")]);
    expect(statSync(file).mode & 0o777).toBe(0o600);
  });
});
