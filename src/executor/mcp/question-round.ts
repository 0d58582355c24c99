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
} from "../../mcp/index.ts";
import type { Question } from "../../tool/index.ts";
import { type Json, messageOf } from "../../util/index.ts";
import { consentQuestion, visitQuestion } from "./consent-question.ts";
import { toFieldQuestion } from "./field-question.ts";
import { toFieldValue } from "./field-value.ts";
import { shortLine } from "./foreign-text.ts";

export interface QuestionRound {
  readonly type: "round";
  readonly requests: readonly RoundRequest[];
}

type RoundRequest = { readonly key: string } & (
  | { readonly type: "consent"; readonly question: Question; readonly accepted: InputResponse }
  | { readonly type: "form"; readonly message: string; readonly fields: readonly AskedField[] }
);

interface AskedField {
  readonly field: FormField;
  readonly question: Question;
}

/** `reason` is a sentence without its end: the server asked … */
export interface Refusal {
  readonly type: "refused";
  readonly reason: string;
  readonly isSecret: boolean;
}

type Answers = Readonly<Record<string, Json>>;
type Again = readonly Question[];

export type Filled =
  | { readonly type: "complete"; readonly responses: ReadonlyMap<string, InputResponse> }
  /** What has to be asked again. */
  | { readonly type: "incomplete"; readonly questions: readonly Question[] };

export function createRound(asks: Asks, allowsSecrets: boolean): QuestionRound | Refusal {
  const ids = new Set<string>();
  const requests: RoundRequest[] = [];
  for (const request of asks.requests) {
    const elicitation = readRequest(request);
    if (elicitation.type === "refused") return elicitation;
    const secret = allowsSecrets ? undefined : findSecret(elicitation);
    if (secret !== undefined) {
      return refused(`for a secret (${JSON.stringify(secret)}) in a form`, true);
    }
    const mint = (name: string) => mintId(ids, request.key, name);
    requests.push({
      key: request.key,
      ...toRequest(elicitation, { mint, isPrerequisite: asks.isPrerequisite }),
    });
  }
  return { type: "round", requests };
}

export function questionsOf({ requests }: QuestionRound): readonly Question[] {
  return requests.flatMap((request) =>
    request.type === "form" ? request.fields.map(({ question }) => question) : [request.question],
  );
}

/** From the latest answers to all of its questions. */
export async function fillRound(round: QuestionRound, answers: Answers): Promise<Filled> {
  const filled = await Promise.all(
    round.requests.map(async (request): Promise<readonly [string, InputResponse | Again]> => {
      if (request.type === "form") return [request.key, await fillForm(request, answers)];
      const isAccepted = answers[request.question.id] === true;
      return [request.key, isAccepted ? request.accepted : { action: "decline" }];
    }),
  );
  const questions = filled.flatMap(([, end]) => ("action" in end ? [] : end));
  if (questions.length > 0) return { type: "incomplete", questions };
  const responses = filled.flatMap(([key, end]) => ("action" in end ? [[key, end] as const] : []));
  return { type: "complete", responses: new Map(responses) };
}

function readRequest({ method, params }: InputRequest): Elicitation | Refusal {
  if (method !== ELICITATION) {
    return refused(`for ${JSON.stringify(shortLine(method))}, which is not offered`);
  }
  try {
    return parseElicitation(params);
  } catch (error) {
    const problem = messageOf(error);
    return refused(`something that cannot be asked (${shortLine(problem)})`);
  }
}

function refused(reason: string, isSecret = false): Refusal {
  return { type: "refused", reason, isSecret };
}

function findSecret(elicitation: Elicitation): string | undefined {
  if (elicitation.type !== "form") return undefined;
  const secret = elicitation.fields.find(({ isSecret }) => isSecret);
  return secret && shortLine(secret.name);
}

interface RequestOptions {
  readonly mint: (name: string) => string;
  readonly isPrerequisite: boolean;
}

function toRequest(elicitation: Elicitation, { mint, isPrerequisite }: RequestOptions) {
  const { message } = elicitation;
  if (elicitation.type === "url") {
    const visit = { message, url: elicitation.url, isPrerequisite };
    const question = visitQuestion(mint("open_url"), visit);
    return { type: "consent", question, accepted: { action: "accept" } } as const;
  }
  if (elicitation.fields.length === 0) {
    const question = consentQuestion(mint("consent"), message);
    return { type: "consent", question, accepted: { action: "accept", content: {} } } as const;
  }
  const fields = elicitation.fields.map((field, index): AskedField => {
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
async function fillForm(
  { message, fields }: Extract<RoundRequest, { type: "form" }>,
  answers: Answers,
): Promise<InputResponse | Again> {
  const values = await Promise.all(
    fields.map(({ field, question }) => toFieldValue(field, answers[question.id] ?? null)),
  );
  const problems = fields.flatMap((asked, index) => {
    const value = values[index];
    return value?.type === "misfit" ? [{ ...asked, problem: value.problem }] : [];
  });
  if (problems.length > 0) {
    return problems.map(({ field, question: { id }, problem }, index) => {
      const introduction = index === 0 ? message : "";
      return toFieldQuestion(field, { id, introduction, problem });
    });
  }
  const content = fields.flatMap(({ field }, index): [string, Json][] => {
    const value = values[index];
    return value?.type === "value" ? [[field.name, value.value]] : [];
  });
  return { action: "accept", content: Object.fromEntries(content) };
}
