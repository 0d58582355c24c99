/** What someone decides about, as a browser draws it: all of it, as it is, and nothing that looks like something else. */
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
import type { ConversationEvent, DecisionSubject } from "../../src/record/conversation/index.ts";
import type { InquiryQuestion } from "../../src/record/tool/index.ts";
import type { JsonObject } from "../../src/util/index.ts";
import { Project } from "../cli/support.ts";
import { counters } from "../security/threats.ts";
import { fragmentOf, leave, openPage, startDesk, storeOf, useBrowser } from "./support.ts";

const openContext = useBrowser();

const SUBJECT: DecisionSubject = {
  subject: { digest: "d1", version: 1, parts: {} },
  origin: { type: "local", command: "sh \u202etxt.hs" },
  folder: "sub  folder",
};

/** A tool asks something on which a yes acts. */
function acting(question: Partial<InquiryQuestion>): readonly ConversationEvent[] {
  const asked = { ...inquiry("a.q.1", { exclusive: true, ...question }), ...SUBJECT };
  return [
    turnStart(),
    chatRequest("Go."),
    toolCall("a"),
    attemptStart("a"),
    { ...asked, toolCallId: "a", questionId: "q" },
  ];
}

function permissionFor(args: JsonObject): readonly ConversationEvent[] {
  const asked = { ...permissionRequest("a"), arguments: args, ...SUBJECT };
  return [turnStart(), chatRequest("Go."), toolCall("a", "a_tool", args), asked];
}

/** A desk with these turns, and its page. */
async function show(...turns: readonly (readonly ConversationEvent[])[]) {
  const project = new Project();
  const ids: string[] = [];
  const add = async (turn: readonly ConversationEvent[]) =>
    void ids.push(await leave(storeOf(project), turn));
  for (const turn of turns) await add(turn);
  const desk = await startDesk(project);
  const page = await openPage(await openContext(), desk.login);
  const open = async (index = 0, id = "a.q.1") => {
    await page.goto(`${desk.pageUrl}/${fragmentOf(ids[index] ?? "", id)}`);
    await page.locator("main article").waitFor();
  };
  return { page, open, add, url: desk.pageUrl, ids };
}

/** What someone reads there. */
function readIn(page: Page, selector: string): Promise<string> {
  return page.locator(selector).first().innerText();
}

test.each([["Delete __init__.py?"], ["Delete ~~old~~prod.db?"], ["Delete `a` *b* <c> [d](e)?"]])(
  "a question that acts is shown as it is, on every view: %s",
  async (text) => {
    counters("T-DESK-10");
    const { page, open, url, ids } = await show(acting({ text }));
    await open();
    expect(await readIn(page, ".question-line")).toBe(text);
    for (const view of ["#/", `#/conversations/${ids[0]}`, "#/audit"]) {
      await page.goto(`${url}/${view}`);
      await page.getByRole("link", { name: text }).first().waitFor();
    }
  },
);

/** Where the browser draws each character of the element, from the left. */
const POSITIONS = `(element) => {
  const texts = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  const found = [];
  while (texts.nextNode()) {
    const { currentNode: node } = texts;
    for (let index = 0; index < node.length; index += 1) {
      const range = document.createRange();
      range.setStart(node, index);
      range.setEnd(node, index + 1);
      found.push(range.getBoundingClientRect().left);
    }
  }
  return found;
}`;

async function placesIn(page: Page, selector: string): Promise<readonly number[]> {
  const element = `document.querySelector(${JSON.stringify(selector)})`;
  return (await page.evaluate(`(${POSITIONS})(${element})`)) as number[]; // As the program returns it.
}

test("right-to-left letters do not swap what stands around them", async () => {
  counters("T-DESK-10");
  const text = "Copy אבג to דהו?";
  const { page, open, url } = await show(
    acting({ text }),
    permissionFor({ from: "אבג/1", to: "דהו/2" }),
  );
  await open();
  const inQuestion = await placesIn(page, ".question-line .verbatim");
  expect(inQuestion).toEqual(inQuestion.toSorted((left, right) => left - right));
  expect(await readIn(page, ".question-line")).toBe(text);
  await open(1, "a:run:1");
  const inArguments = await placesIn(page, '[data-number="2"]');
  expect(inArguments).toEqual(inArguments.toSorted((left, right) => left - right));
  await page.goto(`${url}/#/`);
  await page.locator(".card").first().waitFor();
  const inCard = await placesIn(page, ".card-text .verbatim");
  expect(inCard).toEqual(inCard.toSorted((left, right) => left - right));
});

