/** A store in a folder of a program's own. The suite of all stores covers the rest. */
import {
  chmodSync,
  globSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";
import {
  answerInquiry,
  booleanQuestion,
  type ConversationStore,
  defineTool,
  listPending,
  openStore,
  resumeTurn,
} from "../../src/index.ts";
import { StreamEntry, timestampFromDate } from "../../src/record/conversation/index.ts";
import { WAITING } from "../../src/stores/open-question.fixture.ts";
import { temporaryFolder } from "../../src/stores/temporary-workspace.fixture.ts";
import { ScriptedModel } from "../../src/testing/index.ts";
import type { Json } from "../../src/util/index.ts";
import { ChildProgram } from "../support/child-program.ts";

describe("the folder of a store", () => {
  test("is created for this user alone, and has everything in it", async () => {
    const parent = temporaryFolder();
    const folder = path.join(parent, "some", "data");
    await placeWaiting(folder);
    expect({
      mode: statSync(folder).mode & 0o777,
      above: [readdirSync(parent), readdirSync(path.dirname(folder))],
      names: readdirSync(folder).toSorted(),
    }).toEqual({
      mode: 0o700,
      above: [["some"], ["data"]],
      names: ["conversations", "heads.jsonl", "locks", "open-turns"],
    });
  });

  test("keeps its permissions if it exists", async () => {
    const folder = temporaryFolder();
    chmodSync(folder, 0o750);
    await openStore(folder);
    expect(statSync(folder).mode & 0o777).toBe(0o750);
  });

  test("is the same by every path that leads to it", async () => {
    const parent = temporaryFolder();
    const folder = path.join(parent, "data");
    const id = await placeWaiting(folder);
    symlinkSync(folder, path.join(parent, "link"));
    const relative = path.relative(process.cwd(), folder);
    for (const given of [relative, `${folder}/`, path.join(parent, "link"), `${parent}/./data`]) {
      const store = await openStore(given);
      expect((await store.list()).map((each) => each.id)).toEqual([id]);
    }
  });

  test("cannot be a file, or below one", async () => {
    const file = path.join(temporaryFolder(), "data");
    writeFileSync(file, "");
    for (const given of [file, path.join(file, "more")]) {
      await expect(openStore(given)).rejects.toMatchObject({
        code: "invalid_store",
        message: `Cannot open a store in ${given}: it is not a folder.`,
        hint: "Pass the path of a folder. It is created if it does not exist.",
      });
    }
  });

  test("cannot be an empty path, which would be the working folder", async () => {
    await expect(openStore("")).rejects.toMatchObject({
      code: "invalid_store",
      message: 'Cannot open a store in "": the path is empty.',
    });
  });

  test("cannot be that of a workspace, which has its locks elsewhere", async () => {
    const parent = temporaryFolder();
    const root = path.join(parent, "project");
    mkdirSync(path.join(root, ".jp"), { recursive: true });
    symlinkSync(root, path.join(parent, "link"));
    for (const given of [
      root,
      path.join(parent, "link"),
      path.join(root, ".jp"),
      path.join(root, ".jp", "conversations"),
    ]) {
      await expect(openStore(given)).rejects.toMatchObject({
        code: "invalid_store",
        message: `Cannot open a store in ${given}: it belongs to a jp workspace.`,
      });
    }
    await openStore(path.join(root, "data"));
    expect(readdirSync(path.join(root, ".jp"))).toEqual([]);
  });
});

describe("a turn that waits in a store", () => {
  const options = {
    model: new ScriptedModel({ replies: () => "Done." }),
    tools: [askTool("a_tool", "q")],
  };

  test("is not continued if something else has changed its record", async () => {
    const folder = temporaryFolder();
    const id = await placeWaiting(folder);
    const [events = ""] = globSync("conversations/*/events.json", { cwd: folder });
    const file = path.join(folder, events);
    writeFileSync(file, readFileSync(file, "utf8").replace('"Go on?"', '"Go away?"'));
    const store = await openStore(folder);
    await using conversation = await store.open(id);
    await expect(resumeTurn(conversation, options)).rejects.toMatchObject({ code: "foreign_turn" });
    const { type } = await resumeTurn(conversation, { ...options, allowsForeignTurn: true });
    expect(type).toBe("done");
  });

  test("is continued if a compaction was undone meanwhile", async () => {
    const folder = temporaryFolder();
    const id = await placeWaiting(folder);
    const store = await openStore(folder);
    const file = path.join(
      folder,
      globSync("conversations/*/events.json", { cwd: folder })[0] ?? "",
    );
    const timestamp = timestampFromDate(new Date(0));
    const compaction = { timestamp, fromTurn: 0, toTurn: 0, reasoning: "strip" } as const;
    await using first = await store.open(id);
    const isOwnTurn = [first.isOwnTurn];
    for (const summary of ["first", "second"]) {
      await first.appendEntries([StreamEntry.fromCompaction({ ...compaction, summary })]);
    }
    await first.release();
    const elements = JSON.parse(readFileSync(file, "utf8")) as Json[]; // It is an array.
    const left = elements.filter((element) => !JSON.stringify(element).includes('"first"'));
    writeFileSync(file, `${JSON.stringify(left, null, 2)}\n`);
    await using second = await store.open(id);
    isOwnTurn.push(second.isOwnTurn);
    expect([isOwnTurn, (await resumeTurn(second, options)).type]).toEqual([[true, true], "done"]);
  });

  test.each([
    ["lost", (file: string) => rmSync(file)],
    ["emptied", (file: string) => truncateSync(file)],
  ])("is continued if a power failure has %s its marker", async (_, lose) => {
    const folder = temporaryFolder();
    const id = await placeWaiting(folder);
    lose(path.join(folder, "open-turns", id));
    const store = await openStore(folder);
    const isOwnTurn = [(await store.load(id)).isOwnTurn];
    await using first = await store.open(id);
    isOwnTurn.push(first.isOwnTurn);
    await first.release();
    await using second = await store.open(id);
    const { type } = await resumeTurn(second, options);
    expect([isOwnTurn, type]).toEqual([[true, true], "done"]);
  });

  test("is answered by another process, also after its own was killed", async () => {
    const folder = temporaryFolder();
    const store = await openStore(folder);
    const program = ChildProgram.ofTests("ask-in-store-program.ts", folder);
    const by = { channel: "web", userName: "Ana" };
    await untilLine(program, "inquiry_request");
    const first = await answerInquiry(store, "call_1.build.1", { answer: true, ...by });
    await untilLine(program, "inquiry_request");
    await program.kill();
    const [waiting] = await listPending(store);
    const second = await answerInquiry(store, "call_1.live.1", { answer: false, ...by });
    const [pending] = await store.listPending();
    if (pending === undefined) throw new Error("The turn is not pending.");
    await using conversation = await store.open(pending.id);
    const model = new ScriptedModel({ replies: ["It is done."] });
    const tools = [askTool("deploy", "build", "live")];
    const { text, events } = await resumeTurn(conversation, { model, tools });
    expect({
      answers: [first, second],
      question: waiting?.question.text,
      text,
      result: events.find(({ type }) => type === "tool_call_response"),
    }).toMatchObject({
      answers: [{ type: "recorded" }, { type: "recorded" }],
      question: "To the live site?",
      text: "It is done.",
      result: { content: "true, false" },
    });
  });
});

async function untilLine(program: ChildProgram, wanted: string): Promise<void> {
  while ((await program.nextLine()) !== wanted);
}

/** A conversation with a turn that waits for an answer. */
async function placeWaiting(folder: string) {
  const store = await openStore(folder);
  await using writer = await store.create({});
  await writer.append(...WAITING);
  return writer.id;
}

/** Returns the answers to its questions. */
function askTool(name: string, ...ids: readonly string[]) {
  return defineTool({
    name,
    description: "Asks.",
    parameters: { type: "object" },
    async run(_args, { ask }) {
      const answers: boolean[] = [];
      for (const id of ids) answers.push(await ask(booleanQuestion(id, "Go on?")));
      return answers.join(", ");
    },
  });
}

test("conversations that are created at once through two stores of one folder have ids of their own", async () => {
  const folder = temporaryFolder();
  const stores = [await openStore(folder), await openStore(folder)];
  const ids = await Promise.all(
    stores.flatMap((store) => Array.from({ length: 10 }, () => createEmpty(store))),
  );
  const listed = await stores[0]?.list();
  expect(listed?.map(({ id }) => id).toSorted()).toEqual([...new Set(ids)].toSorted());
  expect(new Set(ids).size).toBe(20);
});

async function createEmpty(store: ConversationStore) {
  await using conversation = await store.create({});
  return conversation.id;
}
