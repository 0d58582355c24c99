/** A tool's own report on a call that was cut off while running, and its JSON form. */
import { isJsonObject, type JsonObject } from "../../util/index.ts";
import { type Outcome, outcomeToWire, parseOutcome } from "./outcome.ts";

/** An outcome with a result. */
export type ResultOutcome = Exclude<Outcome, { readonly type: "needs_input" }>;

/** The outcome of a call in doubt, as far as its tool can tell. */
export type CallCheck =
  /** It has done its work, and this is the result. */
  | { readonly type: "done"; readonly result: ResultOutcome }
  /** It has done nothing, and will not: it can run again. */
  | { readonly type: "not_done" }
  | { readonly type: "unknown" }
  /** The check itself failed. Counts as `unknown`. */
  | { readonly type: "failed" };

/** Reads the output of a check. Anything else is `failed`. Never throws. */
export function parseCallCheck(value: unknown): CallCheck {
  if (!isJsonObject(value)) return { type: "failed" };
  const { type } = value;
  if (type === "not_done" || type === "unknown") return { type };
  const result = type === "done" ? parseResult(value) : undefined;
  return result === undefined ? { type: "failed" } : { type: "done", result };
}

/** The JSON form that tools write. */
export function callCheckToWire(check: CallCheck): JsonObject {
  return check.type === "done"
    ? { type: "done", result: outcomeToWire(check.result) }
    : { type: check.type };
}

function parseResult({ result }: JsonObject): ResultOutcome | undefined {
  if (typeof result === "string") return { type: "success", content: result };
  try {
    const outcome = parseOutcome(result);
    return outcome?.type === "needs_input" ? undefined : outcome;
  } catch {
    return undefined; // It has the type of an outcome, but not its fields.
  }
}
