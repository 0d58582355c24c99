import {
  cpSync,
  existsSync,
  globSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import { parse } from "smol-toml";
import { describe, expect, test } from "vitest";
import { DEFAULTS } from "../src/settings/config/defaults.ts";
import { parseConfig, splitWords } from "../src/settings/config/index.ts";
import { parseEvent } from "../src/record/conversation/index.ts";
import { PROVIDER_NAMES } from "../src/reach/provider/index.ts";
import { AnswersFile } from "../src/assemble/index.ts";
import { temporaryFolder } from "../src/stores/temporary-workspace.fixture.ts";
import { isJsonObject } from "../src/util/index.ts";
import { ModelServer } from "./cli/model-server.ts";
import { query } from "./cli/query-project.ts";
import { jsonLines, printed, Project } from "./cli/support.ts";
import { verifies } from "./conformance/manifest.ts";
import { commandsIn, findMistake } from "./support/command-lines.ts";
import { COMMANDS, renderCommands } from "./support/command-reference.ts";
import { REFERENCE, renderReference } from "./support/config-reference.ts";
import {
  type Block,
  blocksOf,
  codeWordsOf,
  headingsOf,
  linksOf,
  readDocument,
  readDocuments,
  ROOT,
} from "./support/documents.ts";

const documents = readDocuments();
const readme = readDocument("README.md");

describe("code blocks in the documentation", () => {
  test("have a known language", () => {
    const known = new Set(["bash", "json", "python", "sh", "text", "toml", "ts"]);
    const others = documents.flatMap(({ blocks }) =>
      blocks.filter(({ language }) => !known.has(language)),
    );
    expect(others.map(({ place }) => place)).toEqual([]);
  });

  test("of commands use existing commands and flags", async () => {
    const mistakes: string[] = [];
    for (const { place, code } of blocksOf(documents, "sh")) {
      for (const words of commandsIn(code)) {
        const mistake = await findMistake(words);
        if (mistake !== undefined) mistakes.push(`${place}: ${words.join(" ")}: ${mistake}`);
      }
    }
    expect(mistakes).toEqual([]);
  });

  test("of config are valid, without unknown keys", () => {
    const configs = blocksOf(documents, "toml").filter((block) => !isAnswersFile(block));
    const mistakes = configs.flatMap(({ place, code }) => {
      const { errors, warnings } = parseConfig(parse(code));
      return [...errors, ...warnings].map(({ path: keys, message }) => [place, keys, message]);
    });
    expect(mistakes).toEqual([]);
  });

  test("of answers files can be read", async () => {
    const blocks = blocksOf(documents, "toml").filter(isAnswersFile);
    const file = path.join(temporaryFolder(), "answers.toml");
    for (const { code } of blocks) {
      writeFileSync(file, code);
      await AnswersFile.read(file, { DEPLOY_TOKEN: "x" });
    }
    expect(blocks).toHaveLength(1);
  });

  test("of programs are copied from the examples", () => {
    const examples = globSync("examples/**/*.{ts,mts,sh,py}", { cwd: ROOT }).map((name) =>
      readFileSync(path.join(ROOT, name), "utf8"),
    );
    const isExample = ({ code }: Block) => examples.some((example) => example.includes(code));
    const others = blocksOf(documents, "ts", "bash", "python").filter((block) => !isExample(block));
    expect(others.map(({ place }) => place)).toEqual([]);
  });

  test("of JSON are valid, and events if they have a timestamp", () => {
    const values = blocksOf(documents, "json").map(({ code }): unknown => JSON.parse(code));
    const events = values.filter((value) => isJsonObject(value) && "timestamp" in value);
    expect(events.map((event) => parseEvent(event).type)).toEqual(["inquiry_response"]);
  });
});

/** Lines that are neither blank nor a comment. */
function countCode(file: string): number {
  const lines = readFileSync(path.join(ROOT, file), "utf8").split("\n");
  return lines.filter((line) => !/^\s*(?:$|\/\/|\/?\*)/.test(line)).length;
}

function isAnswersFile({ code }: Block): boolean {
  return "answers" in parse(code);
}

describe("the documentation mentions only", () => {
  test("existing files and headings in links", () => {
    const broken = documents.flatMap((document) =>
      linksOf(document)
        .filter(([file, heading]) => !isThere(file, heading))
        .map(([file, heading]) => `${document.name}: ${file} ${heading}`),
    );
    expect(broken).toEqual([]);
  });

  test("defined link references", () => {
    const unknown = documents.flatMap(({ name, prose }) =>
      [...prose.matchAll(/\]\[(?<reference>[^\]]+)\]/g)]
        .map(({ groups = {} }) => groups["reference"] ?? "")
        .filter((reference) => !prose.includes(`\n[${reference}]: https://`))
        .map((reference) => `${name}: ${reference}`),
    );
    expect(unknown).toEqual([]);
  });

  test("existing commands", async () => {
    const mistakes: string[] = [];
    for (const document of documents) {
      for (const code of codeWordsOf(document).filter((word) => /^jp [^…|>]+$/.test(word))) {
        const mistake = await findMistake(splitWords(code) ?? []);
        if (mistake === undefined || mistake.includes("missing required argument")) continue;
        mistakes.push(`${document.name}: ${code}: ${mistake}`);
      }
    }
    expect(mistakes).toEqual([]);
  });

  test("existing source files", () => {
    const folders = ["bench", "docs", "examples", "scripts", "src", "test"].join("|");
    const isFile = new RegExp(`^(?:(?:${folders})/[\\w./-]+|[\\w-]+(?:/[\\w-]+)+\\.ts)$`);
    const missing = documents.flatMap((document) =>
      codeWordsOf(document)
        .filter((word) => isFile.test(word) && word !== "bench/results/latest.json")
        .filter((word) => !["", "src"].some((top) => existsSync(path.join(ROOT, top, word))))
        .map((word) => `${document.name}: ${word}`),
    );
    expect(missing).toEqual([]);
  });

  test("existing config keys", () => {
    const sections = Object.keys(DEFAULTS).join("|");
    const isKey = new RegExp(`^(?:${sections})(?:\\.[\\w<>'*]+)+$`);
    const unknown = documents.flatMap((document) =>
      codeWordsOf(document)
        .map((word) => word.split(/ ?[=:]/)[0] ?? "")
        .filter((word) => isKey.test(word) && isUnknownKey(word))
        .map((word) => `${document.name}: ${word}`),
    );
    expect(unknown).toEqual([]);
  });
});

