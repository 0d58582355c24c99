/** The lists of files in docs/project/architecture.md, measured: the files that a question, a query, an answer or a turn passes through. */
import { execFileSync } from "node:child_process";
import path from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder } from "../src/stores/temporary-workspace.fixture.ts";
import { readDocument } from "./support/documents.ts";

const PATHS = [
  {
    /** From a local tool to a person and back. */
    name: "a question",
    heading: "Follow one question",
    program: "question-path-program.ts",
    maxFiles: 23,
  },
  {
    /** From the command line to a provider. */
    name: "a query",
    heading: "Follow one query",
    program: "query-path-program.ts",
    maxFiles: 22,
  },
  {
    /** From a request to the desk to the record, and from there to the tool that asked. */
    name: "a desk answer",
    heading: "Follow one desk answer",
    program: "desk-answer-path-program.ts",
    maxFiles: 24,
  },
  {
    /** From its row in a database to a provider. Four of them take it, read its end alone, and see whether it was put back. */
    name: "a worker's turn",
    heading: "Follow one worker",
    program: "worker-path-program.ts",
    maxFiles: 31,
  },
] as const;

test.each(PATHS)(
  "the files that docs/project/architecture.md lists are those it passes through, in order: $name",
  { timeout: 300_000 },
  ({ heading, program, maxFiles }) => {
    const measured = measurePath(program);
    expect(measured.length).toBeLessThanOrEqual(maxFiles);
    expect(listedPath(heading)).toEqual(measured);
  },
);

/** The program's first lines say which files count. util does not: nothing in it is specific to jp. */
function measurePath(program: string): readonly string[] {
  const file = path.join(import.meta.dirname, "support", program);
  const output = execFileSync(process.execPath, [file, temporaryFolder()], { encoding: "utf8" });
  return (JSON.parse(output) as readonly string[])
    .filter((name) => !name.startsWith("src/util/"))
    .map((name) => name.replace(/^src\//, ""));
}

/** The files that the numbered list below this heading names. */
function listedPath(heading: string): readonly string[] {
  const [, section = ""] = readDocument("docs/project/architecture.md").text.split(
    `## ${heading}\n`,
  );
  const [list = ""] = section.split("\n## ");
  const items = [...list.matchAll(/^\d+\. .*$/gm)].map(([item]) => item);
  return items.flatMap((item) =>
    [...item.matchAll(/`([a-z-]+\/[^`]+\.ts)`/g)].map(([, file = ""]) => file),
  );
}
