/** Loads a long conversation, and compares its time with parsing the file, and its memory with the file size. */
import { readFileSync } from "node:fs";
import path from "node:path";
import { parseConversationId } from "../src/conversation/index.ts";
import { writeRecord } from "./data.ts";
import { compare, type Result, runProgram } from "./measure.ts";
import { openBenchWorkspace } from "./workspace.ts";

const ID = "10000000003";

export async function benchLoad(folder: string): Promise<Result[]> {
  const workspace = openBenchWorkspace(folder);
  const record = path.join(folder, ".jp", "conversations", ID);
  const size = writeRecord(record, 100_000, "long");
  const file = path.join(record, "events.json");
  const { ratio, detail } = await compare(
    async () => void (await workspace.conversations.load(parseConversationId(ID))),
    () => void JSON.parse(readFileSync(file, "utf8")),
    5,
  );
  const program = path.join(import.meta.dirname, "load-memory.ts");
  const grown = Number(runProgram(process.execPath, [program, folder, ID]));
  return [
    { name: "load 100,000 events / JSON.parse", ratio, aim: 1.5, detail },
    {
      name: "memory to load / size of the file",
      ratio: grown / size,
      aim: 4,
      detail: `${megabytes(grown)} for ${megabytes(size)}`,
    },
  ];
}

function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(0)} MB`;
}
