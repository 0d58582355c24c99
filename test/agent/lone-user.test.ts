/** Someone who works alone, and has added no people: what they can decide, and what jp tells them where they cannot. */
import { describe, expect, test } from "vitest";
import { type Directory, eventsOf, isAnswer } from "../../src/record/conversation/index.ts";
import { createDesk } from "../../src/surfaces/desk/index.ts";
import { whyNot } from "../../src/surfaces/desk/page/draft.ts";
import { readItem } from "../../src/surfaces/desk/page/item.ts";
import { ServedDesk } from "../../src/surfaces/desk/served.fixture.ts";
import type { DecisionJson, DeskUser, Page } from "../../src/surfaces/desk/wire.ts";
import type { Person } from "../../src/settings/people/index.ts";
import {
  answerInquiry,
  type DecisionAnswer,
  listPending,
  runTurn,
  type TurnOptions,
} from "../../src/assemble/index.ts";
import {
  FakeClock,
  MemoryConversationStore,
  ScriptedModel,
  ScriptedPrompter,
} from "../../src/testing/index.ts";
import { defineTool } from "../../src/record/tool/index.ts";
import { isJpError, isJsonObject, type JsonObject } from "../../src/util/index.ts";
import { ModelServer } from "../cli/model-server.ts";
import { queryProject } from "../cli/query-project.ts";
import { Screen } from "../cli/screen.ts";
import { Project } from "../cli/support.ts";
import { conversationsOf, copyRecord } from "./copied-record.ts";

/** Whom a call is for. The user is olga. */
const TARGETS = {
  "no one in particular": {},
  "their own name": { user: "olga" },
  "another name": { user: "ada" },
  "a role": { role: "finance" },
  "a quorum": { quorum: 2 },
  "not who asks": { not_by: "asker" },
  "a signature": { role: "finance", proof: "signed" },
} as const;

type Target = keyof typeof TARGETS;

/** What a yes does in each place: `decides`, `waits` because it is not even asked, or the code of why it does not count. */
interface Row {
  /** A turn on a terminal. */
  readonly terminal: string;
  /** `jp inquiry answer`. */
  readonly command: string;
  /** With the owner's link. */
  readonly desk: string;
  /** A turn of a program whose directory is empty, and of one that has none. */
  readonly program: string;
  readonly withoutDirectory: string;
  /** `answerInquiry`, in the same programs. */
  readonly answer: string;
  readonly answerWithoutDirectory: string;
}

const ANYWHERE: Row = {
  terminal: "decides",
  command: "decides",
  desk: "decides",
  program: "decides",
  withoutDirectory: "decides",
  answer: "decides",
  answerWithoutDirectory: "decides",
};

const SOMEONE_ELSE: Row = {
  terminal: "waits",
  command: "wrong_person",
  desk: "wrong_person",
  program: "waits",
  withoutDirectory: "waits",
  answer: "wrong_person",
  answerWithoutDirectory: "wrong_person",
};

const PEOPLE: Row = {
  terminal: "waits",
  command: "no_people",
  desk: "no_people",
  program: "waits",
  withoutDirectory: "directory_missing",
  answer: "no_people",
  answerWithoutDirectory: "directory_missing",
};

/** A program that says `ownerAlone` needs no directory. */
const SIGNERS: Row = { ...PEOPLE, withoutDirectory: "waits", answerWithoutDirectory: "no_people" };
const ALONE: Row = Object.fromEntries(
  Object.keys(ANYWHERE).map((place) => [place, "decides as owner"]),
) as unknown as Row; // The same places.

/** Without `owner_alone`, and with it. */
const TABLE: Readonly<Record<Target, readonly [off: Row, on: Row]>> = {
  "no one in particular": [ANYWHERE, ANYWHERE],
  "their own name": [ANYWHERE, ANYWHERE],
  "another name": [SOMEONE_ELSE, SOMEONE_ELSE],
  "a role": [PEOPLE, ALONE],
  "a quorum": [PEOPLE, ALONE],
  "not who asks": [PEOPLE, ALONE],
  "a signature": [PEOPLE, SIGNERS],
};

