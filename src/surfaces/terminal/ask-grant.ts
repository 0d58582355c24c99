/** Asks for the scope and lifetime of a standing yes: a rule for calls like this one. */
import { timestampFromDate, type Grant } from "../../record/conversation/index.ts";
import type { GrantChoices } from "../../core/agent/index.ts";
import { describeGrant, describeScope } from "../render/index.ts";
import { findJson, isJsonObject, jsonBlock, neutralize } from "../../util/index.ts";
import type { Dialogue, KeyChoice, NoAnswer, SelectState } from "./dialogue.ts";

type Choices = Required<GrantChoices>;
type Proposal = Choices["grants"][number];

/** A yes with a rule, and its summary on the line that stays on the screen. */
export interface Granted {
  readonly type: "granted";
  readonly grant: Grant;
  readonly summary: string;
}

/** The key at every prompt that can grant. */
export const GRANT_CHOICE: KeyChoice<"s"> = {
  key: "s",
  label: "always…",
  help: "yes, and save a rule, so that jp does not ask about calls like this one",
};

/** Whether there is anything to choose from. */
export function canGrant(choices: GrantChoices): choices is Choices {
  return choices.checkGrant !== undefined && (choices.grants ?? []).length > 0;
}

/** Escape goes one step back; `back` returns to the question itself. Enter alone decides nothing. */
export async function askGrant(
  choices: Choices,
  dialogue: Dialogue,
): Promise<Granted | Extract<NoAnswer, { type: "aborted" }> | "back"> {
  let place: SelectState = START;
  for (;;) {
    const chosen = await chooseRule(choices, place, dialogue);
    if (chosen === "back" || chosen.type === "aborted") return chosen;
    place = chosen.place;
    const until = await chooseUntil(chosen.proposal, dialogue);
    if (until === "back") continue;
    if (until.type === "aborted") return until;
    const { proposal } = chosen;
    const grant: Grant = { rule: proposal.rule, until: until.until };
    const summary = describeGrant(proposal, grant.until, dialogue.now());
    return { type: "granted", grant, summary };
  }
}

const START: SelectState = { filter: "", active: 0, marked: [] };

interface ChosenRule {
  readonly type: "rule";
  readonly proposal: Proposal;
  readonly place: SelectState;
}

async function chooseRule(
  choices: Choices,
  start: SelectState,
  dialogue: Dialogue,
): Promise<ChosenRule | Extract<NoAnswer, { type: "aborted" }> | "back"> {
  const { grants } = choices;
  const labels = [...grants.map((proposal) => describeScope(proposal)), "a rule that you write"];
  let place = start;
  for (;;) {
    const { state, ending } = await dialogue.select(
      {
        message: "Yes, and from now on without asking for:",
        options: labels.map((label) => ({ label })),
        escape: "go back",
        acts: true,
      },
      place,
    );
    place = { ...state, filter: "" };
    if (ending.type === "aborted") return ending;
    if (ending.type !== "chosen") return "back";
    const [index = 0] = ending.indexes;
    const proposal = grants[index];
    if (proposal !== undefined) return { type: "rule", proposal, place };
    const written = await writeRule(choices, dialogue);
    if (written === "back") continue;
    return "type" in written ? written : { type: "rule", proposal: written, place };
  }
}

/** Starts with the narrowest rule. Repeats until the rule is valid. */
async function writeRule(
  { grants, checkGrant }: Choices,
  dialogue: Dialogue,
): Promise<Proposal | Extract<NoAnswer, { type: "aborted" }> | "back"> {
  let text = jsonBlock(grants[0]?.rule ?? {});
  let problem: string | undefined;
  for (;;) {
    const isTextSeen = problem !== undefined; // Then it is the user's own text.
    const asked = { message: "The rule:", text, isTextSeen, problem, extension: ".json" };
    const entered = await dialogue.enterText({ ...asked, escape: "go back" });
    if (entered.type === "aborted") return entered;
    if (entered.type === "cancelled" || entered.text.trim() === "") return "back";
    text = entered.text;
    const rule = findJson(text);
    const checked = isJsonObject(rule) ? await checkGrant(rule) : { problem: NOT_JSON };
    if (!("problem" in checked)) return checked;
    problem = neutralize(checked.problem);
  }
}

const NOT_JSON = "Not a JSON object.";

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

interface ChosenUntil {
  readonly type: "until";
  readonly until: Grant["until"];
}

async function chooseUntil(
  proposal: Proposal,
  dialogue: Dialogue,
): Promise<ChosenUntil | Extract<NoAnswer, { type: "aborted" }> | "back"> {
  const options = LIFETIMES.map(({ label }) => ({ label }));
  const message = `Without asking for ${describeScope(proposal)}. For how long?`;
  const { ending } = await dialogue.select(
    { message, options, escape: "go back", acts: true },
    START,
  );
  if (ending.type === "aborted") return ending;
  const [index = -1] = ending.type === "chosen" ? ending.indexes : [];
  const lifetime = LIFETIMES[index];
  if (lifetime === undefined) return "back";
  const until =
    "until" in lifetime
      ? lifetime.until
      : timestampFromDate(endOfDay(dialogue.now(), lifetime.days));
  return { type: "until", until };
}

/** The end of a day in the user's time zone. */
function endOfDay(now: Date, daysLater: number): Date {
  return new Date(now.getFullYear(), now.getMonth(), now.getDate() + daysLater + 1);
}
