/**
 * Describes claims to the user who is asked to trust them. Each takes one line, regardless of its names and values, so
 * that none can imitate jp's own lines. Instructions are quoted below theirs, with a prefix on each line.
 */
import { isForModel } from "./answering.ts";
import { findAttachment, transportType } from "../config/index.ts";
import { isJsonArray, isJsonObject, type Json, type JsonObject } from "../../util/index.ts";
import type { Claim } from "./claims.ts";

/** Such as `tool deploy`. */
export function describeClaim({ kind, name, path }: Claim): string {
  switch (kind) {
    case "tool":
      return name === "*" ? "settings for all tools" : `tool ${wordText(name)}`;
    case "mcp":
      return `MCP server ${wordText(name)}`;
    case "llm":
      return `provider ${wordText(name)}`;
    case "model":
      return `parameters of ${modelText(name)}`;
    case "notify":
      return "notifications";
    case "attachment":
      return `attachment ${wordText(name)}`;
    case "editor":
      return "your editor";
    case "interrupt":
      return "what Ctrl-C does";
    case "user":
      return "your name";
    case "inherit":
      return "your own config";
    case "surroundings":
      return "what models are told of this machine";
    case "display":
      return "tool calls";
    case "instructions":
      return `instructions in ${wordText(name)}`;
    case "command":
      return `command ${wordText(name)}`;
    case "assistant":
      return name === "assistant"
        ? "the assistant, which may answer questions of your tools"
        : "the model that answers questions of your tools";
    case "alias":
      return `your short name ${wordText(name)} for a model`;
    case "setting":
      return wordText(name);
    case "program":
      return `program ${programText(path)}`;
  }
}

/** `path` has the keys of the setting that names it; empty for a variable that names the editor. */
function programText([table, , name]: readonly string[]): string {
  if (table === "providers") return `of the MCP server ${wordText(name ?? "")}`;
  return table === "notify" ? "for notifications" : "that is your editor";
}

/** `name` has the keys of the model's owner. */
function modelText(name: string): string {
  if (name === "assistant") return "the assistant's model";
  if (name === "conversation.inquiry.assistant") return "the model that answers questions";
  return `the model of ${wordText(name)}`;
}

/** Lists the effects of each claim, below the files that make it. */
export function listClaims(claims: readonly Claim[]): readonly string[] {
  const groups = Map.groupBy(claims, ({ files }) => files.map(fileText).join(", "));
  return [...groups].flatMap(([files, listed]) => [
    `${files}:`,
    ...listed.flatMap((claim) => {
      const effects = effectsOf(claim).filter((text) => text !== "");
      const quoted = quotedText(claim);
      const end = quoted.length > 0 ? ":" : "";
      return [`- ${describeClaim(claim)}: ${effects.join(", ")}${end}`, ...quoted];
    }),
  ]);
}

function fileText(name: string): string {
  return name === "conversation" ? "the record of this conversation" : wordText(name);
}

function effectsOf({ kind, name, value, inForce, replaced }: Claim): readonly string[] {
  switch (kind) {
    case "tool":
      return [...toolText(value, inForce), ...policyText(value)];
    case "mcp":
      return [...serverText(inForce), ...replacedText(replaced)];
    case "llm":
      return addressText(inForce);
    case "model":
      return [`sends ${jsonText(value)} with requests`];
    case "notify":
      return notifyText(value, inForce);
    case "attachment":
      return [attachmentText(name)];
    case "editor":
      return editorText(value);
    case "interrupt":
      return interruptText(value);
    case "user":
      return [`is ${wordText(value["name"])}, who answers what is meant for them alone`];
    case "inherit":
      return ["is ignored here"];
    case "surroundings":
      return [`also ${Object.keys(value).map(wordText).join(", ")}`];
    case "display":
      return ["are hidden from you"];
    case "instructions":
    case "command":
      return [
        `${textIn(inForce, "content").length} characters for the model`,
        kind === "command" ? "sent as your message when you type its name" : "",
        inForce["isCut"] === true ? "and the rest of the file left out" : "",
        inForce["changes"] === undefined ? "" : "changed since you trusted it",
      ];
    case "assistant":
      return assistantText(value);
    case "alias":
      return [`means ${modelIdText(value["value"] ?? null)}`];
    case "setting":
      return [`is ${settingText(value["value"])}`];
    case "program":
      return [`your PATH leads from ${wordText(value["command"])} to this file of the workspace`];
  }
}

