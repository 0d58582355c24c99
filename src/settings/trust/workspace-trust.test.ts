import path from "node:path";
import { describe, expect, test } from "vitest";
import { counters } from "../../../test/security/threats.ts";
import { readConfig } from "../config/any-config.fixture.ts";
import type { Layer } from "../config/index.ts";
import { temporaryFolder } from "../../stores/temporary-workspace.fixture.ts";
import { resolveTrustedConfig, WorkspaceTrust } from "./workspace-trust.ts";

const TOOL = readConfig({
  conversation: { tools: { make: { source: "local", command: "make", run: "unattended" } } },
});
const CLONED: Layer = { name: ".jp/config.toml", config: TOOL, isFromWorkspace: true };
const RECORD: Layer = { name: "conversation", config: TOOL, isFromWorkspace: true };

interface Place {
  readonly root?: string;
  readonly dataFolder?: string;
  readonly variables?: Readonly<Record<string, string>>;
}

/** A user's trust in a workspace, and the names of what is not trusted in it. */
function trustIn({
  root = temporaryFolder(),
  dataFolder = temporaryFolder(),
  variables = {},
}: Place) {
  const trust = new WorkspaceTrust({ root, dataFolder, variables });
  const withheld = async (layer: Layer, conversation?: string) => {
    const claims = await trust.findUntrusted([layer], conversation);
    return claims.map(({ kind, name }) => `${kind} ${name}`);
  };
  return { trust, withheld, root, dataFolder };
}

/** The user sets it on the command line, and the conversation records it. */
async function record({ trust }: ReturnType<typeof trustIn>, id: string) {
  const layers: readonly Layer[] = [{ name: "--cfg", config: TOOL, isTemporary: true }];
  const inForce = await resolveTrustedConfig(trust, { layers });
  await trust.trustRecord(inForce, { id, config: TOOL });
}

describe("a setting that a conversation records", () => {
  test("is trusted in this conversation, and neither in another one nor in the workspace", async () => {
    counters("T-WORK-2");
    const place = trustIn({});
    await record(place, "jp-c1");
    expect([
      await place.withheld(RECORD, "jp-c1"),
      await place.withheld(RECORD, "jp-c2"),
      await place.withheld(RECORD),
      await place.withheld(CLONED),
    ]).toEqual([[], ["tool make"], ["tool make"], ["tool make"]]);
  });

  test("is not trusted in a conversation with the same id in another workspace", async () => {
    counters("T-WORK-2");
    const place = trustIn({});
    await record(place, "jp-c1");
    const other = trustIn({ dataFolder: place.dataFolder });
    expect(await other.withheld(RECORD, "jp-c1")).toEqual(["tool make"]);
  });

  test("is not trusted if it was never in force", async () => {
    counters("T-WORK-2");
    const place = trustIn({});
    const inForce = await resolveTrustedConfig(place.trust, { layers: [] });
    await place.trust.trustRecord(inForce, { id: "jp-c1", config: TOOL });
    expect(await place.withheld(RECORD, "jp-c1")).toEqual(["tool make"]);
  });
});

describe("JP_TRUSTED_WORKSPACES", () => {
  test("leaves nothing trusted once it is unset, neither in files nor in records", async () => {
    counters("T-WORK-5");
    const [root, dataFolder] = [temporaryFolder(), temporaryFolder()];
    const set = trustIn({ root, dataFolder, variables: { JP_TRUSTED_WORKSPACES: root } });
    const questions: unknown[] = [];
    const ask = async (question: unknown) => void questions.push(question);
    const layers = [CLONED];
    const inForce = await resolveTrustedConfig(set.trust, { layers, conversationId: "jp-c1", ask });
    await set.trust.trustRecord(inForce, { id: "jp-c1", config: TOOL });
    const unset = trustIn({ root, dataFolder });
    expect({
      questions,
      whileSet: [inForce.withheld, await set.withheld(RECORD, "jp-c1")],
      afterwards: [await unset.withheld(CLONED), await unset.withheld(RECORD, "jp-c1")],
    }).toEqual({
      questions: [],
      whileSet: [[], []],
      afterwards: [["tool make"], ["tool make"]],
    });
  });

  test("does not count with a relative path, even one that leads to the workspace", async () => {
    counters("T-WORK-5");
    const root = temporaryFolder();
    // From the folder that the tests are run in.
    const listed = path.relative("", root);
    const { withheld } = trustIn({ root, variables: { JP_TRUSTED_WORKSPACES: listed } });
    expect(await withheld(CLONED)).toEqual(["tool make"]);
  });
});
