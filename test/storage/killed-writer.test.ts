/** A writer that is killed in the middle of its work loses nothing it has said it wrote. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import type { ConversationId } from "../../src/conversation/index.ts";
import { ChildProgram } from "../support/child-program.ts";
import { numbered, plain } from "../support/record-elements.ts";
import { type TemporaryWorkspace, temporaryWorkspace } from "../support/temporary-workspace.ts";

const ROUNDS = 10;
const WRITERS = 2;

test("what a killed writer has reported is in the record, which goes on", async () => {
  const workspace = temporaryWorkspace();
  const records = await Promise.all(Array.from({ length: WRITERS }, () => newRecord(workspace)));
  const rounds = await Promise.all(records.map((id) => killAgainAndAgain(workspace, id)));
  expect(rounds.flat()).toEqual(
    Array.from({ length: ROUNDS * WRITERS }, () => ({ missing: [], unordered: [], isJson: true })),
  );
});

async function newRecord({ conversations }: TemporaryWorkspace): Promise<ConversationId> {
  await using writer = await conversations.create({});
  return writer.id;
}

async function killAgainAndAgain(workspace: TemporaryWorkspace, id: ConversationId) {
  const outcomes = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const first = round * 1_000_000;
    const reported = await killOne(workspace, id, first);
    const writer = await workspace.conversations.open(id);
    await writer.append(numbered(first + 999_999));
    await writer.release();
    const numbers = plain(await workspace.conversations.load(id)).elements.map(numberOf);
    outcomes.push({
      missing: reported.filter((number) => !numbers.includes(number)),
      unordered: numbers.filter((number, index) => number < (numbers[index - 1] ?? 0)),
      isJson: Array.isArray(JSON.parse(readFileSync(workspace.files.paths(id).events, "utf8"))),
    });
  }
  return outcomes;
}

/** The numbers that a writer has reported before it was killed, at a moment of no special kind. */
async function killOne({ root, data }: TemporaryWorkspace, id: ConversationId, first: number) {
  const program = ChildProgram.ofTests("append-numbers-program.ts", root, data, id, String(first));
  const reported = [];
  for (let count = Math.ceil(Math.random() * 30); count > 0; count -= 1) {
    reported.push(await program.nextLine());
  }
  await program.kill();
  return [...reported, ...(await program.restOfLines())].map(Number);
}

function numberOf(element: Readonly<Record<string, unknown>>): number {
  return Number(String(element["content"]).replace("number ", ""));
}
