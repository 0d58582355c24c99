/**
 * What a workspace wants to run or reach, in words for the person who is to trust it. One line for each,
 * whatever its names and words hold: none of them can look like a line of ours.
 */
import { type Claim, transportType } from "../config/index.ts";
import { isJsonArray, isJsonObject, type Json } from "../util/index.ts";

/** As in `tool deploy`. */
export function describeClaim({ kind, name }: Claim): string {
  switch (kind) {
    case "tool":
      return name === "*" ? "settings for all tools" : `tool ${wordText(name)}`;
    case "mcp":
      return `MCP server ${wordText(name)}`;
    case "llm":
      return `provider ${wordText(name)}`;
    case "model":
      return `parameters of ${modelText(name)}`;
    case "inherit":
      return "your own config";
  }
}

/** By the keys of what the model belongs to. */
function modelText(name: string): string {
  if (name === "assistant") return "the assistant's model";
  if (name === "conversation.inquiry.assistant") return "the model that answers tools";
  return `the model of ${wordText(name)}`;
}

/** What each would do, below the files that say so. */
export function listClaims(claims: readonly Claim[]): readonly string[] {
  const groups = Map.groupBy(claims, ({ files }) => files.map(fileText).join(", "));
  return [...groups].flatMap(([files, said]) => [
    `${files}:`,
    ...said.map((claim) => `- ${describeClaim(claim)}: ${doings(claim)}`),
  ]);
}

function fileText(name: string): string {
  return name === "conversation" ? "the record of this conversation" : wordText(name);
}

function doings(claim: Claim): string {
  return doingsOf(claim)
    .filter((text) => text !== "")
    .join(", ");
}

function doingsOf({ kind, value, inForce }: Claim): readonly string[] {
  switch (kind) {
    case "tool":
      return [...toolText(value, inForce), ...policyText(value)];
    case "mcp":
      return serverText(inForce);
    case "llm":
      return addressText(inForce);
    case "model":
      return [`requests hold ${jsonText(value)}`];
    case "inherit":
      return ["it is not used here"];
  }
}

type Entry = Claim["value"];

/** Also where only a policy is claimed: what it is for, and not which name it has. */
function toolText(value: Entry, inForce: Entry): readonly string[] {
  const { command, source, options, parameters, style } = inForce;
  const from = typeof source === "string" && source !== "local" ? `from ${wordText(source)}` : "";
  const hasDefaults = JSON.stringify(parameters ?? {}).includes('"default":');
  // Of a tool that is there without the workspace, any other parameters are worth knowing.
  const areTold = value["parameters"] !== undefined && (hasDefaults || !isNew(value));
  return [
    commandText("runs", command),
    command === undefined ? from : "",
    options === undefined ? "" : `with options ${jsonText(options)}`,
    areTold ? `with parameters ${jsonText(parameters)}` : "",
    isJsonObject(style) ? commandText("shows its arguments by", style["parameters"]) : "",
  ];
}

/** The tool itself is the workspace's, and not only what it is allowed. */
function isNew({ source, command }: Entry): boolean {
  return source !== undefined || command !== undefined;
}

function commandText(does: string, command: Json | undefined): string {
  if (!isJsonObject(command)) return "";
  const words = [command["program"], ...list(command["args"])].map(wordText);
  return `${does} ${words.join(" ")}${command["shell"] === true ? " in a shell" : ""}`;
}

/** What it allows without anybody being asked. An answer may be a secret: only that there is one is told. */
function policyText(value: Entry): readonly string[] {
  const { run, result, format, group, enable } = value;
  return [
    ...(isJsonObject(enable) ? enableText(enable) : []),
    run === "unattended" ? "without asking" : run === undefined ? "" : "is not skipped",
    result === "unattended" ? "its results go to the model at once" : "",
    result === "ask" || result === "edit" ? "its results are not skipped" : "",
    format === "unattended" ? "its arguments are formatted before you approve" : "",
    group !== undefined ? `belongs to the group ${wordText(group)}` : "",
    ...(isJsonObject(value["detached"]) ? detachedText(value["detached"]) : []),
    ...(isJsonObject(value["questions"]) ? questionsText(value["questions"]) : []),
  ];
}

