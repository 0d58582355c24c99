/**
 * The auditor's sheet: a sample of decisions, each with who decided, how jp knows that, what they were shown, the
 * policy, the time and the result. Built from chain links, which have no contents.
 */
import { type ChainLink, hashLink } from "../record/conversation/index.ts";
import { isJsonArray, isJsonObject, type JsonObject, oneLine, sha256 } from "../util/index.ts";
import { findObject, findText } from "./statement.ts";

/** One decision. Unknown fields are empty. */
export interface DecisionRow {
  readonly conversation: string;
  /** The link's position in the chain and its digest. */
  readonly seq: number;
  readonly link: string;
  /** `run`, `deliver`, `rerun`, or `question`. */
  readonly about: string;
  readonly tool: string;
  /** `approved`, `denied`, `edited`, `answered`, `redacted`, `cancelled`. */
  readonly decision: string;
  /** `user`, `policy`, and so on. */
  readonly kind: string;
  readonly name: string;
  readonly surface: string;
  /**
   * How jp identified them: `os_user`, `token`, `program`, `client`, `owner`, or `key` and `passkey` for a signature.
   */
  readonly authentication: string;
  /** The digests of what was shown and of what was decided. */
  readonly shown: string;
  readonly decided: string;
  /** The config key, and the digests of the rules that decided. */
  readonly policy: string;
  readonly askedAt: string;
  readonly decidedAt: string;
  readonly result: DecisionResult;
  /** Its link was rebuilt later from the record. */
  readonly isRebuilt: boolean;
}

export type DecisionResult =
  /** No result yet. */
  | "open"
  /** Its call has started and has no result yet. */
  | "started"
  | "succeeded"
  | "failed"
  /** Its call ended without starting after the decision. */
  | "not_run"
  | "delivered"
  | "withheld"
  /** It was voided, because its subject had changed. */
  | "void";

interface Growing {
  readonly row: Omit<DecisionRow, "result">;
  readonly id: string | undefined;
  readonly call: string | undefined;
  isStarted: boolean;
}

/** Reads the chain of one conversation, link by link. */
export class DecisionSheet {
  readonly conversation: string;
  readonly #requests = new Map<string, JsonObject>();
  /** The calls' tools, which questions do not name. */
  readonly #tools = new Map<string, string>();
  /** Decisions whose calls have not ended. */
  #open: Growing[] = [];

  constructor(conversation: string) {
    this.conversation = conversation;
  }

  /** Returns the decisions that this link completes. */
  read(link: ChainLink): readonly DecisionRow[] {
    const { json } = link;
    const id = findText(json, "id");
    const call = findText(json, "call");
    const tool = findText(json, "tool");
    if (call !== undefined && tool !== undefined) this.#tools.set(call, tool);
    switch (findText(json, "type")) {
      case "permission_request":
      case "inquiry_request":
        if (id !== undefined) this.#requests.set(id, json);
        return [];
      case "permission_decision":
      case "inquiry_response":
        this.#open.push(this.#decided(link));
        return [];
      case "decision_void":
        return this.#settle(
          (each) => each.id === id,
          () => "void",
        );
      case "attempt_start":
        for (const each of this.#open) if (each.call === call) each.isStarted = true;
        return [];
      case "tool_call_response":
        return this.#settle(
          (each) => call !== undefined && each.call === call,
          (each) => resultOf(each, json["failed"] === true),
        );
      default:
        return [];
    }
  }

  /** Call at the end of the chain. */
  end(): readonly DecisionRow[] {
    return this.#settle(
      () => true,
      ({ isStarted }) => (isStarted ? "started" : "open"),
    );
  }

  #settle(
    isMeant: (each: Growing) => boolean,
    result: (each: Growing) => DecisionResult,
  ): readonly DecisionRow[] {
    const settled = this.#open.filter(isMeant);
    this.#open = this.#open.filter((each) => !settled.includes(each));
    return settled.map((each) => ({ ...each.row, result: result(each) }));
  }

  #decided(link: ChainLink): Growing {
    const { json, seq } = link;
    const id = findText(json, "id");
    const request = (id === undefined ? undefined : this.#requests.get(id)) ?? {};
    const by = findObject(json, "by") ?? {};
    const call = findText(json, "call") ?? findText(request, "call");
    const row = {
      conversation: this.conversation,
      seq,
      link: hashLink(link),
      about: findText(json, "action") ?? "question",
      tool: (call === undefined ? undefined : this.#tools.get(call)) ?? "",
      decision: findText(json, "decision") ?? "",
      kind: findText(by, "kind") ?? "",
      name: findText(by, "name") ?? findText(by, "model") ?? "",
      surface: findText(by, "surface") ?? "",
      authentication: signingOf(json) ?? findText(by, "auth") ?? "",
      shown: findText(request, "shown") ?? "",
      decided: findText(json, "decided") ?? "",
      policy: policyOf(by),
      askedAt: findText(request, "at") ?? "",
      decidedAt: findText(json, "at") ?? "",
      isRebuilt: json["rebuilt"] === true,
    };
    return { row, id, call, isStarted: false };
  }
}

function resultOf({ row, isStarted }: Growing, hasFailed: boolean): DecisionResult {
  if (row.about === "deliver") return row.decision === "denied" ? "withheld" : "delivered";
  if (!isStarted) return "not_run";
  return hasFailed ? "failed" : "succeeded";
}

/** A signature says more than how a person logged in. Version 1 links have it in `auth`. */
function signingOf(json: JsonObject): string | undefined {
  const { type } = findObject(json, "signature") ?? {};
  if (type === "webauthn") return "passkey";
  return type === "ed25519" ? "key" : undefined;
}

