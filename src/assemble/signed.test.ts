import path from "node:path";
import { describe, expect, test } from "vitest";
import { counters } from "../../test/security/threats.ts";
import {
  type AnswerEvent,
  type Directory,
  eventsOf,
  isAnswer,
  type InquiryId,
  type Timestamp,
  withOwnerAlone,
} from "../record/conversation/index.ts";
import {
  createSigner,
  makeKeyFile,
  openDirectory,
  openPeople,
  readKeyFile,
} from "../settings/people/index.ts";
import { temporaryFolder } from "../stores/temporary-workspace.fixture.ts";
import {
  FakeClock,
  MemoryConversationStore,
  type PrompterScript,
  ScriptedModel,
  ScriptedPrompter,
} from "../testing/index.ts";
import { defineTool } from "../record/tool/index.ts";
import type { JsonObject } from "../util/index.ts";
import { answerInquiry, listPending, resumeTurn, runTurn } from "./index.ts";

const SIGNED = { run: "ask", target: { role: "release", proof: "signed" } };
const LIVE = ['"live"'];
const TWICE = { run: "ask", target: { role: "release", proof: "signed", quorum: 2 } };

/** People with a key file each, and what each of their terminals knows. */
async function openRelease(...names: readonly string[]) {
  const folder = path.join(temporaryFolder(), "data");
  const people = openPeople(folder);
  for (const name of names) {
    await people.add(name, ["see", "approve"], { osUser: name, roles: ["release"] });
    const file = await makeKeyFile(folder);
    const { id, publicKey } = readKeyFile(file);
    const base = { id, public: publicKey.toString("base64"), added: "now", file };
    await people.addKey(name, { type: "ed25519", ...base });
  }
  const at = (name: string): Directory =>
    openDirectory(folder, { osUser: () => name, signerOf: (person) => createSigner({ person }) });
  return { people, at };
}

interface Run extends PrompterScript {
  readonly directory?: Directory;
  readonly config?: JsonObject;
}

async function run({ directory, config = SIGNED, ...script }: Run) {
  const clock = new FakeClock();
  const store = new MemoryConversationStore(clock);
  const prompter = new ScriptedPrompter(script);
  prompter.auth = "os_user";
  const shipped: string[] = [];
  const deploy = defineTool({
    name: "deploy",
    description: "Deploys.",
    parameters: { type: "object", properties: { to: { type: "string" } } },
    run: async ({ to }) => {
      shipped.push(JSON.stringify(to));
      return "deployed";
    },
  });
  const notices: string[] = [];
  const observer = {
    observe: (update: { readonly type: string; readonly message?: string }) => {
      if (update.type === "notice") notices.push(update.message ?? "");
    },
  };
  const call = { type: "tool_call", id: "call_1", name: "deploy", arguments: { to: "live" } };
  const toolConfig: { readonly deploy: JsonObject } = { deploy: config };
  const common = { tools: [deploy], toolConfig, prompter, clock, observer };
  const known = directory === undefined ? {} : { directory };
  await using conversation = await store.create({});
  const model = new ScriptedModel({ replies: [[{ ...call, type: "tool_call" }], "Done."] });
  const end = await runTurn({ ...common, ...known, conversation, model }, "Deploy.");
  const { id } = conversation;
  const resume = async (as: Directory) => {
    await using again = await store.open(id);
    const next = new ScriptedModel({ replies: ["Done."] });
    return await resumeTurn(again, { ...common, prompter, model: next, directory: as });
  };
  const answers = async () => {
    await using again = await store.open(id);
    return [...eventsOf(again.stream.entries)].filter(isAnswer);
  };
  return { end, store, clock, prompter, shipped, notices, resume, answers, id };
}

