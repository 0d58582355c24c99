/**
 * Writes evidence: conversations' chains as signed statements, optionally the events that links commit to, and all
 * differences between chain and record. Neither chains nor records are held in memory.
 */
import { createHash } from "node:crypto";
import {
  answerToSign,
  ChainedEntries,
  type ChainLink,
  commitTo,
  type ConversationId,
  deciderOf,
  hashLink,
  isAnswer,
  isSameName,
  signatureToJson,
  type StreamEntry,
} from "../record/conversation/index.ts";
import {
  type ConversationStore,
  isSteppedBack,
  type NotedHead,
  type SignedState,
  type SignedTurn,
  type WorkspaceStore,
} from "../stores/index.ts";
import { type Clock, isJpError, isJsonObject, type JsonObject, randomKey } from "../util/index.ts";
import { type Anchor, digestOfHead, digestOfState } from "./anchor.ts";
import { digestOf, type Signer, signLine } from "./dsse.ts";
import {
  commitmentOf,
  type ConversationEnd,
  type FindingCode,
  findText,
  digestOfPlace,
  EXPORT_VERSION,
  type KeyStatement,
  type StatementContent,
  statementToBytes,
} from "./statement.ts";

export interface ExportOptions {
  readonly store: Pick<ConversationStore, "scan" | "readChain"> &
    Pick<WorkspaceStore, "findSigned">;
  readonly conversations: readonly ConversationId[];
  readonly signer: Signer;
  readonly clock: Clock;
  /** Such as `jp 1.0.0`. */
  readonly tool: string;
  /** Includes the events that links commit to: requests, answers and results. */
  readonly hasContent?: boolean;
  /** People's signing keys. The export names those that signed something. */
  readonly keys?: readonly Omit<KeyStatement, "type">[];
  /** How the conversations were selected, for the export's header. */
  readonly filters?: JsonObject;
  readonly anchored?: AnchoredHeads;
}

/** The anchored heads, of these and other conversations. */
export interface AnchoredHeads {
  readonly anchors: readonly Anchor[];
  /** The log of heads. */
  readonly heads: readonly NotedHead[];
  /** The real path of the exported workspace. */
  readonly workspace?: string;
}

export interface ExportSummary {
  readonly conversations: readonly ConversationEnd[];
  readonly contents: number;
  readonly anchors: number;
  readonly findings: Readonly<Partial<Record<FindingCode, number>>>;
  /** Conversations with a broken chain. Their export cannot be verified. */
  readonly broken: readonly ConversationId[];
}

/** Calls `write` for each line in turn. Throws errors of reading a record and of `write`. */
export async function exportEvidence(
  options: ExportOptions,
  write: (line: string) => Promise<void> | void,
): Promise<ExportSummary> {
  const { signer, clock, tool, hasContent = false, filters = {} } = options;
  const sheet = new Sheet(signer, write, options.keys);
  await sheet.add({
    type: "export",
    version: EXPORT_VERSION,
    tool,
    at: clock.now().toISOString(),
    key: signer.key.text,
    hasContent,
    filters,
  });
  const ends: ConversationEnd[] = [];
  const broken: ConversationId[] = [];
  const found = new Map<FindingCode, number>();
  let contents = 0;
  const shown = new Set<string>();
  const noted = anchoredHeads(options.anchored);
  for (const id of options.conversations) {
    const one = new ConversationExport(id, options.store, sheet);
    await one.write(hasContent, noted.get(id) ?? []);
    for (const digest of one.heads) shown.add(digest);
    for (const [code, count] of one.findings) found.set(code, (found.get(code) ?? 0) + count);
    contents += one.contents;
    if (one.isBroken) broken.push(id);
    if (one.end.length > 0 || one.findings.size > 0) ends.push(one.end);
  }
  const anchors = (options.anchored?.anchors ?? []).filter(({ document }) =>
    document.heads.some((digest) => shown.has(digest)),
  );
  for (const anchor of anchors) await sheet.add({ type: "anchor", ...anchor });
  await sheet.end(ends);
  return {
    conversations: ends,
    contents,
    anchors: anchors.length,
    findings: Object.fromEntries(found),
    broken,
  };
}

