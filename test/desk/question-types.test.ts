/** Questions of every type, answered on the page: what the record says, and what the tools and the model get. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import type { Json, JsonObject } from "../../src/util/index.ts";
import { calling, outcomesIn, resultsIn } from "../cli/calling-model.ts";
import { entriesOf, queryProject, recordOf } from "../cli/query-project.ts";
import { Screen } from "../cli/screen.ts";
import type { Project } from "../cli/support.ts";
import { until } from "../mcp/support.ts";
import {
  addPerson,
  defer,
  FORM,
  openPage,
  SAMPLES,
  startDesk,
  TOOLS,
  useBrowser,
} from "./support.ts";

const openContext = useBrowser();

/** What to do on the page of the question. */
const FILL: Readonly<Record<keyof typeof SAMPLES, (page: Page) => Promise<void>>> = {
  boolean: (page) => press(page, "Yes"),
  select: async (page) => {
    await page.getByRole("radio", { name: "iad" }).check();
    await press(page, "Send answer");
  },
  other: async (page) => {
    await page.getByRole("radio", { name: "Other" }).check();
    await page.getByLabel("Your own answer").fill(SAMPLES.other.answer);
    await press(page, "Send answer");
  },
  multiple: async (page) => {
    for (const name of ["unit", "On fire?"])
      await page.getByRole("checkbox", { name, exact: true }).check();
    await press(page, "Send answer");
  },
  text: async (page) => {
    await page.getByLabel("Answer", { exact: true }).fill(SAMPLES.text.answer);
    await press(page, "Send answer");
  },
  diff: async (page) => {
    await page.locator(".diff-removed").filter({ hasText: "-const port = 80;" }).waitFor();
    await press(page, "No");
  },
};

function press(page: Page, name: string): Promise<void> {
  return page.getByRole("button", { name, exact: true }).click();
}

/** Opens a card of the inbox, does something there, and waits until it is sent. */
async function answer(page: Page, text: string, act: () => Promise<void>): Promise<void> {
  await page.getByRole("link").filter({ hasText: text }).click();
  await act();
  await page.getByRole("heading", { name: "Inbox" }).waitFor();
  await page.locator(".cards").filter({ hasText: text }).waitFor({ state: "detached" });
}

async function fillForm(page: Page): Promise<void> {
  await page.getByRole("radio", { name: "M", exact: true }).check();
  await page.getByRole("radio", { name: "Yes" }).check();
  await page.getByLabel("Answer", { exact: true }).fill("Hello");
  await press(page, "Review answers");
  await page.getByText("Review your answers").waitFor();
  await press(page, "Send 3 answers");
}

/** Shows the model something else than the result. */
async function editResult(page: Page): Promise<void> {
  await press(page, "Edit what the model sees");
  await page.getByLabel("The model sees").fill("the plan");
  await press(page, "Show");
}

test(
  "answers of every type reach the tool, the model and the record",
  { timeout: 120_000 },
  async () => {
    const names = TOOLS.map(({ name }) => name);
    await using server = await calling(names);
    const project = await defer({ server, tools: TOOLS, config: 'user.name = "Ada"\n' });
    const desk = await startDesk(project, "--run");
    const page = await openPage(await openContext({ size: "phone" }), desk.login);
    for (const [name, { question }] of Object.entries(SAMPLES)) {
      const fill = FILL[name as keyof typeof SAMPLES]; // A key of the same object.
      await answer(page, question.text, () => fill(page));
    }
    await answer(page, "Size?", () => fillForm(page));
    await answer(page, "Run publish", () => press(page, "Run"));
    await answer(page, "the result of report?", () => editResult(page));
    await until(() => server.requests.length === 2);

    const all: readonly { question: JsonObject; answer: Json }[] = [
      ...Object.values(SAMPLES),
      ...FORM,
    ];
    const answers = Object.fromEntries(
      all.map((sample) => [sample.question["id"] as string, sample.answer]),
    );
    const byAda = { kind: "user", channel: "desk", name: "Ada", auth: "os_user" };
    const record = recordOf(project);
    const recorded = entriesOf(record, "inquiry_response").map((entry) => {
      const [, id = ""] = (entry["id"] as string).split("."); // Of the call, the question, and a number.
      return [id, { answer: entry["answer"], by: entry["answered_by"] }] as const;
    });
    const expectedAnswers = Object.entries(answers).map(
      ([id, value]) => [id, { answer: value, by: byAda }] as const,
    );
    expect(recorded).toHaveLength(expectedAnswers.length);
    expect(Object.fromEntries(recorded)).toEqual(Object.fromEntries(expectedAnswers));
    const expected = names.map((name) => {
      if (name === "order") return answersOf(FORM);
      if (name === "publish") return "published";
      return name === "report" ? "the plan" : answersOf([SAMPLES[name as keyof typeof SAMPLES]]);
    });
    expect(resultsIn(server)).toEqual(expected);
  },
);

