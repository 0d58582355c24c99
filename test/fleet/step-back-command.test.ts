/** Commands and workers whose database was put back. */
import { expect, onTestFinished, test } from "vitest";
import { Database } from "../../src/stores/postgres/database.ts";
import { ModelServer } from "../cli/model-server.ts";
import { queryProject } from "../cli/query-project.ts";
import { Screen, shows } from "../cli/screen.ts";
import { jsonLines } from "../cli/support.ts";
import { counters } from "../security/threats.ts";
import { runCommand } from "../support/command-host.ts";
import { emptyDatabase } from "../support/postgres.ts";
import { keepState } from "./keep-state.ts";

const TOOL = { name: "deploy", program: '"Deployed."', settings: 'run = "ask"\nenable = true' };

/** A turn that was approved and has run, and its state from before it ran. */
async function openUsed(server: ModelServer) {
  const url = await emptyDatabase();
  const project = queryProject({ server, tools: [TOOL] });
  const variables = { ...project.variables, JP_STORE: url };
  const jp = (...words: readonly string[]) => project.jpWith({ JP_STORE: url }, ...words);
  expect((await jp("store", "migrate")).status).toBe(0);
  const owner = new Database(url);
  onTestFinished(() => owner.close());
  await jp("query", "--defer", "Deploy it.");
  const [item] = jsonLines(await jp("inquiry", "ls", "--pending", "--format", "json"));
  const { id: inquiry, conversation } = item as { id: string; conversation: string };
  expect((await jp("inquiry", "answer", inquiry, "yes")).status).toBe(0);
  const putBack = await keepState(owner, conversation);
  /** Runs a worker until it logs this event. */
  const work = async (name: string): Promise<Record<string, unknown>> => {
    const stop = new AbortController();
    const { promise, resolve } = Promise.withResolvers<Record<string, unknown>>();
    const ended = runCommand(["worker", "--format", "json"], {
      cwd: project.root,
      variables,
      interrupt: stop.signal,
      onOutput: (text) => {
        for (const line of text.split("\n").filter(Boolean)) {
          const event = JSON.parse(line) as Record<string, unknown>;
          if (event["event"] === name) resolve(event);
        }
      },
    });
    const event = await promise;
    stop.abort();
    await ended;
    return event;
  };
  return { project, variables, conversation, jp, putBack, work };
}

test("a worker and a command refuse a turn that was put back, until someone accepts it on a terminal", async () => {
  counters("T-FLEET-1");
  const calls = [{ name: "deploy", arguments: {} }];
  await using server = await ModelServer.start([{ text: "", calls }, "Done.", "Done again."]);
  const { project, variables, conversation, jp, putBack, work } = await openUsed(server);
  expect(await work("turn_end")).toMatchObject({ outcome: "done" });
  await putBack();
  expect(await work("problem")).toMatchObject({
    level: "warn",
    code: "turn_stepped_back",
    message: expect.stringContaining(conversation) as unknown,
    hint: expect.stringContaining("jp store accept-restore") as unknown,
  });
  const resumed = await jp("query", "--continue-turn", "--id", conversation);
  expect([resumed.status, resumed.stderr]).toEqual([
    1,
    expect.stringContaining("is older than the state that this machine has seen"),
  ]);
  expect((await jp("doctor")).stdout).toContain("this machine has seen a newer state");
  const screen = new Screen(project, ["query", "--continue-turn"], { variables });
  await shows(screen, /Continue it\?/);
  expect(screen.lines.join(" ")).toContain("is older than the state that this machine has");
  screen.type("n");
  await screen.end();

  const refused = await jp("store", "accept-restore");
  expect([refused.status, refused.stderr]).toEqual([
    2,
    expect.stringContaining("no terminal is available"),
  ]);
  const accepting = new Screen(project, ["store", "accept-restore"], { variables });
  await shows(accepting, /\[y\/N\]/);
  accepting.type("y\r");
  expect((await accepting.end()).status).toBe(0);
  expect(await work("turn_end")).toMatchObject({ outcome: "done" });
  expect((await jp("doctor")).stdout).toContain("1 older state accepted on this machine");
}, 180_000);
