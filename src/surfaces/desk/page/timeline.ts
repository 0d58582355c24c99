/** A conversation for readers: its events in order, with everything about a call in one place. */
import type { Json, JsonObject } from "../../../util/index.ts";
import { isJsonObject } from "../../../util/index.ts";
import type { DeciderJson, OutcomeJson } from "../wire.ts";
import { deciderOf, stringOf, timeOf } from "./item.ts";

/** One part of a conversation. */
export type Block =
  | { readonly type: "turn"; readonly number: number; readonly at: number | undefined }
  | {
      readonly type: "user";
      readonly text: string;
      readonly author: string | undefined;
      readonly files: readonly string[];
    }
  | { readonly type: "assistant"; readonly text: string }
  | { readonly type: "reasoning"; readonly text: string }
  | { readonly type: "data"; readonly data: Json }
  | CallBlock
  | { readonly type: "end"; readonly text: string };

/** A tool call with its decisions, its questions and its result. */
export interface CallBlock {
  readonly type: "call";
  readonly id: string;
  readonly name: string;
  readonly arguments: JsonObject;
  /** In chronological order. */
  readonly steps: readonly Step[];
  readonly result?: { readonly content: string; readonly isError: boolean };
}

/** A step between a call and its result. */
export type Step =
  | {
      readonly type: "question";
      readonly id: string;
      readonly asker: string;
      readonly text: string;
      /** As for `Item`. */
      readonly acts: boolean;
      readonly end?: OutcomeJson;
      /** What has changed since, so that the answer no longer counts. */
      readonly madeVoid?: readonly string[];
    }
  | {
      readonly type: "decision";
      /** The request's id, if someone was asked. */
      readonly id: string | undefined;
      readonly action: string;
      readonly end: OutcomeJson;
      readonly madeVoid?: readonly string[];
    }
  /** A person was asked and has not decided yet. */
  | { readonly type: "asked"; readonly id: string; readonly action: string };

type Mutable<Part> = Part extends unknown ? { -readonly [Key in keyof Part]: Part[Key] } : never;
type OpenCall = Omit<Mutable<CallBlock>, "steps"> & { steps: Mutable<Step>[] };

/** Takes the events as JSON. Skips those that are irrelevant to readers or unknown to this version. */
export function toBlocks(events: readonly JsonObject[]): readonly Block[] {
  const builder = new TimelineBuilder();
  for (const event of events) builder.add(event);
  return builder.blocks;
}

class TimelineBuilder {
  readonly blocks: Block[] = [];
  #turns = 0;
  /** Calls without a result. A list, because some providers reuse ids. */
  #open: OpenCall[] = [];

  add(event: JsonObject): void {
    const id = stringOf(event["id"]) ?? "";
    switch (event["type"]) {
      case "turn_start":
        this.#turns += 1;
        this.#open = [];
        this.blocks.push({ type: "turn", number: this.#turns, at: timeOf(event["timestamp"]) });
        break;
      case "chat_request":
        this.blocks.push({
          type: "user",
          text: stringOf(event["content"]) ?? "",
          author: stringOf(event["author"]),
          files: fileNames(event["files"]),
        });
        break;
      case "chat_response":
        this.blocks.push(...responseBlocks(event));
        break;
      case "turn_end":
        this.blocks.push({ type: "end", text: endWords(event) });
        break;
      case "tool_call_request":
        this.#startCall(id, event);
        break;
      case "tool_call_response":
        this.#endCall(id, event);
        break;
      case "inquiry_request":
        this.#addStep(event, { type: "question", id, ...questionOf(event) });
        break;
      case "inquiry_response":
        this.#endQuestion(id, event);
        break;
      case "permission_request":
        this.#addStep(event, { type: "asked", id, action: stringOf(event["action"]) ?? "run" });
        break;
      case "permission_decision":
        this.#decide(event);
        break;
      case "decision_void":
        this.#makeVoid(id, event["changed"]);
        break;
      default: // Such as the start of an attempt.
    }
  }

  #startCall(id: string, event: JsonObject): void {
    const args = event["arguments"];
    const call: OpenCall = {
      type: "call",
      id,
      name: stringOf(event["name"]) ?? "",
      arguments: isJsonObject(args) ? args : {},
      steps: [],
    };
    this.#open.push(call);
    this.blocks.push(call);
  }

  #endCall(id: string, event: JsonObject): void {
    const index = this.#open.findIndex((call) => call.id === id);
    const [call] = index === -1 ? [] : this.#open.splice(index, 1);
    const content = stringOf(event["content"]) ?? "";
    if (call !== undefined) call.result = { content, isError: event["is_error"] === true };
  }

