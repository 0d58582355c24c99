import {
  appendFileSync,
  cpSync,
  existsSync,
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
  type ChainLine,
  commitTo,
  hashLink,
  parseChainLine,
} from "../../record/conversation/index.ts";
import {
  answered,
  at,
  attemptStart,
  inquiry,
  permission,
} from "../../record/conversation/events.fixture.ts";
import { answerBy, REST, WAITING } from "../open-question.fixture.ts";
import { readOwnRuns } from "./read-chain.ts";
import { type TemporaryWorkspace, temporaryWorkspace } from "../temporary-workspace.fixture.ts";

function chainIn({ live }: TemporaryWorkspace): string {
  const [name = ""] = readdirSync(live);
  return path.join(live, name, "decisions.jsonl");
}

function linesOf(workspace: TemporaryWorkspace): readonly ChainLine[] {
  return readFileSync(chainIn(workspace), "utf8").trim().split("\n").map(parseChainLine);
}

/** Each link names the one before. */
function kindsOf(workspace: TemporaryWorkspace): readonly unknown[] {
  const lines = linesOf(workspace);
  for (const [index, { link }] of lines.entries()) {
    const before = lines[index - 1];
    expect([link.seq, link.prev]).toEqual([
      index,
      before === undefined ? "" : hashLink(before.link),
    ]);
  }
  return lines.map(({ link: { kind, json } }) =>
    kind === "event"
      ? `${json["type"] as string}${json["rebuilt"] === true ? " rebuilt" : ""}`
      : (json["reason"] ?? kind),
  );
}

async function waiting(): Promise<TemporaryWorkspace> {
  const workspace = temporaryWorkspace();
  await using writer = await workspace.conversations.create({});
  await writer.append(...WAITING);
  return workspace;
}

async function goOn(workspace: TemporaryWorkspace): Promise<void> {
  const [{ id } = { id: undefined }] = await workspace.conversations.list();
  if (id === undefined) throw new Error("no conversation");
  await using writer = await workspace.conversations.open(id);
  await writer.append(...REST);
}

const WHOLE = ["start", "inquiry_request", "inquiry_response", "tool_call_response"];

