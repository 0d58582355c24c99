/** Who gets in, and for how long. */
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { counters } from "../../test/security/threats.ts";
import {
  bearer,
  OWNER,
  type PageSession,
  QUESTION_PATH,
  READ,
  ServedDesk,
} from "./served.fixture.ts";
import { openSessions } from "./sessions.ts";

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
      { name: "ada", rights: ["see", "answer", "approve"], runs: true },
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
    const { cookie } = await served.login(token);
    expect((await served.send("/me", { headers: { cookie } })).json).toMatchObject({ name: "ada" });
    await served.people.remove("ada");
    const statuses = [bearer(token), { cookie }].map((headers) => served.send("/me", { headers }));
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
  test("makes a session of the owner, with a cookie that only the server reads", async () => {
    const served = await ServedDesk.start();
    const body = { login: served.service.createLogin() };
    const { headers, json } = await served.send("/login", { method: "POST", body });
    const [cookie = ""] = headers["set-cookie"] ?? [];
    expect(cookie).toMatch(
      new RegExp(`^jp_desk_${served.port}=[\\w-]{43}; HttpOnly; SameSite=Strict; Path=/$`),
    );
    const me = await served.send("/me", { headers: { cookie: cookie.split(";")[0] ?? "" } });
    expect(me.json).toEqual({ ...OWNER, csrf: json["csrf"], runs: true });
    expect(served.audit).toMatchObject([{ what: "login", name: OWNER.name, client: "127.0.0.1" }]);
  });

  test("can be used only once", async () => {
    counters("T-DESK-6");
    const served = await ServedDesk.start();
    const body = { login: served.service.createLogin() };
    const results = await Promise.all(
      [1, 2, 3].map(() => served.send("/login", { method: "POST", body })),
    );
    expect(results.filter(({ status }) => status === 401)).toHaveLength(2);
    expect(served.audit.filter(({ what }) => what === "login_refused")).toHaveLength(2);
  });

  test("works for ten minutes", async () => {
    counters("T-DESK-6");
    const served = await ServedDesk.start();
    const [early, late] = [served.service.createLogin(), served.service.createLogin()];
    const login = (code: string) =>
      served.send("/login", { method: "POST", body: { login: code } });
    served.clock.advance(10 * MINUTE);
    expect((await login(early)).status).toBe(200);
    served.clock.advance(1);
    expect((await login(late)).status).toBe(401);
  });

  test("is not a token, and has no effect in a GET", async () => {
    counters("T-DESK-2");
    const served = await ServedDesk.start();
    const code = served.service.createLogin();
    expect((await served.send("/me", { headers: bearer(code) })).status).toBe(401);
    expect((await served.send(`/login?login=${code}`)).status).toBe(405);
    expect((await served.login(code)).csrf).toHaveLength(43);
  });
});

