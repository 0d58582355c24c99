/** A prompter that replays scripted answers and keeps the requests it got. */
import type {
  AnsweredPrompt,
  DeliveryRequest,
  DoubtRequest,
  FormRequest,
  InterruptChoice,
  InterruptMenu,
  InterruptRequest,
  NoAnswer,
  NoAnswerReason,
  PermissionRequest,
  PermissionsRequest,
  Prompter,
  PromptRequest,
  PromptResult,
  QuestionRequest,
} from "../core/agent/index.ts";
import type { InquiryId } from "../record/conversation/index.ts";
import { abortable, assertNever, type JsonObject } from "../util/index.ts";

/** An answer, a cancelled question, a deferred one, or one that no one answers. */
export type ScriptedAnswer =
  | Omit<AnsweredPrompt, "type">
  | { readonly isCancelled: true }
  | { readonly isLater: true }
  | { readonly isUnanswered: NoAnswerReason };

/** One answer per field, or a cancelled form. */
export type ScriptedForm = readonly ScriptedAnswer[] | { readonly isCancelled: true };

/** An approval or refusal of a permission, or neither. */
export type ScriptedPermission =
  | {
      readonly type: "run";
      readonly isRemembered?: boolean;
      /** Run the call with these arguments instead. */
      readonly arguments?: JsonObject;
      readonly userName?: string;
    }
  | {
      readonly type: "skip";
      readonly isRemembered?: boolean;
      readonly reason?: string;
      /** The reason is also the next message. */
      readonly redirects?: boolean;
      readonly userName?: string;
    }
  | NoAnswer;

/** An approval or refusal of a result's delivery, or neither. */
export type ScriptedDelivery =
  /** `content`: the text that the model sees instead. */
  | { readonly type: "deliver"; readonly content?: string; readonly userName?: string }
  | { readonly type: "withhold"; readonly userName?: string }
  | NoAnswer;

/** The script for each kind of request. */
export interface PrompterScript {
  /** Also answers calls in doubt. */
  readonly answers?: Script<QuestionRequest | DoubtRequest, ScriptedAnswer>;
  /** Without it, `answers` answers the fields of a form one by one. */
  readonly forms?: Script<FormRequest, ScriptedForm>;
  readonly permissions?: Script<PermissionRequest, ScriptedPermission>;
  readonly deliveries?: Script<DeliveryRequest, ScriptedDelivery>;
  readonly choices?: Script<InterruptRequest, InterruptChoice>;
}

/** A list of results, used in order, or a function of the request. */
export type Script<Request, Result> =
  | readonly (Result | Reply<Request, Result>)[]
  | Reply<Request, Result>;

type Reply<Request, Result> = (request: Request) => Result | Promise<Result>;

/** A prompt that stays open until the test answers it. */
export interface HeldPrompt<Request, Result> {
  /** Use this in a script, alone or in a list. */
  readonly reply: Reply<Request, Result>;
  /** Resolves when the prompt opens. */
  readonly opened: Promise<Request>;
  answer(result: Result): void;
}

/** Creates a prompt that stays open until the test answers it. */
export function holdPrompt<Request, Result>(): HeldPrompt<Request, Result> {
  const opened = Promise.withResolvers<Request>();
  const answered = Promise.withResolvers<Result>();
  return {
    reply: (request) => {
      opened.resolve(request);
      return answered.promise;
    },
    opened: opened.promise,
    answer: answered.resolve,
  };
}

/** Answers from a script. Throws if the script has no answer. */
export class ScriptedPrompter implements Prompter, InterruptMenu {
  readonly channel: string;
  readonly showsForms = true;
  /** Set it to ask about all calls of a reply at once. `permissions` in the script answers each of them. */
  showsPermissions = false;
  /** All requests so far, in order, except those aborted before they were asked. */
  readonly questions: (QuestionRequest | DoubtRequest)[] = [];
  readonly forms: FormRequest[] = [];
  readonly permissions: PermissionRequest[] = [];
  readonly deliveries: DeliveryRequest[] = [];
  readonly interrupts: InterruptRequest[] = [];
  /** The result of `canAsk`. */
  isAvailable = true;
  /** The names for which `canReach` is true. */
  people: readonly string[] = [];
  /** Set it to act as a terminal (`os_user`), or as another program's form (`client`). */
  auth?: "os_user" | "client";
  readonly #script: PrompterScript;

  constructor(script: PrompterScript = {}, channel = "scripted") {
    this.#script = script;
    this.channel = channel;
  }

  canAsk(): boolean {
    return this.isAvailable;
  }

  canReach(name: string): boolean {
    return this.people.includes(name);
  }

  async ask(request: PromptRequest): Promise<PromptResult> {
    const { inquiryId, signal } = request;
    if (signal.aborted) return { type: "interrupted", inquiryId };
    switch (request.kind) {
      case "question":
      case "in_doubt":
        return this.#answer(request);
      case "form":
        return this.#fillIn(request);
      case "permission":
        return this.#permit(request);
      case "delivery":
        return this.#deliver(request);
      case "permissions":
        return this.#permitSeveral(request);
      default:
        return assertNever(request);
    }
  }

