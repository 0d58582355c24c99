/** A conversation for readers: its events in order, with everything about a call in one place. */
import type { Json, JsonObject } from "../../../util/index.ts";
import { isJsonObject } from "../../../util/index.ts";
import {
  type Foldable,
  pairDecisions,
  type PairedDecision,
  type RecordedCall,
  toBlocks,
} from "../../../record/conversation/index.ts";
import type { DeciderJson, OutcomeJson } from "../wire.ts";
import { ASSISTANT, deciderOf, stringOf, timeOf } from "./item.ts";

/** One part of a conversation. */
export type TimelineBlock =
  | { readonly type: "turn"; readonly number: number; readonly at: number | undefined }
  | {
      readonly type: "user";
      readonly text: string;
      readonly author: string | undefined;
      /** Sent while the turn was running. */
      readonly isSteering: boolean;
      readonly files: readonly string[];
    }
  | { readonly type: "assistant"; readonly text: string }
  | { readonly type: "reasoning"; readonly text: string }
  | { readonly type: "data"; readonly data: Json }
  | FileBlock
  | CallBlock
  | { readonly type: "end"; readonly text: string };

/** A file that the model has sent. */
export interface FileBlock {
  readonly type: "file";
  readonly mediaType: string;
  readonly digest: string;
  readonly size: number;
}

/** A tool call with its decisions, its questions and its result. */
export interface CallBlock {
  readonly type: "call";
  readonly id: string;
  readonly name: string;
  readonly arguments: JsonObject;
  /** Started, and waits for nobody: it runs, unless no process does so any more. */
  readonly isUnderway: boolean;
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

/** An event as JSON, with what it is about. */
interface TimelineEvent extends Foldable {
  readonly json: JsonObject;
}

/** Takes the events as JSON. Skips those that are irrelevant to readers or unknown to this version. */
export function toTimeline(events: readonly JsonObject[]): readonly TimelineBlock[] {
  const turns: JsonObject[][] = [[]];
  for (const event of events) {
    if (event["type"] === "turn_start") turns.push([event]);
    else turns.at(-1)?.push(event);
  }
  return turns.flatMap((turn, number) =>
    toBlocks(readTurn(turn)).flatMap((block) =>
      block.type === "call" ? callBlock(block.call) : eventBlocks(block.event.json, number),
    ),
  );
}

function readTurn(turn: readonly JsonObject[]): readonly TimelineEvent[] {
  const open: string[] = [];
  return turn.map((json) => {
    const [type = "", id, toolCallId] = ["type", "id", "tool_call_id"].map((name) =>
      stringOf(json[name]),
    );
    if (type === "tool_call_request") open.push(id ?? "");
    const ended = type === "tool_call_response" ? open.indexOf(id ?? "") : -1;
    if (ended !== -1) open.splice(ended, 1);
    // Older records do not say which call asked. It was probably the last one.
    const asker = type === "inquiry_request" ? open.at(-1) : undefined;
    const action = stringOf(json["action"]) ?? "run";
    return { type, id, toolCallId: toolCallId ?? asker, action, json };
  });
}

function eventBlocks(event: JsonObject, number: number): readonly TimelineBlock[] {
  switch (event["type"]) {
    case "turn_start":
      return [{ type: "turn", number, at: timeOf(event["timestamp"]) }];
    case "chat_request":
      return [
        {
          type: "user",
          text: stringOf(event["content"]) ?? "",
          author: stringOf(event["author"]),
          isSteering: event["steering"] === true,
          files: fileNames(event["files"]),
        },
      ];
    case "chat_response":
      return responseBlocks(event);
    case "reply_file":
      return fileBlocks(event);
    case "turn_end":
      return [{ type: "end", text: endWords(event) }];
    default: // Such as an undo.
      return [];
  }
}

function fileBlocks({ media_type: type, digest, size }: JsonObject): readonly FileBlock[] {
  const mediaType = stringOf(type) ?? "unknown type";
  if (typeof digest !== "string" || typeof size !== "number") return [];
  return [{ type: "file", mediaType, digest, size }];
}

function callBlock({ request, response, events }: RecordedCall<TimelineEvent>): CallBlock {
  const { id = "", json } = request;
  const args = json["arguments"];
  const steps = pairDecisions(events).flatMap(toStep);
  // A tool that asks by itself runs unasked: that has approved nothing yet.
  const asks = steps.some(({ type }) => type === "question");
  return {
    type: "call",
    id,
    name: stringOf(json["name"]) ?? "",
    arguments: isJsonObject(args) ? args : {},
    isUnderway: isUnderway(events, steps) && response === undefined,
    steps: asks ? steps.filter((step) => !isUnasked(step)) : steps,
    ...(response !== undefined && {
      result: {
        content: stringOf(response.json["content"]) ?? "",
        isError: response.json["is_error"] === true,
      },
    }),
  };
}

function isUnderway(events: readonly TimelineEvent[], steps: readonly Step[]): boolean {
  const isWaiting = steps.some((step) => step.type === "asked" || step.end === undefined);
  return !isWaiting && events.some(({ type }) => type === "attempt_start");
}

/** Whether the config let the call run without asking. */
function isUnasked(step: Step): boolean {
  return (
    step.type === "decision" &&
    step.end.outcome === "approved" &&
    step.end.answered_by?.kind === "policy"
  );
}

/** Leaves out a request that no longer counts: it is asked again. */
function toStep(decision: PairedDecision<TimelineEvent>): readonly Step[] {
  const { request, response, madeVoid } = decision;
  if (response === undefined && madeVoid !== undefined) return [];
  const changed = madeVoid?.json["changed"];
  const ended = {
    ...(response !== undefined && { end: endOf(response.json) }),
    ...(madeVoid !== undefined && { madeVoid: Array.isArray(changed) ? changed.map(String) : [] }),
  };
  const { id = "", action = "", json = {} } = request ?? {};
  if (request?.type === "inquiry_request") {
    return [{ type: "question", id, ...questionOf(json), ...ended }];
  }
  if (response === undefined) return [{ type: "asked", id, action }];
  const decided = { id: response.id, action: response.action ?? action };
  return [{ type: "decision", ...decided, end: endOf(response.json), ...ended }];
}

function responseBlocks(event: JsonObject): readonly TimelineBlock[] {
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
    asker: isAssistant ? ASSISTANT : (stringOf(name) ?? stringOf(source) ?? ""),
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
