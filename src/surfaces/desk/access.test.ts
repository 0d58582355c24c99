/** Who gets in, and for how long. */
import { readFileSync, writeFileSync } from "node:fs";
import type { IncomingMessage } from "node:http";
import path from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { freePort } from "../../../test/mcp/http-programs.ts";
import { counters } from "../../../test/security/threats.ts";
import { migratedDatabase } from "../../../test/support/postgres.ts";
import { openPeople } from "../../settings/people/index.ts";
import { PostgresTenant } from "../../stores/postgres/tenant.ts";
import { Access, type AccessOptions } from "./access.ts";
import { createKey, publicKeyOf, signText } from "./page/page-key.ts";
import {
  bearer,
  OWNER,
  type PageSession,
  QUESTION_PATH,
  READ,
  ServedDesk,
  sessionOf,
} from "./served.fixture.ts";
import { openSessions, openSharedSessions, sessionsInMemory } from "./sessions.ts";
import { proofText } from "./wire.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const YES = { method: "POST", body: { answer: true, ...READ } };

describe("without a token or a session", () => {
  test.each([
    "GET /me",
    "GET /inquiries",
    `GET ${QUESTION_PATH}`,
    `POST ${QUESTION_PATH}/answer`,
    `POST ${QUESTION_PATH}/cancel`,
    "GET /conversations",
    "GET /conversations/jp-c1",
    "GET /conversations/jp-c1/files/55",
    "POST /conversations/jp-c1/resume",
    "GET /events",
    "POST /logout",
  ])("a request is refused: %s", async (route) => {
    const served = await ServedDesk.start();
    const [method = "", address = ""] = route.split(" ");
    const { status, headers, json } = await served.send(address, { method });
    expect([status, headers["www-authenticate"]]).toEqual([401, "Bearer"]);
    expect(json).toMatchObject({ error: { code: "unauthorized" } });
  });

  test("the page and the API's description are shown", async () => {
    const served = await ServedDesk.start();
    expect((await served.send("/", {}, "")).text).toContain("<title>jp</title>");
    expect((await served.send("/openapi.json")).json).toMatchObject({ openapi: "3.1.1" });
  });
});

describe("a token", () => {
  test("makes its person the one who answers", async () => {
    counters("T-DESK-7");
    const served = await ServedDesk.start();
    const headers = bearer(await served.addPerson("ada"));
    const { status, json } = await served.send("/me", { headers });
    expect([status, json]).toEqual([
      200,
      {
        id: expect.stringMatching(/^p_/) as unknown,
        name: "ada",
        rights: ["see", "answer", "approve"],
        no_people: true,
        runs: true,
      },
    ]);
    await served.send(`${QUESTION_PATH}/answer`, { ...YES, headers });
    expect(served.desk.answeredBy).toMatchObject({ name: "ada" });
  });

  test.each(["Bearer x", "Bearer ", "x", "Basic eDp5", "Bearer jpd_a b"])(
    "is refused and audited if it is wrong: %j",
    async (authorization) => {
      const served = await ServedDesk.start();
      await served.addPerson("ada");
      const headers = { authorization, "user-agent": "curl\u009b31m" };
      expect((await served.send("/me", { headers })).status).toBe(401);
      expect(served.audit).toEqual([
        {
          time: "2026-01-02T03:04:05.678Z",
          what: "token_refused",
          client: "127.0.0.1",
          user_agent: expect.stringMatching(/^curl[^\u009b]+31m$/) as unknown,
        },
      ]);
    },
  );

  test("stops working when its person is removed, and with it their session", async () => {
    counters("T-DESK-6");
    const served = await ServedDesk.start();
    const token = await served.addPerson("ada");
    const session = await served.login(token);
    expect((await served.send("/me", session)).json).toMatchObject({ name: "ada" });
    await served.people.remove("ada");
    const statuses = [bearer(token), session.headers].map((headers) =>
      served.send("/me", { headers }),
    );
    expect((await Promise.all(statuses)).map(({ status }) => status)).toEqual([401, 401]);
  });

  test("shows nothing without the right to see", async () => {
    const served = await ServedDesk.start();
    const headers = bearer(await served.addPerson("ada", ["answer"]));
    const paths = ["/inquiries", QUESTION_PATH, "/conversations", "/events"];
    const sent = await Promise.all(paths.map((each) => served.send(each, { headers })));
    expect(sent.map(({ status }) => status)).toEqual(paths.map(() => 403));
  });

  test("no more wrong tokens are looked at or audited once there were too many, but a valid one is accepted", async () => {
    counters("T-DESK-5");
    const served = await ServedDesk.start();
    const headers = bearer(await served.addPerson("ada"));
    const wrong = () => served.send("/me", { headers: bearer("x") });
    const statuses: number[] = [];
    for (let count = 0; count < 30; count += 1) statuses.push((await wrong()).status);
    expect(statuses).toEqual([...Array(20).fill(401), ...Array(10).fill(429)]);
    expect(served.audit).toHaveLength(21);
    expect(served.audit.at(-1)).toMatchObject({ what: "too_many_failures" });
    expect((await served.send("/me", { headers })).status).toBe(200);
    served.clock.advance(MINUTE);
    expect((await wrong()).status).toBe(401);
  });
});