function settingText(value: Json | undefined): string {
  return isJsonArray(value) ? value.map(wordText).join(", ") : wordText(value);
}

/** Quotes the whole instructions, or their changes. The prefix keeps them from looking like a claim. */
function quotedText({ kind, inForce }: Claim): readonly string[] {
  if (kind !== "instructions" && kind !== "command") return [];
  const { changes } = inForce;
  const lines = changes === undefined ? textIn(inForce, "content").split("\n") : list(changes);
  return lines.map((line) => `  | ${typeof line === "string" ? line : ""}`);
}

function textIn(entry: Entry, key: string): string {
  const text = entry[key];
  return typeof text === "string" ? text : "";
}

type Entry = Claim["value"];

/** Shows the whole prompt: a part of it says too little. */
function assistantText({ model, ...texts }: Entry): readonly string[] {
  const { id } = isJsonObject(model) ? model : {};
  return [
    id === undefined ? "" : `uses ${modelIdText(id)}`,
    ...Object.entries(texts).map(([key, text]) => {
      const written = isJsonObject(text) && text["value"] !== undefined ? text["value"] : text;
      return `${key} is ${jsonText(written)}`;
    }),
  ];
}

function modelIdText(id: Json): string {
  if (!isJsonObject(id)) return wordText(id);
  const { provider, name } = id;
  return wordText(`${wordText(provider)}/${wordText(name)}`);
}

/** Describes the tool even if only its policy is claimed: a name alone says too little. */
function toolText(value: Entry, inForce: Entry): readonly string[] {
  const { command, source, options, parameters, style } = inForce;
  const from = typeof source === "string" && source !== "local" ? `from ${wordText(source)}` : "";
  const hasDefaults = JSON.stringify(parameters ?? {}).includes('"default":');
  // Changed parameters of a tool that does not come with the workspace are always shown.
  const areShown = value["parameters"] !== undefined && (hasDefaults || !isNew(value));
  return [
    commandText("runs", command),
    command === undefined ? from : "",
    options === undefined ? "" : `with options ${jsonText(options)}`,
    areShown ? `with parameters ${jsonText(parameters)}` : "",
    isJsonObject(style) ? commandText("formats its arguments with", style["parameters"]) : "",
  ];
}

/** The tool itself comes with the workspace, not just a policy for it. */
function isNew({ source, command }: Entry): boolean {
  return source !== undefined || command !== undefined;
}

function commandText(does: string, command: Json | undefined): string {
  if (!isJsonObject(command)) return "";
  const words = [command["program"], ...list(command["args"])].map(wordText);
  return `${does} ${words.join(" ")}${command["shell"] === true ? " in a shell" : ""}`;
}

/** Lists what it allows without asking. Answers are hidden, because they may be secret. */
function policyText(value: Entry): readonly string[] {
  const { run, result, format, group, enable, timeout_secs } = value;
  return [
    ...(isJsonObject(enable) ? enableText(enable) : []),
    run === "unattended" ? "without asking" : run === undefined ? "" : "is no longer skipped",
    result === "unattended" ? "sends its results to the model without asking" : "",
    result === "ask" || result === "edit" ? "no longer skips its results" : "",
    format === "unattended" ? "formats its arguments before you approve" : "",
    ...(isJsonObject(value["policy"]) ? rulesText(value["policy"]) : []),
    isJsonObject(value["target"])
      ? `lets ${peopleText(value["target"]) ?? "you"} decide about its calls`
      : "",
    value["effect"] === "reads" ? "counts as a tool that changes nothing" : "",
    value["effect"] === "edits" ? "counts as a tool that edits files of the workspace" : "",
    group !== undefined ? `joins the group ${wordText(group)}` : "",
    timeout_secs === undefined ? "" : timeoutText(timeout_secs),
    value["idempotent"] === true ? "runs again without asking if jp stopped during a call" : "",
    value["check"] === true ? "decides itself if jp stopped during a call" : "",
    ...ignoredText(list(value["subject_ignore"])),
    ...(isJsonObject(value["style"]) ? styleText(value["style"]) : []),
    ...(isJsonObject(value["detached"]) ? detachedText(value["detached"]) : []),
    ...(isJsonObject(value["questions"]) ? questionsText(value["questions"], isNew(value)) : []),
  ];
}

const RULED = {
  run: "runs without asking",
  result: "sends its results to the model without asking",
} as const;

