/**
 * What a server asks at one time, as questions that are asked together, and the way back from their
 * answers. An answer that does not fit is never sent: its question is asked again.
 */
import {
  type Asks,
  type Elicitation,
  ELICITATION,
  type FormField,
  type InputRequest,
  type InputResponse,
  parseElicitation,
  parseSampling,
  SAMPLING,
} from "../../mcp/index.ts";
import type { ModelPrompt, Question } from "../../tool/index.ts";
import { assertNever, type Json, messageOf } from "../../util/index.ts";
import type { AttemptRequest } from "../port.ts";
import { consentQuestion, visitQuestion } from "./consent-question.ts";
import { toFieldQuestion } from "./field-question.ts";
import { toFieldValue } from "./field-value.ts";
import { shortLine } from "./foreign-text.ts";
import { samplingQuestion } from "./sampling-question.ts";

export interface QuestionRound {
  readonly type: "round";
  readonly requests: readonly RoundRequest[];
}

type RoundRequest = { readonly key: string } & (
  | { readonly type: "consent"; readonly question: Question; readonly accepted: InputResponse }
  | { readonly type: "form"; readonly message: string; readonly fields: readonly AskedField[] }
  | { readonly type: "sampling"; readonly question: Question; readonly prompt: ModelPrompt }
);

interface AskedField {
  readonly field: FormField;
  readonly question: Question;
}

/** `reason` is a sentence without its end: the server asked … */
export interface Refusal {
  readonly type: "refused";
  readonly reason: string;
  /** The key of the server's config with which the user could allow it. */
  readonly key?: "allow_secrets" | "allow_sampling";
}

/** What a server may ask for. */
export interface RoundRules {
  /** Its name in the config. */
  readonly server: string;
  readonly allowsSecrets: boolean;
  /** Whether it may have a model go on. */
  readonly allowsSampling: boolean;
}

/** What stands in for the name of a model where there is a configured answer. */
const BY_CONFIG = { model: "config", isCutOff: false };

type Wanted = Elicitation | { readonly type: "sampling"; readonly prompt: ModelPrompt };
type Given = Pick<AttemptRequest, "answers" | "replies">;
type Again = { readonly again: readonly Question[] };

export type Filled =
  | { readonly type: "complete"; readonly responses: ReadonlyMap<string, InputResponse> }
  /** What has to be asked again. */
  | { readonly type: "incomplete"; readonly questions: readonly Question[] };

export function createRound(asks: Asks, rules: RoundRules): QuestionRound | Refusal {
  const ids = new Set<string>();
  const requests: RoundRequest[] = [];
  for (const request of asks.requests) {
    const wanted = readRequest(request, rules);
    if (wanted.type === "refused") return wanted;
    const secret = rules.allowsSecrets ? undefined : findSecret(wanted);
    if (secret !== undefined) {
      return refused(`for a secret (${JSON.stringify(secret)}) in a form`, {
        key: "allow_secrets",
      });
    }
    const mint = (name: string) => mintId(ids, request.key, name);
    requests.push({
      key: request.key,
      ...toRequest(wanted, { ...rules, mint, isPrerequisite: asks.isPrerequisite }),
    });
  }
  return { type: "round", requests };
}

export function questionsOf({ requests }: QuestionRound): readonly Question[] {
  return requests.flatMap((request) =>
    request.type === "form" ? request.fields.map(({ question }) => question) : [request.question],
  );
}

/** What is for a model, by the id of its question. */
export function promptsOf({ requests }: QuestionRound): ReadonlyMap<string, ModelPrompt> {
  return new Map(
    requests.flatMap((request) =>
      request.type === "sampling" ? [[request.question.id, request.prompt] as const] : [],
    ),
  );
}

/** From the latest answers to all of its questions. */
export async function fillRound(round: QuestionRound, given: Given): Promise<Filled> {
  const filled = await Promise.all(
    round.requests.map(async (request) => [request.key, await fill(request, given)] as const),
  );
  const questions = filled.flatMap(([, end]) => ("again" in end ? end.again : []));
  if (questions.length > 0) return { type: "incomplete", questions };
  const responses = filled.flatMap(([key, end]) => ("again" in end ? [] : [[key, end] as const]));
  return { type: "complete", responses: new Map(responses) };
}