function answersOf(samples: readonly { question: JsonObject; answer: Json }[]): string {
  return JSON.stringify(
    Object.fromEntries(samples.map(({ question, answer: value }) => [question["id"], value])),
  );
}

const CANARY = "canary-5f0c1e";

const SECRET_TOOL = {
  name: "login",
  questions: [{ id: "word", text: "The word?", answer_type: { type: "secret" } }],
  program: "`got ${tool.answers.word.length} characters`",
};

/** The files of the project and of the user that contain the secret, as it is or in Base64. */
function leaksIn({ root, data, home, temporary }: Project): readonly string[] {
  const files = [root, data, home, temporary]
    .filter((folder) => existsSync(folder))
    .flatMap((folder) => readdirSync(folder, { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile())
    .map((entry) => path.join(entry.parentPath, entry.name));
  const encoded = Buffer.from(CANARY).toString("base64").slice(0, -3);
  return files.filter((file) => {
    const text = readFileSync(file, "utf8");
    return text.includes(CANARY) || text.includes(encoded);
  });
}

test("a secret reaches the process that waits for it, and nothing else", async () => {
  await using server = await calling(["login"]);
  const project = queryProject({ server, tools: [SECRET_TOOL] });
  const desk = await startDesk(project);
  const page = await openPage(await openContext(), desk.login);
  const screen = new Screen(project, ["query", "--new", "Log in."]);
  await screen.until("The word?");
  await page.getByRole("link", { name: "The word?" }).click();
  await page.getByLabel("Secret").fill(CANARY);
  await page.getByRole("heading", { name: "The word?" }).focus();
  await page.keyboard.press("Escape"); // It stays: the secret would be lost.
  const stored = await page.evaluate(
    "JSON.stringify([{ ...sessionStorage }, { ...localStorage }])",
  );
  await press(page, "Send answer");
  await page.getByRole("status").filter({ hasText: "Answer sent." }).waitFor();
  const { status, bytes } = await screen.end();
  expect([status, resultsIn(server)]).toEqual([0, [`got ${CANARY.length} characters`]]);
  expect(outcomesIn(recordOf(project))).toEqual([
    {
      outcome: "redacted",
      answer: null,
      answered_by: { kind: "user", channel: "desk", name: "owner", auth: "os_user" },
    },
  ]);
  const shown = await page.evaluate("document.documentElement.innerHTML");
  expect(JSON.stringify([stored, shown, bytes, server.requests])).not.toContain(CANARY);
  expect(leaksIn(project)).toEqual([]);
});

test("a secret that no process waits for is refused, on the page and by the server", async () => {
  await using server = await calling(["login"]);
  const project = await defer({ server, tools: [SECRET_TOOL] });
  const desk = await startDesk(project);
  const page = await openPage(await openContext(), desk.login);
  await page.getByRole("link", { name: "The word?" }).click();
  await page.getByText("No process is waiting for this secret").waitFor();
  expect(await page.getByRole("button", { name: "Send answer" }).count()).toBe(0);
  const record = recordOf(project);
  const events = readFileSync(path.join(record.folder, "events.json"), "utf8");
  const asked = (JSON.parse(events) as JsonObject[]).find(({ type }) => type === "inquiry_request");
  const { id, digest } = asked ?? {};
  const token = await addPerson(project, "ada");
  const response = await fetch(
    `${desk.url}/api/v1/conversations/${record.id}/inquiries/${id as string}/answer`,
    {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      body: JSON.stringify({ answer: CANARY, digest }),
    },
  );
  const { error } = (await response.json()) as { error: { message: string } };
  expect([response.status, error.message]).toEqual([
    422,
    expect.stringContaining("continue the turn and answer it there"),
  ]);
  expect(leaksIn(project)).toEqual([]);
});
