import { expect, test } from "vitest";
import { describeRemoteTool } from "./describe-remote-tool.ts";

const remote = { name: "read", description: "Reads a file. It must exist.", inputSchema: {} };

test("without words of the user's the server's are split", () => {
  expect(describeRemoteTool({}, remote)).toEqual({
    summary: "Reads a file.",
    description: "It must exist.",
  });
});

test("with a summary of the user's all of the server's words follow on demand", () => {
  expect(describeRemoteTool({ summary: "Reads." }, remote)).toEqual({
    summary: "Reads.",
    description: "Reads a file. It must exist.",
  });
});

test("a description of the user's replaces the server's, and may quote it", () => {
  expect([
    describeRemoteTool({ description: "Only for notes." }, remote),
    describeRemoteTool({ description: "Only for notes. {{description}}" }, remote),
    describeRemoteTool({ summary: "My {{description}}", description: "{{description}}!" }, remote),
  ]).toEqual([
    { summary: "Only for notes." },
    { summary: "Only for notes.", description: "Reads a file. It must exist." },
    {
      summary: "My Reads a file. It must exist.",
      description: "Reads a file. It must exist.!",
    },
  ]);
});

test("a tool that nobody describes has its name for a summary", () => {
  expect(describeRemoteTool({}, { name: "read", inputSchema: {} })).toEqual({ summary: "read" });
});

test("what the server says is not searched for patterns of replacement", () => {
  const hostile = { ...remote, description: "$& and $1 {{description}}" };
  expect(describeRemoteTool({ summary: "{{description}}" }, hostile).summary).toBe(
    "$& and $1 {{description}}",
  );
});