function policyOf(by: JsonObject): string {
  const rules = isJsonArray(by["rules"]) ? by["rules"].filter(isJsonObject) : [];
  const named = rules.map((rule) =>
    ["from", "key", "rule", "file"].flatMap((key) => findText(rule, key) ?? []).join(" "),
  );
  const place = findText(by, "key") ?? findText(by, "entry") ?? findText(by, "from");
  return [...(place === undefined ? [] : [place]), ...named].join("; ");
}

/**
 * Samples decisions by the digests of their links and a seed: the seed makes the sample reproducible, and no one
 * without it could have decided with the sample in mind. Holds only the chosen decisions.
 */
export class Sample {
  readonly #size: number;
  readonly #seed: string;
  #chosen: { readonly rank: string; readonly row: DecisionRow }[] = [];
  /** The number of decisions to choose from. */
  total = 0;

  constructor(size: number, seed: string) {
    this.#size = size;
    this.#seed = seed;
  }

  add(rows: readonly DecisionRow[]): void {
    for (const row of rows) {
      this.total += 1;
      this.#chosen.push({ rank: sha256(`${this.#seed}.${row.link}`), row });
    }
    if (this.#chosen.length > this.#size * 2) this.#cut();
  }

  /** In decision order. */
  get rows(): readonly DecisionRow[] {
    this.#cut();
    return this.#chosen
      .map(({ row }) => row)
      .toSorted(
        (left, right) =>
          compare(left.decidedAt, right.decidedAt) ||
          compare(left.conversation, right.conversation) ||
          left.seq - right.seq,
      );
  }

  #cut(): void {
    this.#chosen = this.#chosen
      .toSorted((left, right) => (left.rank < right.rank ? -1 : 1))
      .slice(0, this.#size);
  }
}

function compare(left: string, right: string): number {
  return left < right ? -1 : left > right ? 1 : 0;
}

const COLUMNS: readonly (readonly [
  title: string,
  csv: string,
  value: (row: DecisionRow) => string,
])[] = [
  ["Decision", "decision_link", ({ conversation, seq }) => `${conversation}/${seq}`],
  ["About", "about", ({ about }) => about],
  ["Tool", "tool", ({ tool }) => tool],
  ["Decided", "decision", ({ decision }) => decision],
  ["By", "by", ({ kind }) => kind],
  ["Name", "name", ({ name }) => name],
  ["On", "surface", ({ surface }) => surface],
  ["Authenticated by", "authentication", ({ authentication }) => authentication],
  ["Shown", "shown_sha256", ({ shown }) => shown],
  ["Decided about", "decided_sha256", ({ decided }) => decided],
  ["Policy", "policy", ({ policy }) => policy],
  ["Asked at (UTC)", "asked_at", ({ askedAt }) => askedAt],
  ["Decided at (UTC)", "decided_at", ({ decidedAt }) => decidedAt],
  ["What came of it", "result", ({ result }) => result],
  ["Rebuilt", "rebuilt", ({ isRebuilt }) => (isRebuilt ? "yes" : "no")],
  ["Link", "link_sha256", ({ link }) => link],
];

/** Lines of a CSV file (RFC 4180), without line ends. Spreadsheets do not read any cell as a formula. */
export function reportToCsv(rows: readonly DecisionRow[]): readonly string[] {
  return [
    COLUMNS.map(([, name]) => name).join(","),
    ...rows.map((row) => COLUMNS.map(([, , value]) => csvCell(value(row))).join(",")),
  ];
}

function csvCell(text: string): string {
  const line = oneLine(text);
  const safe = /^[=+\-@|%]/.test(line) ? `'${line}` : line;
  return /[",]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** Enough to find it again: the CSV has the whole digest. */
const SHORT_DIGEST = 16;

/** Lines of Markdown: a table of the decisions, and an explanation of its columns. */
export function reportToMarkdown(
  rows: readonly DecisionRow[],
  { total, seed }: { readonly total: number; readonly seed: string },
): readonly string[] {
  const chosen = `${rows.length} of ${total} decisions`;
  return [
    "# Decisions",
    "",
    `${chosen}, chosen by the digests of their links${seed === "" ? "" : ` and the seed ${markdownCell(seed)}`}.`,
    "",
    `| ${COLUMNS.map(([title]) => title).join(" | ")} |`,
    `| ${COLUMNS.map(() => "---").join(" | ")} |`,
    ...rows.map((row) => `| ${COLUMNS.map(([, , value]) => shortCell(value(row))).join(" | ")} |`),
    "",
    ...LEGEND,
  ];
}

function shortCell(text: string): string {
  return markdownCell(text.replaceAll(/[0-9a-f]{64}/g, (digest) => digest.slice(0, SHORT_DIGEST)));
}

/** Escapes links, images, tags and cell separators. */
function markdownCell(text: string): string {
  return oneLine(text).replaceAll(/[\\`*_{}[\]<>()#+!|~&$]/g, String.raw`\$&`);
}

const LEGEND = [
  "- Decision: the conversation, and the position of the decision in its chain.",
  "- Authenticated by: `os_user` is whoever can run jp as this user on the machine; `token` is whoever has a token of the",
  "  desk; `program` is what a program says, and `client` a form of another program; `key` and `passkey` have signed it;",
  "  `owner` is the owner of the machine, who stood in for people. A name is what the config or the desk says.",
  "- Shown, decided about: the beginning of the SHA-256 of what was on the screen, and of what the decision is about. Both",
  "  are the same unless someone edited it.",
  "- Policy: the key of the config that decided unasked; of each rule its place, its digest, and the digest of its file.",
  "- Times are those of the machine's clock.",
  "- Rebuilt: the link was made later, from the record.",
];
