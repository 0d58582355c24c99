/**
 * Takes the pictures in docs/desk/ of a workspace with fixed content: `npm run screenshots`. With `--into`, it takes all
 * pictures, the dark ones too, and puts them into that folder.
 */
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import process from "node:process";
import { parseArgs } from "node:util";
import type { Browser, Page } from "playwright-core";
import { openWorkspace } from "../../src/stores/index.ts";
import { ROOT } from "../support/documents.ts";
import { launchBrowser, type Look, openContext, SIZES } from "./browser.ts";
import type { FakeClock } from "../../src/testing/index.ts";
import { toPalette } from "./palette-png.ts";
import { fillShop, NOW, type Shop, startWork } from "./shop.ts";
import { DeskProcess, fragmentOf } from "./support.ts";

/** Shown instead of the temporary folder. */
const SHOWN_ROOT = "/home/ada/shop";

/** Runs in the page. */
const HIDE = `(([root, shown]) => {
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) texts.currentNode.data = texts.currentNode.data.replaceAll(root, shown);
})`;

/** Until then, the browser says what is in view. */
const TWO_FRAMES = `new Promise((done) => {
  requestAnimationFrame(() => requestAnimationFrame(done));
})`;

/** The pictures that the documents show. */
const DOCUMENTED: ReadonlySet<string> = new Set([
  "inbox",
  "question",
  "form",
  "diff",
  "permission",
  "conversation",
  "audit",
]);

interface Shown {
  readonly shop: Shop;
  /** A conversation that runs. */
  readonly working: string;
}

/** The fragment of the address of each picture. */
function viewsOf({
  shop: { RENAME, DEPLOY, FIX, NEWSLETTER, CLEANUP, CHECK },
  working,
}: Shown): Readonly<Record<string, string>> {
  return {
    inbox: "#/",
    question: fragmentOf(DEPLOY, "c1.region.1"),
    form: fragmentOf(NEWSLETTER, "c3.subject.1"),
    diff: fragmentOf(FIX, "c2.apply_changes.1"),
    permission: fragmentOf(CLEANUP, "c4:run:1"),
    conversation: `#/conversations/${RENAME}`,
    audit: "#/audit",
    several: fragmentOf(CHECK, "c6:run:1"),
    working: `#/conversations/${working}`,
  };
}

/** Starts the desk of a new workspace, and calls `take` with it. */
async function withShop(take: (desk: DeskProcess, shown: Shown, root: string) => Promise<void>) {
  const folder = mkdtempSync(path.join(realpathSync(tmpdir()), "jp-screenshots-"));
  const root = path.join(folder, "shop");
  const variables = {
    PATH: process.env["PATH"] ?? "",
    HOME: folder,
    USER: "Ada",
    JP_USER_DATA_DIR: path.join(folder, "data"),
    JP_TRUSTED_WORKSPACES: root,
  };
  try {
    mkdirSync(path.join(root, ".jp"), { recursive: true });
    writeFileSync(path.join(root, ".jp", ".id"), "abc12");
    const environment = { variables, home: folder, platform: process.platform };
    const open = (clock: FakeClock) =>
      openWorkspace({ from: root, environment, clock, pid: process.pid }).conversations;
    const shop = await fillShop(open);
    await using writer = await startWork(open);
    const desk = await DeskProcess.start({ root, variables });
    try {
      await take(desk, { shop, working: writer.id }, root);
    } finally {
      await desk.kill();
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const LOOKS = [
  { size: "phone", colors: "light" },
  { size: "desktop", colors: "light" },
  { size: "phone", colors: "dark" },
  { size: "desktop", colors: "dark" },
] as const satisfies readonly Look[];

interface Picture {
  readonly view: string;
  readonly look: (typeof LOOKS)[number];
  readonly png: Buffer;
}

/** Calls `keep` with each picture. */
async function takePictures(browser: Browser, keep: (picture: Picture) => void): Promise<void> {
  await withShop(async (desk, shown, root) => {
    const [stranger, ada] = [await openPage(browser), await openPage(browser)];
    await ada.goto(desk.login);
    await ada.getByText("Live").waitFor();
    const take = async (page: Page, fragment: string) => {
      await page.goto(`${desk.url}/${fragment}`);
      await page.locator("main h1").waitFor();
      await page.getByText("Loading …").waitFor({ state: "detached" });
      await page.evaluate(TWO_FRAMES);
      await page.evaluate(`${HIDE}(${JSON.stringify([root, SHOWN_ROOT])})`);
      return toPalette(await page.screenshot({ caret: "hide" }));
    };
    for (const look of LOOKS) {
      for (const each of [stranger, ada]) {
        await each.setViewportSize(SIZES[look.size]);
        await each.emulateMedia({ colorScheme: look.colors });
      }
      keep({ view: "login", look, png: await take(stranger, "") });
      for (const [view, fragment] of Object.entries(viewsOf(shown))) {
        keep({ view, look, png: await take(ada, fragment) });
      }
    }
  });
}

async function openPage(browser: Browser): Promise<Page> {
  const context = await openContext(browser);
  const page = await context.newPage();
  await page.clock.setFixedTime(NOW);
  return page;
}

const { values } = parseArgs({ options: { into: { type: "string" } } });
const folder = values.into ?? path.join(ROOT, "docs", "desk");
mkdirSync(folder, { recursive: true });
const browser = await launchBrowser();
try {
  await takePictures(browser, ({ view, look: { size, colors }, png }) => {
    const isDocumented = DOCUMENTED.has(view) && colors === "light";
    if (values.into === undefined && !isDocumented) return;
    const name = `${view}-${size}${colors === "dark" ? "-dark" : ""}.png`;
    writeFileSync(path.join(folder, name), png);
    console.log(`${name}: ${Math.ceil(png.length / 1000)} kB`);
  });
} finally {
  await browser.close();
}
