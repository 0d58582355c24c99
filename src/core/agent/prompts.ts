/** Prompts: how a person is asked, and who answers. They always close, even if the program's own prompter misbehaves. */
import {
  askerAbout,
  type Claimant,
  type Directory,
  type DecisionVote,
  findStranger,
  findTimestamp,
  foldName,
  type ForWhom,
  identify,
  type InquiryEscalation,
  type InquiryRequest,
  isActing,
  isForSeveral,
  isForSome,
  peopleFor,
  type PermissionRequestEvent,
  questionAbout,
  standingVotes,
  type UserDecider,
  votesOn,
  whomOf,
  withEscalation,
  lastTurn,
} from "../../record/conversation/index.ts";
import { checkArguments } from "../../reach/executor/index.ts";
import { type InquirySource, isUnconfined } from "../../record/tool/index.ts";
import {
  assertNever,
  type Clock,
  isJsonObject,
  type Json,
  type JsonObject,
} from "../../util/index.ts";
import type { Verdict } from "../policy/index.ts";
import type { Asked, OpenCall } from "./asked.ts";
import type { TurnContext } from "./context.ts";
import type { Grantable } from "./grants.ts";
import { warnOnce } from "./observer.ts";
import type {
  DecisionRequest,
  NoAnswer,
  NoAnswerReason,
  Prompter,
  PromptRequest,
  PromptResult,
  QuestionRequest,
  RequestBase,
} from "./ports.ts";

/** The turn's prompter, its user, and the known people. */
export type AskingContext = Pick<TurnContext, "prompter" | "userName" | "directory">;

/**
 * The person the prompter asks about a decision for these people. The result of a prompt may name someone else: the
 * program vouches for that.
 */
export function personOf(
  { prompter, userName, directory }: AskingContext,
  whom: ForWhom = {},
  { userName: said }: { readonly userName?: string } = {},
): UserDecider {
  const { channel, auth: own = "program" } = prompter;
  const auth = own === "os_user" && said !== undefined ? "program" : own;
  const claimant: Claimant = { channel, name: said ?? userName, auth };
  return identify(whom, claimant, peopleFor(whom, directory));
}

/** The prompter reaches the user of the turn, and others only if it says so. */
export function canReach(
  context: AskingContext,
  whom: ForWhom,
  votes: readonly DecisionVote[] = [],
): boolean {
  if (!isForSome(whom)) return true;
  const { prompter, directory } = context;
  const people = peopleFor(whom, directory);
  const said = [...standingVotes(votes, people?.list).values()].map(({ by }) => by);
  const mayAnswer = (person: UserDecider) =>
    findStranger(whom, person, people) === undefined &&
    // People who have already voted are not asked again.
    !said.some((by) => by.kind === "user" && isSamePerson(by, person));
  if (mayAnswer(personOf(context, whom))) return true;
  if (prompter.canReach === undefined) return false;
  const { for: person, forAny = [] } = whom;
  const named = forAny.flatMap((each) => ("user" in each ? [each.user] : []));
  const known = people?.list ?? [];
  const names = [...(person === undefined ? named : [person]), ...known.map(({ name }) => name)];
  return names.some(
    (name) =>
      mayAnswer(personOf(context, whom, { userName: name })) && prompter.canReach?.(name) === true,
  );
}

function isSamePerson(left: UserDecider, right: UserDecider): boolean {
  return left.personId === undefined || right.personId === undefined
    ? foldName(left.name ?? "") === foldName(right.name ?? "")
    : left.personId === right.personId;
}

/** Whether the user of the turn may decide. */
export function isForUser(context: AskingContext, whom: ForWhom): boolean {
  const people = peopleFor(whom, context.directory);
  return findStranger(whom, personOf(context, whom), people) === undefined;
}

/** A decision as recorded and as shown. */
export interface ShownDecision {
  readonly request: InquiryRequest | PermissionRequestEvent;
  readonly escalation: InquiryEscalation | undefined;
  readonly changed: readonly string[] | undefined;
  readonly signal: AbortSignal;
  /** Grants that the person may add to a yes. */
  readonly grantable?: Grantable | undefined;
}

