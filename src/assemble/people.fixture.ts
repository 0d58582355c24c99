/** Turns with a payment tool, and people of whom only some may approve it. */
import { type Directory, eventsOf, type KnownPerson } from "../record/conversation/index.ts";
import {
  FakeClock,
  MemoryConversationStore,
  type PrompterScript,
  ScriptedModel,
  ScriptedPrompter,
} from "../testing/index.ts";
import { booleanQuestion, defineTool } from "../record/tool/index.ts";
import type { JsonObject } from "../util/index.ts";
import { resumeTurn, runTurn, type TurnOptions } from "./index.ts";

const CALL = { type: "tool_call", id: "call_1", name: "pay", arguments: { amount: 500 } } as const;
export const FINANCE = { role: "finance" };
export const ASKED = { run: "unattended", questions: { sure: { target: FINANCE } } };
export const PERMITTED = { run: "ask", target: FINANCE };
export const SURE = booleanQuestion("sure", "Sure?", { default: true, persistence: "turn" });

export const ADA: KnownPerson = { name: "ada", roles: ["finance"] };
export const SAM: KnownPerson = { name: "sam", roles: ["operations"] };

export const pay = defineTool({
  name: "pay",
  description: "Pays.",
  parameters: { type: "object", properties: { amount: { type: "number" } } },
  run: async (_args, { ask }) => ((await ask(SURE)) ? "paid" : "not paid"),
});
export const transfer = defineTool({ ...pay, run: async () => "paid" });

/** `here`: the person whose OS user runs the process. `people` can be changed later. */
export class KnownPeople implements Directory {
  people: readonly KnownPerson[];
  readonly #here: string;

  constructor(here: string, people: readonly KnownPerson[] = [ADA, SAM]) {
    this.#here = here;
    this.people = people;
  }

  list(): readonly KnownPerson[] {
    return this.people;
  }

  findHere(): KnownPerson | undefined {
    return this.people.find(({ name }) => name === this.#here);
  }
}

interface Run
  extends
    Pick<
      TurnOptions,
      "inquiryModel" | "tools" | "userName" | "startedBy" | "ownerAlone" | "signal"
    >,
    PrompterScript {
  readonly config?: JsonObject;
  readonly directory?: Directory;
  readonly reached?: readonly string[];
  readonly calls?: number;
  readonly clock?: FakeClock;
  /** No prompt is available. */
  readonly isAway?: boolean;
}

/** Runs a turn to its end. */
export async function run(setting: Run = {}) {
  const { error, ...ran } = await leave(setting);
  if (error !== undefined) throw error;
  const { end } = ran;
  if (end === undefined) throw new Error("it has no end");
  return { ...ran, end };
}

/** Like `run`, but the turn may fail. */
export async function leave(setting: Run = {}) {
  const {
    config = ASKED,
    reached = [],
    calls = 1,
    isAway = false,
    answers,
    permissions,
    ...others
  } = setting;
  const { clock = new FakeClock(), deliveries, ...more } = others;
  const store = new MemoryConversationStore(clock);
  const prompter = terminalOf({
    ...(answers !== undefined && { answers }),
    ...(permissions !== undefined && { permissions }),
    ...(deliveries !== undefined && { deliveries }),
  });
  prompter.people = reached;
  prompter.isAvailable = !isAway;
  await using conversation = await store.create({});
  const asking = Array.from({ length: calls }, (_each, index) => ({
    ...CALL,
    id: `call_${index + 1}`,
  }));
  const model = new ScriptedModel({ replies: [...asking.map((call) => [call]), "Done."] });
  const toolConfig: { readonly pay: JsonObject } = { pay: config };
  const given = { conversation, model, tools: [pay], toolConfig, prompter, clock };
  const turn = runTurn({ ...given, ...more }, "Pay.");
  const { end, error } = await turn.then(
    (ended) => ({ end: ended, error: undefined }),
    (failure: unknown) => ({ end: undefined, error: failure }),
  );
  const events = [...eventsOf(conversation.stream.entries)];
  return { end, error, events, store, clock, prompter, id: conversation.id, toolConfig };
}

export async function resume(
  {
    store,
    clock,
    id,
    toolConfig,
  }: Pick<Awaited<ReturnType<typeof leave>>, "store" | "clock" | "id" | "toolConfig">,
  directory: Directory | undefined,
  tools: TurnOptions["tools"] & object = [pay],
  script?: PrompterScript,
  more: Pick<TurnOptions, "inquiryModel" | "startedBy"> = {},
) {
  await using conversation = await store.open(id);
  const model = new ScriptedModel({ replies: ["Done."] });
  const asking = script === undefined ? {} : { prompter: terminalOf(script) };
  const given = { model, tools, toolConfig, clock, ...(directory !== undefined && { directory }) };
  return await resumeTurn(conversation, { ...given, ...asking, ...more });
}

function terminalOf(script: PrompterScript): ScriptedPrompter {
  const prompter = new ScriptedPrompter(script);
  prompter.auth = "os_user";
  return prompter;
}

export function decidersIn({
  events,
}: {
  readonly events: Awaited<ReturnType<typeof run>>["events"];
}) {
  return events.flatMap((event) => {
    if (event.type === "permission_decision") {
      return event.decidedBy.kind === "user" ? [event.decidedBy] : [];
    }
    return event.type === "inquiry_response" && event.outcome === "answered"
      ? [event.answeredBy]
      : [];
  });
}
