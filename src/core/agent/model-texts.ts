/** Everything the agent itself says to a model, mostly in place of a tool's own result. */
import {
  type CancellationReason,
  cancellationTag,
  type PermissionAction,
  type PermissionDecision,
  type ToolResult,
} from "../../record/conversation/index.ts";
import type { Question } from "../../record/tool/index.ts";
import type { JsonObject } from "../../util/index.ts";

export const CONTINUE_REPLY =
  "[Your reply was cut off. Continue exactly where it stopped. Do not repeat anything.]";

/** `problem` has one problem per line. Not every provider shows a model the schema, so it is repeated. */
export function answerAgain(problem: string, schema: JsonObject): string {
  return [
    "[Your answer cannot be used:",
    ...problem.split("\n").map((line) => `- ${line}`),
    "Answer again with one JSON document and nothing else. It must match this JSON Schema: " +
      `${JSON.stringify(schema)}]`,
  ].join("\n");
}

const SKIPPED = "Tool skipped by user.";
const SKIPPED_BY_MEMORY = "Tool skipped by user (remembered).";
const SKIPPED_BY_CONFIG = "Tool skipped by configuration.";
const NOT_WHILE_PLANNING =
  "The user is planning: for now, only tools that read may run, and commands that the user has allowed by rules. Do not try to change anything; describe what you would do.";
const INPUT_CANCELLED = "Tool input cancelled by user.";
export const EXECUTION_CANCELLED = "Tool execution cancelled.";
const DELIVERY_SKIPPED = "Result delivery skipped by user.";
const DELIVERY_SKIPPED_BY_CONFIG = "Result delivery skipped by configuration.";
const DELIVERY_CANCELLED = "Result delivery cancelled.";
const DELIVERY_TIMED_OUT =
  "The tool ran, but you may see its result only with the user's approval, and no one answered in time. The " +
  "user did not reject it.";

const DELIVERY_DECLINED =
  "The tool ran, but you may see its result only with the user's approval, and the client that should have asked " +
  "declined. Whether the user did is not known.";

/** An interrupted call tells the model how far it got, and that the user did not reject it. */
export const INTERRUPTED_BEFORE_RUN =
  "The call was interrupted before the tool ran. The user did not reject it.";
export const INTERRUPTED_AT_QUESTION =
  "The call was interrupted before its question was answered. The user did not reject it.";
export const INTERRUPTED_WHILE_RUNNING =
  "The call was interrupted while the tool was running. The tool may have done part of its work. " +
  "The user did not reject it.";
export const INTERRUPTED_AT_DELIVERY =
  "The tool ran, but the call was interrupted before the user decided whether you may see its " +
  "result. The user did not reject it.";

export const INTERRUPTED_AFTER_ANSWER =
  "The call was interrupted after its question was answered, before the tool ran again. The user did not " +
  "reject it.";
export const INTERRUPTED_AFTER_DELIVERY =
  "The tool ran, and the user agreed that you see its result, but the call was interrupted before you got it.";

/** For an interrupted call that the user has rejected. */
export const REJECTED_AT_QUESTION =
  "The user cancelled the question of this call. It was interrupted there.";
export const REJECTED_AT_DELIVERY =
  "The tool ran, and the user decided that you may not see its result. The call was interrupted there.";

export function rejectedBeforeRun(reason = ""): string {
  return `The tool did not run. The user rejected the call${reason === "" ? "." : `: ${reason}`}`;
}

/** For a call that was running when its process ended. */
export const OUTCOME_UNKNOWN =
  "The process ended while this tool was running, so it is not known whether the tool did its work. It was " +
  "not run again. Check before you call it again.";
export const SKIPPED_IN_DOUBT =
  "The process ended while this tool was running, so it is not known whether the tool did its work. The " +
  "user chose to go on without running it again.";

/** For a call of the same reply as one that the user turned down. */
export const SKIPPED_FOR_MESSAGE =
  "The tool did not run: the user turned down another call of the same reply and sent a message instead.";