/** Pairs that careless pages draw alike. */
const ALIKE: readonly (readonly [string, string])[] = [
  ["a b", "a  b"],
  ["a b", "a\u00a0b"],
  ["a b", "a\u2003b"],
  ["ab", "a\u200bb"],
  ["ab", "a\u00adb"],
  ["a", "a "],
  ["a", " a"],
  ["a\tb", "a    b"],
  ["a\nb", "a\r\nb"],
  ["a\nb", "a\nb\n"],
  ["é", "e\u0301"],
  ["a", "а"],
  ["scope", "ѕсоре"],
  ["<U+00A0>", "\u00a0"],
  ["a\u202eb", "a\u202db"],
  ["a", `a${"\u0301".repeat(40)}`],
];

test("two values that differ never look the same", { timeout: 240_000 }, async () => {
  counters("T-DESK-10");
  const turns = ALIKE.flatMap((pair) =>
    pair.map((value) => permissionFor({ text: value.includes("\n") ? value : `${value}\n` })),
  );
  const { page, open } = await show(...turns);
  const pictures: Buffer[] = [];
  for (const index of turns.keys()) {
    await open(index, "a:run:1");
    pictures.push(await page.locator(".lines").last().screenshot());
  }
  const alike = ALIKE.filter((_pair, index) =>
    pictures[2 * index]?.equals(pictures[2 * index + 1] ?? Buffer.of()),
  );
  expect(alike).toEqual([]);
});

test("a line that is wrapped does not look like two lines", async () => {
  counters("T-DESK-10");
  const text = `${"x".repeat(200)}\n`;
  const { page, open, add } = await show(permissionFor({ text }));
  await open(0, "a:run:1");
  const wrapped = await page.locator(".lines").last().screenshot();
  const lefts = await placesIn(page, '.lines:last-of-type [data-number="1"]');
  const inRow = lefts.findIndex((left, index) => index > 0 && left === lefts[0]);
  expect(inRow).toBeGreaterThan(10);
  await add(permissionFor({ text: `${text.slice(0, inRow)}\n${text.slice(inRow)}` }));
  await open(1, "a:run:1");
  expect(wrapped.equals(await page.locator(".lines").last().screenshot())).toBe(false);
});

test("options that differ never look the same, and say what is sent", async () => {
  counters("T-DESK-10");
  const options = [
    { value: "a b" },
    { value: "a\u00a0b" },
    { value: "prod", title: "staging" },
    { value: "x", title: "a b", description: "**none**" },
  ];
  const { page, open } = await show(acting({ answerType: { type: "select", options } }));
  await open();
  const labels = await page.locator(".option").allInnerTexts();
  expect(labels).toEqual([
    "a b",
    "a<U+00A0>b",
    "staging\nis sent as prod",
    "a b (x)\nis sent as x\n**none**",
  ]);
});

test("the source and the folder of a tool are shown as they are, and what has changed", async () => {
  counters("T-DESK-10");
  const [first, ...others] = permissionFor({ path: "a" }).toReversed();
  if (first?.type !== "permission_request") throw new Error("nothing is asked");
  const voided = { type: "decision_void", id: first.id, changed: ["file", "arguments"] } as const;
  const again = { ...first, id: "a.run.2" as typeof first.id, replaces: first.id };
  const turn = [...others.toReversed(), first, { ...voided, timestamp: first.timestamp }, again];
  const { page, open } = await show(turn);
  await open(0, "a.run.2");
  const facts = await readIn(page, ".source-facts");
  expect(facts.split("\n").filter((line) => line !== "")).toEqual([
    "Tool",
    "a_tool",
    "Source",
    'local command "sh <U+202E>txt.hs"',
    "Folder",
    "sub<2 spaces>folder",
  ]);
  await page
    .getByText(
      "Changed since it was decided before: a file that its command names and its arguments",
    )
    .waitFor();
  await open(0, "a:run:1");
  await page.getByRole("link", { name: "It is asked again." }).click();
  await page.getByRole("button", { name: "Run" }).waitFor();
});

/** Whatever a reader of rendered Markdown does not see. */
const UNSEEN = [
  '[x]: https://a.example "hidden one"',
  '[docs](https://b.example "hidden two")',
  "| a |\n|---|\n| b | hidden three |",
  "```sh hidden four\nls\n```",
  "<!-- hidden five -->",
].join("\n\n");

test.each([true, false])(
  "nothing of a context is left out (if a yes acts: %s)",
  async (exclusive) => {
    counters("T-DESK-10");
    const { page, open } = await show(acting({ context: UNSEEN, exclusive }));
    await open();
    const shown = await readIn(page, "main article");
    const missing = ["one", "two", "three", "four", "five"].filter(
      (word) => !shown.includes(`hidden ${word}`),
    );
    expect(missing).toEqual([]);
    expect(await page.locator(".markdown").count()).toBe(exclusive ? 0 : 1);
  },
);
