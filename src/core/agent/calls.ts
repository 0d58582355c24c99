/**
 * The calls of one reply, run concurrently, except those that have to wait in line. Each is found, checked, permitted,
 * run, delivered and recorded, starting from the last step on record. The model has finished its reply by then: jp never
 * asks about a call of a reply that may still break off.
 *
 *   find ─► check ─► permit ─┬─► wait in line ─► attempt ◄─► answer questions ─► deliver ─► record
 *                            └─► skipped, refused ────────────────────────────────────────► record
 *
 * A call whose process ends, or that waits for a person, has no response and stays open on the record. One that has a
 * result goes straight to its delivery, and one that may have run already needs a new permission.
 */
import {
  type CallProgress,
  type ConversationEvent,
  digestDelivery,
  grantOf,
  type InquiryPair,
  newCall,
  type PermissionDecision,
  type PermissionProgress,
  readTurnProgress,
  timestampFromDate,
  type ToolCallResponse,
  type ToolResult,
  wasPermitted,
  lastTurn,
} from "../../record/conversation/index.ts";
import { checkArguments } from "../../reach/executor/index.ts";
import { INVALID_ARGUMENTS } from "../../reach/provider/index.ts";
import { isNotLoaded, type JsonObject, messageOf, loaderOf } from "../../util/index.ts";
import type { Verdict } from "../policy/index.ts";
import type { AskedCall, AskedDelivery, OpenCall } from "./asked.ts";
import {
  attemptCall,
  type AttemptsResult,
  type CallResult,
  type PermittedCall,
  useOf,
} from "./attempts.ts";
import type { CallLine, LinePlace, Reached } from "./call-line.ts";
import { closeQuestions } from "./closing.ts";
import type { TurnContext } from "./context.ts";
import type { CallInDoubt, CheckedCall } from "./doubt.ts";
import { resultVerdictOf, verdictOf } from "./verdict-of.ts";
import { loadDecisions, loadGrants } from "./load-decisions.ts";
import type { Decided } from "./decide/decide.ts";
import { whomInForce } from "./in-force.ts";
import {
  deniedText,
  EXECUTION_CANCELLED,
  OUTCOME_UNKNOWN,
  ranWithEditedArguments,
  SKIPPED_FOR_MESSAGE,
  stoppedWithMessage,
  toolNotEnabled,
  toolUnavailable,
  unreadableArguments,
} from "./model-texts.ts";
import type { CallableTool } from "./ports.ts";
import type { PromptPlace } from "./prompt-queue.ts";
import { abortBy, stopCause, type StopCause } from "./stop-cause.ts";
import { CallSteps } from "./steps.ts";
import { changesSince, voidEvent } from "./subject.ts";

/** The end of a call: a result to record, or nothing yet. */
type CallEnd = CallResult | undefined;

/** A call whose tool has run, and may be gone by now. */
interface FinishedCall {
  readonly finished: ToolResult;
  readonly tool: CallableTool | CallResult;
  readonly place: PromptPlace;
}

/** The calls of one reply, run concurrently, except those that have to wait in line. */
export class ToolCycle {
  readonly #context: TurnContext;
  readonly #calls: readonly CallProgress[];
  /** Absent if there is only one call. */
  #line: CallLine | undefined;
  readonly #stop = new AbortController();
  #stopMessage: string | Promise<string> = "";
  #isMessageDelivered = false;
  /** Aborted and replaced to restart the calls that have not finished. */
  #round = new AbortController();

  /**
   * The calls as recorded, including those that an earlier process left. `previous` has run calls of the same reply, and
   * left some of them open.
   */
  constructor(context: TurnContext, calls: readonly CallProgress[], previous?: ToolCycle) {
    this.#context = context;
    this.#calls = calls;
    if (previous !== undefined) this.#line = previous.#line;
  }

  /** Whether the call has stayed open only because one before it did. */
  isHeldUp(call: CallProgress): boolean {
    return this.#line !== undefined && this.#line.isHeldUp(call);
  }

  /** Whether the message that came with a stop is the result of at least one call. */
  get isMessageDelivered(): boolean {
    return this.#isMessageDelivered;
  }

