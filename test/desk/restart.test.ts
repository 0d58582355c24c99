/** The server is killed and started again: what people see on an open page, and what is on record. */
import { rmSync } from "node:fs";
import path from "node:path";
import { setImmediate } from "node:timers/promises";
import { expect, test } from "vitest";
import { Project } from "../cli/support.ts";
import {
  addPerson,
  answersIn,
  DeskProcess,
  fragmentOf,
  leaveQuestion,
  openPage,
  startDesk,
  storeOf,
  useBrowser,
} from "./support.ts";

const openContext = useBrowser();

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
    expect.objectContaining({ answeredBy: { kind: "user", channel: "desk", name: "owner" } }),
  ]);
  await page.getByRole("link", { name: "Inbox" }).click();
  await page.getByRole("link", { name: "Before?" }).waitFor();
});

test("whoever has logged out stays out over a restart", async () => {
  const project = new Project();
  const first = await startDesk(project);
  const context = await openContext();
  const page = await openPage(context, first.login);
  const cookies = await context.cookies();
  await page.getByRole("button", { name: "owner" }).click();
  await page.getByRole("button", { name: "Log out" }).click();
  await page.getByLabel("Your personal token").waitFor();
  await first.kill();
  await startDesk(project, "--port", first.port);
  await context.addCookies(cookies);
  const response = page.waitForResponse(/\/me$/);
  await page.reload();
  expect((await response).status()).toBe(401);
});

test("a page whose session has ended asks for a login, and keeps what was typed", async () => {
  const project = new Project();
  const id = await leaveQuestion(storeOf(project));
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
  await page.goto(`${desk.url}/${fragmentOf(id)}`);
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
