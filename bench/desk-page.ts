/** The delay of a question on a page open in a browser: from the start of writing it until the page shows it. */
import { performance } from "node:perf_hooks";
import type { Page } from "playwright-core";
import { launchBrowser, NoBrowserError, openContext } from "../test/desk/browser.ts";
import { DeskProcess, leaveQuestion } from "../test/desk/support.ts";
import { type Bench, formatMs } from "./measure.ts";
import { sized } from "./small.ts";
import { percentile } from "./statistics.ts";
import { benchVariables, openBenchWorkspace } from "./workspace.ts";

const QUESTIONS = sized(100, 3);
const MAX_MS = 200;
const NAME = "jp serve: the open page shows a question (p99)";

export const deskPage: Bench = {
  rows: [NAME],
  run: async (folder) => {
    const browser = await launchBrowser().catch((error: unknown) => {
      if (!(error instanceof NoBrowserError)) throw error;
      console.error(error.message);
      return undefined;
    });
    if (browser === undefined) return [];
    const { conversations } = openBenchWorkspace(folder);
    const server = await DeskProcess.start({ root: folder, variables: benchVariables(folder) });
    try {
      const page = await (await openContext(browser)).newPage();
      await page.goto(server.login);
      await page.getByText("Nothing is waiting.").waitFor();
      const took: number[] = [];
      for (let index = 0; index < QUESTIONS; index += 1) {
        const shown = timeOfText(page, `Question ${index}?`);
        await page.evaluate("0"); // The page is watching from here on.
        const begun = performance.timeOrigin + performance.now();
        await leaveQuestion(conversations, `Question ${index}?`);
        took.push((await shown) - begun);
      }
      const [slowest, usual] = [percentile(took, 0.99), percentile(took, 0.5)];
      return [
        {
          name: NAME,
          unit: "ms",
          goal: { most: MAX_MS },
          figures: { time: { value: slowest, noise: 0 } },
          detail: `median ${formatMs(usual)} of ${QUESTIONS}, writing and syncing included`,
        },
      ];
    } finally {
      await server.kill();
      await browser.close();
    }
  },
};

/** When an inbox card shows this text, by a clock that Node shares. */
function timeOfText(page: Page, text: string): Promise<number> {
  return page.evaluate(`new Promise((resolve) => {
    const find = () =>
      [...document.querySelectorAll(".card-text")].some((card) => card.textContent === "${text}");
    const observer = new MutationObserver(() => {
      if (!find()) return;
      observer.disconnect();
      resolve(performance.timeOrigin + performance.now());
    });
    observer.observe(document.body, { subtree: true, childList: true, characterData: true });
  })`);
}
