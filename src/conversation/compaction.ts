/** An overlay that makes old turns cheaper for a model without touching them (see projection.ts). */
import {
  integerField,
  objectField,
  oneOf,
  optionalBoolean,
  type Shape,
  shapeOf,
  stringField,
} from "../util/index.ts";
import { parseTimestamp, type Timestamp } from "./timestamp.ts";

/** What a model is shown of some turns instead of the whole. */
export interface Compaction {
  readonly timestamp: Timestamp;
  /** Turns from 0, both ends included. */
  readonly fromTurn: number;
  readonly toTurn: number;
  readonly summary?: string;
  readonly reasoning?: "strip";
  readonly toolCalls?: ToolCallCompaction;
}

/** What becomes of tool calls: their contents are left out, or all of them. */
export type ToolCallCompaction =
  | { readonly policy: "strip"; readonly request: boolean; readonly response: boolean }
  | { readonly policy: "omit" };

/** Throws `ShapeError`. */
export function parseCompaction(value: unknown): Compaction {
  const shape = shapeOf(value);
  return {
    timestamp: parseTimestamp(shape.value["timestamp"]),
    fromTurn: integerField(shape, "from_turn"),
    toTurn: integerField(shape, "to_turn"),
    ...(shape.value["summary"] != null && {
      summary: stringField(objectField(shape, "summary"), "summary"),
    }),
    ...(shape.value["reasoning"] != null && { reasoning: oneOf(shape, "reasoning", ["strip"]) }),
    ...(shape.value["tool_calls"] != null && {
      toolCalls: parseToolCalls(objectField(shape, "tool_calls")),
    }),
  };
}

function parseToolCalls(shape: Shape): ToolCallCompaction {
  const policy = oneOf(shape, "policy", ["strip", "omit"]);
  if (policy === "omit") return { policy };
  return {
    policy,
    request: optionalBoolean(shape, "request") ?? false,
    response: optionalBoolean(shape, "response") ?? false,
  };
}
