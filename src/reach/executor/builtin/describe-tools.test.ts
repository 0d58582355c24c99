import { expect, test } from "vitest";
import type { ToolDescription } from "../port.ts";
import { createDescribeTools } from "./describe-tools.ts";

const KNOWN: Readonly<Record<string, ToolDescription>> = {
  greet: {
    name: "greet",
    summary: "Says hello.",
    description: "Says hello to whoever is named.",
    examples: "greet(name: Ada)",
    parameters: {
      type: "object",
      properties: {
        name: { type: "string", description: "Whom to greet." },
        loud: { type: "boolean" },
      },
      required: ["name"],
    },
  },
  bare: { name: "bare", summary: "Does it.", parameters: { type: "object" } },
};

async function describeTools(...tools: readonly string[]) {
  const { tool } = createDescribeTools(async (name) => KNOWN[name]);
  const { signal } = new AbortController();
  return tool.execute({ arguments: { tools: [...tools] }, answers: {}, signal });
}

test("it gives the summary, description, examples and parameters of a tool", async () => {
  expect(await describeTools("greet")).toEqual({
    type: "success",
    content: [
      "## greet",
      "Says hello.",
      "Says hello to whoever is named.",
      "### Examples\n\ngreet(name: Ada)",
      "### Parameters",
      '#### `name` (required)\n\nWhom to greet.\n\n```json\n{"type":"string","description":"Whom to greet."}\n```',
      '#### `loud`\n\n```json\n{"type":"boolean"}\n```',
    ].join("\n\n"),
  });
});

test("it describes several tools in order, and names those it does not know", async () => {
  expect(await describeTools("bare", "nothing", "bare")).toEqual({
    type: "success",
    content:
      "## bare\n\nDoes it.\n\n---\n\n## bare\n\nDoes it.\n\n---\n\n" +
      "No additional documentation available for: nothing",
  });
});

test("it is on, cannot be switched off, needs no permission and is hidden", () => {
  const { config } = createDescribeTools(async () => undefined);
  expect(config).toMatchObject({
    source: "builtin",
    enable: { state: true, allow_toggle: "never" },
    run: "unattended",
    style: { hidden: true },
  });
});
