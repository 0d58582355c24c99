/** Decisions that act, on the page: a yes takes reading to the end, a key of its own, and the right to approve. */
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import {
  attemptStart,
  chatRequest,
  inquiry,
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
import type { ConversationStore } from "../../src/stores/index.ts";
import type { InquiryQuestion } from "../../src/record/tool/index.ts";
import { Project } from "../cli/support.ts";
import { counters } from "../security/threats.ts";
import { fragmentOf, leave, openPage, startDesk, storeOf, useBrowser } from "./support.ts";

const openContext = useBrowser();

const SUBJECT = { subject: { digest: "d1", version: 1, parts: {} } };

function asking(question: Partial<InquiryQuestion>): readonly ConversationEvent[] {
  return [
    turnStart(),
    chatRequest("Go."),
    toolCall("a"),
    attemptStart("a"),
    { ...inquiry("a.q.1", question), toolCallId: "a", questionId: "q", ...SUBJECT },
  ];
}

const LINES = Array.from({ length: 300 }, (_, index) => `line ${index + 1}`).join("\n");
const DIFF = `--- a\n+++ b\n@@ -1,1 +1,300 @@\n${LINES.replaceAll(/^/gm, "+")}`;

/** Whatever asks for something that acts, with more to read than a window shows. */
const LONG: Readonly<Record<string, { id: string; events: readonly ConversationEvent[] }>> = {
  "a change": { id: "a.q.1", events: asking({ context: DIFF, exclusive: true }) },
  "a plain context": { id: "a.q.1", events: asking({ context: LINES, acts: true }) },
  "long arguments": {
    id: "a:run:1",
    events: [
      turnStart(),
      chatRequest("Go."),
      toolCall("a"),
      { ...permissionRequest("a"), arguments: { content: LINES }, ...SUBJECT },
    ],
  },
};

async function answersIn(store: ConversationStore, id: ConversationId) {
  const { stream } = await store.load(id);
  return [...eventsOf(stream.entries)].filter(isAnswer);
}

async function open(events: readonly ConversationEvent[], id = "a.q.1", rights?: string) {
  const project = new Project();
  const store = storeOf(project);
  const conversation = await leave(store, events);
  const added =
    rights && (await project.jp("serve", "people", "add", "eve", "--rights", rights)).stdout;
  const desk = await startDesk(project);
  const context = await openContext();
  const fragment = fragmentOf(conversation, id);
  const page = await openPage(
    context,
    added === undefined ? desk.login : `${desk.pageUrl}/${fragment}`,
    added?.trimEnd(),
  );
  await page.goto(`${desk.pageUrl}/${fragment}`);
  await page.locator("main article").waitFor();
  return { page, answers: () => answersIn(store, conversation), store, conversation };
}

const yes = (page: Page) => page.locator("[data-key=y]");

test.each(Object.keys(LONG))(
  "a yes takes reading to the end, and a no does not: %s",
  async (name) => {
    counters("T-DESK-11");
    const { events = [], id } = LONG[name] ?? {};
    const { page, answers } = await open(events, id);
    expect(await page.getByRole("button", { name: /^Show/ }).count()).toBe(0);
    expect(await yes(page).isDisabled()).toBe(true);
    expect(await page.locator("[data-key=n]").isEnabled()).toBe(true);
    await page.getByText("To approve this, read it to the end").waitFor();
    await page.keyboard.press("y"); // Nothing to move to.
    await page.keyboard.press("Enter");
    expect(await answers()).toEqual([]);
    await page.keyboard.press("End");
    await page.locator("[data-key=y]:enabled").waitFor();
    expect(await page.getByText("To approve this").count()).toBe(0);
    await yes(page).click();
    await page.getByRole("status").filter({ hasText: "Answer sent." }).waitFor();
    expect(await answers()).toMatchObject([{ digest: "d1" }]);
  },
);

test("Enter alone decides nothing that acts, wherever the focus is", async () => {
  counters("T-DESK-11");
  const options = [{ value: "staging" }, { value: "production" }];
  const answerType = { type: "select", options } as const;
  const { page, answers } = await open(asking({ answerType, default: "production", acts: true }));
  await page.keyboard.press("Enter");
  // What is suggested is not chosen yet.
  expect(await page.getByRole("radio", { checked: true }).count()).toBe(0);
  await page.getByRole("radio", { name: "production" }).focus();
  await page.keyboard.press("Space");
  await page.keyboard.press("Enter");
  await page.getByRole("radio", { name: "production", checked: true }).waitFor();
  expect(await answers()).toEqual([]);
  await page.getByRole("button", { name: "Send answer" }).click();
  await page.getByRole("status").filter({ hasText: "Answer sent." }).waitFor();
  expect(await answers()).toMatchObject([{ answer: "production", digest: "d1" }]);
});

test("a named key and Enter decide what acts", async () => {
  const { page, answers } = await open(asking({ exclusive: true }));
  await page.locator("[data-key=y]:enabled").waitFor();
  await page.keyboard.press("y");
  await page.keyboard.press("Enter");
  await page.getByRole("status").filter({ hasText: "Answer sent." }).waitFor();
  expect(await answers()).toMatchObject([{ answer: true, digest: "d1" }]);
});

test("whoever may only answer reads what acts, and cannot decide it", async () => {
  counters("T-DESK-11");
  const { page } = await open(asking({ exclusive: true }), "a.q.1", "see,answer");
  await page.getByText("you need the right “approve”").waitFor();
  expect(await yes(page).count()).toBe(0);
});

test("an answer to what has changed meanwhile is not used, and says why", async () => {
  counters("T-DESK-9");
  const { page, answers, store, conversation } = await open(asking({ exclusive: true }));
  await page.locator("[data-key=y]:enabled").waitFor();
  await page.route(/\/answer\?/, async (route) => {
    const body = { ...(route.request().postDataJSON() as object), digest: "d0" };
    await route.continue({ postData: JSON.stringify(body) });
  });
  await yes(page).click();
  await page.getByText("This is no longer what you have read. Your answer was not used.").waitFor();
  expect(await answers()).toEqual([]);
  await using writer = await store.open(conversation);
  const asked = { ...inquiry("a.q.2", { exclusive: true, text: "And now?" }), ...SUBJECT };
  const place = { toolCallId: "a", questionId: "q" };
  const subject = { digest: "d2", version: 1, parts: {} };
  const replaces = inquiry("a.q.1").id;
  await writer.append(
    { type: "decision_void", timestamp: asked.timestamp, id: replaces, changed: ["binding"] },
    { ...asked, ...place, subject, replaces },
  );
  await page.getByText("It does not count: what it is about changed.").waitFor();
  expect(await yes(page).count()).toBe(0);
  await page.getByRole("link", { name: "It is asked again." }).click();
  await page
    .getByText("This is asked again. Changed since it was decided before: what it is about")
    .waitFor();
});
