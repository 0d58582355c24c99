import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import type { JsonObject } from "../../src/util/index.ts";
import { ModelServer } from "../cli/model-server.ts";
import { queryProject } from "../cli/query-project.ts";
import { JP } from "../cli/support.ts";

const REGISTER = path.join(import.meta.dirname, "register-program.ts");

test("the spans of `jp query` reach the SDK that Node was told to load, before the process ends", async () => {
  await using server = await ModelServer.start(() => "Spoken word.");
  const project = queryProject({ server });
  const SPANS = path.join(project.temporary, "spans.jsonl");
  const env = {
    ...project.variables,
    SPANS,
    NODE_OPTIONS: `--import ${REGISTER}`,
    OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT: "true",
  };
  // With no pipe that it could wait for, jp ends as soon as it can.
  const child = spawn(process.execPath, [JP, "query", "Hello."], {
    cwd: project.root,
    env,
    stdio: "ignore",
  });
  expect(await once(child, "close")).toEqual([0, null]);
  const spans = readFileSync(SPANS, "utf8")
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as JsonObject);
  expect(spans).toMatchObject([
    {
      name: "chat scripted",
      attributes: {
        "gen_ai.provider.name": "llamacpp",
        "gen_ai.response.model": "scripted",
        "gen_ai.output.messages": expect.stringContaining("Spoken word."),
      },
    },
    { name: "invoke_agent", attributes: { "jp.turn.outcome": "done" } },
  ]);
});