describe("a one-time login", () => {
  test("makes a session of the owner, without a cookie", async () => {
    const served = await ServedDesk.start();
    const started = await served.prove(await createKey(), served.service.createLogin());
    expect([started.status, started.headers["set-cookie"]]).toEqual([200, undefined]);
    const me = await served.send("/me", { headers: sessionOf(started) });
    expect(me.json).toEqual({ ...OWNER, no_people: true, runs: true });
    expect(served.audit).toMatchObject([{ what: "login", name: OWNER.name, client: "127.0.0.1" }]);
  });

  test("can be used only once", async () => {
    counters("T-DESK-6");
    const served = await ServedDesk.start();
    const code = served.service.createLogin();
    const pair = await createKey();
    const results = await Promise.all([1, 2, 3].map(() => served.prove(pair, code)));
    expect(results.filter(({ status }) => status === 401)).toHaveLength(2);
    expect(served.audit.filter(({ what }) => what === "login_refused")).toHaveLength(2);
  });

  test("works for ten minutes", async () => {
    counters("T-DESK-6");
    const served = await ServedDesk.start();
    const [early, late] = [served.service.createLogin(), served.service.createLogin()];
    const pair = await createKey();
    served.clock.advance(10 * MINUTE);
    expect((await served.prove(pair, early)).status).toBe(200);
    served.clock.advance(1);
    expect((await served.prove(pair, late)).status).toBe(401);
  });

  test("is not a token, and has no effect in a GET", async () => {
    counters("T-DESK-2");
    const served = await ServedDesk.start();
    const code = served.service.createLogin();
    expect((await served.send("/me", { headers: bearer(code) })).status).toBe(401);
    expect((await served.send(`/session?login=${code}`)).status).toBe(405);
    expect((await served.prove(await createKey(), code)).status).toBe(200);
  });
});

async function make(served: ServedDesk, headers: Record<string, string>) {
  const { status, json } = await served.send("/logins", { method: "POST", headers, body: {} });
  return { status, code: String((json as { login?: string }).login) };
}

describe("a one-time login that someone makes on the page", () => {
  test("logs in the same person, with the same rights, and is on record", async () => {
    counters("T-DESK-6");
    const served = await ServedDesk.start();
    const token = await served.addPerson("ada", ["see"]);
    const { headers } = await served.login(token);
    const { status, code } = await make(served, headers);
    const started = await served.prove(await createKey(), code);
    const me = await served.send("/me", { headers: sessionOf(started) });
    expect([status, me.json]).toMatchObject([201, { name: "ada", rights: ["see"] }]);
    expect(served.audit.map(({ what, name }) => [what, name])).toEqual([
      ["login", "ada"],
      ["login_created", "ada"],
      ["login", "ada"],
    ]);
    expect((await served.prove(await createKey(), code)).status).toBe(401);
  });

  test("does not work once the person is removed", async () => {
    counters("T-DESK-6");
    const served = await ServedDesk.start();
    const token = await served.addPerson("ada");
    const { code } = await make(served, bearer(token));
    await served.people.remove("ada");
    expect((await served.prove(await createKey(), code)).status).toBe(401);
  });

  test("needs someone who is logged in, and displaces no login of others", async () => {
    counters("T-DESK-6");
    const served = await ServedDesk.start();
    const token = await served.addPerson("ada");
    const owners = served.service.createLogin();
    for (let count = 0; count < 60; count += 1) await make(served, bearer(token));
    expect((await served.prove(await createKey(), owners)).status).toBe(200);
    expect((await make(served, {})).status).toBe(401);
  });
});

