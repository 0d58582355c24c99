/** `jp inquiry export --answers`: exports a conversation's answers and decisions as a file for `jp query`. */
import { writeFile } from "node:fs/promises";
import path from "node:path";
import { isDeepStrictEqual } from "node:util";
import { parseToml } from "../../settings/config/index.ts";
import {
  cancellationTag,
  type ConversationEvent,
  describeWhom,
  type InquiryRequest,
  type InquiryResponse,
  isForSome,
  pairInquiries,
  type PermissionDecision,
  type RecordedTurn,
  type ToolCallRequest,
} from "../../record/conversation/index.ts";
import {
  isJsonArray,
  isJsonObject,
  JpError,
  type Json,
  jsonLine,
  type JsonObject,
  oneLine,
  systemErrorCode,
} from "../../util/index.ts";
import { resolveTargetForReading } from "../conversations.ts";
import type { Call } from "../define.ts";
import { usageError } from "../exit-status.ts";
import { selectTurns } from "./conversation/print.ts";
import type { EXPORT_ANSWERS } from "./options.ts";

export async function exportAnswers({
  args,
  options,
  context,
}: Call<typeof EXPORT_ANSWERS>): Promise<void> {
  const { answers } = options;
  if (answers === undefined) {
    throw usageError("--answers is required.", "It writes a file for `jp query --answers`.");
  }
  const { id } = await resolveTargetForReading(context, args[0]);
  const items: Item[] = [];
  for await (const turns of selectTurns(id, options, context)) {
    for (const turn of turns) items.push(...itemsOf(turn));
  }
  const lines = [`# The answers in ${id}, in the order given.`, ...HEADER];
  for (const item of countRepeats(items)) lines.push("", ...(await toLines(item)));
  const { output, cwd } = context;
  if (answers === true) for (const line of lines) output.print(line);
  else await createFile(path.resolve(cwd, answers), `${lines.join("\n")}\n`);
}

const HEADER = [
  "# An entry matches exactly these arguments. Delete exact to allow others, and text or arguments to match more.",
];

/** Throws `file_not_written`: never overwrites a file, which someone may have edited. */
async function createFile(file: string, text: string): Promise<void> {
  try {
    await writeFile(file, text, { flag: "wx" });
  } catch (cause) {
    const reason = systemErrorCode(cause) ?? "";
    throw new JpError("file_not_written", `${file} could not be written: ${reason}.`, {
      cause,
      ...(reason === "EEXIST" && { hint: "Choose another name, or delete it first." }),
    });
  }
}

/** An entry, or a comment where an entry is not possible. */
type Item =
  | {
      readonly section: "answers" | "permissions" | "deliveries";
      /** The conditions under which it applies. */
      readonly match: JsonObject;
      readonly given: JsonObject;
      readonly comment?: string;
    }
  | { readonly section: "none"; readonly comment: string };

function itemsOf({ events }: RecordedTurn): readonly Item[] {
  const responses = new Map(
    pairInquiries(events).pairs.map(({ request, response }) => [request, response]),
  );
  /** Requests that were asked again. */
  const voids = new Set<string>(
    events.flatMap((each) => (each.type === "decision_void" ? each.id : [])),
  );
  /** Each call with the arguments it ran with. */
  const calls = new Map<string, ToolCallRequest>();
  const items: Item[] = [];
  for (const event of events) {
    if (event.type === "tool_call_request") calls.set(event.id, event);
    const call = calls.get(callOf(event));
    if (call === undefined || ("id" in event && voids.has(event.id ?? ""))) continue;
    if (event.type === "inquiry_request") {
      items.push(...answerItem(call, event, responses.get(event)));
    }
    if (event.type === "permission_request" && event.arguments !== undefined) {
      calls.set(call.id, { ...call, arguments: event.arguments }); // With defaults.
    }
    if (event.type === "permission_decision") {
      items.push(...decisionItem(call, event));
      if (event.arguments === undefined) continue;
      calls.set(call.id, { ...call, arguments: event.arguments });
    }
  }
  return items;
}

function callOf(event: ConversationEvent): string {
  return "toolCallId" in event ? (event.toolCallId ?? "") : "";
}

