/** The page on a small phone, and where a desktop differs. */
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import {
  attemptStart,
  chatRequest,
  inquiry,
  message,
  permissionRequest,
  toolCall,
  turnEnd,
  turnStart,
} from "../../src/record/conversation/events.fixture.ts";
import { timestampFromDate } from "../../src/record/conversation/index.ts";
import { toQrCode } from "../../src/surfaces/desk/page/qr-code.ts";
import type { FakeClock } from "../../src/testing/index.ts";
import { openWorkspace } from "../../src/stores/index.ts";
import { Project } from "../cli/support.ts";
import { counters } from "../security/threats.ts";
import { fillShop, type Shop } from "./shop.ts";
import {
  addPerson,
  fragmentOf,
  leave,
  leaveQuestion,
  openPage,
  startDesk,
  storeOf,
  useBrowser,
} from "./support.ts";

const openContext = useBrowser();

const PHONE = { width: 375, height: 667 };
const DESKTOP = { width: 1280, height: 800 };

function fillProject({ root: from, variables, home }: Project): Promise<Shop> {
  const environment = { variables, home, platform: process.platform };
  return fillShop(
    (clock: FakeClock) =>
      openWorkspace({ from, environment, clock, pid: process.pid }).conversations,
  );
}

/** The page of a desk on a phone. */
async function openPhone(project: Project) {
  const desk = await startDesk(project);
  const page = await openPage(await openContext({ size: "phone" }), desk.login);
  await page.setViewportSize(PHONE);
  const open = async (fragment: string) => {
    await page.goto(`${desk.pageUrl}/${fragment}`);
    await page.locator("main h1").waitFor();
    await page.getByText("Loading …").waitFor({ state: "detached" });
  };
  return { page, open, desk };
}

async function boxOf(page: Page, selector: string) {
  const box = await page.locator(selector).first().boundingBox();
  if (box === null) throw new Error(`${selector} is not on the page`);
  return box;
}

/** Resolves once the expression is true in the page. */
async function untilTrue(page: Page, expression: string): Promise<void> {
  await page.waitForFunction(expression);
}

const AT_END = "scrollY + innerHeight >= document.documentElement.scrollHeight - 60";

test("the header fits on one row of a phone, whoever is logged in and however much waits", async () => {
  const project = new Project();
  const store = storeOf(project);
  for (let count = 0; count < 12; count += 1) await leaveQuestion(store, `Question ${count}?`);
  const token = await addPerson(project, "Bartholomew of the Long Name");
  const desk = await startDesk(project);
  const page = await openPage(await openContext({ size: "phone" }), `${desk.pageUrl}/`, token);
  await page.getByRole("link", { name: "Question 11?" }).waitFor();
  const heights: number[] = [];
  for (const width of [375, 320]) {
    await page.setViewportSize({ width, height: 667 });
    heights.push((await boxOf(page, "header")).height);
    expect(await page.evaluate("document.documentElement.scrollWidth - innerWidth")).toBe(0);
  }
  expect(heights.map((height) => height < 60)).toEqual([true, true]);
  await page.getByRole("button", { name: "Bartholomew of the Long Name" }).click();
  await page.getByRole("button", { name: "Log out" }).waitFor();
});

test("a change to a file is named once, on its card and at the top of its page", async () => {
  const project = new Project();
  const { FIX } = await fillProject(project);
  const { page, open } = await openPhone(project);
  const card = page.getByRole("link", { name: "Edit src/cart.ts" });
  const text = await card.innerText();
  expect(text.replaceAll(/\s+/g, " ")).toMatch(
    /^Question \d+ days Edit src\/cart\.ts \+3 −2 Totals are off by a cent$/,
  );
  await open(fragmentOf(FIX, "c2.apply_changes.1"));
  expect(await page.locator("main h1").innerText()).toBe("Edit src/cart.ts +3 −2");
  expect(await page.locator(".wish").innerText()).toMatch(/^jp wants to edit a file in \S+$/);
  await page.getByText("Yes: it is done as shown once someone continues its turn.").waitFor();
  expect(await page.getByRole("heading", { name: /Apply|fs_modify_file/ }).count()).toBe(0);
  // What the tool has asked can still be read.
  const facts = await page.locator(".source-facts").first().innerText();
  expect(facts).toContain("Apply these changes to src/cart.ts?");
  expect(facts).toContain("fs_modify_file");
});