interface ExpectedHead extends NotedHead {
  readonly digest: string;
  readonly isAnchoredState: boolean;
  /** Logged for this workspace. Others may have a diverging conversation with the same id. */
  readonly isOwn: boolean;
}

/** Keyed by conversation. */
function anchoredHeads(
  { anchors, heads, workspace }: AnchoredHeads = { anchors: [], heads: [] },
): ReadonlyMap<string, readonly ExpectedHead[]> {
  const anchored = new Set(anchors.flatMap(({ document }) => document.heads));
  const expected = heads.flatMap((head) => {
    const digest = digestOfHead(head);
    const isOwn = head.workspace === workspace;
    const { conversation, turn } = head;
    const isAnchoredState =
      turn !== undefined && anchored.has(digestOfState({ conversation, ...turn }));
    return head.isRemoved || !anchored.has(digest)
      ? []
      : [{ ...head, digest, isOwn, isAnchoredState }];
  });
  return Map.groupBy(expected, ({ conversation }) => conversation);
}

/** The file being written. */
class Sheet {
  readonly #signer: Signer;
  readonly #write: (line: string) => Promise<void> | void;
  readonly #export = randomKey();
  readonly #payloads = createHash("sha256");
  readonly #keys: readonly Omit<KeyStatement, "type">[];
  readonly #named = new Set<string>();
  #count = 0;

  constructor(
    signer: Signer,
    write: (line: string) => Promise<void> | void,
    keys: readonly Omit<KeyStatement, "type">[] = [],
  ) {
    this.#signer = signer;
    this.#write = write;
    this.#keys = keys;
  }

  /** Names a person's key once, under its owner's name if that is someone else. False if the key is unknown. */
  async nameKey(person: string, id: string): Promise<boolean> {
    const known = this.#keys.filter((each) => each.key.id === id);
    const own = known.find((each) => isSameName(each.person, person));
    // Spells the name as in the record.
    const named = own === undefined ? known[0] : { ...own, person };
    if (named === undefined) return false;
    const name = JSON.stringify([named.person, id]);
    if (this.#named.has(name)) return true;
    this.#named.add(name);
    await this.add({ type: "key", ...named });
    return true;
  }

  async add(content: StatementContent): Promise<void> {
    const place = { export: this.#export, index: this.#count };
    const payload = statementToBytes({ ...place, ...content });
    this.#count += 1;
    this.#payloads.update(digestOf(payload));
    await this.#write(signLine(payload, this.#signer));
  }

  async end(conversations: readonly ConversationEnd[]): Promise<void> {
    const payloads = this.#payloads.copy().digest("hex");
    await this.add({ type: "end", count: this.#count + 1, conversations, payloads });
  }
}

/** A link's commitment to an event, until the event is found. */
interface Commitment {
  readonly seq: number;
  readonly salt: string;
  readonly digest: string;
  isFound: boolean;
}

class ConversationExport {
  readonly #id: ConversationId;
  readonly #store: ExportOptions["store"];
  readonly #sheet: Sheet;
  /** Digests of anchored heads found in the chain, and of an anchored state. */
  readonly heads: string[] = [];
  /** Keyed by the event's type and time. */
  readonly #commitments = new Map<string, Commitment[]>();
  readonly findings = new Map<FindingCode, number>();
  contents = 0;
  isBroken = false;
  #length = 0;
  #head = "";

  constructor(id: ConversationId, store: ExportOptions["store"], sheet: Sheet) {
    this.#id = id;
    this.#store = store;
    this.#sheet = sheet;
  }

  get end(): ConversationEnd {
    return { conversation: this.#id, length: this.#length, head: this.#head };
  }

  /** An unreadable conversation is named, and does not stop the export of others. */
  async write(hasContent: boolean, expected: readonly ExpectedHead[]): Promise<void> {
    const reached = new Set<string>();
    const waited = new Set(expected.map(({ head }) => head));
    await this.#unlessUnreadable("unreadable_chain", () =>
      this.#writeLinks((head) => waited.has(head) && reached.add(`${this.#length} ${head}`)),
    );
    const turn = await this.#findSigned();
    const ours = expected.map((head) => ({
      ...head,
      isOwn: head.isOwn || head.workspace === turn?.store,
    }));
    await this.#writeHeads(ours, reached);
    if (turn !== undefined) await this.#writeStates(turn, ours);
    await this.#unlessUnreadable("unreadable_record", () => this.#compareRecord(hasContent));
  }

  async #unlessUnreadable(code: FindingCode, read: () => Promise<void>): Promise<void> {
    try {
      await read();
    } catch (error) {
      // Someone may have removed it since.
      const isUnreadable = ["read_failed", "conversation_not_found"];
      if (!isJpError(error) || !isUnreadable.includes(error.code)) throw error;
      await this.#find(code, {});
    }
  }

  async #findSigned(): Promise<SignedTurn | undefined> {
    let found: SignedTurn | undefined;
    await this.#unlessUnreadable("unreadable_record", async () => {
      found = await this.#store.findSigned?.(this.#id);
    });
    return found;
  }

