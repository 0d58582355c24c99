/**
 * The first hour of someone who has just installed jp: from the package, in two repositories whose tests fail, with real
 * keys, a real sandbox and a phone. The keys beyond the messages are counted.
 */
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { type ChatBody, ModelServer, type Reply } from "../cli/model-server.ts";
import { SIZES } from "../desk/browser.ts";
import { openPage, useBrowser } from "../desk/support.ts";
import { pack, ROOT, runOrThrow } from "../package/tarball.ts";
import { useSandbox } from "../shell/support.ts";
import { PseudoTerminal } from "../support/pseudo-terminal.ts";

useSandbox();
const openContext = useBrowser();

/** npm may be slow. */
const TIMEOUT_MS = 240_000;
const STEP_LIMIT_MS = 60_000;

const installed = mkdtempSync(path.join(realpathSync(tmpdir()), "jp-first-hour-"));
beforeAll(async () => {
  const { file } = await pack(installed);
  const quiet = ["--prefer-offline", "--no-audit", "--no-fund"];
  await runOrThrow("npm", ["install", "--global", "--prefix", installed, ...quiet, file]);
}, TIMEOUT_MS);
afterAll(() => rmSync(installed, { recursive: true, force: true }));

interface Repository {
  readonly files: Readonly<Record<string, string>>;
  readonly tests: string;
  /** The file, what is wrong in it, and what is right. */
  readonly edits: readonly (readonly [file: string, old: string, fixed: string])[];
}

const NODE: Repository = {
  tests: "node --test",
  files: {
    "slug.js": 'exports.slug = (title) => title.replaceAll(" ", "_");\n',
    "link.js":
      'const { slug } = require("./slug.js");\nexports.link = (title) => "/" + slug(title) + "/";\n',
    "link.test.js": [
      'const assert = require("node:assert");',
      'const { test } = require("node:test");',
      'const { link } = require("./link.js");',
      'test("links", () => assert.equal(link("Two words"), "/two-words"));',
      "",
    ].join("\n"),
  },
  edits: [
    ["slug.js", 'title.replaceAll(" ", "_")', 'title.toLowerCase().replaceAll(" ", "-")'],
    ["link.js", ' + "/";', ";"],
  ],
};

const PYTHON: Repository = {
  tests: "python3 -m unittest -q",
  files: {
    "prices.py": "def total(prices):\n    return sum(prices) + 1\n",
    "test_prices.py": [
      "import unittest",
      "from prices import total",
      "class Totals(unittest.TestCase):",
      "    def test_total(self):",
      "        self.assertEqual(total([1, 2]), 3)",
      "",
    ].join("\n"),
  },
  edits: [["prices.py", "sum(prices) + 1", "sum(prices)"]],
};

const BRANCH = {
  name: "ask_user",
  arguments: {
    question: "Which branch should it go to?",
    answer_type: "select",
    options: [{ value: "main" }, { value: "next" }],
  },
};

/** An assistant that runs the tests, mends what is wrong, and runs them again. */
function replyTo({ messages }: ChatBody, { tests, edits }: Repository): Reply {
  const asked = messages.findLastIndex(({ role }) => role === "user");
  const results = messages.slice(asked).filter(({ role }) => role === "tool");
  const last = JSON.stringify(messages.at(-1)?.content);
  if (JSON.stringify(messages[asked]?.content).includes("Which branch?")) {
    return results.length === 0 ? { calls: [BRANCH] } : `It goes where you said: ${last}`;
  }
  const runsTests = { calls: [{ name: "shell_run", arguments: { command: tests } }] };
  if (results.length === 0) return runsTests;
  if (results.length === 1) {
    return {
      calls: edits.map(([file, old, fixed]) => ({
        name: "fs_modify_file",
        arguments: { path: file, patterns: [{ old, new: fixed }] },
      })),
    };
  }
  return results.length === 1 + edits.length
    ? runsTests
    : `After my changes: ${/fail 0|OK/.test(last) ? "all tests pass" : last}.`;
}

/** Someone at a terminal in a new repository. */
class Newcomer {
  readonly folder: string;
  readonly variables: Readonly<Record<string, string>>;
  readonly #screen: PseudoTerminal;
  #keys = 0;

  constructor({ files }: Repository, modelUrl: string) {
    // Not below /tmp, which the sandbox hides from commands.
    const cache = path.join(ROOT, "node_modules", ".cache");
    mkdirSync(cache, { recursive: true });
    const root = mkdtempSync(path.join(cache, "first-hour-"));
    onTestFinished(() => rmSync(root, { recursive: true, force: true }));
    this.folder = path.join(root, "repository");
    const config = path.join(root, "home", ".config", "jp");
    mkdirSync(config, { recursive: true });
    mkdirSync(this.folder);
    writeFileSync(
      path.join(config, "config.toml"),
      `assistant.model.id = "llamacpp/scripted"\nproviders.llm.llamacpp.base_url = "${modelUrl}"\n`,
    );
    for (const [name, content] of Object.entries(files)) {
      writeFileSync(path.join(this.folder, name), content);
    }
    const { PATH = "" } = process.env;
    const folders = [path.join(installed, "bin"), path.dirname(process.execPath), PATH];
    const PATHS = folders.join(path.delimiter);
    this.variables = { PATH: PATHS, HOME: path.join(root, "home"), LANG: "C.UTF-8", PS1: "$ " };
    for (const words of [["init", "--quiet"], ["add", "--all"], COMMIT]) {
      execFileSync("git", words, { cwd: this.folder, env: this.variables });
    }
    this.#screen = this.#open("jp");
  }

