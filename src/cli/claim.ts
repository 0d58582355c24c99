/** Offers, once, to claim a workspace that a database knows by the five digits of `.jp/.id` alone. */
import { readFileSync, realpathSync } from "node:fs";
import path from "node:path";
import type { InquiryId } from "../record/conversation/index.ts";
import { booleanQuestion } from "../record/tool/index.ts";
import {
  type ClaimedWorkspace,
  OWNER_FILE,
  type Workspace,
  writeDurably,
} from "../stores/index.ts";
import { assertNever, oneLine } from "../util/index.ts";
import type { CommandContext } from "./context.ts";
import type { Host } from "./host.ts";
import { findQuietPrompter, type InteractionFlags } from "./prompter.ts";

/** Asks only on a terminal, and not again at this path after a no. Throws what `WorkspaceClaims` throws. */
export async function offerClaim(context: CommandContext, flags: InteractionFlags): Promise<void> {
  const { database, host, workspace } = context;
  if (workspace.claims === undefined || database?.workspace !== undefined || ASKED.has(host))
    return;
  const person = findQuietPrompter(context, {}, flags);
  if (person?.canAsk() !== true || workspace.isPlainFolder) return;
  const stored = await workspace.claims.findStored();
  if (stored?.isUnclaimed !== true || readDeclined(workspace).includes(placeOf(workspace))) return;
  ASKED.add(host);
  const question = booleanQuestion("claim", `Claim ${oneLine(stored.name)} for this repository?`, {
    context: [
      `The database knows this workspace by the five digits of .jp/.id (${oneLine(stored.name)}), which another repository may have as well.`,
      "If yes, jp writes .jp/.store-id, and these conversations belong to those who have that file. Commit it, and have other clones pull it: they are refused without it.",
      "If no, nothing changes, and jp does not ask here again. Say no if this is not the project that the conversations are about.",
    ].join("\n"),
    persistence: "none",
    acts: true,
  });
  const { signal } = new AbortController();
  // The question is not part of any conversation.
  const result = await person.ask({ inquiryId: "claim" as InquiryId, question, signal });
  if (result.type !== "answered") return;
  if (result.answer !== true) return noteDeclined(workspace);
  context.notice(describeClaimed(await workspace.claims.claim(false)));
}

/** A session asks once, not for each message. */
const ASKED = new WeakSet<Host>();

export function describeClaimed({ type, name }: ClaimedWorkspace): string {
  switch (type) {
    case "claimed":
      return `Claimed ${oneLine(name)}. Commit .jp/.store-id, and have other clones pull it: they are refused without it.`;
    case "created":
      return `This workspace is ${oneLine(name)} in the database.`;
    case "known":
      return `This workspace is ${oneLine(name)} in the database already. Other clones need .jp/.store-id: commit it.`;
    default:
      return assertNever(type);
  }
}

/** Clones share the user's folder for the workspace. */
function placeOf({ root }: Workspace): string {
  return realpathSync(root);
}

function declinedIn(userFolder: string): string {
  return path.join(userFolder, "unclaimed");
}

function readDeclined(workspace: Workspace): readonly string[] {
  const folder = workspace.findUserFolder();
  if (folder === undefined) return [];
  try {
    return readFileSync(declinedIn(folder), "utf8").split("\n").filter(Boolean);
  } catch {
    return []; // At worst, jp asks again.
  }
}

async function noteDeclined(workspace: Workspace): Promise<void> {
  const places = [...readDeclined(workspace), placeOf(workspace)];
  const file = declinedIn(await workspace.ensureUserFolder());
  await writeDurably(file, Buffer.from(places.map((place) => `${place}\n`).join("")), OWNER_FILE);
}