/** A question of the assistant with two options. */
const FRAMEWORK = {
  text: "Which framework?",
  context: "The team knows **Fastify**.",
  answerType: {
    type: "select",
    options: [{ value: "Hono", description: "Small" }, { value: "Fastify" }],
  },
} as const;

test("a question of the assistant is its words and options, and its call is in the details", async () => {
  const project = new Project();
  const args = { question: FRAMEWORK.text, options: FRAMEWORK.answerType.options };
  const asked = { ...inquiry("a.answer.1", FRAMEWORK), toolCallId: "a", questionId: "answer" };
  const id = await leave(storeOf(project), [
    turnStart(),
    chatRequest("Go."),
    toolCall("a", "ask_user", { ...args }),
    attemptStart("a"),
    { ...asked, source: { source: "assistant" }, origin: { type: "builtin" }, folder: "." },
  ]);
  const { page, open } = await openPhone(project);
  const card = await page.getByRole("link", { name: "Which framework?" }).innerText();
  expect(card).not.toMatch(/options|Hono/);
  await open(fragmentOf(id, "a.answer.1"));
  const [option, bar] = [await boxOf(page, ".option:last-of-type"), await boxOf(page, ".bar")];
  expect(option.y + option.height).toBeLessThan(bar.y); // On the first screen.
  expect(await page.locator("main").innerText()).not.toMatch(/ask_user|Arguments|"options"/);
  await page.getByText("Details").click();
  expect(await page.locator(".details").innerText()).toMatch(/ask_user[^]*"value": "Hono"/);
});

test("a form asks its questions first, and shows the arguments of its call once, after them", async () => {
  const project = new Project();
  const { NEWSLETTER } = await fillProject(project);
  const { page, open } = await openPhone(project);
  await open(fragmentOf(NEWSLETTER, "c3.subject.1"));
  const text = await page.locator("form").innerText();
  expect(text.match(/march\.md/g)).toHaveLength(1);
  expect(text.indexOf("march.md")).toBeGreaterThan(text.indexOf("Send it right away?"));
});

test("both versions of a file are side by side on a wide screen, with the file's own line numbers", async () => {
  const project = new Project();
  const { FIX } = await fillProject(project);
  const { page, open } = await openPhone(project);
  await open(fragmentOf(FIX, "c2.apply_changes.1"));
  const numbers = (selector: string) =>
    page.locator(selector).evaluateAll((lines) => lines.map((line) => line.dataset["number"]));
  expect(await numbers(".diff-removed")).toEqual(["14", "16"]);
  expect(await numbers(".diff-added")).toEqual(["14", "16", "17"]);
  const places = async () => [await boxOf(page, ".diff-removed"), await boxOf(page, ".diff-added")];
  const [above, below] = await places();
  expect(above?.y).toBeLessThan(below?.y ?? 0);
  await page.setViewportSize(DESKTOP);
  await page.locator(".split").first().waitFor();
  const [left, right] = await places();
  expect([left?.y, left?.width]).toEqual([right?.y, right?.width]);
  expect(left?.x).toBeLessThan(right?.x ?? 0);
  // One column again, where lines scroll sideways.
  await page.getByRole("button", { name: "Scroll long lines" }).first().click();
  await page.locator(".split").first().waitFor({ state: "detached" });
});

test("the number beside the inbox is that of its cards, and nothing is suggested where a yes acts", async () => {
  const project = new Project();
  await fillProject(project);
  const asked = inquiry("a.q.1", { text: "Wipe it?", exclusive: true, default: true });
  const place = { toolCallId: "a", questionId: "q" };
  const turn = [turnStart(), chatRequest("Go."), toolCall("a"), attemptStart("a")];
  const id = await leave(storeOf(project), [...turn, { ...asked, ...place }]);
  const { page, open } = await openPhone(project);
  await page.getByText("Wipe it?").waitFor();
  const cards = await page.locator(".cards > li").count();
  expect(await page.locator(".count").innerText()).toBe(String(cards));
  await open(fragmentOf(id));
  expect(await page.locator("[data-key=y]").innerText()).toBe("Yes");
});

test("ids, digests and seconds are only in the details", async () => {
  const project = new Project();
  const { FIX, RENAME } = await fillProject(project);
  const { page, open } = await openPhone(project);
  const exact = /jp-c\d+|[0-9a-f]{12}|\d:\d\d:\d\d|c2\.apply/;
  const found: string[] = [];
  const views = ["#/", "#/conversations", `#/conversations/${RENAME}`, "#/audit"];
  for (const view of [...views, fragmentOf(FIX, "c2.apply_changes.1")]) {
    await open(view);
    await page.locator("main a").first().waitFor();
    if (exact.test(await page.locator("body").innerText())) found.push(view);
  }
  expect(found).toEqual([]);
  await page.getByText("Details").click();
  expect(await page.locator(".details").innerText()).toMatch(
    /\d:\d\d:\d\d[^]*jp-c\d+[^]*[0-9a-f]{64}/,
  );
});