describe("the README", () => {
  test("lists six short files to read", () => {
    const files = [...readme.text.matchAll(/^\d\. \[(src\/[^\]]+)\]/gm)].map(
      ([, file]) => file ?? "",
    );
    const lines = files.map(
      (file) => readFileSync(path.join(ROOT, file), "utf8").split("\n").length,
    );
    expect(files).toHaveLength(6);
    expect(lines.reduce((sum, count) => sum + count, 0)).toBeLessThan(3400);
  });

  test("has a tool that works as printed, and whose question is recorded", async () => {
    await using server = await ModelServer.start((body) => {
      if (body["response_format"] !== undefined) return '{"answer": true}';
      if (body.messages.at(-1)?.role === "tool") return "It is deployed.";
      return { calls: [{ name: "deploy", arguments: { where: "test" } }] };
    });
    const project = deployProject(server, 'run = "unattended"');
    const answer = "conversation.tools.deploy.questions.sure.answer:=false";
    const byHand = await project.jp(
      "tool",
      "run",
      "deploy",
      "--arg",
      "where=test",
      "--cfg",
      answer,
    );
    const asked = await query(project, ["Deploy to test."]);
    const inquiries = jsonLines(await project.jp("inquiry", "ls", "--format", "json"));
    expect({ byHand, answer: asked.stdout, inquiries }).toEqual({
      byHand: printed("Nothing was deployed.\n"),
      answer: "It is deployed.\n",
      inquiries: [
        expect.objectContaining({
          question: expect.objectContaining({ text: "Deploy to test?" }),
          answer: true,
          answered_by: { kind: "assistant", model: "llamacpp/scripted" },
        }),
      ],
    });
  });
});

test("the first examples about questions, permissions and continuing print what the pages say", async () => {
  await using server = await ModelServer.start((body) =>
    body.messages.at(-1)?.role === "tool"
      ? "Done."
      : { calls: [{ name: "deploy", arguments: { where: "test" } }] },
  );
  const project = deployProject(server);
  const pages = ["questions", "permissions", "continuing"].map((name) =>
    readDocument(`docs/${name}.md`),
  );
  for (const page of pages) {
    const [example] = blocksOf([page], "sh");
    const [output] = blocksOf([page], "text");
    const [[, ...words] = []] = commandsIn(example?.code ?? "");
    const { stdout, stderr } = await project.jp(...words);
    const shown = `${stdout}${stderr}`.replaceAll(/call_\d+_1/g, "call_1");
    expect(shown).toContain(output?.code ?? "?");
  }
});

/** A workspace with the deploy tool of the README. */
function deployProject(server: ModelServer, settings = ""): Project {
  const project = new Project();
  const [config] = blocksOf([readme], "toml");
  const [script] = blocksOf([readme], "bash");
  writeFileSync(path.join(project.root, "deploy.sh"), script?.code ?? "");
  writeFileSync(
    path.join(project.root, ".jp", "config.toml"),
    `${server.config}\n${config?.code}\n${settings}`,
  );
  return project;
}