describe("a session", () => {
  test("changes something only with its own CSRF token", async () => {
    counters("T-DESK-2");
    const served = await ServedDesk.start();
    const [{ cookie, csrf }, other] = [await served.login(), await served.login()];
    const answer = (headers: Record<string, string>) =>
      served.send(`${QUESTION_PATH}/answer`, { ...YES, headers: { cookie, ...headers } });
    const wrong: Record<string, string>[] = [
      {},
      { "x-csrf-token": "" },
      { "x-csrf-token": other.csrf },
    ];
    const refused = await Promise.all(wrong.map(answer));
    expect(refused.map(({ status }) => status)).toEqual([403, 403, 403]);
    expect(served.desk.answeredBy).toBeUndefined();
    expect((await answer({ "x-csrf-token": csrf })).status).toBe(200);
  });

  test("ends with a logout, which needs the CSRF token too", async () => {
    const served = await ServedDesk.start();
    const { cookie, csrf } = await served.login();
    const logout = (headers: Record<string, string>) =>
      served.send("/logout", { method: "POST", headers: { cookie, ...headers } });
    expect((await logout({})).status).toBe(403);
    const { status, headers } = await logout({ "x-csrf-token": csrf });
    expect([status, headers["set-cookie"]?.[0]]).toEqual([
      200,
      expect.stringMatching(/=; .*; Max-Age=0$/),
    ]);
    expect((await served.send("/me", { headers: { cookie } })).status).toBe(401);
  });

  test("is replaced by the next one of the same browser", async () => {
    const served = await ServedDesk.start();
    const { cookie } = await served.login();
    const body = { login: served.service.createLogin() };
    await served.send("/login", { method: "POST", body, headers: { cookie } });
    expect((await served.send("/me", { headers: { cookie } })).status).toBe(401);
  });

  test("ends after a day without use", async () => {
    counters("T-DESK-6");
    const served = await ServedDesk.start();
    const { cookie } = await served.login();
    const me = async () => (await served.send("/me", { headers: { cookie } })).status;
    served.clock.advance(24 * HOUR);
    expect(await me()).toBe(200);
    served.clock.advance(24 * HOUR + 1);
    expect(await me()).toBe(401);
  });

  test("ends after a week even if it is used", async () => {
    const served = await ServedDesk.start();
    const { cookie } = await served.login();
    const statuses: number[] = [];
    for (let day = 0; day <= 7; day += 1) {
      statuses.push((await served.send("/me", { headers: { cookie } })).status);
      served.clock.advance(24 * HOUR - (day === 6 ? -1 : 0));
    }
    expect(statuses).toEqual([...Array(7).fill(200), 401]);
  });

  test("is refused if the browser sends another one too, which a page on another port may have set", async () => {
    counters("T-DESK-1");
    const served = await ServedDesk.start();
    const own = await served.login();
    const planted = await served.login(await served.addPerson("mallory"));
    const me = (cookie: string) => served.send("/me", { headers: { cookie } });
    const both = await me(`${planted.cookie}; ${own.cookie}`);
    expect([both.status, both.json]).toMatchObject([400, { error: { code: "ambiguous_session" } }]);
    expect((await me(`${own.cookie}; other=1; ${own.cookie}`)).json).toMatchObject(OWNER);
  });

  test("is refused if it is invented", async () => {
    const served = await ServedDesk.start();
    const names = [`jp_desk_${served.port}=x`, `jp_desk_${served.port}=`, "", "=", ";;="];
    const sent = names.map((cookie) => served.send("/me", { headers: { cookie } }));
    expect((await Promise.all(sent)).map(({ status }) => status)).toEqual(names.map(() => 401));
  });
});

async function answerAs(served: ServedDesk, { cookie, csrf }: PageSession) {
  const headers = { cookie, "x-csrf-token": csrf };
  return (await served.send(`${QUESTION_PATH}/answer`, { ...YES, headers })).status;
}

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

  test("an old session answers, with its old CSRF token", async () => {
    const { served, restart } = await start();
    const session = await served.login();
    const again = await restart();
    expect([await answerAs(again, session), again.desk.answeredBy]).toEqual([
      200,
      expect.objectContaining({ name: OWNER.name }),
    ]);
  });

  test("a session that was logged out or replaced stays out", async () => {
    counters("T-DESK-6");
    const { served, restart } = await start();
    const [first, second] = [await served.login(), await served.login()];
    const headers = { cookie: first.cookie, "x-csrf-token": first.csrf };
    expect((await served.send("/logout", { method: "POST", headers })).status).toBe(200);
    const body = { login: served.service.createLogin() };
    await served.send("/login", { method: "POST", body, headers: { cookie: second.cookie } });
    const again = await restart();
    expect([await answerAs(again, first), await answerAs(again, second)]).toEqual([401, 401]);
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
    const { json } = await again.send("/me", { headers: { cookie: session.cookie } });
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
    const { cookie, csrf } = await served.login();
    const other = await restart({ port: 0 });
    const renamed = cookie.replace(`${served.port}`, new URL(other.service.url).port);
    expect(await answerAs(other, { cookie: renamed, csrf })).toBe(401);
  });

  test("a one-time login has ended", async () => {
    const { served, restart } = await start();
    const body = { login: served.service.createLogin() };
    const again = await restart();
    expect((await again.send("/login", { method: "POST", body })).status).toBe(401);
  });
});
