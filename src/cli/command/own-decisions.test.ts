import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import {
  at,
  closed,
  inquiry,
  toolCall,
  turnStart,
} from "../../record/conversation/events.fixture.ts";
import { type Decider, inquiriesIn } from "../../record/conversation/index.ts";
import { readOwnRuns } from "../../stores/index.ts";
import { temporaryWorkspace } from "../../stores/temporary-workspace.fixture.ts";
import { createOutput } from "../../surfaces/terminal/index.ts";
import { readEntries } from "../conversations.ts";
import { OwnDecisions } from "./own-decisions.ts";

const silent = new PassThrough() as unknown as NodeJS.WriteStream; // All that is used of it.
const output = createOutput({ stdout: silent, stderr: silent });

/** Records one answer by each of them here, and returns whether each counts as the user's own. */
async function countedAs(...deciders: readonly Decider[]): Promise<readonly boolean[]> {
  const workspace = temporaryWorkspace();
  await using writer = await workspace.conversations.create({});
  const asked = deciders.flatMap((answeredBy, second) => {
    const id = `a.q.${second}`;
    const answer = closed(id, { outcome: "answered", answer: true, answeredBy });
    return [inquiry(id), answer].map((event) => ({ ...event, timestamp: at(second) }));
  });
  await writer.append(turnStart(), toolCall("a"), ...asked);
  await writer.release();
  const { environment, root } = workspace;
  const runs = readOwnRuns(environment, root).get(writer.id) ?? [];
  const context = { workspace, output };
  const own = new OwnDecisions(writer.id, runs, context);
  const counted: boolean[] = [];
  for await (const row of inquiriesIn(own.reading(readEntries(writer.id, context)))) {
    counted.push(await own.take({ conversation: writer.id, ...row }));
  }
  return counted;
}

const by = (channel: string, auth?: string): Decider => {
  return { kind: "user", channel, ...(auth !== undefined && { auth }) };
};

test("a decision is yours if you made it on a terminal of this machine, or with the link of the desk's owner", async () => {
  const yours = [
    by("terminal", "os_user"),
    by("cli", "os_user"),
    by("desk", "os_user"),
    by("terminal", "owner"),
  ];
  expect(await countedAs(...yours)).toEqual([true, true, true, true]);
});

test("a decision that an older version recorded is yours if its channel was a terminal", async () => {
  const older = [by("terminal"), by("cli"), by("desk"), by("program")];
  expect(await countedAs(...older)).toEqual([true, true, false, false]);
});

test("a decision with a token, by a program or by a client is not yours, though it was recorded here", async () => {
  const others = [
    by("desk", "token"),
    by("terminal", "program"),
    by("mcp:editor", "os_user"),
    by("mcp:editor", "client"),
    { kind: "assistant", model: "a/b" },
  ] as const;
  expect(await countedAs(...others)).toEqual([false, false, false, false, false]);
});
