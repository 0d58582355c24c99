/** The workspace and its records. They are read as every other command reads them. */
import path from "node:path";
import type { StreamEntry } from "../../../conversation/index.ts";
import type { RecordProblem, Workspace } from "../../../storage/index.ts";
import type { CommandContext } from "../../compose.ts";
import { isWritable } from "./check-machine.ts";
import { isJsonObject } from "../../../util/index.ts";
import { type Finding, findingOf } from "./finding.ts";

/** A damaged disk should not fill the screen. */
const MOST_TOLD = 20;

export function checkWorkspace(context: CommandContext): Finding {
  const check = "workspace";
  let workspace: Workspace;
  try {
    ({ workspace } = context);
  } catch (error) {
    // There is much to do outside of one.
    return findingOf(check, error, "warning");
  }
  const { root } = workspace;
  if (!isWritable(path.join(root, ".jp"))) {
    const message = `${path.join(root, ".jp")} cannot be written to.`;
    return { check, state: "problem", message, hint: "Check its owner and permissions." };
  }
  const id = workspace.findId();
  return { check, state: "ok", message: `${root} (${id ?? "its id is made when it is needed"})` };
}

/** Every record is read to its end. */
export async function checkRecords(workspace: Workspace): Promise<readonly Finding[]> {
  const check = "conversations";
  const summaries = await workspace.conversations.list({ which: "all" });
  const findings: Finding[] = [];
  const withSecrets = new Set<string>();
  for (const { id, problem } of summaries) {
    if (problem !== undefined) {
      const hint = `Edit it: jp conversation edit --metadata ${id}`;
      findings.push({ check, state: "problem", message: `${id}: ${problem}`, hint });
    }
    try {
      for await (const { entries, problems } of workspace.conversations.scan(id)) {
        findings.push(...problems.map((one) => toFinding(check, id, one)));
        if (entries.some(asksForSecret)) withSecrets.add(id);
      }
    } catch (error) {
      findings.push(findingOf(check, error));
    }
  }
  const told = findings.slice(0, MOST_TOLD);
  const rest = findings.length - told.length;
  if (rest > 0) told.push({ check, state: "problem", message: `And ${rest} more.` });
  const notes = withSecrets.size === 0 ? [] : [secretsNote(check, [...withSecrets])];
  if (told.length > 0) return [...told, ...notes];
  const { length } = summaries;
  const message = length === 0 ? "none yet" : `${length}, all of them readable to their ends`;
  return [{ check, state: "ok", message }, ...notes];
}

/** Looks without decoding: only a question of a tool can be one. */
function asksForSecret({ eventType, raw }: StreamEntry): boolean {
  if (eventType !== "inquiry_request" || !isJsonObject(raw["question"])) return false;
  const { answer_type: type } = raw["question"];
  return isJsonObject(type) && type["type"] === "secret";
}

/** Nothing is wrong with them here. */
function secretsNote(check: string, ids: readonly string[]): Finding {
  const shown = ids.slice(0, MOST_TOLD).join(", ");
  const rest = ids.length > MOST_TOLD ? ", …" : "";
  const message = `The Rust original cannot open conversations that ask for a secret: ${shown}${rest}`;
  return { check, state: "ok", message };
}

function toFinding(check: string, id: string, { type, file, message }: RecordProblem): Finding {
  const told = { check, message: `${file}: ${message}` };
  if (type === "torn") {
    const hint = "The next command that writes to it sets these bytes aside.";
    return { ...told, state: "warning", hint };
  }
  return { ...told, state: "problem", hint: `Edit it: jp conversation edit --events ${id}` };
}
