/** Checks the chain of decisions, from the files alone: what has counted could be proven then, and still can. */
import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { verify as verifyAlone } from "../../examples/evidence-verifier/verify.ts";
import {
  commitTo,
  type ConversationId,
  isDecisive,
  parseConversationId,
  StreamEntry,
} from "../../src/record/conversation/index.ts";
import { exportEvidence, verifyEvidence } from "../../src/proof/index.ts";
import { generateSigner } from "../../src/proof/machine-key.ts";
import { type ConversationStore, openWorkspace } from "../../src/stores/index.ts";
import { isJsonObject, type JsonObject, parseJson, systemClock } from "../../src/util/index.ts";
import type { Workplace } from "./place.ts";
import { conversationFolders, conversationOf } from "./round.ts";
import type { TurnRun } from "./turn-process.ts";

const SIGNER = generateSigner();

/** The chain at the end of a process, and what that process was told to be on record. */
export interface ChainThen extends Pick<TurnRun, "recorded" | "answered"> {
  readonly text: string;
}

/** Empty if there is none. */
export function readChainText(place: Workplace): string {
  const [folder] = conversationFolders(place);
  const file = path.join(folder ?? "", "decisions.jsonl");
  return folder !== undefined && existsSync(file) ? readFileSync(file, "utf8") : "";
}

/** The elements of the record that these lines commit to. */
export function provenBy(lines: readonly string[], elements: readonly JsonObject[]) {
  const links = lines.flatMap((line) => {
    const { link, salt } = findLine(line) ?? {};
    return isJsonObject(link) && typeof salt === "string" ? [{ link, salt }] : [];
  });
  return elements.filter((element) =>
    links.some(
      ({ link, salt }) =>
        link["type"] === element["type"] &&
        link["at"] === element["timestamp"] &&
        link["event"] === commitTo(element, salt),
    ),
  );
}

function findLine(line: string): JsonObject | undefined {
  try {
    const json = parseJson(line);
    return isJsonObject(json) ? json : undefined;
  } catch {
    return undefined;
  }
}

/** Problems, as sentences. `wasCut`: a process was killed, so that links may be missing or made later. */
export async function problemsOfChain(
  place: Workplace,
  { chains, wasCut }: { readonly chains: readonly ChainThen[]; readonly wasCut: boolean },
): Promise<readonly string[]> {
  const text = readChainText(place);
  return [
    ...chains.flatMap((each) => unproven(each)),
    ...chains
      .filter((each) => !text.startsWith(each.text))
      .map(() => "links that were written are not there any more"),
    ...unexplained(text, wasCut),
    ...(await unverified(place)),
  ];
}

/** What a process has acted on, or told someone, had its link by then. */
function unproven({ text, recorded, answered }: ChainThen): readonly string[] {
  const lines = text.split("\n");
  const decisive = recorded.filter((element) =>
    isDecisive(StreamEntry.fromJson(element).eventType),
  );
  const proven = provenBy(lines, decisive);
  const decided = new Set(
    lines.flatMap((line) => {
      const link = findLine(line)?.["link"];
      return isJsonObject(link) && "decision" in link ? [link["id"]] : [];
    }),
  );
  return [
    ...decisive
      .filter((element) => !proven.includes(element))
      .map((element) => `counted without a link: ${JSON.stringify(element)}`),
    ...answered
      .filter((id) => !decided.has(id))
      .map((id) => `the answer to ${id} was acknowledged without a link`),
  ];
}

/** A line that was cut off is followed by a link that says so, and nothing is made later unless a process was killed. */
export function unexplained(text: string, wasCut: boolean): readonly string[] {
  const lines = text.split("\n").filter(Boolean).map(findLine);
  const silent = lines.flatMap((line, index) => {
    if (line !== undefined) return [];
    const next = lines.slice(index).find((each) => each !== undefined)?.["link"];
    const isSaid = isJsonObject(next) && next["reason"] === "torn";
    return isSaid ? [] : [`line ${index + 1} of the chain is cut off, and no link says so`];
  });
  const late = lines.filter((line) => {
    const link = line?.["link"];
    return isJsonObject(link) && (link["rebuilt"] === true || link["kind"] === "gap");
  });
  const isOdd = late.length > 0 && !wasCut;
  return [...silent, ...(isOdd ? [`${late.length} links were made later, without a reason`] : [])];
}

/** What chain and record may not agree about: a line that was cut off. */
const EXPLAINED = new Set(["unreadable_line"]);

/** Exports the conversations as someone else would, and has both verifiers check that. */
export async function unverified(place: Workplace): Promise<readonly string[]> {
  const { root, data } = place;
  const { conversations: store } = openWorkspace({
    from: root,
    environment: { variables: { JP_USER_DATA_DIR: data }, home: data, platform: process.platform },
    clock: systemClock,
    pid: process.pid,
  });
  const ids = conversationFolders(place).map((folder) =>
    parseConversationId(conversationOf(folder)),
  );
  return unverifiedIn(store, ids);
}

export async function unverifiedIn(
  store: ConversationStore,
  ids: readonly ConversationId[],
): Promise<readonly string[]> {
  const lines: string[] = [];
  const exported = await exportEvidence(
    {
      store,
      conversations: ids,
      signer: SIGNER,
      clock: systemClock,
      tool: "the torture",
      hasContent: true,
    },
    (line) => void lines.push(line),
  );
  const bytes = Buffer.from(lines.join(""));
  const { problems, counts } = await verifyEvidence([bytes], { expectedKey: SIGNER.key.id });
  const alone = verifyAlone(bytes, SIGNER.key.id);
  const found = Object.entries(exported.findings).filter(([code]) => !EXPLAINED.has(code));
  return [
    ...problems.map(({ code, line }) => `jp does not verify the export: ${code} in line ${line}`),
    ...alone.problems.map((code) => `the other verifier does not verify the export: ${code}`),
    ...found.map(([code, count]) => `chain and record differ: ${code}, ${count} times`),
    ...(counts.contents === 0 || counts.contents !== alone.contents
      ? ["nothing was exported"]
      : []),
  ];
}
