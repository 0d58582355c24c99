import { appendFileSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { PROVIDER_NAMES } from "../src/reach/provider/index.ts";
import { Project } from "./cli/support.ts";
import type { WireReply } from "./provider/wire.ts";
import { AllProviders } from "./support/all-providers.ts";
import { readDocument, ROOT } from "./support/documents.ts";
import { PseudoTerminal } from "./support/pseudo-terminal.ts";

/** The keys for each question. No other question may appear. */
const ANSWERS: readonly (readonly [asked: string, keys: string])[] = [
  ["? Which model should answer?", "\r"],
  ["? What may models do in this folder?", "\r"],
  ["? Ask before your own tools run?", "\r"],
  ["? Apply these changes to README.md?", "y"],
  ["? Trust this workspace with this?", "y"],
  ["? Run local deploy tool?", "y"],
  ["? Deploy to test?", "y"],
];

test("every command in the README and the cookbook works, typed on a terminal in a fresh folder", async () => {
  const project = new Project({ isBare: true });
  const file = (...names: readonly string[]) => path.join(project.root, ...names);
  writeFileSync(file("README.md"), "# Wether\n");
  await using providers = await AllProviders.start(reply);
  const variables = {
    ...project.variables,
    ...providers.variables,
    JP_TRUSTED_WORKSPACES: "",
    PATH: [path.join(ROOT, "bin"), path.dirname(process.execPath), process.env["PATH"]].join(":"),
  };
  const screens = new Map<string, string>();
  const failed: string[] = [];
  const documents = ["README.md", "docs/cookbook.md"].map(readDocument);
  for (const { language, code } of documents.flatMap(({ blocks }) => blocks)) {
    if (language === "bash") writeFileSync(file("deploy.sh"), code);
    if (language === "toml") appendFileSync(file(".jp", "config.toml"), code);
    if (language !== "sh") continue;
    for (const line of code.split("\n").filter((words) => /\bjp /.test(words))) {
      const words = line.replace("=… ", "=key ");
      const terminal = new PseudoTerminal("sh", ["-c", words], { folder: project.root, variables });
      await answer(terminal);
      const { status, lines } = await terminal.end();
      screens.set(line.replace(/ +# .*/, ""), lines.join("\n"));
      if (status !== expectedStatus(line)) failed.push(line, ...lines);
    }
  }
  expect({
    failed,
    asked: [...new Set(providers.asked)].toSorted(),
    title: readFileSync(file("README.md"), "utf8"),
    byHand: screens.get("jp tool run deploy --arg where=test")?.split("\n").at(-1),
    record: screens
      .get("jp inquiry ls")
      ?.match(/\w+: .*\?\n(?: +•.*\n)* +[^(•]*\([^)]*\)/g)
      ?.toSorted(),
  }).toEqual({
    failed: [],
    asked: PROVIDER_NAMES.toSorted(),
    title: "# Weather\n",
    byHand: "Deployed to test.",
    record: [
      "deploy: Deploy to test?\n    yes (you, via terminal)",
      "deploy: Deploy to test?\n    yes (you, via terminal)",
      "deploy: Deploy to test?\n    yes (you, via terminal)",
      `${RUN}\n    approved (you, via cli)`,
      `${RUN}\n    approved (you, via terminal)`,
      `${RUN}\n    approved (you, via terminal)`,
      `${RUN}\n    denied: no one could be asked (policy:\n    conversation.tools.deploy.detached.run)`,
      "fs_modify_file: Apply these changes to README.md?\n    yes (you, via terminal)",
    ],
  });
}, 120_000);

const RUN = 'deploy: Run deploy?\n    • deploy(where: "test")';

/** Without prompts, the tool is denied, or waits. */
function expectedStatus(line: string): number {
  if (line.includes("--non-interactive")) return 3;
  return /^jp query .*--defer/.test(line) ? 4 : 0;
}

/** Calls the tool that the last message asks for, or replies with text. */
function reply(body: string): WireReply {
  const [last = ""] = /"role":"(?:user|tool)"(?!.*"role":"(?:user|tool)").*/s.exec(body) ?? [];
  if (last.startsWith('"role":"tool"')) return { text: "Done." };
  if (last.includes("Three colours")) return { text: '{"one":"red"}' };
  if (last.includes("Deploy to test.")) return call("deploy", { where: "test" });
  const patterns = [{ old: "Wether", new: "Weather" }];
  if (last.includes("files are here")) return call("fs_list_files", {});
  if (last.includes("the typo")) return call("fs_modify_file", { path: "README.md", patterns });
  return { text: "Hello." };
}

function call(name: string, input: object): WireReply {
  return { calls: [{ id: "call_1", name, input: JSON.stringify(input) }] };
}

/** Answers questions until the command ends. */
async function answer(terminal: PseudoTerminal): Promise<void> {
  const isAsked = () =>
    terminal
      .untilShown((lines) => findAnswer(lines) !== undefined)
      .then(
        () => true,
        () => false,
      );
  while (await isAsked()) {
    const [asked = "", keys = ""] = findAnswer(terminal.lines) ?? [];
    terminal.type(keys);
    await terminal.untilShown((lines) => !lines.some((line) => line.startsWith(asked)));
  }
}

function findAnswer(lines: readonly string[]) {
  return ANSWERS.find(([asked]) => lines.some((line) => line.startsWith(asked)));
}