describe("what has to be signed", () => {
  test("is signed at the prompt with the person's key, which the prompt names before", async () => {
    const { at } = await openRelease("ada");
    const directory = at("ada");
    const ran = await run({ directory, permissions: [{ type: "run" }] });
    expect([ran.end.type, ran.shipped]).toEqual(["done", LIVE]);
    const [decision] = await ran.answers();
    expect(decision?.signature).toMatchObject({ type: "ed25519", sig: expect.any(String) });
    expect(ran.prompter.permissions[0]?.signing).toEqual({ key: directory.findSigner?.()?.key });
  });

  test("stays open if the key cannot be used, and the person is told why", async () => {
    counters("T-SIGN-1");
    const { at, people } = await openRelease("ada");
    const [key] = (await people.list())[0]?.keys ?? [];
    await people.removeKey("ada", key?.id ?? "");
    const ran = await run({ directory: at("ada"), permissions: [{ type: "run" }] });
    expect([ran.end.type, ran.shipped, await ran.answers()]).toEqual(["waiting", [], []]);
    expect(ran.notices).toEqual([expect.stringContaining("you have no key for that here")]);
  });

  test("can be turned down without a signature", async () => {
    const { at } = await openRelease("ada");
    const ran = await run({ directory: at("ada"), permissions: [{ type: "skip" }] });
    const [decision] = await ran.answers();
    expect([ran.end.type, ran.shipped, decision?.signature]).toEqual(["done", [], undefined]);
  });

  test("waits if no people are known, even where the owner stands in for others", async () => {
    counters("T-SIGN-1");
    const directory = withOwnerAlone({ list: () => [], findHere: () => undefined });
    const ran = await run({ directory, permissions: [{ type: "run" }] });
    expect([ran.end.type, ran.shipped]).toEqual(["waiting", []]);
  });

  test("is refused from elsewhere without a signature, and taken with one", async () => {
    counters("T-SIGN-1");
    const { at } = await openRelease("ada");
    const ran = await run({ directory: at("eve") });
    const directory = at("ada");
    const by = { answer: true, auth: "os_user", directory, clock: ran.clock } as const;
    expect([
      ran.end.type,
      await answerInquiry(ran.store, "call_1", by),
      await answerInquiry(ran.store, "call_1", { ...by, signer: directory }),
      (await ran.resume(at("eve"))).type,
      ran.shipped,
    ]).toEqual([
      "waiting",
      { type: "refused", code: "unsigned", reason: "this has to be signed" },
      { type: "recorded" },
      "done",
      LIVE,
    ]);
  });

  test("does not run if the record has a signature that is not of this decision", async () => {
    counters("T-SIGN-1", "T-SIGN-2");
    const { at } = await openRelease("ada");
    expect(await forge({ at, changed: () => ({}) })).toEqual(["done", LIVE]);
    const changes: readonly ((event: AnswerEvent) => object)[] = [
      () => ({ signature: undefined }),
      ({ signature }) => ({ signature: { ...signature, nonce: `1.${"a".repeat(32)}` } }),
      () => ({ signature: { unknown: { type: "ed448" } } }),
      ({ timestamp }) => ({ timestamp: timestamp.replace("20", "19") as Timestamp }),
      () => ({ id: "call_1.run.9" as InquiryId }),
      () => ({
        decidedBy: { kind: "user", channel: "cli", name: "eve", auth: "os_user" },
      }),
    ];
    for (const changed of changes) {
      const [, shipped] = await forge({ at, changed });
      expect(shipped).toEqual([]);
    }
  });

  test("takes as many signatures as people have to approve", async () => {
    const { at } = await openRelease("ada", "bob");
    const ran = await run({ directory: at("ada"), config: TWICE, permissions: [{ type: "run" }] });
    const bob = at("bob");
    const by = { answer: true, auth: "os_user", directory: bob, clock: ran.clock } as const;
    expect([
      ran.end.type,
      (await answerInquiry(ran.store, "call_1", by)).type,
      (await answerInquiry(ran.store, "call_1", { ...by, signer: bob })).type,
      (await ran.resume(bob)).type,
      ran.shipped,
    ]).toEqual(["waiting", "refused", "recorded", "done", LIVE]);
  });

  test("has no vote of whoever has edited it before they have signed what it has become", async () => {
    counters("T-SIGN-1");
    const { at } = await openRelease("ada", "bob");
    const permissions = [{ type: "run", arguments: { to: "test" } }] as const;
    const ran = await run({ directory: at("ada"), config: TWICE, permissions });
    const [pending] = await listPending(ran.store);
    expect([ran.end.type, pending?.arguments, pending?.votes]).toEqual([
      "waiting",
      { to: "test" },
      undefined,
    ]);
    const say = (name: string) => {
      const as = { directory: at(name), signer: at(name), clock: ran.clock };
      return answerInquiry(ran.store, "call_1", { answer: true, auth: "os_user", ...as });
    };
    expect([(await say("bob")).type, (await say("ada")).type]).toEqual(["counted", "recorded"]);
    expect([(await ran.resume(at("eve"))).type, ran.shipped]).toEqual(["done", ['"test"']]);
  });

  test("does not count a vote whose signer's key is gone", async () => {
    const { at, people } = await openRelease("ada", "bob");
    const ran = await run({ directory: at("ada"), config: TWICE, permissions: [{ type: "run" }] });
    const [key] = (await people.list()).find(({ name }) => name === "ada")?.keys ?? [];
    const bob = at("bob");
    const by = { answer: true, auth: "os_user", signer: bob, clock: ran.clock } as const;
    await answerInquiry(ran.store, "call_1", { ...by, directory: bob });
    await people.removeKey("ada", key?.id ?? "");
    expect([(await ran.resume(at("eve"))).type, ran.shipped]).toEqual(["waiting", []]);
  });
});

/** Someone writes ada's signed yes to the record, with something changed. Returns how the turn goes on, and what was run. */
async function forge({
  at,
  changed,
}: {
  readonly at: (name: string) => Directory;
  readonly changed: (event: AnswerEvent) => object;
}) {
  const ran = await run({ directory: at("eve") });
  const ada = at("ada");
  const [item] = await listPending(ran.store);
  if (item === undefined) throw new Error("nothing waits");
  let made: AnswerEvent | undefined;
  const spy = {
    listPending: ran.store.listPending.bind(ran.store),
    answer: async (_id: unknown, event: AnswerEvent) => {
      made = event;
      return { type: "recorded" } as const;
    },
  };
  await answerInquiry(spy, item, {
    answer: true,
    auth: "os_user",
    directory: ada,
    signer: ada,
    clock: ran.clock,
  });
  if (made === undefined) throw new Error("not signed");
  {
    await using conversation = await ran.store.open(ran.id);
    await conversation.append({ ...made, ...changed(made) });
  }
  const { type } = await ran.resume(at("eve"));
  return [type, ran.shipped] as const;
}
