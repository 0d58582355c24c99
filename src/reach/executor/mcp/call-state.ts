/**
 * The state that lets another process continue a call whose server has asked a question. It is kept in the record, which
 * may come from a clone, so it is validated on reading and never sent to another server.
 */
import { type Asks, ELICITATION, type InputRequest } from "../../mcp/index.ts";
import {
  fieldPath,
  isJsonObject,
  type Json,
  type JsonObject,
  messageOf,
  objectField,
  optionalBoolean,
  optionalString,
  shapeOf,
  ShapeError,
  stringField,
} from "../../../util/index.ts";

/** The server and tool that a call belongs to. */
export interface CallOwner {
  /** The server's name in the config. */
  readonly server: string;
  /** The server's name for the tool. */
  readonly tool: string;
}

/** Limits the state recorded with each question. */
const MAX_LENGTH = 64 * 1024;

/**
 * Undefined if the call cannot be continued elsewhere: a server of the 2025 protocol waits for the answer on its
 * connection, a model's prompt is not asked again, and long states are not recorded.
 */
export function encodeCallState(asks: Asks, { server, tool }: CallOwner): string | undefined {
  const { requests, isPrerequisite, requestState, closed } = asks;
  if (closed !== undefined || requests.some(({ method }) => method !== ELICITATION)) {
    return undefined;
  }
  const state: JsonObject = {
    server,
    tool,
    // JSON, as received.
    requests: Object.fromEntries(
      requests.map(({ key, params }) => [key, (params ?? null) as Json]),
    ),
    ...(isPrerequisite && { prerequisite: true }),
    ...(requestState !== undefined && { request_state: requestState }),
  };
  const text = JSON.stringify(state);
  return text.length > MAX_LENGTH ? undefined : text;
}

export type DecodedState = Asks | { readonly type: "invalid"; readonly problem: string };

export function decodeCallState(text: string, owner: CallOwner): DecodedState {
  try {
    return parse(text, owner);
  } catch (error) {
    return { type: "invalid", problem: messageOf(error) };
  }
}

/** Throws `SyntaxError` and `ShapeError`. */
function parse(text: string, owner: CallOwner): Asks {
  if (text.length > MAX_LENGTH) throw new ShapeError("", `longer than ${MAX_LENGTH} characters`);
  const shape = shapeOf(JSON.parse(text));
  for (const key of ["server", "tool"] as const) {
    if (stringField(shape, key) !== owner[key]) throw new ShapeError(key, "another one");
  }
  const { value } = objectField(shape, "requests");
  const requests = Object.entries(value).map(([key, params]): InputRequest => {
    if (!isJsonObject(params)) throw new ShapeError(fieldPath(shape, "requests"), "not objects");
    return { key, method: ELICITATION, params };
  });
  if (requests.length === 0) throw new ShapeError("requests", "empty");
  const requestState = optionalString(shape, "request_state");
  return {
    type: "asks",
    requests,
    isPrerequisite: optionalBoolean(shape, "prerequisite") ?? false,
    ...(requestState !== undefined && { requestState }),
  };
}
