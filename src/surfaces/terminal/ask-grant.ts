/** Asks for the scope and lifetime of a standing yes: a rule for calls like this one. */
import { timestampFromDate, type Grant } from "../../record/conversation/index.ts";
import type { GrantChoices } from "../../core/agent/index.ts";
import { describeGrant, describeScope } from "../render/index.ts";
import { findJson, isJsonObject, jsonBlock } from "../../util/index.ts";
import { type Aborted, type Answered, type Dialogue, Prompt } from "./dialogue.ts";
import {
  grantList,
  type GrantList,
  type GrantListEnding,
  type GrantListState,
  plainGrantList,
} from "./grant-list.ts";
import type { Key } from "./key.ts";
import { enterJson, NOT_AN_OBJECT } from "./text-entry.ts";

type Choices = Required<GrantChoices>;
type Proposal = Choices["grants"][number];

/** Whether there is anything to choose from. */
export function canGrant(choices: GrantChoices): choices is Choices {
  return choices.checkGrant !== undefined && (choices.grants ?? []).length > 0;
}

/** The user was typing words: the keys after the one that opened the list. */
export interface BegunWords {
  readonly type: "words";
  readonly keys: readonly Key[];
}

/**
 * A yes with a rule. The first proposal is highlighted, for the usual time. Escape goes one step back, at last to the
 * question: undefined.
 */
export async function askGrant(
  choices: Choices,
  dialogue: Dialogue,
): Promise<Answered | Aborted | BegunWords | undefined> {
  let proposals: readonly Proposal[] = choices.grants;
  let start: GrantListState = { rule: 0, lifetime: USUAL_LIFETIME, digits: [] };
  for (;;) {
    const rules = [...proposals.map((proposal) => describeScope(proposal)), OWN_RULE];
    const list: GrantList = { message: WHICH, rules, lifetimes: LIFETIMES.map(labelOf) };
    const prompt = new Prompt<GrantListState, GrantListEnding>(start, {
      passages: () => [{ type: "question", text: list.message }],
      drawn: (sideActions) => grantList(list, sideActions),
      plain: (state) => plainGrantList(list, state),
    });
    const ending = await dialogue.ask(prompt);
    if (ending.type === "aborted" || ending.type === "words") return ending;
    if (ending.type !== "chosen") return undefined;
    const proposal = proposals[ending.rule];
    if (proposal !== undefined) return yesWith(proposal, ending.lifetime, dialogue);
    start = { ...prompt.state, digits: [] };
    const written = await writeRule(choices, dialogue);
    if (written === undefined) continue;
    if ("type" in written) return written;
    proposals = [...choices.grants, written];
    start = { ...start, rule: choices.grants.length };
  }
}

/** A yes with the proposal, for as long as is usual. */
export function usualGrant(proposal: Proposal, dialogue: Pick<Dialogue, "now">): Answered {
  return yesWith(proposal, USUAL_LIFETIME, dialogue);
}

function yesWith(proposal: Proposal, lifetime: number, dialogue: Pick<Dialogue, "now">): Answered {
  const now = dialogue.now();
  const until = untilOf(LIFETIMES[lifetime] ?? { days: 0 }, now);
  const summary = describeGrant(proposal, until, now);
  return { type: "answered", answer: true, grant: { rule: proposal.rule, until }, summary };
}

const WHICH = "Yes, and from now on without asking for:";
const OWN_RULE = "a rule that you write";

/** Starts with the narrowest rule. */
function writeRule(
  { grants, checkGrant }: Choices,
  dialogue: Dialogue,
): Promise<Proposal | Aborted | undefined> {
  const text = jsonBlock(grants[0]?.rule ?? {});
  const check = async (written: string) => {
    const rule = findJson(written);
    return isJsonObject(rule) ? await checkGrant(rule) : { problem: NOT_AN_OBJECT };
  };
  return enterJson({ message: "The rule:", text }, check, dialogue);
}

type Lifetime =
  | { readonly until: "turn" | "always" }
  /** Until the end of the day in the user's time zone. */
  | { readonly days: number };

const LIFETIMES: readonly (Lifetime & { readonly label: string })[] = [
  { label: "this turn", until: "turn" },
  { label: "today", days: 0 },
  { label: "30 days", days: 30 },
  { label: "always, until you remove it", until: "always" },
];
const USUAL_LIFETIME = 2;

function labelOf({ label }: { readonly label: string }): string {
  return label;
}

function untilOf(lifetime: Lifetime, now: Date): Grant["until"] {
  return "until" in lifetime ? lifetime.until : timestampFromDate(endOfDay(now, lifetime.days));
}

/** The end of a day in the user's time zone. */
function endOfDay(now: Date, daysLater: number): Date {
  return new Date(now.getFullYear(), now.getMonth(), now.getDate() + daysLater + 1);
}
