/** A person's draft of an answer, and the answer it makes. Pure: the fields draw it. */
import {
  describeWaysOut,
  describeWhom,
  explainRefusal,
  findStranger,
  findTimestamp,
  type ForWhom,
  identify,
  isForSome,
  type KnownPerson,
  parseTerms,
  type Reply,
  takesNote,
} from "../../../record/conversation/index.ts";
import { describeOptions, verbatimProse } from "../../render/index.ts";
import { explainMisfit, type SelectType } from "../../../record/tool/index.ts";
import { isJsonObject, type Json } from "../../../util/index.ts";
import type { DeskUser, KnownJson, Right } from "../wire.ts";
import { drawing, type Item } from "./item.ts";

/** The state of one question's fields. Fields of other types stay empty. */
export interface Draft {
  readonly truth?: boolean | undefined;
  /** Indices of the chosen options. */
  readonly chosen: readonly number[];
  /** Whether the person answers in their own words, and with which. */
  readonly isOther: boolean;
  readonly other: string;
  readonly text: string;
  readonly note: string;
  readonly isRemembered: boolean;
  /** The note is also sent as the next message. */
  readonly redirects?: boolean | undefined;
  /** For a delivery: the content that the model sees instead of the result. */
  readonly content?: string | undefined;
}

/** A draft with the suggested answer, unless a yes acts: then the person chooses. */
export function newDraft({ question, acts }: Pick<Item, "question" | "acts">): Draft {
  const { answerType, default: suggested } = question;
  const empty = { chosen: [], isOther: false, other: "", text: "", note: "", isRemembered: false };
  if (acts || suggested === undefined) return empty;
  if (explainMisfit(answerType, suggested) !== undefined) return empty;
  switch (answerType.type) {
    case "boolean":
      return { ...empty, truth: suggested === true };
    case "select":
      return { ...empty, chosen: chosenOf(answerType, suggested) };
    case "text":
      return { ...empty, text: typeof suggested === "string" ? suggested : "" };
    default:
      return empty;
  }
}

function chosenOf({ options, isMultiple = false }: SelectType, answer: Json): readonly number[] {
  const answers: readonly Json[] = isMultiple && Array.isArray(answer) ? answer : [answer];
  const wanted = new Set(answers.map((value) => JSON.stringify(value)));
  return options.flatMap(({ value }, index) => (wanted.has(JSON.stringify(value)) ? [index] : []));
}

/** A draft's answer, or what is missing. */
export type DraftResult =
  | { readonly type: "complete"; readonly reply: Reply }
  | { readonly type: "incomplete"; readonly problem: string };

/** The reply that would be sent. */
export function toReply(item: Item, draft: Draft): DraftResult {
  const { question } = item;
  const { answerType } = question;
  const answer = answerOf(item, draft);
  if (answer === undefined) return { type: "incomplete", problem: MISSING[answerType.type] };
  const misfit = explainMisfit(answerType, answer);
  if (misfit !== undefined) return { type: "incomplete", problem: `Invalid answer: ${misfit}.` };
  const note = allowsNote(item, draft) ? draft.note.trim() : "";
  const isEdited =
    item.kind === "delivery" &&
    answer === true &&
    draft.content !== undefined &&
    draft.content !== item.result?.content;
  const reply = {
    answer,
    ...(note !== "" && { note }),
    ...(canRemember(item) && draft.isRemembered && { isRemembered: true }),
    ...(canRedirect(item, draft) && draft.redirects === true && { redirects: true }),
    ...(isEdited && { content: draft.content }),
  };
  return { type: "complete", reply };
}

const MISSING = {
  boolean: "Choose yes or no.",
  select: "Choose an option.",
  text: "Enter an answer.",
  secret: "Enter the secret.",
} as const;

