/** One process of a turn that pays if those who have to have said so. The world around it is passed in each time. */
import {
  type ConversationId,
  type Directory,
  eventsOf,
  hashToSign,
  isSameName,
  type ToSign,
} from "../../src/record/conversation/index.ts";
import {
  answerInquiry,
  listPending,
  resumeTurn,
  runTurn,
  type TurnOptions,
} from "../../src/assemble/index.ts";
import type { ConversationStore } from "../../src/stores/index.ts";
import { ScriptedModel } from "../../src/testing/index.ts";
import { booleanQuestion, defineTool } from "../../src/record/tool/index.ts";
import { isJpError, type Clock, type JsonObject } from "../../src/util/index.ts";

export type TermsKind = "permission" | "question" | "delivery";

export interface TermsPerson {
  readonly name: string;
  readonly id: string;
  readonly roles: readonly string[];
  readonly hasKey: boolean;
}

/** Everything that can change between two steps. */
export interface TermsWorld {
  readonly people: readonly TermsPerson[];
  /** As config writes it. */
  readonly target?: JsonObject | undefined;
  readonly hasDirectory: boolean;
}

/** How a step ended, and the record then. */
export interface TermsReport {
  /** The end of the turn, what became of an answer, or the code of an error. */
  readonly type: string;
  readonly events: readonly JsonObject[];
  /** The id of what waits. */
  readonly pending?: string;
}

/** What one process does. */
export interface TermsSteps {
  start(world: TermsWorld): Promise<TermsReport>;
  say(world: TermsWorld, said: Said): Promise<TermsReport>;
  resume(world: TermsWorld): Promise<TermsReport>;
}

export interface Said {
  readonly name: string;
  readonly answer: boolean;
  readonly signs: boolean;
}

export const ASKER = "ada";

/** `pay` asks its question only where that is what is decided. */
export function termsProcess(
  kind: TermsKind,
  { store, clock }: { readonly store: ConversationStore; readonly clock: Clock },
): TermsSteps {
  const pay = defineTool({
    name: "pay",
    description: "Pays.",
    parameters: { type: "object", properties: {} },
    run: async (_args, { ask }) => {
      if (kind !== "question") return "paid";
      return (await ask(booleanQuestion("sure", "Sure?"))) ? "paid" : "not paid";
    },
  });
  const optionsIn = ({ people, target, hasDirectory }: TermsWorld) => {
    const targeted = target === undefined ? {} : { target };
    const own: Readonly<Record<TermsKind, JsonObject>> = {
      permission: { run: "ask", ...targeted },
      question: { run: "unattended", questions: { sure: targeted } },
      delivery: { run: "unattended", result: "ask", ...targeted },
    };
    return {
      tools: [pay],
      toolConfig: { pay: { ...own[kind], detached: "defer" } },
      clock,
      startedBy: ASKER,
      ...(hasDirectory && { directory: directoryOf(people) }),
    } as unknown as Omit<TurnOptions<"pay">, "conversation" | "model">; // The config is made up here.
  };
  let id: ConversationId | undefined;
  const found = async () => (id ??= (await store.list({ which: "all" }))[0]?.id);
  const report = async (step: () => Promise<string>): Promise<TermsReport> => {
    const type = await step().catch((error: unknown) => {
      if (isJpError(error)) return error.code;
      throw error;
    });
    const conversation = await found();
    if (conversation === undefined) throw new Error("there is no conversation");
    const { stream } = await store.load(conversation);
    const events = [...eventsOf(stream.entries)] as unknown as readonly JsonObject[]; // Data all the way down.
    const [pending] = await listPending(store);
    return { type, events, ...(pending !== undefined && { pending: pending.id }) };
  };
  return {
    start: (world) =>
      report(async () => {
        const call = { type: "tool_call", id: "call_1", name: "pay", arguments: {} } as const;
        const model = new ScriptedModel({ replies: [[call], "Done."] });
        await using conversation = await store.create({});
        id = conversation.id;
        const end = await runTurn({ ...optionsIn(world), conversation, model }, "Pay.");
        return end.type;
      }),
    say: (world, { name, answer, signs }) =>
      report(async () => {
        const [item] = await listPending(store);
        if (item === undefined) return "nothing";
        const { type } = await answerInquiry(store, item, {
          answer,
          userName: name,
          clock,
          ...(world.hasDirectory && { directory: directoryOf(world.people) }),
          ...(signs && { signer: signerOf(name) }),
        });
        return type;
      }),
    resume: (world) =>
      report(async () => {
        const conversation = await found();
        if (conversation === undefined) return "nothing";
        await using open = await store.open(conversation);
        const model = new ScriptedModel({ replies: ["Done."] });
        return (await resumeTurn(open, { ...optionsIn(world), model })).type;
      }),
  };
}

function directoryOf(people: readonly TermsPerson[]): Directory {
  return {
    list: () => people.map(({ id, name, roles }) => ({ id, name, roles })),
    findHere: () => undefined,
    isSigned: (signed, { sig }) =>
      people.some(
        ({ name, hasKey }) => hasKey && isSameName(name, signed.person) && sig === seal(signed),
      ),
  };
}

function signerOf(name: string) {
  return {
    findSigner: () => ({
      sign: async (toSign: ToSign) => ({
        type: "ed25519" as const,
        key: name,
        nonce: toSign.nonce,
        sig: seal(toSign),
      }),
    }),
  };
}

function seal(toSign: ToSign): string {
  return `${toSign.person}:${hashToSign(toSign)}`;
}
