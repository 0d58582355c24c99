/** Forms for tests: a tool that asks several questions at once, and a person who gets them as a form. */
import type { AttemptRequest, Executor } from "../../reach/executor/index.ts";
import type { Question } from "../../record/tool/index.ts";
import { abortable, type Json } from "../../util/index.ts";
import type {
  AnsweredForm,
  FormRequest,
  NoAnswer,
  Prompter,
  PromptRequest,
  PromptResult,
} from "./index.ts";
import type { NamedExecutor } from "./tool-turn.fixture.ts";

/** Asks all questions without an answer, and keeps the answers of each attempt. */
export class FormTool implements NamedExecutor {
  readonly name: string;
  readonly attempts: Pick<AttemptRequest, "answers" | "notes" | "secretAnswers">[] = [];
  /** How often it was told that no answers will come. */
  unanswered = 0;
  readonly executor: Executor;

  constructor(name: string, questions: readonly Question[]) {
    this.name = name;
    this.executor = {
      attempt: async ({ answers, notes, secretAnswers, signal }) => {
        if (signal.aborted) return { type: "cancelled" };
        this.attempts.push({ answers, notes, secretAnswers });
        const [question, ...more] = questions.filter(({ id }) => !Object.hasOwn(answers, id));
        if (question === undefined) {
          return { type: "success", content: JSON.stringify(answers) };
        }
        const onUnanswered = () => (this.unanswered += 1);
        const source = { source: "tool" as const, name };
        return { type: "needs_input", question, more, source, onUnanswered };
      },
    };
  }
}

/** The person's reaction to a form; a list is the answers to its fields, in their order. */
export type FormReaction =
  | readonly (Json | PromptResult)[]
  | ((request: FormRequest) => FormResult | Promise<FormResult>);

/** A result without the id of the form. */
export type FormResult = AnsweredForm | NoAnswer;

export class FormPrompter implements Prompter {
  readonly channel = "form";
  readonly showsForms: boolean = true;
  /** The inquiry ids of each prompt, in the order shown. */
  readonly shown: (readonly string[])[] = [];
  readonly forms: FormRequest[] = [];
  isThere = true;
  readonly #react: FormReaction;

  constructor(react: FormReaction) {
    this.#react = react;
  }

  canAsk(): boolean {
    return this.isThere;
  }

  /** One question alone is a form of one. */
  async ask(request: PromptRequest): Promise<PromptResult> {
    const { inquiryId } = request;
    if (request.kind === "form") return { inquiryId, ...(await this.#askForm(request)) };
    if (request.kind !== "question") throw new Error("Nobody should ask that.");
    const result = await this.#askForm({ ...request, kind: "form", fields: [request] });
    const [own] = result.type === "form" ? result.results : [];
    return own ?? { type: "cancelled", inquiryId };
  }

  async #askForm(request: FormRequest): Promise<FormResult> {
    this.forms.push(request);
    this.shown.push(request.fields.map(({ inquiryId }) => inquiryId));
    const react = this.#react;
    try {
      const result = typeof react === "function" ? react(request) : answersTo(request, react);
      return await abortable(Promise.resolve(result), request.signal);
    } catch (error) {
      if (request.signal.aborted) return { type: "cancelled" };
      throw error;
    }
  }
}

/** The same person, asked one question at a time. */
export function oneByOne(prompter: FormPrompter): Prompter {
  return {
    channel: prompter.channel,
    canAsk: () => prompter.canAsk(),
    ask: (request) => prompter.ask(request),
  };
}

export function answersTo(
  { fields }: Pick<FormRequest, "fields">,
  answers: readonly (Json | PromptResult)[],
): AnsweredForm {
  return {
    type: "form",
    results: fields.map(({ inquiryId }, index): PromptResult => {
      const given = answers[index] ?? null;
      if (isResult(given)) return given;
      return { type: "answered", inquiryId, answer: given, isRemembered: false };
    }),
  };
}

function isResult(given: Json | PromptResult): given is PromptResult {
  return typeof given === "object" && given !== null && "inquiryId" in given;
}