  #open(...words: readonly string[]): PseudoTerminal {
    const { folder, variables } = this;
    const [columns, rows] = [120, 40];
    return new PseudoTerminal("env", words, { folder, variables, columns, rows });
  }

  /** Another terminal, until it shows a text. Returns that line. */
  async beside(words: readonly string[], shown: RegExp): Promise<string> {
    const screen = this.#open(...words);
    await screen.untilShown((lines) => lines.some((line) => shown.test(line)));
    return screen.lines.find((line) => shown.test(line)) ?? "";
  }

  /** Waits for one of these texts. Returns the first that is there. */
  async sees(...texts: readonly string[]): Promise<string | undefined> {
    const { promise: isLate, reject } = Promise.withResolvers<never>();
    const find = (lines: readonly string[]) =>
      texts.find((text) => lines.join("\n").includes(text));
    const explain = () =>
      reject(new Error(`${texts.join(" or ")} is not in\n${this.#screen.lines.join("\n")}`));
    const timer = setTimeout(explain, STEP_LIMIT_MS);
    const seen = this.#screen.untilShown((lines) => find(lines) !== undefined);
    await Promise.race([seen, isLate]).finally(() => clearTimeout(timer));
    return find(this.#screen.lines);
  }

  /** Once a text is there. None of it counts as a key. */
  async writes(message: string, once: string): Promise<void> {
    await this.sees(once);
    this.#screen.type(`${message}\r`);
  }

  /** Once a text is there, one key after the other. */
  async presses(keys: readonly string[], once: string): Promise<void> {
    await this.sees(once);
    for (const key of keys) this.#screen.type(key);
    this.#keys += keys.length;
  }

  /** The number of keys since the last call. */
  countKeys(): number {
    const count = this.#keys;
    this.#keys = 0;
    return count;
  }

  read(file: string): string {
    return readFileSync(path.join(this.folder, file), "utf8");
  }
}

const COMMIT = ["-c", "user.name=A", "-c", "user.email=a@example.com", "commit", "-qm", "Begin"];
const [DOWN, ENTER] = ["\u001b[B", "\r"];
const WHAT_MAY_MODELS_DO = "What may models do in this folder?";

async function begin(repository: Repository): Promise<Newcomer> {
  const model = await ModelServer.start((body) => replyTo(body, repository), ["scripted"]);
  onTestFinished(() => model[Symbol.asyncDispose]());
  return new Newcomer(repository, model.url);
}

test(
  "two edits and two runs of the tests take six keys, and undoing them one",
  { timeout: TIMEOUT_MS },
  async () => {
    const ada = await begin(NODE);
    await ada.writes("Fix the failing test", "New conversation");
    await ada.presses([DOWN, DOWN, DOWN, ENTER], WHAT_MAY_MODELS_DO);
    // The edits are two calls of one reply, so either may be asked about first.
    const edits = ["Apply these changes to slug.js?", "Apply these changes to link.js?"];
    const first = await ada.sees(...edits);
    await ada.presses(["y"], first ?? "");
    await ada.presses(["y"], edits.find((edit) => edit !== first) ?? "");
    await ada.sees("all tests pass");
    expect(ada.countKeys()).toBeLessThanOrEqual(6);
    expect(ada.read("slug.js")).toContain("toLowerCase");
    await ada.writes("/undo", "all tests pass");
    await ada.presses(["y"], "Restore 2 files?");
    await ada.sees("Restored");
    expect(ada.countKeys()).toBe(1);
    expect(ada.read("slug.js")).toBe(NODE.files["slug.js"]);
  },
);

test(
  "a rule takes two keys, and counts for the second run of the tests",
  { timeout: TIMEOUT_MS },
  async () => {
    const ada = await begin(PYTHON);
    await ada.writes("Fix the failing test", "New conversation");
    await ada.presses([DOWN, DOWN, ENTER], WHAT_MAY_MODELS_DO);
    ada.countKeys();
    await ada.presses(["s"], "Run built-in shell_run tool?");
    await ada.presses([ENTER], "30 days");
    expect(ada.countKeys()).toBe(2);
    await ada.presses(["y"], "Apply these changes to prices.py?");
    await ada.sees("all tests pass");
    expect(ada.countKeys()).toBe(1);
  },
);

test(
  "a question at the terminal is answered from the phone, and read on a wide screen",
  { timeout: TIMEOUT_MS },
  async () => {
    const ada = await begin(PYTHON);
    await ada.writes("Which branch?", "New conversation");
    await ada.presses([ENTER], WHAT_MAY_MODELS_DO);
    await ada.sees("Which branch should it go to?");
    const link = await ada.beside(["jp", "serve"], /#login=/);
    const login = /http:\S+#login=\S+/.exec(link)?.[0] ?? "";
    const page = await openPage(await openContext({ size: "phone" }), login);
    await page.getByRole("link", { name: "Which branch should it go to?" }).click();
    await page.getByText("next", { exact: true }).click();
    await page.getByRole("button", { name: "Send answer" }).click();
    await ada.sees("It goes where you said:");
    await ada.sees("next");
    await page.setViewportSize(SIZES.desktop);
    await page.getByRole("link", { name: "Conversations" }).click();
    await page.getByRole("link", { name: "Which branch?" }).click();
    const said = page.getByText("It goes where you said:");
    await said.waitFor();
    expect(await said.innerText()).toContain("next");
  },
);
