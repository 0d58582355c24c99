/** `jp permissions`: lists and removes saved rules. */
import { machineOf } from "../../assemble/index.ts";
import { type ListedRule, listAllSavedRules, openSavedRules } from "../../core/policy/index.ts";
import {
  type Cell,
  describeScope,
  describeUntil,
  relativeTime,
  renderTable,
  verbatim,
  wrapProse,
} from "../../surfaces/render/index.ts";
import { timestampToMilliseconds } from "../../record/conversation/index.ts";
import { userDataFolder } from "../../stores/index.ts";
import { JpError, jsonLine, type JsonObject, neutralize, oneLine } from "../../util/index.ts";
import { confirmDeletion } from "../confirm.ts";
import { type CommandContext, warn } from "../context.ts";
import type { Call } from "../define.ts";
import { ExitStatus, usageError } from "../exit-status.ts";
import type { LIST_PERMISSIONS, REMOVE_PERMISSIONS } from "./tool/options.ts";

export async function listPermissions({
  options,
  context,
}: Call<typeof LIST_PERMISSIONS>): Promise<void> {
  const { output, clock } = context;
  const now = clock.now();
  const listed = await findPermissions(context, options.all === true);
  if (options.format === "json") {
    for (const permission of listed) output.print(jsonLine(toJson(permission)));
    return;
  }
  if (listed.length === 0) {
    output.notice("No permissions are saved here. At a prompt, s saves one.");
    return;
  }
  const columns = [
    { title: "ID" },
    { title: "TOOL" },
    { title: "FOR", shrinks: true },
    { title: "UNTIL" },
    { title: "USED" },
    ...(options.all === true ? [{ title: "WORKSPACE", shrinks: true }] : []),
  ];
  const rows = listed.map(({ rule, workspace }): Cell[] => [
    { text: oneLine(rule.id), style: "cyan" },
    { text: oneLine(rule.tool) },
    { text: `${isUnlimited(rule) ? UNLIMITED_MARK : ""}${describeRule(rule)}` },
    rule.isExpired
      ? { text: "expired", style: "yellow" }
      : { text: describeUntil(rule.until, now).replace(/^until /, ""), style: "dim" },
    { text: usedText(rule, now), style: "dim" },
    ...(options.all === true ? [{ text: oneLine(workspace), style: "dim" } as const] : []),
  ]);
  const { paint, lineWidth: width } = output;
  for (const line of renderTable({ columns, rows, paint, width })) output.print(line);
  if (!listed.some(({ rule }) => isUnlimited(rule))) return;
  const note = `${UNLIMITED_MARK}Saved by an earlier version of jp: counts in any folder and with any options. To limit one, remove it, and save it again at a prompt.`;
  for (const row of wrapProse(note, output.noticeWidth)) output.notice(row);
}

/** A prefix, because the end of the text may be truncated. */
const UNLIMITED_MARK = "* ";

/** Throws `permission_not_found`, `usage`, `write_failed`. */
export async function removePermissions({
  args: ids,
  options,
  context,
}: Call<typeof REMOVE_PERMISSIONS>): Promise<void> {
  const { all = false, expired = false } = options;
  if (ids.length === 0 && !all && !expired) {
    throw usageError(
      "Which permissions?",
      "Pass IDs, --expired or --all. To list them: jp permissions ls",
    );
  }
  const known = await findPermissions(context, true);
  const missing = ids.find((id) => !known.some(({ rule }) => rule.id === id));
  if (missing !== undefined) {
    const message = `No permission with the ID ${oneLine(missing)} is saved.`;
    throw new JpError("permission_not_found", message, {
      hint: "To list them: jp permissions ls --all",
    });
  }
  const here = await findPermissions(context, false);
  const isChosen = ({ rule }: Permission, isHere: boolean) =>
    ids.includes(rule.id) || (isHere && (all || (expired && rule.isExpired)));
  const chosen = known.filter((each) =>
    isChosen(
      each,
      here.some(({ workspace }) => workspace === each.workspace),
    ),
  );
  if (all && options.yes !== true && chosen.length > 0) {
    const question = `Remove all ${chosen.length} permissions of this workspace?`;
    if (!(await confirmDeletion(question, context.host))) throw new ExitStatus(1);
  }
  const byWorkspace = Map.groupBy(chosen, ({ workspace }) => workspace);
  for (const [workspace, permissions] of byWorkspace) {
    const wanted = new Set(permissions.map(({ rule }) => rule.id));
    const { dataFolder, clock, onWarning } = placeOf(context);
    const saved = await openSavedRules({ dataFolder, clock, onWarning, root: workspace }).load();
    const removed = new Set((await saved.remove(({ id }) => wanted.has(id))).map(({ id }) => id));
    for (const { rule } of permissions.filter((each) => removed.has(each.rule.id))) {
      const what = `${rule.tool} for ${describeRule(rule)}`;
      context.output.notice(neutralize(`Removed ${rule.id}: ${what}`));
    }
  }
  if (chosen.length === 0) context.output.notice("Nothing to remove.");
}

/** The calls that a rule covers, and whether it asks about them. One line, verbatim. */
export function describeRule({ rule, scope }: Pick<ListedRule, "rule" | "scope">): string {
  const calls = describeCalls({ rule, scope });
  return rule.mode === "ask" ? `asking about ${calls}` : calls;
}

/** The calls that a rule covers. */
export function describeCalls({ rule, scope }: Pick<ListedRule, "rule" | "scope">): string {
  const { glob } = rule;
  return glob === undefined ? describeScope(scope, true) : `files that match ${verbatim(glob)}`;
}

export interface Permission {
  readonly workspace: string;
  readonly rule: ListedRule;
}

/** The saved rules of this workspace, or of all. */
export async function findPermissions(
  context: CommandContext,
  isForAll: boolean,
): Promise<readonly Permission[]> {
  const place = placeOf(context);
  const found = isForAll
    ? await listAllSavedRules(place)
    : [(await openSavedRules(place).load()).list()];
  return found.flatMap(({ workspace, rules }) => rules.map((rule) => ({ workspace, rule })));
}

function placeOf(context: CommandContext) {
  const { root, clock } = machineOf(context);
  const { output, environment } = context;
  const onWarning = (message: string) => warn(message, output);
  return { root, clock, dataFolder: userDataFolder(environment), onWarning };
}

/** Saved by an older version: allows calls in any folder and with any options. */
function isUnlimited({ rule, limits }: ListedRule): boolean {
  return rule.mode !== "ask" && limits === undefined;
}

function usedText({ lastUsed }: ListedRule, now: Date): string {
  if (lastUsed === undefined) return "never";
  return relativeTime(timestampToMilliseconds(lastUsed), now.getTime());
}

function toJson({ workspace, rule: listed }: Permission): JsonObject {
  const { id, tool, rule, scope, created, until, by, lastUsed, inquiry, isExpired } = listed;
  const { limits, ...calls } = scope;
  return {
    id,
    tool,
    rule: rule as unknown as JsonObject, // As it was granted: JSON.
    ...(limits !== undefined && { limits: { ...limits } }),
    ...(isUnlimited(listed) && { unlimited: true }),
    scope: { ...calls },
    created,
    until,
    expired: isExpired,
    ...(by !== undefined && { by }),
    inquiry,
    ...(lastUsed !== undefined && { last_used: lastUsed }),
    workspace,
  };
}
