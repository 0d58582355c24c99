/** Checks the record and the effects of calls that were decided about, changed, and were decided about again. */
import { existsSync, readFileSync, realpathSync } from "node:fs";
import path from "node:path";
import { isDeepStrictEqual } from "node:util";
import {
  canonicalJson,
  isJsonObject,
  type Json,
  type JsonObject,
  sha256,
} from "../../src/util/index.ts";
import { provenBy, readChainText } from "./check-chain.ts";
import { leftOpen, parseRecord } from "./check-record.ts";
import type { Workplace } from "./place.ts";
import { conversationFolders } from "./round.ts";
import type { TurnRun } from "./turn-process.ts";

/** Problems, as sentences. The last of the runs has ended the turn. */
export function problemsOfDecisions(place: Workplace, runs: readonly TurnRun[]): readonly string[] {
  const folders = conversationFolders(place);
  const [folder, ...others] = folders;
  if (folder === undefined || others.length > 0) return [`there are ${folders.length} records`];
  const elements = parseRecord(readFileSync(path.join(folder, "events.json"), "utf8"));
  if (elements === undefined) return ["the record is no JSON array of objects"];
  return [
    ...lost(elements, runs),
    ...leftOpen(elements),
    ...decidedTwice(elements),
    ...wrongEffects(place, elements),
  ];
}

/** What was acknowledged is on record, in order. */
function lost(elements: readonly JsonObject[], runs: readonly TurnRun[]): readonly string[] {
  let from = 0;
  const events = runs.flatMap(({ recorded }) => recorded);
  const gone = events.filter((event) => {
    const at = elements.findIndex((each, index) => index >= from && isDeepStrictEqual(each, event));
    if (at !== -1) from = at + 1;
    return at === -1;
  });
  const answered = new Set(elements.filter(isAnswer).map(({ id }) => id));
  const unanswered = runs.flatMap((run) => run.answered).filter((id) => !answered.has(id));
  return [
    ...gone.map((event) => `lost: ${JSON.stringify(event)}`),
    ...unanswered.map((id) => `the answer to ${id} is lost`),
  ];
}

/** Of each request there is one answer at most, of which one void at most, which is asked again once. */
function decidedTwice(elements: readonly JsonObject[]): readonly string[] {
  const answers = elements.filter(isAnswer).flatMap(({ id }) => (id === undefined ? [] : [id]));
  const voids = ofType(elements, "decision_void").map(({ id }) => id);
  const replaced = elements.flatMap(({ replaces }) => (replaces === undefined ? [] : [replaces]));
  const requests = elements.filter(isRequest).map(({ id }) => id);
  return [
    ...twice(answers).map((id) => `${id} was answered twice`),
    ...twice(voids).map((id) => `${id} was made void twice`),
    ...twice(replaced).map((id) => `${id} was asked again twice`),
    ...twice(requests).map((id) => `${id} was asked twice`),
    ...voids
      .filter((id) => !replaced.includes(id ?? ""))
      .map((id) => `${JSON.stringify(id)} was not asked again`),
  ];
}

function twice(ids: readonly (Json | undefined)[]): readonly string[] {
  return ids.filter((id, index) => ids.indexOf(id) !== index).map(String);
}

interface Effect {
  readonly tool: string;
  readonly version: string;
  /** How many lines the chain of decisions had when it ran. */
  readonly lines: number;
}

/** Each call has run once, and what ran is what someone has said yes to, which the chain could prove by then. */
function wrongEffects(place: Workplace, elements: readonly JsonObject[]): readonly string[] {
  const file = path.join(place.notes, "effects");
  const lines = existsSync(file) ? readFileSync(file, "utf8").split("\n").filter(Boolean) : [];
  const effects = lines.map((line): Effect => {
    const [tool = "", version = "", count = ""] = line.split(" ");
    return { tool, version, lines: Number(count) };
  });
  const counts = ["ship", "pack"].flatMap((tool) => {
    const count = effects.filter((effect) => effect.tool === tool).length;
    return count === 1 ? [] : [`${tool} has run ${count} times`];
  });
  // The scripts have changed before anything could run.
  const old = effects.filter(({ version }) => version !== "new");
  const approved = approvedFiles(elements);
  const unapproved = effects.filter(({ tool }) => !approved.includes(currentPart(place, tool)));
  const chain = readChainText(place).split("\n");
  const unproven = effects.filter(({ tool, lines: count }) => {
    const proven = provenBy(chain.slice(0, count), elements);
    return !approvedFiles(proven).includes(currentPart(place, tool));
  });
  return [
    ...counts,
    ...old.map(({ tool }) => `${tool} has run as it was before`),
    ...unapproved.map(({ tool }) => `${tool} has run on a decision about something else`),
    ...unproven.map(({ tool }) => `${tool} has run before the chain could prove who said yes`),
  ];
}

/** The part of a subject that has the script as it is now. */
function currentPart({ root }: Workplace, tool: string): string {
  const script = realpathSync(path.join(root, `${tool}.sh`));
  const file = [{ path: script, sha256: sha256(readFileSync(script)) }];
  return sha256(canonicalJson(file)).slice(0, 16);
}

/** The same part of each subject that someone has said yes to, unless that is void. */
function approvedFiles(elements: readonly JsonObject[]): readonly unknown[] {
  const voids = new Set(ofType(elements, "decision_void").map(({ id }) => id));
  const approved = elements.filter(
    (element) => isAnswer(element) && isYes(element) && !voids.has(element["id"]),
  );
  // A doubt that no process has asked about has no request of its own.
  const digests = new Set(approved.map(({ digest }) => digest));
  return elements.filter(isRequest).flatMap(({ digest, subject_parts: parts }) => {
    const isApproved = digest !== undefined && digests.has(digest);
    return isApproved && isJsonObject(parts) ? [parts["file"]] : [];
  });
}

function isYes({ type, decision, answer }: JsonObject): boolean {
  return type === "permission_decision" ? decision === "approved" : answer === true;
}

function isAnswer({ type }: JsonObject): boolean {
  return type === "permission_decision" || type === "inquiry_response";
}

function isRequest({ type }: JsonObject): boolean {
  return type === "permission_request" || type === "inquiry_request";
}

function ofType(elements: readonly JsonObject[], wanted: string): readonly JsonObject[] {
  return elements.filter(({ type }) => type === wanted);
}
