/** Several calls on one card: all of them are read before any is approved, and each is answered and refused alone. */
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import {
  chatRequest,
  permissionRequest,
  toolCall,
  turnStart,
} from "../../src/record/conversation/events.fixture.ts";
import {
  type ConversationEvent,
  type ConversationId,
  eventsOf,
  isAnswer,
} from "../../src/record/conversation/index.ts";
import { Project } from "../cli/support.ts";
import { counters } from "../security/threats.ts";
import { fragmentOf, leave, openPage, startDesk, storeOf, useBrowser } from "./support.ts";

const openContext = useBrowser();

const COMMANDS = {
  a: "npm test",
  b: Array.from({ length: 200 }, (_, index) => `echo ${index}`).join("\n"),
  c: "git status",
};

function asking(id: string, command: string): ConversationEvent {
  return {
    ...permissionRequest(id),
    tool: "shell_run",
    arguments: { command },
    origin: { type: "builtin", confinement: "sandbox" },
    folder: ".",
    takes: { turn: { code: "calls" }, note: "any" },
    subject: { digest: id.repeat(64), version: 1, parts: {} },
  };
}

/** A turn that asks for permission to run all of them, and the page with their card. */
async function open() {
  const project = new Project();
  const store = storeOf(project);
  const entries = Object.entries(COMMANDS);
  const calls = entries.map(([id, command]) => toolCall(id, "shell_run", { command }));
  const asked = entries.map(([id, command]) => asking(id, command));
  const id = await leave(store, [turnStart(), chatRequest("Go."), ...calls, ...asked]);
  const desk = await startDesk(project);
  const page = await openPage(await openContext(), desk.login);
  await page.getByRole("link", { name: "3 calls" }).click();
  await page.getByRole("heading", { name: /^jp wants to make 3 calls in / }).waitFor();
  const answers = async (conversation: ConversationId = id) => {
    const { stream } = await store.load(conversation);
    return [...eventsOf(stream.entries)].filter(isAnswer).map((event) => ({
      call: "toolCallId" in event ? event.toolCallId : undefined,
      decision: "decision" in event ? event.decision : undefined,
      digest: event.digest?.charAt(0),
    }));
  };
  return { page, store, id, answers, desk };
}

const button = (page: Page, name: string) => page.getByRole("button", { name, exact: true });

function article(page: Page, command: string) {
  return page.locator("article").filter({ hasText: `Run ${command}` });
}

async function message(page: Page, text: string): Promise<void> {
  await page.getByRole("status").filter({ hasText: text }).waitFor();
}

test("one call that must be read to its end keeps all calls of a card from being approved", async () => {
  counters("T-DESK-11");
  const { page, answers } = await open();
  expect(await page.locator("article").count()).toBe(3);
  expect(await page.locator(".line").filter({ hasText: "echo 199" }).count()).toBe(1);
  await page.getByText("To approve this, read it to the end").waitFor();
  const buttons = [
    button(page, "Run all 3"),
    article(page, "npm test").getByText("Run", { exact: true }),
  ];
  for (const each of buttons) expect(await each.isDisabled()).toBe(true);
  expect(await button(page, "Skip all 3").isEnabled()).toBe(true);
  await page.keyboard.press("y"); // Nothing to move to.
  await page.keyboard.press("Enter");
  expect(await answers()).toEqual([]);
  await page.keyboard.press("End");
  await page.locator("[data-key=y]:enabled").waitFor();
  for (const each of buttons) expect(await each.isEnabled()).toBe(true);
  await button(page, "Run all 3").click();
  await message(page, "3 answers sent.");
  expect(await answers()).toEqual([
    { call: "a", decision: "approved", digest: "a" },
    { call: "b", decision: "approved", digest: "b" },
    { call: "c", decision: "approved", digest: "c" },
  ]);
});

test("calls of a card are answered one by one, and what was read stays read", async () => {
  const { page, answers } = await open();
  await page.keyboard.press("End");
  await page.locator("[data-key=y]:enabled").waitFor();
  await article(page, "git status").getByRole("button", { name: "Skip" }).click();
  await message(page, "Answer sent.");
  await button(page, "Run all 2").waitFor();
  await page.evaluate("scrollTo(0, 0)");
  await article(page, "npm test").getByRole("button", { name: "Run", exact: true }).click();
  await article(page, "npm test").getByText("approved").waitFor();
  expect(await answers()).toEqual([
    { call: "c", decision: "denied", digest: "c" },
    { call: "a", decision: "approved", digest: "a" },
  ]);
  await button(page, "Skip").click();
  await page.getByRole("heading", { name: "Inbox" }).waitFor();
});

test("a call that was refused is named, and the others are recorded", async () => {
  counters("T-DESK-9");
  const { page, answers } = await open();
  await page.keyboard.press("End");
  await page.locator("[data-key=y]:enabled").waitFor();
  let requests = 0;
  await page.route(/\/answers?$/, async (route) => {
    requests += 1;
    const sent = route.request().postDataJSON() as { answers: { id: string }[] };
    const changed = sent.answers.map((each) =>
      each.id.startsWith("a:") ? { ...each, digest: "d0" } : each,
    );
    await route.continue({ postData: JSON.stringify({ answers: changed }) });
  });
  await button(page, "Run all 3").click();
  await message(page, "2 answers sent. Refused: Run npm test");
  const refused = "This is no longer what you have read. Your answer was not used.";
  await article(page, "npm test").getByText(refused).waitFor();
  expect((await answers()).map(({ call }) => call)).toEqual(["b", "c"]);
  expect(requests).toBe(1);
});

test("a call that comes later is not added to a card that is open", async () => {
  const { page, store, id, desk } = await open();
  await using writer = await store.open(id);
  await writer.append(toolCall("d", "shell_run", { command: "rm -r /" }), asking("d", "rm -r /"));
  await message(page, "New: Run rm -r /");
  expect(await page.locator("article").count()).toBe(3);
  await button(page, "Run all 3").waitFor();
  await page.goto(`${desk.pageUrl}/#/`);
  await page.getByRole("link", { name: "4 calls" }).waitFor();
  await page.goto(`${desk.pageUrl}/${fragmentOf(id, "d:run:1")}`);
  await button(page, "Run all 4").waitFor();
});
