/**
 * The four kinds of decisions, as a table: how each gets its id, request, void and end, who decides it and what an
 * answer may contain. Everything else is the same for all of them.
 */
import {
  ACTIONS,
  type CallDecisionKind,
  type CallSubject,
  type DecisionKind,
  digestCall,
  digestDelivery,
  digestQuestion,
  type ForWhom,
  type InquiryEscalation,
  type InquiryId,
  type InquiryRequest,
  isForSome,
  isPassedOn,
  type KnownCancellationReason,
  narrowWhom,
  type PermissionProgress,
  type PermissionRequestEvent,
  type SubjectDigest,
  type Takes,
  whomOf,
} from "../../../record/conversation/index.ts";
import { addresseesOf } from "../../../record/tool/index.ts";
import type { Asked, AskedCall, AskedQuestion } from "../asked.ts";
import { findRung, type Ladder, peopleAt, questionTarget } from "../ladder.ts";
import type { TurnState } from "../memory.ts";
import type { PolicyKey } from "../route.ts";
import { targetNow, type WhomContext, withIds } from "../subject.ts";

/** A request on record. */
export type Request = InquiryRequest | PermissionRequestEvent;

/** A request that is not open yet. */
export type Draft =
  | Omit<InquiryRequest, "id" | "timestamp">
  | Omit<PermissionRequestEvent, "id" | "timestamp">;

/** The request that this one repeats or replaces. */
export interface Earlier {
  readonly id: InquiryId;
  /** Set if it still waits. It is asked again only if its subject has changed. */
  readonly waiting?: Request;
  readonly escalation?: InquiryEscalation | undefined;
  /** Set if its decision no longer counts, and why. */
  readonly changed?: readonly string[];
  /** The event that voids it is on record. */
  readonly isVoid: boolean;
}

interface DigestedRequest {
  readonly draft: Draft;
  /** A digest on record to compare with. */
  readonly recorded?: SubjectDigest | undefined;
}

/** How one kind differs from the others. */
interface Kind<Of extends Asked> {
  /** Mints the id of a new request. */
  readonly id: (state: TurnState, asked: Of) => InquiryId;
  /** The part of the request that says what is decided. */
  readonly request: (asked: Of) => Draft;
  /** `call` is the call as it would run now. */
  readonly digest: (call: CallSubject, asked: Of, of: DigestedRequest) => SubjectDigest;
  /** The request of an earlier process, or the one whose decision no longer counts. */
  readonly void: (asked: Of) => Earlier | undefined;
  readonly ladder: (asked: Of) => Omit<Ladder, "isEscalated">;
  /** Who would decide it if opened now; unchanged if it already waits. */
  readonly whom: (context: WhomContext, asked: Of) => ForWhom;
  /** Extras that an answer may contain. */
  readonly takes: (asked: Of) => Takes;
  /** How it ends without an answer. */
  readonly end: End;
}

/** Questions are cancelled, and no policy decides them. Anything else is denied by the setting `key`. */
type End =
  | { readonly type: "cancelled"; readonly promptFailed: KnownCancellationReason }
  | {
      readonly type: "denied";
      readonly key: PolicyKey;
      /** How a denial is reported when no one could be asked. */
      readonly denial?: "permission" | "delivery";
    };

const question: Kind<AskedQuestion> = {
  id: (state, { toolCallId, tool, question: { id } }) =>
    state.nextInquiryId(toolCallId === "" ? tool.settings.name : toolCallId, id),
  request: ({ question: { id: questionId, ...shown }, source, toolCallId, state, isBound }) => ({
    type: "inquiry_request",
    source,
    question: shown,
    ...(toolCallId !== "" && { toolCallId }),
    questionId,
    ...(state !== undefined && { state }),
    ...(isBound === true && { isBound }),
  }),
  digest: (call, _asked, { draft, recorded }) => {
    if (draft.type !== "inquiry_request") throw new Error("a question has another request");
    return digestQuestion(call, draft, recorded);
  },
  void: ({ recorded, replaces }) => {
    if (replaces !== undefined) {
      const { id, changed, isRecorded } = replaces;
      return { id, changed, isVoid: isRecorded };
    }
    if (recorded === undefined) return undefined;
    const { request, escalation } = recorded;
    return { id: request.id, waiting: request, escalation, isVoid: false };
  },
  ladder: (asked) => {
    const { tool, prompt, recorded, replaces } = asked;
    const { id, exclusive, answerType, for: named } = asked.question;
    const { deadlineMs } = tool.settings.questions.get(id) ?? {};
    const { rung = 0 } = recorded?.request ?? replaces ?? {};
    return {
      target: questionTarget(tool.settings, id, prompt !== undefined),
      rung: isNext(asked) ? rung + 1 : rung,
      isForPerson: replaces?.isForPerson ?? recorded?.request.isForPerson ?? false,
      isPersonal: exclusive || answerType.type === "secret" || named !== undefined,
      isModelPrompt: prompt !== undefined,
      deadlineMs,
    };
  },
  whom: (context, asked) => {
    const { recorded, replaces } = asked;
    const rung = findRung(question.ladder(asked));
    const earlier = recorded?.request ?? replaces?.whom;
    const isKept = !isNext(asked) || rung?.type !== "people";
    if (earlier !== undefined && isKept) return whomOf(earlier);
    const whom = rung?.type === "people" ? targetNow(context, rung.people) : {};
    return withIds(context, narrowWhom(whom, addresseesOf(asked.question)));
  },
  takes: ({ question: { persistence, answerType, rememberAs: label, allowsNote }, verdict }) => {
    const isSecret = answerType.type === "secret";
    const isOffered = persistence === "turn" && !isSecret && verdict?.isAskedEachTime !== true;
    const turn = label === undefined ? { code: "question" } : { code: "label", label };
    return {
      ...(isOffered && { turn: turn as NonNullable<Takes["turn"]> }), // One of its two forms.
      ...(allowsNote === true && { note: "any" }),
    };
  },
  end: { type: "cancelled", promptFailed: "backend_error" },
};