/** The request that a prompter gets. */
export function promptRequest(
  context: Pick<TurnContext, "journal" | "allowsLater" | "directory">,
  asked: Asked,
  decision: ShownDecision,
): DecisionRequest {
  const base = baseOf(context, asked, decision);
  const isOffered = decision.request.takes?.turn !== undefined;
  if (asked.kind === "question") return questionRequest(base, asked, decision);
  const { request } = decision;
  const question = questionAbout(asked.kind, base.tool, {
    steps: asked.progress.steps,
    check: request.type === "permission_request" ? request.check : undefined,
  });
  switch (asked.kind) {
    case "in_doubt":
      return { ...base, kind: asked.kind, question, canRemember: false };
    case "delivery": {
      const { content, isError } = asked.result;
      const isEditing = asked.verdict.mode === "edit";
      const shown = { question, canRemember: false, content, isError, isEditing };
      return { ...base, kind: asked.kind, ...shown };
    }
    case "permission": {
      const { description } = asked.tool;
      const { mode } = asked.verdict;
      const check = async (edited: JsonObject) => {
        const checked = await checkArguments(description, edited);
        return checked.ok ? undefined : checked.message;
      };
      const shown = { question, canRemember: isOffered, check, ...grantsOf(decision) };
      const alone = isDecidedAlone(base, asked) ? { isDecidedAlone: true } : {};
      return { ...base, kind: asked.kind, ...shown, isEditing: mode === "edit", ...alone };
    }
    default:
      return assertNever(asked);
  }
}

/** Whether a yes to several calls must not cover this one. */
function isDecidedAlone(
  { origin, changed }: Pick<RequestBase, "origin" | "changed">,
  { tool, verdict }: Pick<OpenCall & { readonly verdict: Verdict }, "tool" | "verdict">,
): boolean {
  const effect = tool.settings.effect ?? tool.effect;
  const isOwn = verdict.isAskedEachTime === true || verdict.mode === "edit";
  return isOwn || isUnconfined(origin) || effect === "destroys" || changed !== undefined;
}

/** The fields common to every kind. */
function baseOf(
  {
    journal,
    allowsLater = false,
    directory,
  }: Pick<TurnContext, "journal" | "allowsLater" | "directory">,
  asked: Asked,
  { request, changed, signal }: ShownDecision,
): RequestBase {
  const { name: tool } = asked.tool.settings;
  const source = sourceOf(asked);
  const { origin, folder, outside, subject } = request;
  const whom = whomOf(request);
  const votes = isForSeveral(whom) ? votesOn(lastTurn(journal), request.id) : [];
  return {
    inquiryId: request.id,
    conversation: journal.conversation,
    toolCallId: asked.toolCallId,
    tool,
    ...(origin !== undefined && { origin }),
    ...(folder !== undefined && { folder }),
    ...(outside !== undefined && { outside }),
    arguments: asked.arguments,
    source,
    label: defaultLabel({ source, tool }),
    signal,
    allowsLater,
    ...whom,
    ...(votes.length > 0 && { votes }),
    ...signingOf(whom, directory),
    acts: request.type === "inquiry_request" ? isActing(request) : asked.kind !== "delivery",
    ...(changed !== undefined && { changed }),
    digest: subject?.digest ?? "",
  };
}

/** The key that a yes will be signed with, if it has to be signed and anyone has keys at all. */
export function signingOf(
  { terms }: ForWhom,
  directory: Directory | undefined,
): Pick<RequestBase, "signing"> {
  if (terms?.isSigned !== true || (directory?.list() ?? []).length === 0) return {};
  const { key } = directory?.findSigner?.() ?? {};
  return { signing: key === undefined ? {} : { key } };
}

function questionRequest(
  base: RequestBase,
  { kind, question, tool }: Extract<Asked, { kind: "question" }>,
  decision: ShownDecision,
): DecisionRequest {
  const { escalation } = decision;
  const { promptLabel: label = base.label } = tool.settings.questions.get(question.id) ?? {};
  return {
    ...base,
    kind,
    label,
    question: escalation === undefined ? question : withEscalation(question, escalation),
    questionId: question.id,
    canRemember: decision.request.takes?.turn !== undefined,
    ...grantsOf(decision),
  };
}

function grantsOf({ grantable }: ShownDecision): Pick<QuestionRequest, "grants" | "checkGrant"> {
  if (grantable === undefined) return {};
  return { grants: grantable.proposals, checkGrant: grantable.check };
}

function sourceOf(asked: Asked): InquirySource {
  return asked.kind === "question"
    ? asked.source
    : askerAbout(asked.kind, asked.tool.settings.name);
}

/** Who asks, if the config does not say. */
export function defaultLabel({ source, tool }: Pick<RequestBase, "source" | "tool">): string {
  return source.source === "assistant" ? "assistant" : tool;
}

/** How long a prompt may take to close after its signal was aborted. */
export const CLOSING_MS = 2000;

/**
 * A prompter whose prompts always close: one that does not close in time is abandoned, as if it had returned
 * `interrupted`, and its late result is ignored. `canAsk` and `canReach` never throw.
 */