const CASES = Object.entries(TABLE).flatMap(([target, rows]) =>
  rows.map((row, index) => ({ target: target as Target, isAlone: index === 1, row })),
);

const NO_PEOPLE: Directory = { list: () => [], findHere: () => undefined };
const ADD = "jp serve people add NAME --roles ROLE --os-user USER";
const ALONE_KEY = "people.owner_alone true";
const SIGN = "jp serve people key add NAME --new";

/** What has to be said where no people are known. */
function waysOut(target: Target): readonly string[] {
  return target === "a signature" ? [ADD, SIGN] : [ADD, ALONE_KEY];
}

function settingsFor(target: Target): JsonObject {
  return { run: "ask", ...(target !== "no one in particular" && { target: TARGETS[target] }) };
}

function known(
  isAlone: boolean,
  hasDirectory = true,
): Pick<TurnOptions, "directory" | "ownerAlone"> {
  return { ...(hasDirectory && { directory: NO_PEOPLE }), ...(isAlone && { ownerAlone: true }) };
}

const pay = defineTool({
  name: "pay",
  description: "Pays.",
  parameters: { type: "object" },
  run: async () => "paid",
});
const CALL = { type: "tool_call", id: "call_1", name: "pay", arguments: {} } as const;

/** A turn that a person leaves, or that a prompter decides with a yes. */
async function start(target: Target, more: Partial<TurnOptions> = { directory: NO_PEOPLE }) {
  const clock = new FakeClock();
  const store = new MemoryConversationStore(clock);
  await using conversation = await store.create({});
  const model = new ScriptedModel({ replies: [[CALL], "Done."] });
  const toolConfig = { pay: settingsFor(target) };
  const given = { conversation, model, tools: [pay], toolConfig, clock, defer: true, ...more };
  const end = await runTurn(given, "Pay.").then(
    ({ type }) => (type === "waiting" ? "waits" : type),
    (error: unknown) => (isJpError(error) ? error.code : String(error)),
  );
  const events = [...eventsOf(conversation.stream.entries)];
  const by = events.find(isAnswer);
  return { store, clock, id: conversation.id, end: end === "done" ? decidesAs(by) : end };
}

function decidesAs(event: unknown): string {
  const { decidedBy } = (event ?? {}) as { readonly decidedBy?: JsonObject };
  return decidedBy?.["auth"] === "owner" ? "decides as owner" : "decides";
}

/** The decision that waits, and what answers to it have become. */
async function waiting(target: Target) {
  const { store, clock, id } = await start(target);
  const [item] = await listPending(store);
  if (item === undefined) throw new Error("nothing waits");
  return { store, clock, id, item };
}

type Waiting = Awaited<ReturnType<typeof waiting>>;

async function decidedIn({ store, id }: Pick<Waiting, "store" | "id">): Promise<string> {
  const { stream } = await store.load(id);
  return decidesAs([...eventsOf(stream.entries)].find(isAnswer));
}

async function runInProgram(target: Target, isAlone: boolean, hasDirectory: boolean) {
  const prompter = new ScriptedPrompter({ permissions: [{ type: "run" }] });
  const { end } = await start(target, {
    prompter,
    userName: "olga",
    ...known(isAlone, hasDirectory),
  });
  return end;
}

async function answerInProgram(
  target: Target,
  answer: Partial<DecisionAnswer> & { readonly answer: boolean },
): Promise<string> {
  const left = await waiting(target);
  try {
    const said = { userName: "olga", clock: left.clock, ...answer };
    const result = await answerInquiry(left.store, left.item, said);
    if (result.type === "recorded") return await decidedIn(left);
    return result.type === "refused" ? result.code : result.type;
  } catch (error) {
    if (!isJpError(error)) throw error;
    return error.code;
  }
}

const OWNER: Person = {
  name: "olga",
  rights: ["see", "answer", "approve", "administer"],
  isOwner: true,
};