  #addStep(event: JsonObject, step: Step): void {
    const callId = stringOf(event["tool_call_id"]);
    const call = this.#open.findLast(({ id }) => id === callId) ?? this.#open.at(-1);
    call?.steps.push(step);
  }

  #endQuestion(id: string, event: JsonObject): void {
    const question = this.#open
      .flatMap(({ steps }) => steps.filter((step) => step.type === "question"))
      .find((step) => step.id === id && step.end === undefined);
    if (question !== undefined) question.end = endOf(event);
  }

  #decide(event: JsonObject): void {
    const action = stringOf(event["action"]) ?? "run";
    const callId = stringOf(event["tool_call_id"]);
    for (const call of this.#open.filter(({ id }) => id === callId)) {
      call.steps = call.steps.filter((step) => step.type !== "asked" || step.action !== action);
    }
    this.#addStep(event, {
      type: "decision",
      id: stringOf(event["id"]),
      action,
      end: endOf(event),
    });
  }

  /** Removes the open request, which is asked again. */
  #makeVoid(id: string, changed: Json | undefined): void {
    const madeVoid = Array.isArray(changed) ? changed.map(String) : [];
    for (const call of this.#open) {
      call.steps = call.steps.filter((step) => step.type !== "asked" || step.id !== id);
      for (const step of call.steps) {
        if (step.type !== "asked" && step.id === id) step.madeVoid = madeVoid;
      }
    }
  }
}

function responseBlocks(event: JsonObject): readonly Block[] {
  const { message, reasoning, data } = event;
  if (typeof message === "string") return [{ type: "assistant", text: message }];
  if (typeof reasoning === "string") return [{ type: "reasoning", text: reasoning }];
  return data === undefined ? [] : [{ type: "data", data }];
}

function questionOf(event: JsonObject) {
  const question = isJsonObject(event["question"]) ? event["question"] : {};
  const { source, name } = isJsonObject(event["source"]) ? event["source"] : {};
  const isAssistant = source === "assistant";
  return {
    asker: isAssistant ? "Assistant" : (stringOf(name) ?? stringOf(source) ?? ""),
    text: stringOf(question["text"]) ?? "",
    acts: question["acts"] === true || (question["exclusive"] === true && !isAssistant),
  };
}

/** The outcome of a recorded answer or decision. */
function endOf(event: JsonObject): OutcomeJson {
  const { answer } = event;
  const by: DeciderJson | undefined = deciderOf(event["answered_by"] ?? event["decided_by"]);
  const [note, reason, cause] = ["note", "reason", "cause"].map((name) => stringOf(event[name]));
  return {
    outcome: stringOf(event["outcome"]) ?? stringOf(event["decision"]) ?? "answered",
    ...(answer !== undefined && answer !== null && { answer }),
    ...(note !== undefined && { note }),
    ...(reason !== undefined && { reason }),
    ...(cause !== undefined && { cause }),
    ...(by !== undefined && { answered_by: by }),
  };
}

function endWords(event: JsonObject): string {
  const problem = stringOf(event["problem"]) ?? stringOf(event["cause"]);
  const reason = stringOf(event["reason"]) ?? "ended";
  return `Turn ${reason === "done" ? "complete" : reason}${problem === undefined ? "" : `: ${problem}`}`;
}

function fileNames(files: Json | undefined): readonly string[] {
  if (!Array.isArray(files)) return [];
  return files.filter(isJsonObject).map((file) => {
    const name = stringOf(file["filename"]) ?? stringOf(file["url"]) ?? "file";
    return `${name} (${stringOf(file["media_type"]) ?? "unknown type"})`;
  });
}