test("a message that an answer was sent covers nothing, moves nothing, and goes away", async () => {
  const project = new Project();
  const store = storeOf(project);
  const id = await leaveQuestion(store, "First?");
  await leaveQuestion(store, "Second?");
  const { page, open } = await openPhone(project);
  await page.getByRole("link", { name: "Second?" }).waitFor();
  const before = await boxOf(page, "main h1");
  await open(fragmentOf(id));
  await page.getByRole("button", { name: "Yes" }).click();
  const shown = page.getByRole("status").filter({ hasText: "Answer sent." });
  await shown.waitFor();
  await page.getByRole("heading", { name: "Inbox" }).waitFor();
  expect(await boxOf(page, "main h1")).toEqual(before);
  // Nothing else is where the words are.
  const isClear = `(() => {
    const range = document.createRange();
    range.selectNodeContents(document.querySelector(".message"));
    const words = range.getBoundingClientRect();
    return [...document.querySelectorAll("header, .card, main h2, main a, main button")].every((other) => {
      const box = other.getBoundingClientRect();
      return box.bottom <= words.top || words.bottom <= box.top || box.right <= words.left || words.right <= box.left;
    });
  })()`;
  expect(await page.evaluate(isClear)).toBe(true);
  await shown.waitFor({ state: "detached" });
});

/** Long enough for several screens. */
const LONG_CHAT = Array.from({ length: 20 }, (_, index) => [
  turnStart(),
  chatRequest(`Question ${index + 1}?`),
  message(`Answer ${index + 1}.\n\nIt has two paragraphs.`),
  turnEnd(),
]).flat();

test("a conversation opens at its end, follows it, and stays where the reader has scrolled to", async () => {
  const project = new Project();
  const store = storeOf(project);
  const id = await leave(store, LONG_CHAT, "Counting");
  const { page, open } = await openPhone(project);
  await open(`#/conversations/${id}`);
  await page.getByText("Answer 20.").waitFor();
  await untilTrue(page, AT_END);
  const say = async (text: string) => {
    await using writer = await store.open(id);
    const timestamp = timestampFromDate(new Date());
    const more = [turnStart(), chatRequest("More."), message(text), turnEnd()];
    await writer.append(...more.map((event) => ({ ...event, timestamp })));
  };
  await say("The second end.");
  await page.getByText("The second end.").waitFor();
  await untilTrue(page, AT_END);
  await page.evaluate("scrollTo(0, 500)");
  await untilTrue(page, "scrollY === 500");
  await say("The third end.");
  await page.getByText("The third end.").waitFor();
  expect(await page.evaluate("scrollY")).toBe(500);
});

test("long lines are wrapped or scroll sideways as the reader chooses, also later", async () => {
  const project = new Project();
  const { FIX } = await fillProject(project);
  const { page, open } = await openPhone(project);
  await open(fragmentOf(FIX, "c2.apply_changes.1"));
  const cut = `(() => {
    const { scrollWidth, clientWidth } = document.querySelector(".lines");
    return scrollWidth > clientWidth;
  })()`;
  expect(await page.evaluate(cut)).toBe(false);
  await page.getByRole("button", { name: "Scroll long lines" }).first().click();
  await untilTrue(page, cut);
  // The page itself does not scroll sideways.
  expect(await page.evaluate("document.documentElement.scrollWidth - innerWidth")).toBe(0);
  await page.reload();
  await page.getByRole("button", { name: "Wrap long lines" }).first().waitFor();
  expect(await page.evaluate(cut)).toBe(true);
  await page.getByRole("button", { name: "Wrap long lines" }).first().click();
  await untilTrue(page, `!${cut}`);
});