/** What the desk answers to the owner, who has its link. */
async function sendToDesk(target: Target, isAlone: boolean, said: "yes" | "no" | "cancel") {
  const left = await waiting(target);
  const { item } = left;
  const directory = { ...NO_PEOPLE, ...(isAlone && { ownerAlone: true }) };
  const workspaces = [{ root: "/work", conversations: left.store }];
  await using desk = await createDesk(workspaces, { clock: left.clock, directory });
  const served = await ServedDesk.start({ desk, directory, owner: OWNER, clock: left.clock });
  const { headers } = await served.login();
  const shown = await whatThePageSays(served, headers);
  const path = `/conversations/${item.conversation}/inquiries/${encodeURIComponent(item.id)}`;
  const { status, json } = await served.send(`${path}/${said === "cancel" ? said : "answer"}`, {
    method: "POST",
    headers,
    body: { digest: item.digest, ...(said !== "cancel" && { answer: said === "yes" }) },
  });
  if (status === 200) return { code: await decidedIn(left), message: "", shown };
  const { reason, message } = isJsonObject(json["error"]) ? json["error"] : {};
  if (typeof reason !== "string" || typeof message !== "string")
    throw new Error(`status ${status}`);
  return { code: reason, message, shown };
}

/** Why the page does not let them decide. */
async function whatThePageSays(
  served: ServedDesk,
  headers: Readonly<Record<string, string>>,
): Promise<string> {
  const get = async (path: string) => (await served.send(path, { headers })).json;
  const { items } = (await get("/inquiries?state=pending")) as unknown as Page<DecisionJson>;
  const [item] = items.map((each) => readItem(each));
  if (item === undefined) throw new Error("the page cannot read it");
  return whyNot(item, (await get("/me")) as unknown as DeskUser) ?? "";
}

async function lonely(isAlone: boolean): Promise<Project> {
  const project = new Project();
  if (isAlone) await project.jp("config", "set", "--in", "user", "people.owner_alone", "true");
  return project;
}

const NAMED = { JP_CFG_USER_NAME: "olga" };

async function answerOnCommandLine(target: Target, isAlone: boolean, ...words: readonly string[]) {
  const { store, id, item } = await waiting(target);
  const project = await lonely(isAlone);
  const conversations = conversationsOf(project);
  const copy = await copyRecord(store, conversations, id);
  const name = `${copy}/${item.id}`;
  const { status, stderr } = await project.jpWith(NAMED, "inquiry", "answer", name, ...words);
  const { stream } = await conversations.load(copy);
  const event = [...eventsOf(stream.entries)].find(isAnswer);
  return { status, stderr: stderr.replaceAll(/\s+/g, " "), code: event && decidesAs(event) };
}

/** A query on a terminal, and a yes if it asks. */
async function queryOnTerminal(target: Target, isAlone: boolean) {
  await using server = await ModelServer.start([{ calls: [{ name: "pay" }] }, "Done."]);
  const pairs = Object.entries(TARGETS[target]).map(([key, value]) => `${key} = "${value}"`);
  const toml = pairs.length === 0 ? "" : `target = { ${pairs.join(", ").replace('"2"', "2")} }`;
  const project = queryProject({
    server,
    project: await lonely(isAlone),
    tools: [{ name: "pay", settings: `run = "ask"\n${toml}`, program: '"paid"' }],
  });
  const screen = new Screen(project, ["query", "Pay."], { columns: 120, variables: NAMED });
  const isAsked = await screen
    .untilShown((lines) => lines.join("\n").includes("y yes"))
    .then(
      () => true,
      () => false,
    );
  if (isAsked) screen.type("y\r");
  const { status, lines } = await screen.end();
  return { status, text: lines.join(" ").replaceAll(/\s+/g, " "), isAsked };
}

