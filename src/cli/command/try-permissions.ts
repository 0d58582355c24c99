/** `jp permissions try`: shows how rules would have changed the decisions on record. Runs nothing. */
import { readFileSync } from "node:fs";
import path from "node:path";
import { explainRule, findRule } from "../../settings/config/index.ts";
import {
  createPolicy,
  type LimitedRule,
  limitRules,
  parseLimits,
  type PolicyOptions,
  subjectOfCall,
} from "../../core/policy/index.ts";
import { type Cell, renderTable, verbatim } from "../../surfaces/render/index.ts";
import { machineOf, openTools, policyIn, warnWithheld } from "../../assemble/index.ts";
import {
  findJson,
  isJsonObject,
  jsonLine,
  type JsonObject,
  messageOf,
  oneLine,
  systemErrorCode,
} from "../../util/index.ts";
import type { CommandContext } from "../context.ts";
import type { Call } from "../define.ts";
import { ExitStatus, usageError } from "../exit-status.ts";
import { trustedConfig } from "../trust.ts";
import { type DecidedCall, outcomeOf, ReadDecisions, readDecisions } from "./past-decisions.ts";
import { warnAboutLeftOut } from "./propose-permissions.ts";
import type { TRY } from "./tool/options.ts";

/** Throws `usage`; `ExitStatus` 1 if a refused call would run. */
export async function tryPermissions({ options, context }: Call<typeof TRY>): Promise<void> {
  const { output } = context;
  let isBroken = false;
  const given = options.rules === undefined ? undefined : await readRules(options.rules, context);
  const trusted = await trustedConfig(context, options);
  warnWithheld(trusted, context);
  const machine = machineOf(context);
  await using tools = openTools(machine, trusted.config);
  const policy =
    given === undefined
      ? tools.policy
      : createPolicy({ root: machine.root, ...policyIn(trusted.config), saved: given });
  const read = new ReadDecisions();
  const changes = new Map<string, Change>();
  for await (const decided of readDecisions(options, { context, tools, read })) {
    const after = outcomeOf(decided, await policy.verdictOf(decided.call));
    if (after === undefined) continue;
    const about = await subjectOfCall(decided.call, machine.root);
    const change = {
      before: decided.isApproved ? "approved" : "refused",
      after,
      about,
      decided,
    } as const;
    if (options.format === "json") output.print(jsonLine(toJson(change)));
    else addTo(changes, change);
    isBroken ||= change.before === "refused" && after === "run";
  }
  warnAboutLeftOut(read, context);
  if (options.format !== "json") show([...changes.values()], read.own.decisions, context);
  if (isBroken) throw new ExitStatus(1);
}

/** A decision that would have been made without asking. */
interface Changed {
  readonly before: "approved" | "refused";
  readonly after: "run" | "skip";
  readonly about: string;
}

interface Decided extends Changed {
  readonly decided: DecidedCall;
}

/** A group of decisions that would have changed in the same way. */
interface Change extends Changed {
  readonly tool: string;
  count: number;
}

function addTo(changes: Map<string, Change>, { before, after, about, decided }: Decided): void {
  const tool = decided.call.tool.settings.name;
  const key = JSON.stringify([before, after, tool, about]);
  const known = changes.get(key);
  if (known === undefined) changes.set(key, { before, after, about, tool, count: 1 });
  else known.count += 1;
}

/** Most important first. */
const KINDS = [
  { before: "refused", after: "run", text: "you refused, and would run without asking" },
  { before: "approved", after: "skip", text: "you approved, and would be skipped" },
  { before: "approved", after: "run", text: "you approved, and would run without asking" },
  { before: "refused", after: "skip", text: "you refused, and would be skipped" },
] as const;

function show(changes: readonly Change[], decisions: number, { output }: CommandContext): void {
  const { paint, lineWidth: width } = output;
  if (decisions === 0) return output.notice("You have not decided about any calls here yet.");
  const total = changes.reduce((sum, { count }) => sum + count, 0);
  for (const { before, after, text } of KINDS) {
    const own = changes.filter((each) => each.before === before && each.after === after);
    if (own.length === 0) continue;
    const count = own.reduce((sum, each) => sum + each.count, 0);
    output.print(paint("bold", `${count === 1 ? "1 call" : `${count} calls`} that ${text}`));
    const columns = [{ title: "COUNT" }, { title: "TOOL" }, { title: "CALL", shrinks: true }];
    const rows = own
      .toSorted((a, b) => b.count - a.count)
      .map((each): Cell[] => [
        { text: String(each.count) },
        { text: oneLine(each.tool), style: "cyan" },
        { text: verbatim(each.about) },
      ]);
    for (const line of renderTable({ columns, rows, paint, width })) output.print(`  ${line}`);
  }
  const all = decisions === 1 ? "your 1 decision" : `your ${decisions} decisions`;
  output.notice(`${total} of ${all} would have been made without asking you.`);
}

function toJson({ before, after, about, decided }: Decided): JsonObject {
  const { row, call } = decided;
  return {
    conversation: row.conversation,
    inquiry: row.id,
    tool: call.tool.settings.name,
    about,
    before,
    after,
    asked_at: row.askedAt,
  };
}

/** Rules that stop a call come first, as with saved rules. Throws `usage`. */
async function readRules(
  file: string,
  { cwd }: CommandContext,
): Promise<NonNullable<PolicyOptions["saved"]>> {
  const lines = readText(file, cwd).split("\n").entries();
  const rules: NamedRule[] = [];
  for (const [index, line] of lines) {
    if (line.trim() === "") continue;
    const value = findJson(line);
    const { tool, rule: written, limits: raw } = isJsonObject(value) ? value : {};
    const rule = findRule(written);
    const limits = raw === undefined ? undefined : await parseLimits(raw);
    const at = `${oneLine(file)}, line ${index + 1}`;
    if (typeof tool !== "string")
      throw usageError(`${at}: expected an object with tool and rule.`, HINT);
    if (rule === undefined)
      throw usageError(`${at}: ${oneLine(explainRule(written) ?? "not a rule")}`, HINT);
    if (raw !== undefined && limits === undefined)
      throw usageError(`${at}: limits has keys or values that jp does not know.`, HINT);
    const place = { from: "saved", key: String(index + 1), layer: file } as const;
    rules.push({ tool, rule: { ...rule, place }, limits });
  }
  const inOrder = [...rules.filter((each) => !isAllowing(each)), ...rules.filter(isAllowing)];
  return async (call) =>
    limitRules(
      inOrder.filter(({ tool }) => tool === call.tool.settings.name),
      call,
    );
}

function isAllowing({ rule }: NamedRule): boolean {
  return rule.mode === "unattended";
}

interface NamedRule extends LimitedRule {
  readonly tool: string;
}

const HINT = "Write one JSON object per line, as jp permissions propose --format json prints them.";

function readText(file: string, cwd: string): string {
  try {
    return readFileSync(path.resolve(cwd, file), "utf8");
  } catch (error) {
    throw usageError(
      `Cannot read ${oneLine(file)}: ${systemErrorCode(error) ?? messageOf(error)}.`,
    );
  }
}
