/** A page and someone else answer the same question at the same time: one is recorded, and the other told. */
import { setImmediate } from "node:timers/promises";
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { parseConversationId } from "../../src/record/conversation/index.ts";
import { answerBy } from "../../src/stores/open-question.fixture.ts";
import { calling } from "../cli/calling-model.ts";
import { queryProject } from "../cli/query-project.ts";
import { Screen } from "../cli/screen.ts";
import { Project } from "../cli/support.ts";
import { ChildProgram } from "../support/child-program.ts";
import {
  answersIn,
  fragmentOf,
  leaveQuestion,
  openPage,
  startDesk,
  storeOf,
  useBrowser,
} from "./support.ts";

const openContext = useBrowser();

const BY_OWNER = { answer: true, answeredBy: { kind: "user", channel: "desk", name: "owner" } };

/** Different moments of whatever else is going on. */
async function loopTurns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn += 1) await setImmediate();
}

/** Opens the only question that waits, and returns its conversation. */
async function openCard(page: Page, url: string) {
  await page.goto(`${url}/#/`);
  await page.locator(".card").click();
  await page.locator("[data-key=n]").waitFor();
  const hash = new URL(page.url()).hash;
  return parseConversationId(/^#\/inquiries\/([^/]+)/.exec(hash)?.[1] ?? "");
}

test("a page and a terminal race 200 times", { timeout: 900_000 }, async () => {
  await using server = await calling(["deploy"]);
  const question = { id: "sure", text: "Deploy?", answer_type: { type: "boolean" } };
  const project = queryProject({ server, tools: [{ name: "deploy", questions: [question] }] });
  const store = storeOf(project);
  const desk = await startDesk(project);
  const page = await openPage(await openContext(), desk.login);
  const sent = page.getByRole("status").filter({ hasText: "Answer sent." });
  const seen = page.getByText("Answered by the user (terminal).");
  const winners = new Set<string>();
  // Whoever wins is slower the next time, so that both answer in the same moment.
  let patience = 10;
  for (let race = 0; race < 200; race += 1) {
    const screen = new Screen(project, ["query", "--new", `Race ${race}.`]);
    await screen.until("Deploy?");
    const id = await openCard(page, desk.pageUrl);
    // The button is gone if the terminal was faster, and the page already knows.
    const pressed = page.evaluate("document.querySelector('[data-key=n]')?.click()");
    await loopTurns(patience);
    screen.type("y\r");
    const [{ status, bytes }] = await Promise.all([screen.end(), pressed]);
    const [answer, ...others] = await answersIn(store, id);
    expect([status, others]).toEqual([0, []]);
    const isPage = answer?.outcome === "answered" && answer.answer === false;
    winners.add(isPage ? "page" : "terminal");
    patience = isPage ? patience / 1.5 : patience * 1.5;
    await (isPage ? sent : seen).waitFor();
    expect(bytes.includes("answered elsewhere")).toBe(isPage);
    expect(answer).toMatchObject(
      isPage
        ? { answeredBy: { channel: "desk", name: "owner" } }
        : { answer: true, answeredBy: { channel: "terminal" } },
    );
  }
  expect(winners).toEqual(new Set(["page", "terminal"]));
});

/** When Ben answers, too. */
const ASKED_AT = answerBy("Ben").timestamp;

test("a question that someone else has answered no longer says that it waits", async () => {
  const project = new Project();
  const store = storeOf(project);
  const id = await leaveQuestion(store, "Go on?", ASKED_AT);
  const desk = await startDesk(project);
  const page = await openPage(await openContext(), desk.login);
  await page.goto(`${new URL(page.url()).origin}/${fragmentOf(id)}`);
  const facts = page.locator(".facts");
  await facts.getByText("waiting for").waitFor();
  await store.answer(id, answerBy("Ben"));
  await page.getByText("Answered by Ben (cli).").waitFor();
  expect(await facts.innerText()).not.toContain("waiting for");
  expect(await facts.innerText()).toContain("asked");
});

test("an answer that is still on its way does not close what someone has opened since", async () => {
  const project = new Project();
  const store = storeOf(project);
  const [first, second] = [
    await leaveQuestion(store, "First?"),
    await leaveQuestion(store, "Second?"),
  ];
  const desk = await startDesk(project);
  const page = await openPage(await openContext(), desk.login);
  const held = Promise.withResolvers<void>();
  await page.route("**/answer", async (route) => {
    await held.promise;
    await route.continue();
  });
  await page.goto(`${desk.pageUrl}/${fragmentOf(first)}`);
  await page.locator("[data-key=y]").click();
  await page.goto(`${desk.pageUrl}/${fragmentOf(second)}`);
  await page.getByRole("heading", { name: "Second?" }).waitFor();
  held.resolve();
  await page.getByRole("status").filter({ hasText: "Answer sent." }).waitFor();
  expect(new URL(page.url()).hash).toBe(fragmentOf(second));
  expect(await answersIn(store, first)).toMatchObject([BY_OWNER]);
});

test("a page and another process race 50 times", { timeout: 300_000 }, async () => {
  const project = new Project();
  const store = storeOf(project);
  const ben = ChildProgram.ofTests("answer-program.ts", project.root, project.data, "Ben");
  await ben.nextLine();
  const desk = await startDesk(project);
  const page = await openPage(await openContext(), desk.login);
  const sent = page.getByRole("status").filter({ hasText: "Answer sent." });
  // With "Your answer came later, and was not used." if the page did not know yet.
  const late = page.getByText(/Answered by Ben \(cli\)\./);
  for (let race = 0; race < 50; race += 1) {
    const id = await leaveQuestion(store, `Race ${race}?`, ASKED_AT);
    await page.goto(`${desk.pageUrl}/${fragmentOf(id)}`);
    await page.getByRole("heading", { name: `Race ${race}?` }).waitFor();
    await page.locator("[data-key=y]").waitFor();
    // The button is gone if the other one was faster, and the page already knows.
    const pressed = page.evaluate("document.querySelector('[data-key=y]')?.click()");
    await loopTurns((race % 20) * 50);
    ben.tell(`answer ${id}`);
    const [told] = await Promise.all([ben.nextJson(), pressed]);
    const isPage = (told as { type: string }).type === "taken"; // The result of an answer.
    await (isPage ? sent : late).waitFor();
    const expected = isPage ? BY_OWNER : answerBy("Ben");
    expect(await answersIn(store, id)).toMatchObject([expected]);
    expect(told).toMatchObject(isPage ? { event: BY_OWNER } : { type: "recorded" });
  }
});