function rulesText(policy: Entry): readonly string[] {
  return (["run", "result"] as const).flatMap((of) => {
    const entry = policy[of];
    if (!isJsonObject(entry)) return [];
    const rules = list(entry["rules"]).filter(isJsonObject);
    const plain = entry["mode"] === "unattended" ? [RULED[of]] : [];
    const ruled = rules.flatMap(({ mode, ...rule }) => {
      if (mode === "unattended") return [`${RULED[of]} by the rule ${jsonText(rule)}`];
      const { target } = rule;
      if (!isJsonObject(target)) return [];
      return [`lets ${peopleText(target) ?? "you"} decide by the rule ${jsonText(rule)}`];
    });
    return [...plain, ...ruled];
  });
}

function ignoredText(files: readonly Json[]): readonly string[] {
  if (files.length === 0) return [];
  return [`runs what you approved although ${files.map(wordText).join(", ")} may have changed`];
}

function timeoutText(seconds: Json): string {
  return seconds === 0 ? "without a time limit" : `may take up to ${wordText(seconds)} seconds`;
}

function enableText({ state, allow_toggle }: Entry): readonly string[] {
  if (state === true) return [allow_toggle === "never" ? "is always on" : "is switched on"];
  return ["changes how it can be switched on or off"];
}

/** A formatting command is shown with the tool's own command. */
function styleText({ hidden, header, inline_results, error }: Entry): readonly string[] {
  const isChat = inline_results !== undefined || error !== undefined;
  return [
    hidden === true || header !== undefined ? "hides its calls from you" : "",
    isChat ? "shows what it tells you as the assistant's words" : "",
  ];
}

const DETACHED_TEXTS: Readonly<Record<string, string>> = {
  run: "runs without asking when no terminal is available",
  tool: "lets a model answer when no terminal is available",
};

function detachedText(detached: Entry): readonly string[] {
  return Object.entries(detached).map(([prompt, mode]) => {
    const text = mode === "auto" ? DETACHED_TEXTS[prompt] : undefined;
    return text ?? `detached.${prompt} is ${wordText(mode)}`;
  });
}

function questionsText(questions: Entry, isOfNewTool: boolean): readonly string[] {
  const asked = Object.entries(questions);
  const having = (does: string, key: string, ending = "") => {
    const ids = asked
      .filter(([, question]) => isJsonObject(question) && question[key] !== undefined)
      .map(([id]) => wordText(id));
    return ids.length === 0 ? "" : `${does} ${ids.join(", ")}${ending}`;
  };
  const routed = asked.filter(([, question]) => isForModel(question));
  return [
    having("answers", "answer", " for you"),
    routed.length === 0
      ? ""
      : `lets a model answer ${routed.map(([id]) => wordText(id)).join(", ")}`,
    ...asked.map(([id, question]) => personText(id, question, isOfNewTool)),
    having("changes the label of", "prompt_label"),
    having("limits how long you have to answer", "deadline"),
    having("decides", "on_timeout", " if you do not answer in time"),
  ];
}

function personText(id: string, question: Json, isOfNewTool: boolean): string {
  const target = isJsonObject(question) ? question["target"] : undefined;
  if (!isJsonObject(target)) return "";
  const { type } = target;
  const people = peopleText(target);
  if (people !== undefined) return `lets only ${people} answer ${wordText(id)}`;
  return type === "user" && !isOfNewTool ? `lets you answer ${wordText(id)}` : "";
}

/** Undefined if anyone who is asked may decide. People who are asked later follow. */
function peopleText({ next, ...first }: JsonObject): string | undefined {
  const later = list(next).flatMap((each) => (isJsonObject(each) ? [each] : []));
  if (later.length === 0) return namedText(first);
  return [first, ...later].map((each) => namedText(each) ?? "anyone").join(", then ");
}

function namedText({ user, any }: JsonObject): string | undefined {
  if (user !== undefined) return wordText(user);
  const names = list(any).flatMap((each) => {
    if (!isJsonObject(each)) return [];
    const { user: name, role } = each;
    return role === undefined ? [wordText(name)] : [`those with the role ${wordText(role)}`];
  });
  return names.length === 0 ? undefined : names.join(" or ");
}