export function guardPrompter(prompter: Prompter, clock: Clock): Prompter {
  const { unavailableBecause, showsForms, showsPermissions } = prompter;
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
  return {
    get channel() {
      return prompter.channel;
    },
    ...(prompter.auth !== undefined && { auth: prompter.auth }),
    ...(unavailableBecause !== undefined && { unavailableBecause }),
    ...(showsForms !== undefined && { showsForms }),
    ...(showsPermissions !== undefined && { showsPermissions }),
    canAsk: (toolCallId) => isTrue(() => prompter.canAsk(toolCallId), warn),
    ...(reach !== undefined && {
      canReach: (name) => isTrue(() => reach(name), warnOfReach),
    }),
    ask: async (request) =>
      (await untilClosed(prompter, request, clock)) ?? {
        ...INTERRUPTED,
        inquiryId: request.inquiryId,
      },
  };
}

const INTERRUPTED: NoAnswer = { type: "interrupted" };

/**
 * Undefined if the prompt was closed from outside without a decision, however it reports that. Otherwise throws what
 * the prompt throws.
 */
async function untilClosed(
  prompter: Prompter,
  request: PromptRequest,
  clock: Clock,
): Promise<PromptResult | undefined> {
  const { signal } = request;
  const settled = new AbortController();
  const abandoned = Promise.withResolvers<undefined>();
  const abandon = () => abandoned.resolve(undefined);
  const onAbort = () => {
    clock.sleep(CLOSING_MS, settled.signal).then(abandon, () => undefined); // Rejects once settled.
  };
  signal.addEventListener("abort", onAbort, { once: true });
  if (signal.aborted) onAbort();
  try {
    const result = await Promise.race([prompter.ask(request), abandoned.promise]);
    if (result === undefined && signal.aborted) return undefined;
    const given = knownResult(request, result);
    const isOpen = !isDecided(given) && given.type !== "later";
    return signal.aborted && isOpen ? undefined : given;
  } catch (error) {
    if (signal.aborted) return undefined;
    throw error;
  } finally {
    signal.removeEventListener("abort", onAbort);
    settled.abort();
  }
}

/** Some prompters report being closed as a no. That is not the person's decision. */
function isDecided(result: PromptResult): boolean {
  return result.type === "answered" || result.type === "form";
}

const TYPES: readonly PromptResult["type"][] = [
  "answered",
  "form",
  "cancelled",
  "interrupted",
  "later",
  "unanswered",
];
const REASONS: readonly NoAnswerReason[] = ["timed_out", "unavailable", "declined_by_client"];

/** An untyped program may return anything. It must not pass for a decision or corrupt the record. */
function knownResult(request: PromptRequest, given: unknown): PromptResult {
  if (!isJsonObject(given) || !("type" in given)) {
    throw new Error("the prompter returned no result");
  }
  const type = TYPES.find((each) => each === given["type"]);
  const parts = partsOf(request);
  if (type === undefined || (type === "answered" && parts !== undefined)) {
    throw new Error(
      `the prompter returned a result of an unknown type: ${JSON.stringify(given["type"])}`,
    );
  }
  if (type === "unanswered" && !REASONS.some((each) => each === given["reason"])) {
    throw new Error("the prompter returned an unknown reason for having no answer");
  }
  const result = withKnownFields(given) as unknown as PromptResult; // Its fields have been checked.
  if (result.type !== "form") return result;
  if (parts === undefined) throw new Error("the prompter returned a form for one question");
  if (!Array.isArray(result.results)) throw new Error("the prompter returned no results");
  const [first] = parts;
  if (first === undefined) return result;
  return { ...result, results: result.results.map((each) => knownResult(first, each)) };
}

/** Undefined unless several decisions are made together. */
function partsOf(request: PromptRequest): readonly DecisionRequest[] | undefined {
  if (request.kind === "form") return request.fields;
  return request.kind === "permissions" ? request.calls : undefined;
}

const TEXTS = new Set(["inquiryId", "userName", "note", "reason", "content"]);

/** Drops optional fields that are `null`, as JSON from a web page may have them. */
function withKnownFields(result: JsonObject): JsonObject {
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
    if (key === "grant" && !isGrant(value)) {
      throw new Error(
        "the prompter returned a grant without a rule, or without how long it counts",
      );
    }
  }
  return Object.fromEntries(fields);
}

function isGrant(value: Json | undefined): boolean {
  if (!isJsonObject(value) || !isJsonObject(value["rule"])) return false;
  const { until } = value;
  return until === "turn" || until === "always" || findTimestamp(until) !== undefined;
}

/** A prompter for non-interactive runs. `canAsk` is false, so nothing else is called. */
export const noPrompter: Prompter = {
  channel: "none",
  canAsk: () => false,
  ask: async () => {
    throw new Error("no prompter is available");
  },
};
