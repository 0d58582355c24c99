import { expect, test } from "vitest";
import { verifies } from "../../../../test/conformance/manifest.ts";
import { parseConfig, resolveTools } from "../../../settings/config/index.ts";
import { createTellUser } from "./tell-user.ts";

const { tool, config } = createTellUser();

async function tell(message: string) {
  const { signal } = new AbortController();
  return tool.execute({ arguments: { message }, answers: {}, signal });
}

test("the message of tell_user is for the user as it is, and a confirmation for the model", async () => {
  verifies("094/tool/message-and-confirmation");
  const text = "## Half done\n\n- 14 of 28 files\n";
  expect(await tell(text)).toEqual({
    type: "success",
    content: "Message shown to user.",
    blocks: [
      { type: "text", text, mimeType: "text/markdown", annotations: { audience: ["user"] } },
      {
        type: "text",
        text: "Message shown to user.",
        annotations: { audience: ["assistant"] },
      },
    ],
  });
});

test("an empty message is an error", async () => {
  expect(await tell(" \n")).toMatchObject({
    type: "error",
    message: "The message is empty. Nothing was shown.",
  });
});

test("the tell_user tool is on by default, switched off only by its name, and asks for nothing", () => {
  verifies("094/tool/configuration");
  const { config: parsed, errors } = parseConfig({
    conversation: { tools: { tell_user: config } },
  });
  expect(errors).toEqual([]);
  expect(resolveTools(parsed).get("tell_user")).toMatchObject({
    isEnabled: true,
    allowToggle: "if_named",
    run: "unattended",
    result: "unattended",
    style: {
      isHidden: false,
      hasHeader: false,
      inlineLines: { user: Number.POSITIVE_INFINITY, assistant: 0, isChat: true },
    },
  });
});
