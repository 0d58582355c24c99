/** Clones of a workspace share the user's folder for it. What someone decides in one of them counts there alone. */
import { cpSync, readdirSync, readFileSync, renameSync, symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { closed } from "../../src/record/conversation/events.fixture.ts";
import {
  type ConversationEvent,
  type ConversationId,
  eventsOf,
  SecretAnswer,
} from "../../src/record/conversation/index.ts";
import type { Workspace } from "../../src/stores/index.ts";
import { codeOf } from "../../src/stores/record-elements.fixture.ts";
import { answerBy, WAITING, WAITING_FOR_SECRET } from "../../src/stores/open-question.fixture.ts";
import {
  temporaryFolder,
  type TemporaryWorkspace,
  temporaryWorkspace,
} from "../../src/stores/temporary-workspace.fixture.ts";
import { counters } from "../security/threats.ts";
import { ChildProgram } from "../support/child-program.ts";

const ANSWERED_BY = { kind: "user", channel: "cli", auth: "os_user", name: "Ana" } as const;
const REDACTED = closed("a.q.1", { outcome: "redacted", answeredBy: ANSWERED_BY });

interface Placed {
  readonly real: TemporaryWorkspace;
  /** Has the same id and the same conversation. */
  readonly clone: TemporaryWorkspace;
  readonly id: ConversationId;
}

async function place(
  events: readonly ConversationEvent[],
  { isLocal = false, text = "Go on?" }: { isLocal?: boolean; text?: string } = {},
): Promise<Placed> {
  const real = temporaryWorkspace();
  await using writer = await real.conversations.create({ isLocal });
  await writer.append(...events);
  const { id } = writer;
  await writer.release();
  const clone = temporaryWorkspace({ data: real.data });
  if (isLocal) return { real, clone, id };
  const { folder } = real.files.paths(id);
  const copy = path.join(clone.live, path.basename(folder));
  cpSync(folder, copy, { recursive: true });
  const record = path.join(copy, "events.json");
  writeFileSync(record, readFileSync(record, "utf8").replace("Go on?", text));
  return { real, clone, id };
}

/** A process that waits for answers in the real workspace. */
async function startWaiting({ real, id }: Placed): Promise<ChildProgram> {
  const program = ChildProgram.ofTests("answer-program.ts", real.root, real.data, "holder");
  await program.nextLine();
  program.tell(`ask ${id}`);
  await program.nextLine();
  return program;
}

async function stop(program: ChildProgram): Promise<void> {
  program.tell("stop");
  await program.nextLine();
}

async function eventsIn({ conversations }: Workspace, id: ConversationId) {
  return [...eventsOf((await conversations.load(id)).stream.entries)];
}

describe("an answer from a clone with the same workspace id", () => {
  test("is refused by the process that waits", async () => {
    counters("T-WORK-19");
    const placed = await place(WAITING, { text: "Say hello?" });
    const { real, clone, id } = placed;
    const program = await startWaiting(placed);
    const result = await clone.conversations.answer(id, answerBy("Ana"));
    await stop(program);
    expect([result, await eventsIn(real, id)]).toEqual([
      { type: "other_workspace", workspace: real.root },
      WAITING,
    ]);
    expect(readdirSync(path.join(real.userFolder, "offers"))).toEqual([]);
  });

  test("is refused if it is a secret", async () => {
    counters("T-WORK-19");
    const placed = await place(WAITING_FOR_SECRET, { text: "Say hello?" });
    const { real, clone, id } = placed;
    const program = await startWaiting(placed);
    const secret = new SecretAnswer("s3cret");
    const result = await clone.conversations.answer(id, REDACTED, { secret });
    await stop(program);
    expect([result, await eventsIn(real, id)]).toEqual([
      { type: "other_workspace", workspace: real.root },
      WAITING_FOR_SECRET,
    ]);
  });

  test("does not reach the user's own conversation", async () => {
    counters("T-WORK-19");
    const { real, clone, id } = await place(WAITING, { isLocal: true });
    const code = await codeOf(clone.conversations.answer(id, answerBy("Ana")));
    expect([code, await eventsIn(real, id), (await real.conversations.load(id)).isOwnTurn]).toEqual(
      ["conversation_not_found", WAITING, true],
    );
  });

  test("is recorded in the clone's own record, which is not the user's own turn", async () => {
    const { real, clone, id } = await place(WAITING, { text: "Say hello?" });
    const result = await clone.conversations.answer(id, answerBy("Ana"));
    const { isOwnTurn } = await clone.conversations.load(id);
    expect([result, isOwnTurn, await eventsIn(real, id)]).toEqual([
      { type: "recorded" },
      false,
      WAITING,
    ]);
  });
});

test("an answer from the same workspace, reached by a link, is taken", async () => {
  const placed = await place(WAITING);
  const { real, id } = placed;
  const program = await startWaiting(placed);
  const link = path.join(temporaryFolder(), "link");
  symlinkSync(real.root, link);
  const { conversations } = real.reopen({ from: link });
  const result = await conversations.answer(id, answerBy("Ana"));
  await stop(program);
  expect([result, await eventsIn(real, id)]).toEqual([
    { type: "recorded" },
    [...WAITING, answerBy("Ana")],
  ]);
});

describe("a turn that the user has left in one folder", () => {
  test("is someone else's in a clone with the same workspace id", async () => {
    counters("T-WORK-15");
    const { real, clone, id } = await place(WAITING);
    const isOwn = async ({ conversations }: Workspace) => {
      await using writer = await conversations.open(id);
      return [(await conversations.load(id)).isOwnTurn, writer.isOwnTurn, writer.startedIn];
    };
    expect([await isOwn(clone), await isOwn(real)]).toEqual([
      [false, false, real.root],
      [true, true, undefined],
    ]);
    const fork = await clone.conversations.fork(id);
    expect((await clone.conversations.load(fork)).isOwnTurn).toBe(false);
  });

  test("can be answered where the folder has been moved to, but is no longer known to be the user's", async () => {
    const { real, id } = await place(WAITING, { isLocal: true });
    const root = path.join(temporaryFolder(), "moved");
    renameSync(real.root, root);
    const moved = real.reopen({ from: root });
    await moved.adopt(true);
    expect(await moved.conversations.answer(id, answerBy("Ana"))).toEqual({ type: "recorded" });
    expect((await moved.conversations.load(id)).isOwnTurn).toBe(false);
  });
});
