/** Puts a reply on record as it comes in: each text when it is complete, each call as it is made. */
import type { ChatResponse, ToolCallRequest } from "../conversation/index.ts";
import type { EndReason, ModelEvent } from "../provider/index.ts";
import { assertNever, type Clock, findJson, type JsonObject } from "../util/index.ts";
import type { Journal } from "./journal.ts";
import type { Observer } from "./observer.ts";
import { timestampOf } from "./timestamp-of.ts";

export interface ReplyParts {
  readonly journal: Journal;
  readonly clock: Clock;
  readonly observer?: Observer | undefined;
  /** The reply is to be JSON. */
  readonly isStructured: boolean;
  /** A call that is on record. */
  readonly onCall: (request: ToolCallRequest) => void;
}

type TextKind = "message" | "reasoning";

export class ReplyRecorder {
  readonly #parts: ReplyParts;
  #open: { readonly kind: TextKind; text: string } | undefined;
  #isOnRecord = false;
  #hasCalls = false;
  #hasDocument = false;
  #reason: EndReason | undefined;

  constructor(parts: ReplyParts) {
    this.#parts = parts;
  }

  /** Whether any of it is on record: then another try begins further on. */
  get isOnRecord(): boolean {
    return this.#isOnRecord;
  }

  /** Whether the JSON that was wanted is on record. */
  get hasDocument(): boolean {
    return this.#hasDocument;
  }

  get hasCalls(): boolean {
    return this.#hasCalls;
  }

  /** Why it ended; undefined while it has not, and if it broke off. */
  get reason(): EndReason | undefined {
    return this.#reason;
  }

  async take(event: ModelEvent): Promise<void> {
    switch (event.type) {
      case "reasoning_delta":
      case "message_delta":
        return this.#add(event.type === "message_delta" ? "message" : "reasoning", event.text);
      case "reasoning_end":
        return this.#end("reasoning", event.metadata);
      case "message_end":
        return this.#end("message", event.metadata);
      case "tool_call_delta":
        return undefined;
      case "tool_call_start":
        return this.#parts.observer?.observe(event);
      case "tool_call_request":
        await this.end();
        return this.#call(event);
      case "response_end":
        await this.end();
        this.#reason = event.reason;
        return this.#parts.observer?.observe(event);
      default:
        return assertNever(event);
    }
  }

  /** Records what there is of a text that is not complete. */
  async end(): Promise<void> {
    if (this.#open !== undefined) await this.#end(this.#open.kind);
  }

  /** Forgets what there is of a text that is not complete. */
  drop(): void {
    this.#open = undefined;
  }

  async #add(kind: TextKind, text: string): Promise<void> {
    if (this.#open?.kind !== kind) {
      await this.end();
      this.#open = { kind, text: "" };
    }
    this.#open.text += text;
    this.#parts.observer?.observe({ type: `${kind}_delta`, text });
  }

  /**
   * Without any text there may still be a signature, which the provider wants back. An end that comes
   * late for one kind leaves a text of the other open.
   */
  async #end(kind: TextKind, metadata?: JsonObject): Promise<void> {
    const open = this.#open?.kind === kind ? this.#open : undefined;
    const text = open?.text ?? "";
    if (open !== undefined) this.#open = undefined;
    if (text === "" && metadata === undefined) return;
    const content = this.#contentOf(kind, text);
    await this.#parts.journal.record({
      type: "chat_response",
      timestamp: timestampOf(this.#parts.clock),
      content,
      ...(metadata !== undefined && { metadata }),
    });
    this.#isOnRecord = true;
    this.#hasDocument ||= content.type === "structured";
  }

  #contentOf(kind: TextKind, text: string): ChatResponse["content"] {
    const data = kind === "message" && this.#parts.isStructured ? findJson(text) : undefined;
    return data === undefined ? { type: kind, text } : { type: "structured", data };
  }

  async #call(event: Extract<ModelEvent, { type: "tool_call_request" }>): Promise<void> {
    const request: ToolCallRequest = { ...event, timestamp: timestampOf(this.#parts.clock) };
    await this.#parts.journal.record(request);
    this.#isOnRecord = true;
    this.#hasCalls = true;
    this.#parts.onCall(request);
  }
}
