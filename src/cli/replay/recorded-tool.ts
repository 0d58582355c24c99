/** The tool of a recorded call: recorded decisions about the call apply to it, however it has changed since. */
import type { CallableTool } from "../../core/agent/index.ts";
import { findRule, type QuestionSettings, type Rule } from "../../settings/config/index.ts";
import { deciderOf, isAnswer } from "../../record/conversation/index.ts";
import { type Grants, MODE_VERDICTS, type Verdict } from "../../core/policy/index.ts";
import type { ToolSource } from "../../record/tool/index.ts";
import type { ReplayScript } from "./replay-script.ts";
import { isForSamePerson } from "./without-void.ts";

export interface RecordedToolOptions {
  readonly script: ReplayScript;
  readonly runsTools: boolean;
}

/** `lane` is the call. */
export function toolThen(
  tool: CallableTool,
  lane: string,
  options: RecordedToolOptions,
): CallableTool {
  const { script } = options;
  const settings = { ...tool.settings, questions: questionsThen(tool, lane, options) };
  const described = { ...tool, settings, describeSource: async () => sourceThen(script, lane) };
  if (!script.isUnstable(lane)) return described;
  // Nothing is asked about the call, because only its result is replayed.
  const unattended = { run: "unattended", result: "unattended" } as const;
  return { ...described, isIdempotent: true, settings: { ...settings, ...unattended } };
}

/**
 * Stays the same during a call. Answers for the whole turn apply to calls with the same recorded source, which can do
 * as much.
 */
export function sourceThen(script: ReplayScript, lane: string): ToolSource {
  const requests = script.requestsOf(lane);
  const asked = requests.find((request) => request.subject !== undefined);
  const { origin, folder = ".", outside = [], subject } = asked ?? {};
  const { source, program, file, definition } = subject?.parts ?? {};
  // As in `toolIdentity`.
  const own = origin?.type === "builtin" ? [source] : [source, program, file, definition];
  const identity = own.map((part) => part ?? null);
  return { origin: origin ?? { type: "program" }, identity, folder, outside };
}

/** The mode's recorded verdict on the call's next decision. Today's mode may differ. */
export function modeVerdictThen(script: ReplayScript, lane: string): Verdict | undefined {
  const key = policyThen(script, lane)?.key;
  return Object.values(MODE_VERDICTS).find((verdict) => verdict.key === key);
}

function policyThen(script: ReplayScript, lane: string) {
  const next = script.upcoming(lane).find(isAnswer);
  const by = next && deciderOf(next);
  return by?.kind === "policy" ? by : undefined;
}

/**
 * The saved and turn rules that made the call's next decision. Today's rules may differ, and a call that a rule
 * allowed has no request that says what it could do.
 */
export function grantedRulesThen(script: ReplayScript, lane: string): readonly Rule[] {
  const { rules = [] } = policyThen(script, lane) ?? {};
  return rules.flatMap(({ from, key, rule }): readonly Rule[] => {
    const known = from === "saved" || from === "turn" ? findRule(rule) : undefined;
    if (known === undefined) return [];
    const place = { from: from === "turn" ? "turn" : "saved", key, layer: "record" } as const;
    return [{ ...known, place }];
  });
}

/** Repeats the recorded grants. */
export const recordedGrants: Grants = {
  propose: async () => [{ rule: {}, code: "rule", parts: [] }],
  check: async (rule) => ({ rule, code: "rule", parts: [] }),
  save: async () => undefined,
  noteUsed: () => undefined,
};

/** A question asked again because a person's answer became void goes to a person, whatever the config says. */
function questionsThen(
  { settings }: CallableTool,
  lane: string,
  { script, runsTools }: RecordedToolOptions,
): ReadonlyMap<string, QuestionSettings> {
  const requests = script.requestsOf(lane).filter((event) => event.type === "inquiry_request");
  const byQuestion = Map.groupBy(requests, ({ questionId }) => questionId);
  const questions = new Map(settings.questions);
  for (const [id, asked] of byQuestion) {
    if (id !== undefined && asked.every(isForSamePerson)) {
      questions.set(id, forPerson(questions.get(id), runsTools));
    }
  }
  return questions;
}

function forPerson(settings: QuestionSettings | undefined, runsTools: boolean): QuestionSettings {
  const { exclusive: _exclusive, target, onTimeout, ...others } = settings ?? {};
  return {
    ...others,
    target: { type: "user", ...(target?.user !== undefined && { user: target.user }) },
    // A tool that does not run asks as on record.
    ...(runsTools && { exclusive: true }),
    ...(onTimeout !== undefined && onTimeout !== "default" && { onTimeout }),
  };
}
