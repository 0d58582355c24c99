/**
 * Searches and lists a tree of very many files, as the model's tools do: compared with `rg`, and with and without it.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import process from "node:process";
import { createFileTools } from "../src/reach/executor/index.ts";
import { findProgram } from "../src/reach/process/index.ts";
import type { JsonObject } from "../src/util/index.ts";
import { against, type Bench, type Result, run, takeTurns, timeOf } from "./measure.ts";
import { sized } from "./small.ts";
import { ratioOf } from "./statistics.ts";

const ROUNDS = 5;
const FILES = sized(100_000, 100);
const FILES_EACH = 20;

const SEARCH = {
  text: "fs_grep_files in 100,000 files",
  regex: "fs_grep_files in 100,000 files, regular expression",
  list: "fs_list_files of 100,000 files",
  gain: "fs_grep_files in 100,000 files, with ripgrep",
};

/** Without ripgrep, there is nothing to compare with. */
export const searchFiles: Bench = {
  rows: Object.values(SEARCH),
  run: async (folder) => {
    const { PATH: searchPath = "" } = process.env;
    const ripgrep = findProgram("rg", { root: folder, searchPath });
    if (ripgrep === undefined) return [];
    writeTree(folder);
    const [plain, quick] = [toolsIn(folder), toolsIn(folder, searchPath)];
    const text = { pattern: "needle" };
    const regex = { pattern: "needle\\s+\\w+$", regex: true };
    const took = await takeTurns(
      {
        rg: () => timeOf(() => run(ripgrep, ["--no-config", "needle", folder])),
        text: () => timeOf(() => plain("fs_grep_files", text)),
        quick: () => timeOf(() => quick("fs_grep_files", text)),
        regex: () => timeOf(() => plain("fs_grep_files", regex)),
        list: () => timeOf(() => plain("fs_list_files", { extension: "none" })),
      },
      ROUNDS,
    );
    const row = (name: string, side: keyof typeof took, other: keyof typeof took): Result => {
      const [ours, theirs] = [side, other].map((each) => took[each].map(({ time }) => time));
      return {
        name,
        unit: other === "rg" ? "× rg alone" : "× without it",
        figures: { time: ratioOf(ours ?? [], theirs ?? []) },
        detail: against(ours ?? [], theirs ?? []),
      };
    };
    return [
      row(SEARCH.text, "text", "rg"),
      row(SEARCH.regex, "regex", "rg"),
      row(SEARCH.list, "list", "rg"),
      row(SEARCH.gain, "quick", "text"),
    ];
  },
};

function toolsIn(root: string, searchPath?: string) {
  const tools = createFileTools({ root, searchPath });
  return async (name: string, args: JsonObject) => {
    const found = tools.find(({ tool }) => tool.name === name);
    const { signal } = new AbortController();
    const outcome = await found?.tool.execute({ arguments: args, answers: {}, signal });
    if (outcome?.type !== "success") throw new Error(`${name} failed`);
  };
}

/** A few kilobytes each, three folders deep. One in five thousand contains the search term. */
function writeTree(root: string): void {
  const lines = Array.from(
    { length: 100 },
    (_, index) => `export const value${index} = ${index} * 17;`,
  );
  for (let number = 0; number < FILES; number += 1) {
    const place = Math.floor(number / FILES_EACH);
    const folder = path.join(
      root,
      `p${place % 20}`,
      `m${Math.floor(place / 20) % 20}`,
      `d${place}`,
    );
    if (number % FILES_EACH === 0) mkdirSync(folder, { recursive: true });
    const found = number % 5_000 === 50 ? ["// a needle here"] : [];
    const body = [...lines.slice(0, 20 + (number % 80)), ...found, ""].join("\n");
    writeFileSync(path.join(folder, `file${number}.ts`), body);
  }
  writeFileSync(path.join(root, ".gitignore"), "dist/\n*.log\nnode_modules\n");
}