function answerItem(
  { name: tool, arguments: args }: ToolCallRequest,
  request: InquiryRequest,
  response: InquiryResponse | undefined,
): readonly Item[] {
  const {
    id,
    question: { text },
    questionId: question = id,
  } = request;
  const match = { tool, question, text, arguments: args };
  if (response?.outcome === "answered") {
    const { answer, note } = response;
    const given = { answer, ...(note !== undefined && { note }) };
    const comment = `Only ${describeWhom(request)} may answer this. With this entry, you answer instead.`;
    return [{ section: "answers", match, given, ...(isForSome(request) && { comment }) }];
  }
  if (response?.outcome === "redacted") {
    const variable = `${tool}_${question}`.toUpperCase().replaceAll(/[^A-Z0-9]+/g, "_");
    const comment = "Secrets are not recorded. Set this variable, or name another.";
    const given = { secret_env: `JP_SECRET_${variable}` };
    return [{ section: "answers", match, given, comment }];
  }
  const why = response === undefined ? "" : `: ${cancellationTag(response.reason)}`;
  return [noEntry(`${tool} asked ${question} ${JSON.stringify(text)} and got no answer${why}.`)];
}

function decisionItem(
  { name: tool, arguments: args }: ToolCallRequest,
  { action, decision, decidedBy, reason }: PermissionDecision,
): readonly Item[] {
  // With the file, a run still applies the tool's own settings, so only what they leave open needs an entry.
  const isSettled = decidedBy.kind === "policy" && !decidedBy.key.includes(".detached.");
  if (isSettled || action === "rerun") return [];
  const isRun = action === "run";
  if (decision === "edited") {
    const what = isRun ? "the arguments" : "the result";
    return [noEntry(`A person edited ${what} of ${tool}, which a file cannot do.`)];
  }
  const given =
    decision === "approved"
      ? { decision: "approve" }
      : { decision: "deny", ...(reason !== undefined && { reason }) };
  const match = { tool, arguments: args };
  return [{ section: isRun ? "permissions" : "deliveries", match, given }];
}

function noEntry(comment: string): Item {
  return { section: "none", comment: `No entry: ${comment}` };
}

type CountedItem = Item & { readonly times: number };

/** A later entry for the same question is only needed if its answer differs. */
function countRepeats(items: readonly Item[]): readonly CountedItem[] {
  const counted: CountedItem[] = [];
  for (const item of items) {
    const position = counted.findLastIndex((earlier) => isAlike(earlier, item));
    const earlier = counted[position];
    const isRepeated =
      item.section !== "none" &&
      earlier?.section === item.section &&
      isDeepStrictEqual(earlier.given, item.given);
    if (isRepeated) counted[position] = { ...earlier, times: earlier.times + 1 };
    else counted.push({ ...item, times: 1 });
  }
  return counted;
}

function isAlike(one: Item, other: Item): boolean {
  return (
    one.section !== "none" &&
    one.section === other.section &&
    isDeepStrictEqual(one.match, other.match)
  );
}

async function toLines(item: CountedItem): Promise<readonly string[]> {
  if (item.section === "none") return [toComment(item.comment)];
  const { section, match, given, comment, times } = item;
  const values = { ...match, exact: true, ...given, ...(times > 1 && { times }) };
  if (!(await isWritable(values))) {
    // Leaving out the value would make the entry match other calls too.
    return [toComment(`No entry: TOML cannot hold what ${jsonLine(match["tool"])} was given.`)];
  }
  const note = comment === undefined ? [] : [toComment(comment)];
  return [`[[${section}]]`, ...note, ...toAssignments(values)];
}

/** Names come from models and tools, and must not break out of the comment. */
function toComment(text: string): string {
  return `# ${oneLine(text)}`;
}

/** TOML has no null, and lacks some numbers and texts. */
async function isWritable(values: JsonObject): Promise<boolean> {
  try {
    const read = await parseToml(toAssignments(values).join("\n"));
    return isDeepStrictEqual(JSON.parse(JSON.stringify(read)), JSON.parse(JSON.stringify(values)));
  } catch {
    return false;
  }
}

function toAssignments(values: JsonObject): readonly string[] {
  return Object.entries(values).map(([key, value]) => `${toTomlKey(key)} = ${toToml(value)}`);
}

function toToml(value: Json): string {
  if (isJsonArray(value)) return `[${value.map(toToml).join(", ")}]`;
  if (!isJsonObject(value)) return jsonLine(value); // TOML has the same escapes.
  const members = toAssignments(value).join(", ");
  return members === "" ? "{}" : `{ ${members} }`;
}

function toTomlKey(key: string): string {
  return /^[\w-]+$/.test(key) ? key : jsonLine(key);
}
