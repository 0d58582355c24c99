/** The id of a workspace proves nothing: what is the user's own is bound to the path as well. */
import { renameSync, rmSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import type { Workspace } from "../../src/stores/index.ts";
import { codeOf } from "../../src/stores/record-elements.fixture.ts";
import {
  temporaryFolder,
  temporaryWorkspace,
} from "../../src/stores/temporary-workspace.fixture.ts";
import { counters } from "../security/threats.ts";

/** A workspace with a local conversation that is active. */
async function place() {
  const real = temporaryWorkspace();
  await using writer = await real.conversations.create({ isLocal: true });
  await real.session.activate(writer.id);
  return { real, id: writer.id };
}

async function ownOf({ conversations, session }: Workspace) {
  const listed = await conversations.list();
  return { listed: listed.map((each) => each.id), active: await session.history() };
}

test("a clone with the id of a workspace gets neither its local conversations nor its sessions", async () => {
  counters("T-WORK-24");
  const { real, id } = await place();
  const clone = temporaryWorkspace({ data: real.data });
  expect([await ownOf(clone), await ownOf(real)]).toEqual([
    { listed: [], active: [] },
    { listed: [id], active: [id] },
  ]);
});

test("a clone has local conversations and sessions of its own", async () => {
  counters("T-WORK-24");
  const { real, id } = await place();
  real.clock.advance(1000);
  const clone = temporaryWorkspace({ data: real.data, clock: real.clock });
  await using writer = await clone.conversations.create({ isLocal: true });
  await clone.session.activate(writer.id);
  expect([await ownOf(clone), await ownOf(real), clone.findFormerRoot()]).toEqual([
    { listed: [writer.id], active: [writer.id] },
    { listed: [id], active: [id] },
    undefined,
  ]);
});

test("two clones with the id of a workspace have nothing of each other's", async () => {
  counters("T-WORK-24");
  const { real } = await place();
  real.clock.advance(1000);
  const clone = () => temporaryWorkspace({ data: real.data, clock: real.clock });
  const [one, other] = [clone(), clone()];
  await using writer = await one.conversations.create({ isLocal: true });
  await one.session.activate(writer.id);
  expect([await ownOf(one), await ownOf(other)]).toEqual([
    { listed: [writer.id], active: [writer.id] },
    { listed: [], active: [] },
  ]);
});

test("what does not say whose it is belongs to the first workspace that stores something there", async () => {
  counters("T-WORK-24");
  const { real, id } = await place();
  rmSync(path.join(real.userFolder, "storage"));
  await real.session.activate(id);
  const clone = temporaryWorkspace({ data: real.data });
  expect([await ownOf(real), await ownOf(clone)]).toEqual([
    { listed: [id], active: [id] },
    { listed: [], active: [] },
  ]);
});

test("a workspace that was moved finds its own again after the user has said so", async () => {
  counters("T-WORK-24");
  const { real, id } = await place();
  const root = path.join(temporaryFolder(), "moved");
  renameSync(real.root, root);
  const moved = real.reopen({ from: root });
  const before = await ownOf(moved);
  const refused = await codeOf(moved.session.activate(id));
  const former = moved.findFormerRoot();
  await moved.adopt(true);
  expect([before, refused, former, await ownOf(moved), moved.findFormerRoot()]).toEqual([
    { listed: [], active: [] },
    "workspace_moved",
    real.root,
    { listed: [id], active: [id] },
    undefined,
  ]);
});

test("a workspace whose user says that it was not moved starts without any", async () => {
  counters("T-WORK-24");
  const { real, id } = await place();
  const root = path.join(temporaryFolder(), "copy");
  renameSync(real.root, root);
  const copy = real.reopen({ from: root });
  await copy.adopt(false);
  await copy.session.activate(id);
  expect([(await ownOf(copy)).listed, copy.findFormerRoot()]).toEqual([[], undefined]);
});

test("a workspace that a variable trusts is not asked about", async () => {
  const { real, id } = await place();
  const root = path.join(temporaryFolder(), "moved");
  renameSync(real.root, root);
  const { environment } = real;
  const variables = { ...environment.variables, JP_TRUSTED_WORKSPACES: root };
  const moved = real.reopen({ from: root, environment: { ...environment, variables } });
  await moved.session.activate(id);
  expect(await ownOf(moved)).toEqual({ listed: [], active: [id] });
});
