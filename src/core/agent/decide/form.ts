/** Several questions of one attempt, asked together as a form. */
import { describeWhom } from "../../../record/conversation/index.ts";
import { isNotLoaded, messageOf } from "../../../util/index.ts";
import type { TurnContext } from "../context.ts";
import type { Prompter, PromptResult } from "../ports.ts";
import type { OpenPrompt } from "../prompt-queue.ts";
import { isForUser } from "../prompts.ts";
import { promptCause, stopCause } from "../stop-cause.ts";
import {
  type AskForm,
  cancelAll,
  closeAll,
  type Decided,
  type Decision,
  PENDING,
  toResult,
  type Unanswered,
} from "./decide.ts";

/** Answers everything that needs no person first, then asks the person once about the rest. */
export const askForm: AskForm = async (context, decisions) => {
  const routes = decisions.map((decision) => decision.route());
  const isRefused = routes.some(({ type }) => type === "refused");
  const results = await Promise.all(
    decisions.map(async (decision, index) => {
      const route = routes[index];
      const isNext = isRefused ? route?.type === "refused" : route?.type !== "person";
      return route !== undefined && isNext ? decision.follow(route) : undefined;
    }),
  );
  const ends = results.map((result) => (result?.type === "rerouted" ? undefined : result));
  const open = decisions.filter((_, index) => ends[index] === undefined);
  const unanswered = findUnanswered(decisions, ends);
  const isChanged = results.some((result) => result?.type === "rerouted");
  let others: readonly Decided[];
  if (unanswered !== undefined) others = await closeAll(open, unanswered);
  else others = await (isChanged ? askForm : askPerson)(context, open);
  const remaining = [...others];
  return ends.flatMap((end) => end ?? remaining.shift() ?? []);
};

function findUnanswered(
  decisions: readonly Decision[],
  ends: readonly (Decided | undefined)[],
): Unanswered | undefined {
  const results = decisions.map((decision, index) => toResult(decision, ends[index] ?? PENDING));
  return results.find((result) => result.type === "unanswered");
}

async function askPerson(
  context: TurnContext,
  decisions: readonly Decision[],
): Promise<readonly Decided[]> {
  const { prompter } = context;
  const groups = Map.groupBy(decisions, ({ whom }) =>
    isForUser(context, whom) ? undefined : describeWhom(whom),
  );
  if (groups.size > 1) return askPeople(context, decisions, [...groups.values()]);
  if (prompter.showsForms !== true || decisions.length < 2) return askOneByOne(decisions);
  const signal = AbortSignal.any(decisions.map((decision) => decision.signal));
  const results = await askTogether(context, decisions, signal);
  const isChanged = results === "changed" || (results === undefined && hasChanged(decisions));
  if (isChanged) return askForm(context, decisions);
  return results ?? cancelAll(decisions, stopCause(signal));
}

/** Undefined if aborted before the form was open. */
async function askTogether(
  { prompter, prompts }: TurnContext,
  decisions: readonly Decision[],
  signal: AbortSignal,
): Promise<readonly Decided[] | "changed" | undefined> {
  using open = await prompts.open(signal, decisions[0]?.asked.place);
  if (open === undefined) return undefined;
  // While this waited, the person may have left, or answered for the whole turn.
  if (decisions.some((decision) => decision.route().type !== "person")) return "changed";
  return await showForm(prompter, decisions, open);
}

/** Asks one person after the other, each about their own questions. */
async function askPeople(
  context: TurnContext,
  decisions: readonly Decision[],
  groups: readonly (readonly Decision[])[],
): Promise<readonly Decided[]> {
  const results = new Map<Decision, Decided>();
  for (const group of groups) {
    const ended = findUnanswered([...results.keys()], [...results.values()]);
    const part = ended ? await closeAll(group, ended) : await askPerson(context, group);
    for (const [index, result] of part.entries()) {
      const decision = group[index];
      if (decision !== undefined) results.set(decision, result);
    }
  }
  return decisions.flatMap((decision) => results.get(decision) ?? []);
}

/** If so, the open questions are asked again without the others. */
function hasChanged(decisions: readonly Decision[]): boolean {
  return decisions.some((decision) => decision.hasChanged);
}

async function showForm(
  prompter: Prompter,
  decisions: readonly Decision[],
  open: OpenPrompt,
): Promise<readonly Decided[] | "changed"> {
  const { signal } = open;
  const fields = decisions.map((decision) => decision.toField(signal));
  const [first] = fields;
  if (first === undefined) return [];
  const { question: _question, questionId: _id, canRemember: _canRemember, ...base } = first;
  const acts = fields.some((field) => field.acts);
  let result: PromptResult;
  try {
    result = await prompter.ask({ ...base, kind: "form", acts, fields });
  } catch (error) {
    if (isNotLoaded(error)) throw error; // As for a single question.
    const message = messageOf(error);
    return Promise.all(decisions.map((decision) => decision.failPrompt(message)));
  } finally {
    open.end(); // As for a single question.
  }
  if (result.type !== "form" && hasChanged(decisions)) return "changed";
  if (result.type === "later") return decisions.map(() => PENDING);
  if (result.type === "unanswered" && !signal.aborted) {
    const { reason } = result;
    const given = await Promise.all(decisions.map((decision) => decision.giveUp(reason)));
    const ended = given.filter((each) => each.type !== "rerouted");
    return ended.length === given.length ? ended : "changed";
  }
  if (result.type === "answered") {
    const message = "the form has one answer for all of its questions";
    return Promise.all(decisions.map((decision) => decision.failPrompt(message)));
  }
  if (result.type !== "form") return cancelAll(decisions, promptCause(result, signal));
  const { results, userName } = result;
  const by = userName === undefined ? {} : { userName };
  return Promise.all(
    decisions.map(async (decision) => {
      const own = results.find(({ inquiryId }) => inquiryId === decision.request?.id);
      if (own === undefined) {
        return decision.failPrompt("the form has no answer for this question");
      }
      const accepted = await decision.accept({ ...by, ...own }, signal);
      return accepted.type === "rerouted" ? decision.decide() : accepted;
    }),
  );
}

async function askOneByOne(decisions: readonly Decision[]): Promise<readonly Decided[]> {
  const results: Decided[] = [];
  for (const [index, decision] of decisions.entries()) {
    const decided = await decision.decide();
    results.push(decided);
    // The rest is asked again later, together with this one.
    if (decided.type !== "decided") {
      return decisions.map((_, position) => results[position] ?? decided);
    }
    const result = toResult(decision, decided);
    if (result.type === "unanswered") {
      return [...results, ...(await closeAll(decisions.slice(index + 1), result))];
    }
  }
  return results;
}
