/** Questions, answers and decisions in words. Secrets are redacted in the record, so none can be shown here. */
import {
  type AnsweredOutcome,
  cancellationTag,
  type Decider,
  type DecisionVoid,
  type DecisionVote,
  type DenialCause,
  describeDecider,
  type InquiryEscalation,
  type InquiryOutcome,
  isPassedOn,
  type PermissionDecision,
} from "../../record/conversation/index.ts";
import type { InquirySource, SelectOption } from "../../record/tool/index.ts";
import { assertNever, type Json, jsonLine, oneLine, valueLine } from "../../util/index.ts";

/** An option as shown. */
export interface ShownOption {
  readonly label: string;
  readonly description?: string;
  /** As given: not neutralized. */
  readonly preview?: string;
  /** The value as a person would type it. */
  readonly typed?: string;
}

/**
 * Titles replace values. Options that look alike are distinguished by their values. `show` draws a text on one line:
 * `verbatim` if the answer acts.
 */
export function describeOptions(
  options: readonly SelectOption[],
  show: (text: string) => string = oneLine,
): readonly ShownOption[] {
  const labels = options.map((option) => optionLabel(option, show));
  return options.map(({ value, title, description, preview }, index) => {
    const label = labels[index] ?? "";
    const isUnique = labels.indexOf(label) === labels.lastIndexOf(label);
    return {
      label: isUnique || title === undefined ? label : `${label} (${optionLabel({ value }, show)})`,
      ...(description !== undefined && description !== title && { description: show(description) }),
      ...(preview !== undefined && { preview }),
      ...(typeof value === "string" && value !== label && { typed: value }),
    };
  });
}

/** An option's title, or else its value. */
export function optionLabel(
  { value, title }: SelectOption,
  show: (text: string) => string = oneLine,
): string {
  return show(title ?? (typeof value === "string" ? value : jsonLine(value)));
}

/** In RFD 082's format: `Answer: …`, `Answer: <redacted>` or `Cancelled (<tag>)`. */
export function describeOutcome(outcome: InquiryOutcome): string {
  switch (outcome.outcome) {
    case "answered":
      return `Answer: ${valueLine(outcome.answer)}${answerDetails(outcome)}`;
    case "redacted":
      return "Answer: <redacted>";
    case "cancelled":
      return `Cancelled (${cancellationTag(outcome.reason)})`;
    default:
      return assertNever(outcome);
  }
}

function answerDetails({ isOther = false, note, answerReason }: AnsweredOutcome): string {
  return [
    isOther ? " (custom answer)" : "",
    note === undefined ? "" : `, note: ${jsonLine(note)}`,
    answerReason === undefined ? "" : `, reason: ${jsonLine(answerReason)}`,
  ].join("");
}

/** For people: `yes (you, via terminal)`, `"next" (assistant, via ollama/qwen3)`, `cancelled (timed_out)`. */
export function describeAnswer(outcome: InquiryOutcome): string {
  const { answer, by } = answerParts(outcome);
  return answer + by;
}

/** Words that `by` can follow. */
export function decisionWord({
  decision,
  decidedBy,
}: Pick<PermissionDecision, "decision" | "decidedBy">): string {
  if (decidedBy.kind !== "tool") return decision;
  return decision === "edited" ? "found done" : "found not done";
}

/** For people: `approved (you, via terminal)`, `denied: no one could be asked (policy: …)`. */
export function describeDecided({
  decision,
  decidedBy,
  reason,
  cause,
  problem,
}: Omit<PermissionDecision, "timestamp">): string {
  const details = [
    cause === undefined ? "" : `: ${CAUSES[cause]}`,
    problem === undefined ? "" : ` (${jsonLine(problem)})`,
    reason === undefined ? "" : `, reason: ${jsonLine(reason)}`,
  ];
  const word = decisionWord({ decision, decidedBy });
  return `${word}${details.join("")} (${describeAnswerer(decidedBy)})`;
}

const CAUSES = {
  skipped: "the config skips it",
  planning: "plan mode",
  unavailable: "no one could be asked",
  timed_out: "no one answered in time",
  closed: "the prompt was closed",
  prompt_failed: "the prompt failed",
  subject_unstable: "it kept changing",
  redirected: "another call was turned down",
  declined_by_client: "the client declined",
} as const satisfies Record<DenialCause, string>;

/** Describes a model's outcome for a question that was then escalated to a person. */
export function describeEscalation(escalation: InquiryEscalation): string {
  const problem = escalation.outcome === "cancelled" ? escalation.problem : undefined;
  return describeAnswer(escalation) + (problem === undefined ? "" : `: ${jsonLine(problem)}`);
}