function readRequest(
  { method, params }: InputRequest,
  { allowsSampling }: RoundRules,
): Wanted | Refusal {
  const isSampling = method === SAMPLING;
  if (isSampling && !allowsSampling) {
    return refused("for a model's answer", { key: "allow_sampling" });
  }
  if (method !== ELICITATION && !isSampling) {
    return refused(`for ${JSON.stringify(shortLine(method))}, which is not offered`);
  }
  try {
    return isSampling
      ? { type: "sampling", prompt: parseSampling(params) }
      : parseElicitation(params);
  } catch (error) {
    const problem = messageOf(error);
    return refused(`something that cannot be asked (${shortLine(problem)})`);
  }
}

function refused(reason: string, more?: Pick<Refusal, "key">): Refusal {
  return { type: "refused", reason, ...more };
}

function findSecret(wanted: Wanted): string | undefined {
  if (wanted.type !== "form") return undefined;
  const secret = wanted.fields.find(({ isSecret }) => isSecret);
  return secret && shortLine(secret.name);
}

interface RequestOptions extends Pick<RoundRules, "server"> {
  readonly mint: (name: string) => string;
  readonly isPrerequisite: boolean;
}

function toRequest(wanted: Wanted, { mint, server, isPrerequisite }: RequestOptions) {
  if (wanted.type === "sampling") {
    const { type, prompt } = wanted;
    return { type, prompt, question: samplingQuestion(mint("sampling"), server, prompt) } as const;
  }
  const { message } = wanted;
  if (wanted.type === "url") {
    const visit = { message, url: wanted.url, isPrerequisite };
    const question = visitQuestion(mint("open_url"), visit);
    return { type: "consent", question, accepted: { action: "accept" } } as const;
  }
  if (wanted.fields.length === 0) {
    const question = consentQuestion(mint("consent"), message);
    return { type: "consent", question, accepted: { action: "accept", content: {} } } as const;
  }
  const fields = wanted.fields.map((field, index): AskedField => {
    const introduction = index === 0 ? message : "";
    return { field, question: toFieldQuestion(field, { id: mint(field.name), introduction }) };
  });
  return { type: "form", message, fields } as const;
}

/** The name, if it is the only one; a person may have configured an answer by it. */
function mintId(taken: Set<string>, key: string, name: string): string {
  const candidates = [shortLine(name), shortLine(`${key}.${name}`)].filter((id) => id !== "");
  let id = candidates.find((candidate) => !taken.has(candidate));
  for (let count = 2; id === undefined; count += 1) {
    const next = `${candidates.at(-1) ?? "field"}.${count}`;
    if (!taken.has(next)) id = next;
  }
  taken.add(id);
  return id;
}

/** What goes to the server, or the questions to be asked again. */
async function fill(request: RoundRequest, given: Given): Promise<InputResponse | Again> {
  switch (request.type) {
    case "form":
      return fillForm(request, given);
    case "consent":
      return given.answers[request.question.id] === true ? request.accepted : { action: "decline" };
    case "sampling": {
      const { id } = request.question;
      const { model, isCutOff } = given.replies?.[id] ?? BY_CONFIG;
      const text = given.answers[id] as string; // As was checked.
      const stopReason = isCutOff ? "maxTokens" : "endTurn";
      return { role: "assistant", content: { type: "text", text }, model, stopReason };
    }
    default:
      return assertNever(request);
  }
}

async function fillForm(
  { message, fields }: Extract<RoundRequest, { type: "form" }>,
  { answers }: Given,
): Promise<InputResponse | Again> {
  const values = await Promise.all(
    fields.map(({ field, question }) => toFieldValue(field, answers[question.id] ?? null)),
  );
  const problems = fields.flatMap((asked, index) => {
    const value = values[index];
    return value?.type === "misfit" ? [{ ...asked, problem: value.problem }] : [];
  });
  if (problems.length > 0) {
    const again = problems.map(({ field, question: { id }, problem }, index) => {
      const introduction = index === 0 ? message : "";
      return toFieldQuestion(field, { id, introduction, problem });
    });
    return { again };
  }
  const content = fields.flatMap(({ field }, index): [string, Json][] => {
    const value = values[index];
    return value?.type === "value" ? [[field.name, value.value]] : [];
  });
  return { action: "accept", content: Object.fromEntries(content) };
}
