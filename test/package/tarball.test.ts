import { spawnSync } from "node:child_process";
import {
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { rm } from "node:fs/promises";
import path from "node:path";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { PROVIDER_NAMES } from "../../src/reach/provider/index.ts";
import { Project } from "../cli/support.ts";
import type { JsonObject } from "../../src/util/index.ts";
import { AllProviders } from "../support/all-providers.ts";
import { blocksOf, readDocument } from "../support/documents.ts";
import {
  CHAT_BOT,
  NIGHTLY_JOB,
  runNightlyJob,
  tryWebService,
  WEB_SERVICE,
} from "../support/run-examples.ts";
import {
  addNodeTypes,
  findInstalled,
  install,
  type Installed,
  linkPackage,
  makeFolder,
  pack,
  PROGRAMS,
  ROOT,
  run,
  runOrThrow,
  type Tarball,
} from "./tarball.ts";

const PAID_ONCE = `Paid 12, with a key of 32 characters
Attempt
Attempt
Ordered Emma as a gift, receipt r-1
`;

/** A program, below the name of its file. */
const NAMED_PROGRAM = /^`(\S+)`:\n\n```\w+\n([^]*?)^```$/gm;

/** A new project with everything that is in the guide to writing tools, word for word. Returns its folder. */
async function copyGuide(root: string, installed: string): Promise<string> {
  mkdirSync(path.join(root, "tools"), { recursive: true });
  mkdirSync(path.join(root, ".jp"));
  await runOrThrow("npm", ["init", "-y"], { cwd: root });
  symlinkSync(path.join(installed, "node_modules"), path.join(root, "node_modules"));
  const guide = readDocument("docs/writing-tools.md");
  for (const [, name = "", code = ""] of guide.text.matchAll(NAMED_PROGRAM)) {
    writeFileSync(path.join(root, name), code);
  }
  const config = blocksOf([guide], "toml").map(({ code }) => code);
  writeFileSync(path.join(root, ".jp", "config.toml"), config.join("\n"));
  return root;
}

const folder = makeFolder();
const manifest = JSON.parse(readFileSync(path.join(ROOT, "package.json"), "utf8")) as {
  readonly version: string;
  readonly exports: Readonly<Record<string, string | { readonly default: string }>>;
};
/** Each entry with the name that imports it. */
const ENTRIES = Object.entries(manifest.exports).flatMap(([name, target]) =>
  typeof target === "string" ? [] : [{ name: path.join("jp-ts", name), file: target.default }],
);
/** On an idle machine this takes half a minute, but the machine may be busy and the registry slow. */
const TIMEOUT_MS = 180_000;
const MAX_INSTALLED_BYTES = 15_000_000;
const MAX_PACKAGES = 10;
const MCP_SERVER = "@modelcontextprotocol/server";
/** Of all scripts of the desk's page, compressed. */
const MAX_PAGE_BYTES = 79_200;
const API_KEYS = {
  ANTHROPIC_API_KEY: "key",
  GEMINI_API_KEY: "key",
  OPENAI_API_KEY: "key",
  OPENROUTER_API_KEY: "key",
};
let tarball: Tarball;

beforeAll(async () => {
  tarball = await pack(folder);
}, TIMEOUT_MS);
afterAll(() => rm(folder, { recursive: true, force: true }), TIMEOUT_MS);

describe("the package", { timeout: TIMEOUT_MS }, () => {
  test("contains the command, the library, the page of the desk, the schema and the documents", () => {
    const bundled =
      /^dist\/bin\/[\w-]+\.cjs$|^dist\/lib\/[\w/-]+\.(?:js|d\.ts)$|^dist\/desk\/[\w-]+-[\w-]{8}\.(?:js|css)$/;
    const others = tarball.contents.filter((file) => !bundled.test(file));
    expect(others.toSorted()).toEqual([
      "CHANGELOG.md",
      "LICENSE",
      "README.md",
      "dist/THIRD-PARTY-NOTICES.txt",
      "dist/bin/help.txt",
      "dist/desk/index.html",
      "dist/minijinja_js_bg.wasm",
      "dist/sbom.cdx.json",
      "package.json",
      "schema/config.schema.json",
      "schema/desk.openapi.json",
      "schema/events.schema.json",
    ]);
  });

  test.each([".js", ".d.ts"])(
    "contains no %s file in the library that nothing imports",
    (suffix) => {
      const files = tarball.contents.filter(
        (file) => file.startsWith("dist/lib/") && file.endsWith(suffix),
      );
      const entries = ENTRIES.map(({ file }) => path.join(file.replace(/\.js$/, suffix)));
      expect(files.toSorted()).toEqual([...importedFrom(entries, suffix)].toSorted());
    },
  );

  test("has a page that names its own files, has no script or style of its own, and is small", () => {
    const html = readFileSync(path.join(ROOT, "dist/desk/index.html"), "utf8");
    const named = [...html.matchAll(/ (?:src|href)="(?!data:)([^"]+)"/g)].map(([, name]) => name);
    const files = tarball.contents.filter((file) => file.startsWith("dist/desk/"));
    expect(files).toEqual(expect.arrayContaining(named.map((name) => `dist/desk/${name}`)));
    expect(named).toHaveLength(2);
    expect(html).not.toMatch(/<style|<script(?! type="module" src=)|style=|onload=/);
    const scripts = files
      .filter((file) => file.endsWith(".js"))
      .map((file) => gzipSync(readFileSync(path.join(ROOT, file))));
    expect(Buffer.concat(scripts).length).toBeLessThan(MAX_PAGE_BYTES);
  });

  test("has the licence of every package whose code is in it", () => {
    // A map names the sources of its file.
    const packages = /\bnode_modules\/((?:@[^/"]+\/)?[^/"]+)/g;
    const maps = path.join(ROOT, "dist/maps");
    const sources = readdirSync(maps, { recursive: true, encoding: "utf8" })
      .filter((file) => file.endsWith(".map"))
      .flatMap((file) => [...readFileSync(path.join(maps, file), "utf8").matchAll(packages)]);
    const bundled = new Set(sources.map(([, name = ""]) => name));
    const notices = readFileSync(path.join(ROOT, "dist", "THIRD-PARTY-NOTICES.txt"), "utf8");
    const licensed = new Set(notices.split("\n").map((line) => line.split(" ", 1)[0]));
    expect(bundled.size).toBeGreaterThan(10);
    expect([...bundled].filter((name) => !licensed.has(name))).toEqual([]);
  });

  test("has types that every ESM resolution finds", async () => {
    // ESM only: `require` and node10 resolution are not supported.
    const { status, stdout } = await run("attw", [tarball.file, "--profile", "esm-only"]);
    expect({ status, stdout }).toEqual({ status: 0, stdout: expect.stringContaining('"jp-ts"') });
  });
});

test.each(ENTRIES)("$name says which Node it needs on one that is too old", async ({ file }) => {
  const code = `
    Object.defineProperty(process, "versions", { value: { ...process.versions, node: "20.19.0" } });
    import(${JSON.stringify(path.join(ROOT, file))}).catch(({ code, message }) => {
      console.log(code, message);
    });
  `;
  expect(await run("node", ["--eval", code])).toEqual({
    status: 0,
    stdout: "node_too_old jp-ts needs Node 22.22 or newer, and this is 20.19.0.\n",
    stderr: "",
  });
});

test("without the binary for locks, jp reads, and says what to install before it writes", () => {
  const project = new Project();
  const alone = path.join(project.home, "dist");
  cpSync(path.join(ROOT, "dist"), alone, { recursive: true });
  const jp = (...words: readonly string[]) => {
    const options = { cwd: project.root, env: project.variables, encoding: "utf8" } as const;
    return spawnSync(process.execPath, [path.join(alone, "bin/jp.cjs"), ...words], options);
  };
  project.place({ second: 1, title: "Talk" });
  const message = "The native module that locks conversations is missing.";
  const hint = `Install jp again with its optional dependency @koromix/koffi-${process.platform}-${process.arch}.`;
  expect(jp("conversation", "ls")).toMatchObject({ status: 0, stderr: "" });
  expect(jp("conversation", "edit", "--title", "Walk", "newest")).toMatchObject({
    status: 1,
    stderr: `jp: ${message}\n${hint}\n`,
  });
  expect(jp("doctor")).toMatchObject({
    status: 1,
    stdout: expect.stringContaining(`problem  locks          ${message} ${hint}\n`),
  });
});

describe("the package in an empty project", { timeout: TIMEOUT_MS }, () => {
  let project: string;
  let oldest: string;
  let installed: Installed;

  beforeAll(async () => {
    // The script knows the oldest supported Node, and downloads it if needed.
    const bootstrap = path.join(ROOT, "scripts", "bootstrap.mjs");
    const words = [bootstrap, "--oldest-node", "node", "-p", "process.execPath"];
    oldest = path.dirname((await runOrThrow("node", words)).trim());
    project = await install(tarball.file, folder);
    installed = findInstalled(project);
    addNodeTypes(project);
    const used = ["valibot", "@valibot/to-json-schema", "zod", "ai", "ai-6", MCP_SERVER];
    for (const name of used) linkPackage(project, name);
    const types = "types-program.ts";
    cpSync(path.join(import.meta.dirname, types), path.join(project, types));
    const lines = ENTRIES.map(({ name }, index) => `export * as entry${index} from "${name}";`);
    writeFileSync(path.join(project, "entries.ts"), `${lines.join("\n")}\n`);
  }, TIMEOUT_MS);

  test("takes little space and few other packages", () => {
    expect(installed.bytes).toBeLessThan(MAX_INSTALLED_BYTES);
    expect(installed.packages.length).toBeLessThanOrEqual(MAX_PACKAGES);
    expect(installed.packages).toContain("jp-ts");
  });

  test.each([
    [
      "with Node's resolution, checking every declaration",
      ["--module", "nodenext", "--exactOptionalPropertyTypes"],
    ],
    [
      "without the types of browsers and exact optional properties, checking every declaration",
      ["--module", "nodenext", "--lib", "esnext", "--types", "node"],
    ],
    [
      "with a bundler's resolution",
      ["--module", "preserve", "--moduleResolution", "bundler", "--skipLibCheck"],
    ],
  ])("type-checks %s", async (_title, options) => {
    const words = ["--noEmit", "--target", "esnext", "--strict", ...options];
    const programs = [...PROGRAMS, "types-program.ts", "entries.ts"];
    const found = await run("tsc", [...words, ...programs], { cwd: project });
    expect(found).toEqual({ status: 0, stdout: "", stderr: "" });
  });

  test("takes models of the AI SDK 6 and 7 by their own types", async () => {
    const program = "ai-models-program.ts";
    cpSync(path.join(import.meta.dirname, program), path.join(project, program));
    // The AI SDK's own types have errors with `exactOptionalPropertyTypes`.
    const words = ["--noEmit", "--target", "es2024", "--strict", "--module", "nodenext", program];
    const found = await run("tsc", words, { cwd: project });
    expect(found).toEqual({ status: 0, stdout: "", stderr: "" });
  });

  test("runs the examples, whose types it checks without leaving out any declaration", async () => {
    const examples = path.join(project, "examples");
    const own = ["web-service", "chat-bot", "nightly-job", "shared-tool"];
    for (const name of own) {
      cpSync(path.join(ROOT, "examples", name), path.join(examples, name), { recursive: true });
    }
    const programs = ["service.ts", "bot.ts", "job.ts", "programs.ts"].map((file, index) =>
      path.join("examples", own[index] ?? "", file),
    );
    const words = ["--noEmit", "--target", "esnext", "--strict", "--module", "nodenext"];
    const options = ["--allowImportingTsExtensions", "--skipLibCheck", "false"];
    const checked = await run("tsc", [...words, ...options, ...programs], { cwd: project });
    const chat = await run("node", [path.join(examples, "chat-bot", "bot.ts")]);
    const shared = await run("node", [path.join(examples, "shared-tool", "programs.ts")]);
    expect({
      checked,
      chat,
      shared,
      job: await runNightlyJob(path.join(examples, "nightly-job")),
      service: await tryWebService(path.join(examples, "web-service")),
    }).toEqual({
      checked: { status: 0, stdout: "", stderr: "" },
      chat: { status: 0, stdout: `${CHAT_BOT.join("\n")}\n`, stderr: "" },
      shared: { status: 0, stdout: expect.stringContaining("After the approval:"), stderr: "" },
      job: NIGHTLY_JOB,
      service: WEB_SERVICE,
    });
  });

  test("can be tested on the oldest supported Node", async () => {
    expect(await runOrThrow("node", ["--version"], { node: oldest })).toMatch(/^v22\./);
  });

  describe.each(["this Node", "the oldest Node"])("on %s", (which) => {
    const home = path.join(folder, which.replaceAll(" ", "-"));
    const options = (variables = {}) => ({
      cwd: project,
      variables: { HOME: home, TMPDIR: folder, JP_USER_DATA_DIR: home, ...variables },
      ...(which === "the oldest Node" && { node: oldest }),
    });
    /** As `npx jp` runs it: through its first line, on the first Node in PATH. */
    const command = path.join("node_modules", ".bin", "jp");
    const jp = (...words: readonly string[]) => run(command, words, options());
    const program = (file: string, words: readonly string[] = [], variables = {}) => {
      const quiet = "--disable-warning=ExperimentalWarning"; // About type stripping.
      return run("node", [quiet, file, ...words], options(variables));
    };

    test("the library runs a turn that the command can list", async () => {
      const loaded = await program("entries.ts");
      const turn = await program("consumer-program.ts", [project]);
      const listed = await jp("inquiry", "ls", "--format", "json");
      const [line = ""] = listed.stdout.split("\n").slice(-2);
      expect({ loaded, turn, inquiry: JSON.parse(line) as unknown }).toEqual({
        loaded: { status: 0, stdout: "", stderr: "" },
        turn: {
          status: 0,
          stdout:
            '{"type":"done","text":"Done.","results":["1.4 is on test"],' +
            '"hint":"Install it: npm install zod-to-json-schema"}\n',
          stderr: "",
        },
        inquiry: expect.objectContaining({
          outcome: "answered",
          answer: "test",
          answered_by: { kind: "user", channel: "consumer", auth: "program" },
        }),
      });
    });

    test("the command runs local tools with templates", async () => {
      const greet = {
        source: "local",
        run: "unattended",
        command: "echo Hello {{tool.arguments.name}}",
        parameters: { name: { type: "string" } },
      };
      const setting = `conversation.tools.greet:=${JSON.stringify(greet)}`;
      const ended = await jp("tool", "run", "greet", "-a", "name=world", "-c", setting);
      expect(ended).toEqual({ status: 0, stdout: "Hello world\n", stderr: "" });
    });

    test("the library and the command reach models of all providers", async () => {
      await using server = await AllProviders.start(() => ({ text: "Hello." }));
      const fromLibrary = await program("providers-program.ts", [], server.variables);
      const variables = { ...server.variables, ...API_KEYS };
      let fromCommand = "";
      for (const name of PROVIDER_NAMES) {
        const words = ["query", "--new", "--model", `${name}/scripted`, "Hello."];
        const { stdout, stderr } = await run(command, words, options(variables));
        fromCommand += `${name}: ${stdout}${stderr}`;
      }
      const expected = PROVIDER_NAMES.map((name) => `${name}: Hello.\n`).join("");
      expect(fromCommand).toBe(expected);
      expect(fromLibrary).toEqual({ status: 0, stdout: expected, stderr: "" });
    });

    test("the tools of the guide run when they are copied into a new project", async () => {
      const guide = await copyGuide(path.join(folder, `guide on ${which}`), project);
      const place = { ...options(), cwd: guide };
      const tool = (name: string, args: JsonObject, answers: JsonObject = {}) => {
        const settings = Object.entries(answers).flatMap(([id, answer]) => [
          "--cfg",
          `conversation.tools.${name}.questions.${id}.answer:=${JSON.stringify(answer)}`,
        ]);
        const words = ["--non-interactive", "--args", JSON.stringify(args), ...settings];
        return run(command, ["tool", "run", name, ...words], place);
      };
      writeFileSync(path.join(guide, "notes.txt"), "one");
      const file = { path: "notes.txt" };
      await runOrThrow(command, ["trust", "--yes"], place);
      const backups = ["backup_sh", "backup_py", "backup_ts", "backup_mcp"];
      for (const name of backups) {
        rmSync(path.join(guide, "notes.txt.bak"), { force: true });
        const results = [
          await tool(name, file),
          await tool(name, file, { overwrite: false }),
          await tool(name, file, { overwrite: true }),
        ];
        expect(results.map(({ status, stdout }) => ({ name, status, stdout }))).toEqual([
          { name, status: 0, stdout: "Saved notes.txt.bak\n" },
          { name, status: 0, stdout: "The old backup was kept.\n" },
          { name, status: 0, stdout: "Saved notes.txt.bak\n" },
        ]);
      }
      const report = await tool(
        "report",
        { service: "mail" },
        { title: "Slow.", severity: "high" },
      );
      const clear = await tool("clear", file, { clear: true });
      const book = await tool("order", { title: "Emma" });
      const order = await run("node", ["order.mts"], place);
      expect([report, clear, book, order].map(({ stdout }) => stdout)).toEqual([
        "mail! Slow. (no details), copies: 1\n",
        "notes.txt is empty.\n",
        "Emma is ordered.\n",
        PAID_ONCE,
      ]);
    });

    test("the command prints the help of a command, and tells an unknown option from a fault", async () => {
      expect([await jp("usage", "--help"), await jp("usage", "--nope")]).toEqual([
        { status: 0, stdout: expect.stringMatching(/^Usage: jp usage /), stderr: "" },
        { status: 2, stdout: "", stderr: expect.stringMatching(/^jp: unknown option '--nope'\n/) },
      ]);
    });

    test("the command prints its version and help, and runs the tour", async () => {
      const [version, help, tour] = [await jp("--version"), await jp("--help"), await jp("demo")];
      expect({ version, help, tour }).toEqual({
        version: {
          status: 0,
          stdout: expect.stringMatching(`^jp ${manifest.version}(?: \\(|\n)`),
          stderr: "",
        },
        help: { status: 0, stdout: expect.stringMatching(/^Usage: jp /), stderr: "" },
        tour: {
          status: 0,
          stdout: expect.stringContaining("<redacted> (you, via file)"),
          stderr: expect.stringContaining("sign()"),
        },
      });
    });
  });
});

/** These files, and all that they import. */
function importedFrom(entries: readonly string[], suffix: string): ReadonlySet<string> {
  const imported = new Set(entries);
  for (const file of imported) {
    const code = readFileSync(path.join(ROOT, file), "utf8");
    for (const [, target = ""] of code.matchAll(
      /(?:from ?|import ?|import\()"(\.[^"]+)\.[jt]s"/g,
    )) {
      imported.add(path.join(path.dirname(file), target + suffix));
    }
  }
  return imported;
}
