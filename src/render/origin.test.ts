import { expect, test } from "vitest";
import type { ToolOrigin } from "../tool/index.ts";
import { describeOrigin } from "./origin.ts";

const ORIGINS: readonly (readonly [ToolOrigin, string])[] = [
  [{ type: "builtin" }, "built into jp"],
  [{ type: "program" }, "defined by the program that runs jp"],
  [{ type: "local", command: "sh\u00a0x.sh" }, 'local command "sh<U+00A0>x.sh"'],
  [
    { type: "mcp", server: 'a", tool "b', tool: "find", command: "npx docs" },
    String.raw`MCP server "a\", tool \"b" ("npx docs"), tool "find"`,
  ],
];

test.each(ORIGINS)(
  "the origin %j is described, with names that cannot pass for others",
  (origin, said) => {
    expect(describeOrigin(origin)).toBe(said);
  },
);
