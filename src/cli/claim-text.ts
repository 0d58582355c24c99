/** What a workspace wants to run or reach, in words for the person who is to trust it. */
import type { Claim } from "../config/index.ts";
import { isJsonObject, type Json } from "../util/index.ts";

const KINDS: Readonly<Record<Claim["kind"], string>> = {
  tool: "tool",
  mcp: "MCP server",
  llm: "provider",
};

/** As in `tool deploy`. */
export function describeClaim({ kind, name }: Claim): string {
  return name === "*" ? "settings for all tools" : `${KINDS[kind]} ${name}`;
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
  return name === "conversation" ? "the record of this conversation" : name;
}

function doings(claim: Claim): string {
  const { value } = claim;
  switch (claim.kind) {
    case "tool":
      return [commandText(value["command"]), sourceText(value["source"]), ...policies(claim)]
        .filter((text) => text !== "")
        .join(", ");
    case "mcp":
      return value["url"] === undefined
        ? `runs ${[value["command"], ...list(value["arguments"])].map(wordText).join(" ")}`
        : `reaches ${wordText(value["url"])}`;
    case "llm":
      return [
        value["base_url"] === undefined ? "" : `requests go to ${wordText(value["base_url"])}`,
        value["base_url_env"] === undefined
          ? ""
          : `or where ${wordText(value["base_url_env"])} says`,
        value["api_key_env"] === undefined ? "" : `the key is ${wordText(value["api_key_env"])}`,
      ]
        .filter((text) => text !== "")
        .join(", ");
  }
}

function commandText(command: Json | undefined): string {
  if (!isJsonObject(command)) return "";
  const words = [command["program"], ...list(command["args"])].map(wordText);
  return `runs ${words.join(" ")}`;
}

function sourceText(source: Json | undefined): string {
  return typeof source === "string" && source.startsWith("mcp.") ? `from ${source}` : "";
}

/** What it allows without anybody being asked. An answer may be a secret: only that there is one is told. */
function policies({ value }: Claim): readonly string[] {
  const { run, detached, questions } = value;
  const asked = isJsonObject(questions) ? Object.entries(questions) : [];
  const answered = asked.filter(([, question]) => isJsonObject(question) && "answer" in question);
  return [
    run === "unattended" ? "without asking" : "",
    isJsonObject(detached) && detached["run"] === "auto" ? "also when nobody is there" : "",
    answered.length === 0 ? "" : `answers ${answered.map(([id]) => id).join(", ")} for you`,
  ];
}

function list(value: Json | undefined): readonly Json[] {
  return Array.isArray(value) ? (value as readonly Json[]) : [];
}

function wordText(value: Json | undefined): string {
  const text = typeof value === "string" ? value : JSON.stringify(value ?? null);
  return /^[\w@%+=:,./{}-]+$/.test(text) ? text : JSON.stringify(text);
}