/** Its process died before it could ask the next rung. */
function isNext({ replaces }: AskedQuestion): boolean {
  return replaces?.isRecorded === true && isPassedOn(replaces.changed);
}

/** A decision about a call itself. These differ in little but the action. */
function aboutCall(kind: CallDecisionKind, end: Omit<Extract<End, { type: "denied" }>, "type">) {
  const action = ACTIONS[kind];
  const about: Kind<AskedCall> = {
    id: (state, { progress }) => state.nextPermissionId(progress.request.id, action),
    request: (asked) => ({
      type: "permission_request",
      toolCallId: asked.toolCallId,
      tool: asked.tool.settings.name,
      action,
      ...(asked.kind === "delivery" ? { result: asked.result } : { arguments: asked.arguments }),
      ...checkOf(asked),
    }),
    digest: (call, asked, { draft, recorded }) =>
      asked.kind === "delivery"
        ? digestDelivery(call, asked.result, { whom: draft, recorded })
        : digestCall(call, draft, recorded),
    void: ({ progress }) => {
      const { request, decision, madeVoid } = progress.permissions[action] ?? {};
      if (request !== undefined && decision === undefined) {
        return { id: request.id, waiting: request, isVoid: false };
      }
      return madeVoid && { id: madeVoid.id, changed: madeVoid.changed, isVoid: true };
    },
    ladder: ({ progress, verdict }) => {
      const { request, isForPerson = request?.isForPerson } = progress.permissions[action] ?? {};
      const { target = {} } = verdict;
      const rung = rungOf(progress.permissions[action]);
      return {
        target,
        // The first rung, if config no longer has as many.
        rung: findRung({ target, rung }) === undefined && request === undefined ? 0 : rung,
        isForPerson: isForPerson ?? false,
      };
    },
    whom: (context, { progress, verdict: { target = {} } }) => {
      const { run, [action]: asked } = progress.permissions;
      // A request that still waits keeps its terms, even if config has changed.
      if (asked?.request !== undefined && asked.decision === undefined) {
        return whomOf(asked.request);
      }
      const whom = targetNow(context, peopleAt(target, rungOf(asked)) ?? target);
      // The people who had to let it run also decide whether it may run again.
      const isOpen = kind === "in_doubt" && !isForSome(whom);
      return isOpen ? whomOf(run?.request ?? {}) : withIds(context, whom);
    },
    takes: ({ verdict }) => {
      if (kind === "in_doubt") return {};
      // A mode that requires editing asks each time.
      const isOffered =
        kind === "permission" && verdict.mode === "ask" && verdict.isAskedEachTime !== true;
      return { ...(isOffered && { turn: { code: "calls" } }), note: "any" };
    },
    end: { type: "denied", ...end },
  };
  return about;
}

/** The tool's own check of a call in doubt. */
export function checkOf(asked: AskedCall): Pick<PermissionRequestEvent, "check"> {
  if (asked.kind !== "in_doubt") return {};
  const { check = asked.progress.permissions.rerun?.request?.check } = asked;
  return check === undefined ? {} : { check };
}

/** The current rung of the escalation ladder. */
function rungOf({ request, voided, madeVoid }: PermissionProgress = {}): number {
  const { rung = 0 } = request ?? voided ?? {};
  // Its process died before it could ask them.
  const isAfter = request === undefined && isPassedOn(madeVoid?.changed ?? []);
  return isAfter ? rung + 1 : rung;
}

const KINDS = {
  question,
  permission: aboutCall("permission", { key: "run", denial: "permission" }),
  delivery: aboutCall("delivery", { key: "result", denial: "delivery" }),
  in_doubt: aboutCall("in_doubt", { key: "run" }),
} as const satisfies Record<DecisionKind, unknown>;

/** The row of the table. */
export function kindOf(asked: Asked): Kind<Asked> {
  return KINDS[asked.kind] as Kind<Asked>; // Each kind only gets its own type.
}
