/** What tools and models write, on the page: it is shown as text, loads nothing, and cannot stop the page. */
import type { Page } from "playwright-core";
import { expect, onTestFinished, test } from "vitest";
import {
  attemptStart,
  chatRequest,
  inquiry,
  message,
  permissionRequest,
  toolCall,
  turnStart,
} from "../../src/record/conversation/events.fixture.ts";
import type { ConversationEvent } from "../../src/record/conversation/index.ts";
import type { InquiryQuestion } from "../../src/record/tool/index.ts";
import type { Json } from "../../src/util/index.ts";
import { Project } from "../cli/support.ts";
import { counters } from "../security/threats.ts";
import {
  addPerson,
  fragmentOf,
  leave,
  openPage,
  startDesk,
  storeOf,
  useBrowser,
} from "./support.ts";

const openContext = useBrowser();

const HTML = [
  '<img src="https://evil.example/a.png" onerror="window.hacked = 1">',
  "<script>window.hacked = 1</script>",
  '<iframe src="https://evil.example/"></iframe>',
  '<link rel="stylesheet" href="https://evil.example/a.css">',
].join(" ");

const MARKDOWN = `${HTML}

![picture](https://evil.example/b.png) [run](javascript:window.hacked=1)
[open](data:text/html,<script>parent.hacked=1</script>) <https://evil.example/c>

[ref]: https://evil.example/d "title"
[ref] and https://evil.example/e`;

/** Of a right-to-left override, an isolate, a zero-width space, escape and half of a surrogate pair. */
const HIDDEN = "safe\u{202e}txt.exe\u{2066}\u{200b}\u{1b}[31m\ud83d";

function deep(depth: number): Json {
  let value: Json = "end";
  for (let level = 0; level < depth; level += 1) value = [value];
  return value;
}