describe("the chain of a conversation", () => {
  test("has what was asked, what was decided, and what came of it, over several processes", async () => {
    const workspace = await waiting();
    await goOn(workspace);
    expect(kindsOf(workspace)).toEqual(WHOLE);
  });

  test("is not there if nothing was decided", async () => {
    const workspace = temporaryWorkspace();
    await using writer = await workspace.conversations.create({});
    await writer.append(...WAITING.slice(0, -1));
    await writer.release();
    expect(existsSync(chainIn(workspace))).toBe(false);
  });

  test("gets from the record what a killed process has not written, and marks it", async () => {
    const workspace = await waiting();
    const [start] = readFileSync(chainIn(workspace), "utf8").split("\n");
    writeFileSync(chainIn(workspace), `${start ?? ""}\n`);
    await goOn(workspace);
    expect(kindsOf(workspace)).toEqual([
      "start",
      "inquiry_request rebuilt",
      "inquiry_response",
      "tool_call_response",
    ]);
  });

  test("has again what a killed process has not written before anything acts on it", async () => {
    const workspace = await waiting();
    const [start] = readFileSync(chainIn(workspace), "utf8").split("\n");
    writeFileSync(chainIn(workspace), `${start ?? ""}\n`);
    const [{ id } = { id: undefined }] = await workspace.conversations.list();
    if (id === undefined) throw new Error("no conversation");
    await using writer = await workspace.conversations.open(id);
    await writer.append(attemptStart("a"));
    expect(kindsOf(workspace)).toEqual(["start", "inquiry_request rebuilt", "attempt_start"]);
  });

  test("gets no more bytes from a question than its record has", async () => {
    const workspace = await waiting();
    const [{ id } = { id: undefined }] = await workspace.conversations.list();
    if (id === undefined) throw new Error("no conversation");
    await using writer = await workspace.conversations.open(id);
    await writer.append(...REST.slice(0, 1));
    const record = path.join(path.dirname(chainIn(workspace)), "events.json");
    const before = [chainIn(workspace), record].map((file) => statSync(file).size);
    const parts = Object.fromEntries(
      ["arguments", "call", "question", "source"].map((part) => [part, "0".repeat(16)]),
    );
    const digest = "0".repeat(64);
    await writer.append({
      ...inquiry("a.q.2"),
      toolCallId: "a",
      subject: { digest, version: 1, parts },
      origin: { type: "builtin" },
    });
    await writer.append({ ...answered("a.q.2"), digest }, attemptStart("a"));
    const [chained = 0, recorded = 0] = [chainIn(workspace), record].map(
      (file, index) => statSync(file).size - (before[index] ?? 0),
    );
    expect([chained > 0, chained <= recorded]).toEqual([true, true]);
  });

  test("gets back its last link after many turns, and no other link twice", async () => {
    const workspace = temporaryWorkspace();
    const writer = await workspace.conversations.create({});
    for (let turn = 0; turn < 30; turn += 1) {
      const timestamp = at(turn);
      await writer.append(...[...WAITING, ...REST].map((event) => ({ ...event, timestamp })));
    }
    await writer.release();
    const whole = kindsOf(workspace);
    const text = readFileSync(chainIn(workspace), "utf8");
    writeFileSync(chainIn(workspace), text.slice(0, text.lastIndexOf("\n", text.length - 2) + 1));
    await using again = await workspace.conversations.open(writer.id);
    await again.append({ type: "turn_end", timestamp: at(31), reason: "done" });
    expect([text.length > 1 << 14, kindsOf(workspace)]).toEqual([
      true,
      [...whole.slice(0, -1), "tool_call_response rebuilt"],
    ]);
  });

  test("says that it begins late if it was removed", async () => {
    const workspace = await waiting();
    rmSync(chainIn(workspace));
    await goOn(workspace);
    expect(kindsOf(workspace)).toEqual([
      "start",
      "no_chain",
      "inquiry_request rebuilt",
      "inquiry_response",
      "tool_call_response",
    ]);
  });

  test("goes on after a line that was cut off, and says so", async () => {
    const workspace = await waiting();
    appendFileSync(chainIn(workspace), '{"link":{"kind":"event","seq":2');
    await goOn(workspace);
    const [first, second, torn, ...others] = readFileSync(chainIn(workspace), "utf8").split("\n");
    expect(torn).toBe('{"link":{"kind":"event","seq":2');
    writeFileSync(chainIn(workspace), [first, second, ...others].join("\n"));
    expect(kindsOf(workspace)).toEqual(WHOLE.toSpliced(2, 0, "torn"));
  });

  test("finds its end again if that was cut off within a link that counts", async () => {
    const workspace = await waiting();
    truncateSync(chainIn(workspace), readFileSync(chainIn(workspace)).length - 20);
    await goOn(workspace);
    const [, , ...others] = readFileSync(chainIn(workspace), "utf8").trim().split("\n");
    expect(others.map((line) => parseChainLine(line).link.json["type"] ?? "torn")).toEqual([
      "torn",
      "inquiry_request",
      "inquiry_response",
      "tool_call_response",
    ]);
  });

  test("has the choices of answers, however many links of the turn are between", async () => {
    const workspace = temporaryWorkspace();
    const long = { ...permission("b"), tool: "t".repeat(1000) };
    {
      await using writer = await workspace.conversations.create({});
      await writer.append(...WAITING, ...Array.from({ length: 300 }, () => long));
    }
    await goOn(workspace);
    const links = linesOf(workspace).map(({ link }) => link.json);
    expect(statSync(chainIn(workspace)).size).toBeGreaterThan(256 * 1024);
    expect(links.find(({ type }) => type === "inquiry_response")).toHaveProperty("choice");
  });

  test("that cannot be written does not keep the record from being written", async () => {
    const workspace = await waiting();
    rmSync(chainIn(workspace));
    writeFileSync(path.join(workspace.root, "elsewhere"), "");
    symlinkSync(path.join(workspace.root, "elsewhere"), chainIn(workspace));
    await goOn(workspace);
    expect(readFileSync(path.join(workspace.root, "elsewhere"), "utf8")).toBe("");
    const [summary] = await workspace.conversations.list();
    expect(summary?.openTurn).toBeUndefined();
  });

  test("is read line by line, and says which lines cannot be read", async () => {
    const workspace = await waiting();
    await goOn(workspace);
    const [first, ...others] = readFileSync(chainIn(workspace), "utf8").trimEnd().split("\n");
    writeFileSync(chainIn(workspace), [first, "{", '{"link":1}', "", ...others].join("\n"));
    expect(await readAll(workspace)).toEqual([
      "start",
      { line: 2, problem: "1:2: invalid JSON" },
      { line: 3, problem: "link: not an object" },
      ...WHOLE.slice(1),
    ]);
  });

  test("is empty if it was never written, and an error if it is a link", async () => {
    const workspace = await waiting();
    rmSync(chainIn(workspace));
    expect(await readAll(workspace)).toEqual([]);
    symlinkSync("/dev/null", chainIn(workspace));
    await expect(readAll(workspace)).rejects.toMatchObject({ code: "read_failed" });
  });

  test("commits to events as the record has them, whatever characters they contain", async () => {
    const workspace = temporaryWorkspace();
    await using writer = await workspace.conversations.create({});
    const half = "\ud83d";
    await writer.append(...WAITING, { ...answerBy(half), metadata: { half } });
    await writer.release();
    const { conversations } = workspace;
    const lines: ChainLine[] = [];
    for await (const read of conversations.readChain?.(writer.id) ?? []) {
      if ("link" in read) lines.push(read);
    }
    const { stream } = await conversations.load(writer.id);
    const { salt = "", link } = lines.at(-1) as ChainLine;
    expect(commitTo(stream.entries.at(-1)?.raw ?? {}, salt)).toBe(link.json["event"]);
  });
});

