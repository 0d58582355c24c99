/** If a process is killed while its tools ask, each question has an end, or is closed as interrupted. */
import { readFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import {
  type ConversationEvent,
  type ConversationId,
  eventsOf,
  sanitize,
} from "../../src/record/conversation/index.ts";
import { ChildProgram } from "../support/child-program.ts";
import { problemsOf, turnsIn } from "../../src/record/conversation/record-rules.fixture.ts";
import {
  type TemporaryWorkspace,
  temporaryWorkspace,
} from "../../src/stores/temporary-workspace.fixture.ts";

const ROUNDS = 3;
const RECORDS = 2;
const PROGRAM = path.join(import.meta.dirname, "ask-forever-program.ts");

test("only questions that were open have no end, and a reader closes them in their own turn", async () => {
  const workspace = temporaryWorkspace();
  const records = await Promise.all(Array.from({ length: RECORDS }, () => newRecord(workspace)));
  const found = await Promise.all(records.map((id) => killRepeatedly(workspace, id)));
  const nothing = { lost: [], unclosed: [], misplaced: [], hasSecret: false };
  expect(found).toEqual(Array.from({ length: RECORDS }, () => nothing));
});

async function newRecord({ conversations }: TemporaryWorkspace): Promise<ConversationId> {
  await using writer = await conversations.create({});
  return writer.id;
}

async function killRepeatedly(workspace: TemporaryWorkspace, id: ConversationId) {
  /** The indexes of the turns in which a process was killed. */
  const killedIn = new Set<number>();
  for (let round = 0; round < ROUNDS; round += 1) {
    await killOne(workspace, id);
    killedIn.add(turnsIn(await eventsIn(workspace, id)).length - 1);
  }
  const events = await eventsIn(workspace, id);
  const { stream } = await workspace.conversations.load(id);
  const view = [...eventsOf(sanitize(stream).entries)];
  const raw = readFileSync(workspace.files.paths(id).events, "utf8");
  return {
    lost: problemsOf(events).filter((problem) => !isExcused(problem, killedIn)),
    unclosed: problemsOf(view),
    misplaced: turnsIn(view).flatMap((turn, index) =>
      wrongEnds(turn, turnsIn(events)[index] ?? []),
    ),
    hasSecret: raw.includes("s3cret") || raw.includes(Buffer.from("s3cret").toString("base64")),
  };
}

/** Kills a process after a random number of events. */
async function killOne({ root, data }: TemporaryWorkspace, id: ConversationId): Promise<void> {
  const program = new ChildProgram(process.execPath, [PROGRAM, root, data, id]);
  for (let count = 1 + Math.floor(Math.random() * 60); count > 0; count -= 1) {
    await program.nextLine();
  }
  await program.kill();
}

async function eventsIn({ conversations }: TemporaryWorkspace, id: ConversationId) {
  return [...eventsOf((await conversations.load(id)).stream.entries)];
}

function isExcused(problem: string, killedIn: ReadonlySet<number>): boolean {
  const [, turn, rest = ""] = /^turn (\d+): (.*)$/.exec(problem) ?? [];
  return killedIn.has(Number(turn)) && rest.endsWith("has no response");
}

/** Ends that the view adds to the record and that are not interruptions. */
function wrongEnds(
  view: readonly ConversationEvent[],
  recorded: readonly ConversationEvent[],
): readonly ConversationEvent[] {
  const known = new Set(recorded.map((event) => JSON.stringify(event)));
  return view.filter((event) => {
    if (known.has(JSON.stringify(event))) return false;
    if (event.type === "tool_call_response") return event.content !== "Tool call was interrupted.";
    if (event.type !== "inquiry_response" || event.outcome !== "cancelled") return true;
    return event.reason !== "interrupted";
  });
}
