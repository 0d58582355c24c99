/**
 * Prompts: what a person is asked with, and who answers. They always close, whatever the program's own prompter does.
 */
import type { ToolSettings } from "../config/index.ts";
import {
  type CallProgress,
  type Decider,
  explainPerson,
  type InquiryEscalation,
  type InquiryRequest,
  isSameName,
  withEscalation,
} from "../conversation/index.ts";
import { type Clock, isJsonObject } from "../util/index.ts";
import { warnOnce } from "./observer.ts";
import type {
  FormResult,
  AnsweredPrompt,
  NoAnswer,
  NoAnswerReason,
  PromptBase,
  Prompter,
  PromptRequest,
} from "./ports.ts";
import type { AskedQuestion } from "./asked-question.ts";
import type { TurnContext } from "./context.ts";

/** The person whom the prompter asks. The result of a prompt may say who that was. */
export function personOf(
  { prompter, userName }: Pick<TurnContext, "prompter" | "userName">,
  decided: { readonly userName?: string } = {},
) {
  const name = decided.userName ?? userName;
  const named = name === undefined ? {} : { name };
  return { kind: "user", channel: prompter.channel, ...named } as const satisfies Decider;
}

/** The prompter asks the user of the turn, and others only if it says so. Anyone will do without a name. */
export function canReach(
  { prompter, userName }: Pick<TurnContext, "prompter" | "userName">,
  name: string | undefined,
): boolean {
  if (name === undefined || isUserOf({ userName }, name)) return true;
  return prompter.canReach?.(name) === true;
}

/** What becomes of something that a person would decide. `detached` is what the config says if none can. */
export function withoutAnswer<Mode extends string>(
  { answers, prompter }: Pick<TurnContext, "answers" | "prompter">,
  { progress }: { readonly progress: CallProgress },
  detached: Mode,
): Mode | "ask" | "defer" {
  if (answers?.isComplete === true) return "defer";
  return prompter.canAsk(progress.request.id) ? "ask" : detached;
}

/** Whether the answer is from someone who may not answer, which the program is told. */
export function isFromOther(
  context: Pick<TurnContext, "prompter" | "userName">,
  request: InquiryRequest,
  answered: AnsweredPrompt,
): boolean {
  const why = explainPerson(request.for, personOf(context, answered).name);
  if (why === undefined) return false;
  warnOnce(`An answer to ${request.id} was ignored`)(why);
  return true;
}

/** Whether this is the name of the user of the turn. */
export function isUserOf(
  { userName }: { readonly userName?: string | undefined },
  name: string | undefined,
): boolean {
  return userName !== undefined && name !== undefined && isSameName(userName, name);
}

/** What every request to a person has. */
function promptBase(
  { journal, allowsLater = false }: Pick<TurnContext, "journal" | "allowsLater">,
  asked: Omit<PromptBase, "conversation" | "allowsLater" | "label">,
): PromptBase {
  const label = defaultLabel(asked);
  return { ...asked, label, conversation: journal.conversation, allowsLater };
}

/** A request about a call itself. Unlike a question's, its source is not recorded. */
export function aboutCall(
  context: TurnContext,
  { progress, tool }: AskedCall,
  {
    by,
    ...asked
  }: Pick<PromptBase, "inquiryId" | "signal"> & { readonly by: "assistant" | "tool" },
): PromptBase {
  const { name } = tool.settings;
  const source = by === "tool" ? { source: by, name } : { source: by };
  return promptBase(context, { ...asked, toolCallId: progress.request.id, tool: name, source });
}

interface AskedCall {
  readonly progress: Pick<CallProgress, "request">;
  readonly tool: { readonly settings: Pick<ToolSettings, "name"> };
}

/** Who asks, if the config does not say. */
export function defaultLabel({ source, tool }: Pick<PromptBase, "source" | "tool">): string {
  return source.source === "assistant" ? "assistant" : tool;
}

/** A recorded question, as a prompter shows it. */
export function questionRequest(
  context: TurnContext,
  { question, tool, source, toolCallId }: AskedQuestion,
  { request, signal, escalation }: AskedAs,
): PromptRequest {
  const { name, questions } = tool.settings;
  const { id: inquiryId, for: person } = request;
  const base = promptBase(context, { inquiryId, signal, toolCallId, tool: name, source });
  const { promptLabel: label = base.label } = questions.get(question.id) ?? {};
  return {
    ...base,
    label,
    question: escalation === undefined ? question : withEscalation(question, escalation),
    questionId: question.id,
    canRemember: canRemember(question),
    ...(person !== undefined && { for: person }),
  };
}

interface AskedAs extends Pick<PromptBase, "signal"> {
  readonly request: InquiryRequest;
  readonly escalation: InquiryEscalation | undefined;
}

/** A secret is never remembered. */
export function canRemember({ persistence, answerType }: AskedQuestion["question"]): boolean {
  return persistence === "turn" && answerType.type !== "secret";
}

/** How long a prompt may take to close after its signal was aborted. */
export const CLOSING_MS = 2000;

/**
 * A prompter whose prompts always close: one that does not in time is abandoned, as if it had returned
 * `interrupted`, and what it returns later is ignored. Its `canAsk` and `canReach` never throw.
 */