function enableText({ state, allow_toggle }: Entry): readonly string[] {
  if (state === true) return [allow_toggle === "never" ? "is always on" : "is switched on"];
  return ["can be switched on or off otherwise"];
}

const DETACHED_TEXTS: Readonly<Record<string, string>> = {
  run: "runs unasked where no terminal is available",
  tool: "a model answers where no terminal is available",
};

function detachedText(detached: Entry): readonly string[] {
  return Object.entries(detached).map(([prompt, mode]) => {
    const text = mode === "auto" ? DETACHED_TEXTS[prompt] : undefined;
    return text ?? `detached.${prompt} is ${wordText(mode)}`;
  });
}

function questionsText(questions: Entry): readonly string[] {
  const asked = Object.entries(questions);
  const having = (does: string, key: string, ending = "") => {
    const ids = asked
      .filter(([, question]) => isJsonObject(question) && question[key] !== undefined)
      .map(([id]) => wordText(id));
    return ids.length === 0 ? "" : `${does} ${ids.join(", ")}${ending}`;
  };
  const routed = asked.filter(
    ([, question]) =>
      isJsonObject(question) && (isForModel(question["target"]) || question["exclusive"] === false),
  );
  return [
    having("answers", "answer", " for you"),
    routed.length === 0
      ? ""
      : `lets a model answer ${routed.map(([id]) => wordText(id)).join(", ")}`,
    having("changes the label of", "prompt_label"),
  ];
}

function isForModel(target: Json | undefined): boolean {
  return isJsonObject(target) && target["type"] === "assistant";
}

/** As it will be reached: what is written beside it does not count. */
function serverText(server: Entry): readonly string[] {
  const { url, command, variables, headers, allow_secrets, allow_sampling } = server;
  const isHttp = transportType(server) === "http";
  const sent = isJsonObject(headers) ? Object.entries(headers).map(headerText) : [];
  const seen = list(variables).map(wordText);
  return [
    isHttp ? `reaches ${wordText(url)}` : "",
    isHttp ? "" : `runs ${[command, ...list(server["arguments"])].map(wordText).join(" ")}`,
    isHttp && sent.length > 0 ? `sends ${sent.join(" and ")}` : "",
    !isHttp && seen.length > 0 ? `sees ${seen.join(" and ")}` : "",
    allow_secrets === true ? "may ask for secrets" : "",
    allow_sampling === true ? "may put prompts to your model" : "",
  ];
}

/** Its value may be a token; which variables are in it may be known. */
function headerText([name, value]: readonly [string, Json]): string {
  const variables = typeof value === "string" ? (value.match(/\$\{?\w+\}?/g) ?? []) : [];
  return variables.length === 0 ? wordText(name) : `${wordText(name)} (${variables.join(", ")})`;
}

function addressText({ base_url, base_url_env, api_key_env }: Entry): readonly string[] {
  return [
    base_url === undefined ? "" : `requests go to ${wordText(base_url)}`,
    base_url_env === undefined ? "" : `or where ${wordText(base_url_env)} says`,
    api_key_env === undefined ? "" : `the key is ${wordText(api_key_env)}`,
  ];
}

function list(value: Json | undefined): readonly Json[] {
  return isJsonArray(value) ? value : [];
}

/** In quotes unless it is plain: a space, a quote or a line break cannot end it. */
function wordText(value: Json | undefined): string {
  const text = typeof value === "string" ? value : JSON.stringify(value ?? null);
  return /^[\w@%+=:,./{}*-]+$/.test(text) ? text : jsonText(text);
}

function jsonText(value: Json | undefined): string {
  return JSON.stringify(value ?? null);
}
