/** The server is killed and started again: what people see on an open page, and what is on record. */
import { once } from "node:events";
import { rmSync } from "node:fs";
import { createServer } from "node:http";
import path from "node:path";
import { setImmediate } from "node:timers/promises";
import { expect, test } from "vitest";
import { WAITING } from "../../src/stores/open-question.fixture.ts";
import { Project } from "../cli/support.ts";
import { counters } from "../security/threats.ts";
import {
  addPerson,
  answersIn,
  DeskProcess,
  fragmentOf,
  leave,
  leaveQuestion,
  openPage,
  startDesk,
  storeOf,
  useBrowser,
} from "./support.ts";

const openContext = useBrowser();

/** A question whose answer may be remembered for the rest of the turn. */
const REMEMBERABLE = WAITING.map((event) =>
  event.type === "inquiry_request"
    ? { ...event, takes: { turn: { code: "question" } } as const }
    : event,
);

test("an open page recovers by itself, shows what was asked meanwhile, and answers it", async () => {
  const project = new Project();
  const store = storeOf(project);
  await leaveQuestion(store, "Before?");
  const first = await startDesk(project);
  const page = await openPage(await openContext(), first.login);
  await page.getByRole("link", { name: "Before?" }).waitFor();
  await leaveQuestion(store, "An event?"); // Its id is sent when the page reconnects.
  await page.getByRole("link", { name: "An event?" }).waitFor();
  await first.kill();
  await page.getByText("Connection lost").waitFor();
  const id = await leaveQuestion(store, "Meanwhile?");
  await startDesk(project, "--port", first.port);
  await page.getByRole("link", { name: "Meanwhile?" }).click();
  await page.getByRole("button", { name: "Yes" }).click();
  await page.getByRole("status").filter({ hasText: "Answer sent." }).waitFor();
  expect(await answersIn(store, id)).toEqual([
    expect.objectContaining({
      answeredBy: { kind: "user", channel: "desk", name: "owner", auth: "os_user" },
    }),
  ]);
  await page.getByRole("link", { name: "Inbox" }).click();
  await page.getByRole("link", { name: "Before?" }).waitFor();
});

test("whoever has logged out stays out over a restart", async () => {
  const project = new Project();
  const first = await startDesk(project);
  const context = await openContext();
  const page = await openPage(context, first.login);
  await page.getByRole("button", { name: "owner" }).click();
  await page.getByRole("button", { name: "Log out" }).click();
  await page.getByLabel("Your personal token").waitFor();
  await first.kill();
  await startDesk(project, "--port", first.port);
  await page.reload();
  await page.getByLabel("Your personal token").waitFor();
  expect(await context.cookies()).toEqual([]);
});

test("whoever takes the port of a stopped desk gets nothing that counts at the desk", async () => {
  counters("T-DESK-8");
  const project = new Project();
  const first = await startDesk(project);
  const page = await openPage(await openContext(), first.login);
  await first.kill();
  const stolen: {
    readonly path: string;
    readonly headers: Readonly<Record<string, string>>;
    readonly body: string;
  }[] = [];
  const hostile = createServer((request, response) => {
    let body = "";
    request.on("data", (chunk: Buffer) => (body += chunk.toString()));
    request.on("end", () => {
      const { authorization, cookie } = request.headers;
      const headers = { ...(authorization && { authorization }), ...(cookie && { cookie }) };
      stolen.push({ path: request.url ?? "", headers, body });
      const isChallenge = request.url?.endsWith("/challenge") === true;
      response.writeHead(isChallenge ? 200 : 401, { "content-type": "application/json" });
      response.end(JSON.stringify(isChallenge ? { nonce: "1.2.3" } : {}));
    });
  });
  const taken = hostile.listen(Number(first.port), "127.0.0.1");
  await page.getByText("You are no longer logged in.").waitFor();
  taken.close();
  taken.closeAllConnections();
  await once(taken, "close");
  const desk = await startDesk(project, "--port", first.port);
  expect(stolen.map(({ path: sent }) => sent)).toContain("/api/v1/session");
  for (const { path: sent, headers, body } of stolen) {
    const json = { ...headers, "content-type": "application/json" };
    const isSession = sent.endsWith("/session");
    const tried = await fetch(`${desk.url}${isSession ? sent : "/api/v1/me"}`, {
      headers: json,
      ...(isSession && { method: "POST", body }),
    });
    expect(tried.status).toBe(401);
  }
  await page.reload(); // The real desk is back, and the browser still has its key.
  await page.getByText("Live").waitFor();
});

test("a page whose session has ended asks for a login, and keeps what was typed", async () => {
  const project = new Project();
  const id = await leave(storeOf(project), REMEMBERABLE);
  const token = await addPerson(project, "ada");
  const desk = await startDesk(project);
  const page = await openPage(await openContext(), desk.login);
  const logIn = async () => {
    await page.getByLabel("Your personal token").fill(token);
    await page.getByRole("button", { name: "Log in" }).click();
  };
  await page.getByRole("button", { name: "owner" }).click();
  await page.getByRole("button", { name: "Log out" }).click();
  await logIn();
  await page.goto(`${desk.pageUrl}/${fragmentOf(id)}`);
  await page.getByLabel("Remember").check();
  rmSync(path.join(project.data, "desk-sessions.json"));
  await page.getByRole("button", { name: "Yes" }).click();
  await page.getByText("You are no longer logged in.").waitFor();
  await logIn();
  expect(await page.getByLabel("Remember").isChecked()).toBe(true);
  await page.getByRole("button", { name: "Yes" }).click();
  await page.getByRole("status").filter({ hasText: "Answer sent." }).waitFor();
});

/** Whether the server said that the answer is on record. It may be killed before it can say so. */
async function answer(url: string, token: string): Promise<boolean> {
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  try {
    const body = JSON.stringify({ answer: true });
    const response = await fetch(url, { method: "POST", headers, body });
    return response.status === 200;
  } catch {
    return false;
  }
}

test(
  "killing the server at any moment loses nothing and answers nothing",
  { timeout: 600_000 },
  async () => {
    const project = new Project();
    const store = storeOf(project);
    const token = await addPerson(project, "ada");
    for (let round = 0; round < 40; round += 1) {
      const asked = await leaveQuestion(store);
      const untouched = await leaveQuestion(store);
      const desk = await DeskProcess.start(project);
      const inquiry = `${desk.url}/api/v1/conversations/${asked}/inquiries/a.q.1/answer`;
      const [wasTold] = await Promise.all([
        answer(inquiry, token),
        (async () => {
          for (let turn = 0; turn < round * 40; turn += 1) await setImmediate();
          await desk.kill();
        })(),
      ]);
      const answers = await answersIn(store, asked);
      expect(answers.length).toBeGreaterThanOrEqual(wasTold ? 1 : 0);
      expect(answers.length).toBeLessThanOrEqual(1);
      for (const given of answers) {
        expect(given).toMatchObject({ answer: true, answeredBy: { channel: "desk", name: "ada" } });
      }
      expect(await answersIn(store, untouched)).toEqual([]);
      const pending = await store.listPending({});
      expect(pending.some(({ id }) => id === untouched)).toBe(true);
    }
  },
);
