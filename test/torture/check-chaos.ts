/** Checks the records, the side effects, the chains and the leases after a round of chaos. */
import { setTimeout as sleep } from "node:timers/promises";
import { eventsOf, isAnswer, type ConversationEvent } from "../../src/record/conversation/index.ts";
import { PostgresStore } from "../../src/stores/postgres/postgres-store.ts";
import type { ChaosSite } from "./chaos-site.ts";
import { unverifiedIn } from "./check-chain.ts";

/** What the clients have been told. */
export interface Given {
  /** By message: false if the command was killed. */
  readonly started: Map<string, boolean>;
  /** By decision: how many commands said that their answer is on record, and how many were killed. */
  readonly answers: Map<string, { acknowledged: number; unknown: number }>;
  /** By conversation: how often someone may have allowed to run a call in doubt again. */
  readonly reruns: Map<string, number>;
}

/** A lease of a process that was killed runs out. */
const HELD_MS = 30_000;

/** Problems, as sentences. */
export async function problemsOfChaos(site: ChaosSite, given: Given): Promise<readonly string[]> {
  const store = new PostgresStore({ url: site.url, workspace: "abc12", pid: process.pid });
  try {
    const problems: string[] = [];
    const messages: string[] = [];
    const decided = new Set<string>();
    const lines = Map.groupBy(site.ledger("ledger"), (line) => line);
    const ids = (await store.list()).map(({ id }) => id);
    for (const id of ids) {
      const events = [...eventsOf((await store.load(id)).stream.entries)];
      if (events.length === 0) continue; // Its command was killed before it wrote the message.
      const runs = lines.get(id)?.length ?? 0;
      problems.push(
        ...problemsOfTurn(events, runs, given.reruns.get(id) ?? 0).map(
          (problem) => `${id}: ${problem}\n${JSON.stringify(events)}`,
        ),
      );
      for (const event of events) {
        if (event.type === "chat_request") messages.push(event.content);
        if (!isAnswer(event)) continue;
        const key = `${id}/${event.id}`;
        if (decided.has(key)) problems.push(`${key} was decided twice`);
        decided.add(key);
      }
    }
    return [
      ...problems,
      ...problemsOfStarts(messages, given),
      ...problemsOfAnswers(decided, given),
      ...(await unverifiedIn(store, ids)),
      ...(await leftHeld(site)),
    ];
  } finally {
    await store.close();
  }
}

function problemsOfTurn(
  events: readonly ConversationEvent[],
  runs: number,
  reruns: number,
): readonly string[] {
  const last = events.at(-1);
  const results = events.filter((event) => event.type === "tool_call_response");
  const isAdded = results.some(({ content }) => content.includes("added"));
  return [
    ...(results.length === 1 ? [] : [`its call has ${results.length} results`]),
    ...(runs <= 1 + reruns
      ? []
      : [`its tool has run ${runs} times, and ${reruns} again with permission`]),
    ...(runs > 0 || !isAdded ? [] : ["its tool has not run"]),
    ...(last?.type === "chat_response" || last?.type === "turn_end"
      ? []
      : [`it ends with ${last?.type}`]),
  ];
}

function problemsOfStarts(messages: readonly string[], { started }: Given): readonly string[] {
  const counts = Map.groupBy(messages, (message) => message);
  return [...started].flatMap(([message, isAcknowledged]) => {
    const count = counts.get(message)?.length ?? 0;
    const isFine = count === 1 || (count === 0 && !isAcknowledged);
    return isFine ? [] : [`“${message}” is on record ${count} times`];
  });
}

function problemsOfAnswers(decided: ReadonlySet<string>, { answers }: Given): readonly string[] {
  const given = [...answers].flatMap(([key, { acknowledged, unknown }]) => {
    if (acknowledged > 1)
      return [`${acknowledged} commands say that their answer to ${key} counts`];
    if (acknowledged === 1 && !decided.has(key)) return [`the answer to ${key} is lost`];
    const isUnsaid = acknowledged + unknown === 0 && decided.has(key);
    return isUnsaid ? [`${key} is decided, and no command said so`] : [];
  });
  const others = [...decided].filter((key) => !answers.has(key));
  return [...given, ...others.map((key) => `${key} was decided by no one`)];
}

async function leftHeld({ database }: ChaosSite): Promise<readonly string[]> {
  const deadline = Date.now() + HELD_MS;
  for (;;) {
    const [row] = await database.query<{ readonly open: string }>({
      text: `select count(*) as open from jp.conversations
        where open_turn is not null or lease_until > now()`,
    });
    const left = row?.open === "0" ? [] : [`${row?.open} turns are open or held`];
    if (left.length === 0 || Date.now() > deadline) return left;
    await sleep(200);
  }
}