/** A note on the tool's own result, which does not include the user's words. */
export function declinedWithWords(question: Pick<Question, "text">, words: string): string {
  const [text = ""] = question.text.trim().split("\n");
  return `[The user answered no to "${text.slice(0, MAX_NOTED_TEXT)}": ${words}]`;
}

function skippedBecause(reason: string): string {
  return `Tool skipped by user: ${reason}`;
}

/** The model must not build its next step on the arguments it asked for. */
export function ranWithEditedArguments(args: JsonObject, content: string): string {
  return (
    "The user edited the arguments of this call before it ran. " +
    `Arguments used: ${JSON.stringify(args)}\n\n${content}`
  );
}

/** Tells the model about a recorded decision against a call or its result. */
export function deniedText(event: PermissionDecision): ToolResult {
  const { action, decidedBy, cause } = event;
  // A decision by the user or the config is not an error of the model's.
  const isDecided =
    decidedBy.kind !== "policy" ||
    cause === "skipped" ||
    cause === "planning" ||
    cause === undefined;
  const isWithheld = action === "deliver" && cause === "unavailable";
  const isError = action === "rerun" || (!isDecided && !isWithheld);
  return { content: DENIED[action](event), isError };
}

const DENIED: Readonly<Record<PermissionAction, (event: PermissionDecision) => string>> = {
  run: ({ tool, decidedBy, cause, problem = "", reason = "" }) => {
    if (decidedBy.kind === "remembered") return SKIPPED_BY_MEMORY;
    if (decidedBy.kind !== "policy") return reason === "" ? SKIPPED : skippedBecause(reason);
    if (cause === "planning") return NOT_WHILE_PLANNING;
    if (cause === "timed_out") return permissionTimedOut(tool);
    if (cause === "unavailable") return noOneToPermit(tool);
    if (cause === "declined_by_client") return permissionDeclined(tool);
    if (cause === "prompt_failed") return promptFailed("Permission", problem);
    return cause === "subject_unstable" ? keepsChanging(tool) : SKIPPED_BY_CONFIG;
  },
  deliver: ({ decidedBy, cause, problem = "" }) => {
    if (decidedBy.kind !== "policy")
      return cause === "closed" ? DELIVERY_CANCELLED : DELIVERY_SKIPPED;
    if (cause === "timed_out") return DELIVERY_TIMED_OUT;
    if (cause === "declined_by_client") return DELIVERY_DECLINED;
    return cause === "prompt_failed"
      ? promptFailed("Delivery", problem)
      : DELIVERY_SKIPPED_BY_CONFIG;
  },
  rerun: ({ decidedBy, cause }) =>
    decidedBy.kind === "policy" || cause === "closed" ? OUTCOME_UNKNOWN : SKIPPED_IN_DOUBT,
};

/** Tells the model about a recorded question without an answer. */
export function cancelledText(tool: string, reason: CancellationReason): ToolResult {
  if (reason === "user") return { content: INPUT_CANCELLED, isError: false };
  if (reason === "interrupted") return { content: INTERRUPTED_AT_QUESTION, isError: true };
  if (reason === "timed_out") return { content: timedOut(tool), isError: true };
  if (reason === "declined_by_client") return { content: questionDeclined(tool), isError: true };
  return { content: questionCancelled(tool, cancellationTag(reason)), isError: true };
}

/** For a call whose decisions keep becoming void. */
export function keepsChanging(tool: string): string {
  return (
    `Tool '${tool}' was not run: what the user approved had changed each time before it could run. ` +
    "Do not retry this tool call in this turn."
  );
}

export function stoppedWithMessage(message: string): string {
  return `Tool run cancelled by user with a custom message:\n\n${message}`;
}

export function toolNotEnabled(tool: string): string {
  return (
    `Tool '${tool}' is not available. It may have been available earlier in this conversation but ` +
    "is no longer enabled. Do not retry this tool until it is available again."
  );
}

export function toolUnavailable(tool: string, message: string): string {
  return `Tool '${tool}' is currently unavailable: ${message}`;
}

export function unreadableArguments(tool: string): string {
  return `Invalid arguments for tool '${tool}'. It was not run: the arguments are not valid JSON.`;
}

