/** Takes the pictures in docs/desk/ of a workspace with fixed content: `npm run screenshots`. */
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import process from "node:process";
import type { Browser } from "playwright-core";
import { openWorkspace } from "../../src/stores/index.ts";
import { ROOT } from "../support/documents.ts";
import { launchBrowser, openContext, SIZES } from "./browser.ts";
import { toPalette } from "./palette-png.ts";
import { fillShop, NOW, type Shop } from "./shop.ts";
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

/** The fragment of the address of each picture. */
function viewsOf({
  RENAME,
  DEPLOY,
  FIX,
  NEWSLETTER,
  CLEANUP,
}: Shop): Readonly<Record<string, string>> {
  return {
    inbox: "#/",
    question: fragmentOf(DEPLOY, "c1.region.1"),
    form: fragmentOf(NEWSLETTER, "c3.subject.1"),
    diff: fragmentOf(FIX, "c2.apply_changes.1"),
    permission: fragmentOf(CLEANUP, "c4:run:1"),
    conversation: `#/conversations/${RENAME}`,
    audit: "#/audit",
  };
}

/** Starts the desk of a new workspace, and calls `take` with it. */
async function withShop(take: (desk: DeskProcess, shop: Shop, root: string) => Promise<void>) {
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
    const shop = await fillShop(
      (clock) => openWorkspace({ from: root, environment, clock, pid: process.pid }).conversations,
    );
    const desk = await DeskProcess.start({ root, variables });
    try {
      await take(desk, shop, root);
    } finally {
      await desk.kill();
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Returns the pictures by their names. */
async function takePictures(browser: Browser): Promise<ReadonlyMap<string, Buffer>> {
  const pictures = new Map<string, Buffer>();
  await withShop(async (desk, shop, root) => {
    const context = await openContext(browser);
    const page = await context.newPage();
    await page.clock.setFixedTime(NOW);
    await page.goto(desk.login);
    await page.getByText("Live").waitFor();
    for (const size of ["phone", "desktop"] as const) {
      await page.setViewportSize(SIZES[size]);
      for (const [name, fragment] of Object.entries(viewsOf(shop))) {
        await page.goto(`${desk.url}/${fragment}`);
        await page.locator("main h1").waitFor();
        await page.getByText("Loading …").waitFor({ state: "detached" });
        await page.evaluate(TWO_FRAMES);
        await page.evaluate(`${HIDE}(${JSON.stringify([root, SHOWN_ROOT])})`);
        pictures.set(`${name}-${size}.png`, toPalette(await page.screenshot({ caret: "hide" })));
      }
    }
  });
  return pictures;
}

const folder = path.join(ROOT, "docs", "desk");
mkdirSync(folder, { recursive: true });
const browser = await launchBrowser();
try {
  for (const [name, picture] of await takePictures(browser)) {
    writeFileSync(path.join(folder, name), picture);
    console.log(`${name}: ${Math.ceil(picture.length / 1000)} kB`);
  }
} finally {
  await browser.close();
}
