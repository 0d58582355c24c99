/** What of an entry matters to whoever is to trust it: by what more is run, reached or allowed. */
import { isDeepStrictEqual } from "node:util";
import { isJsonObject, type Json, type JsonObject } from "../util/index.ts";

/** By these nothing more is run, reached or allowed. */
const DESCRIBING = [
  "enable",
  "group",
  "summary",
  "description",
  "examples",
  "cancellation_response",
  "timeout_secs",
];

/** What holds for a tool, with what all tools have in common. */
export interface ToolPolicies {
  /** Without the workspace. */
  readonly own: JsonObject;
  /** Without anybody's config. */
  readonly base: JsonObject;
}

/**
 * All of a tool that is the workspace's own. Of the person's tools, what makes them do more than they did.
 * Ours stay inside the workspace, whose files may say how, unless the person has said it.
 */
export function toolWeight(said: JsonObject, { own, base }: ToolPolicies): JsonObject {
  const isAnother = ["source", "command"].some(
    (key) => said[key] !== undefined && !isDeepStrictEqual(said[key], own[key]),
  );
  const { style, ...rest } = said;
  // A command that shows arguments is a command.
  const shown = isJsonObject(style) && isJsonObject(style["parameters"]) ? { style } : {};
  if (isAnother) return { ...without(rest, DESCRIBING), ...shown };
  const loosened = loosening(said, own);
  if (!isBuiltin(own)) return { ...loosened, ...shown };
  const isSettled = (key: string) => !isDeepStrictEqual(own[key], base[key]);
  const overridden = Object.entries(loosened).filter(([key]) => isSettled(key));
  return { ...Object.fromEntries(overridden), ...shown };
}

function loosening(said: JsonObject, own: JsonObject): JsonObject {
  const { run, result, detached, questions, enable, options, parameters, access } = said;
  return {
    ...(run === "unattended" && { run }),
    ...(result === "unattended" && { result }),
    ...entryOf(
      "detached",
      pick(detached, (mode) => mode !== "deny"),
    ),
    ...entryOf("questions", pick(questions, mayBeAnsweredByAnother)),
    ...(switchesOn(enable, own) && { enable: { state: true } }),
    ...(options !== undefined && { options }),
    ...(parameters !== undefined && { parameters }),
    ...(access !== undefined && { access }),
  };
}

/** A server is the workspace's own, or one of the person's that is to be another. */
export function serverWeight(said: JsonObject): JsonObject {
  return without(said, ["optional", "startup_timeout_secs"]);
}

/** Where requests go, and with which key. A model server on this machine is as good as ours. */
export function addressWeight(said: JsonObject): JsonObject {
  const { base_url, base_url_env, api_key_env } = said;
  const value = {
    ...(base_url !== undefined && { base_url }),
    ...(base_url_env !== undefined && { base_url_env }),
    ...(api_key_env !== undefined && { api_key_env }),
  };
  return isLoopback(base_url) ? {} : value;
}

const KNOWN_PARAMETERS = [
  "max_tokens",
  "reasoning",
  "temperature",
  "top_p",
  "top_k",
  "stop_words",
  "other",
];

/** What is passed on as it is: a provider may have tools of its own, and reach others by them. */
export function parametersWeight(said: JsonObject): JsonObject {
  const { other } = said;
  return { ...(isJsonObject(other) && other), ...without(said, KNOWN_PARAMETERS) };
}

function mayBeAnsweredByAnother(question: Json): boolean {
  if (!isJsonObject(question)) return false;
  const { answer, target, exclusive } = question;
  const isForModel = isJsonObject(target) && target["type"] === "assistant";
  return answer !== undefined || isForModel || exclusive === false;
}

/** Ours are off at first, and meant to be switched on. */
function switchesOn(enable: Json | undefined, own: JsonObject): boolean {
  const { enable: state } = own;
  const isOff = !isBuiltin(own) && isJsonObject(state) && state["state"] === false;
  return isOff && isJsonObject(enable) && enable["state"] === true;
}

export function isBuiltin({ source }: JsonObject): boolean {
  return typeof source === "string" && source.startsWith("builtin");
}

/** With any path of the workspace's choice a request could be one to any service of this machine. */
function isLoopback(url: Json | undefined): boolean {
  if (typeof url !== "string" || !URL.canParse(url)) return false;
  const { hostname, pathname, search } = new URL(url);
  const isHere =
    hostname === "localhost" || hostname === "[::1]" || /^127(?:\.\d+){3}$/.test(hostname);
  return isHere && search === "" && /^(?:\/api)?(?:\/v1(?:beta)?)?\/?$/.test(pathname);
}

function without(entry: JsonObject, keys: readonly string[]): JsonObject {
  return Object.fromEntries(Object.entries(entry).filter(([key]) => !keys.includes(key)));
}

function pick(table: Json | undefined, isWanted: (value: Json) => boolean): JsonObject {
  if (!isJsonObject(table)) return {};
  return Object.fromEntries(Object.entries(table).filter(([, value]) => isWanted(value)));
}

function entryOf(key: string, table: JsonObject): JsonObject {
  return Object.keys(table).length === 0 ? {} : { [key]: table };
}
