/**
 * Turns a server's simultaneous requests into questions that are asked together, and their answers into responses. An
 * invalid answer is never sent: its question is asked again.
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
import {
  booleanQuestion,
  type ModelPrompt,
  type Question,
  textQuestion,
} from "../../../record/tool/index.ts";
import { assertNever, type Json, messageOf } from "../../../util/index.ts";
import type { AttemptRequest } from "../port.ts";
import { shortLine, shortText, toFieldQuestion, toFieldValue } from "./form-field.ts";

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

/** `reason` completes the sentence "the server asked …". */
export interface Refusal {
  readonly type: "refused";
  readonly reason: string;
  /** The server's setting that would allow it. */
  readonly key?: "allow_secrets" | "allow_sampling";
}

/** The kinds of input that a server may ask for. */
export interface RoundRules {
  /** The server's name in the config. */
  readonly server: string;
  readonly allowsSecrets: boolean;
  /** Whether it may prompt a model. */
  readonly allowsSampling: boolean;
}

/** Stands in for the model if the answer is configured. */
const BY_CONFIG = { model: "config", isCutOff: false };

type ParsedRequest = Elicitation | { readonly type: "sampling"; readonly prompt: ModelPrompt };
type Given = Pick<AttemptRequest, "answers" | "personAnswers" | "replies">;
/** Questions whose answers were invalid. */
type Again = { readonly again: readonly Question[] };

export type Filled =
  | { readonly type: "complete"; readonly responses: ReadonlyMap<string, InputResponse> }
  /** Questions to ask again. */
  | { readonly type: "incomplete"; readonly questions: readonly Question[] };

export function createRound(asks: Asks, rules: RoundRules): QuestionRound | Refusal {
  const ids = new Set<string>();
  const requests: RoundRequest[] = [];
  for (const request of asks.requests) {
    const parsed = parseRequest(request, rules);
    if (parsed.type === "refused") return parsed;
    const secret = rules.allowsSecrets ? undefined : findSecret(parsed);
    if (secret !== undefined) {
      return refused(`for a secret (${JSON.stringify(secret)}) in a form`, {
        key: "allow_secrets",
      });
    }
    const mint = (name: string) => mintId(ids, request.key, name);
    requests.push({
      key: request.key,
      ...toRequest(parsed, { ...rules, mint, isPrerequisite: asks.isPrerequisite }),
    });
  }
  return { type: "round", requests };
}

export function questionsOf({ requests }: QuestionRound): readonly Question[] {
  return requests.flatMap((request) =>
    request.type === "form" ? request.fields.map(({ question }) => question) : [request.question],
  );
}

/** The prompts for a model, by the ids of their questions. */
export function promptsOf({ requests }: QuestionRound): ReadonlyMap<string, ModelPrompt> {
  return new Map(
    requests.flatMap((request) =>
      request.type === "sampling" ? [[request.question.id, request.prompt] as const] : [],
    ),
  );
}

/** Converts the latest answers to all questions of the round. */
export async function fillRound(round: QuestionRound, given: Given): Promise<Filled> {
  const filled = await Promise.all(
    round.requests.map(async (request) => [request.key, await fill(request, given)] as const),
  );
  const questions = filled.flatMap(([, end]) => ("again" in end ? end.again : []));
  if (questions.length > 0) return { type: "incomplete", questions };
  const responses = filled.flatMap(([key, end]) => ("again" in end ? [] : [[key, end] as const]));
  return { type: "complete", responses: new Map(responses) };
}

function parseRequest(
  { method, params }: InputRequest,
  { allowsSampling }: RoundRules,
): ParsedRequest | Refusal {
  const isSampling = method === SAMPLING;
  if (isSampling && !allowsSampling) {
    return refused("for an answer from a model", { key: "allow_sampling" });
  }
  if (method !== ELICITATION && !isSampling) {
    return refused(`for ${JSON.stringify(shortLine(method))}, which is not supported`);
  }
  try {
    return isSampling
      ? { type: "sampling", prompt: parseSampling(params) }
      : parseElicitation(params);
  } catch (error) {
    const problem = messageOf(error);
    return refused(`something invalid (${shortLine(problem)})`);
  }
}

function refused(reason: string, more?: Pick<Refusal, "key">): Refusal {
  return { type: "refused", reason, ...more };
}

