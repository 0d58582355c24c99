/** Three people decide together at the same time, of whom two have to: never fewer do, and no one counts twice. */
import { userInfo } from "node:os";
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import {
  type ConversationEvent,
  type ConversationId,
  deciderOf,
  eventsOf,
} from "../../src/record/conversation/index.ts";
import { DeskClient, DeskError } from "../../src/surfaces/desk/client.ts";
import { openDirectory } from "../../src/settings/people/index.ts";
import { answerInquiry, listPending } from "../../src/assemble/index.ts";
import type { ConversationStore } from "../../src/stores/index.ts";
import { WAITING } from "../../src/stores/open-question.fixture.ts";
import { Project } from "../cli/support.ts";
import { ChildProgram } from "../support/child-program.ts";
import { fragmentOf, leave, openPage, startDesk, storeOf, useBrowser } from "./support.ts";

const openContext = useBrowser();
const ROUNDS = Number(process.env["JP_QUORUM_ROUNDS"] ?? 100);

const TOGETHER: readonly ConversationEvent[] = WAITING.map((event) =>
  event.type === "inquiry_request"
    ? { ...event, forAny: [{ role: "finance" }], terms: { quorum: 2 } }
    : event,
);

/** A person's token. */
async function add(project: Project, name: string, ...flags: readonly string[]): Promise<string> {
  const { stdout } = await project.jp(
    "serve",
    "people",
    "add",
    name,
    "--roles",
    "finance",
    ...flags,
  );
  return stdout.trimEnd();
}

async function setUp() {
  const project = new Project();
  const ada = await add(project, "ada");
  const bo = await add(project, "bo");
  await add(project, "cy", "--os-user", userInfo().username);
  const store = storeOf(project);
  const desk = await startDesk(project);
  const directory = openDirectory(project.data);
  /** As `jp inquiry answer` does. */
  const onTerminal = async (id: ConversationId) => {
    const item = (await listPending(store)).find(({ conversation }) => conversation === id);
    if (item === undefined) return "not_pending";
    const by = { channel: "cli", auth: "os_user", directory } as const;
    return (await answerInquiry(store, item, { answer: true, ...by })).type;
  };
  return { project, store, desk, tokens: { ada, bo }, onTerminal };
}

/** Who has said so, in the order of the record. The last of them has decided. */
async function namesIn(store: ConversationStore, id: ConversationId): Promise<readonly string[]> {
  const { stream } = await store.load(id);
  return [...eventsOf(stream.entries)].flatMap((event) => {
    if (event.type !== "decision_vote" && event.type !== "inquiry_response") return [];
    const by = event.type === "decision_vote" ? event.by : deciderOf(event);
    return [`${event.type} ${by?.kind === "user" ? by.name : ""}`];
  });
}

/** Throws unless one has been counted, and another one has decided. */
function check(names: readonly string[]): void {
  const [first = "", second = "", ...others] = names;
  expect([first.split(" ")[0], second.split(" ")[0], others]).toEqual([
    "decision_vote",
    "inquiry_response",
    [],
  ]);
  expect(first.split(" ")[1]).not.toBe(second.split(" ")[1]);
}

test("through the API and on a terminal", { timeout: 900_000 }, async () => {
  const { project, store, desk, tokens, onTerminal } = await setUp();
  const clients = Object.values(tokens).map((token) => new DeskClient({ url: desk.url, token }));
  const holder = ChildProgram.ofTests("answer-program.ts", project.root, project.data, "Holder");
  await holder.nextLine();
  const decided = new Set<string>();
  for (let round = 0; round < ROUNDS; round += 1) {
    const id = await leave(store, TOGETHER);
    const isLive = round % 2 === 0; // A process has it open, as a turn does that waits.
    if (isLive) {
      holder.tell(`ask ${id}`);
      await holder.nextJson();
    }
    const said = clients.map(async (client) => {
      try {
        const item = await client.inquiry({ conversation: id, id: "a.q.1" });
        return (await client.answer(item, true)).type;
      } catch (error) {
        if (error instanceof DeskError) return error.code;
        throw error;
      }
    });
    const results = await Promise.all([...said, onTerminal(id)]);
    if (isLive) {
      holder.tell("stop");
      await holder.nextJson();
    }
    const names = await namesIn(store, id);
    check(names);
    decided.add(names.at(-1) ?? "");
    expect(results.filter((result) => result === "counted")).toHaveLength(1);
    expect(results.filter((result) => result === "recorded")).toHaveLength(1);
  }
  expect(decided.size).toBeGreaterThan(1);
});

const PRESS = `(() => {
  const button = document.querySelector("[data-key=y]");
  button?.click();
  return button !== null;
})()`;

/** Presses yes, if the page still offers it. Resolves when the desk has said what came of it. */
async function press(page: Page): Promise<void> {
  const answered = page.waitForResponse((response) => response.url().includes("/answer"));
  answered.catch(() => undefined); // The page may have closed it before.
  if (await page.evaluate<boolean>(PRESS)) await answered;
}

test("in two browsers and on a terminal, 20 times", { timeout: 300_000 }, async () => {
  const { store, desk, tokens, onTerminal } = await setUp();
  const address = `${desk.pageUrl}/`;
  const pages = await Promise.all(
    Object.values(tokens).map(async (token) => openPage(await openContext(), address, token)),
  );
  for (let round = 0; round < 20; round += 1) {
    const id = await leave(store, TOGETHER);
    await Promise.all(
      pages.map(async (page) => {
        await page.goto(`${desk.pageUrl}/${fragmentOf(id)}`);
        await page.locator("[data-key=y]").waitFor();
      }),
    );
    await Promise.all([...pages.map(press), onTerminal(id)]);
    // Whoever was late is told, and whoever was not, too.
    await Promise.all(
      pages.map((page) =>
        page
          .getByText(/Answer sent\.|Counted: 1 of 2|Answered by|answered first|no longer/)
          .first()
          .waitFor(),
      ),
    );
    const names = await namesIn(store, id);
    check(names);
    expect(names).toHaveLength(2);
  }
});
