/** One call in a real workspace, whose turn goes on in one process after the other, and is answered from others. */
import {
  createTurn,
  type PendingDecision,
  answerInquiry,
  listPending,
} from "../../src/assemble/index.ts";
import {
  type ConversationEvent,
  type ConversationId,
  eventsOf,
} from "../../src/record/conversation/index.ts";
import {
  type TemporaryWorkspace,
  temporaryWorkspace,
} from "../../src/stores/temporary-workspace.fixture.ts";
import { ScriptedModel } from "../../src/testing/index.ts";
import { type JsonObject, systemClock } from "../../src/util/index.ts";

type TurnTools = Pick<Parameters<typeof createTurn>[0], "toolbox">;

/** The tools of one process. */
export interface OpenedTools extends AsyncDisposable {
  readonly parts: TurnTools;
}

export interface SceneOptions {
  readonly call: { readonly name: string; readonly arguments: JsonObject };
  /** Called for each process: everything is read anew. */
  readonly open: (conversation: ConversationId) => OpenedTools | Promise<OpenedTools>;
  /** The attempts, counted from 1, at whose start the process dies. */
  readonly diesAt?: readonly number[];
  /** Whether the first process dies when it has recorded a question. */
  readonly diesWhenAsked?: boolean;
}

const REPLIES = {
  question: true,
  permission: true,
  delivery: true,
  in_doubt: "run",
} as const satisfies Record<PendingDecision["kind"], boolean | string>;

/** Not longer than it takes to see that a turn never ends. */
const MAX_EVENTS = 200;

export class Scene {
  /** That of the next process. */
  workspace: TemporaryWorkspace;
  readonly #options: SceneOptions;
  #id: ConversationId | undefined;
  #attempts = 0;

  constructor(workspace: TemporaryWorkspace, options: SceneOptions) {
    this.workspace = workspace;
    this.#options = options;
  }

  /** A process: starts the turn, or continues it, until it waits or ends or the process dies. Returns how it ended. */
  async proceed(): Promise<string> {
    const { call, open, diesAt = [], diesWhenAsked = false } = this.#options;
    const { conversations } = this.#openWorkspace();
    const isFirst = this.#id === undefined;
    await using conversation =
      this.#id === undefined ? await conversations.create({}) : await conversations.open(this.#id);
    this.#id = conversation.id;
    await using opened = await open(conversation.id);
    let events = 0;
    const turn = createTurn({
      ...opened.parts,
      conversation,
      model: new ScriptedModel({
        replies: isFirst ? [[{ type: "tool_call", id: "call_1", ...call }], "Done."] : ["Done."],
      }),
      defer: true,
      observer: {
        observe: (update) => {
          if (update.type !== "event") return;
          events += 1;
          const isStart = update.event.type === "attempt_start";
          if (isStart) this.#attempts += 1;
          const isAsked = isFirst && diesWhenAsked && update.event.type === "inquiry_request";
          // The event is on record, and then nothing happens any more.
          const isDead = isAsked || (isStart && diesAt.includes(this.#attempts));
          if (isDead || events > MAX_EVENTS) turn.leave();
        },
      },
    });
    const { type } = await (isFirst ? turn.run({ content: "Deploy it." }) : turn.resume());
    return type;
  }

  /** The only thing that waits, as another process sees it. */
  async pending(): Promise<PendingDecision | undefined> {
    const [item, ...others] = await listPending(this.#openWorkspace().conversations);
    if (others.length > 0) throw new Error(`${others.length + 1} decisions wait`);
    return item;
  }

  /** Says yes, in another process. Returns what becomes of the answer. */
  async approve(item: PendingDecision): Promise<string> {
    const answer = item.question.answerType.type === "text" ? "Ada" : REPLIES[item.kind];
    const { conversations } = this.#openWorkspace();
    return (await answerInquiry(conversations, item, { answer })).type;
  }

  async events(): Promise<readonly ConversationEvent[]> {
    if (this.#id === undefined) return [];
    const { stream } = await this.#openWorkspace().conversations.load(this.#id);
    return [...eventsOf(stream.entries)];
  }

  /** The codes of each decision that no longer counts. */
  async voids(): Promise<readonly (readonly string[])[]> {
    const events = await this.events();
    return events.flatMap((event) => (event.type === "decision_void" ? [event.changed] : []));
  }

  #openWorkspace() {
    return this.workspace.reopen({ clock: systemClock });
  }
}

/** In memory if possible, because each step of a turn is synced. */
export function sceneWorkspace(): TemporaryWorkspace {
  return temporaryWorkspace();
}
