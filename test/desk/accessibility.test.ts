/** Every view of the page on a phone and on a desktop, light and dark, checked by axe. */
import axe from "axe-core";
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { calling } from "../cli/calling-model.ts";
import { entriesOf, recordOf } from "../cli/query-project.ts";
import { type Look, SIZES } from "./browser.ts";
import { defer, openPage, startDesk, TOOLS, useBrowser } from "./support.ts";

const openContext = useBrowser();

const LOOKS: readonly Look[] = (["phone", "desktop"] as const).flatMap((size) =>
  (["light", "dark"] as const).map((colors) => ({ size, colors })),
);

async function dress(page: Page, { size = "desktop", colors = "light" }: Look): Promise<void> {
  await page.setViewportSize(SIZES[size]);
  await page.emulateMedia({ colorScheme: colors });
}

/** What axe finds, and where. */
async function violationsIn(page: Page): Promise<readonly string[]> {
  await page.evaluate(axe.source);
  // Its source has defined `axe`.
  const { violations } = (await page.evaluate("axe.run()")) as axe.AxeResults;
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary = "" }) => `${id}: ${html} ${failureSummary}`),
  );
}

/** The width of what is wider than the window, which a phone would have to scroll sideways. */
function overflowOf(page: Page): Promise<number> {
  return page.evaluate("document.documentElement.scrollWidth - innerWidth");
}

test("axe finds nothing, and nothing is wider than the window", { timeout: 300_000 }, async () => {
  await using server = await calling(TOOLS.map(({ name }) => name));
  const project = await defer({ server, tools: TOOLS });
  await project.jp("inquiry", "answer", "sure", "yes");
  const record = recordOf(project);
  const conversation = record.id;
  const ids = [
    ...entriesOf(record, "inquiry_request"),
    ...entriesOf(record, "permission_request"),
  ].map(({ id }) => id as string); // Each has one.
  const desk = await startDesk(project);
  const context = await openContext();
  const page = await openPage(context, desk.login);
  const views = [
    "#/",
    "#/conversations",
    `#/conversations/${conversation}`,
    "#/audit",
    "#/nowhere",
    ...ids.map((id) => `#/inquiries/${conversation}/${encodeURIComponent(id)}`),
  ];
  const found: string[] = [];
  const check = async (name: string, { size = "desktop", colors = "light" }: Look) => {
    const problems = [...(await violationsIn(page))];
    const overflow = await overflowOf(page);
    if (overflow > 0) problems.push(`${overflow} pixels too wide`);
    found.push(...problems.map((problem) => `${name} (${size}, ${colors}): ${problem}`));
  };
  for (const look of LOOKS) {
    await dress(page, look);
    for (const view of views) {
      await page.goto(`${desk.pageUrl}/${view}`);
      await page.locator("main h1").waitFor();
      await page.getByText("Loading …").waitFor({ state: "detached" });
      await check(view, look);
    }
  }
  await page.getByRole("button", { name: "owner" }).click();
  await check("account", {});
  await page.getByRole("button", { name: "Keyboard shortcuts" }).click();
  await check("shortcuts", {});
  await page.getByRole("button", { name: "Close" }).click();
  await page.getByRole("button", { name: "owner" }).click();
  await page.getByRole("button", { name: "Log out" }).click();
  await page.getByLabel("Your personal token").waitFor();
  for (const look of LOOKS) {
    await dress(page, look);
    await check("login", look);
  }
  expect(found).toEqual([]);
});
