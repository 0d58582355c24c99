/** Exports for tests, from given or arbitrary chains and records. */
import * as fc from "fast-check";
import {
  answered,
  anyEvent,
  attemptStart,
  entriesOf,
  inquiry,
  permission,
  permissionRequest,
  toolCall,
  toolResult,
  turnStart,
} from "../record/conversation/events.fixture.ts";
import {
  ChainBuilder,
  ChainedEntries,
  type ChainLine,
  type ConversationId,
  hashLink,
  parseConversationId,
  StreamEntry,
} from "../record/conversation/index.ts";
import { FakeClock } from "../testing/index.ts";
import type { ChainProblem, NotedHead } from "../stores/index.ts";
import type { JsonObject } from "../util/index.ts";
import type { Signer } from "./dsse.ts";
import { type Anchor, type AnchorProof, digestOfDocument, digestOfHead } from "./anchor.ts";
import {
  type AnchoredHeads,
  exportEvidence,
  type ExportOptions,
  type ExportSummary,
} from "./export.ts";
import { generateSigner } from "./machine-key.ts";

/** A conversation in a store. */
export interface Kept {
  readonly id: ConversationId;
  readonly chain: readonly (ChainLine | ChainProblem)[];
  readonly entries: readonly StreamEntry[];
}

export const SIGNER: Signer = generateSigner();

export const ID = parseConversationId("jp-c17673230450");
const IDS = [ID, parseConversationId("jp-c17673230460"), parseConversationId("jp-c17673230470")];

/** A call with a permission, a question, an answer and a result. */
export const ENTRIES: readonly StreamEntry[] = entriesOf(
  turnStart(),
  toolCall("a"),
  permissionRequest("a"),
  permission("a"),
  attemptStart("a"),
  { ...inquiry("a.q.1"), toolCallId: "a" },
  answered("a.q.1"),
  toolResult("a"),
);

export interface Exported {
  readonly lines: readonly string[];
  readonly summary: ExportSummary;
}

export interface EvidenceOptions extends Pick<ExportOptions, "keys"> {
  readonly signer?: Signer;
  readonly hasContent?: boolean;
  readonly filters?: JsonObject;
  readonly anchored?: AnchoredHeads;
}

/** Lines include their newlines. */
export async function evidenceOf(
  kept: readonly Kept[],
  { signer = SIGNER, ...options }: EvidenceOptions = {},
): Promise<Exported> {
  const find = (id: ConversationId) => kept.find((each) => each.id === id);
  const store = {
    async *readChain(id: ConversationId) {
      yield* find(id)?.chain ?? [];
    },
    async *scan(id: ConversationId) {
      yield { entries: find(id)?.entries ?? [] };
    },
  };
  const lines: string[] = [];
  const conversations = kept.map(({ id }) => id);
  const tool = "jp 0.0.0-test";
  const summary = await exportEvidence(
    { store, conversations, signer, clock: new FakeClock(), tool, ...options },
    (line) => void lines.push(line),
  );
  return { lines, summary };
}

/** A chain of all entries that have links. `isRebuilt` selects those rebuilt later. */
export function chainOf(
  id: ConversationId,
  entries: readonly StreamEntry[],
  isRebuilt: (index: number) => boolean = () => false,
): readonly ChainLine[] {
  const builder = new ChainBuilder(id);
  const picked = new ChainedEntries().pick(entries);
  return [
    builder.start(),
    ...picked.map((entry, index) => builder.event(entry, `salt-${index}`, isRebuilt(index))),
  ];
}

export const WORKSPACE = "/home/ana/project";

/** A chain's head after this many links, as logged. */
export function headOf({ id, chain }: Kept, length: number): NotedHead {
  const read = chain[length - 1];
  const head = read !== undefined && "link" in read ? hashLink(read.link) : "";
  return { conversation: id, length, head, workspace: WORKSPACE, isRemoved: false };
}

export const GIT_PROOF: AnchorProof = {
  kind: "git",
  remote: "git@example.com:ana/anchors.git",
  branch: "jp-anchors",
  commit: "0123456789".repeat(4),
  file: `${SIGNER.key.id}.json`,
};

/** One anchor per list of heads. */
export function anchorsOf(
  lists: readonly (readonly NotedHead[])[],
  proof: AnchorProof = GIT_PROOF,
): AnchoredHeads {
  const anchors: Anchor[] = [];
  for (const heads of lists) {
    const last = anchors.at(-1);
    const prev = last === undefined ? "" : digestOfDocument(last.document);
    const document = { prev, heads: heads.map(digestOfHead) };
    anchors.push({ at: "2026-01-02T03:04:05.678Z", document, proof });
  }
  return { anchors, heads: lists.flat(), workspace: WORKSPACE };
}

/** Conversations with decisions of all kinds; some have gaps, lost events or lines that cannot be read. */
const anyKept: fc.Arbitrary<readonly Kept[]> = fc
  .array(
    fc.record({
      events: fc.array(anyEvent, { maxLength: 8 }),
      rebuilt: fc.nat(8),
      lost: fc.option(fc.nat(8), { nil: undefined, freq: 3 }),
      unlinked: fc.option(fc.nat(8), { nil: undefined, freq: 3 }),
      unreadable: fc.boolean(),
      hasGap: fc.boolean(),
    }),
    { minLength: 1, maxLength: 3 },
  )
  .map((all) =>
    all.map(({ events, rebuilt, lost, unlinked, unreadable, hasGap }, position): Kept => {
      const id = IDS[position] ?? ID;
      // Parsed from text, as in a record.
      const entries = events.map((event) => {
        const raw = StreamEntry.fromEvent(event).toText();
        return StreamEntry.fromJson(JSON.parse(raw) as JsonObject);
      });
      const linked = entries.filter((_, index) => index !== unlinked);
      const builder = new ChainBuilder(id);
      const chain: (ChainLine | ChainProblem)[] = [
        builder.start(),
        ...(hasGap ? [builder.gap("torn")] : []),
        ...new ChainedEntries()
          .pick(linked)
          .map((entry, index) => builder.event(entry, `salt-${index}`, index === rebuilt)),
      ];
      if (unreadable) chain.splice(1, 0, { line: 2, problem: "not JSON" });
      return { id, chain, entries: entries.filter((_, index) => index !== lost) };
    }),
  );

/** An arbitrary export and its signing key. */
export const anyEvidence: fc.Arbitrary<() => Promise<Exported>> = fc
  .tuple(anyKept, fc.boolean(), fc.array(fc.array(fc.nat(30), { maxLength: 4 }), { maxLength: 3 }))
  .map(([kept, hasContent, places]) => {
    const all = kept.flatMap((one) => one.chain.map((_, index) => headOf(one, index + 1)));
    // Some are not in the chain, because unreadable lines are not counted.
    const lists = places.map((list) => list.flatMap((place) => all[place % all.length] ?? []));
    return () => evidenceOf(kept, { hasContent, anchored: anchorsOf(lists) });
  });
