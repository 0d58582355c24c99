/** An earlier signed state of a turn, put back by someone who can write the rows of the database. */
import { generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import { readFileSync } from "node:fs";
import path from "node:path";
import { expect, onTestFinished, test } from "vitest";
import {
  answerInquiry,
  listPending,
  migrateStore,
  resumeTurn,
  runTurn,
  runWorker,
} from "../../src/index.ts";
import { digestsOf } from "../../src/proof/anchor.ts";
import {
  digestOfPlace,
  exportEvidence,
  verifyEvidence,
  type VerifyOptions,
} from "../../src/proof/index.ts";
import { generateSigner } from "../../src/proof/machine-key.ts";
import { at } from "../../src/record/conversation/events.fixture.ts";
import type { ConversationId } from "../../src/record/conversation/index.ts";
import { listSeen, type NotedHead, seenStatesBeside } from "../../src/stores/index.ts";
import { temporaryFolder } from "../../src/stores/temporary-workspace.fixture.ts";
import { Database } from "../../src/stores/postgres/database.ts";
import { PostgresStore } from "../../src/stores/postgres/postgres-store.ts";
import { PostgresTenant } from "../../src/stores/postgres/tenant.ts";
import { publicKeyText } from "../../src/stores/postgres/turn-keys.ts";
import { LastTurn, type TurnPlace } from "../../src/stores/postgres/turn-state.ts";
import { ScriptedModel } from "../../src/testing/index.ts";
import { systemClock } from "../../src/util/index.ts";
import { counters } from "../security/threats.ts";

import { migratedDatabase } from "../support/postgres.ts";
import { keepState } from "./keep-state.ts";
import { CALL, payTool } from "./pay-tool.ts";

interface Machine {
  readonly privateKey: KeyObject;
  readonly publicKey: string;
  readonly accepted: readonly string[];
  readonly headsFile: string;
  readonly open: () => PostgresStore;
}

/** Machines that accept each other's keys, on a workspace of their own, and someone who owns its tables. */
async function openFleet() {
  const url = await migratedDatabase();
  await migrateStore(url);
  const workspace = crypto.randomUUID();
  const owner = new Database(url);
  onTestFinished(() => owner.close());
  const accepted: string[] = [];
  const addMachine = (): Machine => {
    const { privateKey, publicKey } = generateKeyPairSync("ed25519");
    const headsFile = path.join(temporaryFolder(), "heads.jsonl");
    accepted.push(publicKeyText(publicKey));
    return {
      privateKey,
      publicKey: publicKeyText(publicKey),
      accepted,
      headsFile,
      open: () => openStore({ url, workspace, headsFile, privateKey, accepted }),
    };
  };
  return { url, workspace, owner, addMachine };
}

function openStore(options: {
  readonly url: string;
  readonly workspace: string;
  readonly headsFile: string;
  readonly privateKey: KeyObject;
  readonly accepted: readonly string[];
}): PostgresStore {
  const { url, workspace, headsFile, privateKey, accepted } = options;
  const keys = async () => ({ privateKey, accepted: [...accepted] });
  const store = new PostgresStore({ url, workspace, pid: process.pid, headsFile, keys });
  onTestFinished(() => store.close());
  return store;
}

/** Leaves a turn that waits for an approval. */
async function leaveWaiting(store: PostgresStore): Promise<ConversationId> {
  await using conversation = await store.create({});
  const asking = new ScriptedModel({ replies: [[CALL]] });
  await runTurn({ conversation, model: asking, tools: [payTool()], defer: true }, "Pay.");
  return conversation.id;
}

async function approve(store: PostgresStore): Promise<void> {
  const [item] = await listPending(store);
  expect(await answerInquiry(store, item ?? "", { answer: true })).toEqual({ type: "recorded" });
}

/** Runs a worker until a turn has ended, or was refused. `seen` gets the answers that its tool got. */
async function work(machine: Machine, seen: unknown[]) {
  const { promise, resolve } = Promise.withResolvers<string>();
  const stopping = new AbortController();
  const store = machine.open();
  const model = new ScriptedModel({ replies: ["It is paid."] });
  const working = runWorker({
    store,
    turn: { model, tools: [payTool(seen)] },
    signal: stopping.signal,
    onTurn: (turn) => resolve(turn.type === "resumed" ? turn.turn.text : turn.error.message),
    onProblem: (problem) => resolve("code" in problem ? String(problem.code) : problem.message),
  });
  try {
    return await promise;
  } finally {
    stopping.abort();
    await working;
  }
}

/** A turn whose approval was used, and a way to put its state from before that back. */
async function usedApproval(owner: Database, machine: Machine) {
  const store = machine.open();
  const id = await leaveWaiting(store);
  await approve(store);
  const putBack = await keepState(owner, id);
  const seen: unknown[] = [];
  expect(await work(machine, seen)).toBe("It is paid.");
  return { id, putBack, seen };
}

/** All workspaces, as the machine sees them. */
function openTenant(url: string, { headsFile, privateKey, accepted }: Machine): PostgresTenant {
  const keys = async () => ({ privateKey, accepted });
  const tenant = new PostgresTenant({ url, pid: process.pid, headsFile, keys });
  onTestFinished(() => tenant.close());
  return tenant;
}

/** Of the last turn. */
async function digestOf(store: PostgresStore, place: TurnPlace) {
  const { stream } = await store.load(place.conversation as ConversationId);
  const stored = stream.entries.map((entry) => ({ entry, text: entry.toText() }));
  return new LastTurn(place).with(stored).digest ?? "";
}

/** A line of the log of heads. */
function headIn(line: string): NotedHead {
  return { isRemoved: false, ...(JSON.parse(line) as Omit<NotedHead, "isRemoved">) };
}

test("an approval that a tool has used runs no tool again when its turn is put back", async () => {
  counters("T-FLEET-1");
  const { owner, addMachine } = await openFleet();
  const machine = addMachine();
  const { putBack, seen } = await usedApproval(owner, machine);
  await putBack();
  expect([await work(machine, seen), seen]).toEqual(["turn_stepped_back", [true]]);
});

test("a turn that was put back is not resumed, and the error says why", async () => {
  const { owner, addMachine } = await openFleet();
  const machine = addMachine();
  const store = machine.open();
  const { id, putBack } = await usedApproval(owner, machine);
  await putBack();
  await using writer = await store.open(id);
  expect([writer.isOwnTurn, writer.steppedBack?.code]).toEqual([false, "turn_stepped_back"]);
  const tools = [payTool()];
  const model = new ScriptedModel({ replies: [] });
  await expect(resumeTurn(writer, { model, tools })).rejects.toMatchObject({
    code: "turn_stepped_back",
  });
});

test("a new turn in a conversation that was put back is the user's own again", async () => {
  const { owner, addMachine } = await openFleet();
  const [machine, other] = [addMachine(), addMachine()];
  const store = machine.open();
  const { id, putBack } = await usedApproval(owner, machine);
  await putBack();
  await using writer = await store.open(id);
  await writer.append({ type: "turn_start", timestamp: at(1) });
  const isOwn = async (each: Machine) => (await each.open().load(id)).isOwnTurn;
  expect([writer.isOwnTurn, writer.steppedBack, await isOwn(machine), await isOwn(other)]).toEqual([
    true,
    undefined,
    true,
    true,
  ]);
});

test("a machine that has not seen the turn cannot know that it was put back", async () => {
  const { owner, addMachine } = await openFleet();
  const [machine, other] = [addMachine(), addMachine()];
  const { id, putBack } = await usedApproval(owner, machine);
  await putBack();
  expect((await machine.open().load(id)).isOwnTurn).toBe(false);
  expect((await other.open().load(id)).isOwnTurn).toBe(true);
});

test("a state without a counter is refused where a counter was seen, and counts where none was", async () => {
  counters("T-FLEET-1");
  const { owner, addMachine, workspace } = await openFleet();
  const [machine, other] = [addMachine(), addMachine()];
  const store = machine.open();
  const id = await leaveWaiting(store);
  // As the release before this one has signed it.
  const digest = await digestOf(store, { tenant: "default", workspace, conversation: id });
  const signature = sign(null, Buffer.from(`jp turn ${digest}`), machine.privateKey);
  await owner.query({
    text: `update jp.conversations set turn_counter = null, turn_signature = $2 where id = $1 and turn_key = $3`,
    values: [id, signature.toString("base64url"), machine.publicKey],
  });
  await using writer = await store.open(id);
  expect([writer.isOwnTurn, writer.steppedBack?.code]).toEqual([false, "turn_stepped_back"]);
  await writer.release();
  await using there = await other.open().open(id);
  expect(there.isOwnTurn).toBe(true);
});

test("another state with the same counter is refused", async () => {
  counters("T-FLEET-1");
  const { owner, addMachine } = await openFleet();
  const [machine, other] = [addMachine(), addMachine()];
  const store = machine.open();
  const id = await leaveWaiting(store);
  const putBack = await keepState(owner, id);
  await approve(store);
  await putBack();
  // It has seen less, and signs another state with the counter of the answer.
  await approve(other.open());
  expect((await store.load(id)).isOwnTurn).toBe(false);
  await using writer = await store.open(id);
  expect(writer.steppedBack?.code).toBe("turn_stepped_back");
});

test("a counter that someone else has written keeps no one from signing the next turn", async () => {
  const { owner, addMachine } = await openFleet();
  const machine = addMachine();
  const store = machine.open();
  const id = await leaveWaiting(store);
  const own: boolean[] = [];
  for (const counter of [2n ** 52n, 2n ** 53n, 2n ** 63n - 1n, -1n]) {
    const text = "update jp.conversations set turn_counter = $2 where id = $1 and turn_key = $3";
    await owner.query({ text, values: [id, String(counter), machine.publicKey] });
    await using writer = await store.open(id);
    own.push(writer.isOwnTurn);
    await writer.append({ type: "turn_start", timestamp: at(1) });
    await writer.release();
    own.push((await store.load(id)).isOwnTurn);
  }
  expect(own).toEqual([false, true, false, true, false, true, false, true]);
});

test("states that are accepted after a backup was restored go on, and what was let go is refused from then on", async () => {
  counters("T-FLEET-1");
  const { owner, url, addMachine } = await openFleet();
  const [machine, other] = [addMachine(), addMachine()];
  const { id, putBack } = await usedApproval(owner, machine);
  const letGo = await keepState(owner, id);
  await putBack();
  const tenant = openTenant(url, machine);
  const found = await tenant.findSteppedBack();
  expect(found.map(({ conversation }) => conversation)).toEqual([id]);
  for (const turn of found) expect(await tenant.acceptSteppedBack(turn, "ana")).toBe(true);
  expect(await tenant.findSteppedBack()).toEqual([]);
  const isOwn = async (each: Machine) => (await each.open().load(id)).isOwnTurn;
  const afterwards = [await isOwn(machine), await isOwn(other)];
  const restored = [...listSeen(seenStatesBeside(machine.headsFile))].filter(
    (state) => state.restored !== undefined,
  );
  expect(restored).toMatchObject([{ conversation: id, restored: { by: "ana" } }]);
  const seen: unknown[] = [];
  expect(await work(machine, seen)).toBe("It is paid.");
  await letGo();
  expect([...afterwards, await isOwn(machine)]).toEqual([true, true, false]);
});

test("evidence reports a turn that was put back, by the log of the machine and by an anchor of it", async () => {
  const { owner, addMachine } = await openFleet();
  const machine = addMachine();
  const { id, putBack } = await usedApproval(owner, machine);
  const store = machine.open();
  const heads = readFileSync(machine.headsFile, "utf8").trim().split("\n").map(headIn);
  const document = { prev: "", heads: heads.flatMap(digestsOf) };
  const proof = { kind: "timestamp", url: "http://tsa.invalid", response: "" } as const;
  const anchored = { anchors: [{ at: "2026-01-02T03:04:05Z", document, proof }], heads };
  const verified = async (options: VerifyOptions, hasAnchor: boolean) => {
    const parts: Buffer[] = [];
    const { findings } = await exportEvidence(
      {
        store,
        conversations: [id],
        signer: generateSigner(),
        clock: systemClock,
        tool: "test",
        ...(hasAnchor && { anchored }),
      },
      (line) => void parts.push(Buffer.from(line)),
    );
    const { problems } = await verifyEvidence(parts, options);
    const codes = problems.map(({ code }) => code).filter((code) => code !== "bad_timestamp");
    return { codes, findings: Object.keys(findings) };
  };
  const states = new Map(
    [...listSeen(seenStatesBeside(machine.headsFile))].map((state) => [
      digestOfPlace(state),
      state,
    ]),
  );
  const findSeen = (place: string) => states.get(place);
  expect([await verified({ findSeen }, false), await verified({}, true)]).toEqual([
    { codes: [], findings: [] },
    { codes: [], findings: [] },
  ]);
  await putBack();
  expect([await verified({ findSeen }, false), await verified({}, true)]).toEqual([
    { codes: ["stepped_back"], findings: ["stepped_back"] },
    { codes: ["stepped_back"], findings: expect.arrayContaining(["stepped_back"]) as unknown },
  ]);
});