/** Contexts that cost careless programs minutes, or their stack. */
const HEAVY: Readonly<Record<string, string>> = {
  "one long line": "x".repeat(1_000_000),
  "long words": `${"y".repeat(999)} `.repeat(1000),
  "a long diff": `--- a\n+++ b\n@@ -1,50000 +1,50001 @@\n${"-old\n+new\n".repeat(50_000)}`,
  "many short lines": "a\n".repeat(100_000),
  "deep quotes": `${">".repeat(20_000)} deep`,
  "deep lists": Array.from({ length: 300 }, (_, depth) => `${"  ".repeat(depth)}- x`).join("\n"),
  "open brackets": "[".repeat(20_000),
  "open links": "[a](".repeat(5000),
  "open emphasis": "*a _b ".repeat(4000),
  stars: "*".repeat(20_000),
  backticks: "`".repeat(9999) + " " + "`".repeat(9998),
  "open HTML": "<a ".repeat(6000),
  "open comments": "<!--".repeat(6000),
  entities: "&lt;".repeat(6000),
  "a wide table": `|${"a|".repeat(3000)}\n|${"-|".repeat(3000)}\n|${"b|".repeat(3000)}`,
  references: `${"[a]: b\n".repeat(2000)}${"[a]".repeat(2000)}`,
  spaces: `a${" ".repeat(29_000)}b`,
  code: `\`\`\`ts\n${"const a = `${".repeat(2000)}\n\`\`\``,
  "html code": `\`\`\`html\n${"<a b='".repeat(4000)}\n\`\`\``,
};

function asks(question: Partial<InquiryQuestion>, name = "a_tool"): readonly ConversationEvent[] {
  const asked = { ...inquiry("a.q.1", question), source: { source: "tool", name } as const };
  return [
    turnStart(),
    chatRequest(MARKDOWN),
    message(MARKDOWN),
    toolCall("a", name, { text: HTML }),
    attemptStart("a"),
    { ...asked, toolCallId: "a", questionId: "q" },
  ];
}

/** Fails at the end of the test if the page has asked any other server for anything. */
function watchRequests(page: Page, origin: string): void {
  const foreign: string[] = [];
  page.on("request", (request) => {
    if (!request.url().startsWith(`${origin}/`)) foreign.push(request.url());
  });
  onTestFinished(() => expect(foreign).toEqual([]));
}

/** Every view that shows something of this conversation. */
function viewsOf(id: string): readonly string[] {
  return ["#/", fragmentOf(id), "#/conversations", `#/conversations/${id}`, "#/audit"];
}

async function forEachView(
  page: Page,
  { url, id, check }: { url: string; id: string; check: (view: string) => Promise<void> },
): Promise<void> {
  for (const view of [
    "#/",
    fragmentOf(id),
    "#/conversations",
    `#/conversations/${id}`,
    "#/audit",
  ]) {
    await page.goto(`${url}/${view}`);
    await page.locator("main h1").waitFor();
    await page.getByText("Loading …").waitFor({ state: "detached" });
    await check(view);
  }
}

function hostileQuestion(text: string): Partial<InquiryQuestion> {
  return {
    text,
    context: text,
    answerType: {
      type: "select",
      options: [{ value: text, description: text, preview: text }],
      allowsOther: true,
    },
  };
}

test("foreign HTML and links are text, and nothing is loaded from elsewhere", async () => {
  const project = new Project();
  const id = await leave(storeOf(project), asks(hostileQuestion(MARKDOWN), HTML), HTML);
  const desk = await startDesk(project);
  const page = await openPage(await openContext(), desk.login);
  watchRequests(page, desk.pageUrl);
  const found: unknown[] = [];
  const check = async (view: string) => {
    const main = page.locator("main");
    const isShown = (await main.textContent())?.includes('<img src="https://evil.example/a.png"');
    const made = "img, script, iframe, link, object, a[href]:not([href^='#/'])";
    const elements = await main.locator(made).count();
    found.push({ view, isShown, elements, hacked: await page.evaluate("window.hacked") });
  };
  await forEachView(page, { url: desk.pageUrl, id, check });
  const fine = { isShown: true, elements: 0, hacked: undefined };
  expect(found).toEqual(viewsOf(id).map((view) => ({ view, ...fine })));
  await page.goto(`${desk.pageUrl}/${fragmentOf(id)}`);
  await page.getByText("<javascript:window.hacked=1>").first().waitFor(); // Where it would lead.
});

test("characters that hide or reorder text are shown", async () => {
  const project = new Project();
  const id = await leave(storeOf(project), asks(hostileQuestion(HIDDEN), HIDDEN), HIDDEN);
  const asked = asks({ answerType: { type: "text" }, default: HIDDEN });
  const text = await leave(storeOf(project), asked);
  const desk = await startDesk(project);
  const page = await openPage(await openContext(), desk.login);
  const found: unknown[] = [];
  const check = async (view: string) => {
    const shown = (await page.locator("main").textContent()) ?? "";
    const isVisible = shown.includes("safe<U+202E>txt.exe<U+2066><U+200B>␛[31m");
    const hidden = /[\u{202a}-\u{202e}\u{2066}-\u{2069}\u{200b}\u{1b}]/u.exec(shown);
    found.push({ view, isVisible, hidden });
  };
  await forEachView(page, { url: desk.pageUrl, id, check });
  const fine = { isVisible: true, hidden: null };
  expect(found).toEqual(viewsOf(id).map((view) => ({ view, ...fine })));
  await page.goto(`${desk.pageUrl}/${fragmentOf(text)}`);
  await page.getByText("This text contains hidden characters: safe<U+202E>").waitFor();
});

/** More would make a phone slow. */
const MAX_ELEMENTS = 5000;

test("large and malicious texts do not stop the page", { timeout: 120_000 }, async () => {
  const project = new Project();
  const store = storeOf(project);
  const args = { deep: deep(990) };
  const permission = { ...permissionRequest("a"), arguments: args };
  const nested = await leave(store, [turnStart(), toolCall("a", "a_tool", args), permission]);
  const views: [string, string][] = [["deep arguments", fragmentOf(nested, "a:run:1")]];
  for (const [name, context] of Object.entries(HEAVY)) {
    views.push([name, fragmentOf(await leave(store, asks({ text: name, context })))]);
  }
  const desk = await startDesk(project);
  const page = await openPage(await openContext({ size: "phone" }), desk.login);
  const found: string[] = [];
  for (const [name, fragment] of views) {
    await page.goto(`${desk.pageUrl}/${fragment}`);
    await page.locator("main article").waitFor();
    const count = await page.locator("*").count();
    if (count > MAX_ELEMENTS) found.push(`${name}: ${count} elements`);
    if (!WHOLE.has(name)) {
      await page
        .getByRole("button", { name: /^Show all/ })
        .last()
        .click();
      await page.getByRole("button", { name: "Show less" }).waitFor();
    }
    await page.locator("[data-key=n]").click({ trial: true }); // It can still be decided.
  }
  expect(found).toEqual([]);
});

/** Values, of which nothing is ever folded. */
const WHOLE: ReadonlySet<string> = new Set(["deep arguments", "a long diff"]);

test("all of a long diff is there to be read", async () => {
  const project = new Project();
  const context = `${HEAVY["a long diff"]}+the end`;
  const id = await leave(storeOf(project), asks({ context, exclusive: true }));
  const desk = await startDesk(project);
  const page = await openPage(await openContext(), desk.login);
  await page.goto(`${desk.pageUrl}/${fragmentOf(id)}`);
  await page.locator(".diff-added").first().waitFor();
  expect(await page.getByRole("button", { name: "Yes" }).isDisabled()).toBe(true);
  await page.keyboard.press("End");
  const last = page.locator(".diff-added").filter({ hasText: "+the end" });
  await last.waitFor();
  expect(await last.getAttribute("data-number")).toBe("50001");
  await page.locator("[data-key=y]:enabled").waitFor();
});

test("a link with someone's token does not make the reader answer as them", async () => {
  counters("T-DESK-7");
  const project = new Project();
  const token = await addPerson(project, "mallory");
  const desk = await startDesk(project);
  const page = await openPage(await openContext(), desk.login);
  await page.evaluate((fragment) => (location.hash = fragment), `#login=${token}`);
  await page.waitForFunction(() => location.hash === "#/");
  await page.reload();
  await page.getByText("Live").waitFor();
  expect(await page.getByText("mallory").count()).toBe(0);
  const strange = await (await openContext()).newPage();
  await strange.goto(`${desk.pageUrl}/#login=${token}`);
  await strange.getByLabel("Your personal token").waitFor();
  expect(strange.url()).toBe(`${desk.pageUrl}/#/`);
});