function noOneToPermit(tool: string): string {
  return (
    `Tool '${tool}' needs the user's permission to run, but this run is non-interactive. ` +
    "Do not retry this tool call in this turn; continue without it or explain what is missing."
  );
}

function permissionTimedOut(tool: string): string {
  return (
    `Tool '${tool}' needs the user's permission to run, and no one answered in time. The user did not reject ` +
    "the call. Do not retry it in this turn; continue without it or explain what is missing."
  );
}

function permissionDeclined(tool: string): string {
  return (
    `Tool '${tool}' needs the user's permission to run, and the client that should have asked declined. Whether ` +
    "the user did is not known. Do not retry this call in this turn; continue without it or explain what is missing."
  );
}

export function questionDeclined(tool: string): string {
  return (
    `The tool '${tool}' needed an answer, and the client that should have asked the user declined. Whether the ` +
    "user did is not known. Do not retry this call in this turn; continue without the answer or explain what is missing."
  );
}

/** `why` is a clause of the prompter, which knows how a person would be asked. */
export function noOneToAsk(tool: string, why = "no user is available to answer"): string {
  return (
    `${tool} cannot run because ${why}. Do not retry this tool call ` +
    "in this turn; continue without user input or explain what information is missing."
  );
}

/** Why no one can be asked, for `noOneToAsk`. The model does not need names. */
export const PERSON_UNAVAILABLE = "the only person who may answer its question is not available";

export function needsHuman(tool: string): string {
  return (
    `${tool} requires a human answer and cannot be routed to the assistant. ` +
    "Do not retry this tool call in this turn."
  );
}

export function configuredAnswerInvalid(tool: string, key: string): string {
  return (
    `${tool}: the configured ${key} value does not match the question's answer_type. ` +
    "Update the configuration; do not retry."
  );
}

export function givenAnswerInvalid(tool: string, question: Question): string {
  return (
    `${tool}: the answer that was given beforehand to its question '${question.id}' does not match the ` +
    "question's answer_type. Do not retry."
  );
}

export function timedOut(tool: string): string {
  return (
    `The tool '${tool}' needed an answer, and there was none before the deadline. The user did not reject the ` +
    "call. Do not retry it in this turn; continue without it or explain what is missing."
  );
}

/** A note on the tool's own result. `model` is `provider/name`. */
export function declinedByModel(
  question: Pick<Question, "text">,
  model: string,
  reason?: string,
): string {
  const [text = ""] = question.text.trim().split("\n");
  return (
    `[A secondary assistant (${model}), not the user, answered no to "${text.slice(0, MAX_NOTED_TEXT)}".` +
    `${reason === undefined ? "" : ` Its reason: ${reason}`}]`
  );
}

/** Characters of a question. */
const MAX_NOTED_TEXT = 200;

export function promptFailed(
  what: "Permission" | "Question" | "Delivery",
  message: string,
): string {
  return `${what} prompt failed: ${message}`;
}

export function inquiryFailed(tool: string, question: Question, problem: string): string {
  return (
    `The tool '${tool}' asked a follow-up question ("${question.text}") that was routed to a ` +
    "secondary assistant for resolution, but the secondary assistant failed to provide a valid " +
    `answer. Error: ${problem.replace(/\.$/, "")}. You may retry the tool call or end the turn.`
  );
}

export function keepsAsking(tool: string, question: Question): string {
  return (
    `The tool '${tool}' keeps asking the same question ("${question.text}") although it was ` +
    "answered. Do not retry this tool call in this turn."
  );
}

/** For a question that had no answer when its process ended. */
function questionCancelled(tool: string, reason: string): string {
  return `The tool '${tool}' needed an answer, and there was none (${reason}).`;
}

/** `limit` is a config key. */
export function tooManyAnswers(tool: string, limit: string): string {
  return (
    `The tool '${tool}' asks too often without a person answering: ${limit} is reached. ` +
    "Do not retry this tool call in this turn."
  );
}

/** `limit` is a config key. */
export function questionsTooLarge(tool: string, limit: string): string {
  return (
    `The tool '${tool}' was stopped: its questions are larger than ${limit} allows. The last one was ` +
    "neither asked nor recorded. Do not retry this tool call in this turn."
  );
}
