/** Doubts that someone answers before a process has found them. */
import { expect, test } from "vitest";
import { settingsOf } from "../../src/core/agent/tool-turn.fixture.ts";
import type { CallableTool } from "../../src/core/agent/index.ts";
import { Scene, sceneWorkspace } from "./void-scene.ts";

interface Deploying {
  readonly scene: Scene;
  /** The versions of the tool that did their work. */
  readonly runs: readonly string[];
  version: string;
}

/** A tool that stands for a script with several versions. */
function deploying(run: "ask" | "unattended", diesAt: readonly number[]): Deploying {
  const runs: string[] = [];
  const tool: CallableTool = {
    settings: settingsOf("deploy", { source: "builtin", run }),
    description: { name: "deploy", summary: "", parameters: { type: "object" } },
    describeSource: async () => ({ origin: { type: "builtin" }, identity: started.version }),
    executor: {
      attempt: async ({ signal }) => {
        if (signal.aborted) return { type: "cancelled" };
        runs.push(started.version);
        return { type: "success", content: "done" };
      },
    },
  };
  const scene = new Scene(sceneWorkspace(), {
    call: { name: "deploy", arguments: {} },
    diesAt,
    open: () => ({
      parts: { toolbox: { schemas: async () => [], find: async () => tool } },
      [Symbol.asyncDispose]: async () => undefined,
    }),
  });
  const started = { scene, runs, version: "1" };
  return started;
}

/** Says yes to the doubt that another process would find. Returns its id. */
async function approveDoubt({ scene }: Deploying): Promise<string> {
  const doubt = await scene.pending();
  if (doubt?.kind !== "in_doubt") throw new Error("Nothing is in doubt.");
  expect([doubt.request, await scene.approve(doubt)]).toEqual([undefined, "recorded"]);
  return doubt.id;
}

test.each(["ask", "unattended"] as const)(
  "a yes to a doubt is void if the call has changed, even if no process had asked (run: %s)",
  async (run) => {
    const deployed = deploying(run, [1]);
    const { scene, runs } = deployed;
    await scene.proceed();
    if (run === "ask") {
      const permission = await scene.pending();
      if (permission !== undefined) await scene.approve(permission);
      await scene.proceed();
    }
    const first = await approveDoubt(deployed);
    deployed.version = "2";
    expect(await scene.proceed()).toBe("waiting");
    const again = await scene.pending();
    const changed = run === "ask" ? "source" : "digest"; // No request has the parts.
    expect([runs, await scene.voids()]).toEqual([[], [[changed]]]);
    expect(again?.request?.replaces).toBe(first);
    if (again !== undefined) await scene.approve(again);
    expect([await scene.proceed(), runs]).toEqual(["done", ["2"]]);
  },
);

test("each doubt about a call has an id of its own, even if no process had asked", async () => {
  const deployed = deploying("unattended", [1, 2]);
  const { scene, runs } = deployed;
  await scene.proceed();
  const ids = [await approveDoubt(deployed)];
  await scene.proceed(); // Dies again.
  ids.push(await approveDoubt(deployed));
  expect(new Set(ids).size).toBe(2);
  expect([await scene.proceed(), runs, await scene.voids()]).toEqual(["done", ["1"], []]);
});

test("a yes to a doubt is about what was permitted last", async () => {
  const deployed = deploying("unattended", [1, 2]);
  const { scene, runs } = deployed;
  await scene.proceed();
  deployed.version = "2";
  await scene.proceed(); // Asks about version 2.
  const asked = await scene.pending();
  expect(asked?.request).toBeDefined();
  if (asked !== undefined) await scene.approve(asked);
  await scene.proceed(); // Dies again.
  await approveDoubt(deployed);
  expect([await scene.proceed(), runs, await scene.voids()]).toEqual(["done", ["2"], []]);
});