/** Undefined if incomplete. An empty list or text is an answer, an empty secret is not. */
function answerOf({ question }: Item, draft: Draft): Json | undefined {
  const { answerType } = question;
  switch (answerType.type) {
    case "boolean":
      return draft.truth;
    case "text":
      return draft.text;
    case "secret":
      return draft.text === "" ? undefined : draft.text;
    case "select": {
      const chosen = answerType.options
        .filter((_option, index) => draft.chosen.includes(index))
        .map(({ value }) => value);
      const other = draft.isOther ? draft.other.trim() : undefined;
      if (other === "") return undefined;
      if (answerType.isMultiple === true)
        return [...chosen, ...(other === undefined ? [] : [other])];
      return other ?? chosen[0];
    }
    default:
      return answerType satisfies never;
  }
}

/** The draft in words, for review before sending. Never contains a secret. */
export function describeDraft(item: Item, draft: Draft): string {
  const result = toReply(item, draft);
  if (result.type === "incomplete") return result.problem;
  const { note, isRemembered, redirects } = result.reply;
  return [
    describeValue(item, draft),
    ...(note === undefined ? [] : [`note: ${verbatimProse(note)}`]),
    ...(isRemembered === true ? ["for the rest of this turn"] : []),
    ...(redirects === true ? ["the note is your next message"] : []),
  ].join("; ");
}

function describeValue(item: Item, { truth, chosen, isOther, other, text }: Draft): string {
  const { answerType } = item.question;
  const show = drawing(item);
  switch (answerType.type) {
    case "boolean":
      return truth === true ? "yes" : "no";
    case "secret":
      return "(hidden)";
    case "text":
      return show(text) || "(empty)";
    case "select": {
      const labels = describeOptions(answerType.options, show)
        .filter((_option, index) => chosen.includes(index))
        .map(({ label }) => label);
      return [...labels, ...(isOther ? [show(other.trim())] : [])].join(", ") || "(none)";
    }
    default:
      return answerType satisfies never;
  }
}

/** Whether the current answer takes a note. A no always does, so the field shows before anything is chosen. */
export function allowsNote(item: Item, draft: Draft): boolean {
  const { question, kind, takes } = item;
  const answer = answerOf(item, draft) ?? false;
  const isNegative = kind === "in_doubt" ? answer === "skip" : answer === false;
  const hasNo = question.answerType.type === "boolean" || kind === "in_doubt";
  return takesNote({ takes, question }, hasNo && isNegative);
}

/** Whether the note may become the next message, saying what to do instead. */
export function canRedirect(item: Item, { truth, note }: Draft): boolean {
  const isNo = item.question.answerType.type === "boolean" && truth === false;
  return isNo && note.trim() !== "";
}

/** Whether the answer may apply to the rest of the turn. */
export function canRemember({ takes }: Item): boolean {
  return takes?.turn !== undefined;
}

/** Whether it can be answered here. A secret reaches only a process that is waiting for it. */
export function isAnswerable({ question, is_live: isLive }: Item): boolean {
  return question.answerType.type !== "secret" || isLive === true;
}

/** Why the person may not answer it. Undefined if they may. The server checks this too. */
export function whyNot(item: Item, me: Me) {
  const { rights } = me;
  const right: Right = item.acts || item.kind === "delivery" ? "approve" : "answer";
  if (!rights.includes(right)) {
    return `You can read this. To answer it, you need the right “${right}”.`;
  }
  const stranger = strangerIn(item, me);
  if (stranger === undefined) return undefined;
  const whom = whomOfItem(item);
  const wayOut = stranger === "no_people" ? ` ${describeWaysOut(whom)}` : "";
  return `You can read this, but ${verbatimProse(explainRefusal(stranger, whom))}.${wayOut}`;
}

type Me = Pick<DeskUser, "name" | "rights" | "known" | "no_people" | "owner_alone">;

/** Whether it is for this person, regardless of their rights. */
export function isMine(item: Item, me: Me): boolean {
  return strangerIn(item, me) === undefined;
}