  /**
   * Asks for the permissions that the calls need and runs them. Records each response as soon as its call ends. Returns the
   * responses in the order of the calls; a call that stays open has none. Throws `write_failed` once every call has ended.
   */
  async run(): Promise<readonly ToolCallResponse[]> {
    const nextPlace = this.#context.prompts.startReply();
    // Without a line, nothing is awaited: a stop right after the start has to find the calls under way.
    const line = this.#calls.length < 2 ? this.#line : await this.#openLine();
    const calls = this.#calls.map(async (progress) => {
      using place = nextPlace();
      const inLine = line?.enter(progress);
      try {
        const response = await this.#process(progress, place, inLine);
        if (response === undefined) inLine?.leave();
        return response;
      } catch (error) {
        this.stop("interrupted"); // The record cannot be written or jp cannot be loaded, so nothing may continue.
        throw error;
      } finally {
        inLine?.end();
      }
    });
    const ends = await Promise.allSettled(calls);
    return ends.flatMap((end) => {
      if (end.status === "rejected") throw end.reason;
      return end.value ?? [];
    });
  }

  /**
   * Stops every call that has not ended. If the user did it, the model sees `message` as their result, which is recorded
   * once the message is written; otherwise they stay open.
   */
  stop(by: StopCause, message: string | Promise<string> = ""): void {
    if (by === "user") this.#stopMessage = message;
    abortBy(by, this.#stop);
  }

  /** Restarts every call that is running. Finished calls keep their results. */
  restart(): void {
    const previous = this.#round;
    this.#round = new AbortController();
    abortBy("user", previous);
  }

  /** Most replies have one call. */
  async #openLine(): Promise<CallLine | undefined> {
    if (this.#line !== undefined) return this.#line;
    const { CallLine } = await loadLine();
    this.#line = new CallLine(this.#context.policy);
    return this.#line;
  }

  async #process(
    progress: CallProgress,
    place: PromptPlace,
    inLine: LinePlace | undefined,
  ): Promise<ToolCallResponse | undefined> {
    const result = await this.#result(progress, place, inLine);
    if (result === undefined) return undefined;
    const { content, isError, blocks, added, isJson, events = [] } = result;
    const open = this.#closeLeftovers(progress);
    const response: ToolCallResponse = {
      type: "tool_call_response",
      timestamp: timestampFromDate(this.#context.clock.now()),
      id: progress.request.id,
      content,
      isError,
      ...(blocks !== undefined && { blocks }),
      ...(added !== undefined && { added }),
      ...(isJson === true && { isJson }),
    };
    await this.#context.journal.record(...open, ...events, response);
    return response;
  }

  /** Closes questions that an earlier process asked for the call and that are not asked again. */
  #closeLeftovers(progress: CallProgress): readonly ConversationEvent[] {
    if (progress.questions.every(({ response }) => response !== undefined)) return [];
    const cause = stopCause(this.#stop.signal);
    return closeQuestions(this.#readAgain(progress), this.#context.clock, cause);
  }

  async #result(
    progress: CallProgress,
    place: PromptPlace,
    inLine: LinePlace | undefined,
  ): Promise<CallEnd> {
    const { request, permissions, isInDoubt } = progress;
    const tool = await this.#find(request.name);
    if (tool === undefined || this.#stop.signal.aborted) {
      return this.#stoppedResult(tool !== undefined && "settings" in tool ? tool : undefined);
    }
    const { request: delivery = permissions.deliver?.voided } = permissions.deliver ?? {};
    const finished = delivery?.result;
    if (finished !== undefined) {
      inLine?.end();
      return this.#deliverFinished(progress, { finished, tool, place });
    }
    if ("content" in tool) return isInDoubt ? { ...tool, content: OUTCOME_UNKNOWN } : tool;
    if (request.arguments[INVALID_ARGUMENTS] !== undefined) {
      return { content: unreadableArguments(request.name), isError: true };
    }
    const { signal } = this.#stop;
    const { id: toolCallId } = request;
    const asking = this.#asking(signal);
    const args = request.arguments;
    let call: OpenCall = { toolCallId, progress, tool, arguments: args, signal, asking, place };
    const checked = await checkArguments(tool.description, args);
    if (checked.ok) call = { ...call, arguments: editedBefore(progress) ?? checked.arguments };
    inLine?.declare(call);
    if (isInDoubt) await this.#closeBoundQuestions(progress);
    else if (!checked.ok) return { content: checked.message, isError: true };
    for (;;) {
      const permission = await permit(this.#context, call);
      if (permission.type === "refused") return permission;
      if (permission.type === "pending") return undefined;
      if (permission.type === "stopped") return this.#skippedOrStopped(call, isInDoubt);
      if (permission.type === "done") return this.#deliverFound(call, permission);
      if (!checked.ok) return { content: checked.message, isError: true };
      if (asking.aborted && call.progress.attempts === 0) return this.#skippedOrStopped(call);
      const { arguments: permitted, isEdited } = permission;
      const permittedCall = { ...call, ...permission };
      const reached = await waitInLine(permittedCall, inLine);
      if (reached === "held_up") return undefined;
      if (reached === "stopped") return this.#skippedOrStopped(call, isInDoubt);
      const end = await this.#run(permittedCall, inLine);
      if (end !== "void") return isEdited ? withEdit(end, permitted) : end;
      const now = this.#readAgain(call.progress);
      call = { ...call, progress: now, arguments: editedBefore(now) ?? call.arguments };
    }
  }

  /** The call's progress as recorded by now. */
  #readAgain(progress: CallProgress): CallProgress {
    const { calls } = readTurnProgress(lastTurn(this.#context.journal));
    const same = calls.filter(({ request: { id } }) => id === progress.request.id);
    return same.find(({ callIndex }) => callIndex === progress.callIndex) ?? progress;
  }

  /** Their connection is gone, and with it the recipient of the answer. */
  async #closeBoundQuestions({ questions, asked, permissions }: CallProgress): Promise<void> {
    const { journal, clock } = this.#context;
    const open: readonly InquiryPair[] = permissions.rerun === undefined ? [] : asked;
    const bound = questions.filter((pair) => !open.includes(pair));
    const closed = closeQuestions({ questions: bound }, clock, "interrupted");
    if (closed.length > 0) await journal.record(...closed);
  }

  /** Undefined if stopped before it was found. */
  async #find(name: string): Promise<CallableTool | CallEnd> {
    try {
      const tool = await this.#context.tools.find(name, this.#stop.signal);
      return tool ?? { content: toolNotEnabled(name), isError: true };
    } catch (error) {
      if (this.#stop.signal.aborted) return undefined;
      if (isNotLoaded(error)) throw error; // The call stays open.
      return { content: toolUnavailable(name, messageOf(error)), isError: true };
    }
  }

  async #deliverFound(
    call: OpenCall,
    { result, arguments: args, isEdited }: Extract<Permission, { readonly type: "done" }>,
  ): Promise<CallEnd> {
    const asked = { ...call, kind: "delivery", arguments: args, result } as const;
    const end = await this.#settle(await deliver(this.#context, asked), call.tool);
    return isEdited ? withEdit(end, args) : end;
  }

  /** The tool has already run, even if it would not be permitted now. */
  async #deliverFinished(
    progress: CallProgress,
    { finished, tool, place }: FinishedCall,
  ): Promise<CallEnd> {
    const { request, permissions } = progress;
    const found = "content" in tool ? undefined : tool;
    const { request: permission, decision } = permissions.run ?? {};
    const args = decision?.arguments ?? permission?.arguments ?? request.arguments;
    const { signal } = this.#stop;
    const delivered = await deliver(this.#context, {
      kind: "delivery",
      toolCallId: request.id,
      progress,
      tool: found ?? { settings: settingsOfMissing(request.name) },
      arguments: args,
      signal,
      asking: this.#asking(signal),
      place,
      result: finished,
    });
    const result = await this.#settle(delivered, found);
    return decision?.decision === "edited" ? withEdit(result, args) : result;
  }

  async #run(call: PermittedCall, inLine: LinePlace | undefined): Promise<CallEnd | "void"> {
    const { tool } = call;
    const end = await this.#attempt(call);
    if (end?.type === "result") inLine?.end(); // Its delivery holds no one up.
    if (end === undefined) return this.#stoppedResult(tool);
    switch (end.type) {
      case "result": {
        const { type: _, ...result } = end;
        const delivered = await deliver(this.#context, { ...call, kind: "delivery", result });
        return this.#settle(delivered, tool);
      }
      case "void":
        return "void";
      case "pending":
        return undefined;
      case "unanswered":
        return this.#stop.signal.aborted ? this.#stoppedResult(tool) : end;
      default:
        if (this.#stop.signal.aborted) return this.#stoppedResult(tool);
        return { content: EXECUTION_CANCELLED, isError: false };
    }
  }

  async #settle(
    delivered: CallResult | "stopped" | "pending",
    tool: CallableTool | undefined,
  ): Promise<CallEnd> {
    if (delivered === "stopped") return this.#stoppedResult(tool);
    return delivered === "pending" ? undefined : delivered;
  }

  /** Restarts as often as the user wants. Undefined if stopped before it could start. */
  async #attempt(call: PermittedCall): Promise<AttemptsResult | undefined> {
    const { signal: stopped } = this.#stop;
    const { request, callIndex } = call.progress;
    using steps = new CallSteps(this.#context, call.progress);
    let attempt = call;
    while (!stopped.aborted) {
      const signal = AbortSignal.any([stopped, this.#round.signal]);
      const asking = this.#asking(signal);
      const end = await attemptCall(this.#context, { ...attempt, signal, asking }, steps);
      const isOver = end.type !== "cancelled" && end.type !== "unanswered";
      if (isOver || stopped.aborted || !signal.aborted) return end;
      // Starts over with no answers. A restart by the user implies permission. It is the same call, so its finished
      // steps still count.
      const progress = newCall(request, callIndex);
      attempt = { ...attempt, progress, permission: undefined, events: [] };
    }
    return undefined;
  }

  #asking(signal: AbortSignal): AbortSignal {
    return AbortSignal.any([signal, this.#context.state.redirected]);
  }

  /** The result of a call that was left undecided because the user said what to do instead. */
  async #skippedOrStopped({ tool, progress }: OpenCall, isInDoubt = false): Promise<CallEnd> {
    const { redirection } = this.#context.state;
    if (this.#stop.signal.aborted || redirection === undefined) return this.#stoppedResult(tool);
    if (isInDoubt) return { content: OUTCOME_UNKNOWN, isError: true };
    const { request } = this.#readAgain(progress).permissions.run ?? {};
    const denied: PermissionDecision = {
      type: "permission_decision",
      timestamp: timestampFromDate(this.#context.clock.now()),
      ...(request !== undefined && { id: request.id }),
      toolCallId: progress.request.id,
      tool: tool.settings.name,
      action: "run",
      decision: "denied",
      decidedBy: redirection.by,
      cause: "redirected",
    };
    return { content: SKIPPED_FOR_MESSAGE, isError: false, events: [denied] };
  }

  /** `tool` is absent if it was not found in time. */
  async #stoppedResult(tool?: CallableTool): Promise<CallEnd> {
    if (!this.#stop.signal.aborted && this.#context.state.redirected.aborted) {
      return { content: SKIPPED_FOR_MESSAGE, isError: false };
    }
    if (stopCause(this.#stop.signal) === "interrupted") return undefined;
    const message = await this.#stopMessage;
    this.#isMessageDelivered = true;
    const fallback = tool?.settings.cancellationResponse ?? EXECUTION_CANCELLED;
    const content = message === "" ? fallback : stoppedWithMessage(message);
    return { content, isError: false };
  }
}

/** Only a reply with several calls needs it. Throws `module_not_loaded`. */
const loadLine = loaderOf(() => import("./call-line.ts"));

/** Waits for the calls that have to end first. */
async function waitInLine(
  call: PermittedCall,
  inLine: LinePlace | undefined,
): Promise<Reached | undefined> {
  const { progress, asking, signal, place } = call;
  inLine?.declare(call); // A person may have edited its arguments.
  // Later calls need not wait for its prompts meanwhile.
  return inLine?.reach(progress.attempts === 0 ? asking : signal, () => place.pass());
}

/** Added last, so that the model learns of the edit in every case. */
function withEdit(result: CallEnd, args: JsonObject): CallEnd {
  if (result === undefined) return undefined;
  const content = ranWithEditedArguments(args, result.content);
  const { after = 0 } = result.added ?? {};
  const before = content.length - result.content.length;
  return { ...result, content, added: { before, after } };
}

type Permission =
  | {
      readonly type: "granted";
      readonly arguments: JsonObject;
      /** A person changed the arguments that the model asked for. */
      readonly isEdited: boolean;
      readonly permission: PermissionDecision | undefined;
      /** Recorded when the call starts. */
      readonly events: readonly ConversationEvent[];
    }
  | ({ readonly type: "refused" } & CallResult)
  /** It has already run, and its tool has found the result. */
  | {
      readonly type: "done";
      readonly result: ToolResult;
      readonly arguments: JsonObject;
      readonly isEdited: boolean;
    }
  | { readonly type: "pending" }
  | { readonly type: "stopped" };

/** Whether the call may run, or run again if it may have run already. */
async function permit(context: TurnContext, call: OpenCall): Promise<Permission> {
  const { progress, tool } = call;
  const verdict = await verdictOf(context, call);
  const isSkipped = verdict.mode === "skip";
  if (progress.isInDoubt) {
    if (isSkipped) return refused(OUTCOME_UNKNOWN);
    return permitAgain(context, { ...call, kind: "in_doubt", verdict });
  }
  const { run: _, ...others } = progress.permissions;
  const run = runOf(progress);
  const { decision } = run;
  const isDenied = decision?.decision === "denied";
  if (decision !== undefined && !isSkipped && (isDenied || isStillPermitted(call, verdict))) {
    if (grantOf(decision) !== undefined) {
      // The process that recorded it may have died before saving it.
      const { saveGrant } = await loadGrants();
      await saveGrant(context, { tool, arguments: call.arguments, verdict }, decision);
    }
    return toPermission(call, decision);
  }
  // The earlier decision no longer counts, so it is asked again under the current config.
  const permissions = decision === undefined ? { ...others, run } : others;
  const open = { ...progress, permissions };
  return fromDecided(
    call,
    await decideCall(context, { ...call, progress: open, kind: "permission", verdict }),
  );
}

/** Few calls are in doubt. Throws `module_not_loaded`. */
const loadDoubts = loaderOf(() => import("./doubt.ts"));

/** Whether a call in doubt may run again, or what it has done. */
async function permitAgain(context: TurnContext, call: CallInDoubt): Promise<Permission> {
  const { progress, tool, verdict } = call;
  const { checkCall, decisionOnDoubt } = await loadDoubts();
  const decision = decisionOnDoubt(context, call);
  if (decision !== undefined) return toPermission(call, decision);
  const isPermitted = isStillPermitted(call, verdict);
  const ran = granted(call, progress.permissions.run?.decision);
  if (isPermitted && tool.isIdempotent === true) return ran;
  const checked: CheckedCall = isPermitted
    ? await checkCall(context, { ...call, arguments: ran.arguments })
    : { type: "open" };
  if (checked.type === "stopped") return checked;
  if (checked.type === "decided") return toPermission(call, checked.decision);
  const { type: _, ...said } = checked;
  const { rerun = {}, ...permissions } = progress.permissions;
  // The tool's own verdict no longer counts.
  const open = rerun.decision === undefined ? progress : { ...progress, permissions };
  return fromDecided(call, await decideCall(context, { ...call, progress: open, ...said }));
}

/** A call that may have run, and has asked since, continues under the decision that let it run again. */
function runOf({ permissions, permitted, voids }: CallProgress): PermissionProgress {
  const { run = {} } = permissions;
  const isDenied = run.decision?.decision === "denied";
  if (permitted?.action !== "rerun" || isDenied || isAskedAgain(run, permitted)) return run;
  const madeVoid = voids.findLast(({ id }) => id === permitted.id);
  return madeVoid === undefined ? { ...run, decision: permitted } : { madeVoid, isForPerson: true };
}

/** The arguments as edited by one of several people who decide about the call together. */
function editedBefore({ permissions: { run = {} } }: CallProgress): JsonObject | undefined {
  const { isEdited = false, arguments: args } = run.request ?? run.voided ?? {};
  return isEdited ? args : undefined;
}

function isAskedAgain({ request }: PermissionProgress, { id }: PermissionDecision): boolean {
  return request?.replaces !== undefined && request.replaces === id;
}

function refused(content: string): Permission {
  return { type: "refused", content, isError: true };
}

function fromDecided(call: OpenCall, result: Decided): Permission {
  if (result.type !== "decided") return result;
  const { event, isRecorded } = result;
  if (event.type !== "permission_decision") throw new Error("a call has another decision");
  return toPermission(call, event, isRecorded ? [] : [event]);
}

/** Applies to every decider. `events` are recorded with the next step. */
function toPermission(
  call: OpenCall,
  decision: PermissionDecision,
  events: readonly ConversationEvent[] = [],
): Permission {
  const { action, result } = decision;
  if (decision.decision === "denied") {
    return { type: "refused", ...deniedText(decision), events };
  }
  if (action === "rerun" && result !== undefined) {
    if (decision.decidedBy.kind !== "tool") return { type: "refused", ...result, events };
    // Its delivery is decided like that of any other result.
    const { arguments: args, isEdited } = granted(call, call.progress.permissions.run?.decision);
    return { type: "done", result, arguments: args, isEdited };
  }
  return granted(call, decision, events);
}

function granted(
  { arguments: args, progress }: OpenCall,
  permission: PermissionDecision | undefined,
  events: readonly ConversationEvent[] = [],
): Extract<Permission, { readonly type: "granted" }> {
  const { arguments: edited } = permission?.arguments
    ? permission
    : (progress.permissions.run?.decision ?? {});
  const isEdited = edited !== undefined || editedBefore(progress) !== undefined;
  return { type: "granted", arguments: edited ?? args, isEdited, permission, events };
}

/** Whether an earlier process was allowed to run the call. If config allowed it, config must still allow it. */
function isStillPermitted({ progress, tool }: OpenCall, { mode }: Verdict): boolean {
  const { decision } = progress.permissions.run ?? {};
  if (decision === undefined || !wasPermitted(decision)) return false;
  const { decidedBy } = decision;
  if (decidedBy.kind !== "policy") return true;
  const { name, detached } = tool.settings;
  const wasDetached = decidedBy.key === `conversation.tools.${name}.detached.run`;
  return mode === "unattended" || (wasDetached && detached.run === "auto");
}

/** With its tool's settings missing, a person decides about a result, now or later. */
function settingsOfMissing(name: string) {
  const detached = { run: "deny", deliver: "defer", tool: "deny" } as const;
  return { name, result: "ask" as const, detached };
}

/** Decides how much of a result the model sees. `stopped`: no decision yet. `pending`: a person decides later. */
async function deliver(
  context: TurnContext,
  delivery: Omit<AskedDelivery, "verdict">,
): Promise<CallResult | "stopped" | "pending"> {
  const { progress, result } = delivery;
  const { request, decision } = progress.permissions.deliver ?? {};
  const verdict = await resultVerdictOf(context, delivery);
  const asked = { ...delivery, verdict };
  const { mode } = verdict;
  if (decision !== undefined && mode !== "skip") {
    const changed = staleDelivery(context, asked, decision);
    if (changed === undefined) return toDelivered(decision, result);
    // Stale, so it is asked again.
    const id = decision.id ?? request?.id;
    const timestamp = timestampFromDate(context.clock.now());
    const voids = id === undefined ? [] : [voidEvent({ id, changed }, timestamp)];
    await context.journal.record(...voids);
    const [madeVoid] = voids;
    const permissions = {
      ...progress.permissions,
      deliver: madeVoid ? { madeVoid, isForPerson: true } : {},
    };
    return deliver(context, { ...asked, progress: { ...progress, permissions } });
  }
  // If config shows every result, there is nothing to record.
  if (mode === "unattended" && request === undefined) return result;
  const decided = await decideCall(context, asked);
  if (decided.type !== "decided") return decided.type;
  const { event, isRecorded } = decided;
  if (event.type !== "permission_decision") throw new Error("a result has another decision");
  return { ...toDelivered(event, result), events: isRecorded ? [] : [event] };
}

/** Undefined if the decision still counts; otherwise a list of changes since. Throws `directory_missing`. */
function staleDelivery(
  context: TurnContext,
  { toolCallId, progress, result, verdict }: AskedDelivery,
  decision: PermissionDecision,
): readonly string[] | undefined {
  if (decision.decision === "denied" || decision.decidedBy.kind === "policy") return undefined;
  const { request } = progress.permissions.deliver ?? {};
  const { mode, target = {} } = verdict;
  const place = { target, rung: request?.rung };
  const inForce = mode === "unattended" ? {} : whomInForce(context, place);
  const used = useOf(context, { ...request, kind: "delivery" }, { event: decision, inForce });
  if (used !== "counts") return [used];
  const { conversation } = context.journal;
  const call = { conversation, toolCallId, tool: progress.request.name };
  const subject = digestDelivery(call, result, { whom: request, recorded: request?.subject });
  // Recorded by an earlier version, or changed since.
  return decision.digest === subject.digest ? undefined : changesSince(request?.subject, subject);
}

function toDelivered(decision: PermissionDecision, own: ToolResult): CallResult {
  return decision.decision === "denied" ? deniedText(decision) : (decision.result ?? own);
}

async function decideCall(context: TurnContext, asked: AskedCall): Promise<Decided> {
  const decisions = await loadDecisions();
  return decisions.decideCall(context, { ...asked, signal: asked.asking });
}
