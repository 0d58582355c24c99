/**
 * `jp evidence export` and `key`: exports decisions to a file that others can verify, and prints the key that signs
 * it.
 */
import { peopleOf } from "../../../assemble/index.ts";
import { realpathSync } from "node:fs";
import path from "node:path";
import {
  type ConversationId,
  timestampToMilliseconds,
} from "../../../record/conversation/index.ts";
import {
  ensureMachineKey,
  exportEvidence,
  type ExportSummary,
  machineKeyFile,
  publicKeyToPem,
  readAnchors,
} from "../../../proof/index.ts";
import { publicPartOf } from "../../../settings/people/index.ts";
import { wrapProse } from "../../../surfaces/render/index.ts";
import { readHeads } from "../../../stores/index.ts";
import type { Output } from "../../../surfaces/terminal/index.ts";
import { jsonLine, type JsonObject } from "../../../util/index.ts";
import { type CommandContext, printFields, warn } from "../../context.ts";
import { parseTime, resolveTargets } from "../../conversations.ts";
import type { Call } from "../../define.ts";
import { NewFile } from "../../new-file.ts";
import { counted, describeFindings } from "./wording.ts";
import type { EXPORT, KEY, SELECTION } from "./options.ts";
import type { FlagsOf } from "../../options.ts";

export async function exportToFile({ options, context }: Call<typeof EXPORT>): Promise<void> {
  const { environment, clock, version, output, workspace, cwd } = context;
  const { conversations, filters } = await selectConversations(options, context);
  const signer = await ensureMachineKey(environment);
  using file =
    options.output === undefined ? undefined : new NewFile(path.resolve(cwd, options.output));
  const summary = await exportEvidence(
    {
      store: workspace.conversations,
      conversations,
      signer,
      clock,
      tool: `jp ${version}`,
      hasContent: options.content === true,
      keys: await listPublicKeys(context),
      filters,
      anchored: {
        anchors: readAnchors(environment),
        heads: readHeads(environment),
        workspace: realpathSync(workspace.root),
      },
    },
    (line) => (file === undefined ? output.print(line.trimEnd()) : file.write(line)),
  );
  file?.keep();
  output.flush();
  describeExport(summary, signer.key.id, output);
}

/** The people's current signing keys. */
async function listPublicKeys(context: CommandContext) {
  const people = await (await peopleOf(context)).list();
  return people.flatMap(({ name: person, keys = [] }) =>
    keys.map((key) => ({ person, key: publicPartOf(key) })),
  );
}

function describeExport(summary: ExportSummary, keyId: string, output: Output): void {
  const { conversations, findings, broken, anchors } = summary;
  const links = conversations.reduce((sum, { length }) => sum + length, 0);
  const what = `${counted(links, "link")} of ${counted(conversations.length, "conversation")}`;
  const also = anchors > 0 ? ` and ${counted(anchors, "anchor")}` : "";
  const text = `Exported ${what}${also}, signed with key ${keyId}.`;
  for (const line of wrapProse(text, output.noticeWidth)) output.notice(line);
  for (const line of describeFindings(new Map(Object.entries(findings)))) warn(line, output);
  for (const id of broken) {
    warn(`${id}: its chain does not hold together, so the export cannot be verified.`, output);
  }
}

/**
 * The selected conversations, oldest first, and how they were chosen. Throws `usage`, `conversation_not_found` and so
 * on.
 */
export async function selectConversations(
  { conversation, since }: FlagsOf<typeof SELECTION>,
  context: CommandContext,
): Promise<{ readonly conversations: readonly ConversationId[]; readonly filters: JsonObject }> {
  const from = since === undefined ? undefined : parseTime(since, context.clock.now());
  const summaries =
    conversation === undefined
      ? await context.workspace.conversations.list({ which: "all" })
      : await resolveTargets(context, conversation);
  const chosen = summaries.filter(
    // If the last event cannot be read, the export says so.
    ({ lastEventAt }) =>
      from === undefined ||
      lastEventAt === undefined ||
      timestampToMilliseconds(lastEventAt) >= from.getTime(),
  );
  const ids = chosen.map(({ id }) => id).toSorted((left, right) => (left < right ? -1 : 1));
  return {
    conversations: ids,
    filters: {
      ...(conversation !== undefined && { conversations: ids }),
      ...(from !== undefined && { since: from.toISOString() }),
    },
  };
}

export async function printKey({ options, context }: Call<typeof KEY>): Promise<void> {
  const { environment, output } = context;
  const { key } = await ensureMachineKey(environment);
  if (options.format === "pem") return output.print(publicKeyToPem(key).trimEnd());
  if (options.format === "json") return output.print(jsonLine({ id: key.id, key: key.text }));
  return printFields(
    { "Key ID": key.id, "Public key": key.text, File: machineKeyFile(environment) },
    output,
  );
}
