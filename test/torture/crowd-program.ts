/** One of several processes that use a conversation at once: it writes, reads, or answers. Reports on standard output. */
import { existsSync } from "node:fs";
import path from "node:path";
import {
  at,
  chatRequest,
  inquiry,
  message,
  toolCall,
  toolResult,
  turnStart,
} from "../../src/record/conversation/events.fixture.ts";
import {
  type ConversationEvent,
  type ConversationId,
  type InquiryId,
  judgeOffered,
  lastTurnOf,
  type OfferedAnswer,
} from "../../src/record/conversation/index.ts";
import { answerInquiry, listPending } from "../../src/assemble/index.ts";
import {
  type AnswerResult,
  type ConversationWriter,
  openWorkspace,
} from "../../src/stores/index.ts";
import { isJpError, systemClock } from "../../src/util/index.ts";
import type { CrowdPlan, CrowdReport } from "./crowd-round.ts";
import { Random } from "./random.ts";

const plan = JSON.parse(process.argv[2] ?? "") as CrowdPlan;
const random = new Random(plan.seed);
const { conversations } = openWorkspace({
  from: plan.root,
  environment: {
    variables: { JP_USER_DATA_DIR: plan.data, JP_SESSION: plan.role },
    home: plan.data,
    platform: process.platform,
  },
  clock: systemClock,
  pid: process.pid,
});
const { signal } = new AbortController();
const ROLES = { write, read, answer } satisfies Record<
  CrowdPlan["role"],
  () => Promise<CrowdReport>
>;
const alive = setInterval(() => undefined, 1000); // Waiting for an offer does not keep a process.
process.stdout.write(`${JSON.stringify(await ROLES[plan.role]())}\n`);
clearInterval(alive);

/** Asks once in each turn. Half of the time it waits with the conversation open, and else after its release. */
async function write(): Promise<CrowdReport> {
  let writer: ConversationWriter = await conversations.create({ title: "Crowd" });
  for (let turn = 1; turn <= plan.turns; turn += 1) {
    const call = `call_${turn}`;
    const id = `${call}.q.1` as InquiryId;
    const { promise: answered, resolve } = Promise.withResolvers<void>();
    const asking = writer;
    let earlier: Promise<unknown> = Promise.resolve();
    const take = async (offered: OfferedAnswer): Promise<AnswerResult> => {
      const judged = judgeOffered(lastTurnOf(asking.stream.entries), offered, true);
      if (judged.type !== "fits") return judged;
      await asking.append(offered.event);
      resolve();
      return { type: "recorded" };
    };
    // One after the other: the first that fits is the one that counts.
    const listening = asking.onAnswer((offered: OfferedAnswer) => {
      const taken = earlier.then(() => take(offered));
      earlier = taken.catch(() => undefined);
      return taken;
    });
    await asking.append(...asked(call, id));
    if (random.next() < 0.5) await answered;
    else {
      await asking.release();
      await untilNothingWaits();
      writer = await openWhenUnlocked(asking.id);
    }
    listening[Symbol.dispose]();
    await writer.append(toolResult(call), message(`Done with ${call}.`));
  }
  await writer.release();
  return { recorded: 0, reads: 0, problems: [] };
}

/** Texts of all lengths, so that some of them span pages. */
function asked(call: string, id: InquiryId): readonly ConversationEvent[] {
  return [
    turnStart(),
    chatRequest("€".repeat(Math.floor(random.next() ** 4 * 40_000))),
    toolCall(call),
    { type: "attempt_start", timestamp: at(0), toolCallId: call },
    { ...inquiry(id), toolCallId: call, questionId: "q" },
  ];
}

/** Whoever has answered may be about to release it. */
async function openWhenUnlocked(id: ConversationId): Promise<ConversationWriter> {
  for (;;) {
    try {
      return await conversations.open(id);
    } catch (error) {
      if (!isJpError(error) || error.code !== "conversation_locked") throw error;
      await systemClock.sleep(1, signal);
    }
  }
}

async function untilNothingWaits(): Promise<void> {
  while ((await listPending(conversations)).length > 0) await systemClock.sleep(1, signal);
}

async function read(): Promise<CrowdReport> {
  const problems = new Set<string>();
  let reads = 0;
  while (!isOver()) {
    reads += 1;
    await listPending(conversations, { onProblem: (problem) => problems.add(problem) });
    for (const { id, problem } of await conversations.list()) {
      if (problem !== undefined) problems.add(problem);
      const { problems: found = [] } = await conversations.load(id);
      for (const each of found) problems.add(each.message);
    }
  }
  return { recorded: 0, reads, problems: [...problems] };
}

async function answer(): Promise<CrowdReport> {
  let recorded = 0;
  let reads = 0;
  while (!isOver()) {
    reads += 1;
    for (const item of await listPending(conversations)) {
      const { type } = await answerInquiry(conversations, item, { answer: true });
      if (type === "recorded") recorded += 1;
    }
    await systemClock.sleep(1, signal);
  }
  return { recorded, reads, problems: [] };
}

function isOver(): boolean {
  return existsSync(path.join(plan.notes, "over"));
}
