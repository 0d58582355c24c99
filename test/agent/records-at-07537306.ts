/**
 * Opens records that jp wrote at commit 07537306: each kind of decision, open, answered, voted on and half run. Requests had no
 * `takes` then, answers to a bare name had no `auth`, and the links of chains were of version 1. The files are as that version left
 * them, the half run ones by a process that was killed. Never regenerate them: they stand for records that people have.
 */
import { cpSync, readdirSync } from "node:fs";
import path from "node:path";
import { configProblems } from "../../src/settings/config/original-config.fixture.ts";
import {
  type ConversationId,
  eventsOf,
  parseChainLine,
  parseConversationId,
  versionOf,
} from "../../src/record/conversation/index.ts";
import { savedByOriginal } from "../../src/record/conversation/original-record.fixture.ts";
import { transcript } from "../../src/record/conversation/transcript.fixture.ts";
import { evidenceOf } from "../../src/proof/evidence.fixture.ts";
import { verifyEvidence } from "../../src/proof/index.ts";
import { resumeTurn, type ResumeOptions } from "../../src/assemble/index.ts";
import { type ConversationStore, openStore, type PortableStore } from "../../src/stores/index.ts";
import { temporaryFolder } from "../../src/stores/temporary-workspace.fixture.ts";
import { FakeClock, ScriptedModel } from "../../src/testing/index.ts";
import type { JsonObject } from "../../src/util/index.ts";
import { isPortable } from "./copied-record.ts";

/** A store: what each conversation has on disk, and the marker of its open turn. */
const STORE = path.join(import.meta.dirname, "records-at-07537306");

/** By what they have: the kind of decision, and its state. */
const FOLDERS: ReadonlyMap<string, string> = new Map(
  readdirSync(path.join(STORE, "conversations")).map((folder) => {
    const [, ...name] = folder.split("-");
    return [name.join("-"), folder] as const;
  }),
);

export const NAMES: readonly string[] = [...FOLDERS.keys()];

/** A record that can be continued, alone in a store. */
export interface EarlierRecord {
  readonly store: ConversationStore;
  readonly id: ConversationId;
  /** Later than everything on record. */
  readonly clock: FakeClock;
  /** How many links its chain had. */
  readonly links: number;
}

/** Copies the record, so that each test continues its own. */
export async function openEarlier(name: string): Promise<EarlierRecord> {
  const folder = FOLDERS.get(name) ?? "";
  const id = parseConversationId(`jp-c${folder.slice(0, folder.indexOf("-"))}`);
  const parent = temporaryFolder();
  for (const part of [path.join("conversations", folder), path.join("open-turns", id)]) {
    cpSync(path.join(STORE, part), path.join(parent, part), { recursive: true });
  }
  const clock = new FakeClock("2026-01-02T04:00:00Z");
  const store = await openStore(parent, { clock });
  const { chain } = await filesOf(store, id);
  return { store, id, clock, links: chain.length };
}

/** Another process continues the turn. It asks no one unless `parts` say so. Returns how the turn ended, and what was added. */
export async function continueTurn(
  { store, id }: Pick<EarlierRecord, "store" | "id">,
  parts: Partial<ResumeOptions>,
) {
  await using conversation = await store.open(id);
  const before = conversation.stream.entries.length;
  const model = new ScriptedModel({ replies: ["Done."] });
  const { type: end } = await resumeTurn(conversation, { model, defer: true, ...parts });
  const added = transcript(eventsOf(conversation.stream.entries.slice(before)));
  return { end, added };
}

/** Why the Rust original, or whoever verifies the chain, would complain about the files. */
export async function problemsIn(store: ConversationStore, id: ConversationId) {
  const { elements, baseConfig, chain } = await filesOf(store, id);
  savedByOriginal(elements); // Throws at what it cannot decode.
  const { entries } = (await store.load(id)).stream;
  const { lines } = await evidenceOf([{ id, chain, entries }], { hasContent: true });
  const { problems, counts } = await verifyEvidence([Buffer.from(lines.join(""))]);
  return [
    ...configProblems(baseConfig, elements),
    ...problems.map(({ code }) => code),
    ...counts.findings.keys(),
    ...counts.gaps.keys(),
  ];
}

/** The versions of the links that were there, and of those that were added. */
export async function linkVersions(
  store: ConversationStore,
  { id, links }: Pick<EarlierRecord, "id" | "links">,
) {
  const { chain } = await filesOf(store, id);
  const versions = chain.map(({ link }) => versionOf(link));
  const [earlier, added] = [versions.slice(0, links), versions.slice(links)];
  return { earlier: [...new Set(earlier)], added: [...new Set(added)] };
}

/** What is on disk, as whoever has only the files reads it. */
export async function filesOf(store: ConversationStore, id: ConversationId) {
  const { files } = await portable(store).exportRecord(id);
  const textOf = (name: string) => files.get(name)?.toString() ?? "";
  return {
    elements: JSON.parse(textOf("events.json")) as readonly JsonObject[],
    baseConfig: JSON.parse(textOf("base_config.json")) as JsonObject,
    chain: textOf("decisions.jsonl").trimEnd().split("\n").map(parseChainLine),
  };
}

function portable(store: ConversationStore): PortableStore {
  if (!isPortable(store)) throw new Error("this store has no files");
  return store;
}