export function guardPrompter(prompter: Prompter, clock: Clock): Prompter {
  const { unavailableBecause } = prompter;
  const askForm = prompter.askForm?.bind(prompter);
  const reach = prompter.canReach?.bind(prompter);
  const warn = warnOnce("The prompter's canAsk failed");
  const warnOfReach = warnOnce("The prompter's canReach failed");
  const isTrue = (check: () => unknown, onError: typeof warn) => {
    try {
      const checked = check();
      if (!(checked instanceof Promise)) return checked === true;
      checked.catch(() => undefined);
      throw new TypeError("it returned a promise");
    } catch (error) {
      onError(error);
      return false;
    }
  };
  const close = <Result extends { readonly type: string }>(
    { signal }: PromptBase,
    decisions: readonly Result["type"][],
    ask: () => Promise<Result>,
  ) => untilClosed(ask, decisions, { signal, clock });
  return {
    get channel() {
      return prompter.channel;
    },
    ...(unavailableBecause !== undefined && { unavailableBecause }),
    canAsk: (toolCallId) => isTrue(() => prompter.canAsk(toolCallId), warn),
    ...(reach !== undefined && {
      canReach: (name) => isTrue(() => reach(name), warnOfReach),
    }),
    ask: async (request) => {
      const result = await close(request, ["answered"], () => prompter.ask(request));
      return result ?? { ...INTERRUPTED, inquiryId: request.inquiryId };
    },
    ...(askForm !== undefined && {
      askForm: async (request) =>
        (await close(request, ["answered"], async () => withResults(await askForm(request)))) ??
        INTERRUPTED,
    }),
    askPermission: async (request) =>
      (await close(request, ["run", "skip"], () => prompter.askPermission(request))) ?? INTERRUPTED,
    askDelivery: async (request) =>
      (await close(request, ["deliver", "withhold"], () => prompter.askDelivery(request))) ??
      INTERRUPTED,
  };
}

const INTERRUPTED: NoAnswer = { type: "interrupted" };

/**
 * Undefined if the prompt was closed from outside without a decision, however it reports that. `decisions` are
 * the types of results that are one. Throws what the prompt throws otherwise.
 */
async function untilClosed<Result extends { readonly type: string }>(
  ask: () => Promise<Result>,
  decisions: readonly string[],
  { signal, clock }: Pick<PromptBase, "signal"> & { readonly clock: Clock },
): Promise<Result | undefined> {
  const settled = new AbortController();
  const abandoned = Promise.withResolvers<undefined>();
  const abandon = () => abandoned.resolve(undefined);
  const onAbort = () => {
    clock.sleep(CLOSING_MS, settled.signal).then(abandon, () => undefined); // Rejects once settled.
  };
  signal.addEventListener("abort", onAbort, { once: true });
  if (signal.aborted) onAbort();
  try {
    const result = await Promise.race([ask(), abandoned.promise]);
    if (result === undefined && signal.aborted) return undefined;
    const given = known(result, decisions);
    const isOpen = !decisions.includes(given.type) && given.type !== "later";
    return signal.aborted && isOpen ? undefined : given;
  } catch (error) {
    if (signal.aborted) return undefined;
    throw error;
  } finally {
    signal.removeEventListener("abort", onAbort);
    settled.abort();
  }
}

const NO_ANSWER: readonly NoAnswer["type"][] = ["cancelled", "interrupted", "later", "unanswered"];
const REASONS: readonly NoAnswerReason[] = ["timed_out", "unavailable"];

/** Programs without types may return anything, which must not pass for a decision, nor spoil the record. */
function known<Result extends { readonly type: string }>(
  result: Result | undefined,
  types: readonly string[],
): Result {
  const given: unknown = result;
  if (result === undefined || typeof given !== "object" || given === null || !("type" in given)) {
    throw new Error("the prompter returned no result");
  }
  const { type } = result;
  if (!types.includes(type) && !NO_ANSWER.some((each) => each === type)) {
    throw new Error(`the prompter returned a result of an unknown type: ${JSON.stringify(type)}`);
  }
  if (type === "unanswered" && !REASONS.some((each) => "reason" in given && each === given.reason))
    throw new Error("the prompter returned an unknown reason for having no answer");
  return withKnownFields(result);
}

const TEXTS = new Set(["inquiryId", "userName", "note", "reason", "content"]);

/** Without optional fields that are `null`, as JSON from a web page may have them. */
function withKnownFields<Result extends object>(result: Result): Result {
  const fields = Object.entries(result).filter(
    ([key, value]) => key === "answer" || (value !== undefined && value !== null),
  );
  for (const [key, value] of fields) {
    if (TEXTS.has(key) && typeof value !== "string") {
      throw new Error(`the prompter returned a result whose ${key} is not text`);
    }
    if (key === "arguments" && !isJsonObject(value)) {
      throw new Error("the prompter returned arguments that are not an object");
    }
  }
  return Object.fromEntries(fields) as Result; // Its required fields are never null.
}

/** A form whose fields have known results too. */
function withResults(form: FormResult): FormResult {
  const given: unknown = form;
  if (!isJsonObject(given) || form.type !== "answered") return form;
  if (!Array.isArray(given["results"])) throw new Error("the prompter returned no results");
  return { ...form, results: form.results.map((result) => known(result, ["answered"])) };
}

/** A prompter for non-interactive runs. `canAsk` is false, so nothing else is called. */
export const noPrompter: Prompter = {
  channel: "none",
  canAsk: () => false,
  ask: rejectPrompt,
  askPermission: rejectPrompt,
  askDelivery: rejectPrompt,
};

async function rejectPrompt(): Promise<never> {
  throw new Error("no prompter is available");
}
