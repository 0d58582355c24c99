/** Conversations with two copies, in the workspace and in the user's own folder. */
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { fileIdFromNumber } from "../../src/stores/fs/file-id.ts";
import {
  laidOut,
  numbered,
  numberedElement,
  numberedElements,
  loadPlain,
  plainStream,
} from "../../src/stores/record-elements.fixture.ts";
import {
  placeConversation,
  setAge,
  temporaryWorkspace,
} from "../../src/stores/temporary-workspace.fixture.ts";

const ID = fileIdFromNumber(17_000_000_000);

/** When the files of a copy changed, in seconds. */
interface Ages {
  readonly events: number;
  readonly metadata: number;
  readonly baseConfig: number;
}

const OLD: Ages = { events: 10, metadata: 10, baseConfig: 10 };

test("of copies with the same time, the user's own is read", async () => {
  expect(await read(OLD, OLD)).toEqual({ events: "local", metadata: "local", config: "local" });
});

test("the copy whose events changed last is read", async () => {
  expect({
    workspace: await read({ ...OLD, events: 20 }, OLD),
    local: await read(OLD, { ...OLD, events: 20 }),
  }).toEqual({
    workspace: { events: "workspace", metadata: "local", config: "workspace" },
    local: { events: "local", metadata: "local", config: "local" },
  });
});

test("metadata is read from the copy where it changed last, independently of the events", async () => {
  expect({
    workspace: await read({ ...OLD, metadata: 20 }, { ...OLD, events: 30 }),
    local: await read({ ...OLD, events: 30 }, { ...OLD, metadata: 20 }),
  }).toEqual({
    workspace: { events: "local", metadata: "workspace", config: "local" },
    local: { events: "workspace", metadata: "local", config: "workspace" },
  });
});

test("a changed base config counts as a change of the events", async () => {
  expect({
    workspace: await read({ ...OLD, baseConfig: 20 }, { ...OLD, events: 15 }),
    local: await read({ ...OLD, events: 15 }, { ...OLD, baseConfig: 20 }),
  }).toEqual({
    workspace: { events: "workspace", metadata: "local", config: "workspace" },
    local: { events: "local", metadata: "local", config: "local" },
  });
});

test("a difference of a millisecond decides", async () => {
  expect(await read({ ...OLD, events: 10.001 }, OLD)).toEqual({
    events: "workspace",
    metadata: "local",
    config: "workspace",
  });
});

test("a conversation in both places is listed once, with both places", async () => {
  const { conversations } = placeBoth(OLD, OLD);
  expect((await conversations.list()).map(({ id, place }) => ({ id, place }))).toEqual([
    { id: ID, place: "both" },
  ]);
});

test("a copy that appears after listing is read if it is newer", async () => {
  const { conversations, files, live, local } = temporaryWorkspace();
  placeOne(local, "local", OLD);
  await conversations.list();
  placeOne(live, "workspace", { events: 20, metadata: 20, baseConfig: 20 });
  const { summary, elements } = await loadPlain(conversations, ID);
  expect({
    title: summary.metadata?.title,
    content: elements[0]?.["content"],
    folder: files.paths(ID).folder,
  }).toEqual({
    title: "workspace",
    content: "workspace",
    folder: path.join(live, "17000000000"),
  });
});

test("a writer merges the latest changes and writes to the workspace", async () => {
  const { conversations, live, local } = placeBoth(
    { ...OLD, metadata: 20 },
    { ...OLD, events: 20 },
  );
  await using writer = await conversations.open(ID);
  await writer.append(numbered(9));
  expect({
    title: writer.metadata.title,
    baseConfig: plainStream(writer).baseConfig,
    stream: plainStream(writer).elements,
    live: eventsIn(live),
    local: eventsIn(local),
    loaded: (await loadPlain(conversations, ID)).elements,
  }).toEqual({
    title: "workspace",
    baseConfig: { from: "local" },
    stream: [named("local"), numberedElement(9)],
    live: laidOut([named("local"), numberedElement(9)]),
    local: laidOut([named("local")]),
    loaded: [named("local"), numberedElement(9)],
  });
});

test("moving to the user's folder keeps only the copy changed last", async () => {
  const { conversations, live, local } = placeBoth({ ...OLD, events: 20 }, OLD);
  await conversations.setLocal(ID, true);
  const { summary, elements } = await loadPlain(conversations, ID);
  expect({
    place: summary.place,
    elements,
    live: readdirSync(live),
    local: readdirSync(local),
  }).toEqual({
    place: "local",
    elements: [named("workspace")],
    live: [],
    local: ["17000000000"],
  });
});

test("archiving, unarchiving and removing work on both copies", async () => {
  const { conversations, live, local } = placeBoth(OLD, OLD);
  const names = () => ({
    live: readdirSync(live),
    local: readdirSync(local),
    archived: [live, local].flatMap((root) => readdirSync(path.join(root, ".archive"))),
  });
  await conversations.archive(ID);
  const archived = { place: (await conversations.find(ID))?.place, ...names() };
  await conversations.unarchive(ID);
  const broughtBack = names();
  await conversations.remove(ID);
  expect({ archived, broughtBack, removed: names() }).toEqual({
    archived: {
      place: "both",
      live: [".archive"],
      local: [".archive"],
      archived: ["17000000000", "17000000000"],
    },
    broughtBack: {
      live: [".archive", "17000000000"],
      local: [".archive", "17000000000"],
      archived: [],
    },
    removed: { live: [".archive"], local: [".archive"], archived: [] },
  });
});

test("two folders of one conversation in one place do not prevent a new title", async () => {
  const { conversations, live } = temporaryWorkspace();
  const metadata = '{"title": "b", "last_activated_at": "2026-01-02 03:04:05.0"}';
  for (const [index, name] of ["17000000000-a", "17000000000-b"].entries()) {
    const folder = placeConversation(path.join(live, name), {
      events: laidOut(numberedElements(index + 1)),
      metadata,
    });
    for (const file of ["events.json", "metadata.json"]) setAge(path.join(folder, file), index);
  }
  await using writer = await conversations.open(ID);
  await writer.updateMetadata((old) => ({ ...old, title: "c" }));
  await writer.append(numbered(2));
  expect(await loadPlain(conversations, ID)).toMatchObject({
    summary: { metadata: { title: "c" } },
    elements: numberedElements(3),
  });
});

/** Which of the two copies each file is read from. */
async function read(workspace: Ages, user: Ages) {
  const { conversations } = placeBoth(workspace, user);
  const { summary, elements, baseConfig } = await loadPlain(conversations, ID);
  return {
    events: elements[0]?.["content"],
    metadata: summary.metadata?.title,
    config: baseConfig["from"],
  };
}

function placeBoth(workspace: Ages, user: Ages) {
  const opened = temporaryWorkspace();
  placeOne(opened.live, "workspace", workspace);
  placeOne(opened.local, "local", user);
  return opened;
}

function placeOne(root: string, name: string, ages: Ages): void {
  const folder = placeConversation(path.join(root, "17000000000"), {
    events: laidOut([named(name)]),
    metadata: `{"title": "${name}", "last_activated_at": "2026-01-02 03:04:05.0"}`,
    baseConfig: `{"from": "${name}"}`,
  });
  setAge(path.join(folder, "events.json"), ages.events);
  setAge(path.join(folder, "metadata.json"), ages.metadata);
  setAge(path.join(folder, "base_config.json"), ages.baseConfig);
}

function eventsIn(root: string): string {
  return readFileSync(path.join(root, "17000000000", "events.json"), "utf8");
}

function named(content: string) {
  return { ...numberedElement(0), content };
}
