import path from "node:path";
import { expect, test } from "vitest";
import { ModelServer } from "./model-server.ts";
import { queryProject } from "./query-project.ts";

/** Lists the parts of Node that were loaded, by the names that Node has for them. */
const LIST = `process.on("exit", () => {
  process.stderr.write(JSON.stringify(process.moduleLoadList));
});`;

test("a reply is read without Node's own streams of the web and its fetch", async () => {
  await using server = await ModelServer.start(() => "Yes.");
  const project = queryProject({ server, files: { "list.cjs": LIST } });
  const variables = { NODE_OPTIONS: `--require=${path.join(project.root, "list.cjs")}` };
  const { stdout, stderr } = await project.jpProcessWith(variables, "query", "-n", "Hi.");
  const loaded = JSON.parse(stderr.slice(stderr.lastIndexOf("["))) as readonly string[];
  expect(stdout).toBe("Yes.\n");
  expect(loaded.filter((name) => /_http_client/.test(name))).toHaveLength(1);
  expect(loaded.filter((name) => /webstreams|undici/.test(name))).toEqual([]);
});
