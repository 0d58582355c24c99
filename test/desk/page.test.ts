/** The page of `jp serve` in a real browser. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { at } from "../../src/record/conversation/events.fixture.ts";
import { describeFile } from "../../src/record/conversation/index.ts";
import { calling } from "../cli/calling-model.ts";
import { entriesOf, recordOf } from "../cli/query-project.ts";
import { Project } from "../cli/support.ts";
import { until } from "../mcp/support.ts";
import {
  addPerson,
  answersIn,
  defer,
  fragmentOf,
  leaveQuestion,
  openPage,
  SAMPLES,
  startDesk,
  storeOf,
  useBrowser,
} from "./support.ts";

const openContext = useBrowser();

const TOOL = { name: "deploy", questions: [SAMPLES.boolean.question] };

test("a question appears on the open page, is answered there, and the turn ends", async () => {
  await using server = await calling(["deploy"]);
  const empty = new Project();
  const desk = await startDesk(empty, "--run");
  const page = await openPage(await openContext(), desk.login);
  await page.getByText("Nothing is waiting.").waitFor();
  // The turn starts only now, in the workspace that is served.
  const project = await defer({ server, tools: [TOOL], project: empty });
  await page.getByRole("link", { name: "Deploy" }).click();
  await page.getByLabel("Note").fill("Go ahead.");
  await page.getByRole("button", { name: "Yes" }).click();
  await page.getByRole("status").filter({ hasText: "Answer sent." }).waitFor();
  const said = () => entriesOf(recordOf(project), "chat_response");
  await until(() => said().some(({ message }) => message === "Done."));
  expect(entriesOf(recordOf(project), "inquiry_response")).toEqual([
    expect.objectContaining({
      outcome: "answered",
      answer: true,
      note: "Go ahead.",
      answered_by: { kind: "user", channel: "desk", name: "owner", auth: "os_user" },
    }),
  ]);
});

test("the keyboard is enough to find a question and to answer it", async () => {
  const project = new Project();
  const store = storeOf(project);
  await leaveQuestion(store, "First?");
  const second = await leaveQuestion(store, "Second?");
  const desk = await startDesk(project);
  const page = await openPage(await openContext(), desk.login);
  await page.getByRole("link", { name: "Second?" }).waitFor();
  for (const key of ["j", "j", "Enter"]) await page.keyboard.press(key);
  await page.getByRole("button", { name: "No" }).waitFor();
  for (const key of ["n", "Enter"]) await page.keyboard.press(key);
  await page.getByRole("status").filter({ hasText: "Answer sent." }).waitFor();
  expect(await answersIn(store, second)).toEqual([expect.objectContaining({ answer: false })]);
});

test("a file of the model is downloaded from its conversation, under a name of its digest", async () => {
  const project = new Project();
  const bytes = Buffer.from("<script>alert(1)</script>");
  const file = describeFile("text/html", bytes);
  const writer = await storeOf(project).create({});
  await writer.saveFile?.(file, bytes);
  await writer.append({ type: "reply_file", timestamp: at(0), ...file });
  await writer.release();
  const desk = await startDesk(project);
  const page = await openPage(await openContext(), desk.login);
  await page.goto(`${desk.pageUrl}/#/conversations/${writer.id}`);
  const downloads = page.waitForEvent("download");
  await page.getByRole("button", { name: "Download" }).click();
  const download = await downloads;
  expect([download.suggestedFilename(), readFileSync(await download.path())]).toEqual([
    `${file.digest}.bin`,
    bytes,
  ]);
});

test("the page tells the second of two people that the other has answered, and who that was", async () => {
  const project = new Project();
  const store = storeOf(project);
  const id = await leaveQuestion(store);
  const tokens = [await addPerson(project, "ada"), await addPerson(project, "ben")];
  const desk = await startDesk(project);
  const address = `${desk.pageUrl}/${fragmentOf(id)}`;
  const [ada, ben] = await Promise.all(
    tokens.map(async (token) => openPage(await openContext(), address, token)),
  );
  if (ada === undefined || ben === undefined) throw new Error("a page is missing");
  // Ben presses first, but his request arrives second.
  await ben.route(/\/answer\?/, async (route) => {
    await ada.getByRole("button", { name: "No" }).click();
    await ada.getByRole("status").filter({ hasText: "Answer sent." }).waitFor();
    await route.continue();
  });
  await ben.getByRole("button", { name: "Yes" }).click();
  await ben
    .getByText("no Answered by ada (desk). Your answer came later, and was not used.")
    .waitFor();
  expect(await answersIn(store, id)).toEqual([
    expect.objectContaining({
      answer: false,
      answeredBy: { kind: "user", channel: "desk", name: "ada", auth: "token" },
    }),
  ]);
});
