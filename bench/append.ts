/** Compares an append to a long record with one to a short record. */
import path from "node:path";
import { parseConversationId } from "../src/conversation/index.ts";
import { event, writeRecord } from "./data.ts";
import { compare, type Result } from "./measure.ts";
import { openBenchWorkspace } from "./workspace.ts";

const ROUNDS = 200;

export async function benchAppend(folder: string): Promise<Result> {
  const workspace = openBenchWorkspace(folder);
  const conversations = path.join(folder, ".jp", "conversations");
  writeRecord(path.join(conversations, "10000000001"), 10, "short");
  writeRecord(path.join(conversations, "10000000002"), 100_000, "long");
  await using short = await workspace.conversations.open(parseConversationId("10000000001"));
  await using long = await workspace.conversations.open(parseConversationId("10000000002"));
  const next = event(3);
  const { ratio, detail } = await compare(
    () => long.append(next),
    () => short.append(next),
    ROUNDS,
  );
  return { name: "append at 100,000 events / at 10", ratio, aim: 1.2, detail };
}