/** Applies the server's rule to what the server says about the caller. */
function strangerIn(item: Item, { name, known, no_people: hasNone, owner_alone: alone }: Me) {
  const whom = { ...whomOfItem(item), askedAt: findTimestamp(item.asked_at) };
  const person = known && toKnown(known);
  // A stranger, so that the list is not empty.
  const list = hasNone === true ? [] : [person ?? { name: "", roles: [] }];
  const people = { list, here: person, ownerAlone: alone === true };
  const auth = known?.is_owner === true || hasNone === true ? "os_user" : "token";
  const claimant = { channel: "desk", name: known?.name ?? name, auth } as const;
  return findStranger(whom, identify(whom, claimant, people), people);
}

function toKnown({ stands_in_for: standsInFor, confirmed, ...rest }: KnownJson): KnownPerson {
  return {
    ...rest,
    standsInFor,
    confirmed: confirmed === false ? false : findTimestamp(confirmed),
  };
}

function whomOfItem({ for: person, for_any: forAny, terms, person_ids: personIds }: Item): ForWhom {
  const parsed = terms !== undefined && { terms: parseTerms(terms) };
  return { for: person, forAny, personIds, ...parsed };
}

/** Undefined if anyone may decide. */
export function whomText(item: Item): string | undefined {
  const whom = whomOfItem(item);
  return isForSome(whom) ? describeWhom(whom) : undefined;
}

const STORED = "jp-desk-drafts";

/**
 * Stores drafts, so that leaving a question, reloading, or a server restart loses nothing. The browser keeps them for
 * this tab only, until the person logs out. Never holds a secret.
 */
export class DraftStore {
  readonly #storage: Pick<Storage, "getItem" | "setItem" | "removeItem">;
  readonly #name: string;
  readonly #drafts: Map<string, Draft>;

  /** Drops another person's drafts. */
  constructor(storage: Pick<Storage, "getItem" | "setItem" | "removeItem">, name: string) {
    this.#storage = storage;
    this.#name = name;
    this.#drafts = new Map(readDrafts(storage.getItem(STORED), name));
  }

  find(item: Item): Draft | undefined {
    return this.#drafts.get(draftKey(item));
  }

  keep(item: Item, draft: Draft): void {
    if (item.question.answerType.type === "secret") return;
    this.#drafts.set(draftKey(item), draft);
    this.#store();
  }

  remove(item: Item): void {
    if (this.#drafts.delete(draftKey(item))) this.#store();
  }

  clear(): void {
    this.#drafts.clear();
    this.#storage.removeItem(STORED);
  }

  #store(): void {
    const stored = { name: this.#name, drafts: [...this.#drafts] };
    try {
      this.#storage.setItem(STORED, JSON.stringify(stored));
    } catch {
      // The storage is full. The draft is kept until a reload.
    }
  }
}

/** A later question may have the same id. */
function draftKey({ key, asked_at: askedAt }: Item): string {
  return `${askedAt} ${key}`;
}

/** Another version of this program may have written it. */
function readDrafts(text: string | null, name: string): readonly (readonly [string, Draft])[] {
  try {
    const stored: unknown = JSON.parse(text ?? "");
    if (!isJsonObject(stored) || stored["name"] !== name) return [];
    const { drafts } = stored;
    return Array.isArray(drafts) ? drafts.flatMap(readDraft) : [];
  } catch {
    return [];
  }
}

function readDraft(entry: Json): readonly (readonly [string, Draft])[] {
  if (!Array.isArray(entry)) return [];
  const [key, draft] = entry as readonly Json[]; // Missing elements are undefined.
  if (typeof key !== "string" || !isJsonObject(draft) || !isDraft(draft)) return [];
  return [[key, draft]];
}

function isDraft(json: object): json is Draft {
  const { truth, chosen, isOther, other, text, note, isRemembered, redirects, content } =
    json as Record<keyof Draft, unknown>; // Each field is checked here.
  return (
    [other, text, note].every((value) => typeof value === "string") &&
    [isOther, isRemembered].every((value) => typeof value === "boolean") &&
    Array.isArray(chosen) &&
    chosen.every((index) => typeof index === "number") &&
    [truth, redirects].every((value) => value === undefined || typeof value === "boolean") &&
    (content === undefined || typeof content === "string")
  );
}
