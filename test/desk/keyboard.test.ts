/** The page without a mouse: where the focus goes, what is announced, and that nothing typed is lost. */
import type { Locator, Page } from "playwright-core";
import { expect, test } from "vitest";
import { calling } from "../cli/calling-model.ts";
import { Project } from "../cli/support.ts";
import {
  defer,
  fragmentOf,
  FORM_TOOL,
  leaveQuestion,
  openPage,
  SAMPLES,
  startDesk,
  storeOf,
  useBrowser,
} from "./support.ts";

const openContext = useBrowser();

/** Resolves once this has the focus. */
function untilFocused(page: Page, target: Locator): Promise<void> {
  return target.and(page.locator(":focus")).waitFor();
}

async function pressAll(page: Page, ...keys: readonly string[]): Promise<void> {
  for (const key of keys) await page.keyboard.press(key);
}

test("a form is filled, reviewed and sent with the keyboard alone", async () => {
  await using server = await calling(["order"]);
  const project = await defer({ server, tools: [FORM_TOOL] });
  const desk = await startDesk(project);
  const page = await openPage(await openContext(), desk.login);
  await page.getByRole("link", { name: "3 questions" }).waitFor();
  await pressAll(page, "j", "Enter");
  await untilFocused(page, page.getByRole("heading", { name: /^order waits for 3 answers in / }));
  await page.keyboard.press("Tab"); // The conversation, and then the first option.
  await pressAll(page, "Tab", "Space");
  expect(await page.getByRole("radio", { name: "S", exact: true }).isChecked()).toBe(true);
  await page.keyboard.press("Enter"); // Sends the form, which is not complete.
  await page.getByText("Choose yes or no.").waitFor();
  await untilFocused(page, page.getByRole("radio", { name: "Yes", exact: true }));
  await pressAll(page, "Space", "Enter");
  await untilFocused(page, page.getByRole("heading", { name: "Review your answers" }));
  await pressAll(page, "Tab", "Tab", "Enter"); // Back.
  await untilFocused(page, page.getByRole("radio", { name: "S", exact: true }));
  await page.keyboard.press("Enter");
  await untilFocused(page, page.getByRole("heading", { name: "Review your answers" }));
  await pressAll(page, "Tab", "Enter");
  await page.getByRole("status").filter({ hasText: "3 answers sent." }).waitFor();
  await untilFocused(page, page.getByRole("heading", { name: "Inbox" }));
});

test("what was typed survives Esc, a reload and a lost connection", async () => {
  const project = await deferText();
  const desk = await startDesk(project);
  const context = await openContext();
  const page = await openPage(context, desk.login);
  await page.getByRole("link", { name: "Title?" }).click();
  const field = page.getByLabel("Answer", { exact: true });
  await field.fill("Half an ans");
  await page.keyboard.press("Escape");
  expect(await field.inputValue()).toBe("Half an ans");
  await page.getByRole("heading", { name: "Title?" }).focus();
  await page.keyboard.press("Escape");
  await page.getByRole("link", { name: "Title?" }).click();
  expect(await field.inputValue()).toBe("Half an ans");
  await page.reload();
  expect(await field.inputValue()).toBe("Half an ans");
  await context.setOffline(true);
  await field.fill("Half an answer");
  await page.getByRole("button", { name: "Send answer" }).click();
  await page.getByText("The server cannot be reached.").waitFor();
  await context.setOffline(false);
  await page.getByRole("button", { name: "Send answer" }).click();
  await page.getByRole("status").filter({ hasText: "Answer sent." }).waitFor();
  expect(await page.evaluate("sessionStorage.getItem('jp-desk-drafts')")).not.toContain("Half");
});

async function deferText(): Promise<Project> {
  await using server = await calling(["title"]);
  return await defer({ server, tools: [{ name: "title", questions: [SAMPLES.text.question] }] });
}

test("logging out forgets what was typed", async () => {
  const project = await deferText();
  const desk = await startDesk(project);
  const page = await openPage(await openContext(), desk.login);
  await page.getByRole("link", { name: "Title?" }).click();
  await page.getByLabel("Answer", { exact: true }).fill("Half an answer");
  await page.getByRole("button", { name: "owner" }).press("Enter");
  await page.getByRole("button", { name: "Log out" }).press("Enter");
  await page.getByLabel("Your personal token").waitFor();
  expect(await page.evaluate("sessionStorage.length")).toBe(0);
});

test("a new question is announced, and does not move the focus", async () => {
  const project = new Project();
  const store = storeOf(project);
  const id = await leaveQuestion(store, "First?");
  const desk = await startDesk(project);
  const page = await openPage(await openContext(), desk.login);
  await page.goto(`${desk.pageUrl}/${fragmentOf(id)}`);
  await page.getByRole("button", { name: "Cancel this question" }).press("Enter");
  await untilFocused(page, page.getByRole("button", { name: "Keep it" }));
  await leaveQuestion(store, "Is `it` **urgent**?");
  await page
    .getByRole("status")
    .filter({ hasText: /^New: .*: Is `it` \*\*urgent\*\*\?$/ })
    .waitFor();
  await untilFocused(page, page.getByRole("button", { name: "Keep it" }));
  await page.keyboard.press("Enter");
  await untilFocused(page, page.getByRole("button", { name: "Cancel this question" }));
  expect(await page.title()).toBe("(2) Question · jp desk");
});