describe.each(CASES)(
  "what is for $target, with owner_alone $isAlone",
  ({ target, isAlone, row }) => {
    test("is decided, or left, on a terminal, which says what to do", async () => {
      const { status, text, isAsked } = await queryOnTerminal(target, isAlone);
      expect([isAsked, status]).toEqual(row.terminal === "waits" ? [false, 4] : [true, 0]);
      const isStuck = row.command === "no_people";
      const said = waysOut(target).filter((way) => text.includes(way));
      expect(said).toEqual(isStuck ? waysOut(target) : []);
    });

    test("is decided, or refused with the way out, by jp inquiry answer", async () => {
      const yes = await answerOnCommandLine(target, isAlone, "yes");
      const hints: Readonly<Record<string, readonly string[]>> = {
        no_people: ["no people are known", ...waysOut(target)],
        wrong_person: ["only ada can answer this", "jp config set --in user user.name ada"],
      };
      expect(yes.code ?? "").toBe(row.command.startsWith("decides") ? row.command : "");
      const expected = hints[row.command] ?? ["Answered"];
      expect(expected.filter((hint) => !yes.stderr.includes(hint))).toEqual([]);
    });

    test("is decided, or refused with the way out, at the desk by the owner's link", async () => {
      const { code, message, shown } = await sendToDesk(target, isAlone, "yes");
      expect([code, shown === ""]).toEqual([row.desk, row.desk.startsWith("decides")]);
      const ways = row.desk === "no_people" ? waysOut(target) : [];
      const said = [message, shown].map((text) =>
        waysOut(target).filter((way) => text.includes(way)),
      );
      expect(said).toEqual([ways, ways]);
    });

    test("is decided, left or refused with a code in a program", async () => {
      const answer = { answer: true };
      expect({
        program: await runInProgram(target, isAlone, true),
        withoutDirectory: await runInProgram(target, isAlone, false),
        answer: await answerInProgram(target, { ...answer, ...known(isAlone) }),
        answerWithoutDirectory: await answerInProgram(target, {
          ...answer,
          ...known(isAlone, false),
        }),
      }).toEqual({
        program: row.program,
        withoutDirectory: row.withoutDirectory,
        answer: row.answer,
        answerWithoutDirectory: row.answerWithoutDirectory,
      });
    });

    test("can always be turned down and cancelled by whoever uses the machine", async () => {
      const here = { answer: false, auth: "os_user" } as const;
      const statuses = [
        (await answerOnCommandLine(target, isAlone, "no", "--note", "Too much.")).status,
        (await answerOnCommandLine(target, isAlone, "--cancel")).status,
      ];
      const codes = [
        (await sendToDesk(target, isAlone, "no")).code,
        (await sendToDesk(target, isAlone, "cancel")).code,
        await answerInProgram(target, { ...here, ...known(isAlone) }),
        await answerInProgram(target, { ...here, ...known(isAlone, false) }),
      ];
      expect([statuses, codes.filter((code) => !code.startsWith("decides"))]).toEqual([[0, 0], []]);
    });
  },
);

const PEOPLE_ONLY = CASES.filter(({ row }) => row.answer === "no_people" || row === SOMEONE_ELSE);

test.each(PEOPLE_ONLY)(
  "what is for $target is denied where no one can be asked and the tool's settings say so, with owner_alone $isAlone",
  async ({ target, isAlone }) => {
    const detached = { run: "deny" } as const;
    const toolConfig = { pay: { ...settingsFor(target), detached } };
    const { store, id } = await start(target, { toolConfig, defer: false, ...known(isAlone) });
    const { stream } = await store.load(id);
    const denied = [...eventsOf(stream.entries)].find(isAnswer);
    expect(denied).toMatchObject({ decision: "denied", cause: "unavailable" });
  },
);

test("a workspace cannot let whoever uses the machine decide alone", async () => {
  const { store, id, item } = await waiting("a role");
  const project = queryProject({ config: "people.owner_alone = true" });
  const copy = await copyRecord(store, conversationsOf(project), id);
  const answer = ["inquiry", "answer", `${copy}/${item.id}`, "yes"];
  const { status, stderr } = await project.jpWith(NAMED, ...answer);
  expect([status, stderr.includes(ADD)]).toEqual([1, true]);
});