  /** The signed state of the last turn, and the newest one that is anchored: an older one shows less. */
  async #writeStates(
    { store, signed, seen, restored }: SignedTurn,
    heads: readonly ExpectedHead[],
  ): Promise<void> {
    const conversation = this.#id;
    const place = digestOfPlace({ store, conversation });
    for (const { at, counter, restored: from } of restored) {
      const about = { at, to: counter, from: from?.counter ?? 0, by: from?.by ?? "" };
      await this.#find("restore_accepted", about);
    }
    // Without a chain, nothing was decided, and the export does not name the conversation.
    if (signed === undefined || this.#length === 0) return;
    await this.#sheet.add({ type: "state", conversation, place, ...signed, isAnchored: false });
    if (seen !== undefined && isSteppedBack(signed, seen))
      await this.#find("stepped_back", { counter: signed.counter, seen: seen.counter });
    const anchored = newestState(heads);
    if (anchored === undefined) return;
    await this.#sheet.add({ type: "state", conversation, place, ...anchored, isAnchored: true });
    this.heads.push(digestOfState({ conversation, ...anchored }));
  }

  async #writeHeads(
    expected: readonly ExpectedHead[],
    reached: ReadonlySet<string>,
  ): Promise<void> {
    for (const { conversation, length, head, digest, isOwn } of expected) {
      if (reached.has(`${length} ${head}`)) {
        this.heads.push(digest);
        await this.#sheet.add({ type: "head", conversation, length, head });
      } else if (isOwn) {
        await this.#find("head_missing", { length, head });
      }
    }
  }

  /** Calls `onHead` with each head. */
  async #writeLinks(onHead: (head: string) => unknown): Promise<void> {
    for await (const read of this.#store.readChain?.(this.#id) ?? []) {
      if ("problem" in read) {
        await this.#find("unreadable_line", { line: read.line });
        continue;
      }
      const { link, salt } = read;
      await this.#sheet.add({ type: "link", conversation: this.#id, link });
      this.isBroken ||= link.seq !== this.#length || link.prev !== this.#head;
      this.#length += 1;
      this.#head = hashLink(link);
      onHead(this.#head);
      await this.#expect(link, salt);
    }
  }

  async #expect(link: ChainLink, salt: string | undefined): Promise<void> {
    const digest = commitmentOf(link);
    if (digest === undefined) return;
    if (salt === undefined) return this.#find("salt_missing", { seq: link.seq });
    const key = keyOf(link.json["type"], link.json["at"]);
    const alike = this.#commitments.get(key);
    const commitment = { seq: link.seq, salt, digest, isFound: false };
    if (alike === undefined) this.#commitments.set(key, [commitment]);
    else alike.push(commitment);
  }

  /** Reads the record once, for the events that links commit to and for events that lack a link. */
  async #compareRecord(hasContent: boolean): Promise<void> {
    const chained = new ChainedEntries();
    let unlinked: StreamEntry[] = [];
    let gap: FindingCode = this.#length === 0 ? "no_chain" : "before_chain";
    for await (const { entries, problems = [] } of this.#store.scan(this.#id)) {
      for (const { offset } of problems) await this.#find("unreadable_record", { offset });
      for (const entry of chained.pick(entries)) {
        const commitments = this.#commitmentsTo(entry);
        if (commitments.length === 0) unlinked.push(entry);
        else {
          for (const one of unlinked) await this.#find(gap, nameOf(one));
          unlinked = [];
          gap = "link_missing";
        }
        for (const commitment of commitments) {
          commitment.isFound = true;
          if (hasContent) await this.#show(entry.raw, commitment);
          await this.#approve(entry, commitment, hasContent);
        }
      }
    }
    for (const one of unlinked) {
      // A link that lost its event was about this one before it was changed.
      const isPending =
        gap === "link_missing" && !this.#alikeOf(one).some(({ isFound }) => !isFound);
      await this.#find(isPending ? "link_pending" : gap, nameOf(one));
    }
    for (const alike of this.#commitments.values()) {
      for (const { seq, isFound } of alike)
        if (!isFound) await this.#find("event_missing", { seq });
    }
  }

  /** Several if the chain was cut and rebuilt. */
  #commitmentsTo(entry: StreamEntry): readonly Commitment[] {
    const { raw } = entry;
    return this.#alikeOf(entry).filter(
      ({ isFound, salt, digest }) => !isFound && commitTo(raw, salt) === digest,
    );
  }

  #alikeOf({ raw }: StreamEntry): readonly Commitment[] {
    return this.#commitments.get(keyOf(raw["type"], raw["timestamp"])) ?? [];
  }

  async #show(event: JsonObject, { seq, salt }: Commitment): Promise<void> {
    this.contents += 1;
    await this.#sheet.add({ type: "content", conversation: this.#id, seq, salt, event });
  }

  /**
   * Adds the decider's signature, if there is one. The signed answer is included only if it reveals no more than the
   * link.
   */
  async #approve({ event }: StreamEntry, { seq }: Commitment, hasContent: boolean): Promise<void> {
    if (event === undefined || !(isAnswer(event) || event.type === "decision_vote")) return;
    const { signature } = event;
    const by = event.type === "decision_vote" ? event.by : deciderOf(event);
    if (signature === undefined || "unknown" in signature || by?.kind !== "user") return;
    if (!(await this.#sheet.nameKey(by.name ?? "", signature.key))) {
      return this.#find("key_missing", { seq });
    }
    const answer = answerToSign(event);
    const json = signatureToJson(event)["signature"];
    await this.#sheet.add({
      type: "approval",
      conversation: this.#id,
      seq,
      signature: isJsonObject(json) ? json : {},
      ...((hasContent || answer === true) && { answer }),
    });
  }

  async #find(code: FindingCode, about: JsonObject): Promise<void> {
    this.findings.set(code, (this.findings.get(code) ?? 0) + 1);
    await this.#sheet.add({ type: "finding", conversation: this.#id, code, about });
  }
}

function newestState(heads: readonly ExpectedHead[]): SignedState | undefined {
  const states = heads.flatMap(({ turn, isOwn, isAnchoredState }) =>
    turn !== undefined && isOwn && isAnchoredState ? [turn] : [],
  );
  return states.toSorted((left, right) => right.counter - left.counter)[0];
}

function keyOf(type: unknown, at: unknown): string {
  return JSON.stringify([type ?? null, at ?? null]);
}

/** Reveals no more of the event than a link would. */
function nameOf({ raw }: StreamEntry): JsonObject {
  const named = { type: "type", at: "timestamp", id: "id", call: "tool_call_id" };
  const members = Object.entries(named).flatMap(([name, key]) => {
    const text = findText(raw, key);
    return text === undefined ? [] : [[name, text] as const];
  });
  return Object.fromEntries(members);
}