/** Shows only what applies to its transport. */
function serverText(server: Entry): readonly string[] {
  const { url, command, variables, headers, oauth, allow_secrets, allow_sampling } = server;
  const login = isJsonObject(oauth) ? oauth["authorization_server"] : undefined;
  const isHttp = transportType(server) === "http";
  const sent = isJsonObject(headers) ? Object.entries(headers).map(headerText) : [];
  const seen = list(variables).map(wordText);
  return [
    isHttp ? `reaches ${wordText(url)}` : "",
    isHttp ? "" : `runs ${[command, ...list(server["arguments"])].map(wordText).join(" ")}`,
    isHttp && sent.length > 0 ? `sends ${sent.join(" and ")}` : "",
    isHttp && login !== undefined ? `logs you in at ${wordText(login)}` : "",
    !isHttp && seen.length > 0 ? `sees ${seen.join(" and ")}` : "",
    allow_secrets === true ? "may ask for secrets" : "",
    allow_sampling === true ? "may send prompts to your model" : "",
  ];
}

function replacedText(replaced: Claim["replaced"]): readonly string[] {
  if (replaced === undefined) return [];
  const { isAnother, runningTools } = replaced;
  const tools = runningTools.map(wordText).join(", ");
  return [
    isAnother ? "replaces your own server of this name" : "changes your own server of this name",
    tools === "" ? "" : `gets the calls of your tools that you let run without asking (${tools})`,
  ];
}

/** Shows only the variables in the value, which may be a token. */
function headerText([name, value]: readonly [string, Json]): string {
  const variables = typeof value === "string" ? (value.match(/\$\{?\w+\}?/g) ?? []) : [];
  return variables.length === 0 ? wordText(name) : `${wordText(name)} (${variables.join(", ")})`;
}

function addressText({ base_url, base_url_env, api_key_env }: Entry): readonly string[] {
  return [
    base_url === undefined ? "" : `requests go to ${wordText(base_url)}`,
    base_url_env === undefined ? "" : `or to the address in ${wordText(base_url_env)}`,
    api_key_env === undefined ? "" : `with the key in ${wordText(api_key_env)}`,
  ];
}

/** Names what it changes, and shows each channel as it would be in force. */
function notifyText(value: Entry, inForce: Entry): readonly string[] {
  const { content, link, debounce_secs } = value;
  const channel = (name: string) =>
    isJsonObject(value[name]) && isJsonObject(inForce[name]) ? inForce[name] : undefined;
  const [command, webhook, email] = ["command", "webhook", "email"].map(channel);
  return [
    content === undefined ? "" : `content is ${wordText(content)}`,
    link === undefined ? "" : `links lead to ${wordText(link)}`,
    debounce_secs === undefined ? "" : `wait ${wordText(debounce_secs)} seconds`,
    commandText("run", command),
    webhook === undefined
      ? ""
      : `go to ${wordText(webhook["url"])}, signed with ${wordText(webhook["secret_env"])}`,
    email === undefined ? "" : "go by e-mail, which jp does not send",
  ];
}

function editorText({ cmd, envs }: Entry): readonly string[] {
  return [
    typeof cmd === "string" ? `runs ${jsonText(cmd)}` : commandText("runs", cmd),
    envs === undefined ? "" : `is named by ${list(envs).map(wordText).join(", ")}`,
  ];
}

function interruptText({ streaming, tool_call, escalation_cooldown_secs: cooldown }: Entry) {
  const doing = (during: string, settings: Json | undefined) =>
    isJsonObject(settings) ? `${during}: ${wordText(settings["action"])}` : "";
  return [
    doing("during a reply", streaming),
    doing("while tools run", tool_call),
    cooldown === undefined
      ? ""
      : `a second one ends the turn only within ${wordText(cooldown)} seconds`,
  ];
}

/** In every case, its content goes to the model. */
function attachmentText(uri: string): string {
  const source = findAttachment(uri);
  switch (source?.type) {
    case "command":
      return `runs ${[source.program, ...source.args].map(wordText).join(" ")} and sends its output to the model`;
    case "page":
      return `loads ${wordText(source.url)} and sends it to the model`;
    case "resource":
      return `reads ${wordText(source.uri)} from the MCP server ${wordText(source.server)} and sends it to the model`;
    case "file":
      return "may contain passwords or keys, and is sent to the model";
    case undefined:
      return "is of an unknown kind";
  }
}

function list(value: Json | undefined): readonly Json[] {
  return isJsonArray(value) ? value : [];
}

/** Quotes everything except plain words, so that no space, quote or line break can end it. */
function wordText(value: Json | undefined): string {
  const text = typeof value === "string" ? value : JSON.stringify(value ?? null);
  return /^[\w@%+=:,./{}*-]+$/.test(text) ? text : jsonText(text);
}

function jsonText(value: Json | undefined): string {
  return JSON.stringify(value ?? null);
}