function headsIn({ data }: TemporaryWorkspace): readonly unknown[] {
  const text = readFileSync(path.join(data, "heads.jsonl"), "utf8").trim();
  return text.split("\n").map((line) => JSON.parse(line) as unknown);
}

describe("the log of heads", () => {
  test("has what each process has left, and what was removed", async () => {
    const workspace = await waiting();
    await goOn(workspace);
    const [{ id } = { id: undefined }] = await workspace.conversations.list();
    const [first, last] = [1, 3].map((index) => linesOf(workspace)[index]);
    if (id === undefined || first === undefined || last === undefined) throw new Error("no chain");
    await workspace.conversations.remove(id);
    const of = { conversation: id, workspace: workspace.root };
    expect(headsIn(workspace)).toEqual([
      { ...of, from: 1, length: 2, head: hashLink(first.link) },
      { ...of, from: 2, length: 4, head: hashLink(last.link) },
      { ...of, length: 4, head: hashLink(last.link), removed: true },
    ]);
  });

  test("counts only links added here, not those that came with the record or were rebuilt from it", async () => {
    const clones = [await waiting(), await waiting()].map((original) => {
      const clone = temporaryWorkspace();
      cpSync(original.live, clone.live, { recursive: true });
      return clone;
    });
    const [whole, unchained] = clones as [TemporaryWorkspace, TemporaryWorkspace];
    rmSync(chainIn(unchained));
    for (const clone of clones) await goOn(clone);
    const added = clones.map(({ environment, root }) =>
      [...readOwnRuns(environment, root).values()].flat(),
    );
    expect(kindsOf(whole).slice(2)).toEqual(["inquiry_response", "tool_call_response"]);
    expect(kindsOf(unchained).slice(3)).toEqual(["inquiry_response", "tool_call_response"]);
    expect(added).toMatchObject([[{ from: 2, length: 4 }], [{ from: 3, length: 5 }]]);
  });

  test("has the links added for one folder, and not those for a clone of it with the same data folder", async () => {
    const workspace = await waiting();
    const clone = temporaryWorkspace({ data: workspace.data });
    cpSync(workspace.live, clone.live, { recursive: true });
    await goOn(clone);
    const { environment } = workspace;
    const lengths = [workspace, clone].map(({ root }) =>
      [...readOwnRuns(environment, root).values()].flat().map(({ length }) => length),
    );
    expect(lengths).toEqual([[2], [4]]);
  });

  test("is not written to by whoever decides nothing", async () => {
    const workspace = await waiting();
    const before = headsIn(workspace);
    const [{ id } = { id: undefined }] = await workspace.conversations.list();
    if (id === undefined) throw new Error("no conversation");
    await using writer = await workspace.conversations.open(id);
    await writer.updateMetadata((metadata) => ({ ...metadata, title: "Renamed" }));
    await writer.release();
    expect(headsIn(workspace)).toEqual(before);
  });
});

test("what is appended after a decision is done after it", async () => {
  const workspace = temporaryWorkspace();
  await using writer = await workspace.conversations.create({});
  const done: number[] = [];
  const appends = WAITING.map((event) => [event]).map(async (events, index) => {
    await writer.append(...events);
    done.push(index);
  });
  const later = REST.map(async (event, index) => {
    await writer.append(event);
    done.push(WAITING.length + index);
  });
  await Promise.all([...appends, ...later]);
  expect(done).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
});

test("the chain of a copy starts with the head of the original", async () => {
  const workspace = await waiting();
  const [{ id } = { id: undefined }] = await workspace.conversations.list();
  if (id === undefined) throw new Error("no conversation");
  const [, original] = linesOf(workspace);
  const copy = await workspace.conversations.fork(id);
  const { events } = workspace.files.paths(copy);
  const [line = ""] = readFileSync(
    path.join(path.dirname(events), "decisions.jsonl"),
    "utf8",
  ).split("\n");
  expect(parseChainLine(line).link.json).toMatchObject({
    kind: "start",
    conversation: copy,
    copy_of: { conversation: id, head: original && hashLink(original.link) },
  });
});

/** The kinds of links, and what is no link. */
async function readAll({ conversations }: TemporaryWorkspace): Promise<readonly unknown[]> {
  const [{ id } = { id: undefined }] = await conversations.list();
  const all: unknown[] = [];
  if (id === undefined) return all;
  for await (const read of conversations.readChain?.(id) ?? []) {
    all.push("problem" in read ? read : (read.link.json["type"] ?? read.link.kind));
  }
  return all;
}