test("the example MCP server asks before it overwrites", async () => {
  const project = new Project();
  const place = (...names: readonly string[]) => path.join(project.root, ...names);
  cpSync(path.join(ROOT, "examples", "tools"), place("tools"), { recursive: true });
  cpSync(place("tools", "config.toml"), place(".jp", "config.toml"));
  // As installed in a project that uses them.
  symlinkSync(path.join(ROOT, "node_modules"), place("node_modules"));
  writeFileSync(place("notes.txt"), "one");
  const answer = "conversation.tools.backup_mcp.questions.overwrite.answer";
  const run = (...more: readonly string[]) =>
    project.jp("tool", "run", "backup_mcp", "--non-interactive", "-a", "path=notes.txt", ...more);
  expect([
    await run(),
    (await run()).status,
    await run("--cfg", `${answer}:=false`),
    await run("--cfg", `${answer}:=true`),
  ]).toEqual([
    printed("Saved notes.txt.bak\n"),
    3,
    printed("The old backup was kept.\n"),
    printed("Saved notes.txt.bak\n"),
  ]);
});

describe("the documentation", () => {
  test("has the config reference from the schema", async () => {
    const { text } = readDocument(REFERENCE);
    expect(text).toBe(await renderReference());
  });

  test("has the command reference from --help", async () => {
    const { text, blocks } = readDocument(COMMANDS);
    const { stdout } = await new Project().jp("query", "--help");
    expect(text).toBe(await renderCommands());
    expect(blocks.map(({ code }) => code)).toContain(stdout);
  });

  test("counts the lines of the programs that it compares", () => {
    const { text } = readDocument("docs/comparison.md");
    const counted = [...text.matchAll(/\[(\d+)\]\(\.\.\/(examples\/[^)]+)\)/g)];
    expect(counted.map(([, , file = ""]) => `${countCode(file)} ${file}`)).toEqual(
      counted.map(([, lines, file]) => `${lines} ${file}`),
    );
    expect(counted.length).toBeGreaterThan(1);
  });

  test("says that a tool must ask before it gets a configured answer", () => {
    verifies("082/configured/contract-documented");
    expect(wordsOf("docs/configuration.md")).toContain(
      "`questions.<id>.answer` is delivered when the tool asks that question, and not before",
    );
  });

  test("says that the default of a secret question is not redacted", () => {
    verifies("082/secret/default-is-the-authors-duty");
    expect(wordsOf("docs/writing-tools.md")).toContain(
      "The default of a `secret` question is not redacted, so it must not contain anything sensitive",
    );
  });

  test("lists the address and key of every provider", () => {
    const { text } = readDocument("docs/providers.md");
    const facts = PROVIDER_NAMES.flatMap((name) => {
      const { base_url = "?", ...rest } = DEFAULTS.providers?.llm?.[name] ?? {};
      const key = "api_key_env" in rest ? [String(rest.api_key_env)] : [];
      return [`| \`${name}\``, base_url, ...key];
    });
    expect(facts.filter((fact) => !text.includes(fact))).toEqual([]);
  });

  test("describes the architecture on one page, with every folder in its picture", () => {
    const { text: page, blocks } = readDocument("docs/project/architecture.md");
    // It is described below the picture.
    const shown = `${blocks[0]?.code} testing`;
    expect(page.split("\n").length).toBeLessThanOrEqual(200);
    expect(sourceFolders().filter((folder) => !shown.includes(folder))).toEqual([]);
  });
});

function isThere(file: string, heading: string): boolean {
  if (!existsSync(path.join(ROOT, file))) return false;
  return heading === "" || headingsOf(readDocument(file)).includes(heading);
}

/** The wings of `src`, and the rooms of those that have only rooms. */
function sourceFolders(): readonly string[] {
  const wings = foldersIn(path.join(ROOT, "src"));
  const roomed = ["record", "settings", "reach", "core", "surfaces"];
  return [...wings, ...roomed.flatMap((wing) => foldersIn(path.join(ROOT, "src", wing)))];
}

function foldersIn(folder: string): readonly string[] {
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name);
}

function isUnknownKey(key: string): boolean {
  const value = key.split(".").reduceRight<unknown>((inner, part) => ({ [part]: inner }), null);
  const { errors, warnings } = parseConfig(value);
  return [...errors, ...warnings].some(({ message }) => message.startsWith("unknown key"));
}

function wordsOf(name: string): string {
  return readDocument(name).text.replaceAll(/\s+/g, " ");
}
