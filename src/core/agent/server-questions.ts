/**
 * Questions of an MCP server that any of several calls may have asked. They are asked as the server's, once each call is
 * running, and no call ends with them. No other process can answer: the server waits on its connection.
 */
import { resolveTools, type QuestionSettings } from "../../settings/config/index.ts";
import { lastTurn } from "../../record/conversation/index.ts";
import type { NeedsInput, ServerQuestions } from "../../reach/executor/index.ts";
import type { AskedQuestion } from "./asked.ts";
import { CallBudget } from "./budget.ts";
import { closeServerQuestions } from "./closing.ts";
import type { TurnContext } from "./context.ts";
import { GivenAnswers } from "./given-answers.ts";
import { loadDecisions, loadForms } from "./load-decisions.ts";
import type { CallableTool } from "./ports.ts";

/** The id of a model's prompt, for the settings. */
const SAMPLING = "sampling";

/** No attempt starts after an answer. */
const NEVER = async () => false;

/** Asks a turn's questions of servers, those of each server one after the other. */
export class ServerAsker {
  readonly #context: TurnContext;
  readonly #budgets = new Map<string, CallBudget>();
  readonly #last = new Map<string, Promise<void>>();
  /** Everything has to be answered beforehand, and this cannot be. */
  readonly #isGivenOnly: boolean;

  /** `context` is that of the turn. What was answered beforehand is about its calls. */
  constructor({ answers, ...context }: TurnContext) {
    this.#context = { ...context, allowsLater: false };
    this.#isGivenOnly = answers?.isComplete === true;
  }

  /** Asks them, and sends the answers to the server. It gets none if this returns without. Throws `write_failed`, `module_not_loaded`. */
  async ask(asked: ServerQuestions): Promise<void> {
    const before = this.#last.get(asked.server) ?? Promise.resolve();
    const done = before.catch(() => undefined).then(() => this.#ask(asked));
    this.#last.set(asked.server, done);
    await done;
  }

  async #ask(asked: ServerQuestions): Promise<void> {
    const { journal, prompts, clock } = this.#context;
    const { answerQuestions, refuseQuestions } = await loadDecisions();
    const { askForm } = await loadForms();
    const tool = await this.#toTool(asked);
    const given = new GivenAnswers();
    using place = prompts.startReply()();
    const about = { tool, place, budget: this.#budgetOf(asked) };
    for (let needs: NeedsInput | undefined = asked.needs; needs !== undefined;) {
      const questions = toAsked(asked, needs, { ...about, given });
      const size = Buffer.byteLength(JSON.stringify(questions.map(({ question }) => question)));
      if (about.budget.countBytes(size) !== undefined) return;
      const refusal = needs.refusal ?? this.#refusal;
      const result =
        refusal === undefined
          ? await answerQuestions(this.#context, questions, { isCurrent: NEVER, askForm })
          : await refuseQuestions(this.#context, questions, refusal);
      if (result.type !== "answered") {
        // What is left open on record can be answered nowhere else.
        const closing = closeServerQuestions(lastTurn(journal), clock, asked.source.name);
        if (closing.length > 0) await journal.record(...closing);
        return;
      }
      for (const each of result.answers) given.add(each);
      needs = await asked.answer(given.toRequest());
    }
  }

  /** Set if no one may be asked. */
  get #refusal(): NeedsInput["refusal"] {
    return this.#isGivenOnly ? { reason: "no_prompt_backend", content: "" } : undefined;
  }

  /** One for all questions of a server, so that it cannot ask forever. */
  #budgetOf({ server }: ServerQuestions): CallBudget {
    const found = this.#budgets.get(server) ?? new CallBudget(this.#context, 0);
    this.#budgets.set(server, found);
    return found;
  }

  /** A tool that stands for the server. */
  async #toTool({ server, source, calls, describeSource }: ServerQuestions): Promise<CallableTool> {
    const { name } = source;
    const config = { conversation: { tools: { [name]: { source: `mcp.${server}` } } } };
    const settings = resolveTools(config).get(name);
    if (settings === undefined) throw new Error(`no settings for ${name}`);
    const names = new Set(calls.map((call) => call.name));
    const never = new AbortController().signal;
    const tools = await Promise.all(
      [...names].map((each) => this.#context.tools.find(each, never).catch(() => undefined)),
    );
    const sampling = strictest(
      tools.flatMap((tool) => tool?.settings.questions.get(SAMPLING) ?? []),
    );
    return {
      description: { name, summary: "", parameters: { type: "object" } },
      executor: { attempt: async () => ({ type: "cancelled" }) },
      describeSource,
      settings: {
        ...settings,
        // It cannot wait for anyone.
        detached: { run: "deny", deliver: "deny", tool: "deny" },
        questions: new Map(sampling === undefined ? [] : [[SAMPLING, sampling]]),
      },
    };
  }
}

/** Refusing is stricter than a configured answer, and that is stricter than a model. */
function strictest(all: readonly QuestionSettings[]): QuestionSettings | undefined {
  return (
    all.find(({ exclusive }) => exclusive === true) ??
    all.find(({ answer }) => answer !== undefined) ??
    all[0]
  );
}

type About = Pick<AskedQuestion, "tool" | "place" | "budget"> & { readonly given: GivenAnswers };

function toAsked(
  { calls, closed }: ServerQuestions,
  { question, more = [], source, prompts }: NeedsInput,
  { given, ...about }: About,
): readonly AskedQuestion[] {
  const ids = calls.flatMap(({ toolCallId }) => toolCallId ?? []);
  return [question, ...more].map((each) => {
    const prompt = prompts?.get(each.id);
    return {
      ...about,
      kind: "question",
      toolCallId: "",
      arguments: { calls: ids },
      question: each,
      source,
      automaticAnswers: given.automaticAnswers(each),
      ...(prompt !== undefined && { prompt }),
      isBound: true,
      withdrawn: closed,
      signal: closed,
    };
  });
}