  async #answer(request: QuestionRequest | DoubtRequest): Promise<PromptResult> {
    const { inquiryId, question } = request;
    const position = this.questions.push(request) - 1;
    const result = await takeNext(this.#script.answers, request, {
      position,
      what: `answer to "${question.text}"`,
    });
    return result === undefined ? { type: "interrupted", inquiryId } : toResult(inquiryId, result);
  }

  /** Cancelled, deferred or unanswered if one of its fields is. */
  async #fillIn(request: FormRequest): Promise<PromptResult> {
    const { fields, signal, inquiryId } = request;
    const position = this.forms.push(request) - 1;
    const results =
      this.#script.forms === undefined
        ? await this.#askEach(request)
        : await this.#fillInForm(request, position);
    const isAnswered =
      results.length === fields.length && results.every(({ type }) => type === "answered");
    if (isAnswered) return { type: "form", inquiryId, results };
    if (signal.aborted) return { type: "interrupted", inquiryId };
    const closed = results.find(({ type }) => type === "later" || type === "unanswered");
    return closed === undefined ? { type: "cancelled", inquiryId } : { ...closed, inquiryId };
  }

  async #permit(request: PermissionRequest): Promise<PromptResult> {
    const { inquiryId } = request;
    const position = this.permissions.push(request) - 1;
    const expected = { position, what: `permission for ${request.tool}` };
    const result = await takeNext(this.#script.permissions, request, expected);
    if (result === undefined) return { type: "interrupted", inquiryId };
    if (result.type === "run") {
      const { type: _, ...given } = result;
      const problem = given.arguments && (await request.check?.(given.arguments));
      if (problem !== undefined)
        throw new Error(`The arguments in the script are invalid: ${problem}`);
      return { inquiryId, type: "answered", answer: true, ...given };
    }
    if (result.type !== "skip") return { inquiryId, ...result };
    const { type: _, reason: note, ...given } = result;
    return { inquiryId, type: "answered", answer: false, ...given, ...(note && { note }) };
  }

  /** Stops at the first call that is neither approved nor refused. */
  async #permitSeveral({ calls, inquiryId }: PermissionsRequest): Promise<PromptResult> {
    const results: PromptResult[] = [];
    for (const call of calls) {
      const result = await this.#permit(call);
      results.push(result);
      if (result.type !== "answered") break;
    }
    return { inquiryId, type: "form", results };
  }

  async #deliver(request: DeliveryRequest): Promise<PromptResult> {
    const { inquiryId } = request;
    const position = this.deliveries.push(request) - 1;
    const expected = { position, what: `delivery decision for ${request.tool}` };
    const result = await takeNext(this.#script.deliveries, request, expected);
    if (result === undefined) return { type: "interrupted", inquiryId };
    if (result.type !== "deliver" && result.type !== "withhold") return { inquiryId, ...result };
    const { type, ...given } = result;
    return { inquiryId, type: "answered", answer: type === "deliver", ...given };
  }

  async choose(request: InterruptRequest): Promise<InterruptChoice> {
    if (request.signal.aborted) return { type: "continue" };
    const position = this.interrupts.push(request) - 1;
    const expected = { position, what: "interrupt choice" };
    return (await takeNext(this.#script.choices, request, expected)) ?? { type: "continue" };
  }

  /** Stops at the first field that is not answered. */
  async #askEach({ fields }: FormRequest): Promise<readonly PromptResult[]> {
    const results: PromptResult[] = [];
    for (const field of fields) {
      const result = await this.ask(field);
      results.push(result);
      if (result.type !== "answered") break;
    }
    return results;
  }

  async #fillInForm(request: FormRequest, position: number): Promise<readonly PromptResult[]> {
    const { fields } = request;
    const texts = fields.map(({ question }) => `"${question.text}"`).join(", ");
    const expected = { position, what: `form for ${texts}` };
    const form = (await takeNext(this.#script.forms, request, expected)) ?? { isCancelled: true };
    if ("isCancelled" in form) return [];
    if (form.length !== fields.length) {
      throw new Error(
        `The script has ${form.length} answers for a form of ${fields.length} fields.`,
      );
    }
    return fields.flatMap(({ inquiryId }, index) => {
      const answer = form[index];
      return answer === undefined ? [] : [toResult(inquiryId, answer)];
    });
  }
}

function toResult(inquiryId: InquiryId, scripted: ScriptedAnswer): PromptResult {
  if ("isCancelled" in scripted) return { type: "cancelled", inquiryId };
  if ("isLater" in scripted) return { type: "later", inquiryId };
  if ("isUnanswered" in scripted) {
    return { type: "unanswered", inquiryId, reason: scripted.isUnanswered };
  }
  return { type: "answered", inquiryId, isRemembered: false, ...scripted };
}

/** Undefined if aborted. Throws if the script has no result for the request. */
async function takeNext<Request extends { readonly signal: AbortSignal }, Result>(
  script: Script<Request, Result> | undefined,
  request: Request,
  expected: { readonly position: number; readonly what: string },
): Promise<Result | undefined> {
  const next = typeof script === "function" ? script : script?.[expected.position];
  if (next === undefined) throw new Error(`The script has no ${expected.what}.`);
  try {
    const result = isReply<Request, Result>(next) ? next(request) : next;
    return await abortable(Promise.resolve(result), request.signal);
  } catch (error) {
    if (request.signal.aborted) return undefined;
    throw error;
  }
}

/** Results are data, so a function in a script computes one. */
function isReply<Request, Result>(
  next: Result | Reply<Request, Result>,
): next is Reply<Request, Result> {
  return typeof next === "function";
}