/** The answer and, in parentheses, who gave it, if known. */
export function answerParts(outcome: InquiryOutcome) {
  if (outcome.outcome === "cancelled") {
    const { reason } = outcome;
    const why = reason === "declined_by_client" ? CAUSES[reason] : cancellationTag(reason);
    return { answer: `cancelled (${why})`, by: "" };
  }
  const by = outcome.answeredBy === undefined ? "" : ` (${describeAnswerer(outcome.answeredBy)})`;
  if (outcome.outcome === "redacted") return { answer: "<redacted>", by };
  const value =
    typeof outcome.answer === "boolean" ? yesOrNo(outcome.answer) : valueLine(outcome.answer);
  return { answer: value + answerDetails(outcome), by };
}

function yesOrNo(answer: boolean): string {
  return answer ? "yes" : "no";
}

function describeAnswerer(decider: Decider): string {
  switch (decider.kind) {
    case "user":
      return `${decider.name === undefined ? "you" : `user ${decider.name}`}, via ${decider.channel}`;
    case "assistant":
      return `assistant, via ${decider.model}`;
    case "remembered":
      return "you said so earlier in this turn";
    case "config":
    case "policy":
      return `${decider.kind}: ${decider.key}`;
    case "answers_file":
      return `answers file: ${decider.entry}`;
    default:
      return describeDecider(decider);
  }
}

/** The asker: the tool's name, `assistant` or `user`. */
export function describeSource(source: InquirySource): string {
  return "name" in source ? source.name : source.source;
}

const CHANGED: Readonly<Record<string, string>> = {
  person: "who has the role",
  whom: "who decides",
  arguments: "its arguments",
  binding: "what it is about",
  call: "the conversation that it belongs to",
  confinement: "how it is confined",
  deadline: "who is asked, because no one answered in time",
  definition: "the server's description of the tool",
  file: "a file that its command names",
  folder: "the folder it runs in",
  program: "the program it runs",
  question: "the question",
  result: "the result",
  source: "where the tool comes from",
};

/** Describes the changes since a decision: "its arguments and a file that its command names". */
export function describeChanged(changed: readonly string[]): string {
  const words = changed.map((part) => (Object.hasOwn(CHANGED, part) ? CHANGED[part] : undefined));
  const known = words.filter((word) => word !== undefined);
  // Another version recorded only parts that are unknown here.
  if (known.length === 0) return "what was recorded with it";
  const last = known.at(-1) ?? "";
  return known.length === 1 ? last : `${known.slice(0, -1).join(", ")} and ${last}`;
}

/** Why a decision or request no longer counts: "its arguments changed", or "no one answered in time". */
export function describeVoidCause(changed: readonly string[]): string {
  return isPassedOn(changed) ? "no one answered in time" : `${describeChanged(changed)} changed`;
}

/** Why a decision is asked for again. `since`: as in "since you answered". */
export function describeAskedAgain(changed: readonly string[], since: string): string {
  return isPassedOn(changed)
    ? "Others were asked before, and did not answer in time"
    : `Changed ${since}: ${describeChanged(changed)}`;
}

/** One line: `Void: its arguments changed (call_1:run:1)`. */
export function describeVoid({ id, changed }: Omit<DecisionVoid, "timestamp">): string {
  return `Void: ${describeVoidCause(changed)} (${id})`;
}

/** The shown part of a vote, in either notation. */
interface ShownVote {
  readonly by: { readonly kind: string; readonly name?: string | undefined };
  readonly decision?: string;
  readonly answer?: Json;
}

/** The votes so far: `ada has approved, bo has denied`. */
export function describeVotes(votes: readonly ShownVote[]): string {
  const latest = new Map(votes.map((vote) => [vote.by.name ?? "", vote]));
  return [...latest.values()].map(sayVote).join(", ");
}

function sayVote({ by, decision, answer }: ShownVote): string {
  const words = typeof answer === "boolean" ? (answer ? "yes" : "no") : valueLine(answer ?? null);
  const said = decision ?? `answered ${words}`;
  return `${oneLine(by.name ?? "someone")} has ${said}`;
}

/** One person's vote: `ada has approved`, `bo has answered "next": "at last"`. */
export function describeVote(vote: Omit<DecisionVote, "timestamp">): string {
  const { note } = vote;
  return `${sayVote(vote)}${note === undefined ? "" : `: ${jsonLine(note)}`}`;
}

/** The arguments that a call ran with, and who edited them: `{"where":"test"} (edited by user (terminal))`. */
export function describeEdited({ arguments: ran, decidedBy }: PermissionDecision): string {
  return `${jsonLine(ran ?? {})} (edited by ${oneLine(describeDecider(decidedBy))})`;
}