function findSecret(parsed: ParsedRequest): string | undefined {
  if (parsed.type !== "form") return undefined;
  const secret = parsed.fields.find(({ isSecret }) => isSecret);
  return secret && shortLine(secret.name);
}

interface RequestOptions extends Pick<RoundRules, "server"> {
  readonly mint: (name: string) => string;
  readonly isPrerequisite: boolean;
}

function toRequest(parsed: ParsedRequest, { mint, server, isPrerequisite }: RequestOptions) {
  if (parsed.type === "sampling") {
    const { type, prompt } = parsed;
    return { type, prompt, question: samplingQuestion(mint("sampling"), server, prompt) } as const;
  }
  const { message } = parsed;
  if (parsed.type === "url") {
    const visit = { message, url: parsed.url, isPrerequisite };
    const question = visitQuestion(mint("open_url"), visit);
    return { type: "consent", question, accepted: { action: "accept" } } as const;
  }
  if (parsed.fields.length === 0) {
    const question = consentQuestion(mint("consent"), message);
    return { type: "consent", question, accepted: { action: "accept", content: {} } } as const;
  }
  const fields = parsed.fields.map((field, index): AskedField => {
    const introduction = index === 0 ? message : "";
    return { field, question: toFieldQuestion(field, { id: mint(field.name), introduction }) };
  });
  return { type: "form", message, fields } as const;
}

/** Uses the name alone if it is unique, because answers are configured by it. */
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

/** The response for the server, or the questions to ask again. */
async function fill(request: RoundRequest, given: Given): Promise<InputResponse | Again> {
  switch (request.type) {
    case "form":
      return fillForm(request, given);
    case "consent": {
      const { id } = request.question;
      if (given.answers[id] === true) return request.accepted;
      // Only a person can decline. A no from config says nothing about what a person wants.
      return { action: given.personAnswers?.includes(id) === true ? "decline" : "cancel" };
    }
    case "sampling": {
      const { id } = request.question;
      const { model, isCutOff } = given.replies?.[id] ?? BY_CONFIG;
      const text = given.answers[id] as string; // It has been checked.
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
    return value?.type === "invalid" ? [{ ...asked, problem: value.problem }] : [];
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

/** Only a person can consent, and each time anew. */
const BY_PERSON = { exclusive: true, persistence: "none" } as const;

function consentQuestion(id: string, message: string): Question {
  return booleanQuestion(id, "Do you agree?", { ...BY_PERSON, context: quote(message) });
}

interface Visit {
  readonly message: string;
  readonly url: URL;
  /** Whether the tool can run only afterwards. */
  readonly isPrerequisite: boolean;
}

/** Shows the URL as it is resolved, not as it was written: letters of other scripts look alike. */
function visitQuestion(id: string, { message, url, isPrerequisite }: Visit): Question {
  const text = isPrerequisite
    ? `Have you visited ${url.host}?`
    : `Do you want to visit ${url.host}?`;
  const consequence = isPrerequisite
    ? "jp will not open it for you. Answering yes runs the tool again."
    : "jp will not open it for you. Answering yes tells the server that you agree.";
  const parts = [`URL: ${url.href}\nHost: ${url.host}`, consequence, quote(message)];
  const context = parts.filter((part) => part !== "").join("\n\n");
  return booleanQuestion(id, shortLine(text), { ...BY_PERSON, context });
}

const LINE_ENDS = /\r\n|[\n\r\v\f\u0085\u2028\u2029]/;

/** Marks each line as the server's, so that none can imitate jp's own, such as `URL:`. */
function quote(message: string): string {
  const text = shortText(message);
  if (text === "") return "";
  const lines = text.split(LINE_ENDS).map((line) => `> ${line}`.trimEnd());
  return ["The server says:", ...lines].join("\n");
}

const SPEAKERS = { user: "User", assistant: "Assistant" } as const;

/** No person is asked. The context contains everything the model gets, for readers of the record. */
function samplingQuestion(id: string, server: string, prompt: ModelPrompt): Question {
  const { systemPrompt, messages } = prompt;
  const context = [
    ...(systemPrompt === undefined ? [] : [`System:\n${systemPrompt}`]),
    ...messages.map(({ role, text }) => `${SPEAKERS[role]}:\n${text}`),
  ].join("\n\n");
  const text = `The MCP server ${server} asks a model.`;
  return textQuestion(id, text, { context, persistence: "none" });
}