async function loggedIn() {
  const served = await ServedDesk.start();
  const { pair } = await served.login();
  return { served, pair };
}

describe("a proof", () => {
  test("goes on with the session of its key, and of no other", async () => {
    const { served, pair } = await loggedIn();
    const again = await served.prove(pair);
    expect((await served.send("/me", { headers: sessionOf(again) })).json).toMatchObject(OWNER);
    expect((await served.prove(await createKey())).status).toBe(401);
  });

  test("counts only once, however often it is sent", async () => {
    counters("T-DESK-6");
    const { served, pair } = await loggedIn();
    const nonce = await served.nonce();
    const sent = [1, 2, 3].map(() => served.prove(pair, undefined, { nonce }));
    const statuses = (await Promise.all(sent)).map(({ status }) => status);
    expect(statuses.filter((status) => status === 401)).toHaveLength(2);
    expect(statuses).toContain(200);
  });

  const ORIGIN = "http://desk.localhost";

  /** What decides, without a server in between. */
  function accessOf(options: Partial<AccessOptions> = {}): Access {
    const { people, clock } = new ServedDesk();
    return new Access({
      people,
      owner: OWNER,
      sessions: sessionsInMemory(),
      scope: "/",
      clock,
      audit: () => undefined,
      origins: [ORIGIN],
      ...options,
    });
  }

  /** Proves the key as often as it is called, with the same nonce. */
  async function proofOf(access: Access, pair: CryptoKeyPair, origin = ORIGIN) {
    const nonce = access.createNonce();
    const signature = await signText(pair, proofText(origin, nonce));
    const proof = { key: await publicKeyOf(pair), nonce, signature };
    const request = { headers: { origin }, socket: {} } as IncomingMessage; // All that is read of it.
    return (login?: string) => access.startSession(proof, login, request);
  }

  test("counts only once, although its signature is checked several times at once", async () => {
    counters("T-DESK-6");
    const access = accessOf();
    const prove = await proofOf(access, await createKey());
    const sent = [1, 2, 3].map(() => prove(access.createLogin()));
    const results = await Promise.allSettled(sent);
    expect(results.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
  });

  test("does not count for a page at another origin, even if it says so", async () => {
    counters("T-DESK-1");
    const access = accessOf();
    const prove = await proofOf(access, await createKey(), "http://evil.example");
    await expect(prove(access.createLogin())).rejects.toMatchObject({ status: 401 });
  });

  test("does not go on with a session of something else that was served at the same address", async () => {
    counters("T-DESK-8");
    const [sessions, pair] = [sessionsInMemory(), await createKey()];
    const before = accessOf({ sessions });
    await (
      await proofOf(before, pair)
    )(before.createLogin());
    const again = await proofOf(accessOf({ sessions }), pair);
    const other = await proofOf(accessOf({ sessions, scope: "all" }), pair);
    await expect(again()).resolves.toEqual(expect.any(String));
    await expect(other()).rejects.toMatchObject({ status: 401 });
  });

  test("counts for a minute", async () => {
    const { served, pair } = await loggedIn();
    const [early, late] = [await served.nonce(), await served.nonce()];
    served.clock.advance(MINUTE);
    expect((await served.prove(pair, undefined, { nonce: early })).status).toBe(200);
    served.clock.advance(1);
    expect((await served.prove(pair, undefined, { nonce: late })).status).toBe(401);
  });

  test("does not count if another server made the nonce, or if the page was at another origin", async () => {
    counters("T-DESK-1");
    const { served, pair } = await loggedIn();
    const hostile = await ServedDesk.start();
    const nonces = [await hostile.nonce(), "", "x", "1.2.3", `${await served.nonce()}x`];
    const sent = nonces.map((nonce) => served.prove(pair, undefined, { nonce }));
    expect((await Promise.all(sent)).map(({ status }) => status)).toEqual(nonces.map(() => 401));
    const { port } = served;
    for (const origin of [`http://127.0.0.1:${port}`, hostile.service.url]) {
      expect((await served.prove(pair, undefined, { origin })).status).toBe(401);
    }
  });

  test.each(["", "x", "BA", "A".repeat(87)])(
    "is refused if the key is not one: %j",
    async (key) => {
      const { served } = await loggedIn();
      const body = { key, nonce: await served.nonce(), signature: "x" };
      expect((await served.send("/session", { method: "POST", body })).status).toBe(401);
    },
  );

  test("is refused with another spelling of its key", async () => {
    const { served, pair } = await loggedIn();
    const key = await publicKeyOf(pair);
    const other = key.slice(0, -1) + String.fromCharCode(key.charCodeAt(key.length - 1) + 1);
    const nonce = await served.nonce();
    const signature = await signText(pair, proofText(served.service.url, nonce));
    const body = { key: other, nonce, signature, login: served.service.createLogin() };
    const { status } = await served.send("/session", { method: "POST", body });
    const isSame = Buffer.from(key, "base64url").equals(Buffer.from(other, "base64url"));
    expect([isSame, status]).toEqual([true, 401]);
  });
});

describe("a session", () => {
  test("ends with a logout", async () => {
    const served = await ServedDesk.start();
    const { pair, headers } = await served.login();
    expect((await served.send("/logout", { method: "POST", headers })).status).toBe(200);
    expect((await served.send("/me", { headers })).status).toBe(401);
    expect((await served.prove(pair)).status).toBe(401);
  });

  test("is replaced by the next one of the same browser", async () => {
    const served = await ServedDesk.start();
    const { pair, headers } = await served.login();
    await served.login(await served.addPerson("ada"), pair);
    expect((await served.send("/me", { headers })).json).toMatchObject({ name: "ada" });
  });

  test("ends after a day without use", async () => {
    counters("T-DESK-6");
    const served = await ServedDesk.start();
    const session = await served.login();
    const me = async () => (await served.send("/me", session)).status;
    served.clock.advance(24 * HOUR);
    expect(await me()).toBe(200);
    served.clock.advance(24 * HOUR + 1);
    expect(await me()).toBe(401);
  });

  test("ends after a week even if it is used until then", async () => {
    counters("T-DESK-6");
    const served = await ServedDesk.start();
    const { pair, headers } = await served.login();
    const me = async () => (await served.send("/me", { headers })).status;
    const statuses: number[] = [];
    for (let hour = 0; hour < 7 * 24; hour += 12) {
      statuses.push(await me());
      served.clock.advance(12 * HOUR);
    }
    statuses.push(await me()); // It is not idle from here on.
    expect(statuses).toEqual(Array(15).fill(200));
    served.clock.advance(1);
    expect([await me(), (await served.prove(pair)).status]).toEqual([401, 401]);
  });

  test("is refused if it is invented, or only a cookie", async () => {
    counters("T-DESK-2");
    const served = await ServedDesk.start();
    const { headers } = await served.login();
    const [, token = ""] = headers.authorization.split(" ");
    const [key = ""] = token.split(".");
    const wrong = ["x", key, `${key}.`, `${key}.x`, `.${token}`].map((each) => ({
      authorization: `Session ${each}`,
    }));
    const sent = [...wrong, { cookie: `jp_desk_${served.port}=${token}` }].map((each) =>
      served.send("/me", { headers: each }),
    );
    expect((await Promise.all(sent)).map(({ status }) => status)).toEqual(Array(6).fill(401));
  });
});

async function answerAs(served: ServedDesk, { pair }: PageSession) {
  const headers = sessionOf(await served.prove(pair));
  return (await served.send(`${QUESTION_PATH}/answer`, { ...YES, headers })).status;
}

/** Two desks, each with an owner of its own. */
async function startDesks() {
  const options = {
    url: await migratedDatabase(),
    tenant: crypto.randomUUID(),
    pid: process.pid,
  };
  const startDesk = async () => {
    const tenant = new PostgresTenant(options);
    onTestFinished(() => tenant.close());
    const sessions = openSharedSessions(tenant.sessions, sessionsInMemory(), () => undefined);
    const people = openPeople(tenant.people);
    const origin = "https://desk.example";
    return {
      people,
      served: await ServedDesk.start({ people, sessions, origin, port: await freePort() }),
    };
  };
  return [await startDesk(), await startDesk()] as const;
}

describe("behind one address, with a database", () => {
  test("whoever is logged in at one desk goes on at another, until they are removed", async () => {
    counters("T-DESK-6");
    const [one, two] = await startDesks();
    const { pair, headers } = await one.served.login(
      await one.people.add("ada", ["see", "answer"]),
    );
    const elsewhere = await two.served.send("/me", { headers });
    expect(elsewhere.status).toBe(401); // The token is that of one process.
    const again = sessionOf(await two.served.prove(pair));
    const me = await two.served.send("/me", { headers: again });
    expect([me.status, me.json["name"]]).toEqual([200, "ada"]);
    await one.people.remove("ada");
    expect((await one.served.send("/me", { headers })).status).toBe(401);
    const find = async () => (await two.served.send("/me", { headers: again })).status;
    await expect.poll(find, { timeout: 10_000 }).toBe(401);
  });

  test("the owner of one desk is not logged in at another", async () => {
    counters("T-DESK-8");
    const [one, two] = await startDesks();
    const login = one.served.service.createLogin();
    const { pair } = await one.served.login(login);
    expect((await one.served.prove(pair)).status).toBe(200);
    expect((await two.served.prove(pair)).status).toBe(401);
    const unused = one.served.service.createLogin();
    expect((await two.served.prove(pair, unused)).status).toBe(401);
  });
});

describe("after a restart", () => {
  type Options = Parameters<typeof ServedDesk.start>[0];

  /** Stores sessions in a file. `restart` starts the server again, on the same port unless told otherwise. */
  async function start() {
    const { folder } = new ServedDesk();
    const stored = () => ({ sessions: openSessions(folder, () => undefined) });
    const served = await ServedDesk.start(stored());
    const restart = async (options: Options = {}) => {
      await served.service.close();
      const { people, port } = served;
      return ServedDesk.start({ ...stored(), people, port, ...options });
    };
    return { served, restart };
  }

  test("an old session answers", async () => {
    const { served, restart } = await start();
    const session = await served.login();
    const again = await restart();
    expect([await answerAs(again, session), again.desk.answeredBy]).toEqual([
      200,
      expect.objectContaining({ name: OWNER.name }),
    ]);
  });

  test("nothing counts that a browser may have sent to another server on the port meanwhile", async () => {
    counters("T-DESK-8");
    const { served, restart } = await start();
    const { pair, headers } = await served.login();
    const nonce = await served.nonce();
    await served.service.close();
    // Another local user takes the port. The open page sends its token, and signs a nonce of their choice.
    const again = await restart();
    expect((await again.send("/me", { headers })).status).toBe(401);
    expect((await again.prove(pair, undefined, { nonce })).status).toBe(401);
  });

  test("a session that was logged out stays out", async () => {
    counters("T-DESK-6");
    const { served, restart } = await start();
    const session = await served.login();
    const { headers } = session;
    expect((await served.send("/logout", { method: "POST", headers })).status).toBe(200);
    expect(await answerAs(await restart(), session)).toBe(401);
  });

  test("a session of someone who was removed meanwhile has ended, also if they were added again", async () => {
    counters("T-DESK-6");
    const { served, restart } = await start();
    const session = await served.login(await served.addPerson("ada"));
    await served.people.remove("ada");
    await served.addPerson("ada");
    expect(await answerAs(await restart(), session)).toBe(401);
  });

  test("a session has the rights that its person has now", async () => {
    const { served, restart } = await start();
    const session = await served.login(await served.addPerson("ada"));
    const file = path.join(served.folder, "people.json");
    writeFileSync(file, readFileSync(file, "utf8").replace('"answer",', ""));
    const again = await restart();
    expect(await answerAs(again, session)).toBe(403);
    const headers = sessionOf(await again.prove(session.pair));
    const { json } = await again.send("/me", { headers });
    expect(json).toMatchObject({ name: "ada", rights: ["see", "approve"] });
  });

  test("a session does not count where something else is served", async () => {
    counters("T-DESK-8");
    const { served, restart } = await start();
    const session = await served.login();
    expect(await answerAs(await restart({ scope: "all" }), session)).toBe(401);
  });

  test("a session does not count on another port", async () => {
    counters("T-DESK-8");
    const { served, restart } = await start();
    const session = await served.login();
    expect(await answerAs(await restart({ port: 0 }), session)).toBe(401);
  });

  test("a one-time login has ended", async () => {
    const { served, restart } = await start();
    const code = served.service.createLogin();
    const again = await restart();
    expect((await again.prove(await createKey(), code)).status).toBe(401);
  });
});
