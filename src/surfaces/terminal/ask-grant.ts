/** Asks for the scope and lifetime of a standing yes: a rule for calls like this one. */
import { timestampFromDate, type Grant } from "../../record/conversation/index.ts";
import type { GrantChoices } from "../../core/agent/index.ts";
import { describeGrant, describeScope } from "../render/index.ts";
import { findJson, isJsonObject, jsonBlock } from "../../util/index.ts";
import { selectPrompt } from "./choose.ts";
import type { Aborted, Answered, Dialogue } from "./dialogue.ts";
import { type SelectState, untouchedList } from "./listed-options.ts";
import { enterJson, NOT_AN_OBJECT } from "./text-entry.ts";

type Choices = Required<GrantChoices>;
type Proposal = Choices["grants"][number];

/** Whether there is anything to choose from. */
export function canGrant(choices: GrantChoices): choices is Choices {
  return choices.checkGrant !== undefined && (choices.grants ?? []).length > 0;
}

/** A yes with a rule. Escape goes one step back, at last to the question: undefined. Enter alone decides nothing. */
export async function askGrant(
  choices: Choices,
  dialogue: Dialogue,
): Promise<Answered | Aborted | undefined> {
  let place: SelectState = untouchedList;
  for (;;) {
    const chosen = await chooseRule(choices, place, dialogue);
    if (chosen === undefined || chosen.type === "aborted") return chosen;
    place = chosen.place;
    const { proposal } = chosen;
    const until = await chooseUntil(proposal, dialogue);
    if (until === undefined) continue;
    if (typeof until === "object") return until;
    const summary = describeGrant(proposal, until, dialogue.now());
    return { type: "answered", answer: true, grant: { rule: proposal.rule, until }, summary };
  }
}

interface ChosenRule {
  readonly type: "rule";
  readonly proposal: Proposal;
  readonly place: SelectState;
}

async function chooseRule(
  choices: Choices,
  start: SelectState,
  dialogue: Dialogue,
): Promise<ChosenRule | Aborted | undefined> {
  const { grants } = choices;
  const labels = [...grants.map((proposal) => describeScope(proposal)), "a rule that you write"];
  let place = start;
  for (;;) {
    const prompt = selectPrompt(
      {
        message: "Yes, and from now on without asking for:",
        options: labels.map((label) => ({ label })),
        escape: "go back",
        acts: true,
      },
      place,
    );
    const ending = await dialogue.ask(prompt);
    place = { ...prompt.state, filter: "" };
    if (ending.type === "aborted") return ending;
    if (ending.type !== "chosen") return undefined;
    const [index = 0] = ending.indexes;
    const proposal = grants[index];
    if (proposal !== undefined) return { type: "rule", proposal, place };
    const written = await writeRule(choices, dialogue);
    if (written === undefined) continue;
    return "type" in written ? written : { type: "rule", proposal: written, place };
  }
}

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

type Lifetime = { readonly label: string } & (
  | { readonly until: "turn" | "always" }
  /** Until the end of the day in the user's time zone. */
  | { readonly days: number }
);

const LIFETIMES: readonly Lifetime[] = [
  { label: "this turn", until: "turn" },
  { label: "today", days: 0 },
  { label: "30 days", days: 30 },
  { label: "always, until you remove it", until: "always" },
];

async function chooseUntil(
  proposal: Proposal,
  dialogue: Dialogue,
): Promise<Grant["until"] | Aborted | undefined> {
  const options = LIFETIMES.map(({ label }) => ({ label }));
  const message = `Without asking for ${describeScope(proposal)}. For how long?`;
  const list = { message, options, escape: "go back", acts: true };
  const ending = await dialogue.ask(selectPrompt(list));
  if (ending.type === "aborted") return ending;
  const [index = -1] = ending.type === "chosen" ? ending.indexes : [];
  const lifetime = LIFETIMES[index];
  if (lifetime === undefined) return undefined;
  return "until" in lifetime
    ? lifetime.until
    : timestampFromDate(endOfDay(dialogue.now(), lifetime.days));
}

/** The end of a day in the user's time zone. */
function endOfDay(now: Date, daysLater: number): Date {
  return new Date(now.getFullYear(), now.getMonth(), now.getDate() + daysLater + 1);
}