test("a yes waits until lines that are cut off were read to their ends", async () => {
  counters("T-DESK-11");
  const project = new Project();
  const args = { command: `echo ${"x ".repeat(200)}&& rm -r /` };
  const asked = {
    ...permissionRequest("a"),
    arguments: args,
    subject: { digest: "d1", version: 1, parts: {} },
  };
  const turn = [turnStart(), chatRequest("Go."), toolCall("a", "a_tool", args), asked];
  const id = await leave(storeOf(project), turn);
  const { page, open } = await openPhone(project);
  await page.evaluate('localStorage.setItem("jp-desk-lines", "sideways")');
  await page.reload();
  await open(fragmentOf(id, "a:run:1"));
  await page.evaluate("scrollTo(0, document.body.scrollHeight)");
  await page.getByText("read long lines to their ends").waitFor();
  expect(await page.locator("[data-key=y]").isDisabled()).toBe(true);
  await page.evaluate('document.querySelector(".lines").scrollLeft = 100_000');
  await page.locator("[data-key=y]:enabled").waitFor();
});

test("wrapping lines, or the key End, is enough to have read them", async () => {
  const project = new Project();
  const args = { command: "x ".repeat(200) };
  const asked = { ...permissionRequest("a"), arguments: args };
  const turn = [turnStart(), chatRequest("Go."), toolCall("a", "a_tool", args), asked];
  const ids = [await leave(storeOf(project), turn), await leave(storeOf(project), turn)];
  const { page, open } = await openPhone(project);
  await page.evaluate('localStorage.setItem("jp-desk-lines", "sideways")');
  await page.reload();
  await open(fragmentOf(ids[0] ?? "", "a:run:1"));
  await page.locator("[data-key=y]").waitFor();
  await page.keyboard.press("End");
  await page.locator("[data-key=y]:enabled").waitFor();
  await open(fragmentOf(ids[1] ?? "", "a:run:1"));
  await page.evaluate("scrollTo(0, document.body.scrollHeight)");
  await page.getByText("read long lines to their ends").waitFor();
  await page.getByRole("button", { name: "Wrap long lines" }).click();
  await page.evaluate("scrollTo(0, document.body.scrollHeight)");
  await page.locator("[data-key=y]:enabled").waitFor();
  expect(await page.getByText("To approve this").count()).toBe(0);
});

test("the audit is a table on a desktop, and cards on a phone", async () => {
  const project = new Project();
  await fillProject(project);
  const { page, open } = await openPhone(project);
  await open("#/audit");
  await page.locator(".card").first().waitFor();
  expect(await page.getByRole("table").count()).toBe(0);
  await page.setViewportSize(DESKTOP);
  await page.getByRole("columnheader", { name: "Decided by" }).waitFor();
  expect(await page.locator(".card").count()).toBe(0);
  const row = page.getByRole("row").filter({ hasText: "Keep the old name as an alias?" });
  expect(await row.getByRole("cell").allInnerTexts()).toEqual([
    expect.stringMatching(/ago$/),
    "Keep the old name as an alias?",
    "yes with the note “Until April.”",
    "Ada (desk)",
    "rename_service",
    "Rename the checkout service",
  ]);
});

test("the page shows a QR code of a link that logs in another device, and says so if none could", async () => {
  const project = new Project();
  const local = await openPhone(project);
  await local.page.getByRole("button", { name: "owner" }).click();
  await local.page.getByRole("button", { name: "Open on your phone" }).click();
  await local.page.getByText("Only this machine can reach this desk.").waitFor();
  await local.page.close();
  await local.desk.kill();
  const { port } = local.desk;
  const desk = await startDesk(project, "--port", port, "--origin", "https://desk.example");
  const context = await openContext({ size: "phone" });
  // A proxy in front of the desk, but for the stream of events, which would never end.
  await context.route("https://desk.example/**", async (route) => {
    const { pathname, search } = new URL(route.request().url());
    if (pathname.endsWith("/events")) return route.abort();
    const headers = { ...route.request().headers(), host: "desk.example" };
    const url = `http://127.0.0.1:${port}${pathname}${search}`;
    return route.fulfill({ response: await route.fetch({ url, headers }) });
  });
  const page = await context.newPage();
  await page.goto(desk.login);
  const created = page.waitForResponse(/\/logins$/);
  await page.getByRole("button", { name: "owner" }).click();
  await page.getByRole("button", { name: "Open on your phone" }).click();
  const { login } = (await (await created).json()) as { login: string };
  const picture = page.getByRole("img", { name: "QR code of a link that logs in" });
  await picture.waitFor();
  const path = await picture.locator("path").getAttribute("d");
  expect(path).toBe(toQrCode(`https://desk.example/#login=${login}`).path);
  await page.getByRole("button", { name: "Close" }).click();
  expect(await picture.count()).toBe(0);
});
