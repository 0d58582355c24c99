/**
 * Rounds of damaged files: a record with an open turn is zeroed, cut off at any byte, gets a wrong byte, or one that is
 * not UTF-8, or becomes an empty list. No list may say that nothing waits, no reader may change anything, and a writer
 * restores the turn or refuses.
 */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { chatRequest, message, turnStart } from "../../src/record/conversation/events.fixture.ts";
import { type ConversationEvent, StreamEntry } from "../../src/record/conversation/index.ts";
import { listPending } from "../../src/assemble/index.ts";
import { WAITING } from "../../src/stores/open-question.fixture.ts";
import { openWorkspace } from "../../src/stores/index.ts";
import { isJpError, messageOf, systemClock } from "../../src/util/index.ts";
import { makePlace, type Workplace } from "./place.ts";
import type { Random } from "./random.ts";
import type { RoundResult } from "./round.ts";

export interface DamageRound {
  readonly name: string;
  /** Returns the bytes of the damaged file. */
  readonly damage: (whole: Buffer) => Buffer;
}

const QUESTION = "a.q.1";
const EARLIER = [turnStart(), chatRequest("Earlier. ÄÖÜ €"), message("Said.")];
/** Written together. */
const WRITES: readonly (readonly ConversationEvent[])[] = [
  EARLIER,
  WAITING.slice(0, 2),
  WAITING.slice(2, -1),
  WAITING.slice(-1),
];

/** So many of each kind. */
export function roundsOfDamage(count: number, random: Random): DamageRound[] {
  return Array.from({ length: count }, () => roundsOfOne(random)).flat();
}

function roundsOfOne(random: Random): DamageRound[] {
  const [share, length] = [random.next(), random.next()];
  const bit = 1 << Math.floor(random.next() * 8);
  const at = `at ${(share * 100).toFixed(3)} %`;
  return [
    { name: `cut off ${at}`, damage: (whole) => whole.subarray(0, share * whole.length) },
    {
      name: `zeroed ${at}, ${(length * 100).toFixed(3)} % of the rest`,
      damage: (whole) => {
        const start = Math.floor(share * whole.length);
        return Buffer.from(whole).fill(
          0,
          start,
          Math.ceil(start + length * (whole.length - start)),
        );
      },
    },
    { name: `zeroed from ${at} on`, damage: (whole) => zeroedFrom(whole, share) },
    {
      name: `bit ${bit} flipped ${at}`,
      damage: (whole) => withByte(whole, share, (byte) => byte ^ bit),
    },
    { name: "an empty list", damage: () => Buffer.from("[]\n") },
    { name: `not UTF-8 ${at}`, damage: (whole) => withByte(whole, share, () => 0xff) },
  ];
}

function zeroedFrom(whole: Buffer, share: number): Buffer {
  return Buffer.from(whole).fill(0, Math.floor(share * whole.length));
}

function withByte(whole: Buffer, share: number, change: (byte: number) => number): Buffer {
  const changed = Buffer.from(whole);
  const at = Math.floor(share * whole.length);
  changed[at] = change(changed[at] ?? 0);
  return changed;
}

export async function runDamageRound({ name, damage }: DamageRound): Promise<RoundResult> {
  const place = makePlace();
  try {
    const { file, whole } = await leaveOpen(place);
    const damaged = damage(whole);
    writeFileSync(file, damaged);
    const problems = damaged.equals(whole) ? [] : await problemsAfter(place, { file, damaged });
    return { name, isHit: !damaged.equals(whole), recorded: WRITES.flat().length, problems };
  } finally {
    place.remove();
  }
}

function openPlace({ root, data }: Workplace) {
  const environment = {
    variables: { JP_USER_DATA_DIR: data, JP_SESSION: "torture" },
    home: data,
    platform: process.platform,
  };
  return openWorkspace({ from: root, environment, clock: systemClock, pid: process.pid });
}

async function leaveOpen(place: Workplace) {
  const { conversations } = openPlace(place);
  await using writer = await conversations.create({ title: "Open" });
  for (const events of WRITES) await writer.append(...events);
  await writer.release();
  const live = path.join(place.root, ".jp", "conversations");
  const file = path.join(live, readdirSync(live)[0] ?? "", "events.json");
  return { file, whole: readFileSync(file) };
}

async function problemsAfter(
  place: Workplace,
  { file, damaged }: { readonly file: string; readonly damaged: Buffer },
): Promise<readonly string[]> {
  const { conversations } = openPlace(place);
  const named: string[] = [];
  const pending = await listPending(conversations, { onProblem: (problem) => named.push(problem) });
  const [summary] = await conversations.list();
  if (summary === undefined) return ["the conversation is gone"];
  await conversations.load(summary.id);
  const problems = readFileSync(file).equals(damaged) ? [] : ["reading has changed the file"];
  const isListed = pending.some(({ id }) => id === QUESTION);
  // The last write may not have been acknowledged: without it, the call is in doubt.
  const isTornEnd = pending.length > 0;
  // Another program may have written it.
  const isOther = isValid(damaged) && damaged.length > "[]\n".length;
  if (!isListed && !isTornEnd && !isOther && named.length === 0) {
    problems.push("it says that nothing waits");
  }
  return [...problems, ...(await problemsOfWriter(place, { file, damaged, isOther }))];
}

async function problemsOfWriter(
  place: Workplace,
  { file, damaged, isOther }: { file: string; damaged: Buffer; isOther: boolean },
): Promise<readonly string[]> {
  const { conversations } = openPlace(place);
  const [summary] = await conversations.list();
  try {
    await using writer = await conversations.open(summary?.id ?? ("" as never));
    const lines = new Set(writer.stream.entries.map((entry) => entry.toText()));
    await writer.release();
    const acknowledged = WRITES.slice(1, -1).flat();
    const lost = acknowledged.filter((event) => !lines.has(StreamEntry.fromEvent(event).toText()));
    return [
      ...(isOther ? [] : lost.map(({ type }) => `${type} of the open turn is lost`)),
      ...(isValid(readFileSync(file)) ? [] : ["the file is not valid JSON after it was opened"]),
    ];
  } catch (error) {
    const isRefused = isJpError(error) && error.code === "record_damaged";
    if (!isRefused) return [`opening it fails: ${messageOf(error)}`];
    return readFileSync(file).equals(damaged) ? [] : ["a refused writer has changed the file"];
  }
}

function isValid(bytes: Buffer): boolean {
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    return Array.isArray(JSON.parse(text));
  } catch {
    return false;
  }
}
